"""The programs by which a GPU is checked and timed (docs/gpu.md): what they compute, for which arguments, and how exactly.

The functions are both: what is compiled, and, called with float64, NumPy's answer. This module needs NumPy alone.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

ROWS, COLUMNS = 8192, 8192  # 64M elements
ONE_KERNEL = "one_small_kernel"
EVEN_AND_ODD = (2, 3, 31, 32, 33, 255, 257, 1025)
_SPEC = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[\w]*)\]")


@dataclass(frozen=True)
class GpuProgram:
    """`timed`: the forms of the arguments that it is timed for (tools/argument_specs.py); `general`: those of a version for any sizes,
    which is checked for small and odd ones, "" for none. `bound`: the largest error, relative to the largest element of what it is compared
    with. `moved`: bytes, and `flops` operations, of a timed run. `torch`: the name of what PyTorch has for it (tools/gpu/check.py).
    `captured`: whether graphs are timed, ours and PyTorch's."""

    name: str
    function: Callable[..., Any]
    timed: str
    general: str
    bound: float
    moved: int = 0
    flops: int = 0
    torch: str = ""
    captured: bool = False


def scale(x: Any) -> Any:
    return x * 2.0


def chain(x: Any, y: Any) -> Any:
    return np.tanh(x * y) + 1.0


def gelu(x: Any) -> Any:
    return 0.5 * x * (1.0 + np.tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)))


def total(x: Any) -> Any:
    return x.sum()


def row_sums(x: Any) -> Any:
    return x.sum(1)


def column_sums(x: Any) -> Any:
    return x.sum(0)


def row_maxima(x: Any) -> Any:
    return x.max(1)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def layer_norm(x: Any, w: Any, b: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * w + b


def transpose(x: Any) -> Any:
    return x.T * 1.0


def take_rows(x: Any, i: Any) -> Any:
    return x[i] * 1.0


def product(x: Any, y: Any) -> Any:
    return x @ y


def product_relu(x: Any, y: Any, b: Any) -> Any:
    return np.maximum(x @ y + b, 0.0)


def small_steps(x: Any, y: Any) -> Any:
    """Eight kernels of next to no work, since each result has another shape: what launching costs."""
    a, b, c, d = x * 1.5, y * 2.5, x[:64] * 3.5, y[:32] * 4.5
    return a, b, c, d, x[:16] + 1.0, y[:8] + 2.0, x[:4] + 3.0, y[:2] + 4.0


_N = ROWS * COLUMNS
_GRID = f"[{ROWS}x{COLUMNS}]"

PROGRAMS: tuple[GpuProgram, ...] = (
    GpuProgram("scale", scale, f"f32[{_N}]", "f32[n]", 1e-6, moved=8 * _N, torch="scale"),
    GpuProgram("chain", chain, f"f32[{_N}], f32[{_N}]", "f32[n], f32[n]", 1e-6, moved=12 * _N, torch="chain"),
    GpuProgram("gelu", gelu, f"f32[{_N}]", "f32[n]", 2e-6, moved=8 * _N, torch="gelu"),
    GpuProgram("gelu_f16", gelu, f"f16[{_N}]", "f16[n]", 4e-3, moved=4 * _N, torch="gelu"),
    GpuProgram("total", total, f"f32[{_N}]", "f32[n]", 1e-4, moved=4 * _N, torch="total"),
    GpuProgram("row_sums", row_sums, f"f32{_GRID}", "f32[nxm]", 1e-5, moved=4 * _N, torch="row_sums"),
    GpuProgram("column_sums", column_sums, f"f32{_GRID}", "f32[nxm]", 1e-5, moved=4 * _N, torch="column_sums"),
    GpuProgram("row_maxima", row_maxima, f"f32{_GRID}", "f32[nxm]", 0.0, moved=4 * _N),
    GpuProgram("softmax", softmax, f"f32{_GRID}", "f32[nxm]", 1e-5, moved=8 * _N, torch="softmax"),
    GpuProgram(
        "layer_norm", layer_norm, f"f32{_GRID}, f32[{COLUMNS}], f32[{COLUMNS}]", "f32[nxm], f32[m], f32[m]", 1e-5, moved=8 * _N,
        torch="layer_norm",
    ),
    GpuProgram("softmax_1024", softmax, "f32[65536x1024]", "", 1e-5, moved=8 * _N, torch="softmax"),
    GpuProgram("softmax_50000", softmax, "f32[1320x50000]", "", 1e-5, moved=8 * 1320 * 50000, torch="softmax"),
    GpuProgram(
        "layer_norm_1024", layer_norm, "f32[65536x1024], f32[1024], f32[1024]", "", 1e-5, moved=8 * _N, torch="layer_norm",
    ),
    GpuProgram(
        "layer_norm_50000", layer_norm, "f32[1320x50000], f32[50000], f32[50000]", "", 1e-5, moved=8 * 1320 * 50000, torch="layer_norm",
    ),
    GpuProgram("transpose", transpose, f"f32{_GRID}", "f32[nxm]", 0.0, moved=8 * _N, torch="transpose"),
    GpuProgram("take_rows", take_rows, f"f32{_GRID}, i64[{ROWS}]", "f32[nxm], i64[k]", 0.0, moved=8 * _N),
    GpuProgram("product_f32", product, "f32[2048x2048], f32[2048x2048]", "f32[nxk], f32[kxm]", 1e-5, flops=2 * 2048**3, torch="product"),
    GpuProgram("product_bf16", product, "bf16[4096x4096], bf16[4096x4096]", "", 1.6e-2, flops=2 * 4096**3, torch="product"),
    GpuProgram(
        "product_relu", product_relu, "f32[2048x2048], f32[2048x2048], f32[2048]", "f32[nxk], f32[kxm], f32[m]", 1e-5, flops=2 * 2048**3,
    ),
    GpuProgram(ONE_KERNEL, scale, "f32[256]", "", 1e-6, moved=8 * 256, torch="scale"),
    GpuProgram("small_steps", small_steps, "f32[256], f32[256]", "", 1e-6, torch="small_steps"),
    GpuProgram("small_steps_captured", small_steps, "f32[256], f32[256]", "", 1e-6, torch="small_steps", captured=True),
)  # fmt: skip


def arrays_for(forms: str, sizes: dict[str, int], seed: int, bf16: np.dtype | None = None) -> list[np.ndarray]:
    """Arguments of these forms, letters standing for `sizes`. Integers count as rows: below the first size of the first array."""
    rng = np.random.default_rng(seed)
    made: list[np.ndarray] = []
    for found in _SPEC.finditer(forms):
        shape = tuple(int(s) if s.isdigit() else sizes[s] for s in found["shape"].split("x") if s)
        dtype = found["dtype"]
        if dtype.startswith("i"):
            made.append(rng.integers(0, made[0].shape[0], shape))
            continue
        values = rng.random(shape, np.float32) * 1.5 - 0.5  # sums are not near 0
        made.append(to_bf16(values, bf16) if dtype == "bf16" else values.astype({"f32": "f4", "f16": "f2", "f64": "f8"}[dtype]))
    return made


def to_bf16(values: np.ndarray, dtype: np.dtype | None) -> np.ndarray:
    """f32 rounded to bf16, ties to even, as an array of `dtype`: two bytes, which NumPy alone cannot compute with."""
    bits = values.astype(np.float32).view(np.uint32)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return rounded.view(dtype or np.uint16)


def exact(array: np.ndarray) -> np.ndarray:
    """An argument or a result as NumPy computes its reference: floats in float64."""
    if array.dtype.itemsize == 2 and array.dtype.kind == "V":
        return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    return array.astype(np.float64) if array.dtype.kind == "f" else array


def same_bits(found: Any, other: Any) -> bool:
    """Whether two runs gave the same, of which none is NaN; of bf16 too."""
    pairs = zip(found, other, strict=True) if isinstance(other, tuple) else [(found, other)]
    return all(np.array_equal(*[each.view(np.uint16) if each.dtype.kind == "V" else each for each in pair]) for pair in pairs)


def error(found: Any, expected: Any) -> float:
    """The largest difference, relative to the largest element; infinite where there are NaNs or another shape."""
    worst = 0.0
    pairs = zip(found, expected, strict=True) if isinstance(expected, tuple) else [(found, expected)]
    for one, right in pairs:
        got, want = exact(np.asarray(one)), np.asarray(right)
        if got.shape != want.shape or not np.all(np.isfinite(got)):
            return math.inf
        if want.size:
            worst = max(worst, float(np.max(np.abs(got - want)) / max(float(np.max(np.abs(want))), 1e-30)))
    return worst
