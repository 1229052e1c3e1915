"""Type inference over a function: every value's dtype and sizes from its arguments', by the rows of the op table.

Sizes may be symbols. Branches join; a loop is iterated until the carried types stand still, sizes that change from one
iteration to the next becoming `u<n>`: known at run time only. Nothing is written into the IR here: see
transforms/infer_types.py for that.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tierup.dialect import optable
from tierup.dialect.facts.dims import Dim, Symbol, at_least, symbol, symbols, where_positive
from tierup.dialect.facts.inference.symbols import argument_values
from tierup.dialect.facts.profiled import Fact, ProfiledScalar
from tierup.dialect.facts.values import Bool, Counter, Float, Int, List, Never, Opaque, Tensor, Tuple, Value, joined
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION, READERS, facts_of
from tierup.dialect.ir.structure import LIST_WRITERS, TERMINATORS, UNSET, handed_over, maker, signature
from tierup.dialect.ir.walking import Notes, callee_of, names_in, with_callees
from tierup.dialect.mlir import ir
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import AS_MANY, OF_RULES, REFUSALS, Infer, Op, Promotion, ShapeError, Tie, declared
from tierup.dialect.optable.operands import Unknown, example, lifted
from tierup.dialect.optable.rows import kernel_of, row_of, written_by
from tierup.dialect.optable.written import COPIES, INPLACE, check_copy

_EXAMPLE_ELEMENTS = 1 << 16
_MAX_LOOP_ROUNDS = 12  # each round only loses knowledge: rank + dtype + sizes of a handful of carried values settle in a few


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


def infer_function(
    func: ir.Operation, arguments: Sequence[Value] | None = None, *, rules: Infer | None = None, tolerant: bool = False,
    visit: Visit | None = None, unset_has_sizes: bool = False,
) -> Inference:  # fmt: skip
    """Infer all values of `func` when it is called with `arguments`, those of its types if not given. `rules`: what the op table's rules
    report to, if not a plain Infer. `visit` is called with each op of the table whenever it is inferred, its row, and what is known of its
    operands and results then. A torch.prim.Uninitialized has no say in what a value is that may come from it; with `unset_has_sizes` it
    has, as for gradients, which ask all that a loop carries for its sizes, also before it is set.

    Raises InferenceError when an op cannot run on such operands; `tolerant`: its results are then what their types say, since what
    reads them is never reached.
    """
    walker = _Walker(rules or Infer(items=_items), tolerant, visit, unset_has_sizes)
    walker.lists_change = not all(LIST_WRITERS.isdisjoint(names_in(f)) for f in with_callees(func))
    walker.out.results = walker.function(func, argument_values(func) if arguments is None else arguments)
    walker.nobody_reads()
    walker.out.ties = [tie for found in walker.ctx.ties for tie in _resolved(found, walker.joined_from)]
    sides = [(tie.left, tie.right) for tie in (*walker.ctx.ties, *walker.out.ties)]
    walker.out.doubtful = frozenset(s for a, b in sides if not (at_least(a, 2) and at_least(b, 2)) for d in (a, b) for s in symbols(d))
    return walker.out


def _resolved(tie: Tie, joined_from: Mapping[Dim, set[Dim]]) -> list[Tie]:
    """A tie of a size that only the run knows, but that is always one of several: each of these must be equal. Where that can never
    be (two are different numbers) the tie stays as it is."""
    sides = [_leaves(side, joined_from, set()) for side in (tie.left, tie.right)]
    if sides == [[tie.left], [tie.right]] or not _can_hold(tie, joined_from):
        return [tie]
    return [Tie(a, b, tie.site, (tie.left, tie.right)) for a in sides[0] for b in sides[1] if a != b]


def _can_hold(tie: Tie, joined_from: Mapping[Dim, set[Dim]]) -> bool:
    """Whether the sides of a tie can be equal on all paths: they are not two different numbers on any."""
    leaves = {leaf for side in (tie.left, tie.right) for leaf in _leaves(side, joined_from, set())}
    return len({leaf for leaf in leaves if isinstance(leaf, int)}) <= 1


def _leaves(dim: Dim, joined_from: Mapping[Dim, set[Dim]], seen: set[Dim]) -> list[Dim]:
    if dim not in joined_from or isinstance(dim, int):
        return [dim]
    if dim in seen:
        return []
    seen.add(dim)
    return sorted({leaf for of in joined_from[dim] for leaf in _leaves(of, joined_from, seen)}, key=str)


Visit = Callable[[ir.Operation, Op, Sequence[Value], Sequence[Value]], None]


class _Walker:
    def __init__(self, rules: Infer, tolerant: bool, visit: Visit | None, unset_has_sizes: bool) -> None:
        self.ctx = rules
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
            handler = _STRUCTURE.get(op.name)
            if handler is not None:
                results = handler(self, op, operands)
            elif op.name in TERMINATORS:
                self.raised = raised
                return tuple(operands)
            else:
                results = self.row(op, operands)
            if self.raised:
                raised = True
                self.out.ends.append(op)
            for result, value in zip(op.results, results, strict=True):
                self.set(result, value)
        return ()

    def row(self, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
        if any(isinstance(known, Never) for known in operands):
            if op.name not in _CONSTRUCTS:
                return (Never(),) * len(op.results)  # it is never reached
            given = zip(op.operands, operands, strict=True)
            operands = [torch_types.value_of(v.type) if isinstance(known, Never) else known for v, known in given]
        row = row_of(op)
        results = self.declared(op) if row is None or row.infer is declared else self.by_rule(op, row, operands)
        if self.visit is not None and row is not None:
            self.visit(op, row, operands, results)
        return results

    def by_rule(self, op: ir.Operation, row: Op, operands: list[Value]) -> tuple[Value, ...]:
        self.ctx.promotion, self.ctx.given, self.ctx.site = promotion(op), op.operands, op
        try:
            if INPLACE in op.attributes:
                check_copy(self.ctx, ir.StringAttr(op.attributes[INPLACE]).value, operands)
            if (writes := written_by(op)) is not None:
                writes.infer(self.ctx, operands)
            results = row.infer(self.ctx, operands)
            if row.results == AS_MANY:
                _check_length(operands[0], op)
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
        if any(_can_hold(tie, self.joined_from) for tie in tied):
            return a  # the program needs them equal
        made = self._site_size(site, dim)
        self.joined_from.setdefault(made, set()).update({a, b} - {made})
        return made

    def _site_size(self, site: ir.Value, dim: int) -> Dim:
        if (site, dim) not in self.loop_sizes:
            self.loop_sizes[site, dim] = self.ctx.fresh()
        return self.loop_sizes[site, dim]


def _items(value: Hashable) -> Hashable:
    """The tensors in a list that is written down, as long as nobody may write them; else something that is like nothing else."""
    assert isinstance(value, ir.Value)
    made = None if isinstance(value.owner, ir.Block) else value.owner.operation
    items = list(made.operands) if made is not None and made.name == "torch.prim.ListConstruct" else [value]
    under = []
    for item in items:
        while not isinstance(item.owner, ir.Block) and item.owner.operation.name == "torch.derefine":
            item = item.owner.operation.operands[0]
        if "vtensor" not in str(item.type) and str(item.type) != "!torch.none":
            return object()
        under.append(None if str(item.type) == "!torch.none" else item)
    return tuple(under)


_CONSTRUCTS = frozenset({"torch.prim.ListConstruct", "torch.prim.TupleConstruct"})  # ops that run beside values that nobody reads
_CONJUNCTION = "torch.aten.__and__.bool"


def _may_be_written(value: ir.Value) -> bool:
    """Whether someone writes the list, or hands it on to where it may be written: anything but a plain op of the table. From where a
    bailout hands it to nobody comes back."""
    users = (use.owner.operation for use in value.uses)
    return any(((row := row_of(user)) is None or row.acts) and user.name != "tierup.bailout" for user in users)


# --- ops that the table has no rows for: constants, control flow, calls, tierup's own -----------------------------------


def _literal(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    return (torch_types.value_of(op.results[0].type),)


def _identity(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    return tuple(operands[: len(op.results)])


def _declared(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    return walker.declared(op)


def _refining(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    values = [_refined(v, r) for v, r in zip(operands, op.results, strict=False)]
    walker.out.cast_from.update(zip(op.results, operands, strict=False))
    return (*values, *(torch_types.value_of(r.type) for r in list(op.results)[len(values) :]))


def _refined(known: Value, value: ir.Value) -> Value:
    return known if isinstance(known, Never) else torch_types.refined(known, value.type)


def _guarded(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    """guard, bailout, check: the operands with what their facts add; then what else the op gives."""
    expected = op.attributes["expected"]
    facts = [facts_of(a) for a in expected] if isinstance(expected, ir.ArrayAttr) else [facts_of(expected)]
    results = list(op.results)
    values = [walker.with_facts(r, v, f) for r, v, f in zip(results, operands, facts, strict=False)]
    return (*values, *(torch_types.value_of(r.type) for r in results[len(values) :]))


def _if(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    condition = operands[0]
    if isinstance(condition, Bool) and condition.value is not None:
        return walker.block(op.regions[0 if condition.value else 1].blocks[0])  # the other arm may not even run on such operands
    values = walker.out.values
    assumed = _assumed(op.operands[0])
    before = {value: values[value] for value, _ in assumed}
    for value, fact in assumed:
        values[value] = walker.with_facts(value, _without_sizes(values[value]), fact)  # its symbols tie values to one another
    arms, raised = [], []
    for region in op.regions:
        arms.append(walker.block(region.blocks[0]))
        raised.append(walker.raised)
        values.update(before)
    walker.raised = all(raised)
    unset = [
        [not walker.raised and raises or maker(v, UNSET) is not None for v in handed_over(region.blocks[0])]
        for region, raises in zip(op.regions, raised, strict=True)
    ]
    rows = zip(op.results, *arms, *unset, strict=True)
    return tuple(b if no_a else a if no_b else walker.join_at(site, a, b) for site, a, b, no_a, no_b in rows)


def _if_then_else(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    """A prim.If whose arms compute nothing: what it was known to give before, it is known to give now."""
    condition, then, otherwise = operands
    if isinstance(condition, Bool) and condition.value is not None:
        return (then if condition.value else otherwise,)
    return (walker.join_at(op.results[0], then, otherwise),)


def _without_sizes(value: Value) -> Value:
    return Tensor(value.dtype) if isinstance(value, Tensor) else value


def _assumed(condition: ir.Value) -> list[tuple[ir.Value, Fact]]:
    """What a true condition says of values: those that a tierup.check_shapes in it found to fit."""
    owner = condition.owner
    if isinstance(owner, ir.Block):
        return []
    if owner.name == _CONJUNCTION:
        return [pair for operand in owner.operands for pair in _assumed(operand)]
    if owner.name != "tierup.check_shapes":
        return []
    return list(zip(owner.operands, map(facts_of, ir.ArrayAttr(owner.attributes["expected"])), strict=True))


def _loop(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    body = op.regions[0].blocks[0]
    trip, condition, carried = operands[0], operands[1], tuple(operands[2:])
    rounds = trip.value if isinstance(trip, Int) and isinstance(trip.value, int) else None
    runs_once, begun = rounds == 1, len(walker.ctx.ties)
    for _ in range(_MAX_LOOP_ROUNDS):
        walker.out.values[body.arguments[0]] = Int(0) if runs_once else _counting(body.arguments[0], trip)
        for argument, value in zip(list(body.arguments)[1:], carried, strict=True):
            walker.set(argument, value)
        ties = len(walker.ctx.ties)
        after = walker.block(body)[1:]
        if raised := walker.raised:
            after = carried  # no round comes to its end
        joined = tuple(walker.join_at(site, a, b) for site, a, b in zip(op.results, carried, after, strict=True))
        if joined == carried or runs_once:
            break
        del walker.ctx.ties[ties:]  # found with types that the next round replaces
        carried = joined
    else:
        if not walker.tolerant:
            raise InferenceError(op, f"the types that this loop carries did not settle in {_MAX_LOOP_ROUNDS} rounds")
        joined = _declared(walker, op, operands)
        walker.out.values.update(zip(list(body.arguments)[1:], joined, strict=True))
        walker.block(body)
    runs = condition == Bool(True) and rounds is not None and rounds > 0
    walker.raised = raised and runs
    if condition == Bool(False) or (rounds is not None and rounds <= 0):
        del walker.ctx.ties[begun:]  # what no round runs needs nothing
    return after if runs_once and condition == Bool(True) else joined


def _counting(number: ir.Value, trip: Value) -> Int:
    """The number of an iteration, in the body of the loop."""
    rounds = trip.value if isinstance(trip, Int) else None
    return Int() if rounds is None else Int(None, Counter(number, where_positive(rounds)))


def _call(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    callee = callee_of(op)
    if callee is None or callee in walker.entered:  # nobody's, a declaration, or recursive
        return _declared(walker, op, operands)
    return walker.function(callee, operands)


def _region(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    """fusion_group, fallback: a body isolated from above whose arguments are the operands."""
    block = op.regions[0].blocks[0]
    for argument, value in zip(block.arguments, operands, strict=True):
        walker.set(argument, _refined(value, argument))
    return walker.block(block)


def _differentiable(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    """The forward region; temporaries for the gradient follow its results. What backward takes nobody knows here."""
    return _region(walker, op, operands)[: len(op.results)]


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


def _check_length(items: Value, op: ir.Operation) -> None:
    """Raises ShapeError where an op unpacks another number of items than it has results."""
    if isinstance(items, (List, Tuple)) and items.items is not None and len(items.items) != len(op.results):
        raise ShapeError(f"{len(op.results)} values are taken out of {len(items.items)}")


def _chunk(walker: _Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    """tierup.constant_chunk: as aten.chunk, whose list it unpacks."""
    row = optable.lookup("aten.chunk")
    assert row is not None
    try:
        found = row.infer(walker.ctx, [*operands, *(Int(ir.IntegerAttr(op.attributes[name]).value) for name in ("chunks", "dim"))])
        assert isinstance(found, List)
        _check_length(found, op)
    except OF_RULES as e:
        walker.refuse(op, e)
        return _declared(walker, op, operands)
    return found.items or _declared(walker, op, operands)


_STRUCTURE = {
    **dict.fromkeys(READERS, lambda walker, op, operands: (lifted(READERS[op.name](op)),)),
    "torch.constant.device": lambda walker, op, operands: (Opaque(),),
    "torch.constant.number": _declared,
    "torch.vtensor.literal": _literal,
    "torch.tensor.literal": _literal,
    UNSET: lambda walker, op, operands: walker.declared(op) if walker.unset_has_sizes else (Never(),),
    "torch.symbolic_int": _declared,
    "torch.bind_symbolic_shape": lambda walker, op, operands: (),
    "torch.copy.to_tensor": _identity,
    "torch.copy.to_vtensor": _identity,
    "torch.derefine": _identity,
    "torch.tensor_static_info_cast": _refining,
    "torch.prim.unchecked_cast": _refining,
    "torch.overwrite.tensor.contents": lambda walker, op, operands: (),
    "torch.prim.If": _if,
    "torch.prim.Loop": _loop,
    "func.call": _call,
    "tierup.profile": _identity,
    "tierup.count_run": lambda walker, op, operands: (),
    "tierup.guard": _guarded,
    "tierup.bailout": _guarded,
    "tierup.check": _guarded,
    "tierup.check_requires_grad": _refining,
    "tierup.constant_chunk": _chunk,
    "tierup.if_then_else": _if_then_else,
    "tierup.differentiable": _differentiable,
    "tierup.fusion_group": _region,
    "tierup.fallback": _region,
}
