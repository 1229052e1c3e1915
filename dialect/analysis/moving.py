"""Moving an op within its block together with the ops that must travel along."""

from __future__ import annotations

from collections.abc import Callable

from tierup.dialect.analysis.points_to import inner_ops
from tierup.dialect.ir.structure import TERMINATORS
from tierup.dialect.mlir import ir

Plan = tuple[list[ir.Operation], ir.Operation, bool]  # these ops, in order, go right before (True: after) that one


def plan_move(op: ir.Operation, point: ir.Operation, *, after: bool, conflict: Callable[[ir.Operation, ir.Operation], bool]) -> Plan | None:
    """How `op` gets right before (`after`: right after) `point`, which may be where it stands already; None when it cannot.

    An op between the two that the moving ones depend on (going up) or that depends on them (going down) joins them. `conflict(a, b)`:
    whether the order of two ops shows for another reason than that one uses the other's results. Raises ValueError for ops of two blocks.
    """
    if op.block != point.block:
        raise ValueError(f"{op.name} and {point.name} stand in different blocks")
    if op == point:
        return [], point, after
    upward = point.is_before_in_block(op)
    crossing = after is not upward  # going up to before it, or down to behind it
    between = _between(point, op) if upward else _between(op, point)
    if upward:
        between.reverse()  # from the op towards the point
    moving = [op]
    for other in between:
        if any(_tied(other, m, upward) or conflict(other, m) for m in moving):
            moving.append(other)
    if crossing and any(_tied(point, m, upward) or conflict(point, m) for m in moving):
        return None
    if op.name in TERMINATORS or (after and point.name in TERMINATORS):
        return None
    return moving[::-1] if upward else moving, point, after


def carry_out(plan: Plan | None) -> bool:
    """Move as planned; False for no plan."""
    if plan is None:
        return False
    ops, point, after = plan
    for op in ops:
        if after:
            op.move_after(point)
            point = op
        else:
            op.move_before(point)
    return True


def _between(first: ir.Operation, last: ir.Operation) -> list[ir.Operation]:
    """The ops between two of a block, in order."""
    found, inside = [], False
    for view in first.block.operations:
        op = view.operation
        if op == last:
            break
        if inside:
            found.append(op)
        inside = inside or op == first
    return found


def _tied(other: ir.Operation, moving: ir.Operation, upward: bool) -> bool:
    """Whether one uses the other's results: going up, the moving op those of `other`; going down, the other way round."""
    user, maker = (moving, other) if upward else (other, moving)
    made = set(maker.results)
    return bool(made) and any(operand in made for op in inner_ops(user) for operand in op.operands)
