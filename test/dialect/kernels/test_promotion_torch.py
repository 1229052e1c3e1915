"""torch's type promotion, exhaustively, against torch.result_type."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import TORCH_DTYPES, to_torch  # noqa: E402

from tierup.dialect.base import dtypes  # noqa: E402
from tierup.dialect.optable.kernels.promotion import common_dtype, promote  # noqa: E402

pytestmark = pytest.mark.torch
OPERANDS = [np.zeros(shape, d.numpy) for d in dtypes.ALL for shape in ((), (1,))] + [True, 2, 2.5]


@pytest.mark.parametrize("first", OPERANDS, ids=lambda x: f"{x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else repr(x))
def test_result_type_of_two_operands_is_torchs(first: object) -> None:
    for second in OPERANDS:
        try:
            expected = torch.result_type(to_torch(first), to_torch(second))
        except RuntimeError as e:
            with pytest.raises(TypeError, match="Promotion for uint16, uint32, uint64 types is not supported"):
                common_dtype(first, second)
            assert "Promotion for uint16" in str(e)
            continue
        found = common_dtype(first, second)
        assert TORCH_DTYPES[dtypes.from_numpy(found).name] == expected, (first, second)


def test_promote_is_torchs_promote_types() -> None:
    for a, b in itertools.product(dtypes.OF_TORCH, repeat=2):
        assert TORCH_DTYPES[promote(a, b).name] == torch.promote_types(TORCH_DTYPES[a.name], TORCH_DTYPES[b.name])


def test_three_operands_promote_as_torch_clamp_does() -> None:
    """clamp's three operands: the dtype is that of all three at once, not of one pair after the other."""
    taken = [x for x in OPERANDS if not isinstance(x, np.ndarray) or not dtypes.from_numpy(x.dtype).of_numpy_alone]
    for low, high in itertools.product(taken, repeat=2):
        for x in (np.zeros(1, np.int8), np.zeros((), np.float16)):
            if isinstance(low, np.ndarray) and isinstance(high, np.ndarray):
                expected = torch.clamp(to_torch(x), to_torch(low), to_torch(high)).dtype
                assert TORCH_DTYPES[dtypes.from_numpy(common_dtype(x, low, high)).name] == expected, (x, low, high)
