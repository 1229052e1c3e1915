"""Functions that are translated in part: Python runs the rest, in its order, once; and what is said of it."""

from __future__ import annotations

import asyncio
import copy
import inspect
import io
import pickle
import re
import subprocess
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.islands import worth
from tierup.runtime.base.events import EventKind
from tierup.runtime.functions.weighing import Weighed

X = np.linspace(0.5, 1.5, 2000)


def heavy(x: Any, out: Any) -> Any:
    y = np.tanh(x) * 2 + np.exp(x)
    z = np.sqrt(y) + np.log(y)
    print(z.sum() > 0, file=out)
    w = np.sin(z) * np.cos(y)
    return w.sum() + (y * z).sum()


# --- what runs ---------------------------------------------------------------------------------------------------------------


def test_what_is_around_an_island_is_native_and_all_of_it_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "_ADVANTAGE", 1e9)  # native code wins whatever the clock says
    monkeypatch.setattr(Weighed, "weigh_parts", lambda _: None)
    jitted = tierup.jit(heavy)
    told: list[Any] = []
    with tierup.events.subscribe(told.append):
        for _ in range(30):
            out = io.StringIO()
            assert jitted(X, out) == pytest.approx(heavy(X, io.StringIO()))
            assert out.getvalue() == "True\n"
    stats, text = jitted.stats(), jitted.explain()
    assert stats.compiles == stats.versions == 2 and stats.hits > 40
    first = inspect.getsourcelines(heavy)[1]
    assert f"region at {__file__}:{first + 1} to {first + 3}: answered by native code" in text
    assert f"Python at {__file__}:{first + 3}: the argument `file` of print" in text
    assert [e.action for e in told if e.kind is EventKind.CUT] == ["2 regions, 1 statements stay Python"]
    assert jitted.wait(1) and jitted.is_optimized and len(jitted.debug_state().programs) == 2
    jitted.reset()
    assert jitted.stats().calls == 0 and jitted(X, io.StringIO()) == pytest.approx(heavy(X, io.StringIO()))


def test_a_region_that_python_runs_as_quickly_stays_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "_ADVANTAGE", 0.0)
    monkeypatch.setattr(worth, "_TINY", 0.5)
    jitted = tierup.jit(heavy)
    for _ in range(5):
        jitted(X, io.StringIO())
    assert jitted.stats().calls == 0 and "runs as plain Python: nothing in it is worth native code" in jitted.explain()
    assert "it takes less time than a call of native code" in jitted.explain()
    monkeypatch.setattr(worth, "_TINY", 0.0)
    jitted.reset()
    for _ in range(40):
        jitted(X, io.StringIO())
    assert jitted.stats().hits >= 12 and jitted.explain().count("region at") == 2  # there will be another race


def words(text: str) -> Any:
    found: dict[str, int] = {}
    for word in text.split():
        found[word] = found.get(word, 0) + 1
    return found


def test_a_function_with_nothing_to_compile_is_plain_python_and_says_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "_TINY", 0.5)  # whatever the machine is at
    jitted, told = tierup.jit(words), []
    with tierup.events.subscribe(told.append):
        for _ in range(100):
            assert jitted("a b a") == {"a": 2, "b": 1}
    assert jitted.explain().count("runs as plain Python") == 1
    assert [e.kind for e in told].count(EventKind.PLAIN_PYTHON) == 1
    assert jitted._by_forward is not None and jitted._by_forward.calls >= 90  # no line of ours is between


class Counter:
    def __init__(self) -> None:
        self.seen: list[Any] = []


def test_plain_python_is_called_at_once_with_objects_of_several_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    def push(counter: Counter, value: Any, *, level: Any) -> None:
        counter.seen.append((value, level))

    monkeypatch.setattr(worth, "_TINY", 0.5)  # whatever the machine is at
    jitted, counter = tierup.jit(push), Counter()
    calls = [(np.float64(i), level) for i in range(100) for level in (EventKind.CUT, Weighed)]
    for value, level in calls:
        jitted(counter, value, level=level)
    assert counter.seen == calls
    assert jitted._by_forward is not None and jitted._by_forward.calls >= 180, jitted.explain()


def test_strings_of_every_kind_do_not_make_graphs_without_end() -> None:
    def shorter(a: str, b: str, x: Any) -> Any:
        return x * (len(a) if len(a) < len(b) else len(b))

    jitted = tierup.jit(shorter)
    for i in range(100):
        assert jitted("a" * i, "bc" * i, 2.0) == 2.0 * i
    assert len(jitted.variants) <= 64 and "another structure each time" in jitted.explain()


LONG_LISTS: dict[str, list[Any]] = {
    "numbers, one of them NumPy's": [np.float64(0), *range(1, 300)],
    "arrays of one shape": [np.full(3, i) for i in range(300)],
    "lists of numbers and of NumPy's": [[1.0, np.int64(i)] for i in range(300)],
    "tuples of NumPy's numbers": [(np.float32(i), i) for i in range(300)],
}


@pytest.mark.parametrize("items", LONG_LISTS.values(), ids=LONG_LISTS)
def test_long_lists_are_pythons_and_no_graphs_of_as_many_arguments(items: list[Any]) -> None:
    def whole(items: list[Any]) -> Any:
        return np.array(items) * 2

    def made(x: Any) -> Any:
        out = list(map(float, x))
        return max(out), np.array(out) * 2, np.sum(x) * 2

    jitted = tierup.jit(whole, weigh=False)
    for n in (2, 2, 2, 300, 300, 300, 2):
        np.testing.assert_equal(jitted(items[:n]), whole(items[:n]))
    assert jitted.stats().hits >= 2 and jitted.stats().compiles == 1, jitted.explain()
    with tierup.options(strict=True), pytest.raises(TypeError, match="[36]00 .* each an argument of its own; pass one array"):
        jitted(items)
    jitted = tierup.jit(made, weigh=False)
    for _ in range(4):
        np.testing.assert_equal(jitted(np.arange(300.0)), made(np.arange(300.0)))


def test_arguments_that_no_program_takes_are_pythons() -> None:
    def twice(x: Any) -> Any:
        return x * 2

    jitted = tierup.jit(twice)
    for value in (2**70, np.ma.array([1.0, 2.0], mask=[True, False])):
        np.testing.assert_equal(jitted(value), twice(value))
    assert jitted(X).sum() == (X * 2).sum() and jitted.stats().calls == 1
    with tierup.options(strict=True), pytest.raises(TypeError, match="does not fit in 64 bits"):
        jitted(2**70)
    other = tierup.jit(twice)
    for _ in range(10):
        assert other(2**70) == 2**71
    assert "no program takes the arguments of its calls" in other.explain()


@pytest.mark.parametrize(("function", "calls"), [
    (lambda a, b: a ** b, [(2.0, 3.0), (3.0, 2.0), (-8.0, 0.5), (2.0, 2.0)]),
    (lambda a, b: np.full(2, int(a)).sum() + b, [(2.0, 1), (3.0, 1), (1e30, 1), (4.0, 1)]),
])  # fmt: skip
def test_python_goes_on_where_a_program_cannot_hold_what_it_gives(function: Callable[..., Any], calls: list[Any]) -> None:
    jitted = tierup.jit(function)
    for args in (*calls, *calls):
        assert jitted(*args) == function(*args) and type(jitted(*args)) is type(function(*args))
    assert jitted.stats().hits > 4
    with tierup.options(strict=True), pytest.raises((ValueError, OverflowError)):
        jitted(*calls[2])


def test_an_inner_loop_that_runs_no_round_leaves_the_number_that_was_there() -> None:
    def lower(x: Any, total: Any) -> Any:
        for i in range(x.shape[0]):
            s = 0.0
            for j in range(i):
                s = s + x[j]
            total = total + s
        return total

    def written(x: Any, total: Any) -> Any:
        for i in range(x.shape[0]):
            s = 0.0
            for j in range(i):
                s = s + x[j]
            total[i] = s
        return total

    for function in (lower, written):
        jitted = tierup.jit(function)
        for _ in range(4):
            np.testing.assert_array_equal(jitted(X[:5], np.zeros(5)), function(X[:5], np.zeros(5)))


@pytest.mark.parametrize(
    "context",
    ["np.errstate(divide='raise')", "np.errstate(all=mode)", "np.errstate(divide='warn'), warnings.catch_warnings()"],
)
def test_what_stands_under_an_error_state_that_raises_stays_python(context: str, define: Callable[[str], Any]) -> None:
    text = f"""def f(x, mode):
    y = x
    try:
        with {context}:
            warnings.simplefilter("error")
            y = np.exp(-1 / (x - 2)) + np.exp(x)
    except (FloatingPointError, RuntimeWarning):
        y = None
    return y
"""
    function = define(text)
    function.__globals__["warnings"] = warnings
    jitted = tierup.jit(function, optimize=False)  # tier 0 answers, not whoever is quicker
    for value in (*[3.0] * 6, 2.0):
        x = np.full(4096, value)
        with warnings.catch_warnings():
            found, wanted = jitted(x, "raise"), function(x, "raise")
        np.testing.assert_allclose(found, wanted) if value == 3.0 else None
    assert found is wanted is None


def test_warnings_that_the_program_keeps_are_numpys(define: Callable[[str], Any]) -> None:
    function = define("""def f(x):
    with warnings.catch_warnings(record=True) as kept:
        warnings.simplefilter("always")
        y = np.log(x - 10) + 1 / (x - x)
    return y, [str(w.message) for w in kept]
""")
    function.__globals__["warnings"] = warnings
    jitted = tierup.jit(function, weigh=False)
    wanted = function(np.ones(3))[1]
    assert len(wanted) == 2
    for _ in range(5):
        assert jitted(np.ones(3))[1] == wanted


# --- strict ------------------------------------------------------------------------------------------------------------------

MANY = """def f(x):
    y = x + 1
    print(y.sum(), file=None)
    z = set(y)
    if y.sum() > 0:
        y.tofile("nowhere")
        w = {1, 2}
    else:
        w = z
    try:
        v = y.tofile("there")
    except ValueError:
        v = z
    u = z + 1
    return lambda: (yield u)
"""


def test_under_strict_options_all_that_is_refused_is_named_at_once(define: Callable[[str], Any]) -> None:
    function = define(MANY)
    for call in (tierup.jit(function, strict=True), tierup.jit(function)):
        with tierup.options(strict=True), pytest.raises(UnsupportedSyntax) as caught:
            call(X)
        error = caught.value
        assert [e.lineno for e in error.errors] == [3, 4, 6, 7, 11, 15]
        assert error.lineno == 3 and "the argument `file`" in error.construct
        lines = str(error).splitlines()
        assert len(lines) == 6 and all(re.match(rf".*program_\d+\.py:{e.lineno}: .*", line) for e, line in zip(error.errors, lines, strict=True))
        assert "`set`" in lines[1]


def test_options_are_asked_though_plain_python_takes_the_calls() -> None:
    jitted = tierup.jit(words)
    assert jitted("a") == {"a": 1}
    with tierup.assert_optimized(), pytest.raises(UnsupportedSyntax, match=r"`\.split`"):
        jitted("a")
    with tierup.options(optimize=False):
        assert jitted("b") == {"b": 1}
    assert jitted("c") == {"c": 1}


# --- no source ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["-c", "-"])
def test_without_source_a_function_runs_as_it_is_with_one_warning(how: str) -> None:
    program = "import numpy as np, tierup\n@tierup.jit\ndef f(x):\n    return x * 2\nfor _ in range(4):\n    print(f(np.arange(3)).tolist())\nprint(f.explain())\n"
    done = subprocess.run([sys.executable, *([how, program] if how == "-c" else [how])], input=program, capture_output=True, text=True, check=True)
    if sys.version_info >= (3, 13) and how == "-c":
        return  # which keeps the source
    assert done.stdout.startswith("[0, 2, 4]\n" * 4) and "runs as plain Python: the source of f() is not available" in done.stdout
    assert done.stderr.count("NoSourceWarning") == 1 and "put the function in a .py file" in done.stderr


def test_a_function_made_by_exec_runs(recwarn: pytest.WarningsRecorder) -> None:
    space: dict[str, Any] = {}
    exec("def f(x):\n    return x + 1", space)
    jitted = tierup.jit(space["f"])
    for _ in range(3):
        assert jitted(2.0) == 3.0
    assert [w.category for w in recwarn] == [tierup.NoSourceWarning]
    with tierup.options(strict=True), pytest.raises(UnsupportedSyntax, match="is not available"):
        jitted(2.0)


# --- Python's semantics ------------------------------------------------------------------------------------------------------

PROGRAMS = {
    "a name that an exception leaves half way": """def f(x, n):
    total, i = 0.0, -1
    try:
        for i in range(5):
            total += x[i * n].sum() * 2
    except IndexError as e:
        return i, total, str(e)
    return i, total
""",
    "a name that only one arm binds": """def f(x, n):
    y = 0
    len(str(n))
    if n > 2:
        y = x * 2
    z = x + 1
    len(str(n))
    return y + z
""",
    "a name that nothing binds": """def f(x, n):
    if n > 2:
        y = x * 2
    len(str(n))
    z = x + 1
    return y + z
""",
    "a closure that sees a name change in a loop": """def f(x, n):
    scale = 1.0
    def times(v):
        return v * scale
    out = 0.0
    for v in x[:3]:
        scale = scale + 1
        out = out + times(v)
    return out + times(n)
""",
    "one list of two names": """def f(x, n):
    a = [x * 2]
    b = a
    len(str(n))
    b.append(1)
    return a, a is b
""",
    "a list from outside that is handed on": """def f(x, n):
    held = [x, x]
    kept = held
    y = x * 2
    len(str(n))
    kept.append(y)
    return held, kept is held, held[0] is x
""",
    "nonlocal": """def outer():
    count = 0
    def f(x, n):
        nonlocal count
        count += 1
        y = x * count
        count += n
        return y.sum(), count
    return f
f = outer()
""",
    "global": """TOTAL = 0
def f(x, n):
    global TOTAL
    y = x * 2
    TOTAL = n
    z = y + TOTAL
    TOTAL += 1
    return z, TOTAL
""",
    "a generator": """def f(x, n):
    y = x * 2
    try:
        for k in range(n):
            got = yield y.sum() + k
            y = y + k
    finally:
        len(str(y))
""",
    "super": """class A:
    def g(self, x):
        return x + 1
class B(A):
    def g(self, x, n):
        y = super().g(x) * 2
        __z = y + n
        return __z, __class__.__name__
def f(x, n):
    return B().g(x, n)
""",
    "a default that is changed": """def f(x, n, seen=[]):
    y = x * 2
    seen.append(float(y[0]))
    return list(seen), y
""",
    "del": """def f(x, n):
    y = x * 2
    z = y + 1
    del y
    try:
        return y
    except UnboundLocalError as e:
        return str(e), z
""",
    "an exception of another": """def f(x, n):
    y = x * 2
    try:
        y[100000 + n] = 1
    except IndexError as e:
        raise KeyError(str(n)) from e
""",
    "a walrus": """def f(x, n):
    if (s := x.sum()) > 0 and (k := n) > 2:
        y = x * s
    else:
        y = x - s
    len(str(n))
    return y, s, [w for v in x[:4] if (w := v * 2) > 1], w
""",
    "recursion": """def f(x, n):
    len(str(n))
    return x.sum() if n < 1 else f(x * 2, n - 1) + n
""",
}


def _outcome(function: Callable[..., Any], *args: Any) -> Any:
    try:
        result = function(*args)
        if inspect.isgenerator(result):
            sent = [next(result)]
            try:
                sent.append(result.send(1))
                sent.append(next(result))
            except StopIteration:
                sent.append("stop")
            result.close()
            return sent
    except Exception as e:  # noqa: BLE001 - a result
        return type(e), str(e), type(e.__cause__), [n.lineno for n in traceback.extract_tb(e.__traceback__) if "program_" in n.filename][:1]
    return result


@pytest.mark.parametrize("options", [{}, {"optimize": False}], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_does_what_python_does(name: str, options: dict[str, Any], define: Callable[[str], Any]) -> None:
    plain, jitted = define(PROGRAMS[name]), tierup.jit(define(PROGRAMS[name]), **options)
    x = np.arange(6.0)
    for n in (1, 1, 3, 2, 3, 3, 1):
        np.testing.assert_equal(_outcome(jitted, x, n), _outcome(plain, x, n))


def test_annotations_of_functions_inside_are_evaluated_where_python_evaluates_them(define: Callable[[str], Any]) -> None:
    text = "def f(x):\n    def g(v: Unknown) -> Unknown:\n        return v * 2\n    return g(x).sum()\n"
    assert tierup.jit(define("from __future__ import annotations\n" + text))(X) == (X * 2).sum()
    if sys.version_info >= (3, 14):  # nowhere
        assert tierup.jit(define(text))(X) == (X * 2).sum()
        return
    with pytest.raises(NameError, match="name 'Unknown' is not defined"):
        tierup.jit(define(text))(X)


def test_a_coroutine_is_one() -> None:
    @tierup.jit
    async def f(x: Any) -> Any:
        y = x * 2
        await asyncio.sleep(0)
        return y.sum()

    for _ in range(3):
        assert asyncio.run(f(X)) == (X * 2).sum()


def test_a_method_changes_its_object() -> None:
    class Tank:
        def __init__(self) -> None:
            self.level, self.log = X.copy(), []

        @tierup.jit
        def fill(self, by: float) -> Any:
            added = np.sqrt(self.level) * by + np.exp(-self.level)
            self.level = self.level + added
            self.log.append(float(added.sum()))
            return self

    tank, level = Tank(), X
    for _ in range(5):
        level = level + (np.sqrt(level) * 0.5 + np.exp(-level))
        assert tank.fill(0.5) is tank
        np.testing.assert_allclose(tank.level, level, rtol=1e-12)
    assert len(tank.log) == 5


def test_the_line_of_an_exception_is_the_users(define: Callable[[str], Any]) -> None:
    f = tierup.jit(define("def f(x, k):\n    print(end='')\n    y = x * 2\n    return y[k]\n"))
    for k in (0, 0, 1, 2):
        assert f(np.arange(3.0), k) == 2.0 * k
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 3") as caught:
        f(np.arange(3.0), 7)
    text = "".join(traceback.format_exception(caught.value))
    assert "return y[k]" in text and caught.value.__context__ is None


def loss(w: Any) -> Any:
    print(end="")
    return (w * w).sum()


def test_there_is_no_gradient_through_an_island_and_the_line_is_named() -> None:
    for ask in (tierup.grad(loss), tierup.value_and_grad(loss)):
        with pytest.raises(tierup.NotDifferentiable, match=r"test_islands.py:\d+: .*print"):
            ask(X)
    with pytest.raises(tierup.NotDifferentiable, match=r"test_islands.py:\d+: .*print"):
        tierup.vjp(loss, X)

    def step(w: Any) -> Any:
        print(end="")
        value, gradient = tierup.value_and_grad(lambda v: (v * v).sum())(w)
        return value, w - 0.1 * gradient

    for _ in range(3):
        np.testing.assert_allclose(tierup.jit(step)(X)[1], X * 0.8)


def test_it_is_still_the_function_to_who_looks_at_it() -> None:
    jitted = tierup.jit(heavy)
    for _ in range(3):
        jitted(X, io.StringIO())
    assert inspect.signature(jitted) == inspect.signature(heavy) and jitted.__wrapped__ is heavy and jitted.__name__ == "heavy"
    assert copy.copy(pickled) is pickled and copy.deepcopy(pickled) is pickled and pickle.loads(pickle.dumps(pickled)) is pickled
    with pytest.raises(TypeError, match="missing"):
        jitted(X)
    jitted.__defaults__ = (io.StringIO(),)
    try:
        jitted(X)
    finally:
        jitted.__defaults__ = None


@tierup.jit
def pickled(x: Any) -> Any:
    print(end="")
    return x * 2


pickled(1.0)


def test_threads_call_it_while_it_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    jitted, want, wrong = tierup.jit(heavy), heavy(X, io.StringIO()), []

    def work() -> None:
        for _ in range(40):
            out = io.StringIO()
            if abs(jitted(X, out) - want) > 1e-9 or out.getvalue() != "True\n":
                wrong.append(out.getvalue())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_warnings_are_at_the_users_line() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        warnings.warn("careful", UserWarning, stacklevel=1)
        return y

    with pytest.warns(UserWarning, match="careful") as caught:
        tierup.jit(f)(X)
    assert caught[0].filename == __file__


@pytest.mark.parametrize("options", [{}, {"optimize": False}], ids=str)
def test_a_name_without_a_value_is_no_global_where_a_region_alone_binds_it(options: dict[str, Any], define: Callable[[str], Any]) -> None:
    function = define("""
later = np.ones(3)

def f(x):
    print(end="")
    y = np.tanh(x) + later
    print(end="")
    later = np.sin(x) * 2
    return y * later
""")
    jitted = tierup.jit(function, **options)
    for _ in range(3):
        with pytest.raises(UnboundLocalError) as found:
            jitted(X)
        assert "cannot access local variable 'later'" in str(found.value)


def test_what_a_manager_of_any_kind_makes_numpy_raise_is_raised(define: Callable[[str], Any]) -> None:
    function = define("""
import contextlib

@contextlib.contextmanager
def loudly(how):
    with np.errstate(divide=how):
        yield

def f(x, how):
    y = x * 2
    with loudly(how):
        z = np.log(y) + np.sin(x)
        z = z * z
    return z + 1
""")
    jitted = tierup.jit(function, optimize=False)
    for _ in range(4):
        np.testing.assert_allclose(jitted(X, "raise"), function(X, "raise"), rtol=1e-14)
        assert np.isinf(jitted(X * 0, "ignore")).all()
        with pytest.raises(FloatingPointError, match="divide by zero"):
            jitted(X * 0, "raise")
    assert jitted.explain().count("region at") == 3


def test_a_function_that_sets_how_numpy_tells_stays_python(define: Callable[[str], Any]) -> None:
    function = define("""
def f(x):
    old = np.seterr(divide="raise")
    try:
        return np.log(x) * 2 + np.sin(x)
    finally:
        np.seterr(**old)
""")
    jitted = tierup.jit(function)
    for _ in range(3):
        np.testing.assert_allclose(jitted(X), function(X), rtol=1e-14)
        with pytest.raises(FloatingPointError, match="divide by zero"):
            jitted(X * 0)
