"""When two runs of a program count as the same: type, dtype, shape, values within the row's tolerance, shared memory, exception."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np


def arrays(tree: Any) -> list[np.ndarray[Any, Any]]:
    """The arrays of nested tuples, lists, dicts and objects, in order."""
    if isinstance(tree, np.ndarray):
        return [tree]
    if isinstance(tree, dict):
        return [a for item in tree.values() for a in arrays(item)]
    if isinstance(tree, (tuple, list)):
        return [a for item in tree for a in arrays(item)]
    is_object = hasattr(tree, "__dict__") and not callable(tree) and not isinstance(tree, ModuleType)  # a module holds itself
    return arrays(vars(tree)) if is_object else []


def assert_same(got: Any, want: Any, tolerance: float, where: str) -> None:
    """Raise AssertionError, saying where, unless `got` is as good as `want`."""
    if isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want), f"{where}: {got!r} is not {want!r}"
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            assert_same(g, w, tolerance, f"{where}[{i}]")
    elif isinstance(want, dict):
        assert isinstance(got, dict), f"{where}: {got!r} is not {want!r}"
        assert list(got) == list(want), f"{where}: keys {list(got)} are not {list(want)}"
        for key in want:
            assert_same(got[key], want[key], tolerance, f"{where}[{key!r}]")
    else:
        assert type(got) is type(want), f"{where}: {type(got).__name__} {got!r} is not {type(want).__name__} {want!r}"
        if isinstance(want, (np.ndarray, np.generic)):
            assert got.dtype.char == want.dtype.char, f"{where}: dtypes {got.dtype.char!r} and {want.dtype.char!r}"  # "q" equals "l"
            assert got.dtype == want.dtype and got.shape == want.shape, f"{where}: {got.dtype}{got.shape} is not {want.dtype}{want.shape}"
            _assert_close(got, want, tolerance, where)
        elif isinstance(want, float):
            _assert_close(np.float64(got), np.float64(want), tolerance, where)
        elif isinstance(want, complex):
            for part in ("real", "imag"):
                assert_same(getattr(got, part), getattr(want, part), tolerance, f"{where}.{part}")
        else:
            assert got == want, f"{where}: {got!r} is not {want!r}"


def _assert_close(got: Any, want: Any, tolerance: float, where: str) -> None:
    if not want.dtype.kind == "f" and want.dtype != ml_dtypes.bfloat16:
        np.testing.assert_array_equal(got, want, err_msg=where)
        return
    epsilon = tolerance * float(ml_dtypes.finfo(want.dtype).eps)
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    finite = np.abs(want[np.isfinite(want)])
    np.testing.assert_allclose(got, want, rtol=epsilon, atol=epsilon * finite.max(initial=0), err_msg=where)


def sharing(results: Any, inputs: Any) -> list[list[bool]]:
    """Which result shares memory with which array of the inputs."""
    return [[np.shares_memory(r, a) for a in arrays(inputs)] for r in arrays(results)]


def assert_same_exception(got: BaseException | None, want: BaseException, where: str) -> None:
    """One type is the other or derives from it: NumPy raises AxisError where IndexError and ValueError both fit."""
    assert got is not None, f"{where}: {want!r} expected, nothing raised"
    assert isinstance(want, type(got)) or isinstance(got, type(want)), f"{where}: {want!r} expected, {got!r} raised"
