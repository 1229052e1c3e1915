"""Inference through ops that the op table has no rows for: constants, control flow, calls, tierup's own."""

from __future__ import annotations

from tierup.dialect import optable
from tierup.dialect.facts.dims import where_positive
from tierup.dialect.facts.inference.walker import InferenceError, Rule, Walker, check_length
from tierup.dialect.facts.profiled import Fact
from tierup.dialect.facts.values import Bool, Counter, Int, List, Never, Opaque, Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import READERS, facts_of
from tierup.dialect.ir.structure import UNSET, handed_over, maker
from tierup.dialect.ir.walking import callee_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import OF_RULES
from tierup.dialect.optable.operands import lifted

_MAX_LOOP_ROUNDS = 12  # each round only loses knowledge: rank + dtype + sizes of a handful of carried values settle in a few
_CONJUNCTION = "torch.aten.__and__.bool"


def _literal(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    return (torch_types.value_of(op.results[0].type),)


def _identity(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    return tuple(operands[: len(op.results)])


def _declared(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    return walker.declared(op)


def _refining(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    values = [_refined(v, r) for v, r in zip(operands, op.results, strict=False)]
    walker.out.cast_from.update(zip(op.results, operands, strict=False))
    return (*values, *(torch_types.value_of(r.type) for r in list(op.results)[len(values) :]))


def _refined(known: Value, value: ir.Value) -> Value:
    return known if isinstance(known, Never) else torch_types.refined(known, value.type)


def _guarded(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    """guard, bailout, check: the operands with what their facts add; then what else the op gives."""
    expected = op.attributes["expected"]
    facts = [facts_of(a) for a in expected] if isinstance(expected, ir.ArrayAttr) else [facts_of(expected)]
    results = list(op.results)
    values = [walker.with_facts(r, v, f) for r, v, f in zip(results, operands, facts, strict=False)]
    return (*values, *(torch_types.value_of(r.type) for r in results[len(values) :]))


def _if(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
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


def _if_then_else(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
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


def _loop(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
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


def _call(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    callee = callee_of(op)
    if callee is None or callee in walker.entered:  # nobody's, a declaration, or recursive
        return _declared(walker, op, operands)
    return walker.function(callee, operands)


def _region(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    """fusion_group, fallback: a body isolated from above whose arguments are the operands."""
    block = op.regions[0].blocks[0]
    for argument, value in zip(block.arguments, operands, strict=True):
        walker.set(argument, _refined(value, argument))
    return walker.block(block)


def _differentiable(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    """The forward region; temporaries for the gradient follow its results. What backward takes nobody knows here."""
    return _region(walker, op, operands)[: len(op.results)]


def _chunk(walker: Walker, op: ir.Operation, operands: list[Value]) -> tuple[Value, ...]:
    """tierup.constant_chunk: as aten.chunk, whose list it unpacks."""
    row = optable.lookup("aten.chunk")
    assert row is not None
    try:
        found = row.infer(walker.ctx, [*operands, *(Int(ir.IntegerAttr(op.attributes[name]).value) for name in ("chunks", "dim"))])
        assert isinstance(found, List)
        check_length(found, op)
    except OF_RULES as e:
        walker.refuse(op, e)
        return _declared(walker, op, operands)
    return found.items or _declared(walker, op, operands)


RULES: dict[str, Rule] = {
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
