"""Random programs with calls that are not translated: all is evaluated once, and in Python's order."""

from __future__ import annotations

import ast
import linecache
import random
from collections.abc import Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import tierup
from tierup.frontend.errors import position
from tierup.frontend.python.islands.foreign import Scope, take_out

FORMS = [
    "({} + {})", "(-{})", "see({})", "see({}, {})", "see({}, k={})", "see(*[{}, {}], {})", "see(**{{'k': {}}}, *[{}])", "o.method({})", "o.a", "w", "x", "a_global",
    "({} if {} else {})", "({} and {})", "({} or {})", "({} < {} < {})", "(y := {})", "[{}, {}][0]", "sum([see(v, {}) for v in [{}, {}]])",
    "{{{}: {}}}.popitem()[1]", "rebind({})", "len(f'{{{}}}')", "(lambda: {})()", "see.__call__({})", "[1, 2, 3][{}:{}]",
]  # fmt: skip


def _expression(chance: random.Random, depth: int, more: Sequence[str] = ()) -> str:
    if not depth or chance.random() < 0.15:
        return chance.choice(["x", "y", "3", "o.a", "w", "a_global", "see(1)"])
    form = chance.choice([*FORMS, *more])
    return form.format(*(_expression(chance, depth - 1, more) for _ in range(form.count("{") - 2 * form.count("{{"))))


def _run(statements: list[ast.stmt]) -> object:
    """What statements do in a function: what is evaluated, in order, and what comes of it."""
    seen: list[object] = []

    class Watched:
        def __getattr__(self, name: str) -> Any:
            seen.append(name)
            return 5 if name == "a" else lambda v: seen.append(("method", v)) or v

    def see(*args: Any, k: int = 0) -> Any:
        seen.append((args, k))
        return args[0] + k

    def rebind(value: Any) -> Any:
        space["a_global"] = value
        return value

    space: dict[str, Any] = {"see": see, "rebind": rebind, "a_global": 1, "o": Watched()}
    text = "def f(x, y, o):\n    if x > 3: w = 2\n" + "\n".join("    " + line for s in statements for line in ast.unparse(s).split("\n")) + "\n    return y"
    exec(text, space)
    try:
        return seen, space["f"](3, 2, space["o"])
    except Exception as e:  # noqa: BLE001 - a result
        return seen, type(e), str(e)


@given(st.integers(0, 2**32))
def test_whatever_is_taken_out_all_is_evaluated_once_and_in_pythons_order(seed: int) -> None:
    chance = random.Random(seed)
    form = chance.choice(["y = {}", "y += {}", "return {}", "y = o.a = {}", "x[{}] = {}", "if {}: y = 7", "for y in [{}]: pass"])
    text = form.format(*(_expression(chance, 3) for _ in range(form.count("{}"))))
    try:
        compile("def f():\n " + text, "", "exec")
    except SyntaxError:  # `:=` in a comprehension
        return
    statement = ast.parse(text).body[0]
    walrus = {n.target.id for n in ast.walk(statement) if isinstance(n, ast.NamedExpr)}
    local = frozenset({"x", "y", "w", "o"})
    for node in [n for n in ast.walk(statement) if isinstance(n, ast.expr)]:
        taken = take_out(statement, position(node), Scope(_run, local, local - walrus - {"w"}), lambda i: f"_{i + 1}")
        if taken is not None:
            assert _run(taken.statements) == _run([statement]), "; ".join(ast.unparse(s) for s in taken.statements)
            there = [n for s in taken.statements for n in ast.walk(s) if position(n) == position(node)]
            assert len(there) == 1 or isinstance(node, ast.Name)  # who is refused next is found


# --- whole programs ----------------------------------------------------------------------------------------------------------

SIMPLE = [
    "y = {}", "y += {}", "w = {}", "x = {}", "y = o.b = {}", "held.append({})", "z[0] = {}", "z = z * {}", "table['k'] = {}", "held[0] += {}",
    "assert {} is not None", "return {}",
]  # fmt: skip
OF_ARRAYS = ["np.maximum({}, {})", "np.tanh({})", "np.add({}, see({}))", "helper({}, {})", "({} * 2.5)", "z.clip({}, 5).sum()", "(see(z) * {}).sum()", "z[1]"]


def _program(chance: random.Random, depth: int, indent: str) -> list[str]:
    lines = []
    for _ in range(chance.randint(1, 4)):
        kind = chance.random() if depth else 1.0
        inside = lambda: _program(chance, depth - 1, indent + "    ")
        if kind < 0.12:
            lines += [f"{indent}if {_expression(chance, 2, OF_ARRAYS)}:", *inside(), f"{indent}else:", *inside()]
        elif kind < 0.24:
            lines += [f"{indent}for i in range(3):", *inside()]
        elif kind < 0.32:
            lines += [f"{indent}try:", *inside(), f"{indent}except (TypeError, ValueError) as e:", f"{indent}    held.append(str(type(e)))"]
        else:
            form = chance.choice(SIMPLE)
            lines.append(indent + form.format(_expression(chance, 3, OF_ARRAYS)))
    return lines


def _seen(value: Any) -> Any:
    """A value as it is now, to be compared."""
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *map(_seen, value)
    return type(value).__name__, repr(np.round(value, 9)) if isinstance(value, (float, np.ndarray, np.generic)) else repr(value)


def _outcomes(text: str, file: str, jit: bool) -> list[Any]:
    """What calls of f in a program give, raise, see on the way, and leave of their arguments."""
    seen: list[Any] = []

    class Watched:
        @property
        def a(self) -> int:
            seen.append("a")
            return 5

        def method(self, value: Any) -> Any:
            seen.append(("method", _seen(value)))
            return value

    def see(*args: Any, k: Any = 0) -> Any:
        seen.append((_seen(args), _seen(k)))
        return args[0]

    def rebind(value: Any) -> Any:
        space["a_global"] = value
        return value

    space: dict[str, Any] = {"np": np, "see": see, "rebind": rebind, "__name__": "program"}
    exec(compile(text, file, "exec", dont_inherit=True), space)
    function, found = tierup.jit(space["f"], optimize=False) if jit else space["f"], []
    for x, y in ((3, 2), (3, 2), (4, 1), (3.5, 2)):
        space["a_global"] = 1
        arguments = Watched(), np.array([1.0, 2.0]), [1], {}
        try:
            with np.errstate(all="ignore"):
                result: Any = _seen(function(x, y, *arguments))
        except Exception as e:  # noqa: BLE001 - a result
            result = type(e)
        found.append((result, seen.copy(), _seen(arguments[1:3]), str(arguments[3]), str(getattr(arguments[0], "b", None))))
        seen.clear()
    return found


@settings(max_examples=25 if settings.default.max_examples < 1000 else 2000)
@given(st.integers(0, 2**32))
def test_programs_do_what_python_does(seed: int) -> None:
    body = "\n".join(_program(random.Random(seed), 2, "    "))
    text = f"def helper(p, q):\n    return np.abs(p) * 2 + q\ndef f(x, y, o, z, held, table):\n    w = x * 2\n{body}\n    return y, w, x\n"
    file = f"<{seed}>"
    try:
        compile(text, file, "exec")
    except SyntaxError:  # `:=` in a comprehension
        return
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    assert _outcomes(text, file, True) == _outcomes(text, file, False), text
