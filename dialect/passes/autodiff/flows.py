"""Which arguments the results of a run depend on, where the path that it takes decides: truth values behind a function's results.

    %r = torch.prim.If %c -> {             %r = torch.prim.If %c -> { ... } else { ... }
      yield %x * %a           becomes      %n = torch.aten.__not__ %c
    } else {                               return %r, %c, %n          (%a is in %r where %c, %b where %n, %x always)
      yield %x * %b
    }
    return %r

As in eager autograd an argument that a run did not use has no gradient then, which is something else than one of zeros.

Each value has parts: expressions, and for each the set of arguments (bits of a number) on which the value depends when it is true. An
expression is a number: TRUE, or one that stands for

    ("or", expressions)                     ("if", op, then, otherwise)        what the arm that is taken says
    ("ran", loop)                           ("carried", loop, k, n, inside)    what the loop hands on beside the value k that it carries

Expressions become ops where a result needs them: a branch or a loop gets further results.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Union

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.attributes import constant
from tierup.dialect.ir.structure import blocks, hand_over, handed_over, last_of, maker, set_signature, take_place, with_more
from tierup.dialect.ir.walking import Notes, walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.autodiff.differentiation import activity
from tierup.dialect.rewriting.core import bool_of, create, int_of

TRUE = 0
Parts = Mapping[int, int]
State = Union[Parts, "tuple[State, ...]"]
"""Of a tuple that its maker or a branch gives: those of its items."""


@dataclass(frozen=True)
class Flows:
    """`always`: of each result, the arguments (bits, in the order of `wrt`) that are in it on every path. `flags`: for each truth value,
    what is in them besides when it is true: pairs of a result and arguments."""

    always: tuple[int, ...]
    flags: tuple[tuple[tuple[int, int], ...], ...]

    def of(self, values: Sequence[object]) -> tuple[int, ...]:
        """The arguments in each result of a run that gave these truth values."""
        if not self.flags:
            return self.always
        found = list(self.always)
        for value, pairs in zip(values, self.flags, strict=True):
            for k, arguments in pairs if value else ():
                found[k] |= arguments
        return tuple(found)


def has_paths(func: ir.Operation) -> bool:
    """Whether the path that a run takes may decide on what its results depend. Not in a program of torch.export: there `torch.cond` gives
    an arm's operands gradients of zeros when it takes the other."""
    source = ir.StringAttr(func.attributes["tierup.source"]).value if "tierup.source" in func.attributes else None
    return source != "fx" and any(op.name in ("torch.prim.If", "torch.prim.Loop") and len(op.results) for op in walk(func))


def add_flows(module: ir.Module, func: ir.Operation, wrt: Sequence[int]) -> Flows:
    """Let a function in value form give, behind its results, what tells on which of the arguments `wrt` they depend; nothing more where no
    path decides."""
    active, _ = activity(func, wrt)
    block = func.regions[0].blocks[0]
    last = last_of(block)
    finder = _Finder(active)
    for bit, i in enumerate(wrt):
        finder.parts[block.arguments[i]] = {TRUE: 1 << bit}
    finder.block(block)
    results = [finder.of(v) for v in last.operands]
    deciding = dict.fromkeys(e for parts in results for e in parts if e != TRUE)
    made = _Emitter(finder)
    holders = [made.held(e, last) for e in deciding]
    made.rebuild()
    returned = [*last.operands, *(held.operands[0] for held in holders)]
    for held in holders:
        held.erase()
    hand_over(block, returned)
    set_signature(func)
    pairs = [tuple((k, parts[e]) for k, parts in enumerate(results) if e in parts) for e in deciding]
    return Flows(tuple(parts.get(TRUE, 0) for parts in results), tuple(pairs))


class _Finder:
    """The parts of all values. `active`: which values may depend on an argument at all."""

    def __init__(self, active: Mapping[ir.Value, bool]) -> None:
        self.active = active
        self.parts: dict[ir.Value, State] = Notes()
        self.expressions: list[tuple[Any, ...]] = [()]
        self.carried: dict[tuple[int, int, int], tuple[int | None, int | None]] = {}  # a loop's, before it and at an iteration's end
        self.ops: list[ir.Operation] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        self._of_ops: dict[ir.Value, int] = Notes()

    def of(self, value: ir.Value) -> Parts:
        """Of a tuple, of all that is in it."""
        return self._flat(self.parts.get(value, {}))

    def _flat(self, state: State) -> Parts:
        return self._combined([self._flat(item) for item in state], self.any_of) if isinstance(state, tuple) else state

    def number(self, *expression: object) -> int:
        if expression not in self._numbers:
            self._numbers[expression] = len(self.expressions)
            self.expressions.append(expression)
        return self._numbers[expression]

    def _number_of(self, op: ir.Operation) -> int:
        first = op.results[0]
        if first not in self._of_ops:
            self._of_ops[first] = len(self.ops)
            self.ops.append(op)
        return self._of_ops[first]

    def any_of(self, expressions: Sequence[int | None]) -> int | None:
        """None: none of them, ever."""
        flat: set[int] = set()
        for e in expressions:
            if e == TRUE:
                return TRUE
            if e is not None:
                found = self.expressions[e]
                flat |= set(found[1]) if found[0] == "or" else {e}
        return None if not flat else flat.pop() if len(flat) == 1 else self.number("or", tuple(sorted(flat)))

    # --- the walk ------------------------------------------------------------------------------------------------------

    def block(self, block: ir.Block) -> list[State]:
        """Follow a block; the parts of what its terminator hands over."""
        for view in block.operations:
            op = view.operation
            for result, parts in zip(op.results, self._op(op), strict=False):
                if self.active.get(result, False):
                    self.parts[result] = parts
        return [self.parts.get(v, {}) for v in op.operands]

    def _op(self, op: ir.Operation) -> Sequence[State]:
        name = op.name
        if not len(op.results):
            return []
        if name == "torch.prim.If":
            return self._branch(op)
        if name == "torch.prim.Loop":
            return self._loop(op)
        if name == "torch.prim.TupleConstruct":
            return [tuple(self.parts.get(v, {}) for v in op.operands)]
        taken = self._taken(op)
        if taken is not None:
            return taken
        row = row_of(op)
        operands = list(op.operands) if row is None else row.followed(list(op.operands))
        return [self._combined([self.of(v) for v in operands], self.any_of)] * len(op.results)

    def _combined(self, each: Sequence[Parts], combine: Callable[[Sequence[int | None]], int | None]) -> Parts:
        """For each argument the combination of its expressions in some parts."""
        found: dict[int, int] = {}
        if combine == self.any_of:
            each = [p for p in each if p]
            if not each:
                return {}
            if all(p is each[0] or p == each[0] for p in each):
                return each[0]
        classes: dict[tuple[int | None, ...], int] = {(): -1}
        for parts in each:
            split: dict[tuple[int | None, ...], int] = {}
            for key, arguments in classes.items():
                for expression, here in parts.items():
                    if arguments & here:
                        split[*key, expression] = split.get((*key, expression), 0) | (arguments & here)
                        arguments &= ~here
                if arguments:
                    split[*key, None] = split.get((*key, None), 0) | arguments
            classes = split
        for key, arguments in classes.items():
            combined = combine(key) if arguments != 0 and any(e is not None for e in key) else None
            if combined is not None:
                found[combined] = found.get(combined, 0) | arguments
        return found

    def _taken(self, op: ir.Operation) -> Sequence[State] | None:
        """Of what an op takes out of a tuple, or of a list that is written down; None for another op."""
        if op.name not in ("torch.prim.ListUnpack", "torch.prim.TupleUnpack", "torch.prim.TupleIndex", "torch.aten.__getitem__.t"):
            return None
        made, whole = maker(op.operands[0]), self.parts.get(op.operands[0])
        if made is not None and made.name == "torch.prim.ListConstruct":
            whole = tuple(self.parts.get(v, {}) for v in made.operands)
        if not isinstance(whole, tuple):
            return None
        if len(op.operands) == 1:
            return whole if len(whole) == len(op.results) else None
        index = int_of(op.operands[1])
        return [whole[index]] if index is not None and -len(whole) <= index < len(whole) else None

    def _branch(self, op: ir.Operation) -> list[State]:
        arms = [region.blocks[0] for region in op.regions]
        then, otherwise = (self.block(arm) for arm in arms)
        known = bool_of(op.operands[0])
        raises = [any(view.operation.name == "torch.prim.RaiseException" for view in arm.operations) for arm in arms]
        is_left = [raises[0] or known is False, raises[1] or known is True]  # taken by no run that returns

        def taken(pair: Sequence[int | None]) -> int | None:
            here = [e for e, left in zip(pair, is_left, strict=True) if not left]
            if all(e == here[0] and (e in (TRUE, None) or len(here) == 2) for e in here):  # in both arms: of outside
                return here[0] if here else None
            return self.number("if", self._number_of(op), *pair)

        def joined(a: State, b: State) -> State:
            if isinstance(a, tuple) or isinstance(b, tuple):
                count = len(a if isinstance(a, tuple) else b)
                pairs = [each if isinstance(each, tuple) or each else ({},) * count for each in (a, b)]  # nothing: of no arm that is taken
                if all(isinstance(each, tuple) and len(each) == count for each in pairs):
                    return tuple(map(joined, *pairs))
            return self._combined([self._flat(a), self._flat(b)], taken)

        return [joined(a, b) for a, b in zip(then, otherwise, strict=True)]

    def _loop(self, op: ir.Operation) -> list[Parts]:
        """Each argument's part of what is carried is taken to stay what it was, until an iteration shows that it does not."""
        body, number = op.regions[0].blocks[0], self._number_of(op)
        inside, starts = list(body.arguments)[1:], [self.of(v) for v in list(op.operands)[2:]]
        kinds: list[dict[int, tuple[int | None, int]]] = [{} for _ in inside]  # of each argument that does not: its start, and a number
        while True:
            begun = [self._begun(number, k, start, kinds[k]) for k, start in enumerate(starts)]
            for value, parts in zip(inside, begun, strict=True):
                if self.active.get(value, False):
                    self.parts[value] = parts
            after = [self._flat(state) for state in self.block(body)[1:]]
            unsettled = [self._settle(kinds[k], starts[k], begun[k], after[k]) for k in range(len(inside))]
            if not any(unsettled):
                break
        return [self._left(op, number, k, starts[k], kinds[k], after[k]) for k in range(len(inside))]

    def _begun(self, number: int, k: int, start: Parts, kinds: Mapping[int, tuple[int | None, int]]) -> Parts:
        """What is carried when an iteration begins."""
        found: dict[int, int] = {}
        for expression, arguments in start.items():
            rest = arguments & ~sum(kinds)
            if rest:
                found[expression] = rest
        for bit, (_, n) in kinds.items():
            inside = self.number("carried", number, k, n, True)
            found[inside] = found.get(inside, 0) | bit
        return found

    def _settle(self, kinds: dict[int, tuple[int | None, int]], start: Parts, begun: Parts, after: Parts) -> bool:
        """Note which arguments an iteration changes, in kinds that it changes alike; whether any was new, or one kind is several."""
        before, now = _by_argument(begun), _by_argument(after)
        changed = {bit for bit in before.keys() | now.keys() if bit not in kinds and before.get(bit) != now.get(bit)}
        of_start = _by_argument(start)
        alike: dict[object, int] = {}
        made = {}
        for bit in sorted(kinds.keys() | changed):
            key = of_start.get(bit), now.get(bit), kinds.get(bit)
            made[bit] = of_start.get(bit), alike.setdefault(key, len(alike))
        is_new = bool(changed) or len(set(made.values())) != len(set(kinds.values()))
        if is_new:
            kinds.clear()
            kinds.update(made)
        return is_new

    def _left(
        self, op: ir.Operation, number: int, k: int, start: Parts, kinds: Mapping[int, tuple[int | None, int]], after: Parts
    ) -> Parts:
        """What the loop gives."""
        found = {e: rest for e, arguments in start.items() if (rest := arguments & ~sum(kinds))}
        now = _by_argument(after)
        for bit, (first, n) in kinds.items():
            self.carried[number, k, n] = first, now.get(bit)
            expression: int | None
            if now.get(bit) == TRUE:
                expression = self.any_of([first, TRUE if _runs(op) else self.number("ran", number)])
            else:
                expression = self.number("carried", number, k, n, False)
            assert expression is not None
            found[expression] = found.get(expression, 0) | bit
        return found


class _Emitter:
    """Expressions as ops. Branches and loops that get further results for it are made again at the end."""

    def __init__(self, finder: _Finder) -> None:
        self.finder = finder
        self._given: dict[int, ir.Value] = {}  # by the expressions of branches and loops: stands for a further result
        self._inside: dict[int, ir.Value] = {}  # by those of what a loop carries: the argument of its body
        self._more: dict[int, list[tuple[ir.Value, list[ir.Operation]]]] = {}  # of branches and loops: the results, what holds their parts

    def value(self, expression: int | None, before: ir.Operation) -> ir.Value:
        """The truth value, there before an op at the end of the block that it is for, or before a loop that begins with it."""
        if expression is None or expression == TRUE:
            return constant(expression == TRUE, ir.InsertionPoint(before), before.location)
        kind, *rest = self.finder.expressions[expression]
        if kind == "or":
            first, *others = (self.value(e, before) for e in rest[0])
            for other in others:
                first = self._op("torch.aten.__or__.bool", [first, other], before)
            return first
        op = self.finder.ops[rest[0]]  # of all others: the number of an op
        if kind == "ran":
            return self._ran(op, before)
        if kind == "if":
            return self._taken(expression, op, rest[1], rest[2], before)
        _, k, n, is_inside = rest
        outside = self.finder.number("carried", rest[0], k, n, False)
        if outside not in self._given:
            self._carry(outside, op, *self.finder.carried[rest[0], k, n])
        return (self._inside if is_inside else self._given)[outside]

    def _ran(self, op: ir.Operation, before: ir.Operation) -> ir.Value:
        """Whether a loop ran an iteration."""
        count, start = list(op.operands)[:2]
        some = self._op("torch.aten.gt.int", [count, constant(0, ir.InsertionPoint(before), before.location)], before)
        return some if bool_of(start) is True else self._op("torch.aten.__and__.bool", [some, start], before)

    def _taken(self, expression: int, op: ir.Operation, then: int | None, otherwise: int | None, before: ir.Operation) -> ir.Value:
        if (then, otherwise) == (TRUE, None):
            return op.operands[0]
        if (then, otherwise) == (None, TRUE):
            return self._op("torch.aten.__not__", [op.operands[0]], before)
        if expression not in self._given:
            self._given[expression] = made = self._stand_in(op)
            arms = [last_of(region.blocks[0]) for region in op.regions]
            self._add(op, made, [self.held(e, last) for e, last in zip((then, otherwise), arms, strict=True)])
        return self._given[expression]

    def _carry(self, expression: int, op: ir.Operation, first: int | None, then: int | None) -> None:
        self._given[expression] = made = self._stand_in(op)
        body = op.regions[0].blocks[0]
        self._inside[expression] = body.add_argument(made.type, op.location)
        parts: list[ir.Operation] = []
        self._add(op, made, parts)  # in the order of the body's arguments, before others of this loop are asked for
        parts.append(self.held(first, op))
        parts.append(self.held(then, last_of(body)))

    def held(self, expression: int | None, before: ir.Operation) -> ir.Operation:
        """An op that has the truth value as its operand: also when who gives it is made again."""
        value = self.value(expression, before)
        type_, ip = ir.Type.parse("!torch.list<bool>", before.context), ir.InsertionPoint(before)
        return ir.Operation.create("torch.prim.ListConstruct", [type_], [value], loc=before.location, ip=ip).operation

    def _add(self, op: ir.Operation, result: ir.Value, parts: list[ir.Operation]) -> None:
        self._more.setdefault(self.finder._number_of(op), []).append((result, parts))

    def _stand_in(self, op: ir.Operation) -> ir.Value:
        """What stands for a further result until the op has it."""
        return self._op("torch.prim.Uninitialized", [], op)

    def _op(self, name: str, operands: Sequence[ir.Value], before: ir.Operation) -> ir.Value:
        return create(before, name, operands, ir.Type.parse("!torch.bool", before.context))

    def rebuild(self) -> None:
        """Make the branches and loops that got further results."""
        for number, more in self._more.items():
            _with_results(self.finder.ops[number], more)


def _with_results(op: ir.Operation, more: Sequence[tuple[ir.Value, Sequence[ir.Operation]]]) -> None:
    """A branch or a loop with further results in its place. Of each: what stands for it, and what holds that which the arms yield, or the
    loop begins with and hands on."""
    is_loop = op.name == "torch.prim.Loop"
    for i, block in enumerate(blocks(op)):
        hand_over(block, [*handed_over(block), *(parts[1 if is_loop else i].operands[0] for _, parts in more)])
    count, starts = len(op.results), [parts[0].operands[0] for _, parts in more if is_loop]
    made = with_more(op, [*op.operands, *starts], [v.type for v, _ in more])
    for (value, parts), result in zip(more, list(made.results)[count:], strict=True):
        for held in parts:
            held.erase()
        take_place(value.owner.operation, [result])


def _runs(op: ir.Operation) -> bool:
    """Whether a loop is known to run an iteration."""
    count = int_of(op.operands[0])
    return count is not None and count > 0 and bool_of(op.operands[1]) is True


def _by_argument(parts: Parts) -> dict[int, int]:
    """The expression of each argument, by its bit."""
    found = {}
    for expression, arguments in parts.items():
        while arguments:
            bit = arguments & -arguments
            found[bit] = expression
            arguments ^= bit
    return found
