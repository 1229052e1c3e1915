"""What a program raises where Python goes on with a value that programs do not hold. Who has the Python function runs it then."""

from __future__ import annotations


class Unanswerable(Exception):
    """The base of these. Each is what the program raises where there is nobody else to ask."""


class ValueUnanswerable(Unanswerable, ValueError):
    """A value of a kind that programs do not hold, as a complex number out of a power."""


class OverflowUnanswerable(Unanswerable, OverflowError):
    """An int of more than 64 bits."""
