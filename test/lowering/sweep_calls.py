"""Calls of ops drawn at random: any dtype, rank 0 to 4, sizes 0 and 1 among them, any layout, dims from either end, special values.

`draw(rng)` gives (op, operands, results) as in native_samples.py. Some calls are errors: then every tier says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from pointwise_samples import OPS, values

from tierup.dialect.base import dtypes

Rng = np.random.Generator
Call = tuple[str, tuple[Any, ...], "int | str"]

_SIZES = (0, 1, 1, 2, 3, 5, 9)
_LAYOUTS = ("plain", "plain", "transposed", "stepped", "reversed", "broadcast")


def pick(rng: Rng, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def dtype(rng: Rng, *, floats: bool = False) -> dtypes.DType:
    kinds = [d for d in dtypes.OF_TORCH if d.is_float or not floats]
    return pick(rng, [*kinds, dtypes.f32, dtypes.f64])


def shape(rng: Rng, low: int = 0, high: int = 4) -> tuple[int, ...]:
    return tuple(int(pick(rng, _SIZES)) for _ in range(int(rng.integers(low, high + 1))))


def laid_out(rng: Rng, x: np.ndarray) -> np.ndarray:
    """The same values, or fewer of them, in one of many layouts."""
    how = pick(rng, _LAYOUTS)
    if not x.ndim or how == "plain":
        return x
    if how == "transposed":
        return np.asfortranarray(x)
    if how == "reversed":
        return x[..., ::-1]
    if how == "broadcast":
        return np.broadcast_to(x[:1], x.shape)
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1] + 1), x.dtype)
    wide[..., 1::2] = x
    return wide[..., 1::2]


def array(rng: Rng, sizes: tuple[int, ...], of: dtypes.DType, *, special: bool = True) -> np.ndarray:
    """Values of pointwise_samples in any order; without `special` small ones, with repetitions so that there are ties."""
    if special:
        x = rng.choice(values(of), sizes)
    elif of.is_float:
        x = rng.integers(-8, 9, sizes) / 4
    else:
        x = rng.integers(0 if of.name in ("u8", "bool") else -7, 2 if of.name == "bool" else 8, sizes)
    return laid_out(rng, np.asarray(x).astype(of.numpy))


def dim(rng: Rng, rank: int) -> int:
    bound = max(rank, 1)
    return int(rng.integers(-bound, bound))


def dims(rng: Rng, rank: int) -> list[int]:
    chosen = rng.permutation(rank)[: int(rng.integers(0, rank + 1))]
    return [int(d) - (rank if rng.random() < 0.5 else 0) for d in chosen]


def _reduction(rng: Rng) -> Call:
    of, sizes, keep = dtype(rng), shape(rng), bool(rng.integers(2))
    name = pick(rng, ("sum", "sum.dim_IntList", "prod", "prod.dim_int", "mean.dim", "amax", "amin", "max.dim", "min.dim", "argmax", "argmin", "any.dim", "all.dim",
                      "any", "all", "max", "min", "aminmax", "cumsum", "cumprod", "count_nonzero.dim_IntList", "var.correction", "std.correction", "logsumexp",
                      "softmax.int", "log_softmax.int", "linalg_vector_norm"))  # fmt: skip
    exact = name in ("amax", "amin", "max.dim", "min.dim", "argmax", "argmin", "any.dim", "all.dim", "any", "all", "max", "min", "aminmax") or "count" in name
    x = array(rng, sizes, of, special=exact or not of.is_float)
    rank = len(sizes)
    rest: dict[str, Callable[[], tuple[Any, ...]]] = {
        "sum": lambda: (None,), "prod": lambda: (None,), "sum.dim_IntList": lambda: (dims(rng, rank), keep, None), "any": tuple, "all": tuple, "max": tuple,
        "min": tuple, "prod.dim_int": lambda: (dim(rng, rank), keep, None), "mean.dim": lambda: (dims(rng, rank), keep, None),
        "amax": lambda: (dims(rng, rank), keep), "amin": lambda: (dims(rng, rank), keep), "cumsum": lambda: (dim(rng, rank), None),
        "cumprod": lambda: (dim(rng, rank), None), "count_nonzero.dim_IntList": lambda: (dims(rng, rank),),
        "var.correction": lambda: (dims(rng, rank), pick(rng, (None, 0, 1, 2)), keep), "std.correction": lambda: (dims(rng, rank), pick(rng, (None, 0, 1)), keep),
        "logsumexp": lambda: (dims(rng, rank), keep), "softmax.int": lambda: (dim(rng, rank), None), "log_softmax.int": lambda: (dim(rng, rank), None),
        "linalg_vector_norm": lambda: (x, pick(rng, (2, 1, 0, math.inf, 3.0)), dims(rng, rank), keep, None)[1:],
    }  # fmt: skip
    results = 2 if name in ("max.dim", "min.dim", "aminmax") else 1
    return f"aten.{name}", (x, *rest.get(name, lambda: (dim(rng, rank), keep))()), results


def _view(rng: Rng) -> Call:
    sizes = shape(rng)
    x, rank = array(rng, sizes, dtype(rng)), len(sizes)
    order = [int(i) - (rank if rng.random() < 0.5 else 0) for i in rng.permutation(rank)]
    start, stop = int(rng.integers(-6, 7)), int(rng.integers(-6, 12))
    size = int(np.prod(sizes))
    made: dict[str, tuple[Any, ...]] = {
        "permute": (order,), "transpose.int": (dim(rng, rank), dim(rng, rank)), "slice.Tensor": (dim(rng, rank), start, stop, int(rng.integers(1, 4))),
        "select.int": (dim(rng, rank), int(rng.integers(-3, 3))), "unsqueeze": (int(rng.integers(-rank - 1, rank + 1)),), "squeeze": (),
        "squeeze.dim": (dim(rng, rank),), "reshape": (pick(rng, ([-1], [size], [1, size], [size, 1, 1])),), "numpy_T": (), "flatten.using_ints": (0, -1),
        "expand": ([int(rng.integers(1, 3)), *sizes], False), "movedim.int": (dim(rng, rank), dim(rng, rank)), "flip": (dims(rng, rank),),
        "diagonal": (int(rng.integers(-2, 3)), 0, -1), "clone": (None,), "contiguous": (0,), "roll": ([int(rng.integers(-7, 8))], [dim(rng, rank)]),
        "repeat": ([int(rng.integers(0, 3)), *[1] * rank],), "tril": (int(rng.integers(-3, 4)),), "triu": (int(rng.integers(-3, 4)),),
        "constant_pad_nd": ([int(rng.integers(0, 3)), int(rng.integers(0, 3))], 2), "narrow": (dim(rng, rank), 0, 1), "repeat_interleave.self_int": (2, dim(rng, rank), None),
    }  # fmt: skip
    name = pick(rng, list(made))
    return f"aten.{name}", (x, *made[name]), 1


def _joined(rng: Rng) -> Call:
    sizes = shape(rng, 1)
    axis = dim(rng, len(sizes))
    parts = []
    for _ in range(int(rng.integers(1, 4))):
        other = list(sizes)
        other[axis] = int(pick(rng, _SIZES))
        parts.append(array(rng, tuple(other), dtype(rng)))
    if rng.random() < 0.3:
        return "aten.stack", ([array(rng, sizes, dtype(rng)) for _ in parts], dim(rng, len(sizes) + 1)), 1
    return "aten.cat", (parts, axis), 1


def _index(rng: Rng) -> Call:
    sizes = shape(rng, 1)
    of = dtype(rng)
    x, rank = array(rng, sizes, of), len(sizes)
    axis = dim(rng, rank)
    length = sizes[axis]
    at = int(rng.random() < 0.05)  # out of range now and then
    index_of = pick(rng, (dtypes.i64, dtypes.i64, dtypes.i32))

    def positions(low: int, *shape_: int) -> np.ndarray:
        if not length:
            return np.zeros((*shape_[:-1], 0), np.int64)
        return laid_out(rng, rng.integers(low, length + at, shape_).astype(index_of.numpy))

    name = pick(rng, ("index_select", "gather", "scatter.value", "scatter.src", "scatter_add", "index.Tensor", "index_put", "mask", "mask_put", "nonzero", "masked_fill"))
    if name == "index_select":
        return "aten.index_select", (x, axis, positions(0, int(pick(rng, _SIZES)))), 1
    if name in ("gather", "scatter.value", "scatter.src", "scatter_add"):
        taken = tuple(int(rng.integers(0, s + 1)) for s in sizes)
        index = np.asarray(rng.integers(0, max(length + at, 1), taken)) if length else np.zeros(taken[:-1] + (0,), np.int64)
        rest = {"gather": (False,), "scatter.value": (1,), "scatter.src": (array(rng, index.shape, of),), "scatter_add": (array(rng, index.shape, of, special=False),)}[name]
        if name == "scatter.src":  # of several writes to one place no one says which counts: PyTorch's last, mostly
            index = np.broadcast_to(np.arange(index.shape[axis]).reshape([-1 if d == axis % rank else 1 for d in range(rank)]), index.shape).copy()
        return f"aten.{name}", (x, axis, index, *rest), 1
    if name in ("index.Tensor", "index_put"):
        index = [None] * (axis % rank) + [positions(-length, *shape(rng, 1, 2))]
        if name == "index.Tensor":
            return "aten.index.Tensor", (x, index), 1
        return "aten.index_put", (x, index, array(rng, (), of, special=False), bool(rng.integers(2))), 1
    if name == "nonzero":
        return "aten.nonzero", (x,), 1
    if name == "masked_fill":
        return "aten.masked_fill.Scalar", (x, rng.random(sizes) < 0.5, 1), 1
    first = int(rng.integers(rank))
    mask = laid_out(rng, rng.random(sizes[first : first + 1 + int(rng.integers(rank - first))]) < pick(rng, (0.0, 0.5, 1.0)))
    if name == "mask":
        return "aten.index.Tensor", (x, [*[None] * first, mask]), 1
    return "aten.index_put", (x, [*[None] * first, mask], array(rng, (), of, special=False), bool(rng.integers(2))), 1


def _pointwise(rng: Rng) -> Call:
    name = pick(rng, list(OPS))
    op = OPS[name]
    sizes, kind = shape(rng), dtype(rng)
    tensors = []
    for position in range(op.tensors):
        of = kind if rng.random() < 0.5 else dtype(rng)
        own = tuple(1 if rng.random() < 0.2 else s for s in sizes[int(rng.integers(len(sizes) + 1)) if rng.random() < 0.3 else 0 :])
        pool = values(of, op.plain, op.moderate)
        if position == 1 and not of.is_float and of.name != "bool" and (op.small or op.nonzero):
            pool = np.arange(0 if op.small else 1, 7).astype(of.numpy)
        tensors.append(laid_out(rng, np.asarray(rng.choice(pool, own)).astype(of.numpy)))
    numbers = [rest for rest in op.rest if not any(value is True for value in rest[:1])]  # the torch dialect has no bool for a number
    return name, (*tensors, *pick(rng, numbers)), 1


_FAMILIES = (_pointwise, _pointwise, _reduction, _reduction, _view, _view, _index, _joined)


def draw(rng: Rng) -> Call:
    return pick(rng, _FAMILIES)(rng)


def draw_from_memory(rng: Rng) -> Call:
    """As `draw`, but of ops that reduce, move or look at elements."""
    return pick(rng, _FAMILIES[2:])(rng)
