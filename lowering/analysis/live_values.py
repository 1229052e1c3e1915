"""What is alive at the exits of a function, and how each live value reaches the caller: see abi.ExitSite.

An argument, and a view of one, are the caller's already. Anything else the kernel hands over; where it may be an argument's memory
after all, and the program may return it, a check leaves the call to tier 0: its result shares memory with the argument there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Union

from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import handed_over
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.rewriting.core import items_of, under_casts
from tierup.dialect.speculation.exits import where_control_stayed
from tierup.dialect.speculation.resume_points import root
from tierup.lowering.analysis import signature
from tierup.lowering.analysis.read_only import ReadOnly
from tierup.lowering.analysis.views import Unknown, View, view_of
from tierup.lowering.base.abi import ArgumentSpec, ExitSite, Live, ResultKind, ResultSpec, words_of
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t
from tierup.lowering.building.origins import origin

_FRESH = "fresh"
_MESSAGE = "a value that lives on is an argument on this path"
_READ_ONLY = "a value that lives on may be read-only on this path"


def hand_over(function: ir.Operation, arguments: tuple[ArgumentSpec, ...], inference: Inference) -> tuple[ExitSite, ...]:
    """Leave to each `tierup.exit` the operands that the kernel hands over; the exits, in the order of their bailouts."""
    about = _Arguments(function, arguments, inference)
    made = []
    for op in b.unerased(list(b.walk(function))):
        if op.name != "tierup.exit":
            continue
        handed: list[ir.Value] = []
        live = tuple(about.live(op, value, handed) for value in op.operands)
        at = origin(op.location)
        made.append(ExitSite(ir.IntegerAttr(op.attributes["index"]).value, at.op if at else "", at.place if at else "", live))
        with op.location, ir.InsertionPoint(op):
            b.op("tierup.exit", handed, index=op.attributes["index"])
        op.erase()
    return tuple(sorted(made, key=lambda site: site.index))


class _Arguments:
    def __init__(self, function: ir.Operation, arguments: tuple[ArgumentSpec, ...], inference: Inference) -> None:
        self.block = function.regions[0].blocks[0]
        self.roots = signature.argument_views(self.block, arguments)
        self.known = signature.symbols_of(arguments)
        self.inference = inference
        stated = b.strings(function.attributes[signature.ALIASES]) if signature.ALIASES in function.attributes else [""]
        self.read_only = ReadOnly(function, inference, self.roots)
        self.shares = any(signature.to_arguments(alias) != _FRESH for alias in stated)  # a result may be memory of an argument

    def live(self, exit_: ir.Operation, operand: ir.Value, handed: list[ir.Value]) -> Live:
        """How a live value reaches the caller. `handed` gets what the kernel hands over."""
        operand = under_casts(operand)
        items = items_of(operand)
        if items is not None:
            return tuple(self.live(exit_, item, handed) for item in items)
        if str(operand.type) == "!torch.none":
            return ResultSpec(ResultKind.NONE)
        spec = self._leaf(exit_, operand)
        if words_of(spec):
            handed.append(operand)
        return spec

    def _leaf(self, exit_: ir.Operation, operand: ir.Value) -> ResultSpec:
        value = root(operand)
        if isinstance(value.owner, ir.Block) and value.owner == self.block:
            return ResultSpec(ResultKind.ALIAS, argument=ir.BlockArgument(value).arg_number)
        kind = t.NUMBERS.get(str(operand.type))
        if kind is not None:
            return ResultSpec(ResultKind.SCALAR, kind.__name__)
        sizes, dtype = torch_types.parse_tensor(str(operand.type))
        assert sizes is not None and dtype is not None  # tierup-lower-bailouts has seen to it
        try:
            view = view_of(value, self.roots, self.inference)
        except Unknown:
            view = None
        locked = self.read_only.surely(value)
        if not locked and not self.read_only.ensure_writable(value):
            with exit_.location, ir.InsertionPoint(exit_):
                t.check(_as_value(False), _READ_ONLY)
        if view is not None and signature.is_described(view, self.known):
            return ResultSpec(ResultKind.VIEW, dtype.name, view.sizes, view.argument, view.offset, view.strides, read_only=locked)
        if self.shares:
            with exit_.location, ir.InsertionPoint(exit_):
                own = own_memory(value, self.roots)
                if own is not True:
                    t.check(_as_value(own), _MESSAGE)
        return ResultSpec(ResultKind.ALLOCATED, dtype.name, (0,) * len(sizes), read_only=locked)


Own = Union[bool, Callable[[], ir.Value]]  # whether memory is the call's own: known, or a !torch.bool to be made where it is asked


def own_memory(value: ir.Value, roots: Mapping[ir.Value, View], assumed: Mapping[ir.Value, bool] | None = None) -> Own:
    """Whether `value` surely shares no memory with an argument. `assumed`: arguments of loops that this is being asked of."""
    assumed = assumed or {}
    value = where_control_stayed(root(value))
    if value in assumed:
        return assumed[value]
    owner = value.owner
    if isinstance(owner, ir.Block):
        return False if value in roots or owner.owner.name != "torch.prim.Loop" else _carried(value, owner, roots, assumed)
    op, number = owner.operation, ir.OpResult(value).result_number
    if op.name == "torch.prim.If":
        then, orelse = (own_memory(handed_over(region.blocks[0])[number], roots, assumed) for region in op.regions)
        if then is True and orelse is True:
            return True
        if then is True or orelse is True:  # what decides within the other arm is not known outside of it
            condition = op.operands[0]
            return (lambda: condition) if then is True else (lambda: ~t.Number(condition))
        return False
    if op.name == "torch.prim.Loop":
        return _result(op, number, roots, assumed)
    if op.name == "torch.vtensor.literal":
        return True
    row = row_of(op)
    if row is None:
        return False
    if row.aliasing in (Aliasing.VIEW, Aliasing.MAY_VIEW):
        return own_memory(op.operands[0], roots, assumed)
    return row.aliasing is Aliasing.FRESH


def _carried(value: ir.Value, body: ir.Block, roots: Mapping[ir.Value, View], assumed: Mapping[ir.Value, bool]) -> Own:
    """An argument of a loop's body: what the loop began with, then what its body yields."""
    return _looped(body.owner.operation, ir.BlockArgument(value).arg_number - 1, lambda: t.Number(body.arguments[0]) >= 1, roots, assumed)


def _result(loop: ir.Operation, number: int, roots: Mapping[ir.Value, View], assumed: Mapping[ir.Value, bool]) -> Own:
    """What a loop ends with: what it began with, when it never ran."""
    return _looped(loop, number, lambda: (t.Number(loop.operands[0]) >= 1) & loop.operands[1], roots, assumed)


def _looped(
    loop: ir.Operation, number: int, ran: Callable[[], ir.Value], roots: Mapping[ir.Value, View], assumed: Mapping[ir.Value, bool]
) -> Own:
    """What a loop carries as its value `number`. `ran`: whether a round of it was done."""
    body = loop.regions[0].blocks[0]
    argument, yielded = body.arguments[1 + number], handed_over(body)[1 + number]
    first = own_memory(loop.operands[2 + number], roots, assumed)
    if first is True:
        return own_memory(yielded, roots, {**assumed, argument: True}) is True
    if own_memory(yielded, roots, {**assumed, argument: False}) is not True:
        return False
    return ran if isinstance(first, bool) else lambda: t.Number(first()) | ran()


def _as_value(own: Own) -> ir.Value:
    return t.constant(own) if isinstance(own, bool) else own()
