"""Exceptions of programs: those where Python goes on with a value that programs do not hold, for who has the Python function to run it; the
names by which programs raise them."""

from __future__ import annotations

import builtins

import numpy as np


class Unanswerable(Exception):
    """The base of these. Each is what the program raises where there is nobody else to ask."""


class ValueUnanswerable(Unanswerable, ValueError):
    """A value of a kind that programs do not hold, as a complex number out of a power."""


class OverflowUnanswerable(Unanswerable, OverflowError):
    """An int of more than 64 bits."""


_NAMED: dict[str, type[Exception]] = {
    name: cls for name, cls in vars(builtins).items() if isinstance(cls, type) and issubclass(cls, Exception)
} | {"AxisError": np.exceptions.AxisError, **{cls.__name__: cls for cls in (ValueUnanswerable, OverflowUnanswerable)}}


def exception_named(name: str) -> type[Exception]:
    """The class of that name, RuntimeError if programs raise none of it."""
    return _NAMED.get(name.rsplit(".", 1)[-1], RuntimeError)


def name_of(error: BaseException) -> str:
    """That of the closest class that programs raise: TypeError for NumPy's UFuncTypeError."""
    return next((cls.__name__ for cls in type(error).__mro__ if _NAMED.get(cls.__name__) is cls), "RuntimeError")
