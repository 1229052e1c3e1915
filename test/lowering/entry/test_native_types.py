"""Classes made by make_function_type: calls, binding, attributes, life and death."""

from __future__ import annotations

import copy
import gc
import inspect
import sys
import weakref
from types import MethodType
from typing import Any

import numpy as np
import pytest
from entry_kernels import INT, array, muladd, scalar, version

from tierup.lowering.entry.records import AttributeSource, Inputs, Positional, TableCallable
from tierup.lowering.entry.tables import types as entry_types
from tierup.lowering.entry.tables.table import NativeTable, make_function_type


class Plain:
    """A base with a __dict__."""

    def __init__(self, name: str = "f") -> None:
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return ("python", self.name, args, kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def describe(self) -> str:
        return f"<{self.name}>"


class Slotted:
    __slots__ = ("__weakref__", "name")

    def __init__(self, name: str = "f") -> None:
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return ("python", self.name, args, kwargs)


NativePlain, NativeSlotted = make_function_type(Plain), make_function_type(Slotted)


def slow(*args: Any, **kwargs: Any) -> Any:
    return ("slow", len(args), sorted(kwargs))


def answering(n_args: int = 1) -> NativeTable:
    table = NativeTable(Inputs(n_args), slow)
    table.add(version("answer", [scalar("int")] * n_args, INT))
    return table


@pytest.mark.parametrize("cls", [NativePlain, NativeSlotted])
def test_without_a_table_the_base_answers(cls: type) -> None:
    f = cls("g")
    assert f(1, a=2) == ("python", "g", (1,), {"a": 2})
    assert f(*[1], **{}) == ("python", "g", (1,), {})


@pytest.mark.parametrize("cls", [NativePlain, NativeSlotted])
def test_with_a_table_calls_are_native(cls: type) -> None:
    f = cls("g")
    answering().attach(f)
    assert f(1) == f(*[1]) == 42
    assert f(1, 2) == ("slow", 2, []) and f(x=1) == ("slow", 0, ["x"])
    assert list(map(f, [1, 2])) == [42, 42]
    assert f.__call__(1) == ("python", "g", (1,), {})  # by name: the base


def test_it_is_still_the_base() -> None:
    f = NativePlain("g")
    f.extra = 1
    assert isinstance(f, Plain) and issubclass(NativePlain, Plain)
    assert f.describe() == "<g>" and f.extra == 1 and vars(f) == {"name": "g", "extra": 1}
    assert (NativePlain.__name__, NativePlain.__module__, NativePlain.__doc__) == ("Plain", __name__, Plain.__doc__)
    assert callable(f) and "describe" in dir(f)
    with pytest.raises(AttributeError):
        NativeSlotted().extra = 1  # type: ignore[attr-defined]
    del f.extra
    assert not hasattr(f, "extra")


def test_methods_bind_as_functions_do() -> None:
    f = NativePlain("g")
    table = NativeTable(Inputs(2, (Positional(1),)), slow)
    table.add(version("answer", [scalar("int")], INT))
    table.attach(f)

    class Owner:
        method = f
        static = staticmethod(f)

    owner = Owner()
    assert owner.method(3) == 42 and owner.method("x") == ("slow", 2, [])
    bound = owner.method
    assert bound(3) == 42 and inspect.ismethod(bound) and bound.__self__ is owner and bound.__func__ is f
    assert Owner.method is f and Owner.static is f and Owner.method(owner, 3) == 42
    assert f.__get__(None, Owner) is f


def test_detached_it_is_the_base_again() -> None:
    f, table = NativePlain("g"), answering()
    entry_types.detach(f)
    before = sys.getrefcount(table)
    for _ in range(2):
        table.attach(f)
        assert f(1) == 42
        entry_types.detach(f)
        assert f(1) == ("python", "g", (1,), {}) and f.__native_table__ is None
    assert sys.getrefcount(table) == before


def test_attributes_of_self_are_hidden_inputs() -> None:
    f = NativePlain()
    table = NativeTable(Inputs(3, (AttributeSource(Positional(0), "w"), Positional(1), Positional(2))), slow)
    table.add(muladd())
    table.attach(f)

    class Layer:
        step = f

        def __init__(self, w: np.ndarray) -> None:
            self.w = w

    x = np.arange(4, dtype=np.float32)
    layer = Layer(x + 1)
    np.testing.assert_array_equal(layer.step(x, x), (x + 1) * x + x)
    layer.w = x
    np.testing.assert_array_equal(layer.step(x, x), x * x + x)


def test_python_subclasses_work() -> None:
    class Child(NativePlain):  # type: ignore[misc,valid-type]
        def describe(self) -> str:
            return "child " + super().describe()

    f = Child("g")
    assert f.describe() == "child <g>" and f(1)[0] == "python"
    answering().attach(f)
    assert f(1) == ("python", "g", (1,), {})  # CPython hands vectorcall on to no subclass with a tp_call of Python's making


def test_attach_refuses_other_objects() -> None:
    for other in (Plain(), 3, lambda: None, Plain):
        with pytest.raises(TypeError):
            answering().attach(other)


def test_bases_of_varying_size_are_refused() -> None:
    for base in (tuple, int):
        with pytest.raises(TypeError):
            make_function_type(base)


def test_another_table_can_be_attached() -> None:
    f = NativePlain()
    first, second = answering(1), answering(2)
    first.attach(f)
    gone = weakref.ref(first)
    del first
    assert f(1) == 42
    second.attach(f)
    gc.collect()
    assert gone() is None and f(1, 2) == 42 and f(1) == ("slow", 1, [])


def test_a_table_may_be_replaced_while_it_is_called() -> None:
    f = NativePlain()

    def replace(*args: Any) -> str:
        answering(2).attach(f)
        gc.collect()
        return "replaced"

    NativeTable(Inputs(1), replace).attach(f)
    gc.collect()
    assert f(1) == "replaced" and f(1, 2) == 42


@pytest.mark.parametrize("cls", [NativePlain, NativeSlotted])
def test_functions_die_by_reference_count(cls: type) -> None:
    f = cls()
    table = answering()
    table.attach(f)
    gone, table_gone = weakref.ref(f), weakref.ref(table)
    del f
    assert gone() is None and table_gone() is not None
    del table
    assert table_gone() is None


def test_functions_in_cycles_are_collected() -> None:
    class Owner:
        def __init__(self) -> None:
            self.f = NativePlain()
            table = NativeTable(Inputs(1), self.slow)
            table.add(version("answer", [scalar("int")], INT, keepalive=self))
            table.attach(self.f)
            self.f.owner = self

        def slow(self, *args: Any) -> None: ...

    gone = []
    for _ in range(3):
        owner = Owner()
        assert owner.f(1) == 42
        gone += [weakref.ref(owner), weakref.ref(owner.f), weakref.ref(owner.f.__native_table__)]
    del owner
    gc.collect()
    assert [r() for r in gone] == [None] * 9


def test_a_slotted_function_in_a_cycle_through_its_table_is_collected() -> None:
    f = NativeSlotted()
    table = NativeTable(Inputs(1), lambda *args, f=f: f)
    table.attach(f)
    gone = weakref.ref(f)
    del f, table
    gc.collect()
    assert gone() is None


def test_the_garbage_collector_sees_the_table() -> None:
    f = NativePlain()
    table = answering()
    table.attach(f)
    assert table in gc.get_referents(f) and gc.is_tracked(f)


def test_types_do_not_leak_instances_or_references() -> None:
    def cycle() -> None:
        f = NativePlain()
        answering().attach(f)
        f(1)

    cycle()
    before = sys.getrefcount(NativePlain)
    for _ in range(50):
        cycle()
    assert abs(sys.getrefcount(NativePlain) - before) < 3


def test_a_cleared_function_says_so() -> None:
    f = NativePlain()
    answering().attach(f)
    del f.__native_table__  # what the garbage collector does
    with pytest.raises(RuntimeError, match="collected"):
        f(1)
    answering().attach(f)
    assert f(1) == 42


def test_copies_are_refused_unless_the_base_says_how() -> None:
    with pytest.raises(TypeError, match="cannot pickle"):
        copy.copy(NativePlain("g"))

    class Copied(Plain):
        def __reduce__(self) -> Any:
            return Plain, (self.name,)

    f = make_function_type(Copied)("g")
    answering().attach(f)
    assert copy.copy(f)(1) == ("python", "g", (1,), {})


def test_callables_of_a_table_are_table_callables() -> None:
    table = answering()
    f = table.callable()
    assert isinstance(f, TableCallable) and f.table is table and f(1) == table(1) == 42
    assert TableCallable.__call__(f, 1) == 42


def test_exceptions_do_not_pile_up() -> None:
    x = np.zeros(3, np.float32)
    table = NativeTable(Inputs(1), lambda *a: 1 / 0)
    table.add(version("answer", [array(2)], INT))
    f = table.callable()
    for _ in range(100):
        with pytest.raises(ZeroDivisionError):
            f(x)
    assert sys.getrefcount(x) <= 3
