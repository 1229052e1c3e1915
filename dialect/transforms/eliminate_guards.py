"""tierup-eliminate-guards: drop the guards that cannot fail once the others have passed.

    %0 = torch.aten.mul.Tensor %x, %y : ...
    %1 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %2 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %3 = torch.aten.sub.Tensor %1, %2, ...
    %4 = "tierup.guard"(%3) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %5 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %6 = torch.aten.mul.Tensor %4, %5 ...

becomes

    %1 = "tierup.guard"(%x) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %2 = "tierup.guard"(%y) {expected = #tierup.profiled<f32[4]>} : (!torch.vtensor) -> !torch.vtensor<[4],f32>
    %0 = torch.aten.mul.Tensor %x, %y : ...
    %3 = torch.aten.sub.Tensor %1, %2, ... -> !torch.vtensor<[4],f32>
    %6 = torch.aten.mul.Tensor %3, %1 ...

Four steps. Each guard moves up to where its value is made, or to the start of its own block when that is outside: never out of a loop, nor
out of an arm but that of a gradient that is defined. Neighbours on one value become one guard of all their facts, unless these
contradict one another. A guard goes when one that dominates it, on the same value, asks for as much or more. And it goes when the
value's type follows by the op table's shape rules from the arguments and the guards that are left; the value then has that type.

A guard only looks, so it may stand anywhere between the value and its uses: what is between runs in the continuation instead.
"""

from __future__ import annotations

from dataclasses import replace

from tierup.dialect.analysis.requires_grad import RequiresGrad
from tierup.dialect.facts.inference.infer import infer_function
from tierup.dialect.facts.inference.refined_types import cast, refined_type, replace_uses, value_of_fact
from tierup.dialect.facts.profiled import Fact, Profiled, ProfiledScalar
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.ir.dominance import Order
from tierup.dialect.ir.structure import blocks, maker
from tierup.dialect.ir.walking import ops_of, unerased, walk
from tierup.dialect.language import ops
from tierup.dialect.language.contracts import STRUCTURE
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.speculation.guard_facts import Proven, meet, proves
from tierup.dialect.speculation.resume_points import root

_STANDS_FIRST = ("torch.bind_symbolic_shape", "torch.constant.", "torch.symbolic_int")
_CAST = "torch.tensor_static_info_cast"


@register
class EliminateGuards(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        _move_all_up(func)
        _coalesce(func)
        _remove_dominated(func)
        while _remove_implied(func):
            pass
        _move_all_up(func)  # some that went left casts in front of others


def _guards(func: ir.Operation) -> list[ir.Operation]:
    return [op for op in walk(func) if op.name == "tierup.guard"]


def _fact(guard: ir.Operation) -> Fact:
    return facts_of(guard.attributes["expected"])


# --- moving --------------------------------------------------------------------------------------------------------------


def _move_all_up(func: ir.Operation) -> None:
    for block in func.regions[0].blocks:
        _move_up(block)


def _move_up(block: ir.Block) -> None:
    """Each guard of a block, and of those in it, goes to where its value is made, or to the block's start."""
    for op in ops_of(block):
        for inner in blocks(op):
            _move_up(inner)
            _leave_gradient_branch(inner)
    now = [view.operation for view in block.operations]
    rest = [op for op in now if op.name != "tierup.guard"]
    here = {r for op in now for r in op.results}
    waiting: dict[ir.Value | None, list[ir.Operation]] = {}
    for op in now:
        if op.name == "tierup.guard":
            value = op.operands[0]
            waiting.setdefault(value if value in here else None, []).append(op)
    # a guard that is implied leaves a cast in its place, which the next guard does not move past
    leading = (op.name.startswith(_STANDS_FIRST) or (op.name == _CAST and op.operands[0] not in here) for op in rest)
    first = next((i for i, stays in enumerate(leading) if not stays), len(rest))
    order: list[ir.Operation] = []
    for i, op in enumerate(rest):
        if i == first:
            _append_with_guards(order, waiting.pop(None, []), waiting)
        _append_with_guards(order, [op], waiting)
    if order != now:
        for op in order:
            if op != rest[-1]:  # the terminator stays
                op.move_before(rest[-1])


def _append_with_guards(order: list[ir.Operation], ops_: list[ir.Operation], waiting: dict[ir.Value | None, list[ir.Operation]]) -> None:
    """`ops_`, each followed by the guards of its results."""
    for op in ops_:
        order.append(op)
        for result in op.results:
            _append_with_guards(order, waiting.pop(result, []), waiting)


def _leave_gradient_branch(block: ir.Block) -> None:
    """Guards that stand first in the arm for gradients that are defined, as they nearly always are, move out before the branch."""
    branch = block.owner.operation
    if branch.name != "torch.prim.If" or block != branch.regions[0].blocks[0]:
        return
    asks = maker(branch.operands[0])
    if asks is None or asks.name != "tierup.any_nonzero":
        return
    for op in [view.operation for view in block.operations]:
        if op.name == "tierup.guard" and not any(op.operands[0] == r for view in block.operations for r in view.operation.results):
            op.move_before(branch)
        elif not op.name.startswith((*_STANDS_FIRST, "tierup.guard")):
            return


# --- merging -------------------------------------------------------------------------------------------------------------


def _coalesce(func: ir.Operation) -> None:
    """Guards of one value that stand side by side become one."""
    window: dict[ir.Value, ir.Operation] = {}
    gone: list[ir.Operation] = []
    for op in unerased(walk(func)):
        if op.name != "tierup.guard":
            if not op.name.startswith(_STANDS_FIRST):
                window.clear()
            continue
        value = root(op.operands[0])
        first = window.setdefault(value, op)
        both = meet(_fact(first), _fact(op)) if first != op else None
        if both is None:
            continue
        if both != _fact(first):
            window[value] = first = _with_facts(first, both, gone)
        replace_uses(op.results[0], _as(first.results[0], op.results[0].type, op), op.results[0].type)
        gone.append(op)
    for op in gone:
        op.erase()


def _with_facts(guard: ir.Operation, fact: Fact, gone: list[ir.Operation]) -> ir.Operation:
    """A guard of more facts in the place of `guard`."""
    value, result = guard.operands[0], guard.results[0]
    known = value_of_fact(fact)
    type_ = refined_type(guard, value.type, known) if isinstance(known, Tensor) else value.type
    made = ops.guard(value, fact, type_, loc=guard.location, ip=ir.InsertionPoint(guard))
    replace_uses(result, made, result.type)
    gone.append(guard)
    return made.owner.operation


def _as(value: ir.Value, type_: ir.Type, at: ir.Operation) -> ir.Value:
    """`value`, which is known to be at least a `type_`, with at least that type, where `at` stands."""
    if value.type == type_ or not torch_types.is_tensor(type_):
        return value
    wanted = torch_types.parse_tensor(str(type_))
    known = Tensor(wanted[1], None) if wanted[0] is None else value_of_fact(Profiled(dtype=wanted[1], sizes=wanted[0]))
    full = refined_type(at, value.type, known) if isinstance(known, Tensor) else value.type
    return cast(value, full, ir.InsertionPoint(at))


def _remove_dominated(func: ir.Operation) -> None:
    """A guard that asks for no more than one that dominates it gives its value."""
    order = Order(func)
    kept: dict[ir.Value, list[ir.Operation]] = {}
    pairs: list[tuple[ir.Operation, ir.Operation]] = []
    for op in _guards(func):
        others = kept.setdefault(root(op.operands[0]), [])
        stronger = next((other for other in order.dominating(op, others) if _says(_fact(other), _fact(op))), None)
        if stronger is None:
            others.append(op)
        else:
            pairs.append((op, stronger))
    for op, stronger in pairs:
        replace_uses(op.results[0], _as(stronger.results[0], op.results[0].type, op), op.results[0].type)
    for op, _ in pairs:
        op.erase()


def _says(stronger: Fact, fact: Fact) -> bool:
    """Whether what fits `stronger` fits `fact`."""
    if isinstance(stronger, ProfiledScalar) or isinstance(fact, ProfiledScalar):
        return isinstance(stronger, ProfiledScalar) and isinstance(fact, ProfiledScalar) and stronger <= fact
    return stronger <= fact


# --- what shape rules imply ----------------------------------------------------------------------------------------------


def _remove_implied(func: ir.Operation) -> bool:
    """Remove guards whose values are known to fit; whether there were any.

    All at once: with every other guard in place each of these is the identity on what is known, so what is known without them is the same.
    """
    guards = _guards(func)
    inference = infer_function(func, rules=Proven(), tolerant=True)
    states = RequiresGrad(func) if any(_about_gradients(_fact(g)) for g in guards) else None
    implied = [g for g in guards if (known := inference.values.get(g.operands[0])) is not None and proves(known, _open_fact(g, states))]
    for guard in implied:
        value, result = guard.operands[0], guard.results[0]
        old = value.type
        if value.type != result.type and _may_be_typed(value):
            value.set_type(result.type)
            replace_uses(value, value, old)
        elif value.type != result.type:
            value = cast(value, result.type, ir.InsertionPoint(guard))
        result.replace_all_uses_with(value)
    for guard in implied:
        guard.erase()
    return bool(implied)


def _about_gradients(fact: Fact) -> bool:
    return isinstance(fact, Profiled) and fact.requires_grad is not None


def _open_fact(guard: ir.Operation, states: RequiresGrad | None) -> Fact:
    """What a guard asks for beyond what is known of its value's gradient."""
    fact = _fact(guard)
    if states is not None and isinstance(fact, Profiled) and states[guard.operands[0]] is fact.requires_grad:
        return replace(fact, requires_grad=None)
    return fact


def _may_be_typed(value: ir.Value) -> bool:
    """Whether the op that makes the value may have a result of a more refined type."""
    op = maker(value)
    return op is not None and op.name not in STRUCTURE and row_of(op) is not None and torch_types.is_value_tensor(value.type)
