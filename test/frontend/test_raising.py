"""Exceptions that a program cannot make, of any class and message, are Python's: it runs the call that raises."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup


class Refused(LookupError):
    def __init__(self, given: int, why: str = "") -> None:
        super().__init__(given, why)
        self.given = given


def checked(x: np.ndarray, k: int) -> Any:
    if k > 3:
        raise ValueError(f"{k} is too large for {x.sum():.2f}")
    if k < 0:
        raise Refused(k, why="negative")
    if k == 1:
        raise KeyError("one", 2)
    if k == 2:
        raise np.linalg.LinAlgError("singular")
    return np.exp(x) * k


def scratch(x: np.ndarray, k: int) -> Any:
    out = np.zeros_like(x)
    out[1:] = x[:-1] * k
    if k > 3:
        raise OSError(2, f"no {k}")
    return out


def writing(x: np.ndarray, k: int) -> Any:
    x[0] = 5
    if k > 3:
        raise ValueError(f"{k} is too large")
    return x * k


def outcome(function: Callable[..., Any], k: int) -> Any:
    x = np.ones(3)
    try:
        return type(function(x, k)), x.tolist()
    except Exception as e:  # noqa: BLE001 - whatever it is
        return type(e), e.args, vars(e), x.tolist()


@pytest.mark.parametrize("function", [checked, scratch, writing])
def test_an_exception_with_what_only_the_run_knows_is_python_s(function: Callable[..., Any]) -> None:
    jitted = tierup.jit(function)
    for k in (3, 3, 3, 7, -1, 1, 2, 3, 9):
        assert outcome(jitted, k) == outcome(function, k)
    assert jitted.stats().hits >= 2


def test_a_program_that_has_written_its_argument_when_python_would_have_to_run_it_again_is_refused() -> None:
    jitted = tierup.jit(writing, strict=True)
    with pytest.raises(tierup.UnsupportedSyntax, match="an exception that only Python makes, in a function that writes its arguments"):
        jitted(np.ones(3), 3)
    strict = tierup.jit(checked, strict=True)
    for k in (3, 3, 7):
        with pytest.raises(ValueError, match="too large") if k > 3 else np.errstate():
            strict(np.ones(3), k)
    assert strict.stats().hits
