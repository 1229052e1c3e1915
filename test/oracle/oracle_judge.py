"""A case in tier 0 and in native code, and its gradient in both, beside eager PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import oracle_skips as skips
import torch
from oracle_cases import Case

from tierup.runtime.base.errors import NotDifferentiable, NotOptimized
from tierup.torch import UnsupportedProgram, from_torchscript

TIER0 = {"optimize": False}
NATIVE = {"num_profiled_runs": 0, "strict": True}  # the first call is compiled as a whole and native, or an error

PASSED, FAILED, BY_TORCH, NOT_NATIVE, SKIPPED, NO_RULE = "passed", "failed", "by torch", "not native", "skipped", "no rule"

# relative and absolute, near PyTorch's own. A result in 16 bits may instead be as near as that to what PyTorch computes in float64, of its
# largest element: eager rounds every partial result, tierup the last.
TOLERANCES = {
    torch.float16: (2e-3, 2e-3),
    torch.bfloat16: (2e-2, 2e-2),
    torch.float32: (1e-5, 2e-5),
    torch.float64: (1e-7, 1e-7),
}
_SHORT = {"f16": torch.float16, "bf16": torch.bfloat16}
_DERIVED = {"f32": (1e-4, 1e-4), "f64": (1e-7, 1e-7), "f16": (1e-2, 1e-2), "bf16": (6e-2, 6e-2)}  # of gradients: sums of products of what is rounded already


@dataclass(frozen=True)
class Verdict:
    """`why`: of all but PASSED."""

    kind: str
    why: str = ""


def judge(case: Case, native: bool) -> dict[str, Verdict]:
    """The verdicts by tier: `tier0`, and `native` if it is asked for and tier 0 passed with kernels of tierup's own."""
    return _judge(case, native, _Values(case))


def judge_gradient(case: Case, native: bool) -> dict[str, Verdict]:
    """The same of the case's gradients."""
    reason = skips.gradient(case.name)
    return {"tier0": Verdict(SKIPPED, reason)} if reason is not None else _judge(case, native, _Gradients(case))


def _judge(case: Case, native: bool, question: _Values) -> dict[str, Verdict]:
    reason = skips.case(case.name) or skips.keyword(case.sample.kwargs)
    if reason is not None:
        return {"tier0": Verdict(SKIPPED, reason)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program = case.traced()
            question.ask(case)
        except Exception as e:  # whatever PyTorch raises: there is nothing to compare
            reason = skips.tracer(_short(e))
            return {"tier0": Verdict(FAILED, f"no program: {_short(e)}") if reason is None else Verdict(SKIPPED, reason)}
        found = {"tier0": _tier0(program, question)}
        if native and found["tier0"].kind == PASSED:
            found["native"] = _native(program, question)
        return found


def _tier0(program: Any, question: _Values) -> Verdict:
    try:
        return question.compare(from_torchscript(program, foreign="error", **TIER0))
    except UnsupportedProgram as e:
        refused = _short(e)
    try:
        found = question.compare(from_torchscript(program, **TIER0))
    except UnsupportedProgram:
        return Verdict(FAILED, refused)
    return Verdict(BY_TORCH, refused) if found.kind == PASSED else found


def _native(program: Any, question: _Values) -> Verdict:
    ours = from_torchscript(program, **NATIVE)
    try:
        found = question.compare(ours)
    except NotOptimized as e:
        return Verdict(NOT_NATIVE, _short(e))
    return question.was_native(ours) if found.kind == PASSED else found


class _Values:
    """Results, and arguments after the call."""

    derived = False

    def __init__(self, case: Case) -> None:
        self.case = case

    def ask(self, program: Callable[..., Any]) -> None:
        """Of eager PyTorch. Raises what it raises."""
        self.written = self.case.tensors()
        with torch.no_grad():
            self.expected = [t.detach() for t in program(*self.written)]
        if not self.expected:
            raise TypeError("no tensor in the result")

    def exact(self) -> Sequence[torch.Tensor]:
        with torch.no_grad():
            return self.case.in_double(self.case.tensors())

    def compare(self, ours: Any) -> Verdict:
        """UnsupportedProgram and NotOptimized are the caller's to judge."""
        arguments = self.case.tensors()
        try:
            found = self.run(ours, arguments)
        except (UnsupportedProgram, NotOptimized):
            raise
        except NotDifferentiable as e:
            return Verdict(NO_RULE, _short(e))
        except Exception as e:  # a wrong result like any other
            return Verdict(FAILED, _short(e))
        try:
            self.close(found)
            self.close_arguments(arguments)
        except AssertionError as e:
            return Verdict(FAILED, _short(e))
        return Verdict(PASSED)

    def run(self, ours: Any, arguments: list[torch.Tensor]) -> list[torch.Tensor]:
        results = ours(*arguments)
        return list(results) if isinstance(results, (list, tuple)) else [results]

    def close_arguments(self, arguments: Sequence[torch.Tensor]) -> None:
        for ours, theirs in zip(arguments, self.written, strict=True):
            if theirs.is_floating_point():
                self._close(ours, theirs, lambda: theirs)
            else:
                torch.testing.assert_close(ours, theirs)

    def close(self, found: Sequence[torch.Tensor]) -> None:
        """Raises AssertionError where dtypes, sizes or values differ."""
        assert len(found) == len(self.expected), f"{len(found)} results, not {len(self.expected)}"
        for i, (ours, theirs) in enumerate(zip(found, self.expected, strict=True)):
            assert ours.dtype is theirs.dtype, f"a result of {ours.dtype}, not {theirs.dtype}"
            assert ours.shape == theirs.shape, f"a result of sizes {tuple(ours.shape)}, not {tuple(theirs.shape)}"
            if not skips.is_open(self.case.entry, i):
                self._close(ours, theirs, lambda i=i: self.exact()[i])  # type: ignore[misc]  # mypy knows no such default

    def _close(self, ours: torch.Tensor, theirs: torch.Tensor, exact: Callable[[], torch.Tensor]) -> None:
        dtype = _SHORT.get(self.case.dtype, theirs.dtype)  # a result in f32 of an operand in f16 is no better than this
        rtol, atol = TOLERANCES.get(dtype, (0.0, 0.0)) if theirs.is_floating_point() else (0.0, 0.0)
        if self.derived and self.case.dtype in _DERIVED:
            rtol, atol = _DERIVED[self.case.dtype]
        try:
            torch.testing.assert_close(ours, theirs, rtol=rtol, atol=atol, equal_nan=True)
        except AssertionError:
            if self.case.dtype not in _SHORT or not theirs.is_floating_point():
                raise
            reference = exact()
            if reference.shape != ours.shape:
                raise
            finite = reference[reference.isfinite()]
            scale = float(finite.abs().max()) if finite.numel() else 1.0
            torch.testing.assert_close(ours.double(), reference.to(ours.dtype).double(), rtol=rtol, atol=rtol * max(scale, 1.0), equal_nan=True)

    def was_native(self, ours: Any) -> Verdict:
        return Verdict(PASSED) if ours.stats().hits == 1 else Verdict(FAILED, f"the call was not native: {ours.stats()}")


class _Gradients(_Values):
    """The gradients of results with respect to the arguments that require one, for cotangents from a seed."""

    derived = True

    def ask(self, program: Callable[..., Any]) -> None:
        self.expected = self._of(program, self.case.tensors(gradients=True))

    def exact(self) -> Sequence[torch.Tensor]:
        return self._of(self.case.in_double, self.case.tensors(gradients=True), whole=True)

    def run(self, ours: Any, arguments: list[torch.Tensor]) -> list[torch.Tensor]:
        return self._of(ours, self.case.tensors(gradients=True))

    def close_arguments(self, arguments: Sequence[torch.Tensor]) -> None:
        """They are gone."""

    def _of(self, program: Callable[..., Any], tensors: list[torch.Tensor], whole: bool = False) -> list[torch.Tensor]:
        found = program(tensors) if whole else program(*tensors)
        every = found if isinstance(found, (list, tuple)) else [found]
        results = [t for i, t in enumerate(every) if t.requires_grad and skips.is_seeded(self.case.entry, i)]
        if not results:
            raise TypeError("no tensor in the result")
        generator = torch.Generator().manual_seed(0)
        cotangents = [torch.randn(t.shape, generator=generator, dtype=torch.float32).to(t.dtype) for t in results]
        wrt = [t for t in tensors if t.requires_grad]
        made = torch.autograd.grad(results, wrt, cotangents, allow_unused=True)
        return [torch.zeros_like(t) if g is None else g for t, g in zip(wrt, made, strict=True)]

    def was_native(self, ours: Any) -> Verdict:
        executors = [e for v in ours.variants if v.executor.has_gradients for e in v.executor.gradient_executors]
        stats = [e.stats() for e in executors]
        native = bool(stats) and all(s.hits == s.calls for s in stats)
        return Verdict(PASSED) if native else Verdict(NOT_NATIVE, f"not all of forward and backward was native: {stats}")


def _short(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if not isinstance(error, TypeError) or "no tensor" not in text else text
