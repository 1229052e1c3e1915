"""Objects whose calls need no line of Python's once there is native code for them.

CPython calls a Python object by its class's `__call__`, with the arguments in a tuple: 30 ns. These have a place for the address of what it
calls instead, as its own functions have (vectorcall); until there is a table the place is empty, and calls run `__call__`. While options
that tables don't look at are changed, it is empty, too. For a plain Python function that takes all calls, an object gets a class of its own
whose `__call__` it is; not under strict options.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Self

from tierup.dialect.base import forking
from tierup.lowering.entry.tables import types
from tierup.runtime.base import options

if TYPE_CHECKING:
    from tierup.lowering.entry.tables.forward import Forward
    from tierup.lowering.entry.tables.table import NativeTable

_lock = forking.lock()  # over all below, and who answers calls of each
_all: weakref.WeakSet[DirectCalls] = weakref.WeakSet()
_bypassed = 0
_strict = 0


def alive() -> list[DirectCalls]:
    """All there are now."""
    with _lock:
        return list(_all)


class DirectCalls:
    """The base of such a class, which has a `__call__`, and binds as Python's functions do."""

    _own_class: type[DirectCalls]
    _by_python: type[DirectCalls] | None = None
    _by_table: NativeTable | None = None
    _by_forward: Forward | None = None

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """An instance with that place."""
        made: Self = super().__new__(_with_place(cls))  # type: ignore[arg-type]  # typeshed has no hashable Self
        return made

    def _expect_direct_calls(self) -> None:
        self._own_class = type(self)
        with _lock:
            _all.add(self)

    def _answer_directly(
        self, call: Callable[..., Any] | None = None, table: NativeTable | None = None, forward: Forward | None = None
    ) -> None:
        """Let calls run one of these: a plain Python function, a table, or what forwards to a function; else the own `__call__`."""
        plain, made = self._own_class, None
        if call is not None:
            made = type(plain.__name__, (plain,), {"__call__": staticmethod(call), "__doc__": plain.__doc__})
        with _lock:
            self._by_python, self._by_table, self._by_forward = made, table, forward
            _choose(self)


@cache
def _with_place(cls: Any) -> Any:
    return types.make_function_type(cls) if sys.implementation.name == "cpython" else cls


def _choose(each: DirectCalls) -> None:
    plain = not (_bypassed or _strict)
    direct = each._by_forward if plain and each._by_forward is not None else None if _bypassed else each._by_table
    if direct is not None:
        direct.attach(each)
    else:
        types.detach(each)
    python = each._by_python if plain else None
    each.__class__ = each._own_class if python is None else python


def bypass(start: bool, strict: bool) -> None:
    """Let all calls go through the class, or no longer; `strict`: those that plain Python takes. Every start has its end."""
    global _bypassed, _strict
    with _lock:
        if strict:
            _strict += 1 if start else -1
        else:
            _bypassed += 1 if start else -1
        for each in list(_all):
            _choose(each)


options.on_bypass(bypass)
