"""Everyday programs changed in a few places of their syntax: what is left is still Python, and nobody wrote it with tierup in mind.

    program = mutated_program(seed)
    check(program, {"optimize": False}, folder)     # what is wrong, "" when nothing is

Statements change places, come twice, go, or stand in a branch, loop or `try`; names, numbers and operators become others; expressions are
bound to a name on the way, or stand in a conditional expression. Plain Python is the oracle, and says which programs end soon. A difference
counts where plain Python keeps its outcome when the last digits of its arguments, or of what it computes, change.
"""

from __future__ import annotations

import ast
import copy
import inspect
import linecache
import random
import signal
import sys
import textwrap
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import numpy as np
from checking import noisy
from outcomes import PROGRAMS, RAISED, outcome, same

import tierup

CALLS = (1, 1, 2, 1, 3)  # seeds of arguments
OPTIONS: tuple[dict[str, Any], ...] = ({}, {"optimize": False}, {"speculate": "bailout"}, {"level": 0})
_MOST_LINES = 30_000
_MOST_SECONDS = 20
_NUDGES = 12
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod)
_COMPARISONS = (ast.Lt, ast.Gt, ast.LtE, ast.GtE, ast.Eq, ast.NotEq)
_NO_PLACE = (
    ast.FormattedValue, ast.JoinedStr, ast.arguments, ast.FunctionDef, ast.keyword, ast.AnnAssign, ast.match_case, ast.MatchValue, ast.comprehension,
)  # fmt: skip


@dataclass(frozen=True)
class MutatedProgram:
    """`name`: of the program it was; `source`: a function of this name."""

    seed: int
    name: str
    source: str


def mutated_program(seed: int) -> MutatedProgram | None:
    """None where nothing came of it that Python compiles."""
    chance = random.Random(seed)
    name = chance.choice(sorted(n for n, (function, _) in PROGRAMS.items() if inspect.isfunction(function)))
    tree = ast.parse(textwrap.dedent(inspect.getsource(PROGRAMS[name][0])))
    function = tree.body[0]
    if not isinstance(function, ast.FunctionDef):
        return None
    function.decorator_list = []
    for _ in range(chance.choice((1, 1, 2, 3))):
        chance.choice(_MUTATIONS)(_Place(chance, function))
    try:
        source = ast.unparse(ast.fix_missing_locations(tree))
        compile(source, "mutated", "exec")
    except (SyntaxError, ValueError):
        return None
    return MutatedProgram(seed, function.name, source)


def check(program: MutatedProgram, options: dict[str, Any], folder: Path) -> tuple[int, str]:
    """How many calls were compared; and what was wrong. None are where plain Python does not end soon, or does other things the next time."""
    path = folder / f"mutated_{program.seed}.py"
    path.write_text(program.source)
    plain, jitted = (_function(program, path) for _ in range(2))
    jitted = tierup.jit(jitted, **options)
    told, threading.excepthook = threading.excepthook, lambda _: None  # threads may raise, too
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with _memory_of(_CONTENTS[0]):
                expected = [_called(lambda a: _limited(plain, a), program, seed) for seed in CALLS]
            for content in _CONTENTS[1:]:
                with _memory_of(content):
                    again = [_called(lambda a: outcome(plain, a), program, seed) for seed in CALLS]
                if _differ(again, expected):
                    return 0, ""
            for number, (seed, want) in enumerate(zip(CALLS, expected, strict=True)):
                same(_called(lambda a: outcome(jitted, a), program, seed), want, f"call {number}", 1e-6)
    except _TooLong:
        return 0, ""
    except AssertionError as e:
        return (0, "") if _hangs_on_roundings(plain, program) else (len(CALLS), str(e))
    finally:
        threading.excepthook = told
    return len(CALLS), ""


def _hangs_on_roundings(plain: Callable[..., Any], program: MutatedProgram) -> bool:
    """Whether plain Python gives something else where its arguments, or all that it computes, differ in their last digits: at the argmax of a tie,
    in the text of a number."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in sorted(set(CALLS)):
            want = _called(lambda a: outcome(plain, a), program, seed)[:2]
            for nudge in range(_NUDGES):
                function = noisy(program.source, program.name, {**PROGRAMS[_origin(program)][0].__globals__}, nudge) if nudge % 2 else plain
                try:
                    same(_called(lambda a, f=function: outcome(f, a), program, seed, np.random.default_rng(nudge))[:2], want, "", 1e-6)
                except AssertionError:
                    return True
    return False


def _nudged(value: Any, random: np.random.Generator) -> Any:
    """The value with its floats changed by some units in the last place."""
    if isinstance(value, np.ndarray) and value.dtype.kind == "f":
        return (value * (1 + random.integers(-4, 5, value.shape) * np.finfo(value.dtype).eps)).astype(value.dtype)
    if isinstance(value, float):
        return value * (1 + float(random.integers(-4, 5)) * sys.float_info.epsilon)
    if isinstance(value, dict):
        return {key: _nudged(item, random) for key, item in value.items()}
    return type(value)(_nudged(item, random) for item in value) if type(value) in (list, tuple) else value


_EMPTY = np.empty, np.empty_like
_CONTENTS = 57, 0, -113  # true, false, of both signs: a program may ask no more than that


@contextmanager
def _memory_of(content: int) -> Iterator[None]:
    """What np.empty gives is full of this in here: under another content a program that reads it does other things."""
    def filling(make: Any) -> Any:
        @wraps(make)  # np.ma, which a first call may import, wants its name and docstring
        def filled(*args: Any, **options: Any) -> Any:
            made = make(*args, **options)
            if made.dtype.kind in "biufc":
                made[...] = np.array(content).astype(made.dtype)
            return made

        return filled

    np.empty, np.empty_like = map(filling, _EMPTY)
    try:
        yield
    finally:
        np.empty, np.empty_like = _EMPTY


def _differ(got: Any, want: Any) -> bool:
    try:
        same(got, want)
    except (AssertionError, RecursionError):  # a list that holds itself
        return True
    return False


def _function(program: MutatedProgram, path: Path) -> Callable[..., Any]:
    origin, _ = PROGRAMS[_origin(program)]
    space = {**origin.__globals__, "__name__": path.stem}
    exec(compile(program.source, str(path), "exec"), space)
    linecache.checkcache(str(path))
    return space[program.name]


def _origin(program: MutatedProgram) -> str:
    return next(name for name, (function, _) in PROGRAMS.items() if getattr(function, "__name__", "") == program.name)


def _called(call: Callable[[Any], Any], program: MutatedProgram, seed: int, nudge: np.random.Generator | None = None) -> Any:
    """What comes of a call, and its arguments afterwards. Of exceptions the class counts, and of a name without a value that it has none."""
    np.random.seed(0)
    random.seed(0)
    arguments = PROGRAMS[_origin(program)][1](np.random.default_rng(seed))
    if nudge is not None:
        arguments = _nudged(arguments, nudge)
    result, said = call(arguments)
    if isinstance(result, tuple) and len(result) == 5 and result[0] is RAISED:
        result = RAISED, NameError if issubclass(result[1], NameError) else result[1]
    return _unwrapped(result), said, arguments


def _unwrapped(value: Any) -> Any:
    """A result with NumPy's own functions in it, not those of `_memory_of`."""
    if type(value) in (tuple, list):
        return type(value)(map(_unwrapped, value))
    if type(value) is dict:
        return {key: _unwrapped(item) for key, item in value.items()}
    return value.__wrapped__ if getattr(value, "__wrapped__", None) in _EMPTY else value


class _TooLong(BaseException):
    pass


def _limited(function: Callable[..., Any], arguments: Any) -> Any:
    """The outcome of a plain call. Raises _TooLong."""
    lines = 0

    def trace(*_: object) -> Any:
        nonlocal lines
        lines += 1
        if lines > _MOST_LINES:
            raise _TooLong
        return trace

    def give_up(*_: object) -> None:
        raise _TooLong

    before, alarm = sys.gettrace(), signal.signal(signal.SIGALRM, give_up)  # it may wait for what never comes
    sys.settrace(trace)
    signal.alarm(_MOST_SECONDS)
    try:
        return outcome(function, arguments)
    finally:
        signal.alarm(0)
        sys.settrace(before)
        signal.signal(signal.SIGALRM, alarm)


# --- the mutations ------------------------------------------------------------------------------------------------------------

_Slot = tuple[ast.AST, str, int | None]


class _Place:
    """Somewhere in a function: a statement of a block, and a name."""

    def __init__(self, chance: random.Random, function: ast.FunctionDef) -> None:
        self.chance, self.function = chance, function
        bound = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        self.names = sorted(bound | {a.arg for a in function.args.args}) or ["None"]
        self.name = chance.choice(self.names)
        self.blocks = [b for n in ast.walk(function) for f in ("body", "orelse", "finalbody") if isinstance(b := getattr(n, f, None), list) and b]
        self.block: list[ast.stmt] = chance.choice(self.blocks)
        self.at = chance.randrange(len(self.block))

    @property
    def statement(self) -> ast.stmt:
        return self.block[self.at]

    def expression(self, fits: Callable[[ast.expr], bool] = lambda e: True) -> _Slot | None:
        """Where an expression stands."""
        found = [slot for slot in self._slots() if fits(get(slot))]
        return self.chance.choice(found) if found else None

    def _slots(self) -> Iterator[_Slot]:
        for parent in ast.walk(self.function):
            if isinstance(parent, _NO_PLACE):
                continue
            for field, value in ast.iter_fields(parent):
                for i, node in enumerate(value) if isinstance(value, list) else [(None, value)]:
                    if isinstance(node, ast.expr) and isinstance(getattr(node, "ctx", None), (ast.Load, type(None))):
                        yield parent, field, i

    def condition(self) -> ast.expr:
        text = self.chance.choice(("{} is not None", "np.any(np.asarray({}) > 0)", "len(str({})) % 2"))
        return ast.parse(text.format(self.name), mode="eval").body


def get(slot: _Slot) -> Any:
    value = getattr(slot[0], slot[1])
    return value if slot[2] is None else value[slot[2]]


def put(slot: _Slot, node: ast.expr) -> None:
    if slot[2] is None:
        setattr(slot[0], slot[1], node)
    else:
        getattr(slot[0], slot[1])[slot[2]] = node


def swap(p: _Place) -> None:
    p.block.insert(0, p.block.pop(p.at))


def twice(p: _Place) -> None:
    p.block.insert(p.at + 1, copy.deepcopy(p.statement))


def without(p: _Place) -> None:
    if len(p.block) > 1:
        del p.block[p.at]


def in_branch(p: _Place) -> None:
    p.block[p.at] = ast.If(p.condition(), [p.statement], [copy.deepcopy(p.block[p.at - 1])] if p.chance.random() < 0.5 else [])


def in_loop(p: _Place) -> None:
    rounds = ast.parse(f"range({p.chance.choice((2, 0, 1, 3))})", mode="eval").body
    p.block[p.at] = ast.For(ast.Name("r_", ast.Store()), rounds, [p.statement], [])


def in_counted_loop(p: _Place) -> None:
    start, loop = ast.parse(f"k_ = {p.chance.randrange(4)}\nwhile (k_ := k_ - 1) > 0: pass").body
    assert isinstance(loop, ast.While)
    loop.body = [p.statement]
    p.block[p.at : p.at + 1] = [start, loop]


def in_try(p: _Place) -> None:
    handler = ast.ExceptHandler(ast.Name("Exception", ast.Load()), "e_", ast.parse(f"{p.name} = 1").body)
    p.block[p.at] = ast.Try([p.statement], [handler], [], [])


def in_other_try(p: _Place) -> None:
    """What runs is an `else`, a `finally`, or a handler that surely runs."""
    done: list[ast.stmt] = ast.parse(f"{p.name} = {p.name}").body
    fails = ast.parse("(1, 2)[2]").body
    handler = ast.ExceptHandler(ast.Name("IndexError", ast.Load()), None, [p.statement])
    passing = ast.ExceptHandler(ast.Name("IndexError", ast.Load()), None, [ast.Pass()])
    p.block[p.at] = p.chance.choice(
        (ast.Try(done, [passing], [p.statement], []), ast.Try(done, [], [], [p.statement]), ast.Try(fails, [handler], [], []))
    )


def in_with(p: _Place) -> None:
    p.block[p.at] = ast.With([ast.withitem(ast.parse("np.errstate(all='ignore')", mode="eval").body)], [p.statement])


def in_match(p: _Place) -> None:
    cases = [ast.match_case(ast.MatchValue(ast.Constant(1)), None, [p.statement]), ast.match_case(ast.MatchAs(), None, [ast.Pass()])]
    p.block[p.at] = ast.Match(p.chance.choice((ast.Constant(1), ast.Name(p.name, ast.Load()))), cases[: p.chance.choice((1, 2))])


def behind_a_loop(p: _Place) -> None:
    """The statement is a loop's `else`."""
    rounds = ast.parse(f"range({p.chance.choice((2, 0))})", mode="eval").body
    inside: list[ast.stmt] = [ast.If(p.condition(), [p.chance.choice((ast.Break, ast.Continue))()], [])]
    p.block[p.at] = ast.For(ast.Name("r_", ast.Store()), rounds, inside, [p.statement])


def leave(p: _Place) -> None:
    away = ast.Return(ast.Name(p.chance.choice(p.names), ast.Load()))
    p.block.insert(p.at + 1, ast.If(p.condition(), [p.chance.choice((away, away, ast.Break(), ast.Continue()))], []))


def forget(p: _Place) -> None:
    p.block.insert(p.at + 1, ast.Delete([ast.Name(p.name, ast.Del())]))


def in_a_function(p: _Place) -> None:
    if slot := p.expression(lambda e: not any(isinstance(n, (ast.NamedExpr, ast.Slice, ast.Starred)) for n in ast.walk(e))):
        text = p.chance.choice(("(lambda: {})()", "[{} for q_ in (1,)][0]", "(lambda q_: q_)({})", "next({} for q_ in (1,))"))
        put(slot, ast.parse(text.format(f"({ast.unparse(get(slot))})"), mode="eval").body)


def other_name(p: _Place) -> None:
    if slot := p.expression(lambda e: isinstance(e, ast.Name) and e.id in p.names):
        put(slot, ast.Name(p.name, ast.Load()))


def other_number(p: _Place) -> None:
    if slot := p.expression(lambda e: isinstance(e, ast.Constant) and type(e.value) in (int, float)):
        old = get(slot).value
        put(slot, ast.Constant(p.chance.choice((0, 1, 2, -1, old + 1, old - 1, 0.5, True))))


def other_arithmetic(p: _Place) -> None:
    if slot := p.expression(lambda e: isinstance(e, ast.BinOp)):
        get(slot).op = p.chance.choice(_ARITHMETIC)()


def other_comparison(p: _Place) -> None:
    if slot := p.expression(lambda e: isinstance(e, ast.Compare)):
        get(slot).ops[0] = p.chance.choice(_COMPARISONS)()


def bound_on_the_way(p: _Place) -> None:
    if slot := p.expression():
        put(slot, ast.NamedExpr(ast.Name(p.chance.choice((*p.names, "w_")), ast.Store()), get(slot)))


def perhaps(p: _Place) -> None:
    slot, other = p.expression(), p.expression()
    if slot and other:
        given = copy.deepcopy(get(other))
        either = p.chance.choice((ast.And, ast.Or))()
        put(slot, ast.IfExp(p.condition(), get(slot), given) if p.chance.random() < 0.6 else ast.BoolOp(either, [get(slot), given]))


def in_tuple(p: _Place) -> None:
    if slot := p.expression():
        put(slot, ast.Subscript(ast.Tuple([get(slot), ast.Constant(0)], ast.Load()), ast.Constant(0), ast.Load()))


def in_place(p: _Place) -> None:
    if isinstance(p.statement, ast.Assign) and isinstance(target := p.statement.targets[0], (ast.Name, ast.Subscript)):
        p.block[p.at] = ast.AugAssign(target, p.chance.choice(_ARITHMETIC)(), p.statement.value)


_MUTATIONS: tuple[Callable[[_Place], None], ...] = (
    swap, twice, without, in_branch, in_loop, in_counted_loop, in_try, in_other_try, in_with, in_match, behind_a_loop, leave, forget,
    in_a_function, other_name, other_number, other_arithmetic, other_comparison, bound_on_the_way, perhaps, in_tuple, in_place,
)  # fmt: skip
