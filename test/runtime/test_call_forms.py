"""Calls as people write them: whatever the form, native code answers without Python from the third call on, and what comes is what the
undecorated function gives or raises."""

from __future__ import annotations

import copy
import ctypes
import dataclasses
import gc
import inspect
import itertools
import sys
import threading
import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tierup
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, ResultKind, ResultSpec
from tierup.lowering.entry.records import Form, Inputs, Made, VersionRecord
from tierup.lowering.entry.tables.table import NativeTable
from tierup.runtime.arguments.binding import Binding
from tierup.runtime.arguments.trees import CallShape, Output
from tierup.runtime.dispatching.direct import convention

X, Y, Z = (np.array([1.0, -2.0, 3.5, a], np.float32) for a in (4.0, 5.0, 6.0))
ARRAYS = tuple(np.full(4, i, np.float32) for i in range(150))
LIKE_X = copy.deepcopy(X)


def native_calls(f: tierup.Function) -> int:
    """How many calls the tables answered that calls reach without a line of Python."""
    return sum(direct.table.counts().hits for direct in f._tables.values() if direct.table is not None)


def same(got: Any, want: Any) -> None:
    assert type(got) is type(want)
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for a, b in zip(got, want, strict=True):
            same(a, b)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        same(list(got.values()), list(want.values()))
    elif isinstance(want, np.ndarray):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    else:
        assert got == want or got != got and want != want


@dataclasses.dataclass
class Layer:
    w: np.ndarray
    b: np.ndarray
    scale: float = 2.0


class Pair(NamedTuple):
    w: np.ndarray
    b: np.ndarray


class Model:
    rate = 0.5

    def __init__(self, w: np.ndarray) -> None:
        self.w, self.n, self.layers = w, 3, (Layer(w, w), Layer(w, w))

    @tierup.jit
    def step(self, x, dt=0.25, *, shift=None):
        y = self.w * x * dt * self.rate + self.n
        return y if shift is None else y + shift

    @tierup.jit
    def all(self, x):
        for layer in self.layers:
            x = x * layer.w + layer.b * layer.scale
        return x


def by_name(a, b, c):
    return a * b - c


def numbers(a, dt=0.5, *, n=3, flag=True):
    return (a * dt + n) if flag else (a - dt)


def nothing_given(a, b=None, mode="twice", w=ARRAYS[3]):
    r = a * 2 if mode == "twice" else a + 1
    return r + w if b is None else r + b


def many(a, *rest, scale, **options):
    r = a * scale
    for x in rest:
        r = r - x
    for name in options:
        r = r * options[name]
    return r


def only(a, b, /, c=2.0):
    return a * b + c


def gathers(a, /, **options):
    return a + options["a"] * options["b"]


def summed(tree):
    r = tree[0]
    for x in tree[1:]:
        r = r + x
    return r


def of_dict(params):
    r = 0.0
    for name in params:
        r = r + params[name]
    return r


def of_layer(layer, x):
    return layer.w * x + layer.b * layer.scale


def of_pair(pair, x):
    return pair[0] * x + pair.b


def twice(a, b):
    y = a * b
    s = y.sum()
    return y, {"y": y, "s": s}, [s, y + 1]


def nested(tree, x):
    return {"y": tree["l"][0][0] * x, "rest": (tree["l"][1], [tree["n"], x + tree["l"][0][1].w]), "none": None, "one": 1.5}


FORMS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "keywords": (by_name, lambda f: f(a=X, b=Y, c=Z)),
    "keywords in another order": (by_name, lambda f: f(c=X, a=Y, b=Z)),
    "one keyword": (by_name, lambda f: f(X, Y, c=Z)),
    "keywords of a dict": (by_name, lambda f: f(X, **dict(zip(("".join(("", "c")), "b"), (Y, Z), strict=True)))),
    "defaults": (numbers, lambda f: f(X)),
    "numbers by keyword": (numbers, lambda f: f(X, n=7, dt=0.125)),
    "a bool": (numbers, lambda f: f(X, flag=False)),
    "NumPy's numbers": (numbers, lambda f: f(X, np.float32(0.3), n=np.int64(4))),
    "None, a string and an array by default": (nothing_given, lambda f: f(X)),
    "None given": (nothing_given, lambda f: f(X, None)),
    "an array for None": (nothing_given, lambda f: f(X, b=Y)),
    "a string": (nothing_given, lambda f: f(X, mode="".join(("on", "ce")))),
    "keyword-only": (many, lambda f: f(X, scale=Y)),
    "more by position": (many, lambda f: f(X, Y, Z, scale=2.0)),
    "options": (many, lambda f: f(X, Y, q=Z, scale=3, p=2.0)),
    "positional-only": (only, lambda f: f(X, Y)),
    "positional-only, and a keyword": (only, lambda f: f(X, Y, c=Z)),
    "an option named as a parameter": (gathers, lambda f: f(X, a=Y, b=Z)),
    "a tuple": (summed, lambda f: f((X, Y))),
    "a long tuple": (summed, lambda f: f(ARRAYS[:12])),
    "a list": (summed, lambda f: f(list(ARRAYS[:12]))),
    "a dict": (of_dict, lambda f: f({"w": X, "b": Y})),
    "a dict of 150": (of_dict, lambda f: f({f"k{i}": a for i, a in enumerate(ARRAYS)})),
    "a dict by numbers": (of_dict, lambda f: f({10**6 + i: a for i, a in enumerate(ARRAYS[:5])})),
    "a dataclass": (of_layer, lambda f: f(Layer(X, Y), x=Z)),
    "a named tuple": (of_pair, lambda f: f(Pair(X, Y), Z)),
    "a result that is returned twice": (twice, lambda f: f(X, Y)),
    "trees in trees": (nested, lambda f: f({"l": [(X, Layer(Y, Z)), Z], "n": 2.5}, Y)),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_each_form_is_answered_by_native_code(form: str) -> None:
    function, call = FORMS[form]
    f, want = tierup.jit(function), call(function)
    for n in range(5):
        before = native_calls(f)
        same(call(f), want)
        assert n < 2 or native_calls(f) == before + 1
    assert f.stats().compiles == 1


def total(x):
    s = 0.0
    for v in x:
        s += v
    return s


def bounded(x):
    top = x.max()
    if top > 4:
        return 1.0
    return top


@pytest.mark.parametrize("function", [total, bounded])
def test_results_of_another_kind_on_another_path_are_put_together_in_native_code(function: Callable[..., Any]) -> None:
    """A sum of no elements is the float that it began with, and one of some a NumPy scalar."""
    f = tierup.jit(function)
    cases = [np.array(c, np.float64) for c in ([1, 2, 5], [1, 4.25, 4], [-1, 0, 3], [-3, -2, 7])]
    for x in cases * 3:
        same(f(x), function(x))
    answered, before = native_calls(f), references(*cases)
    for x in cases * 4:
        same(f(x), function(x))
    assert native_calls(f) == answered + 16 and references(*cases) == before


def test_what_is_returned_twice_is_one_object_in_native_code_too() -> None:
    f = tierup.jit(twice)
    for n in range(5):
        before = native_calls(f)
        y, named, last = f(X, Y)
        assert y is named["y"] and y is not last[1]
        assert n < 2 or native_calls(f) == before + 1
        same((y, named, last), twice(X, Y))


def test_forms_of_one_structure_share_their_code_and_others_stand_beside() -> None:
    f = tierup.jit(nothing_given)
    calls = [lambda g: g(X), lambda g: g(a=X), lambda g: g(X, None, w=ARRAYS[7]), lambda g: g(X, Y), lambda g: g(X, mode="once")]
    for _ in range(4):
        for call in calls:
            same(call(f), call(nothing_given))
    before = native_calls(f)
    for call in calls:
        same(call(f), call(nothing_given))
    assert native_calls(f) == before + 5 and f.stats().compiles == 3


def test_methods_are_called_with_what_self_has_now() -> None:
    model, other = Model(X), Model(Y)
    step, every = Model.__dict__["step"], Model.__dict__["all"]
    plain, plain_all = step.__wrapped__, every.__wrapped__
    for n in range(6):
        for m in (model, other):
            before = native_calls(step), native_calls(every)
            same(m.step(Z, dt=0.5), plain(m, Z, dt=0.5))
            same(m.step(Z), plain(m, Z))
            same(m.step(Z, shift=X), plain(m, Z, shift=X))
            same(m.all(x=Z), plain_all(m, Z))
            assert n < 3 or (native_calls(step), native_calls(every)) == (before[0] + 3, before[1] + 1)
        bound = model.step
        same(bound(Z), plain(model, Z))
    for change in ({"w": Z}, {"n": 3.5}, {"n": 8}, {"rate": 2.0}, {"layers": [Layer(X, Y)]}, {"layers": (Layer(X, Y, 5.0),) * 2}):
        vars(model).update(change)
        for _ in range(3):
            same(model.step(Z), plain(model, Z))
            same(model.all(Z), plain_all(model, Z))
            same(other.step(Z), plain(other, Z))


def test_defaults_are_those_of_the_moment_also_in_native_code() -> None:
    def scaled(x, by=2.0, *, plus=1.0):
        return x * by + plus

    f = tierup.jit(scaled)
    for _ in range(3):
        f(X)
    for by, plus in ((3.0, 1.0), (0.25, -1.0), (7.0, 2.0)):
        scaled.__defaults__, scaled.__kwdefaults__ = (by,), {"plus": plus}
        before = native_calls(f)
        same(f(X), X * np.float32(by) + np.float32(plus))
        assert native_calls(f) == before + 1
    scaled.__kwdefaults__["plus"] = 4.0
    same(f(X, by=1.0), X + 4)
    scaled.__defaults__ = (5.0, 6.0)  # of both
    same(f(), scaled())
    scaled.__defaults__ = (Y, 2.0)
    same(f(), scaled())
    for gone in (None, ()):
        scaled.__defaults__ = gone
        with pytest.raises(TypeError, match=r"scaled\(\) missing 1 required positional argument: 'by'"):
            f(X)
    scaled.__defaults__, scaled.__kwdefaults__ = (2.0,), None
    with pytest.raises(TypeError, match=r"missing 1 required keyword-only argument: 'plus'"):
        f(X)


WRONG: tuple[tuple[tuple[Any, ...], dict[str, Any]], ...] = (
    ((), {}), ((X,), {}), ((X, Y, Z, X), {}), ((X, Y), {"d": Z}), ((X, Y, Z), {"a": X}), ((X, Y, Z), {"c": X}), ((X,), {"c": X}),
    ((X, Y, Z), {"d": X}), ((), {"a": X, "b": Y, "c": Z, "": X}),
)  # fmt: skip


@pytest.mark.parametrize("function", [by_name, numbers, many, only, gathers])
def test_what_does_not_fit_is_refused_in_pythons_words(function: Callable[..., Any]) -> None:
    f = tierup.jit(function)
    for warm in FORMS.values():
        if warm[0] is function:
            for _ in range(3):
                warm[1](f)
    refused = 0
    for args, kwargs in WRONG:
        try:
            function(*args, **kwargs)
        except KeyError:
            continue
        except TypeError as e:
            if "argument" not in str(e):
                continue
            refused += 1
            with pytest.raises(TypeError) as raised:
                f(*args, **kwargs)
            assert str(raised.value) == str(e)
    assert refused >= 3


class Text(str):
    """A subclass, as keywords may be of."""


def test_structures_that_look_alike_are_told_apart() -> None:
    class Pair(tuple):
        __slots__ = ()

    class Options(dict):
        pass

    f, g = tierup.jit(summed), tierup.jit(of_dict)
    trees = [(X, Y), [X, Y], (X, Y, Z), (X, Y.astype(np.float64)), (X, 2.0), (X, 2), (X, np.float32(2)), Pair((X, Y)), [X, Y, Z]]
    dicts = [{"a": X, "b": Y}, {"b": Y, "a": X}, {"a": X}, {"a": X, "b": Y, "c": Z}, {"a": X, "c": Y}, {1: X, 2: Y}, {True: X, 2: Y},
             {"a": X, "b": 2.0}, {Text("a"): X, "b": Y}, Options(a=X, b=Y), {0.0: X, 2: Y}, {-0.0: X, 2: Y}]  # fmt: skip
    for _ in range(4):
        for tree in trees:
            same(f(tree), summed(tree))
        for tree in dicts:
            same(g(tree), of_dict(tree))


def test_keys_are_told_apart_in_the_dict_that_comes_back() -> None:
    def kept(params):
        return {name: params[name] * 2 for name in params}

    f = tierup.jit(kept)
    for _ in range(3):
        for keys in (("a", "b"), ("b", "a"), ("a", "c")):
            same(f(dict.fromkeys(keys, X)), kept(dict.fromkeys(keys, X)))


def test_a_dict_that_changes_from_call_to_call_is_looked_at_anew() -> None:
    f, params = tierup.jit(of_dict), {"a": X, "b": Y}
    for n in range(12):
        same(f(params), of_dict(params))
        if n == 4:
            params["a"] = Z
        elif n == 6:
            params["c"] = X
        elif n == 8:
            del params["a"]
        elif n == 10:
            params.clear()
            params.update({f"k{i}": X for i in range(3)})


def test_what_is_read_is_held_while_a_call_runs() -> None:
    """A property that empties the containers that the call is about to read."""

    class Hostile:
        def __init__(self) -> None:
            self.box = [np.array(X)]

        @property
        def w(self) -> np.ndarray:
            found = self.box[0]
            self.box[:] = [np.array(X)]
            gc.collect()
            return found

    def read(tree, of):
        return tree[0] * of.w + tree[1]

    f, hostile = tierup.jit(read), Hostile()
    for _ in range(6):
        tree = hostile.box
        tree.append(np.array(Y))
        same(f([*tree], hostile), X * X + Y)


def test_errors_of_properties_are_the_calls() -> None:
    class Broken:
        fails = False

        @property
        def w(self) -> np.ndarray:
            if self.fails:
                raise ZeroDivisionError("in a property")
            return X

    def read(x, of):
        return x * of.w

    f, of = tierup.jit(read), Broken()
    for _ in range(3):
        same(f(Y, of=of), X * Y)
    of.fails = True
    with pytest.raises(ZeroDivisionError, match="in a property"):
        f(Y, of=of)
    of.fails = False
    same(f(Y, of=of), X * Y)


def of_builtins(x, scale=2):
    out = x.copy()
    for i, v in enumerate(x):
        out[i] = abs(v) * max(i, scale) + len(x)
    return out


def test_a_builtin_is_read_without_python_until_a_global_or_another_builtin_takes_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tierup.jit(of_builtins)
    for calls in range(1, 5):
        same(f(X), of_builtins(X))
        same(f(Y, scale=3), of_builtins(Y, 3))
    assert native_calls(f) == 2 * calls - 2  # all but those that were recorded and compiled
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "abs", lambda v: v * 3)
        for _ in range(3):
            same(f(X), of_builtins(X))
    with monkeypatch.context() as patch:
        patch.setattr("builtins.abs", lambda v: v * 5)
        changed = of_builtins(X), f(X)
    same(*changed)
    answered = native_calls(f)
    for _ in range(3):
        same(f(X), of_builtins(X))
    assert native_calls(f) == answered + 3


def test_what_is_no_longer_there_is_asked_for_in_python() -> None:
    model = Model(X)
    model.pair = Pair(X, Y)  # type: ignore[attr-defined]

    def read(x, of):
        return x * of.pair[0] + of.pair[1]

    f = tierup.jit(read)
    for pair in (model.pair, Pair(Y, Z), [X, Z], (Z, Z), {0: X, 1: Y}):  # type: ignore[attr-defined]
        model.pair = pair  # type: ignore[attr-defined]
        for _ in range(3):
            same(f(X, model), read(X, model))
    for gone, error in (((X,), IndexError), ({0: X}, KeyError), (None, TypeError)):
        model.pair = gone  # type: ignore[attr-defined]
        with pytest.raises(error):
            f(X, model)
    del model.pair  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        f(X, model)


def test_a_function_may_be_reset_and_called_while_its_arguments_are_read() -> None:
    class Resetting:
        does = 0

        @property
        def w(self) -> np.ndarray:
            if self.does == 1:
                f.reset()
            elif self.does == 2:
                self.does = 0
                same(f(Y, of=self), X * Y + 1)
                gc.collect()
            return X

    def read(x, of, by=1.0):
        return x * of.w + by

    f, of = tierup.jit(read), Resetting()
    for does in (0, 0, 0, 1, 1, 0, 2, 2, 0, 0, 1, 0):
        of.does = does
        same(f(Z, of), X * Z + 1)
        same(f(Z, of, by=2), X * Z + 2)


def references(*objects: object) -> list[int]:
    gc.collect()
    return [sys.getrefcount(o) for o in objects]


def test_calls_leave_no_reference_behind() -> None:
    f, g, h = tierup.jit(nothing_given), tierup.jit(nested), tierup.jit(many)
    layer, number, name = Layer(X, Y), 1234.5, "".join(("mo", "de"))
    inner = (X, layer)
    tree, default = {"l": [inner, Z], "n": number}, (None, "twice", Y)
    nothing_of = f.__wrapped__
    before_defaults, nothing_of.__defaults__ = nothing_of.__defaults__, default
    try:
        calls: list[Callable[[], Any]] = [
            lambda: f(X), lambda: f(X, **{name: "once"}), lambda: f(X, b=Y), lambda: g(tree, x=Z), lambda: h(X, Y, scale=number, o=Z),
        ]  # fmt: skip
        for call in calls * 4:
            call()
        watched = (X, Y, Z, layer, number, inner, tree, default, Layer, name, nothing_of)
        before = references(*watched)
        for call in calls * 50:
            call()
            for bad in (lambda: f(X, mod=1), lambda: f(), lambda: h(X), lambda: g([tree], Z)):
                with pytest.raises((TypeError, KeyError)):
                    bad()
        after = references(*watched)
        assert all(abs(a - b) <= 10 for a, b in zip(before, after, strict=True)), f"{before} {after}"
    finally:
        nothing_of.__defaults__ = before_defaults


def test_tables_of_graphs_that_are_gone_go() -> None:
    f = tierup.jit(summed, max_graphs=2)
    kept: list[weakref.ref[Any]] = []
    for n in range(2, 9):
        for _ in range(3):
            same(f(ARRAYS[:n]), summed(ARRAYS[:n]))
        kept += [weakref.ref(direct) for direct in f._tables.values()]
    gc.collect()
    assert len(f._tables) <= 2 and len({id(r()) for r in kept if r() is not None}) <= 3  # what was evicted last may still be asked for
    f.reset()
    same(f(ARRAYS[:3]), summed(ARRAYS[:3]))


def test_threads_that_change_what_others_read_see_no_half_of_a_call() -> None:
    def scaled(x, by=1.0, **options):
        return x * by + options["plus"]

    f, stop = tierup.jit(scaled), threading.Event()
    for _ in range(3):
        f(X, plus=Y)
    wrong: list[object] = []

    def change() -> None:
        for n in itertools.count():
            scaled.__defaults__ = (float(n % 3),)
            if stop.is_set():
                return

    def call() -> None:
        allowed = [X * np.float32(n) + Y for n in range(3)]
        for _ in range(3000):
            got = f(X, plus=Y)
            if not any(np.array_equal(got, a) for a in allowed):
                wrong.append(got)

    changer, callers = threading.Thread(target=change), [threading.Thread(target=call) for _ in range(2)]
    for thread in (changer, *callers):
        thread.start()
    for thread in callers:
        thread.join()
    stop.set()
    changer.join()
    assert not wrong


# --- any signature, any call: a table whose only version gives back its arguments -------------------------------------------

@st.composite
def signatures(draw: st.DrawFn) -> str:
    """The text of one."""
    n_only, n_either, n_named = (draw(st.integers(0, 2)) for _ in range(3))
    positional = [*(f"p{i}" for i in range(n_only)), *(f"e{i}" for i in range(n_either))]
    first_default = draw(st.integers(0, len(positional)))
    parts = [name + ("=X" if i >= first_default else "") for i, name in enumerate(positional)]
    if n_only:
        parts.insert(n_only, "/")
    star, options = draw(st.booleans()), draw(st.booleans())
    if star or n_named:
        parts.append("*star" if star else "*")
    parts += [f"n{i}" + draw(st.sampled_from(("", "=Y", "=None"))) for i in range(n_named)]
    return ", ".join([*parts, *(["**options"] if options else [])])


TREES = st.recursive(
    st.sampled_from([X, Y, Z, None, "".join(("te", "xt")), "text", Layer(X, Y), LIKE_X]),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple)
    | st.dictionaries(st.sampled_from(["a", "b", "".join(("ab", "c")), "abc", 1, 2**40, 1.5]), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
ALIKE = st.sampled_from([
    X, None, {"a": X, "b": Y}, {"b": Y, "a": X}, {"a": X, "c": Y}, {1: X, 2: Y}, (X, Y), [X, Y], Layer(X, Y), Pair(X, Y), Model(X), {"a": (X,)}, {"a": [X]},
])
VALUES = ALIKE | TREES
CALLS = st.tuples(
    st.lists(VALUES, max_size=4),
    st.lists(st.tuples(st.sampled_from(["e0", "n0", "e1", "p0", "n1", "o0", "o1", "".join(("e", "0"))]), VALUES), max_size=4, unique_by=lambda p: p[0]),
)


@st.composite
def calls_alike(draw: st.DrawFn) -> list[Any]:
    """Calls, and others in which one value or one name is another."""
    args, keywords = draw(CALLS)
    made = [(args, keywords)]
    if args:  # by name what was given by position, under its own name or another's
        made += [(args[:-1], [(name, args[-1]), *((n, v) for n, v in keywords if n != name)]) for name in ("e0", "e1")]
    for _ in range(draw(st.integers(0, 4))):
        if args and draw(st.booleans()):
            at = draw(st.integers(0, len(args) - 1))
            made.append(([*args[:at], draw(ALIKE), *args[at + 1 :]], keywords))
        elif keywords:
            (name, _), *rest = keywords
            others = [n for n in ("e0", "e1", "n0", "o0") if n not in dict(rest)]
            made.append((args, [(draw(st.sampled_from([name, *others])), draw(ALIKE)), *rest]))
        else:
            made.append(([*args, draw(ALIKE)], keywords))
    return [*made, draw(CALLS)]


@settings(max_examples=max(300, settings.default.max_examples))
@given(signatures(), calls_alike())
def test_a_call_is_answered_exactly_where_its_structure_is_the_known_one(text: str, calls: list[Any]) -> None:
    space: dict[str, Any] = {"X": X, "Y": Y}
    exec(f"def f({text}): pass", space)  # noqa: S102 - ours
    function = space["f"]
    binding = Binding("f", inspect.signature(function), function)
    tables: list[tuple[NativeTable, CallShape]] = []
    for args, keywords in calls * 2:  # the second time all that there is to know is known
        kwargs = dict(keywords)
        try:
            function(*args, **kwargs)
        except TypeError as e:
            with pytest.raises(TypeError) as raised:
                binding.bind(args, kwargs)
            assert str(raised.value) == str(e)
            bound = None
        else:
            bound = binding.bind(args, kwargs)
            shape, leaves = CallShape.of(bound)
        for table, known in tables:
            got = table.callable()(*args, **kwargs)
            if bound is not None and known == shape:
                assert len(got) == len(leaves) and all(a is b for a, b in zip(got, leaves, strict=True))
            else:
                assert got == "slow"
        if bound is not None and all(known != shape for _, known in tables):
            made = convention(shape, *binding.known, Output("const"), (), (), bound)
            assert made is not None
            tables.append((NativeTable(made.inputs, lambda *a, **k: "slow"), shape))
            tables[-1][0].add(VersionRecord((VECTOR,) * len(leaves), tuple(map(alias, range(len(leaves)))), KERNEL, form=Form.TUPLE))


VECTOR = ArgumentSpec(ArgumentKind.ARRAY, "f32", (4,))
_DO_NOTHING = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(lambda arguments, results: 0)
KERNEL = ctypes.cast(_DO_NOTHING, ctypes.c_void_p).value or 0


def CALLED(*items: Any) -> list[Any]:
    return [len(items), *items]


def alias(argument: int) -> ResultSpec:
    return ResultSpec(ResultKind.ALIAS, argument=argument)


@given(st.recursive(st.sampled_from(["next", "object", "again"]), lambda inner: st.tuples(st.sampled_from(["tuple", "list", "dict", "union", "call"]), st.lists(inner, max_size=4))))
def test_results_are_put_together_as_told(drawn: Any) -> None:
    given_ = iter(itertools.count())

    def made(of: Any) -> tuple[Made, Callable[[Any], Any]]:
        if of == "next":
            return Made("next"), next
        if of == "object":
            return Made("object", value=KERNEL), lambda _: KERNEL
        if of == "again":
            return Made("again", value=0), lambda _: arrays[0]
        kind, parts = of
        if kind == "union":
            items = [made(part) for part in parts or ["object"]]
            chosen = len(items) // 2
            which = Made("object", value=chosen), *(m for m, _ in items)
            return Made("union", which), lambda it: [b(it) for _, b in items][chosen]
        keys = tuple(f"key {next(given_)}" for _ in parts)
        items = [made(part) for part in parts]
        if kind == "call":
            return Made("call", tuple(m for m, _ in items), value=CALLED), lambda it: CALLED(*[b(it) for _, b in items])
        build = {"tuple": tuple, "list": list, "dict": lambda found: dict(zip(keys, found, strict=True))}[kind]
        return Made(kind, tuple(m for m, _ in items), keys if kind == "dict" else ()), lambda it: build([b(it) for _, b in items])

    arrays = [np.full(4, i, np.float32) for i in range(24)]
    form, build = made(("tuple", ["next", drawn]))
    n = str(form).count("kind='next'")
    table = NativeTable(Inputs(24), lambda *a, **k: "slow")
    table.add(VersionRecord((VECTOR,) * 24, tuple(map(alias, range(24))), KERNEL, form=form))
    call, before = table.callable(), references(*arrays, KERNEL, *form.keys)
    for _ in range(3):
        got, want = call(*arrays), build(iter(arrays))
        same(got, want)
    assert n <= 24
    del got, want
    assert references(*arrays, KERNEL, *form.keys) == before
