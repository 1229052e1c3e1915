"""Exceptions of programs: those where Python goes on with a value that programs do not hold, for who has the Python function to run it; the
names by which programs raise them."""

from __future__ import annotations

import builtins

import numpy as np


class ValueUnanswerable(ValueError):
    """A value of a kind that programs do not hold, as a complex number out of a power."""


UNANSWERED = (ValueUnanswerable, OverflowError)  # an OverflowError where an int of more than 64 bits comes into an array
INT_TOO_LARGE = "an int of more than 64 bits"  # what the check of native code says that leaves such an int to tier 0

_NAMED: dict[str, type[Exception]] = {
    name: cls for name, cls in vars(builtins).items() if isinstance(cls, type) and issubclass(cls, Exception)
} | {"AxisError": np.exceptions.AxisError, "ValueUnanswerable": ValueUnanswerable}


def exception_named(name: str) -> type[Exception]:
    """The class of that name, RuntimeError if programs raise none of it."""
    return _NAMED.get(name.rsplit(".", 1)[-1], RuntimeError)


def name_of(error: BaseException) -> str:
    """That of the closest class that programs raise: TypeError for NumPy's UFuncTypeError."""
    return next((cls.__name__ for cls in type(error).__mro__ if _NAMED.get(cls.__name__) is cls), "RuntimeError")
