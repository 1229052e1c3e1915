"""Ordinary programs run decorated as they do undecorated, call after call, in every mode: results, what is printed, arguments, exceptions."""

from __future__ import annotations

import contextlib
import copy
import io
import traceback
import types

import everyday_programs
import mixed_programs
import numpy as np
import order_programs
import pytest
import python_programs
from sampling import drawn

import tierup

MODES = {"default": {}, "no compiling": {"optimize": False}, "speculating in mid-program": {"speculate": "bailout"}}
HERE = {m.__file__ for m in (everyday_programs, mixed_programs, order_programs, python_programs)}
PROGRAMS = {**everyday_programs.PROGRAMS, **mixed_programs.PROGRAMS}
CASES = [(name, mode) for name in PROGRAMS for mode in MODES]
for table in (order_programs.PROGRAMS, python_programs.PROGRAMS):
    PROGRAMS |= table
    CASES += drawn("everyday programs", [(name, mode) for name in table for mode in MODES], 4, lambda case: case[1])


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
            result = "raised", type(e), str(e), type(e.__cause__), len(lines) > 0
    return result, said.getvalue()


def same(got, want, where="result"):
    assert type(got) is type(want), f"{where}: {got!r} is not {want!r}"
    if isinstance(want, (list, tuple)):
        assert len(got) == len(want), where
        for i, (g, w) in enumerate(zip(got, want, strict=True)):
            same(g, w, f"{where}[{i}]")
    elif isinstance(want, dict):
        assert list(got) == list(want), where
        for key in want:
            same(got[key], want[key], f"{where}[{key!r}]")
    elif isinstance(want, (np.ndarray, np.generic)):
        assert got.dtype == want.dtype and got.shape == want.shape, where
        if want.dtype.kind in "fc":
            np.testing.assert_allclose(got, want, rtol=1e-12 if want.dtype != np.float32 else 1e-5, atol=1e-12, err_msg=where)
        else:
            np.testing.assert_array_equal(got, want, where)
    elif isinstance(want, (float, complex)):
        assert got == pytest.approx(want, rel=1e-11, abs=1e-12, nan_ok=True), where
    elif hasattr(want, "__dict__") and not isinstance(want, (type, types.FunctionType)):
        same(vars(got), vars(want), f"{where}.__dict__")
    elif not isinstance(want, types.FunctionType):
        assert got == want, where


@pytest.mark.parametrize(("name", "mode"), CASES)
def test_a_program_does_what_it_does_undecorated(name, mode):
    function, arguments_of = PROGRAMS[name]
    jitted = tierup.jit(function, **MODES[mode])
    for seed in (1, 1, 1, 2, 1, 4, 2):
        given = [arguments_of(np.random.default_rng(seed)) for _ in range(2)]
        want, got = outcome(function, given[0]), outcome(jitted, given[1])
        same(got, want)
        same(given[1], given[0], "arguments")


def test_copies_of_arguments_are_what_programs_get():
    function, arguments_of = PROGRAMS["heat_with_progress"]
    arguments = arguments_of(np.random.default_rng(1))
    before = copy.deepcopy(arguments)
    tierup.jit(function)(*arguments)
    same(arguments, before)
