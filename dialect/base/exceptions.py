"""Exceptions of programs: those where Python goes on with a value that programs do not hold, for who has the Python function to run it; the
names by which programs raise them."""

from __future__ import annotations

import builtins
import re
import sys
from functools import cache
from typing import Any

import numpy as np


class Unanswerable(Exception):
    """The base of what a program raises where Python goes on, or raises an exception that programs cannot make."""


class ValueUnanswerable(Unanswerable, ValueError):
    """A value of a kind that programs do not hold, as a complex number out of a power."""


class Acted(Exception):
    """A program of values came to what only the program that it was made of may do, once: nothing is done yet, and who asked runs that."""


@cache
def unanswerable(cls: type[Exception]) -> type[Exception]:
    """What stands for an exception of this built-in class, or of one of its subclasses, whose class or message only Python makes."""
    return ValueUnanswerable if cls is ValueError else type(cls.__name__.removesuffix("Error") + _SUFFIX, (Unanswerable, cls), {})


def unanswered(error: Exception) -> Exception:
    """What a call raises that nobody answers: an Unanswerable error as one of the class that it stands for."""
    if not isinstance(error, Unanswerable):
        return error
    classes: tuple[type[Any], ...] = type(error).__mro__
    made: Exception = next(cls for cls in classes if not issubclass(cls, Unanswerable))(*error.args)
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    made.__cause__, made.__suppress_context__ = error.__cause__, True
    return made.with_traceback(error.__traceback__)


_SUFFIX = "Unanswerable"
UNANSWERED = (Unanswerable, OverflowError)  # an OverflowError where an int of more than 64 bits comes into an array
SIZE_TOO_LARGE = "a size that no memory has"
INT_TOO_LARGE = "an int of more than 64 bits"  # what the check of native code says that leaves such an int to tier 0

of_ufuncs: Any = np._core._exceptions  # type: ignore[attr-defined]  # private
_NAMED: dict[str, type[Exception]] = {
    name: cls for name, cls in vars(builtins).items() if isinstance(cls, type) and issubclass(cls, Exception)
} | {"AxisError": np.exceptions.AxisError, "UFuncTypeError": of_ufuncs.UFuncTypeError, "Acted": Acted}
_CASTING = re.compile(
    r"Cannot cast ufunc '(\w+)' (in|out)put (?:(\d) )?from dtype\('(\w+)'\) to dtype\('(\w+)'\) with casting rule '(\w+)'"
)
_NO_AXIS = re.compile(r"(?:(.*): )?axis (-?\d+) is out of bounds for array of dimension (\d+)")
_NO_LOOP = re.compile(r"ufunc '(\w+)' did not contain a loop with signature matching types (.*) -> (?:None|\(None, None\))")


def exception_named(name: str) -> type[Exception]:
    """The class of that name: one of a module that was imported, where the name has the module's before it, else a built-in one, and
    RuntimeError if programs raise none of it."""
    module, _, plain = name.rpartition(".")
    of_module = vars(sys.modules[module]).get(plain) if module in sys.modules else None
    if isinstance(of_module, type) and issubclass(of_module, Exception):
        return of_module
    if plain.endswith(_SUFFIX):
        base = plain.removesuffix(_SUFFIX)
        cls = next(found for n in (f"{base}Error", base, "RuntimeError") if (found := _NAMED.get(n)) is not None)
        return unanswerable(cls)  # type: ignore[arg-type]  # classes are hashable
    return _NAMED.get(plain, RuntimeError)


def exception(name: str, *message: str) -> Exception:
    """One of the class of that name; those of axes and ufuncs, which make their messages, as NumPy makes them."""
    if name == "AxisError" and (found := _NO_AXIS.fullmatch(message[0])):
        return np.exceptions.AxisError(int(found[2]), int(found[3]), found[1])
    if name == "UFuncTypeError" and (found := _CASTING.fullmatch(message[0])):
        ufunc, side, number, given, wanted, rule = found.groups()
        cls: type[Exception] = of_ufuncs._UFuncInputCastingError if side == "in" else of_ufuncs._UFuncOutputCastingError
        return cls(getattr(np, ufunc), rule, np.dtype(given), np.dtype(wanted), int(number or 0))
    if name == "UFuncTypeError" and (found := _NO_LOOP.fullmatch(message[0])):
        of = getattr(np, found[1])
        types = [getattr(np.dtypes, cls) for cls in re.findall(r"dtypes\.(\w+)", found[2])]
        cls = of_ufuncs._UFuncNoLoopError
        return cls(of, [*types, *[None] * (of.nargs - len(types))])
    of = exception_named(name)
    try:
        return of(*message)
    except TypeError:  # a class of the user's that takes other arguments
        return _NAMED[_closest(of)](*message)


def name_of(error: BaseException) -> str:
    """That of the closest class that programs raise."""
    return type(error).__name__ if isinstance(error, Unanswerable) else _closest(type(error))


def _closest(of: type[BaseException]) -> str:
    return next((cls.__name__ for cls in of.__mro__ if _NAMED.get(cls.__name__) is cls), "RuntimeError")
