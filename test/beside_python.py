"""A body of statements as a decorated function and as plain Python's own, how a call of each ended, and whether two endings are alike."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from checking import plain
from running import function_of

import tierup


def both(parameters: str, body: str, folder: Path) -> tuple[Any, Callable[..., Any]]:
    """The function with this body, decorated (compiled code for whatever has a version, worth it or not), and plain Python's."""
    source = f"def f({parameters}):\n{textwrap.indent(body, '    ')}\n"
    return tierup.jit(function_of(source, folder), weigh=False), plain(source)


def ending(function: Callable[..., Any], *given: Any) -> Any:
    """What the call gives, or the exception's type and message."""
    with np.errstate(all="ignore"):
        try:
            return function(*given)
        except Exception as e:  # noqa: BLE001 - whatever plain Python raises
            return f"{type(e).__name__}: {e}"


def alike(found: Any, want: Any, rtol: float = 1e-12) -> bool:
    """Whether two endings have the same types, dtypes and shapes, and values that differ by `rtol` at most, relative."""
    if isinstance(want, (tuple, list)):
        return type(found) is type(want) and len(found) == len(want) and all(alike(a, b, rtol) for a, b in zip(found, want, strict=True))
    if isinstance(want, dict):
        return isinstance(found, dict) and list(found) == list(want) and alike(list(found.values()), list(want.values()), rtol)
    if isinstance(want, str) or want is None:
        return bool(found == want)
    if type(want) in (bool, int, float, complex):  # lists of thousands of them
        return type(found) is type(want) and (found == want or found != found and want != want or abs(found - want) <= rtol * abs(want))
    same = type(found) is type(want) and np.result_type(found) == np.result_type(want) and np.shape(found) == np.shape(want)
    return same and np.allclose(found, want, rtol=rtol, atol=0, equal_nan=True)
