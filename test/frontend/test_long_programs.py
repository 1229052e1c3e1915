"""Programs of any length: chains of operators, calls, comparisons and branches that Python's syntax tree nests."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Callable
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest
from frontend_oracle import graph, run
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import drawn

import tierup
from tierup.dialect.ir.nesting import MAX_REGIONS
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.flow.live import Flow
from tierup.frontend.python.syntax import conditionals
from tierup.lowering.analysis import natural_loops
from tierup.runtime.interpreter import graph as program_of_tier0
from tierup.runtime.interpreter import memory as memory_of_tier0
from tierup.runtime.interpreter.translate import translate

_serial = itertools.count()


@pytest.fixture(scope="module")
def define(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], FunctionType]:
    """The function `f` of a source text, in a file of its own."""
    folder = tmp_path_factory.mktemp("programs")

    def make(text: str) -> FunctionType:
        name = f"program{next(_serial)}"
        path = Path(folder) / f"{name}.py"
        path.write_text(f"import numpy as np\n\n\n{text}\n")
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module.f  # type: ignore[no-any-return]

    return make


def _body(*lines: str) -> str:
    return "def f(x, c):\n" + "\n".join(f"    {line}" for line in lines)


def _links(count: int, arm: str, first: str = "if") -> list[str]:
    return [line for i in range(count) for line in (f"{first if i == 0 else 'elif'} c == {i + 5}:", "    " + arm.format(i=i))]


LONG = {
    "sum": _body("return " + " + ".join(["x"] * 500)),
    "sum to the right": _body("return " + "x + (" * 150 + "x" + ")" * 150),
    "methods": _body("return x" + ".sum(axis=0, keepdims=True)" * 200),
    "views": _body("return x" + "[::-1]" * 200 + " + c"),
    "signs": _body("return " + "-" * 80 + "x"),
    "powers": _body("return x" + "**1" * 150),
    "and": _body("if " + " and ".join(["c > 0"] * 500) + ":", "    return x", "return x * 2"),
    "or": _body("if " + " or ".join(["c > 1"] * 500) + ":", "    return x", "return x * 2"),
    "comparisons": _body("if " + " < ".join(map(str, range(500))) + " and c < 3:", "    return x", "return x * 2"),
    "comparisons of names": _body("if " + " <= ".join(["c"] * 200) + ":", "    return x", "return x * 2"),
    "statements": _body("y = x", *(f"y = y + {i}" for i in range(300)), "return y"),
    "raises": _body(*(f"if c == {i + 5}: raise ValueError('no')" for i in range(300)), "return x + 1"),
    "unrolled loop": _body("y = x", f"for k in [{', '.join(map(str, range(300)))}]:", "    y = y + k", "return y"),
    "unrolled loop with break": _body("y = x", "for k in [" + "(1, 2)," * 60 + "]:", "    if y[0] > 30:", "        break",
                                      "    y = y + k[0]", "return y"),
    "tests one after the other": _body("y = x", *(line for i in range(60) for line in (f"if c > {i}:", f"    y = y + {i}")), "return y"),
    "elif": _body(*_links(300, "y = x * {i}"), "else:", "    y = x + 1", "return y"),
    "elif that returns": _body(*_links(200, "return x * {i}"), "else:", "    return x + 1"),
    "early returns": _body(*(line for i in range(200) for line in (f"if c == {i + 5}:", f"    return x * {i}", "x = x + 1")), "return x"),
    "returns of several kinds": _body(*(line for i in range(60) for line in (f"if c == {i + 5}:", f"    return {i if i % 2 else 'x'}")),
                                      "return x"),
    "conditional expressions": _body("return " + "".join(f"x * {i} if c == {i + 5} else (" for i in range(60)) + "x" + ")" * 60),
    "breaks": _body("y = x", "for k in range(len(x)):", *(f"    {line}" for i in range(60) for line in
                    (f"if c == {i + 5}:", "    break", "y = y + 1", f"if c == {i + 105}:", "    continue")), "return y"),
}  # fmt: skip


@pytest.mark.parametrize("program", drawn("long programs", list(LONG), 5))
def test_a_long_program_is_translated_and_compiled(program: str, define: Callable[[str], FunctionType]) -> None:
    f = define(LONG[program])
    fast, x = tierup.jit(f), np.linspace(1, 2, 3)
    for c in (1, 1, 1, 5, 40, 64, 107):
        try:
            expected = f(x, c)
        except ValueError as e:
            with pytest.raises(ValueError, match=str(e)):
                fast(x, c)
        else:
            np.testing.assert_allclose(fast(x, c), expected, rtol=1e-12)
    assert fast.stats().hits >= 2


_ACTIONS = st.sampled_from([
    "y = x * {i}", "y = y + {i}", "z = y * 2", "n = n + {i}", "n = {i}", "return y + {i}", "return x", "return y, n", "raise ValueError('{i}')",
    "x[0] = {i}", "pass", "l = [y, x * {i}]", "y = l[0] + {i}",
])  # fmt: skip
_INSIDE_A_LOOP = st.sampled_from(["y = x * {i}", "y = y + {i}", "n = n + {i}", "break", "continue", "x[0] = y[1]", "z = y", "pass"])


@st.composite
def chains(draw: st.DrawFn) -> tuple[str, int]:
    """A function of links, and how many there are: `elif`s or `if`s behind one another, with statements between."""
    loop = draw(st.booleans())
    actions = _INSIDE_A_LOOP if loop else _ACTIONS
    pattern = draw(st.lists(actions, min_size=1, max_size=4))
    between = draw(st.sampled_from(["", "y = y + 1", "n = n + 1", "x[1] = n"]))
    elifs = draw(st.booleans())
    count = draw(st.integers(2, 16))
    lines = []
    for i in range(count):
        lines += [f"{'elif' if elifs and i else 'if'} c == {i}:", "    " + pattern[i % len(pattern)].format(i=i)]
        lines += [between] if between and not elifs else []
    if elifs and draw(st.booleans()):
        lines += ["else:", "    " + draw(actions).format(i=99)]
    if loop:
        lines = ["for k in range(2):", *(f"    {line}" for line in lines), "    y = y * 2"]
    return _body("y, z, n, l = x + 0, x - 1, 0, [x * 1, x * 2]", *lines, "return y + z, n, l[0], x"), count


def _outcome(call: Callable[[], object]) -> object:
    try:
        return call()
    except (ValueError, IndexError) as e:
        return type(e), str(e).split(" (at")[0]


@given(chains(), st.data())
@settings(max_examples=30)
def test_a_chain_of_branches_does_what_python_does(define: Callable[[str], FunctionType], chain: tuple[str, int], data: st.DataObject) -> None:
    text, count = chain
    f = define(text)
    fast = tierup.jit(f, bailout_depth=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditionals, "LINKS", 3)
        _compare(f, fast, text, count, data)


def _compare(f: FunctionType, fast: Callable[..., object], text: str, count: int, data: st.DataObject) -> None:
    for c in (0, count - 1, count, *data.draw(st.lists(st.integers(0, count), min_size=3, max_size=6))):
        arrays = [np.linspace(1, 2, 3) for _ in range(2)]
        try:
            found = _outcome(lambda: fast(arrays[0], c))  # noqa: B023 - called here
        except UnsupportedSyntax as e:
            assert "kind" in str(e), text  # noqa: PT017 - what is refused says why
            return
        expected = _outcome(lambda: f(arrays[1], c))  # noqa: B023 - called here
        np.testing.assert_equal(found, expected, text)
        np.testing.assert_array_equal(arrays[0], arrays[1], text)


def test_too_many_levels_are_an_error_at_the_users_line(define: Callable[[str], FunctionType]) -> None:
    levels = MAX_REGIONS + 5
    nest = _body("y = x", *(" " * i + f"if c > {-i}:" for i in range(levels)), " " * levels + "y = y + 1", "return y")
    with pytest.raises(UnsupportedSyntax, match=rf"\.py:\d+: more than {MAX_REGIONS} branches and loops in one another; put the inner"):
        tierup.jit(define(nest), strict=True)(np.ones(3), 1)
    with pytest.raises(UnsupportedSyntax, match=r"\.py:5: expressions nested deeper than 200 levels; give the inner ones names"):
        tierup.jit(define(_body("return x" + "**1" * 250)), strict=True)(np.ones(3), 1)
    assert tierup.jit(define(_body("return x" + "**1" * 250)))(np.ones(3), 1).tolist() == [1, 1, 1]


# --- work grows with the program, no faster: counted, not timed ------------------------------------------------------------


def _counted(of: object, name: str, patch: pytest.MonkeyPatch) -> list[None]:
    """What has an entry for each call of a function from now on."""
    calls: list[None] = []
    function = getattr(of, name)
    patch.setattr(of, name, lambda *args: (calls.append(None), function(*args))[1])
    return calls


def _loops(count: int) -> str:
    return _body(*(line for i in range(count) for line in ("for i in range(len(x)):", f"    c = c * 0.5 + {i}.0")), "return c")


def test_loops_behind_one_another_look_at_each_statement_once(define: Callable[[str], FunctionType], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _counted(Flow, "_before", monkeypatch)
    looked_at = []
    for count in (20, 40):
        calls.clear()
        graph(define(_loops(count)), np.ones(3), 1.5)
        looked_at.append(len(calls))
    assert looked_at[1] <= 2.2 * looked_at[0]


def test_code_behind_branches_that_leave_values_of_two_kinds_is_not_built_for_each_of_their_ways(
    define: Callable[[str], FunctionType],
) -> None:
    sizes, x = [], np.array([0.5, 2.0])
    for count in (20, 40, 60):
        f = define(_body("c = 0.0", *(line for i in range(count) for line in ("for i in range(len(x)):", "    c += x[i]")), "return c"))
        built, leaves, arguments = graph(f, x, 1.5)
        sizes.append(str(built.module).count("torch.prim.Loop "))
        found = run(built, leaves, arguments)
        assert (type(found), found) == (np.float64, f(x, 1.5))
    assert sizes[2] - sizes[1] <= 1.2 * (sizes[1] - sizes[0])


def test_blocks_of_a_function_are_listed_once_for_all_of_its_loops(
    define: Callable[[str], FunctionType], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _counted(natural_loops, "_own", monkeypatch)
    f = define(_body(*(line for i in range(12) for line in ("for i in range(c):", f"    x = x * 3 + {i}")), "return x"))
    fast = tierup.jit(f, worker=False, cache=False)
    for _ in range(2):
        assert fast(5, 2) == f(5, 2)
    assert fast.stats().hits == 1
    assert 0 < len(calls) < 6


def test_what_may_share_memory_is_found_along_a_program_not_over_and_over(
    define: Callable[[str], FunctionType], monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = _counted(memory_of_tier0, "_grows", monkeypatch)
    joined = []
    for count in (20, 40):
        arms = (line for i in range(count) for line in (f"if c > {i}:", f"    c = c * 0.5 + {i}", "else:", "    c = c - 1.0"))
        built, _, _ = graph(define(_body(*arms, "return c")), np.ones(3), 1.5)
        calls.clear()
        translate(built.module, built.entry)
        joined.append(len(calls))
    assert joined[1] <= 2.2 * joined[0]


def test_what_tier_0_reads_is_asked_of_each_expression_once(define: Callable[[str], FunctionType], monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _counted(program_of_tier0, "variables", monkeypatch)
    asked = []
    for depth in (8, 16):
        nest = (" " * i + f"if c > {i}:" for i in range(depth))
        built, _, _ = graph(define(_body(*nest, " " * depth + "x = x * 2", "return x")), np.ones(3), 1.5)
        calls.clear()
        translate(built.module, built.entry)
        asked.append(len(calls))
    assert asked[1] <= 2.2 * asked[0]
