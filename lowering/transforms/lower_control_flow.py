"""tierup-lower-control-flow: torch.prim.If and torch.prim.Loop become scf.if, scf.for and scf.while.

    %r = torch.prim.Loop %n, %go, init(%x) { ^bb0(%i, %v): ... torch.prim.Loop.condition %more, iter(%w) }
becomes
    scf.while (%i = 0, %go, %v = %x) { condition: %i < %n and %go } do { ... yield %i + 1, %more, %w }

or an scf.for when it goes on for sure and no tensor that it carries changes its sizes on the way: MLIR's canonicalize gives what an scf.for
carries the static sizes that it begins with, as if a round could not change them (ForOpTensorCastFolder). `tierup.steady` says that none
does; without it a loop that carries sizes which only the run knows is an scf.while. Tensors and numbers are carried as builtin values, with
casts of torch_c where the bodies use them. (torch-mlir's own conversion takes a loop with a trip count for one that nothing else ends.)
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import handed_over, take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import bool_of, int_of
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import INDEX, Scalar, of
from tierup.lowering.building.loops import carried, either, while_
from tierup.lowering.ops.pointwise.context import NotHandled, load_casts, native_type, to_builtin, to_torch

STEADY = "tierup.steady"  # on loops that carry tensors of the same sizes from round to round


@register
class LowerControlFlow(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        load_casts(function.context)
        for op in reversed(b.walk_unfused(function)):  # inner ones first: their bodies move
            if op.name not in ("torch.prim.If", "torch.prim.Loop"):
                continue
            with op.location:
                try:
                    made = _if(op) if op.name == "torch.prim.If" else _loop(op)
                except NotHandled:
                    continue  # a list or another value is carried: named by tierup-verify-lowered
            take_place(op, made)


_ENDLESS = 2**63 - 1  # the rounds of a loop that ends by its condition alone


def _moved(source: ir.Block, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    """What a block's terminator hands over; the other ops are moved to where ops are built. `arguments`: what stands for the block's."""
    return b.inline(source, [to_torch(value, argument.type) for argument, value in zip(source.arguments, arguments, strict=True)])


def _if(op: ir.Operation) -> list[ir.Value]:
    types = [r.type for r in op.results]
    native = [native_type(type_) for type_ in types]
    arms = [lambda block=region.blocks[0]: list(map(to_builtin, _moved(block, []))) for region in op.regions]
    with ir.InsertionPoint(op):
        results = either(to_builtin(op.operands[0]), native, *arms)
        return [to_torch(r, type_) for r, type_ in zip(results, types, strict=True)]


def _has_unknown_size(type_: ir.Type) -> bool:
    return torch_types.is_tensor(type_) and None in (torch_types.parse_tensor(str(type_))[0] or ())


def _loop(op: ir.Operation) -> list[ir.Value]:
    body = op.regions[0].blocks[0]
    types = [r.type for r in op.results]
    for type_ in types:
        native_type(type_)  # raises before anything moves
    certain = bool_of(op.operands[1]) and bool_of(handed_over(body)[0])
    counted = certain and (STEADY in op.attributes or not any(map(_has_unknown_size, types)))
    with ir.InsertionPoint(op):
        trip = None if int_of(op.operands[0]) == _ENDLESS else to_builtin(op.operands[0])
        start = [to_builtin(v) for v in list(op.operands)[2:]]
        results = _for(body, trip, start) if counted and trip is not None else _while(body, trip, to_builtin(op.operands[1]), start)
        return [to_torch(r, type_) for r, type_ in zip(results, types, strict=True)]


def _for(body: ir.Block, trip: ir.Value, start: list[ir.Value]) -> list[ir.Value]:
    def once(position: Scalar, values: list[ir.Value]) -> list[ir.Value]:
        return list(map(to_builtin, _moved(body, [position.cast(dtypes.i64), *values])[1:]))

    return carried((b.index(0), of(trip).cast(INDEX), b.index(1)), start, once)


def _while(body: ir.Block, trip: ir.Value | None, go: ir.Value, start: list[ir.Value]) -> list[ir.Value]:
    """`trip`: None where nobody lives to see the rounds run out."""

    def once(now: list[ir.Value]) -> list[ir.Value]:
        counter, _, *values = now
        return [of(counter) + 1, *map(to_builtin, _moved(body, [counter, *values]))]

    def goes_on(now: list[ir.Value]) -> ir.Value:
        return now[1] if trip is None else (of(now[0]) < trip) & now[1]

    return while_(goes_on, [b.integer(0, 64), go, *start], once)[2:]
