"""Between which bounds the ints of a function lie: what proves that an op on them needs no check for results of more than 64 bits.

Of what a loop carries nothing is assumed at first; what its rounds hand on then says more, and once more, since what is known of one value
narrows others. A value that rounds only add to is bounded by how many there are, and a counter, which small steps alone change, by how many
steps any run has time for. Sizes that lie in memory are at most `MOST`; what
broadcasting shows may be larger.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import Bool, Int, Tensor
from tierup.dialect.ir.structure import handed_over
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir

Range = tuple[int, int]  # the least and the greatest
ALL: Range = (-(1 << 63), (1 << 63) - 1)
MOST = 1 << 48  # more bytes than an address has
_ROUNDS = 2  # through a loop, narrowing what it carries
_STEP, _STEPS = 1 << 8, 1 << 54  # of a counter: half a year of one in each nanosecond
_FIRST = 1 << 50  # what a counter begins with, at most
_WAYS = 100  # values that a counter is made of
_EFFORT = 20_000  # values looked at; beyond it nothing more is known
_INT = "!torch.int"
_SIZES = frozenset({"aten.size.int", "aten.numel", "aten.len.Tensor"})
_ELEMENTS = frozenset({"aten.item", "aten.Int.Tensor", "aten.IntImplicit"})


class Ranges:
    """The bounds of a function's ints. `most`: what sizes are taken to be at most; `sizes`: of which that was asked. `wraps`: native code
    goes on with what 64 bits hold of an int that has more, which may be any."""

    def __init__(self, inference: Inference, most: int, *, wraps: bool = False) -> None:
        self.sizes: list[ir.Value] = []
        self._wraps = wraps
        self._known: dict[ir.Value, Range] = {}
        self._inference, self._most, self._effort = inference, most, 0

    def of(self, value: ir.Value) -> Range:
        """The bounds of an int, within 64 bits: what they do not hold native code leaves to tier 0."""
        found = self._known.get(value)
        if found is None:
            self._effort += 1
            found = ALL if self._effort > _EFFORT else self._held(self._find(value))
            self._known[value] = found
        return found

    def _held(self, found: Range) -> Range:
        """What 64 bits hold."""
        return ALL if self._wraps and found != _within(found) else _within(found)

    def exact(self, op: ir.Operation) -> Range | None:
        """The bounds of what an op on ints gives, were there ints of any size; None where nothing is known of such an op."""
        rule = _RULES.get(torch_name(op))
        return None if rule is None else rule(*map(self.of, op.operands))

    def fits(self, op: ir.Operation) -> bool:
        """Whether 64 bits hold what an op on ints gives, whatever its operands."""
        found = self.exact(op)
        return found is not None and found == _within(found)

    def _find(self, value: ir.Value) -> Range:
        known = self._inference.values.get(value)
        if isinstance(known, (Int, Bool)) and isinstance(known.value, int):
            return int(known.value), int(known.value)
        if str(value.type) != _INT:
            return 0, 1  # a bool
        if isinstance(value.owner, ir.Block):
            loop, number = value.owner.owner, ir.BlockArgument(value).arg_number
            if loop.name != "torch.prim.Loop":
                return ALL
            if number == 0:
                return 0, max(self.rounds(loop) - 1, 0)
            self._carry(loop.operation)
            return self._known.get(value, ALL)
        op = value.owner.operation
        if op.name == "torch.prim.If":
            at = ir.OpResult(value).result_number
            return _hull(*(self.of(handed_over(region.blocks[0])[at]) for region in op.regions))
        if op.name == "torch.prim.Loop":
            at = ir.OpResult(value).result_number
            self._carry(op)
            return self._after(op, at, self.rounds(op))
        if torch_name(op) in _SIZES:
            self.sizes.append(value)
            return 0, self._most
        if torch_name(op) in _ELEMENTS and isinstance(known, Int):
            return self._element(op.operands[0])
        found = self.exact(op) or ALL
        return _common(found, self._between(op)) if torch_name(op) == "aten.__derive_index" else found

    def _between(self, op: ir.Operation) -> Range:
        """The bounds of what a range gives that a loop goes through."""
        index = op.operands[0]
        if not isinstance(index.owner, ir.Block) or index.owner.owner.name != "torch.prim.Loop":
            return ALL
        length = index.owner.owner.operands[0].owner
        if isinstance(length, ir.Block) or torch_name(length.operation) != "aten.__range_length":
            return ALL
        start, stop = (self.of(v) for v in list(length.operation.operands)[:2])
        return min(start[0], stop[0] + 1), max(start[1], stop[1] - 1)

    def _element(self, tensor: ir.Value) -> Range:
        known = self._inference.values.get(tensor)
        if not isinstance(known, Tensor) or known.dtype is None or known.dtype.is_float:
            return ALL
        return known.dtype.range

    # --- loops ---------------------------------------------------------------------------------------------------------------

    def _carry(self, loop: ir.Operation) -> None:
        """Find the bounds of what a loop carries, at the beginning of a round."""
        arguments = [(i, a) for i, a in enumerate(list(loop.regions[0].blocks[0].arguments)[1:]) if str(a.type) == _INT]
        rounds = self.rounds(loop)
        bounds = [ALL for _ in arguments]
        before = dict(self._known)  # what is found in the body meanwhile hangs on what is assumed
        for _ in range(_ROUNDS):
            self._known = {**before, **{a: found for (_, a), found in zip(arguments, bounds, strict=True)}}
            bounds = [_common(found, self._after(loop, i, rounds - 1)) for (i, _), found in zip(arguments, bounds, strict=True)]
        self._known = {**before, **{a: found for (_, a), found in zip(arguments, bounds, strict=True)}}
        if rounds > MOST:
            bounds = [_common(found, self._counted(a)) for (_, a), found in zip(arguments, bounds, strict=True)]
            self._known = {**before, **{a: found for (_, a), found in zip(arguments, bounds, strict=True)}}

    def _counted(self, value: ir.Value) -> Range:
        """Of a counter: what it begins with, and what was added to that in all loops that it goes through."""
        begins, least, most, seen, ahead = list[Range](), 0, 0, set[ir.Value](), [value]
        while ahead:
            value = ahead.pop()
            if value in seen:
                continue
            seen.add(value)
            step, ways = self._ways(value)
            if not ways:
                begins.append(self.of(value))
            if len(seen) > _WAYS or any(max(map(abs, found)) > _FIRST for found in begins[-1:]):
                return ALL
            least, most, ahead = min(least, step[0]), max(most, step[1]), [*ahead, *ways]
        low, high = _hull(*begins)
        return low + _STEPS * least, high + _STEPS * most

    def _ways(self, value: ir.Value) -> tuple[Range, list[ir.Value]]:
        """What a value has added to others, and to which; none where it is the sum of nothing and a small step."""
        if isinstance(value.owner, ir.Block):
            loop, number = value.owner.owner, ir.BlockArgument(value).arg_number
            if loop.name != "torch.prim.Loop" or number == 0:
                return (0, 0), []
            return (0, 0), [loop.operands[1 + number], handed_over(value.owner)[number]]
        op = value.owner.operation
        if op.name in ("torch.prim.Loop", "torch.prim.If"):
            at = ir.OpResult(value).result_number
            if op.name == "torch.prim.If":
                return (0, 0), [handed_over(region.blocks[0])[at] for region in op.regions]
            return (0, 0), [op.operands[2 + at], handed_over(op.regions[0].blocks[0])[1 + at]]
        name = torch_name(op)
        for x, y in ((0, 1), (1, 0)) if name == "aten.add.int" else ((0, 1),) if name == "aten.sub.int" else ():
            step = self.of(op.operands[y])
            if max(map(abs, step)) <= _STEP:
                return (step if name == "aten.add.int" else (-step[1], -step[0])), [op.operands[x]]
        return (0, 0), []

    def _after(self, loop: ir.Operation, at: int, rounds: int) -> Range:
        """The bounds of a value that a loop carries after at most so many rounds."""
        body = loop.regions[0].blocks[0]
        start, handed_on = self.of(loop.operands[2 + at]), handed_over(body)[1 + at]
        found = _hull(start, self.of(handed_on))
        more = self.change(handed_on, body.arguments[1 + at])
        if more is not None:
            rounds = max(rounds, 0)
            found = _common(found, self._held((start[0] + rounds * min(more[0], 0), start[1] + rounds * max(more[1], 0))))
        return found

    def rounds(self, loop: ir.Operation) -> int:
        """How many rounds a loop has at most."""
        return max(self.of(loop.operands[0])[1], 0)

    def change(self, value: ir.Value, to: ir.Value) -> Range | None:
        """The bounds of value - to, where `value` is made of `to` by adding and subtracting."""
        if value == to:
            return 0, 0
        if isinstance(value.owner, ir.Block):
            return None
        op, name = value.owner.operation, torch_name(value.owner.operation)
        if name == "prim.If":
            at = ir.OpResult(value).result_number
            arms = [self.change(handed_over(region.blocks[0])[at], to) for region in op.regions]
            return None if arms[0] is None or arms[1] is None else _hull(arms[0], arms[1])
        if name == "prim.Loop":
            at = ir.OpResult(value).result_number
            body = op.regions[0].blocks[0]
            before, more = self.change(op.operands[2 + at], to), self.change(handed_over(body)[1 + at], body.arguments[1 + at])
            if before is None or more is None:
                return None
            rounds = self.rounds(op)
            return before[0] + rounds * min(more[0], 0), before[1] + rounds * max(more[1], 0)
        if name not in ("aten.add.int", "aten.sub.int"):
            return None
        x, y = op.operands
        found = self.change(x, to)
        if found is None and name == "aten.add.int":
            x, y = y, x
            found = self.change(x, to)
        return None if found is None else _RULES[name](found, self.of(y))


def _within(found: Range) -> Range:
    low, high = (min(max(bound, ALL[0]), ALL[1]) for bound in found)
    return low, high


def _hull(*found: Range) -> Range:
    return min(low for low, _ in found), max(high for _, high in found)


def _common(a: Range, b: Range) -> Range:
    return max(a[0], b[0]), min(a[1], b[1])


def _corners(how: Callable[[int, int], int]) -> Callable[[Range, Range], Range]:
    """Of what is least and greatest where the operands are."""

    def rule(a: Range, b: Range) -> Range:
        found = [how(x, y) for x, y in product(a, b)]
        return min(found), max(found)

    return rule


def _quotient(a: Range, b: Range) -> Range:
    if b[0] > 0 or b[1] < 0:
        return _corners(lambda x, y: x // y)(a, b)
    most = max(map(abs, a))
    return (-most, most) if b[0] < 0 else (min(a[0], 0), max(a[1], 0))


def _remainder(a: Range, b: Range) -> Range:
    low, high = min(b[0] + 1, 0), max(b[1] - 1, 0)
    return (0, min(high, a[1])) if a[0] >= 0 and b[0] >= 0 else (low, high)


def _bits(a: Range, b: Range) -> Range:
    most = max(*map(abs, a), *map(abs, b)).bit_length()
    return (0 if a[0] >= 0 and b[0] >= 0 else -(1 << most), (1 << most) - 1)


def _conjunction(a: Range, b: Range) -> Range:
    never_negative = [high for low, high in (a, b) if low >= 0]
    return (0, min(never_negative)) if never_negative else _bits(a, b)


def _shifted(a: Range, b: Range) -> Range:
    return _corners(lambda x, y: x << y)(a, (max(b[0], 0), max(b[1], 0))) if b[1] < 64 else (2 * ALL[0], 2 * ALL[1])


def _length(low: Range, high: Range, step: Range) -> Range:
    """Of a range by steps of 1: what native code begins with."""
    up = high[1] - low[0] if step[1] > 0 else 0
    down = low[1] - high[0] if step[0] < 0 else 0
    return 0, max(up if low[0] < 0 else min(up, ALL[1]), down if high[0] < 0 else min(down, ALL[1]), 0)


_RULES: dict[str, Callable[..., Range]] = {
    "aten.add.int": _corners(lambda x, y: x + y),
    "aten.sub.int": _corners(lambda x, y: x - y),
    "aten.mul.int": _corners(lambda x, y: x * y),
    "aten.neg.int": lambda a: (-a[1], -a[0]),
    "aten.floordiv.int": _quotient,
    "aten.remainder.int": _remainder,
    "aten.__and__.int": _conjunction,
    "aten.__or__.int": _bits,
    "aten.__xor__.int": _bits,
    "aten.__lshift__.int": _shifted,
    "aten.__rshift__.int": lambda a, b: _hull(a, (min(a[0] >> 63, 0), max(a[1] >> 63, 0))),
    "aten.__range_length": _length,
    "aten.__derive_index": lambda index, start, step: _RULES["aten.add.int"](start, _RULES["aten.mul.int"](index, step)),
    "aten.Int.bool": lambda a: (0, 1),
    "prim.max.int": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "prim.min.int": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
}
