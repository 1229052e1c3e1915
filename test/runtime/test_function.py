"""The life of a function: which tier answers which call, what is counted, and what users are told."""

import copy
import doctest
import functools
import gc
import inspect
import os
import pickle
import pydoc
import subprocess
import sys
import threading
import typing
import weakref
from types import MethodType

import numpy as np
import pytest
from running import function_of

import tierup
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.base.events import EventKind

SCALE = 2.0
WEIGHTS = np.arange(4, dtype=np.float32)


def chain(a, b, c):
    return a * b + c


def both(a, b):
    return a + b, a - b


def scaled(x):
    return x * SCALE


def weighted(x):
    return x * WEIGHTS


def power(x, n: int):
    for _ in range(n):
        x = x * 2
    return x


def keyword(x, *, scale=3.0, shift=None):
    y = x * scale
    return y if shift is None else y + shift


def tree(params, x):
    return {"y": x @ params["w"] + params["b"], "n": x.shape[0]}


def gathered(x, i):
    return x[i]


def step(w, g):
    w -= 0.5 * g


def f32(*shape, start=0):
    return np.arange(start, start + int(np.prod(shape)), dtype=np.float32).reshape(shape)


def counts(f):
    s = f.stats()
    return {name: n for name in ("hits", "misses", "profiled_runs", "interpreted", "compiles", "versions") if (n := getattr(s, name))}


def test_first_call_profiles_second_compiles_and_hits():
    f = tierup.jit(chain)
    a = f32(4)
    for expected in ({"profiled_runs": 1}, {"profiled_runs": 1, "hits": 1, "compiles": 1, "versions": 1}):
        np.testing.assert_array_equal(f(a, a, a), a * a + a)
        assert counts(f) == expected


def größe(maß):
    return maß.sum(0) * 2


def test_a_function_whose_name_has_letters_of_another_alphabet_is_compiled():
    f, x = tierup.jit(größe), np.ones((4, 5), np.float32)
    for _ in range(3):
        assert np.array_equal(f(x), größe(x))
    assert f.stats().hits == 2


def test_a_third_shape_is_served_by_a_symbolic_version():
    f = tierup.jit(chain)
    for n in (4, 4, 6, 6, 9, 11, 13):
        a = f32(n)
        np.testing.assert_array_equal(f(a, a, a), a * a + a)
    assert counts(f) == {"profiled_runs": 1, "misses": 1, "hits": 5, "compiles": 3, "versions": 3}
    assert [v.speculation.kind for v in f.versions] == ["static", "static", "dynamic"]


def test_a_miss_names_the_guard_the_line_and_both_values():
    f, seen = tierup.jit(chain), []
    with tierup.events.subscribe(seen.append):
        for n in (4, 4, 6):
            f(f32(n), f32(n), f32(n))
    (miss,) = [e for e in seen if e.kind is EventKind.MISS]
    assert (miss.guard, miss.expected, miss.actual) == ("a: dim 0", "4", "6")
    assert miss.reason is Reason.WRONG_SIZE
    assert "test_function.py:" in miss.line


@pytest.mark.parametrize(
    "other", [f32(4).astype(np.float64), f32(4, 1), f32(8)[::2], np.float32(3)], ids=["dtype", "rank", "strides", "scalar"]
)
def test_arguments_of_another_kind_are_never_run_by_the_wrong_version(other):
    f = tierup.jit(chain)
    a = f32(4)
    f(a, a, a), f(a, a, a)
    hits = f.stats().hits
    got, expected = f(other, a, a), other * a + a
    np.testing.assert_array_equal(got, expected)
    assert got.dtype == expected.dtype
    assert f.stats().hits == hits
    f(a, a, a)
    assert f.stats().hits == hits + 1


def test_several_results_come_back_as_the_function_returns_them():
    f = tierup.jit(both)
    a = f32(3)
    for _ in range(3):
        s, d = f(a, a)
    np.testing.assert_array_equal(s, a + a)
    np.testing.assert_array_equal(d, a - a)
    assert f.stats().hits == 2


def test_a_global_number_that_changes_is_seen(monkeypatch):
    f = tierup.jit(scaled)
    a = f32(4)
    for _ in range(3):
        np.testing.assert_array_equal(f(a), a * 2)
    monkeypatch.setitem(globals(), "SCALE", 5.0)
    for _ in range(3):
        np.testing.assert_array_equal(f(a), a * 5)


def test_a_global_array_is_read_at_every_call(monkeypatch):
    f = tierup.jit(weighted)
    a = f32(4)
    for _ in range(3):
        np.testing.assert_array_equal(f(a), a * WEIGHTS)
    monkeypatch.setitem(globals(), "WEIGHTS", WEIGHTS + 1)
    hits = f.stats().hits
    np.testing.assert_array_equal(f(a), a * WEIGHTS)
    assert f.stats().hits == hits + 1


def test_an_int_argument_is_not_baked_in():
    f = tierup.jit(power)
    a = f32(4)
    for n in (3, 3, 5, 0, -2):
        np.testing.assert_array_equal(f(a, n), a * 2.0 ** max(n, 0))
    assert (f.stats().hits, f.stats().misses) == (2, 2)  # without a round the result is the argument: tier 0 gives that


def test_keywords_defaults_and_none():
    f = tierup.jit(keyword)
    a = f32(4)
    for _ in range(3):
        np.testing.assert_array_equal(f(a), a * 3.0)
        np.testing.assert_array_equal(f(a, scale=2.0, shift=a), a * 2 + a)
    assert f.stats().hits == 4


def test_defaults_are_those_of_the_moment_of_the_call():
    def scaled(x, by=2.0, *, plus=1.0):
        return x * by + plus

    f, x = tierup.jit(scaled), f32(4)
    for defaults, named in (((2.0,), {"plus": 1.0}), ((5.0,), {"plus": 1.0}), ((5.0,), {"plus": -1.0}), ((x,), {"plus": 3})):
        scaled.__defaults__, scaled.__kwdefaults__ = defaults, named
        for _ in range(3):
            np.testing.assert_array_equal(f(x), scaled(x))
            np.testing.assert_array_equal(f(x, plus=7.0), scaled(x, plus=7.0))
    scaled.__kwdefaults__["plus"] = 9.0  # in place
    np.testing.assert_array_equal(f(x), scaled(x))
    f.__defaults__, f.__kwdefaults__ = (0.5,), {"plus": 2.0}  # the decorated function's are its own
    assert (scaled.__defaults__, scaled.__kwdefaults__) == ((0.5,), {"plus": 2.0}) == (f.__defaults__, f.__kwdefaults__)
    np.testing.assert_array_equal(f(x), x * 0.5 + 2)
    scaled.__defaults__ = None
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'by'"):
        f(x)
    assert f.stats().hits


def told_by(ask):
    """What `help` prints of a function behind the name of its class, or what doctest finds of it."""
    if ask is help:
        return lambda function: pydoc.plain(pydoc.render_doc(function)).partition("\n\n")[2]
    if ask is doctest:
        return lambda function: [[(e.source, e.want) for e in t.examples] for t in doctest.DocTestFinder().find(function, "it", globs={})]
    if ask is functools.wraps:
        return lambda function: [getattr(ask(function)(lambda: None), name) for name in functools.WRAPPER_ASSIGNMENTS]
    return ask


@pytest.mark.parametrize(
    "ask",
    [inspect.signature, inspect.getfullargspec, inspect.getdoc, inspect.getsource, inspect.getsourcelines, inspect.getmodule, inspect.getcomments,
     inspect.get_annotations, inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction, inspect.isroutine,
     typing.get_type_hints, functools.wraps, help, doctest],
)  # fmt: skip
def test_what_inspect_says_of_a_function_it_says_of_the_decorated_one(ask):
    """Libraries ask before they call: scipy.optimize.curve_fit how many parameters a model has."""

    def shown(x, y: float = 2, /, z=VIEWS, *rest, key: "int" = 3, **more):
        """Both say it.

        >>> 1 + 1
        2
        """
        return x * y

    def generator(x):
        yield x

    async def coroutine(x):
        return x

    async def both(x):
        yield x

    def decorator(*args, **kwargs):
        return shown(*args, **kwargs)

    class Holder:
        method = shown

    asked = told_by(ask)
    for function in (shown, lambda x: x, functools.wraps(shown)(decorator), Holder.method, generator, coroutine, both):
        assert asked(tierup.jit(function)) == asked(function)
    Holder.method = tierup.jit(bound := Holder().method.__func__)
    assert inspect.getfullargspec(Holder().method) == inspect.getfullargspec(MethodType(bound, Holder()))


def test_a_functions_code_globals_and_closure_are_those_of_the_decorated_one():
    def scaled(x):
        return x * closed

    def shifted(x):
        return x + closed

    closed = 2
    f, x = tierup.jit(scaled), f32(4)
    assert (f.__code__, f.__globals__, f.__closure__) == (scaled.__code__, scaled.__globals__, scaled.__closure__)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), x * 2)
    f.__code__ = shifted.__code__
    for _ in range(3):
        np.testing.assert_array_equal(f(x), x + 2)
    with pytest.raises(AttributeError):
        f.__closure__ = None


def test_a_reset_reads_the_functions_code_again():
    def before(x):
        return x * 2

    def after(x, y=1):
        return x + y

    f, x = tierup.jit(before), f32(4)
    for _ in range(3):
        f(x)
    before.__code__, before.__defaults__ = after.__code__, (1,)
    np.testing.assert_array_equal(f(x), x * 2)  # docs/python.md: the graph that was built stays
    f.reset()
    for _ in range(3):
        np.testing.assert_array_equal(f(x), x + 1)
        np.testing.assert_array_equal(f(x, x), x + x)
    assert f.stats().hits


VIEWS = [
    lambda x: x[...],
    lambda x: x[()],
    lambda x: x[..., None],
    lambda x: x[:],
    lambda x: x[:, ...],
    lambda x: x[::1],
    lambda x: x[: len(x)],
    lambda x: x[0],
    lambda x: (x[...], x[...]),
    lambda x: [x[0], x[-1]],
    lambda x: x.T,
    lambda x: x.swapaxes(0, 0),
    lambda x: np.squeeze(x),
    lambda x: np.broadcast_to(x, x.shape),
    lambda x: np.asarray(x),
    lambda x: x,
]


@pytest.mark.parametrize("number", range(len(VIEWS)))
@pytest.mark.parametrize("shape", [(), (3,), (3, 1)], ids=str)
def test_what_an_index_gives_is_of_numpys_type_and_is_the_argument_only_where_numpys_is(number, shape):
    """NumPy: `x[...]` is a new array over the same memory, at rank 0 too; `x[()]` and `x[0]` are scalars there, which share none."""
    plain, x = VIEWS[number], np.full(shape, 2.5)
    f = tierup.jit(plain)
    try:
        want = plain(x)
    except (IndexError, TypeError, ValueError):
        return  # no index of such an array
    for _ in range(4):
        result = f(x)
        several = isinstance(want, (tuple, list))
        assert type(result) is type(want)
        for got, wanted in zip(result if several else [result], want if several else [want], strict=True):
            assert (type(got), got is x) == (type(wanted), wanted is x)
            assert np.shares_memory(got, x) == np.shares_memory(wanted, x)
            np.testing.assert_array_equal(got, wanted)
    assert f.stats().hits == 3


def test_an_update_through_an_index_of_everything_writes_the_argument():
    def update(x):
        y = x[...]
        y += 1
        return y

    f, x, plain = tierup.jit(update), np.array(3.0), np.array(3.0)
    for _ in range(4):
        got, want = f(x), update(plain)
        assert got is not x and np.shares_memory(got, x)
        np.testing.assert_array_equal([got, x], [want, plain])


def test_trees_go_in_and_out():
    f = tierup.jit(tree)
    params, x = {"w": f32(4, 3), "b": f32(3)}, f32(2, 4)
    for _ in range(3):
        out = f(params, x)
    np.testing.assert_allclose(out["y"], x @ params["w"] + params["b"], rtol=1e-6)
    assert out["n"] == 2
    assert f.stats().hits == 2


def test_an_error_in_native_code_is_the_one_of_numpy_with_the_users_line():
    f = tierup.jit(gathered)
    x = f32(5)
    for _ in range(3):
        np.testing.assert_array_equal(f(x, np.array([0, -1])), x[[0, -1]])
    assert f.stats().hits == 2
    with pytest.raises(IndexError, match=r"index 7 is out of bounds.*\nat test_function.py:\d+: return x\[i\]"):
        f(x, np.array([0, 7]))
    assert f.stats().bailouts == 1
    np.testing.assert_array_equal(f(x, np.array([1, 2])), x[[1, 2]])


def test_writes_to_an_argument_are_seen_by_the_caller_in_every_tier():
    f = tierup.jit(step)
    w, g = f32(4), np.ones(4, np.float32)
    for i in range(4):
        assert f(w, g) is None
        np.testing.assert_array_equal(w, f32(4) - 0.5 * (i + 1))
    assert f.stats().hits == 3


def test_overlapping_arguments_of_a_writing_function_are_left_to_tier_0():
    f = tierup.jit(step)
    for _ in range(3):
        f(f32(4), np.ones(4, np.float32))
    hits, memory = f.stats().hits, f32(5)
    expected = memory.copy()
    step(expected[1:], expected[:-1])
    f(memory[1:], memory[:-1])
    np.testing.assert_array_equal(memory, expected)
    assert f.stats().hits == hits


def test_a_read_only_argument_that_is_written_is_an_error_in_every_tier():
    f = tierup.jit(step)
    for _ in range(3):
        f(f32(4), np.ones(4, np.float32))
    fixed = f32(4)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(fixed, np.ones(4, np.float32))


def test_optimize_false_interprets_even_when_a_version_exists():
    f = tierup.jit(chain)
    a = f32(4)
    f(a, a, a), f(a, a, a)
    with tierup.options(optimize=False):
        f(a, a, a)
    assert counts(f)["interpreted"] == 1
    f(a, a, a)
    assert f.stats().hits == 2


def test_the_python_entry_hits_as_the_native_one_does():
    f = tierup.jit(chain, entry="python")
    a = f32(4)
    for _ in range(3):
        np.testing.assert_array_equal(f(a, a, a), a * a + a)
    assert counts(f) == {"profiled_runs": 1, "hits": 2, "compiles": 1, "versions": 1}


def test_versions_beyond_the_bound_are_evicted():
    f = tierup.jit(chain, max_versions=1, fusion_strategy=[("static", 5)])
    for n in (4, 4, 6, 6, 6):
        f(f32(n), f32(n), f32(n))
    assert len(f.versions) == 1
    assert any(e.kind is EventKind.EVICTED for e in f._executors[0].history.events)


def test_reset_starts_again():
    f = tierup.jit(chain)
    a = f32(4)
    f(a, a, a), f(a, a, a)
    f.reset()
    assert f.stats().calls == 0
    assert not f.versions
    f(a, a, a), f(a, a, a)
    assert counts(f) == {"profiled_runs": 1, "hits": 1, "compiles": 1, "versions": 1}


def test_calls_are_the_sum_of_the_disjoint_counts():
    f = tierup.jit(chain)
    n_calls = 0
    for n in (4, 4, 6, 7, 7, 8, 9, 4):
        f(f32(n), f32(n), f32(n))
        n_calls += 1
    assert f.stats().calls == n_calls


def test_wrong_arguments_name_the_function_and_leave_it_working():
    f = tierup.jit(chain)
    a = f32(4)
    for _ in range(3):
        with pytest.raises(TypeError, match=r"chain\(\) missing 1 required positional argument: 'c'"):
            f(a, a)
        np.testing.assert_array_equal(f(a, a, 2**70), a * a + 2**70)  # which no program takes: Python runs it
        np.testing.assert_array_equal(f(a, a, a), a * a + a)
    assert f.stats().hits == 2


def test_plan_source_graph_and_explain_show_what_happened():
    f = tierup.jit(chain)
    with pytest.raises(RuntimeError, match="no compiled version"):
        f.plan()
    a = f32(4)
    f(a, a, a), f(a, a, a)
    assert "torch.aten.mul.Tensor" in f.graph
    assert "mul(a, b)" in f.source()
    assert "!torch.vtensor<[4],f32>" in f.plan("specialized")
    assert "linalg.generic" in f.plan("linalg")
    assert "define" in f.plan("llvm")
    assert "1 version" in f.explain()
    with pytest.raises(ValueError, match="linalg"):
        f.plan("linlag")


def test_two_threads_get_right_answers_while_versions_appear():
    f = tierup.jit(chain)
    wrong = []

    def work(seed):
        for i in range(60):
            a = f32(2 + (i * seed) % 7, start=seed)
            if not np.array_equal(f(a, a, a), a * a + a):
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(s,)) for s in (1, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert f.stats().calls == 120


def test_a_dropped_function_is_freed():
    f = tierup.jit(chain)
    a = f32(4)
    f(a, a, a), f(a, a, a)
    gone = weakref.ref(f)
    del f
    gc.collect()
    assert gone() is None


def signs(x):
    return np.sign(x)


def test_numpys_rules_survive_every_pass():
    f = tierup.jit(signs)  # NaN for NaN, where torch has 0
    x = np.array([np.nan, -2, 0, 3], np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(f(x), np.sign(x))
    assert f.stats().hits == 2


DECLARED = """func.func @f(%x: !torch.vtensor<[?,4],f32>, %n: !torch.float) -> !torch.vtensor {
  %one = torch.constant.int 1
  %0 = torch.aten.add.Scalar %x, %n, %one : !torch.vtensor<[?,4],f32>, !torch.float, !torch.int -> !torch.vtensor
  return %0 : !torch.vtensor
}
"""


def test_what_a_programs_types_refuse_is_refused_however_often_it_comes(tmp_path):
    path = tmp_path / "declared.mlir"
    path.write_text(DECLARED)
    f = tierup.load(path)
    for _ in range(3):
        f(f32(3, 4), 1.0)
        with pytest.raises(ValueError, match=r"expected shape \(\?, 4\), got \(3, 5\)"):
            f(f32(3, 5), 1.0)
        with pytest.raises(TypeError, match="expected dtype float32, got float64"):
            f(np.ones((3, 4)), 1.0)
    for rows in (2, 2, 5, 6):
        f(f32(rows, 4), 1.0)
    assert any(v.speculation.kind == "dynamic" for v in f.versions)
    with pytest.raises(ValueError, match=r"expected shape \(\?, 4\), got \(6, 5\)"):
        f(f32(6, 5), 1.0)
    stats = f.stats()
    assert stats.calls == stats.hits + stats.misses + stats.profiled_runs + stats.interpreted


def test_windows_of_a_size_that_an_int_says_get_one_version_for_all_values():
    def counted(a, n: int):
        s = 0.0
        for i in range(4):
            s = s + (a[i : i + n] * np.arange(n)).sum()
        return s

    f, a = tierup.jit(counted), np.ones(12)
    for hits, n in enumerate((5, 5, 5, 7, 7, 7, 5, 8, 6, 8, 2)):
        np.testing.assert_array_equal(f(a, n), counted(a, n))
        assert f.stats().hits == hits
    with pytest.raises(ValueError, match="broadcast"):
        f(a, 11)  # a window that is cut off
    assert [(v.guards, v.speculation.kind) for v in f.versions] == [("a: f64[12], n: int = 5", "static"), ("a: f64[12], n: int = s0", "dynamic")]


def test_a_size_of_an_int_that_must_equal_another_of_it_is_compared_by_one_version_for_all():
    @tierup.jit
    def counted(a, n: int):
        return a[:n] + np.arange(n)

    a = np.ones(9)
    for call, n in enumerate((5, 5, 5, 7, 5, 8, 6, 9)):
        np.testing.assert_array_equal(counted(a, n), 1 + np.arange(n))
        assert counted.stats().hits == call
    assert counted.stats().compiles == 2
    with pytest.raises(ValueError, match="broadcast"):
        counted(a, 10)


def test_parts_up_to_an_int_have_one_size_that_few_versions_serve():
    @tierup.jit
    def product(a, b, n: int):
        return a[:, :n] @ b[:n]

    a, b = np.ones((4, 9)), np.ones((9, 2))
    for call, n in enumerate((5, 5, 7, 5, 8, 0, 1, 12, -2)):
        np.testing.assert_array_equal(product(a, b, n), a[:, :n] @ b[:n])
        assert product.stats().hits == call
    assert [v.guards.partition("n: ")[2] for v in product.versions] == ["int = 5", "int = s0", "int"]


def test_a_program_of_mlir_takes_numpys_numbers_and_names_the_argument_that_is_wrong(tmp_path):
    file = tmp_path / "scaled.mlir"
    file.write_text(
        "func.func @main(%x: !torch.vtensor, %n: !torch.int) -> !torch.vtensor {\n"
        "  %0 = torch.aten.mul.Scalar %x, %n : !torch.vtensor, !torch.int -> !torch.vtensor\n"
        "  return %0 : !torch.vtensor\n}\n"
    )
    f = tierup.load(file)
    for _ in range(3):
        np.testing.assert_array_equal(f(np.ones(3), np.int64(2)), np.full(3, 2.0))
        for wrong, message in ((("x", 2), "arg0: expected a tensor, got str"), ((np.ones(3), 2.5), "arg1: expected an int, got float")):
            with pytest.raises(TypeError, match=message):
                f(*wrong)
    assert f.stats().hits == 2


def test_graphs_beyond_the_bound_go_the_least_used_first_and_nothing_is_lost() -> None:
    @tierup.jit(max_graphs=3)
    def total(parts):
        out = parts[0]
        for p in parts[1:]:
            out = out + p
        return out

    gone = []
    with tierup.events.subscribe(lambda e: gone.append(e) if e.kind is EventKind.EVICTED else None):
        for n in (1, 2, 3, 2, 2, 3, 3, 4, 5, 2):
            parts = [np.full(3, i, np.float32) for i in range(n)]
            np.testing.assert_array_equal(total(parts), sum(parts))
    assert len(total._executors) == 3
    assert [e.reason for e in gone] == [Reason.GRAPH_EVICTED] * 2  # for one part, then for four
    assert total.stats().calls == 10
    assert total.stats().hits == 5  # of the graphs for two and three parts, which were never dropped
    explained = total.explain()
    assert explained.startswith("total: 10 calls = 5 hits") and "\n  2 calls of these had graphs that were dropped since" in explained


def test_threads_that_call_first_at_once_make_one_graph():
    f, barrier = tierup.jit(chain), threading.Barrier(8)

    def work():
        barrier.wait()
        f(f32(4), f32(4), f32(4))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert f.stats().calls == 8
    assert f.counters()["graph_executors_constructed"] == 1


@tierup.jit
def doubled(x):
    return x * 2


def test_a_function_is_pickled_by_name_and_copied_as_itself():
    assert pickle.loads(pickle.dumps(doubled)) is doubled
    assert copy.copy(doubled) is doubled and copy.deepcopy([doubled])[0] is doubled


@pytest.mark.parametrize("name", ["self", "weak", "args", "kwargs", "call", "python", "error", "program"])
def test_an_argument_of_any_name_is_given_by_keyword(name, tmp_path):
    plainly = function_of(f"import numpy as np\ndef f({name}, **more):\n    return np.tanh({name}) * 2\n", tmp_path)
    f = tierup.jit(plainly, weigh=False)
    for _ in range(4):
        assert f(**{name: 1.5}) == pytest.approx(plainly(**{name: 1.5}), rel=1e-12)
    assert f.stats().hits

    class Holder:
        @tierup.jit
        def method(self, x, **more):
            return x * 2

    assert Holder.method(self=Holder(), x=2.0) == 4.0 and Holder().method(2.0, **({} if name == "self" else {name: 1})) == 4.0


CALLED_WHILE_IMPORTED = """
import sys
import numpy as np
import tierup

@tierup.jit
def f(x):
    return np.tanh(x) * 2

class Finder:
    def find_spec(self, name, path, target=None):
        if name == "tierup.frontend.python.building.values":
            sys.meta_path.remove(self)
            assert f(1.5) == np.tanh(1.5) * 2

sys.meta_path.insert(0, Finder())
for _ in range(3):
    np.testing.assert_allclose(f(np.ones(3)), np.tanh(np.ones(3)) * 2)
assert f.stats().hits, f.explain()
print("done")
"""


def test_a_call_in_the_midst_of_the_front_end_s_import_is_python_s(tmp_path):
    (tmp_path / "program.py").write_text(CALLED_WHILE_IMPORTED)
    done = subprocess.run([sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True, timeout=300, env={**os.environ, "TIERUP_CACHE": "0"})
    assert done.stdout == "done\n", done.stderr
