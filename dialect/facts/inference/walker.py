"""The walk through a function that inference is: what is known of each value, op by op, by the rows of the op table.

Ops that have no row are the caller's to know (`structure.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tierup.dialect.facts.dims import Dim, Symbol, symbol
from tierup.dialect.facts.profiled import Fact, ProfiledScalar
from tierup.dialect.facts.values import Bool, Float, Int, List, Never, Opaque, Tensor, Tuple, Value, joined
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.ir.structure import TERMINATORS, signature
from tierup.dialect.ir.walking import Notes, names_in
from tierup.dialect.mlir import ir
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import AS_MANY, OF_RULES, REFUSALS, Infer, Op, Promotion, ShapeError, Tie, declared
from tierup.dialect.optable.operands import Unknown, example
from tierup.dialect.optable.rows import kernel_of, row_of, written_by
from tierup.dialect.optable.written import COPIES, INPLACE, check_copy

_EXAMPLE_ELEMENTS = 1 << 16
_CONSTRUCTS = frozenset({"torch.prim.ListConstruct", "torch.prim.TupleConstruct"})  # ops that run beside values that nobody reads


class InferenceError(Exception):
    """An op that raises for every value of these types. `op` is where; the message is what tier 0 would raise with."""

    def __init__(self, op: ir.Operation, message: str) -> None:
        super().__init__(message)
        self.op = op


def promotion(op: ir.Operation) -> Promotion:
    """Whose dtype rules an op follows."""
    return Promotion.NUMPY if PROMOTION in op.attributes else Promotion.TORCH


@dataclass
class Inference:
    """The result: what is known of each SSA value, and the sizes that must be equal for it to hold."""

    values: dict[ir.Value, Value] = field(default_factory=Notes)
    ties: list[Tie] = field(default_factory=list)
    cast_from: dict[ir.Value, Value] = field(default_factory=Notes)  # of a cast's result: what was known of its operand there
    results: tuple[Value, ...] = ()
    # in sizes that are tied and of which one may be 1: in a run that keeps no tie, 1 is broadcast, and who is said to have the one size may
    # have the other
    doubtful: frozenset[Symbol] = frozenset()
    refused: list[InferenceError] = field(default_factory=list)  # when tolerant: the ops that raise, one by one, and what they say
    ends: list[ir.Operation] = field(default_factory=list)  # those, and branches and loops that raise whichever way they go

    def __getitem__(self, value: ir.Value) -> Value:
        return self.values[value]


Visit = Callable[[ir.Operation, Op, Sequence[Value], Sequence[Value]], None]
Rule = Callable[["Walker", ir.Operation, list[Value]], tuple[Value, ...]]


class Walker:
    """What is found on the way. `structure`: the rules of ops without a row, by their names."""

    def __init__(self, structure: Mapping[str, Rule], rules: Infer, tolerant: bool, visit: Visit | None, unset_has_sizes: bool) -> None:
        self._structure, self.ctx = structure, rules
        self.tolerant = tolerant
        self.visit = visit
        self.unset_has_sizes = unset_has_sizes
        self.out = Inference()
        self.loop_sizes: dict[tuple[ir.Value, int], Dim] = {}
        self.joined_from: dict[Dim, set[Dim]] = {}  # sizes that only the run knows: what the paths that meet there have
        self.lists_change = False
        self.raised = False  # whether the op or block walked last raises on all such operands, so that nothing behind it is reached
        self.calls = 0  # of functions that were walked
        self.entered: list[ir.Operation] = []  # the functions that are being walked, callers before callees

    def set(self, value: ir.Value, known: Value) -> None:
        """Note what is known of `value`. Of a list that may be written later that is only what its type says; a tensor is one, also where
        it comes out of something of which nothing is known."""
        if isinstance(known, Opaque) and torch_types.is_tensor(value.type):
            known = Tensor()
        if self.lists_change and isinstance(known, List) and _may_be_written(value):
            known = torch_types.value_of(value.type)
        self.out.values[value] = known

    def function(self, func: ir.Operation, arguments: Sequence[Value]) -> tuple[Value, ...]:
        """Run a function on arguments of which this is known; what is known of its results."""
        block = func.regions[0].blocks[0]
        for argument, value in zip(block.arguments, arguments, strict=True):
            self.set(argument, value)
        self.entered.append(func)
        scope, self.ctx.scope = self.ctx.scope, self.calls
        self.calls += 1
        results = self.block(block)
        self.ctx.scope = scope
        self.entered.pop()
        if "tierup.bailout" in names_in(func):  # its continuation may have given them, about which the guards say nothing
            declared = signature(func).results
            return tuple(map(torch_types.value_of, declared))
        return results

    def block(self, block: ir.Block) -> tuple[Value, ...]:
        """Run a block; the terminator's operands are its value."""
        raised = False
        for view in block.operations:
            op = view.operation
            operands = [self.out.values[v] for v in op.operands]
            self.raised = False
            handler = self._structure.get(op.name)
            if handler is not None:
                results = handler(self, op, operands)
            elif op.name in TERMINATORS:
                self.raised = raised
                return tuple(operands)
            else:
                results = self._row(op, operands)
            if self.raised:
                raised = True
                self.out.ends.append(op)
            for result, value in zip(op.results, results, strict=True):
                self.set(result, value)
        return ()

    def _row(self, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
        if any(isinstance(known, Never) for known in operands):
            if op.name not in _CONSTRUCTS:
                return (Never(),) * len(op.results)  # it is never reached
            given = zip(op.operands, operands, strict=True)
            operands = [torch_types.value_of(v.type) if isinstance(known, Never) else known for v, known in given]
        row = row_of(op)
        results = self.declared(op) if row is None or row.infer is declared else self._by_rule(op, row, operands)
        if self.visit is not None and row is not None:
            self.visit(op, row, operands, results)
        return results

    def _by_rule(self, op: ir.Operation, row: Op, operands: list[Value]) -> tuple[Value, ...]:
        self.ctx.promotion, self.ctx.given, self.ctx.site = promotion(op), op.operands, op
        try:
            if INPLACE in op.attributes:
                check_copy(self.ctx, ir.StringAttr(op.attributes[INPLACE]).value, operands)
            if (writes := written_by(op)) is not None:
                writes.infer(self.ctx, operands)
            results = row.infer(self.ctx, operands)
            if row.results == AS_MANY:
                check_length(operands[0], op)
        except OF_RULES as e:
            self.refuse(op, _told(op, row, operands, e))
            return self.declared(op)
        found = tuple(results) if isinstance(results, tuple) else (results,)  # one result: the value itself
        if len(found) == len(op.results):
            return found
        # unpacked from a list of unknown length: each is what the list's elements are
        element = operands[0].element if operands and isinstance(operands[0], List) else None
        return tuple(torch_types.value_of(r.type) if element is None else element for r in op.results)

    def declared(self, op: ir.Operation) -> tuple[Value, ...]:
        """Results that are what their types say, no more: a size that a type leaves open is known at run time only."""
        return tuple(map(self._declared, op.results))

    def _declared(self, value: ir.Value) -> Value:
        known = torch_types.value_of(value.type)
        if not isinstance(known, Tensor) or known.shape is not None:
            return known
        sizes, dtype = torch_types.parse_tensor(str(value.type))
        return Tensor(dtype, None if sizes is None else tuple(self._site_size(value, i) if d is None else d for i, d in enumerate(sizes)))

    def nobody_reads(self) -> None:
        """Say of what still is no value what its type says."""
        out = self.out
        out.results = tuple(Opaque() if isinstance(found, Never) else found for found in out.results)
        for known in (out.values, out.cast_from):
            known.update({value: torch_types.value_of(value.type) for value, found in known.items() if isinstance(found, Never)})

    def refuse(self, op: ir.Operation, error: Exception) -> None:
        """An op raises whatever the values of such operands. Raises InferenceError, unless tolerant."""
        self.raised = True
        failure = InferenceError(op, str(error))
        if not self.tolerant:
            raise failure from error
        if not any(known.op == op for known in self.out.refused):  # a loop's body is walked several times
            self.out.refused.append(failure)

    def join_at(self, site: ir.Value, a: Value, b: Value) -> Value:
        """join, where sizes that differ become one run-time size per (value, dim), the same in every round."""
        if isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape is not None and b.shape is not None and a.rank == b.rank:
            pairs = enumerate(zip(a.shape, b.shape, strict=True))
            sizes = tuple(da if da == db else self._joined_size(site, i, da, db) for i, (da, db) in pairs)
            return Tensor(a.dtype if a.dtype == b.dtype else None, sizes)
        return joined(a, b)

    def with_facts(self, site: ir.Value, value: Value, fact: Fact) -> Value:
        """What is known of a value that fits `fact`. Sizes that stay unknown become run-time sizes of `site`."""
        if isinstance(fact, ProfiledScalar):
            kind: Any = {"int": Int, "float": Float, "bool": Bool}.get(fact.kind or "")
            known = isinstance(value, (Int, Float, Bool)) and value.value is not None
            refined: Value = value if kind is None or known else kind(fact.value)
            return refined
        if not isinstance(value, Tensor):
            return value
        shape = value.shape
        if fact.sizes is not None:
            stated = [symbol(s) if isinstance(s, str) else s for s in fact.sizes]
            old: Sequence[Dim | None] = shape if shape is not None and len(shape) == len(stated) else [None] * len(stated)
            pairs = enumerate(zip(old, stated, strict=True))
            shape = tuple(self._known_size(site, i, a, b) for i, (a, b) in pairs)
        return Tensor(fact.dtype or value.dtype, shape)  # as stated where they differ: nothing fits, and what follows never runs

    def _known_size(self, site: ir.Value, i: int, old: Dim | None, stated: Dim | None) -> Dim:
        if stated is None or (isinstance(old, int) and not isinstance(stated, int)):
            return self._site_size(site, i) if old is None else old
        return stated

    def _joined_size(self, site: ir.Value, dim: int, a: Dim, b: Dim) -> Dim:
        tied = [tie for tie in self.ctx.ties if a in (tie.left, tie.right) and b in (tie.left, tie.right)]
        if any(can_hold(tie, self.joined_from) for tie in tied):
            return a  # the program needs them equal
        made = self._site_size(site, dim)
        self.joined_from.setdefault(made, set()).update({a, b} - {made})
        return made

    def _site_size(self, site: ir.Value, dim: int) -> Dim:
        if (site, dim) not in self.loop_sizes:
            self.loop_sizes[site, dim] = self.ctx.fresh()
        return self.loop_sizes[site, dim]


def can_hold(tie: Tie, joined_from: Mapping[Dim, set[Dim]]) -> bool:
    """Whether the sides of a tie can be equal on all paths: they are not two different numbers on any."""
    leaves = {leaf for side in (tie.left, tie.right) for leaf in leaves_of(side, joined_from, set())}
    return len({leaf for leaf in leaves if isinstance(leaf, int)}) <= 1


def leaves_of(dim: Dim, joined_from: Mapping[Dim, set[Dim]], seen: set[Dim]) -> list[Dim]:
    """The sizes that one may be which only the run knows: what the paths that meet in it have."""
    if dim not in joined_from or isinstance(dim, int):
        return [dim]
    if dim in seen:
        return []
    seen.add(dim)
    return sorted({leaf for of in joined_from[dim] for leaf in leaves_of(of, joined_from, seen)}, key=str)


def _may_be_written(value: ir.Value) -> bool:
    """Whether someone writes the list, or hands it on to where it may be written: anything but a plain op of the table. From where a
    bailout hands it to nobody comes back."""
    users = (use.owner.operation for use in value.uses)
    return any(((row := row_of(user)) is None or row.acts) and user.name != "tierup.bailout" for user in users)


def _told(op: ir.Operation, row: Op, operands: Sequence[Value], error: Exception) -> Exception:
    """What the kernel raises for such operands, of arrays of zeros, where a rule is not the kernel's own: of NumPy's ops it is PyTorch's,
    of a copy that stands for a write the plain copy's. Class and message may be others."""
    path = kernel_of(op, row) if promotion(op) is Promotion.NUMPY and row.numpy else None
    if INPLACE in op.attributes:
        path = COPIES[ir.StringAttr(op.attributes[INPLACE]).value]
    if path is None:
        return error
    try:
        given = [example(operand, _EXAMPLE_ELEMENTS) for operand in operands]
        with np.errstate(all="ignore"):
            kernels.resolve(path)(*given)
    except REFUSALS as e:
        return e
    except Unknown:
        return error
    return error


def check_length(items: Value, op: ir.Operation) -> None:
    """Raises ShapeError where an op unpacks another number of items than it has results."""
    if isinstance(items, (List, Tuple)) and items.items is not None and len(items.items) != len(op.results):
        raise ShapeError(f"{len(op.results)} values are taken out of {len(items.items)}")
