"""Native code against PyTorch on calls drawn at random. Pointwise ops are compared with it value by value in tier 0's own tests."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from single_op import Failed, flat, native  # noqa: E402
from sweep_calls import draw_from_memory  # noqa: E402
from sweep_checks import shown  # noqa: E402
from torch_oracle import close, from_torch, run, run_torch  # noqa: E402

from tierup.dialect.base import dtypes  # noqa: E402
from tierup.dialect.facts.inference.infer import InferenceError  # noqa: E402
from tierup.lowering.base.errors import Unsupported  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
_REFUSALS = (Unsupported, Failed, InferenceError)


def _length(x: object) -> int:
    """How many elements a sum may have, added in another order."""
    return x.size if isinstance(x, np.ndarray) else 0


@settings(max_examples=settings().max_examples if settings().max_examples > 100 else 60)
@given(seed=st.integers(0, 2**32 - 1), symbolic=st.booleans())
def test_native_code_does_what_pytorch_does(seed: int, symbolic: bool) -> None:
    op, operands, results = draw_from_memory(np.random.default_rng(seed))
    what = shown(op, operands)
    if "softmax" in op and operands[0].dtype.kind in "biu" or op == "aten.logsumexp" and not operands[1]:
        return  # PyTorch refuses integers unless there are none, and no dims unless they are kept: tier 0 refuses both always
    expected, failure = run(run_torch, op, operands)
    try:
        actual = native(op, operands, results, symbolic=symbolic)
    except _REFUSALS as refused:
        assert failure is not None or isinstance(refused, Unsupported), f"{what}: {refused}, PyTorch gives {expected}"
        return
    assert failure is None, f"{what}: PyTorch raises {failure!r}"
    for a, e in zip(actual, flat(from_torch(expected)), strict=True):
        assert a.dtype == e.dtype and a.shape == e.shape, f"{what}: {a.dtype}{a.shape}, not {e.dtype}{e.shape}"
        known = dtypes.from_numpy(a.dtype)
        close(a, e, 16 + math.sqrt(_length(operands[0])) if known is not None and known.is_float else 0, what)
