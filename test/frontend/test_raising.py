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


RAISED = {
    "a class": "raise ValueError", "a call without arguments": "raise ValueError()", "an empty text": "raise ValueError('')",
    "a text": "raise KeyError('a')", "None": "raise ValueError(None)", "a tuple": "raise ValueError((1, 2))", "a bool": "raise IndexError(True)",
    "a number": "raise KeyError(3.5)", "a number from outside": "raise KeyError(n)", "two arguments": "raise OSError(2, 'no such')",
    "an assertion": "assert x.sum() < 0", "one that says nothing": "assert x.sum() < 0, ''", "one with a number": "assert x.sum() < 0, 3",
    "one with None": "assert x.sum() < 0, None", "one with a tuple": "assert False, ('a', n)", "one that says a number": "assert x.sum() < 0, f'{x.sum():.2f} is large'",
    "caught": "try:\n        raise ValueError(3)\n    except ValueError as e:\n        return e.args",
    "caught without arguments": "try:\n        raise ValueError\n    except ValueError as e:\n        return e.args",
}  # fmt: skip


@pytest.mark.parametrize("what", RAISED)
def test_an_exception_has_the_arguments_that_python_gives_it(what, define):
    function = define(f"def f(x, n):\n    {RAISED[what]}\n    return x\n")
    jitted, outcomes = tierup.jit(function, optimize=False), []
    for call in (function, jitted, jitted):
        try:
            outcomes.append(call(np.ones(4), 2.5))
        except Exception as e:
            outcomes.append((type(e), e.args))
    assert outcomes[1:] == outcomes[:1] * 2
