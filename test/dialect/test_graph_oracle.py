"""What the oracle of passes takes for a difference, and what for rounding."""

import ml_dtypes
import numpy as np
import pytest
from graph_oracle import Outcome, difference

TENTH = np.float32(0.1)


def found(got, want, rounding=False):
    return difference(*(Outcome([np.asarray(x)], None, [], [], False) for x in (got, want)), rounding=rounding)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_a_nan_is_a_nan_and_a_zero_has_its_sign(dtype):
    assert not found(np.array([np.nan, 1], dtype), np.array([np.nan, 1], dtype))
    assert found(np.array([0.0], dtype), np.array([-0.0], dtype))
    assert found(np.array([1], dtype), np.array([np.nan], dtype), rounding=True)


def test_numbers_of_float32_in_float64_are_rounded_as_float32():
    assert not found(np.float64(TENTH), np.float64(np.nextafter(TENTH, np.float32(1))), rounding=True)
    assert found(np.float64(TENTH), 0.1, rounding=True)
    assert found(np.float64(TENTH), np.float64(np.nextafter(TENTH, np.float32(1))))
