"""Objects whose calls CPython takes to a table of versions without a line of Python.

CPython finds what a call runs in the object's class alone. So an object that has such a table becomes one of a class of its own, whose
`__call__` is the table. (A class that could do so from the start needs the native entry, which a program that only decorates functions
never loads: 60 ms.) While options that the tables don't look at are changed, every such object is of its plain class, which does. A plain
Python function takes calls in the same way, but under strict options.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tierup.dialect.base import forking
from tierup.runtime.base import options

_lock = forking.lock()  # over all below, and the class of each
_all: weakref.WeakSet[DirectCalls] = weakref.WeakSet()
_bypassed = 0
_strict = 0


class DirectCalls:
    """The base of such a class."""

    _own_class: type[DirectCalls]
    _direct: type[DirectCalls] | None = None
    _by_python = False

    def _expect_direct_calls(self) -> None:
        self._own_class = type(self)
        with _lock:
            _all.add(self)

    def _answer_directly(self, call: Callable[..., Any] | None, by_python: bool = False) -> None:
        """Let calls run `call`; None: the class's own `__call__`. `by_python`: it is no native code."""
        plain, made = self._own_class, None
        if call is not None:
            made = type(plain.__name__, (plain,), {"__call__": staticmethod(call), "__doc__": plain.__doc__})
        with _lock:
            self._direct, self._by_python = made, by_python
            _choose(self)


def _choose(each: DirectCalls) -> None:
    bypassed = _bypassed or (_strict and each._by_python)
    each.__class__ = each._own_class if bypassed or each._direct is None else each._direct


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
