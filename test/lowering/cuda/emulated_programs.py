"""From a Python function to its kernels and what they give on the emulated device."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from host_runner import Outcome, run
from kernel_harness import spec_of, symbolic

from tierup.dialect.language.context import thread_context
from tierup.frontend.jit import jit
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.base.abi import ArgumentSpec, Request, ResultKind
from tierup.lowering.cuda.compile import compile
from tierup.runtime.compiling.version import _values, specialise

STAGES = ("buffers", "kernels", "nvvm")


def request(function: Callable[..., Any], values: Sequence[Any], *, dynamic: bool = False, baked: Sequence[int] = ()) -> Request:
    """What is compiled for a call: `dynamic`, with every size of at least 2 a symbol."""
    traced = jit(function)
    traced(*[v.copy() if isinstance(v, np.ndarray) else v for v in values])
    sizes = symbolic(values) if dynamic else [None] * len(values)
    arguments = [spec_of(v, s) for v, s in zip(values, sizes, strict=True)]
    for i in baked:
        arguments[i] = ArgumentSpec(arguments[i].kind, value=values[i])
    program = traced._newest().program
    with thread_context():
        return Request(specialise(_values(program.graph), program.entry, tuple(arguments)), program.entry, tuple(arguments))


def compiled(function: Callable[..., Any], values: Sequence[Any], *, dynamic: bool = False, baked: Sequence[int] = ()) -> CudaArtifact:
    return compile(request(function, values, dynamic=dynamic, baked=baked), "sm_80", STAGES)


def emulated(function: Callable[..., Any], *calls: Sequence[Any], dynamic: bool = False, baked: Sequence[int] = ()) -> list[Outcome]:
    """Compile for the first call, or for all sizes; make every call with it."""
    artifact = compiled(function, calls[0], dynamic=dynamic, baked=baked)
    return [run(artifact, values) for values in calls]


def results(outcome: Outcome) -> list[np.ndarray[Any, Any]]:
    """The arrays and numbers that a call gave."""
    assert outcome.status == 0
    return [r for r in outcome.results if not (isinstance(r, tuple) and isinstance(r[0], ResultKind))]


def agrees(
    function: Callable[..., Any], *calls: Sequence[Any], dynamic: bool = False, rtol: float = 2e-5, atol: float = 1e-5
) -> list[Outcome]:
    """Every call gives what the undecorated function gives: shapes, dtypes, values (those of integers and NaN's exactly)."""
    outcomes = emulated(function, *calls, dynamic=dynamic)
    for outcome, values in zip(outcomes, calls, strict=True):
        with np.errstate(all="ignore"):
            expected = function(*[v.copy() if isinstance(v, np.ndarray) else v for v in values])
        found = results(outcome)
        wanted = list(expected) if isinstance(expected, tuple) else [expected]
        assert len(found) == len(wanted)
        for got, want in zip(found, map(np.asarray, wanted), strict=True):
            assert np.shape(got) == want.shape
            assert not isinstance(got, np.ndarray) or got.dtype == want.dtype
            if want.dtype.kind in "biu":
                np.testing.assert_array_equal(got, want)
            else:
                np.testing.assert_allclose(np.asarray(got, np.float64), want.astype(np.float64), rtol=rtol, atol=atol)
    return outcomes
