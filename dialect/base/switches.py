"""Environment variables that are 1 or 0, or a number."""

from __future__ import annotations

import os
from functools import cache


def is_on(variable: str, unset: bool = True) -> bool:
    """Whether the variable is 1; `unset` where it is not set. What is neither 1 nor 0 counts as not set, which is said once."""
    value = os.environ.get(variable, "")
    if value in ("0", "1"):
        return value == "1"
    if value:
        _say(variable, value, "it is 0 or 1")
    return unset


def number(variable: str, unset: float) -> float:
    """The variable as a number of at least 0; `unset` where it is not set. What is no such number counts as not set, which is said once."""
    value = os.environ.get(variable, "")
    try:
        if 0 <= float(value) < float("inf"):
            return float(value)
    except ValueError:
        pass
    if value:
        _say(variable, value, "it is a number of at least 0")
    return unset


@cache
def _say(variable: str, value: str, expected: str) -> None:
    import logging  # here: a program that sets nothing wrong needs none

    logging.getLogger("tierup").warning("%s=%s is ignored: %s", variable, value, expected)
