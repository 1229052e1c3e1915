"""What the user's classes do when they are used runs as often, and in the order, as in plain Python: not when a graph is built or looked at."""

from __future__ import annotations

import collections
import dataclasses
import functools
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from beside_python import alike, both, ending

import tierup


class Spy:
    """An object that notes what is asked of it."""

    def __init__(self) -> None:
        self.__dict__.update(asked=[], w=np.arange(3.0), n=2)

    def __setattr__(self, name: str, value: Any) -> None:
        self.asked.append(("set", name))
        self.__dict__[name] = value

    @property
    def half(self) -> float:
        self.asked.append("half")
        return 0.5

    @functools.cached_property
    def kept(self) -> float:
        self.asked.append("kept")
        return self.n * 2.0

    @property
    def plain(self) -> Any:
        return self.w * self.n

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        self.asked.append(("get", name))
        return 3.0


def _noting(name: str, result: Any) -> Any:
    def method(self: Spy, *args: Any) -> Any:
        self.asked.append((name, len(args)))
        return result() if callable(result) else result

    return method


for _name, _result in {
    "__getitem__": lambda: np.ones(3), "__setitem__": None, "__delitem__": None, "__len__": 3, "__contains__": True, "__bool__": True, "__iter__": lambda: iter([1.0, 2.0]),
    "__call__": 4.0, "__eq__": True, "__lt__": True, "__add__": 1.5, "__radd__": 2.5, "__mul__": 2.0, "__neg__": 7.0, "__abs__": 1.0, "__float__": 0.25, "__int__": 3,
    "__index__": 1, "__str__": "spy", "__repr__": "spy()", "__format__": "formatted", "__hash__": 7, "__enter__": 1.0, "__exit__": None, "__reversed__": lambda: iter([2.0]),
    "__iadd__": 5.0, "__matmul__": 6.0, "__round__": 2, "__divmod__": (1, 2),
}.items():  # fmt: skip
    setattr(Spy, _name, _noting(_name, _result))

USES = (
    "o[1] * x", "o['a'] + x", "len(o) + x", "(1 in o) + x", "x * 2 if o else x", "[v * x for v in o]", "sum(o) * x", "o() * x", "o(x) + x", "(o == 1) + x", "(o < 1) * x", "o + 1.0", "x.sum() + float(o)",
    "int(o) + x", "x[o] + x", "str(o), x + 1", "f'{o}', x + 1", "f'{o!r}', x + 1", "abs(o) + x", "-o + x", "o * 2 + x", "o @ 2 + x", "o.missing * x", "o.half * x", "o.kept * x", "x if x[0] < 9 else x * o.kept", "o.plain + x", "o.w * o.n + x",
    "np.asarray([float(o)]) + x", "round(o) + x", "divmod(o, 2), x + 1", "list(reversed(o)), x + 1", "isinstance(o, int), x + 1", "max([o, o]) is o, x + 1", "any([o]), x + 1", "bool(o), x + 1",
    "o is None, x + 1", "hash(o), x + 1", "repr(o), x + 1", "all(v > 0 for v in o), x + 1", "list(map(float, [o])), x + 1", "(lambda v: v[0] * x)(o)", "[o[i] * x for i in range(2)]", "min(o, key=lambda v: -v) * x",
)  # fmt: skip
STATEMENTS = (
    "o[0] = x\nreturn x + 1", "o.z = x * 2\nreturn o.z + 1", "o.n = 7\nreturn x * o.kept", "o += 1\nreturn o * x", "with o as v:\n    y = x * v\nreturn y + 1", "del o[0]\nreturn x + 1", "s = x\nfor v in o:\n    s = s + v * x\nreturn s",
    "while o:\n    x = x * 2\n    if x.sum() > 50:\n        break\nreturn x", "a, b = o\nreturn a * x + b", "s = 0.0\nfor i in range(len(x)):\n    s += x[i] * o[i].sum()\nreturn s", "assert o\nreturn x * 2",
)  # fmt: skip


@pytest.mark.parametrize("body", [*(f"return {use}" for use in USES), *STATEMENTS])
def test_an_object_is_asked_what_python_asks_it(body: str, tmp_path: Path) -> None:
    jitted, plainly = both("o, x", body, tmp_path)
    ours, theirs = Spy(), Spy()
    for _ in range(5):
        found, wanted = (ending(f, o, np.arange(1.0, 4.0)) for f, o in ((jitted, ours), (plainly, theirs)))
        np.testing.assert_equal(repr(found), repr(wanted))
        assert [a for a in ours.asked if a != ("__repr__", 0)] == [a for a in theirs.asked if a != ("__repr__", 0)]


class Making(dict[str, Any]):
    """Makes what it does not have, as a defaultdict does."""

    def __missing__(self, key: str) -> Any:
        self[key] = np.ones(3)
        return self[key]


@pytest.mark.parametrize("make", [lambda: collections.defaultdict(lambda: np.ones(3)), Making, lambda: collections.Counter(b=2), lambda: collections.OrderedDict(a=np.ones(3), b=2)])
def test_a_mapping_makes_an_item_only_where_the_program_asks_for_it(make: Any) -> None:
    def some(d: Any, x: Any) -> Any:
        if x.sum() > 100:
            return d["a"] * 2
        return x * 2

    jitted = tierup.jit(some)
    ours, theirs = make(), make()
    for x in (np.ones(3), np.ones(3), np.ones(3), np.ones(3) * 99, np.ones(3)):
        np.testing.assert_array_equal(jitted(ours, x), some(theirs, x))
        assert list(ours) == list(theirs)


Pair = collections.namedtuple("Pair", "a b")


class Triple(tuple[Any, ...]):
    """A tuple whose items are computed."""

    def __getitem__(self, i: Any) -> Any:
        return super().__getitem__(i) * 2


@pytest.mark.parametrize("make", [Pair, lambda *items: Triple(items), lambda *items: collections.UserList(items)])
def test_an_item_of_a_kind_of_tuple_is_what_its_class_gives(make: Any) -> None:
    def some(p: Any, x: Any) -> Any:
        return p[0] * x + p[-1]

    jitted = tierup.jit(some, weigh=False)
    for n in (1.0, 1.0, 2.0, 1.0):
        p = make(np.ones(3) * n, 2.5)
        np.testing.assert_array_equal(jitted(p, np.arange(3.0)), some(p, np.arange(3.0)))
    assert make is not Pair or jitted.stats().hits >= 2, jitted.explain()


class Hashed:
    """A key that notes how often it is hashed."""

    count = 0

    def __init__(self, n: int) -> None:
        self.n = n

    def __hash__(self) -> int:
        Hashed.count += 1
        return self.n

    def __eq__(self, other: object) -> bool:
        return self is other


@dataclasses.dataclass(frozen=True)
class Frozen:
    n: int


def summed(d, x):
    for v in d.values():
        x = x + v
    return x


def test_keys_of_a_dict_are_hashed_as_often_as_in_python() -> None:
    jitted, d = tierup.jit(summed), {Hashed(i): 1.0 for i in range(3)}
    for _ in range(4):
        before = Hashed.count
        assert alike(jitted(d, np.arange(3.0)), np.arange(3.0) + 3)
        assert Hashed.count == before
    jitted = tierup.jit(summed, weigh=False)
    for _ in range(4):
        assert alike(jitted({Frozen(1): 1.0, Frozen(2): 2.0}, np.arange(3.0)), np.arange(3.0) + 3)
    assert jitted.stats().hits, jitted.explain()


class Plain:
    """Its methods are decorated in `Decorated`."""

    def __init__(self, factor: float = 2.0) -> None:
        self.factor = factor

    def scaled(self, x: Any = 3.0) -> Any:
        return np.tanh(x) * self.factor

    @classmethod
    def next_to(cls, x: float = 1.0) -> float:
        return x + 1


class Decorated(Plain):
    scaled = tierup.jit(Plain.scaled)  # type: ignore[assignment]
    next_to = classmethod(tierup.jit(Plain.next_to.__func__))  # type: ignore[attr-defined]


BOUND, OF_THE_CLASS = Decorated().scaled, Decorated.next_to


def of_the_module(x):
    return BOUND(x) + OF_THE_CLASS(2.0)


def kept_in_a_name(x, of):
    step, total = of.scaled, x * 0
    for _ in range(3):
        total = total + step(x)
    return total


def given(x, of):
    return called(of.scaled, x) + called_without(of.scaled) + called_without(of.next_to)


@tierup.jit
def called(step, x):
    return step(x) * 2


@tierup.jit
def called_without(step):
    return step()


def in_a_list(x, of):
    return [step(v) for step in (of.scaled, of.next_to) for v in (1.0, 2.0)], list(map(of.scaled, [1.0, 2.0])), x


def beside_a_set(x, of):
    step, seen, total = of.scaled, set(), x * 0  # a set is Python's: the loop's region is given the method
    for i in range(3):
        total = total + step(x + i)
        seen.add(i)
    return total, sorted(seen)


@pytest.mark.parametrize("function", [of_the_module, kept_in_a_name, given, in_a_list, beside_a_set])
def test_a_bound_method_of_a_decorated_function_that_is_kept_has_its_object(function: Any) -> None:
    jitted, x = tierup.jit(function), np.arange(3.0)
    for _ in range(4):
        for of in (Decorated(), Decorated(3.0), Plain()):
            arguments = (x,) if function is of_the_module else (x, of)
            assert alike(ending(jitted, *arguments), ending(function, *arguments)), jitted.explain()


def test_a_bound_method_of_a_decorated_function_that_is_an_argument_has_its_object() -> None:
    x, call, call_without = np.arange(3.0), tierup.jit(lambda step, x: step(x) * 2), tierup.jit(lambda step: step() + 1)
    for _ in range(3):
        for of in (Decorated(), Decorated(3.0), Plain()):
            assert alike(call(of.scaled, x), of.scaled(x) * 2) and alike(call_without(of.scaled), of.scaled() + 1)
            assert call_without(of.next_to) == 3.0


def of_a_module(xp, x):
    return xp.tanh(x) * xp.pi


def of_modules(modules, x):
    return [xp.pi * x for xp in modules]


def test_a_module_that_is_an_argument_is_that_of_the_call() -> None:
    """As code for several libraries of arrays has it."""
    mine, x = types.ModuleType("mine"), np.arange(3.0)
    mine.tanh, mine.pi = np.sinh, 4.0  # type: ignore[attr-defined]
    jitted, of_several = tierup.jit(of_a_module, weigh=False), tierup.jit(of_modules)
    for _ in range(3):
        for xp in (np, mine, np):
            assert alike(jitted(xp, x), of_a_module(xp, x)), xp
            assert alike(of_several([xp, mine], x), of_modules([xp, mine], x)), xp
    assert jitted.stats().hits, jitted.explain()
