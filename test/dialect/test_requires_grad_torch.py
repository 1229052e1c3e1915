"""The op table's `differentiable` against PyTorch: a result that requires a gradient there may require one here."""

from __future__ import annotations

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from native_samples import SAMPLES  # noqa: E402
from torch_oracle import run_torch, to_torch  # noqa: E402

from tierup.dialect import optable  # noqa: E402


def _requiring(value: object) -> object:
    """An operand for PyTorch; every float tensor requires a gradient."""
    if isinstance(value, list):
        return [_requiring(v) for v in value]
    made = to_torch(copy.deepcopy(value))
    return made.requires_grad_(made.is_floating_point()) if isinstance(made, torch.Tensor) else made


def _tensors(result: object) -> list[torch.Tensor]:
    if isinstance(result, (list, tuple)):
        return [t for r in result for t in _tensors(r)]
    return [result] if isinstance(result, torch.Tensor) else []


def _outcomes() -> dict[str, tuple[bool, bool]]:
    """Of every sampled op with float operands: whether some result requires a gradient, and whether some float one does not."""
    found: dict[str, tuple[bool, bool]] = {}
    for name, operands, _ in SAMPLES:
        if not any(isinstance(v, np.ndarray) and v.dtype.kind == "f" for o in operands for v in (o if isinstance(o, list) else [o])):
            continue
        try:
            results = _tensors(run_torch(name, tuple(map(_requiring, operands))))
        except (AttributeError, KeyError, RuntimeError, NotImplementedError, TypeError):
            continue  # an op that PyTorch spells otherwise, or an in-place one on a leaf
        floats = [t for t in results if t.is_floating_point()]
        some, none = found.get(name, (False, False))
        found[name] = some or any(t.requires_grad for t in results), none or any(not t.requires_grad for t in floats)
    return found


OUTCOMES = _outcomes()


def test_no_row_is_said_not_differentiable_whose_results_require_a_gradient_in_pytorch() -> None:
    assert len(OUTCOMES) > 150
    wrong = [name for name, (some, _) in OUTCOMES.items() if some and not optable.table()[name].differentiable]
    assert wrong == []


def test_no_row_is_said_differentiable_whose_float_results_never_require_a_gradient_in_pytorch() -> None:
    """That would be allowed, and only less precise."""
    more = [name for name, (some, none) in OUTCOMES.items() if none and not some and optable.table()[name].differentiable]
    assert more == []
