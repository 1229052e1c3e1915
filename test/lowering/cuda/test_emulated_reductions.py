"""Reductions and runs over rows as kernels, on the emulated device, against NumPy. No kernel here has run on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulated_programs import agrees, compiled
from sampling import drawn

from tierup.lowering.artifacts.host_steps import walk
from tierup.lowering.cuda.rows import slots as row_slots
from tierup.lowering.cuda.transforms import scans_to_blocks

RNG = np.random.default_rng(11)


def f32(*sizes: int) -> np.ndarray[Any, Any]:
    return RNG.standard_normal(sizes).astype(np.float32)


@pytest.mark.parametrize("n", drawn("lengths that are reduced", [1, 2, 31, 32, 33, 255, 257, 1025], 3))
def test_rows_and_columns_of_any_length(n: int) -> None:
    agrees(lambda x: x.sum(1), (f32(3, n),))
    agrees(lambda x: x.max(0), (f32(n, 3),))
    agrees(lambda x: x.sum(), (f32(n),))


def test_one_kernel_serves_all_sizes() -> None:
    agrees(lambda x: x.sum(0), (f32(3, 5),), (f32(40, 33),), (f32(9, 1),), dynamic=True)
    agrees(lambda x: x.sum(), (f32(3, 5),), (f32(40, 133),), dynamic=True)


@pytest.mark.parametrize("axis", [0, 1, 2, (0, 2), (0, 1), None])
def test_axes_in_any_place(axis: Any) -> None:
    x = f32(3, 2, 5)
    if axis is None:
        agrees(lambda x: x.mean(), (x,))
    elif isinstance(axis, tuple):
        first, second = axis
        if first + second == 2:
            agrees(lambda x: x.sum(axis=(0, 2)), (x,))
        else:
            agrees(lambda x: x.sum(axis=(0, 1)), (x,))
    elif axis == 0:
        agrees(lambda x: x.min(axis=0), (x,))
    elif axis == 1:
        agrees(lambda x: x.min(axis=1), (x,))
    else:
        agrees(lambda x: x.min(axis=2), (x,))


@pytest.mark.parametrize("dtype", drawn("dtypes that are reduced", ["?", "i1", "i2", "i4", "i8", "f4", "f8"], 2))
def test_every_reduction_of_every_dtype(dtype: str) -> None:
    kind = np.dtype(dtype)
    x = RNG.random((5, 7)) > 0.5 if kind.kind == "b" else (RNG.standard_normal((5, 7)) * 3).astype(kind)
    agrees(lambda x: (x.sum(1), x.max(1), x.min(1)), (x,))
    agrees(lambda x: (x.argmax(1), x.argmin(1)), (x,))
    agrees(lambda x: (x.prod(1), (x > 0).any(0), (x > 0).all()), (x,))


def test_halves_are_summed_in_single_precision() -> None:
    x = RNG.random((5, 300)).astype(np.float16)
    agrees(lambda x: x.mean(1), (x,), rtol=1e-3)
    agrees(lambda x: x.sum(), (x,), rtol=1e-3)


def test_parts_of_a_long_row_come_together() -> None:
    (outcome,) = agrees(lambda x: x.sum(), (f32(70, 300),), rtol=1e-4, atol=1e-3)
    assert len(outcome.launches) == 2  # the parts, their sum
    (outcome,) = agrees(lambda x: x.sum(1), (f32(2, 9000),), rtol=1e-4, atol=1e-3)
    assert len(outcome.launches) == 2
    agrees(lambda x: x.sum(0), (f32(5000, 3),), rtol=1e-4, atol=1e-3)


def test_nan_and_infinity_pass_through() -> None:
    x = f32(4, 40)
    x[0, 7], x[1, 9], x[2, 3] = np.nan, np.inf, -np.inf
    agrees(lambda x: (x.sum(1), x.max(1), x.min(1)), (x,))
    agrees(lambda x: (x.argmax(1), x.argmin(1)), (x,))


def test_the_first_of_equal_positions_counts() -> None:
    x = RNG.integers(0, 3, (3, 70)).astype(np.float32)
    agrees(lambda x: (x.argmax(1), x.argmin(1), x.argmax(0)), (x,))
    agrees(lambda x: x.argmax(), (x,))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x, w, b):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) / np.sqrt(v + 1e-5) * w + b


@pytest.mark.parametrize("n", [2, 33, 256, 257])  # a warp for each row, four in a block; more
def test_softmax_is_one_kernel(n: int) -> None:
    (outcome,) = agrees(softmax, (f32(3, n),))
    assert len(outcome.launches) == 1


def test_rows_in_registers_of_every_width() -> None:
    for kind in (np.float16, np.float64):
        agrees(softmax, (f32(5, 70).astype(kind),), rtol=2e-3 if kind is np.float16 else 1e-12)
    agrees(lambda x: (x - x.max(-1, keepdims=True), x.sum(-1)), (RNG.integers(-9, 9, (2, 3, 40)),))


def test_layer_norm_is_one_kernel() -> None:
    (outcome,) = agrees(layer_norm, (f32(2, 3, 90), f32(90), f32(90)))
    assert len(outcome.launches) == 1


def test_rows_of_run_time_length_are_one_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_slots, "_OPEN_THREADS", 32)
    most = 32 * row_slots._MOST
    short, longest, longer = agrees(softmax, (f32(5, 9),), (f32(1, most),), (f32(1, most + 1),), dynamic=True)
    assert len(short.launches) == 1 and short.launches == longest.launches != longer.launches and len(longer.launches) == 1
    agrees(layer_norm, (f32(2, 3, 9), f32(9), f32(9)), (f32(1, 2, 300), f32(300), f32(300)), dynamic=True)
    agrees(lambda x: x - x.sum(1, keepdims=True), (f32(5, 9),), (f32(0, 3),), (f32(3, 0),), (f32(3, 1),), dynamic=True)


def test_rows_that_are_too_long_for_registers_are_read_again_not_kept_in_memory() -> None:
    for values, dynamic in ((f32(2, 20000),), False), ((f32(2, 20),), True):
        steps = [step[0] for step in walk(compiled(softmax, values, dynamic=dynamic).host.steps)]
        assert steps.count("launch") == 1 + dynamic and "allocate" not in steps


def test_a_run_with_several_results() -> None:
    agrees(lambda x: (x.sum(1), x.max(1), x - x.mean(1, keepdims=True)), (f32(4, 70),))


def test_a_sum_is_one_kernel_and_one_that_is_divided_two() -> None:
    for n in (3, 300):
        (outcome,) = agrees(lambda x: x.sum(), (f32(n, 5),))
        assert len(outcome.launches) == 1
    first, second = agrees(lambda x: x.mean(1), (f32(4, 5),), (f32(2, 3000),), dynamic=True)
    assert len(first.launches) == len(second.launches) <= 3


def test_variance_and_its_like() -> None:
    agrees(lambda x: (x.var(1), x.std(0)), (f32(5, 37),))
    agrees(lambda x: np.log(np.exp(x - x.max(1, keepdims=True)).sum(1)) + x.max(1), (f32(5, 37),))
    agrees(lambda x: np.sqrt((x * x).sum(1)), (f32(5, 37),))


def test_running_sums() -> None:
    agrees(lambda x: x.cumsum(1), (f32(5, 37),))
    agrees(lambda x: x.cumsum(0), (f32(5, 37),))
    agrees(lambda x: np.cumprod(x, 1), (f32(5, 7),))
    agrees(lambda x: np.logaddexp.accumulate(x, 1), (f32(5, 7),))
    for outcome in agrees(lambda x: x.cumsum(0), (f32(5, 37),), (f32(3, 300),), dynamic=True):
        assert outcome.reads == 0


def test_running_sums_along_the_last_axis_are_scans_in_parts_where_rows_are_few_and_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scans_to_blocks, "_TILES", 1)
    tile, whole = scans_to_blocks._TILE, RNG.integers(-99, 99, (1, 2 * scans_to_blocks._TILE + 70))
    calls = [(np.ascontiguousarray(whole[:, :n]),) for n in (2, tile, tile + 1, whole.size)]
    for (x,), outcome in zip(calls, agrees(lambda x: x.cumsum(1), *calls, dynamic=True), strict=True):
        assert len(outcome.launches) == (1 if x.size <= tile else 3)  # sums of parts, their scan, scans of the parts
    monkeypatch.undo()  # several tiles, one after the other, in one block
    x = f32(tile + 300)
    x[700], x[900] = np.inf, np.nan
    agrees(lambda x: x.cumsum(), (x,), rtol=1e-4, atol=1e-4)
    agrees(lambda x: np.cumprod(x, 2), (np.exp(f32(2, 3, 70) / 9),), (np.exp(f32(3, 2, 2) / 9),), dynamic=True)
    agrees(lambda x: (x > 0).cumsum(1), (f32(2, 40),))
