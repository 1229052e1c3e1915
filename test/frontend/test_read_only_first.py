"""An assignment to items of a read-only array raises that first, as NumPy does: before the index, the value or the dtype is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tierup


def index(y: Any) -> None:
    y[9] = 1


def many_indices(y: Any) -> None:
    y[0, 0, 0] = 1


def list_of_indices(y: Any) -> None:
    y[[0, 9]] = 1


def element(y: Any) -> None:
    y[0] = "x"


def shape(y: Any) -> None:
    y[0:2] = np.ones(77)


def diagonal(y: Any) -> None:
    v = np.diagonal(y)
    v[7] = 1


def broadcast(y: Any) -> None:
    v = np.broadcast_to(y, (2, *y.shape))
    v[5] = 1


def fill(y: Any) -> None:
    y.fill(np.ones(3))


def copied(y: Any) -> None:
    np.copyto(y, np.ones(77))


@pytest.mark.parametrize("function", [index, many_indices, list_of_indices, element, shape, diagonal, broadcast, fill, copied])
@pytest.mark.parametrize("options", [{"optimize": False}, {}], ids=["tier 0", "compiled"])
@pytest.mark.parametrize("is_read_only", [True, False])
def test_a_read_only_array_is_said_to_be_so_first(function: Any, options: dict[str, Any], is_read_only: bool) -> None:
    decorated = tierup.jit(function, **options)
    y = np.zeros((3, 3), np.int64)
    y.flags.writeable = not is_read_only
    with pytest.raises((ValueError, IndexError, TypeError)) as want:
        function(y)
    for _ in range(3):
        with pytest.raises(want.type) as got:
            decorated(y)
        assert str(got.value) == str(want.value)
    assert not is_read_only or str(want.value) == "assignment destination is read-only"


def test_the_question_whether_an_array_is_writeable_costs_native_code_nothing() -> None:
    @tierup.jit
    def f(y: Any) -> None:
        y[0] = 1
        y[1:] = y[0] + 1

    for _ in range(3):
        y = np.zeros(4)
        f(y)
        assert y.tolist() == [1, 2, 2, 2]
    assert f.stats().hits == 2


def test_copying_an_array_to_itself_writes_nothing_and_so_asks_for_no_permission() -> None:
    @tierup.jit
    def f(y: Any, mask: Any) -> Any:
        np.copyto(y, y)
        np.copyto(y, y, where=mask)
        return y * 2

    y = np.arange(4.0)
    y.flags.writeable = False
    for _ in range(3):
        assert f(y, y > 1).tolist() == [0, 2, 4, 6]
    assert f.stats().hits == 2
