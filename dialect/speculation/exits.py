"""Leaving a function of structured control flow in its middle: what stands after a point runs only where the program went on.

A point is a bailout, or a branch or loop with one in it. The rest of its block becomes an arm of a torch.prim.If; that control left
is a !torch.bool that branches and loops hand outwards, beside the values that they yield. What these are where control left nobody
asks (torch.prim.Uninitialized): all that follows is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from tierup.dialect.ir.structure import UNSET, hand_over, if_, last_of, maker, with_more, yield_
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import bool_of, create, number

IF, LOOP, BAILOUT = "torch.prim.If", "torch.prim.Loop", "tierup.bailout"

Truth: TypeAlias = "ir.Value | bool"  # a !torch.bool, or a constant that is not made yet
Exit = Callable[[ir.Operation, ir.Operation], None]  # (bailout, op): makes before `op` what happens where the bailout is lost


@dataclass
class _Flag:
    """A truth value that a block hands out. `on_leaving`: what it is where control left."""

    value: Truth
    on_leaving: bool


@dataclass(frozen=True)
class _Point:
    """Where control may leave a block: `stays` at a bailout, or `left` behind a branch or a loop."""

    op: ir.Operation
    stays: ir.Value | None = None
    left: ir.Value | None = None


class Leaving:
    """Takes the bailouts out of blocks. `stays`: for each, by its index, whether its assumption holds, a !torch.bool made before it. A
    bailout that is not among them stays."""

    def __init__(self, stays: Mapping[int, ir.Value], exit_: Exit) -> None:
        self._stays, self._exit = stays, exit_

    def block(self, block: ir.Block) -> None:
        """Restructure a block and all in it. Unless it is a function's, its terminator yields in the end whether control left, too."""
        ops: list[ir.Operation | _Point] = [self._point(view.operation) or view.operation for view in list(block.operations)]
        terminator = ops.pop()
        assert isinstance(terminator, ir.Operation)
        flags = [] if terminator.name == "func.return" else [_Flag(False, True)]
        if terminator.name == LOOP + ".condition":
            flags.insert(0, _Flag(_truth(terminator.operands[0]), False))
        rest: list[ir.Operation] = []  # what comes after the point that is looked at
        for op in reversed(ops):
            if not isinstance(op, _Point):
                rest.insert(0, op)
                continue
            made = self._skip(op, rest, terminator, flags)
            rest = [*([op.op] if op.left is not None else []), *made]
            if op.stays is not None:
                op.op.erase()
        if flags:
            values = [_value(flag.value, terminator) for flag in flags]
            first = 1 if len(flags) == 2 else 0
            hand_over(block, [*values[:first], *list(terminator.operands)[first:], *values[first:]])

    def _point(self, op: ir.Operation) -> _Point | None:
        if op.name == BAILOUT and _index(op) in self._stays:
            return _Point(op, stays=self._stays[_index(op)])
        if op.name not in (IF, LOOP) or not self._may_leave(op):
            return None
        for region in op.regions:
            self.block(region.blocks[0])
        operands = list(op.operands)
        if op.name == LOOP:
            op.regions[0].blocks[0].add_argument(_bool(op), op.location)  # where an iteration begins control never left
            operands.append(number(op, False))
        made = with_more(op, operands, [_bool(op)])
        return _Point(made, left=made.results[len(made.results) - 1])

    def _may_leave(self, op: ir.Operation) -> bool:
        for region in op.regions:
            for view in region.blocks[0].operations:
                inner = view.operation
                if (inner.name == BAILOUT and _index(inner) in self._stays) or self._may_leave(inner):
                    return True
        return False

    def _skip(self, point: _Point, rest: list[ir.Operation], terminator: ir.Operation, flags: list[_Flag]) -> list[ir.Operation]:
        """Let `rest`, which is all between the point and the terminator, run only where control stays; the ops in its place."""
        made: list[ir.Operation] = []
        for op in [op for op in rest if op.name.startswith("torch.constant.")]:
            op.move_before(point.op)  # it stays outside: a terminator that takes it says so without a branch
            rest.remove(op)
        open_flags: list[_Flag] = []
        for flag in flags:
            if not isinstance(flag.value, bool):
                open_flags.append(flag)
            elif flag.value is not flag.on_leaving:
                flag.value = _whether(point, flag.on_leaving, terminator, made)
        inside = {result for op in rest for result in op.results}
        first = 1 if terminator.name == LOOP + ".condition" else 0
        yielded = [i for i, v in enumerate(terminator.operands) if i >= first and v in inside]
        if point.left is not None and not rest and not open_flags:
            return made
        values = [*(terminator.operands[i] for i in yielded), *(_value(flag.value, terminator) for flag in open_flags)]
        branch = self._branch(point, rest, values, [flag.on_leaving for flag in open_flags], terminator)
        results = list(branch.results)
        for i, result in zip(yielded, results, strict=False):
            terminator.operands[i] = result
        for flag, result in zip(open_flags, results[len(yielded) :], strict=True):
            flag.value = result
        return [*made, branch]

    def _branch(
        self, point: _Point, rest: Sequence[ir.Operation], values: Sequence[ir.Value], on_leaving: Sequence[bool], before: ir.Operation
    ) -> ir.Operation:
        """`if stays { rest; yield values } else { leave }`, or `if left { } else { rest; yield values }`."""
        location = point.op.location
        condition = point.stays if point.stays is not None else point.left
        made, *arms = if_(condition, [v.type for v in values], location, ir.InsertionPoint(before))
        staying, leaving = arms if point.stays is not None else reversed(arms)
        for op in rest:
            staying.append(op)
        yield_(staying, values)
        yield_(leaving)
        end = last_of(leaving)
        if point.stays is not None:
            self._exit(point.op, end)
        unset = values[: len(values) - len(on_leaving)]
        hand_over(leaving, [*(create(end, UNSET, [], v.type) for v in unset), *(number(end, v) for v in on_leaving)])
        return made


def where_control_stayed(value: ir.Value) -> ir.Value:
    """The value that a branch gives unless control left in it, and the value itself where it is no such branch's."""
    while (op := maker(value, IF)) is not None:
        number_ = ir.OpResult(value).result_number
        then, orelse = (last_of(region.blocks[0]).operands[number_] for region in op.regions)
        if (maker(then, UNSET) is None) is (maker(orelse, UNSET) is None):
            break
        value = then if maker(then, UNSET) is None else orelse
    return value


def _whether(point: _Point, left: bool, before: ir.Operation, made: list[ir.Operation]) -> ir.Value:
    """Whether control left at a point, or, if not `left`, whether it stayed."""
    known = point.left if left else point.stays
    if known is None:
        other = point.stays if left else point.left
        assert other is not None
        known = create(before, "torch.aten.__not__", [other], _bool(before))
        made.append(known.owner.operation)
    return known


def _truth(value: ir.Value) -> Truth:
    known = bool_of(value)
    return value if known is None else known


def _value(truth: Truth, before: ir.Operation) -> ir.Value:
    return number(before, truth) if isinstance(truth, bool) else truth


def _bool(op: ir.Operation) -> ir.Type:
    return ir.Type.parse("!torch.bool", op.context)


def _index(op: ir.Operation) -> int:
    return int(ir.IntegerAttr(op.attributes["index"]).value)
