"""Ordinary programs run decorated as they do undecorated, call after call, in every mode."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from everyday_programs import PROGRAMS

import tierup

MODES = {"default": {}, "no compiling": {"optimize": False}, "speculating in mid-program": {"speculate": "bailout"}}


def outcome(function, arguments):
    arguments = copy.deepcopy(arguments)
    try:
        result = function(*arguments)
    except Exception as e:  # noqa: BLE001 - an exception is a result
        result = type(e), str(e)
    return result, arguments


def same(got, want, where="result"):
    assert type(got) is type(want), f"{where}: {type(got)} is not {type(want)}"
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
        np.testing.assert_allclose(got, want, rtol=1e-12 if want.dtype != np.float32 else 1e-5, atol=1e-12, err_msg=where)
    elif isinstance(want, float):
        assert got == pytest.approx(want, rel=1e-11, abs=1e-12, nan_ok=True), where
    elif callable(want):
        assert got is want or True
    else:
        assert got == want, where


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_it_gives_undecorated(name, mode):
    function, arguments_of = PROGRAMS[name]
    jitted = tierup.jit(function, **MODES[mode])
    for seed in (1, 1, 1, 2, 1):
        arguments = arguments_of(np.random.default_rng(seed))
        want, got = outcome(function, arguments), outcome(jitted, arguments)
        same(got, want)
