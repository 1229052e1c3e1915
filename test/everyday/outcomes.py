"""All everyday programs, what comes of a call of one, and whether two outcomes are the same."""

from __future__ import annotations

import contextlib
import io
import traceback
import types

import daily_programs
import everyday_programs
import list_programs
import mixed_programs
import numpy as np
import order_programs
import pytest
import python_programs

TABLES = (daily_programs, everyday_programs, list_programs, mixed_programs, order_programs, python_programs)
HERE = {m.__file__ for m in TABLES}
_MODULES = {m.__name__ for m in TABLES}
RAISED = "raised"
PROGRAMS = {name: row for m in TABLES for name, row in m.PROGRAMS.items()}


def consumed(generator):
    """What a generator gives, a value sent to it on the way."""
    given = []
    try:
        given.append(next(generator))
        given.append(generator.send("x"))
        given.extend(generator)
    except StopIteration as e:
        given.append(("stop", e.value))
    return given


def outcome(function, arguments):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        try:
            result = function(*arguments)
            if isinstance(result, types.GeneratorType):
                result = consumed(result)
        except Exception as e:  # noqa: BLE001 - an exception is a result
            lines = [frame.lineno for frame in traceback.extract_tb(e.__traceback__) if frame.filename in HERE]
            result = RAISED, type(e), str(e), type(e.__cause__), len(lines) > 0
    return result, said.getvalue()


def same(got, want, where="result", bound=1e-12):
    """Raises AssertionError where two outcomes differ. `bound`: by how much doubles may, of their size. Of objects that are equal to none but
    themselves the class is compared, and what they hold."""
    assert type(got) is type(want), f"{where}: {got!r} is not {want!r}"
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want), f"{where}: {got!r} is not {want!r}"
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            same(g, w, f"{where}[{i}]", bound)
    elif isinstance(want, dict):
        assert list(got) == list(want), where
        for key in want:
            same(got[key], want[key], f"{where}[{key!r}]", bound)
    elif isinstance(want, (np.ndarray, np.generic)):
        assert got.dtype == want.dtype and got.shape == want.shape, f"{where}: {got!r} is not {want!r}"
        if want.dtype.kind in "fc":
            np.testing.assert_allclose(got, want, rtol=max(bound, 1e-5 if want.dtype == np.float32 else 0), atol=bound, err_msg=where)
        else:
            np.testing.assert_array_equal(got, want, where)
    elif isinstance(want, (float, complex)):
        assert got == pytest.approx(want, rel=10 * bound, abs=bound, nan_ok=True), where
    elif isinstance(want, (type, types.FunctionType, types.ModuleType)):
        assert got is want or isinstance(want, types.FunctionType), where
    elif hasattr(want, "__dict__") and type(want).__module__ in _MODULES:
        same(vars(got), vars(want), f"{where}.__dict__", bound)
    elif type(want).__eq__ is not object.__eq__ and not isinstance(want, types.BuiltinFunctionType):
        assert got == want, f"{where}: {got!r} is not {want!r}"
