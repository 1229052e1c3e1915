"""A case in tier 0, in native code, and its gradient in both, beside eager PyTorch."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import oracle_skips as skips
import torch
from oracle_cases import Case

from tierup.frontend.torch import UnsupportedProgram, from_torchscript
from tierup.runtime.errors import NotOptimized

TIER0 = {"optimize": False}
NATIVE = {"num_profiled_runs": 0, "strict": True}  # the first call is compiled as a whole and native, or an error

PASSED, FAILED, BY_TORCH, NOT_NATIVE, SKIPPED, NO_PROGRAM = "passed", "failed", "by torch", "not native", "skipped", "no program"


@dataclass(frozen=True)
class Verdict:
    """`why`: of all but PASSED."""

    kind: str
    why: str = ""


# relative and absolute: PyTorch's own for its tests, wider where sums are rounded at every step in PyTorch and not in tierup
TOLERANCES = {
    torch.float16: (5e-3, 5e-3),
    torch.bfloat16: (4e-2, 4e-2),
    torch.float32: (1e-5, 2e-5),
    torch.float64: (1e-7, 1e-7),
}


def judge(case: Case, native: bool) -> dict[str, Verdict]:
    """The verdict of each tier: `tier0`, and `native` if it is asked for and tier 0 passed with kernels of our own."""
    reason = skips.reason(case)
    if reason is not None:
        return {"tier0": Verdict(SKIPPED, reason)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arguments = case.tensors()
        try:
            program = case.traced()
            torch.manual_seed(0)
            with torch.no_grad():
                expected = [t.detach() for t in case(*arguments)]
        except Exception as e:  # noqa: BLE001 - whatever PyTorch raises: there is nothing to compare
            return {"tier0": Verdict(NO_PROGRAM, _short(e))}
        found = {"tier0": _tier0(case, program, expected, arguments)}
        if native and found["tier0"].kind == PASSED:
            found["native"] = _native(case, program, expected, arguments)
        return found


def _tier0(case: Case, program: Any, expected: list[torch.Tensor], written: list[torch.Tensor]) -> Verdict:
    try:
        ours = from_torchscript(program, foreign="error", **TIER0)
        return _compare(case, ours, expected, written)
    except UnsupportedProgram as e:
        refused = e
    try:
        found = _compare(case, from_torchscript(program, **TIER0), expected, written)
    except UnsupportedProgram:
        return Verdict(NO_PROGRAM, _short(refused))
    return Verdict(BY_TORCH, _short(refused)) if found.kind == PASSED else found


def _native(case: Case, program: Any, expected: list[torch.Tensor], written: list[torch.Tensor]) -> Verdict:
    ours = from_torchscript(program, **NATIVE)
    try:
        found = _compare(case, ours, expected, written)
    except NotOptimized as e:
        return Verdict(NOT_NATIVE, _short(e))
    if found.kind == PASSED and ours.stats().hits != 1:
        return Verdict(FAILED, f"the call was not native: {ours.stats()}")
    return found


def _compare(case: Case, ours: Any, expected: list[torch.Tensor], written: list[torch.Tensor]) -> Verdict:
    """Results, and arguments after the call. UnsupportedProgram and NotOptimized are the caller's to judge."""
    arguments = case.tensors()
    try:
        results = ours(*arguments)
    except (UnsupportedProgram, NotOptimized):
        raise
    except Exception as e:  # noqa: BLE001 - a wrong result like any other
        return Verdict(FAILED, _short(e))
    try:
        close(case, results, expected)
        for ours_, theirs in zip(arguments, written, strict=True):
            torch.testing.assert_close(ours_, theirs, rtol=0, atol=0, equal_nan=True, msg=lambda m: f"an argument after the call: {m}")
    except AssertionError as e:
        return Verdict(FAILED, _short(e))
    return Verdict(PASSED)


def close(case: Case, results: Any, expected: list[torch.Tensor]) -> None:
    """Raises AssertionError where dtypes, sizes or values differ."""
    found = list(results) if isinstance(results, (list, tuple)) else [results]
    assert len(found) == len(expected), f"{len(found)} results, not {len(expected)}"
    for ours, theirs in zip(found, expected, strict=True):
        assert ours.dtype is theirs.dtype, f"a result of {ours.dtype}, not {theirs.dtype}"
        assert ours.shape == theirs.shape, f"a result of sizes {tuple(ours.shape)}, not {tuple(theirs.shape)}"
        if not skips.values_are_open(case.entry):
            rtol, atol = TOLERANCES.get(theirs.dtype, (0.0, 0.0))
            if case.dtype in ("f16", "bf16") and theirs.dtype.is_floating_point:
                rtol, atol = TOLERANCES[torch.float16 if case.dtype == "f16" else torch.bfloat16]
            torch.testing.assert_close(ours, theirs, rtol=rtol, atol=atol, equal_nan=True)


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"
