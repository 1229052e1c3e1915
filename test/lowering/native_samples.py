"""Operands for one call of every op that has native code; several where an op has several ways to go.

`SAMPLES`: (op, operands, results). Results: how many tensors, "list:N" for a list of N, "int", "float" or "bool" for a number.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tierup.dialect import optable
from tierup.dialect.base import dtypes

Sample = tuple[str, tuple[Any, ...], "int | str"]
_random = np.random.default_rng(0)

from tierup.dialect.ops.scalars.libm import LIBM

SAMPLES: list[Sample] = []


def add(op: str, *operands: Any, results: int | str = 1) -> None:
    SAMPLES.append((op, operands, results))


def f32(*shape: int) -> np.ndarray:
    return np.asarray(_random.standard_normal(shape)).astype(np.float32)


def positive(*shape: int) -> np.ndarray:
    return np.asarray(_random.random(shape) * 0.9 + 0.05).astype(np.float32)


def ints(*shape: int, low: int = -7, high: int = 8, dtype: Any = np.int64) -> np.ndarray:
    return np.asarray(_random.integers(low, high, shape)).astype(dtype)


def bools(*shape: int) -> np.ndarray:
    return np.asarray(_random.integers(0, 2, shape)).astype(np.bool_)


x, y = f32(3, 4), f32(3, 4)

# --- pointwise

for name in (
    "tanh exp exp2 expm1 sin cos tan sigmoid relu neg abs sign floor ceil round trunc square erf erfc silu atan asinh sinh cosh relu6 hardswish "
    "hardsigmoid mish sgn isnan isinf isfinite isposinf isneginf signbit log_sigmoid selu frac deg2rad rad2deg fix absolute"
).split():
    add(f"aten.{name}", x)
for name in "log log2 log10 log1p sqrt rsqrt reciprocal asin acos atanh lgamma digamma erfinv".split():
    add(f"aten.{name}", positive(3, 4))
add("tierup.trigamma", positive(3, 4))
add("tierup.radians", x)
add("tierup.degrees", x)
add("aten.acosh", positive(3, 4) + 1)
add("aten.special_expm1", x)
add("aten.logit", positive(3, 4), None)
add("aten.logit", positive(3, 4), 0.2)
add("aten.round.decimals", x, 1)
add("aten.gelu", x, "none")
add("aten.gelu", x, "tanh")
add("aten.leaky_relu", x, 0.1)
add("aten.elu", x, 1.0, 1.0, 1.0)
add("aten.celu", x, 1.5)
add("aten.softplus", x, 1.0, 20.0)
add("aten.hardtanh", x, -0.5, 0.5)
add("aten.hardshrink", x, 0.5)
add("aten.softshrink", x, 0.5)
add("aten.threshold", x, 0.1, 2.0)
add("aten.prelu", x, f32(4))
for name in ("add", "sub"):
    add(f"aten.{name}.Tensor", x, y, 1)
    add(f"aten.{name}.Tensor", ints(3, 4), ints(4), 3)
    add(f"aten.{name}.Scalar", x, 2.5, 2)
add("aten.rsub.Scalar", x, 2.0, 1)
add("aten.mul.Tensor", x, y)
add("aten.mul.Scalar", x, 2.0)
add("aten.div.Tensor", x, y)
add("aten.div.Tensor", ints(3, 4), ints(3, 4, low=1))
add("aten.div.Scalar", x, 2.0)
for mode in ("floor", "trunc"):
    add("aten.div.Tensor_mode", x, y, mode)
    add("aten.div.Tensor_mode", ints(3, 4), ints(3, 4, low=1), mode)
    add("aten.div.Scalar_mode", x, 2.0, mode)
for a, c in ((x, y), (ints(3, 4), ints(3, 4, low=1))):
    add("aten.floor_divide", a, c)
    add("aten.remainder.Tensor", a, c)
    add("aten.fmod.Tensor", a, c)
add("aten.floor_divide.Scalar", x, 2.0)
add("aten.remainder.Scalar", x, 0.7)
add("aten.fmod.Scalar", ints(3, 4), -3)
add("aten.pow.Tensor_Tensor", positive(3, 4), y)
add("aten.pow.Tensor_Tensor", ints(3, 4), ints(3, 4, low=-2, high=4))
for exponent in (2, 3.0, 0.5, 1.7):
    add("aten.pow.Tensor_Scalar", positive(3, 4), exponent)
add("aten.pow.Tensor_Scalar", ints(3, 4), 5)
add("aten.pow.Scalar", 2.0, x)
for name in ("maximum", "minimum", "fmax", "fmin", "atan2", "hypot", "logaddexp", "logaddexp2"):
    add(f"aten.{name}", x, y)
add("aten.copysign.Tensor", x, y)
add("aten.heaviside", ints(3, 4), ints(3, 4))
add("tierup.gcd", ints(3, 4), ints(3, 4))
add("tierup.lcm", ints(3, 4, dtype=np.int8), ints(3, 4, low=-99, high=99, dtype=np.int8))
add("tierup.cbrt", f32(3, 4))
add("aten.xlogy.Tensor", positive(3, 4), positive(3, 4))
add("aten.clamp", x, -0.5, 0.5)
add("aten.clamp", x, None, 0.5)
add("aten.clamp.Tensor", x, f32(3, 4) - 1, f32(4) + 1)
add("aten.clamp_min", x, 0.0)
add("aten.clamp_min.Tensor", x, y)
add("aten.clamp_max", x, 0.0)
add("aten.clamp_max.Tensor", x, y)
add("aten.lerp.Scalar", x, y, 0.25)
add("aten.lerp.Tensor", x, y, positive(3, 4))
add("aten.addcmul", x, y, f32(4), 0.5)
add("aten.addcdiv", x, y, positive(4), 0.5)
add("aten.where.self", bools(3, 4), x, y)
add("aten.where.ScalarOther", bools(3, 4), x, 1.0)
add("aten.where.ScalarSelf", bools(3, 4), 1.0, x)
add("aten.where.Scalar", bools(3, 4), 1.0, 2.0)
add("aten.masked_fill.Scalar", x, bools(3, 4), 1.5)
add("aten.masked_fill.Tensor", x, bools(3, 4), np.array(2, np.float32))
add("aten.fill.Scalar", x, 2.5)
add("aten.fill.Tensor", x, np.array(2, np.int32))
add("aten.nan_to_num", np.array([np.nan, np.inf, -np.inf, 1], np.float32), 0.5, None, 2.0)
for name in ("eq", "ne", "lt", "le", "gt", "ge"):
    add(f"aten.{name}.Tensor", ints(3, 4, low=0, high=3), ints(3, 4, low=0, high=3))
    add(f"aten.{name}.Scalar", x, 0.1)
for name in ("logical_and", "logical_or", "logical_xor"):
    add(f"aten.{name}", x, ints(3, 4, low=0, high=2))
add("aten.logical_not", x)
add("aten.isclose", x, x + np.float32(1e-6), 1e-5, 1e-8, False)
for name in ("bitwise_and.Tensor", "bitwise_or.Tensor", "bitwise_xor.Tensor", "__and__.Tensor", "__or__.Tensor", "__xor__.Tensor"):
    add(f"aten.{name}", ints(3, 4), ints(3, 4))
    add(f"aten.{name}", bools(3, 4), bools(3, 4))
for name in ("bitwise_and.Scalar", "bitwise_or.Scalar", "bitwise_xor.Scalar", "__and__.Scalar", "__or__.Scalar", "__xor__.Scalar"):
    add(f"aten.{name}", ints(3, 4), 5)
add("aten.bitwise_not", ints(3, 4))
add("aten.bitwise_not", bools(3, 4))
for name in ("left", "right"):
    add(f"aten.bitwise_{name}_shift.Tensor", ints(3, 4), ints(3, 4, low=-1, high=66))
    add(f"aten.__{name[0]}shift__.Scalar", ints(3, 4), 2)

# --- conversions and factories

for dtype in dtypes.ALL:
    add("aten.to.dtype", x * 3, dtype.code, False, False, None)
    add("aten.to.dtype", np.abs(x * 30).astype(np.uint8), dtype.code, False, False, None)
add("aten.type_as", x, ints(2))
add("aten.to.other", x, ints(2), False, False, None)
add("aten.clone", x, None)
add("aten._to_copy", x, 7, None, None, None, False, None)
add("prims.convert_element_type", x, 7)
for name in ("zeros", "ones", "empty.memory_format"):
    add(f"aten.{name}", [2, 3], 6, None, None, None, *([None] if name.startswith("empty") else []))
add("aten.full", [2, 3], 1.5, None, None, None, None)
for name in ("zeros_like", "ones_like", "empty_like"):
    add(f"aten.{name}", x, None, None, None, None, None)
add("aten.full_like", x, 2.0, None, None, None, None, None)
for name in ("new_zeros", "new_ones"):
    add(f"aten.{name}", x, [2], None, None, None, None)
add("aten.new_empty", x, [2], None, None, None, None)
add("aten.new_full", x, [2], 3.0, None, None, None, None)
add("aten.arange", 5, None, None, None, None)
add("aten.arange.start", 2, 7, None, None, None, None)
add("aten.arange.start_step", 0.0, 1.0, 0.3, None, None, None, None)
add("aten.arange.start_step", 9, 2, -3, None, None, None, None)
add("aten.linspace", 0.0, 1.0, 5, None, None, None, None)
add("aten.eye", 3, None, None, None, None)
add("aten.eye.m", 3, 4, None, None, None, None)
add("aten.scalar_tensor", 1.5, None, None, None, None)

# --- reductions and normalisations

for name in ("sum", "prod", "mean"):
    add(f"aten.{name}", x, None)
for name in ("any", "all", "max", "min", "trace"):
    add(f"aten.{name}", x)
for name in ("var", "std"):
    add(f"aten.{name}", x, True)
for name in ("argmax", "argmin"):
    add(f"aten.{name}", x, None, False)
add("aten.sum", ints(3, 4, dtype=np.int32), None)
add("aten.sum", bools(3, 4), None)
gaps = np.array([[3, np.nan, 1, 3, -np.inf], [0.0, -0.0, np.nan, np.nan, np.inf]], np.float32)
for largest in (False, True):
    for k, dim in ((0, 1), (1, 1), (3, -1), (5, 1), (2, 0)):
        add("aten.topk", gaps, k, dim, largest, True, results=2)
    add("aten.topk", ints(40, 3, dtype=np.uint8), 17, 0, largest, True, results=2)
for keep in (False, True):
    add("aten.sum.dim_IntList", f32(2, 3, 4), [0, 2], keep, None)
    add("aten.mean.dim", x, [-1], keep, None)
    add("aten.amax", f32(2, 3, 4), [0, 2], keep)
    add("aten.amin", x, [0], keep)
    add("aten.prod.dim_int", x, 1, keep, None)
    add("aten.max.dim", x, 1, keep, results=2)
    add("aten.min.dim", x, 0, keep, results=2)
    add("aten.aminmax", x, 1, keep, results=2)
    add("aten.argmax", x, 1, keep)
    add("aten.argmin", x, 0, keep)
    add("aten.any.dim", bools(3, 4), 1, keep)
    add("aten.all.dim", bools(3, 4), 1, keep)
    add("aten.any.dims", bools(3, 4), [0, 1], keep)
    add("aten.var.dim", x, [1], True, keep)
    add("aten.var.correction", x, [1], 0, keep)
    add("aten.std.dim", x, [1], True, keep)
    add("aten.std.correction", x, [0], 1, keep)
    add("aten.var_mean.dim", x, [1], True, keep, results=2)
    add("aten.var_mean.correction", x, [1], 1, keep, results=2)
    add("aten.logsumexp", x, [1], keep)
    for order in (2, 1, 0, math.inf, -math.inf, 3.0):
        add("aten.linalg_vector_norm", x, order, [1], keep, None)
    add("aten.norm.ScalarOpt_dim", x, 2, [1], keep)
    add("aten.frobenius_norm.dim", x, [0, 1], keep)
add("aten.var_mean", x, True, results=2)
add("aten.norm.Scalar", x, 2)
add("aten.cumsum", x, 1, None)
add("aten.cumprod", x, 0, None)
add("aten.logcumsumexp", x, 1)
add("aten.count_nonzero", x, None)
add("aten.count_nonzero.dim_IntList", x, [1])
add("aten.softmax.int", x, -1, None)
add("aten._softmax", x, 0, False)
add("aten.log_softmax.int", x, 1, None)
add("aten._log_softmax", x, 0, False)
add("aten.layer_norm", x, [4], f32(4), f32(4), 1e-5, False)
add("aten.native_layer_norm", f32(2, 3, 4), [3, 4], f32(3, 4), None, 1e-5, results=3)
add("aten.rms_norm", x, [4], f32(4), None)
images, channels = f32(2, 4, 3, 3), f32(4)
add("aten.batch_norm", images, channels, channels, channels, positive(4), False, 0.1, 1e-5, False)
add("aten.batch_norm", images, channels, channels, None, None, True, 0.1, 1e-5, False)
add("aten.native_batch_norm", images, channels, None, None, None, True, 0.1, 1e-5, results=3)
add("aten.group_norm", images, 2, channels, channels, 1e-5, False)
add("aten.native_group_norm", images, channels, channels, 2, 4, 9, 2, 1e-5, results=3)

# --- products

add("aten.mm", f32(3, 4), f32(4, 5))
add("aten.mm", f32(30, 20), f32(20, 40))
add("aten.mm", ints(3, 4), ints(4, 5))
add("aten.mm", f32(3, 4).astype(np.float16), f32(4, 5).astype(np.float16))
add("aten.bmm", f32(2, 3, 4), f32(2, 4, 5))
for a, c in (((4,), (4,)), ((4,), (4, 5)), ((3, 4), (4,)), ((2, 3, 4), (4, 5)), ((6, 2, 3, 4), (2, 4, 5)), ((2, 30, 20), (2, 20, 30))):
    add("aten.matmul", f32(*a), f32(*c))
add("aten.addmm", f32(5), f32(3, 4), f32(4, 5), 0.5, 2.0)
add("aten.addmm", f32(3, 5), f32(3, 4), f32(4, 5), 0, 1)
add("aten.baddbmm", f32(2, 3, 5), f32(2, 3, 4), f32(2, 4, 5), 1, 1)
add("aten.linear", f32(3, 4), f32(5, 4), f32(5))
add("aten.linear", f32(2, 30, 40), f32(20, 40), None)
add("aten.mv", f32(3, 4), f32(4))
add("aten.dot", f32(4), f32(4))
add("aten.outer", f32(3), f32(4))

# --- movement and views: of an argument, so that the result is a view where it is one

add("aten.cat", [f32(2, 3), f32(4, 3)], 0)
add("aten.cat", [f32(2, 3), ints(2, 4)], -1)
add("aten.stack", [f32(2, 3), f32(2, 3)], 1)
add("aten.hstack", [f32(2, 3), f32(2, 4)])
add("aten.column_stack", [f32(2), f32(2, 4)])
add("aten.repeat", x, [2, 1])
add("aten.tile", x, [2])
add("aten.repeat_interleave.self_int", x, 2, 0, None)
add("aten.repeat_interleave.self_int", x, 0, 0, None)
add("aten.roll", x, [1, -2], [0, 1])
add("aten.flip", x, [0, 1])
add("aten.constant_pad_nd", x, [1, 2], 0.5)
add("aten.pad", x, [1, 1, 0, 2], "constant", 0.0)
add("aten.tril", x, 0)
add("aten.triu", x, 1)
add("aten.diag_embed", f32(4), 1, -2, -1)
add("aten.diagonal_scatter", x, f32(3), 0, 0, 1)
add("aten.diagonal_scatter", f32(3, 4, 5), f32(3, 3), -1, 1, -1)
add("aten.slice_scatter", x, f32(1, 4), 0, 1, 2, 1)
add("aten.select_scatter", x, f32(4), 0, 1)
for name, rest in (
    ("view", ([4, 3],)), ("reshape", ([-1, 2],)), ("_unsafe_view", ([12],)), ("flatten.using_ints", (0, -1)), ("unflatten.int", (1, [2, 2])),
    ("transpose.int", (0, 1)), ("t", ()), ("numpy_T", ()), ("permute", ([1, 0],)), ("movedim.int", (0, 1)), ("expand", ([2, 3, 4], False)),
    ("broadcast_to", ([2, 3, 4],)), ("unsqueeze", (1,)), ("select.int", (0, -1)), ("slice.Tensor", (1, 1, None, 2)), ("slice.Tensor", (0, -2, 9, 1)),
    ("narrow", (0, 1, 2)), ("diagonal", (1, 0, 1)), ("unfold", (1, 2, 1)), ("detach", ()), ("alias", ()),
    ("view_copy", ([4, 3],)), ("expand_copy", ([2, 3, 4], False)), ("permute_copy", ([1, 0],)), ("transpose_copy.int", (0, 1)), ("t_copy", ()),
    ("select_copy.int", (0, -1)), ("slice_copy.Tensor", (1, 1, None, 2)), ("unsqueeze_copy", (1,)), ("diagonal_copy", (0, 0, 1)), ("unfold_copy", (1, 2, 1)),
):  # fmt: skip
    add(f"aten.{name}", x, *rest)
add("aten.expand_as", f32(1, 4), x)
add("aten.reshape_as", x, f32(4, 3))
for name in ("squeeze", "squeeze.dim", "squeeze_copy", "squeeze_copy.dim"):
    add(f"aten.{name}", f32(3, 1, 4), *([1] if name.endswith("dim") else []))
add("aten.unbind.int", x, 0, results="list:3")
add("aten.split.Tensor", x, 2, 0, results="list:2")
add("aten.split_with_sizes", x, [1, 3], 1, results="list:2")
add("aten.chunk", x, 2, 1, results="list:2")

# --- indexing

add("aten.index_select", x, 1, ints(5, low=0, high=4))
add("aten.gather", x, 1, ints(3, 2, low=0, high=4), False)
add("aten.embedding", f32(6, 4), ints(2, 3, low=0, high=6, dtype=np.int32), -1, False, False)
add("aten.scatter.src", x, 1, np.array([[0, 2], [1, 3], [3, 0]]), f32(3, 2))
add("aten.scatter.value", x, 1, np.array([[0, 2], [1, 3], [3, 0]]), 1.5)
add("aten.scatter_add", x, 1, ints(3, 2, low=0, high=4), f32(3, 2))
add("aten.scatter_reduce.two", x, 1, ints(3, 4, low=0, high=4), f32(3, 4), "mean", False)
add("aten.scatter_reduce.two", x, 0, ints(3, 4, low=0, high=3), f32(3, 4), "amax", False)
add("aten.scatter_reduce.two", ints(5), 0, np.array([3, 3, 1]), np.array([7, -8, 2]), "mean", True)
add("aten.scatter_reduce.two", x, 0, ints(3, 4, low=0, high=3), f32(3, 4), "prod", True)
add("aten.index.Tensor", x, [ints(5, low=-3, high=3)])
add("aten.index.Tensor", x, [None, ints(5, low=-4, high=4)])
add("aten.index.Tensor", f32(3, 4, 5), [ints(2, 1, low=-3, high=3), None, ints(6, low=-5, high=5)])
add("aten.index_put", x, [np.array([0, 2])], f32(2, 4), False)
add("aten.index_put", x, [np.array([0, 2, 0])], f32(3, 4), True)

add("aten.index.Tensor", x, [bools(3, 4)])
add("aten.index.Tensor", x, [None, bools(4)])
add("aten.index.Tensor", f32(3, 4, 5), [None, bools(4, 5)])
add("aten.index.Tensor", f32(3, 4, 5), [np.zeros((3, 4), np.bool_)])
add("aten.index.Tensor", x, [np.array([0, 2, 1], np.uint8)])
add("aten.index_put", x, [bools(3, 4)], np.array(2, np.float32), False)
add("aten.index_put", x, [bools(3)], f32(4), True)
add("aten.index_put", f32(3, 4, 5), [None, bools(4)], f32(3, 1, 5), False)
add("aten.index_put", x, [np.array([True, False, True])], f32(2, 4), False)
add("aten.index_put", x, [np.array([True, False, True])], f32(2, 1), True)
add("aten.index_put", f32(3, 4, 5), [None, np.array([False, True, True, False])], f32(2, 1), False)
add("aten.index_put", x, [np.eye(3, 4) > 0], f32(3), True)
add("aten.index_put", x, [np.zeros((3, 4), np.bool_)], f32(0), True)
add("aten.masked_select", x, bools(3, 4))
add("aten.nonzero", ints(3, 4, low=-1, high=2))
add("aten.nonzero", bools(9))

# --- vectors as matrices, too large for loops

for a, c in (((1, 200), (200, 60)), ((60, 200), (200, 1)), ((200,), (200, 60)), ((60, 200), (200,)), ((1, 9000), (9000, 1))):
    left, right = (ints(*s, dtype=np.float32) for s in (a, c))  # exact sums
    add("aten.matmul", left, right)
    add("aten.matmul", left.astype(np.float64), right.astype(np.float64))
    if len(a) == len(c) == 2:
        add("aten.linear", left, right.T.copy(), None)
        add("aten.linear", left, np.asfortranarray(right.T), None)
        add("aten.mm", np.asfortranarray(left), right)
        add("aten.mm", right.T, left.T)
add("aten.bmm", ints(3, 1, 200, dtype=np.float32), ints(3, 200, 60, dtype=np.float32))

# --- convolutions

for spatial in (1, 2, 3):
    image, kernel = f32(2, 4, *(6, 5, 4)[:spatial]), (3, 2, 2)[:spatial]
    add(f"aten.conv{spatial}d", image, f32(6, 2, *kernel), f32(6), [2], [1], [1], 2)
    add(f"aten.conv{spatial}d", image[0], f32(3, 4, *kernel), None, [1], [0], [1], 1)
    add(f"aten.conv{spatial}d.padding", image, f32(3, 4, *(2,) * spatial), f32(3), [1], "same", [1], 1)
    add(f"aten.conv{spatial}d.padding", image, f32(3, 4, *kernel), None, [1], "valid", [1], 1)
    transposed = f"aten.conv_transpose{spatial}d{'' if spatial == 1 else '.input'}"
    add(transposed, image, f32(4, 2, *kernel), f32(4), [2], [1], [1], 2, [1])
    add(transposed, image[0], f32(4, 2, *kernel), None, [1], [0], [0], 1, [2])
image = f32(3, 4, 9, 8)
add("aten.convolution", image, f32(6, 4, 3, 2), f32(6), [1, 2], [1, 0], [2, 1], False, [0, 0], 1)
add("aten.convolution", image, f32(6, 4, 1, 1), f32(6), [1, 1], [0, 0], [1, 1], False, [0, 0], 1)  # the input is the columns
add("aten.convolution", image, f32(6, 4, 1, 1), None, [2, 2], [1, 1], [1, 1], False, [0, 0], 1)
add("aten.convolution", image, f32(4, 1, 3, 3), f32(4), [1, 2], [1, 1], [2, 1], False, [0, 0], 4)  # depthwise
add("aten.convolution", image, f32(5, 4, 8, 8), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)  # more places than positions
whole = [ints(*s, dtype=np.float32) for s in ((2, 8, 41, 33), (3, 8, 5, 5), (3,))]  # exact sums
add("aten.convolution", *whole, [1, 1], [2, 2], [1, 1], False, [0, 0], 1)  # in tiles, of 21 and 20 rows
add("aten.convolution", f32(20, 3, 7, 7), f32(4, 3, 3, 3), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)  # blocks of samples, the last smaller
add("aten.convolution", f32(20, 3, 6, 6), f32(3, 4, 3, 3), f32(4), [2, 1], [1, 1], [1, 1], True, [1, 0], 1)
add("aten.convolution", image.astype(np.float64), np.asarray(f32(6, 4, 3, 2), np.float64), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
add("aten.convolution", ints(2, 3, 5, 5), ints(4, 3, 2, 2), ints(4), [1, 1], [1, 1], [1, 1], False, [0, 0], 1)
add("aten.convolution", image.astype(np.float16), f32(6, 4, 3, 2).astype(np.float16), None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
add("aten.convolution", f32(0, 4, 9, 8), f32(6, 4, 3, 2), f32(6), [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
add("aten.convolution", f32(2, 0, 9, 8), f32(6, 0, 3, 2), f32(6), [1, 1], [0, 0], [1, 1], False, [0, 0], 1)
add("aten.convolution", f32(2, 4, 5, 6), f32(4, 1, 3, 2), f32(4), [2, 1], [1, 1], [1, 2], True, [1, 0], 4)  # its transpose
add("aten.convolution", f32(2, 12, 6, 5), f32(4, 3, 4, 3), None, [1, 1], [1, 0], [1, 2], False, [0, 0], 4)  # one row of weights for each group
add("aten._convolution", image, f32(6, 4, 3, 2), f32(6), [1, 1], [1, 0], [1, 1], False, [0, 0], 1, False, False, True, True)

# --- pooling

for spatial in (1, 2, 3):
    image = positive(2, 3, *(7, 8, 5)[-spatial:])
    for name, results in ((f"max_pool{spatial}d", 1), (f"max_pool{spatial}d_with_indices", 2)):
        add(f"aten.{name}", image, [2], [], [0], [1], False, results=results)
        add(f"aten.{name}", image, [3], [2], [1], [1], True, results=results)
        add(f"aten.{name}", image[0], [2], [1], [1], [2], False, results=results)
    divisors = [()] if spatial == 1 else [(None,), (-3,)]
    for divisor in divisors:
        add(f"aten.avg_pool{spatial}d", image, [2], [], [0], False, True, *divisor)
        add(f"aten.avg_pool{spatial}d", image, [3], [2], [1], True, False, *divisor)
        add(f"aten.avg_pool{spatial}d", image[0], [3], [2], [1], True, True, *divisor)
    for asked in ([1] * spatial, [3, 2, 4][:spatial], [9, 9, 2][:spatial]):
        add(f"aten.adaptive_avg_pool{spatial}d", image, asked)
        add(f"aten.adaptive_max_pool{spatial}d", image[1], asked, results=2)
    if spatial > 1:
        add(f"aten._adaptive_avg_pool{spatial}d", image, [2] * spatial)
        pooled = (4, 4, 3)[-spatial:]
        add(f"aten.avg_pool{spatial}d_backward", f32(2, 3, *pooled), image, [3], [2], [1], False, True, None)
        add(f"aten.avg_pool{spatial}d_backward", f32(2, 3, *pooled), image, [3], [2], [1], False, False, 2)
image = f32(2, 3, 9, 8)
holes = np.where(f32(2, 3, 9, 8) > 1, np.float32(np.nan), image)
for name, results in (("max_pool2d", 1), ("max_pool2d_with_indices", 2)):
    add(f"aten.{name}", holes, [3, 2], [1, 2], [1, 0], [1, 2], True, results=results)
    add(f"aten.{name}", ints(2, 3, 9, 8), [3], [2], [1], [1], False, results=results)
    add(f"aten.{name}", np.full((1, 4, 4), -np.inf, np.float32), [2], [2], [1], [2], True, results=results)
    add(f"aten.{name}", image, [8, 6], [1], [2], [1], False, results=results)  # a window too large to unroll
    add(f"aten.{name}", image.astype(np.float16), [2], [2], [0], [1], False, results=results)
add("aten.adaptive_max_pool2d", holes, [4, 3], results=2)
add("aten.avg_pool2d", image, [8, 6], [1], [2], True, False, None)
add("aten.avg_pool2d", ints(2, 3, 9, 8), [2], [2], [1], True, False, None)
add("aten.avg_pool2d", image.astype(np.float16), [3], [2], [0], False, True, None)
add("aten.avg_pool2d", f32(0, 3, 9, 8), [3], [2], [0], False, True, None)
add("aten.avg_pool2d_backward", f32(2, 3, 5, 5), image, [2], [2], [1], True, False, None)
add("aten.avg_pool2d_backward", f32(2, 3, 1, 2), image, [9, 7], [1], [0], False, True, None)  # fewer positions than places
add("aten.avg_pool2d_backward", ints(2, 3, 4, 4), ints(2, 3, 9, 8), [2], [2], [0], False, True, None)
for asked in ((1, 1), (4, 3), (11, 8)):
    add("aten._adaptive_avg_pool2d_backward", f32(2, 3, *asked), image)
add("aten.adaptive_avg_pool2d", f32(0, 3, 4, 4), [2, 2])
add("aten.adaptive_avg_pool2d", image, [0, 2])
for _shape in ((2, 3, 0, 4), (0, 3, 4, 4), (3, 4), (1, 1, 2, 3, 4)):  # an average of all there is
    add("aten.adaptive_avg_pool2d", f32(*_shape), [1, 1])
add("aten.adaptive_max_pool2d", f32(0, 3, 4), [2, 1], results=2)
for factors in ([2.0, 3.0], [1.0, 2.0], [1.5, 0.7]):
    add("aten.upsample_nearest2d.vec", image, None, factors)
add("aten.upsample_nearest2d", f32(0, 3, 9, 8), [4, 4], None, None)
for asked, scales in (([18, 16], (None, None)), ([9, 5], (None, None)), ([20, 12], (2.3, 1.5)), ([1, 8], (None, None))):
    add("aten.upsample_nearest2d", image, asked, *scales)
    add("aten.upsample_nearest2d.vec", image, asked, None)
    add("aten.upsample_nearest2d_backward", f32(2, 3, *asked), asked, [2, 3, 9, 8], *scales)

# --- numbers

add("aten.Int.Tensor", np.array(3), results="int")
add("aten.Float.Tensor", np.array(3.5), results="float")
add("aten.Bool.Tensor", np.array(True), results="bool")
add("aten.item", np.array(3.5), results="float")
add("aten.size.int", x, 0, results="int")
add("aten.dim", x, results="int")
add("aten.numel", x, results="int")
add("aten.len.Tensor", x, results="int")
for name, a, c, kind in (
    ("add.int", 3, 4, "int"), ("sub.int", 3, 4, "int"), ("mul.int", 1 << 62, 4, "int"), ("floordiv.int", -7, 2, "int"), ("remainder.int", -7, 2, "int"),
    ("div.int", 7, 2, "float"), ("add.float", 0.5, 4.0, "float"), ("mul.float", 0.5, 4.0, "float"), ("div.float", 1.0, 0.0, "float"),
    ("lt.int", 3, 4, "bool"), ("lt.float", 3.0, 4.0, "bool"), ("ge.float_int", 3.0, 4, "bool"), ("eq.int", 4, 4, "bool"), ("ne.int", 4, 4, "bool"),
    ("pow.int_float", 2, 0.5, "float"),
):  # fmt: skip
    add(f"aten.{name}", a, c, results=kind)
most = (1 << 63) - 1
for name, a, c in (("and", 12, -6), ("or", 12, -6), ("xor", 12, -6), ("lshift", 3, 62), ("lshift", 3, 64), ("rshift", -9, 2), ("rshift", -9, 70)):
    add(f"aten.__{name}__.int", a, c, results="int")
for name, a, c in (
    ("add", most, 0), ("add", most, 1), ("add", -most, -2), ("sub", -most, 1), ("sub", -most, 2), ("sub", 0, -most - 1), ("mul", 1 << 31, 1 << 31),
    ("mul", 1 << 32, 1 << 31), ("mul", -1 - most, -1), ("lshift", 1, 62), ("lshift", 1, 63), ("lshift", 0, 99),
):  # fmt: skip
    add(f"tierup.{name}_fits", a, c, results="bool")
for position, count in ((3, 7), (0, 1), (6, 7), (-2, 7), (9, 7), (4, 0)):
    add("tierup.within", position, count, results="int")
add("prim.max.int", 3, 4, results="int")
add("prim.min.int", 3, 4, results="int")
for libm in LIBM.values():
    for number in (1.0, -0.5, 1.75, 30.5):
        if libm.surely is None or libm.surely[0] <= number <= libm.surely[1]:
            other = [3] if "n" in libm.op.operands else [1.5]
            add(libm.op.name, number, *(other if len(libm.op.operands) == 2 else []), results="float")
for number in (1.0, -0.75, 0.0, 5e-324, 1e300, float("inf"), float("nan")):
    add("tierup.math_exponent", number, results="int")
for count in (0, 1, 8, 9, 3037000499**2 - 1, 3037000499**2, 2**63 - 1):
    add("tierup.math_isqrt", count, results="int")
for name, value, kind in (("neg.int", 3, "int"), ("ceil.float", 2.5, "int"), ("Int.float", -2.5, "int"), ("Bool.int", 3, "bool"), ("sqrt.int", 9, "float"),
                          ("log.int", 9, "float"), ("Int.bool", True, "int"), ("__not__", True, "bool"), ("neg.float", 2.0, "float"),
                          ("sqrt.float", 2.25, "float"), ("sqrt.float", -0.0, "float"), ("sqrt.float", -1.0, "float"),
                          ("log.float", 0.5, "float"), ("log.float", 0.0, "float"), ("log.float", -2.0, "float"), ("log.float", float("nan"), "float")):  # fmt: skip
    add(f"aten.{name}", value, results=kind)
KINDS = {"int": (2, -3), "float": (0.75, -1.5)}  # by the ends of overloads' names; of two operands both end so, or each in its own way
for name, kinds, results in (
    *((f"aten.{f}", (k,), "float") for k in KINDS for f in (
        "acos", "asin", "atan", "cos", "sin", "tan", "cosh", "sinh", "tanh", "acosh", "asinh", "atanh", "exp", "expm1", "log1p", "log10", "erf", "erfc",
        "fabs", "degrees", "radians",
    )),
    *((f"aten.{f}", k, "float") for k in (("int",), ("float",), ("int", "float"), ("float", "int")) for f in ("atan2", "fmod", "copysign")),
    ("aten.pow", ("int",), "float"), ("aten.pow", ("float",), "float"), ("aten.pow", ("float", "int"), "float"),
    ("aten.ceil", ("int",), "int"), ("aten.floor", ("int",), "int"), ("aten.floor", ("float",), "int"),
    *((f"aten.{f}", ("float",), "bool") for f in ("isnan", "isinf", "isfinite")),
    *((f"prim.{f}", ("float",), "float") for f in ("abs", "max", "min")), ("prim.abs", ("int",), "int"),
):  # fmt: skip
    two = len(kinds) == 2 or name.split(".")[1] in ("atan2", "fmod", "copysign", "pow", "max", "min")
    for n in range(2):
        operands = [KINDS[k][n] for k in kinds] if len(kinds) == 2 or not two else [KINDS[kinds[0]][n], KINDS[kinds[0]][1 - n]]
        add(f"{name}.{'_'.join(kinds)}", *operands, results=results)
add("aten.__range_length", 2, 11, 3, results="int")
add("aten.__range_length", 11, 2, -3, results="int")
add("aten.__derive_index", 2, 5, 3, results="int")

# --- what is known when compiling, and the rarer ones

add("prim.dtype", x, results="int")
add("aten.is_floating_point", x, results="bool")
for name, a, c in (("eq.str", "mean", "sum"), ("ne.str", "mean", "sum"), ("eq.int_list", [1, 2], [1, 2]), ("ne.int_list", [1], [2])):
    add(f"aten.{name}", a, c, results="bool")
add("aten.__is__", None, None, results="bool")
add("aten.__isnot__", 3, None, results="bool")
add("aten.len.str", "mean", results="int")
add("aten.__contains__.int_list", [1, 2], 2, results="bool")
add("aten.__contains__.str_list", ["mean", "sum"], "max", results="bool")
add("aten.any.bool", [False, True], results="bool")
add("aten.all.bool", [False, True], results="bool")
add("aten.len.t", [1, 2, 3], results="int")
add("prims.view_of", x)
add("aten.zero", x)
add("aten.copy", x, ints(4), False)
add("aten.lift_fresh_copy", x)
add("aten.contiguous", x, 0)
add("aten.to.dtype_layout", x, 7, None, None, None, False, False, None)
add("aten._reshape_alias", x, [4, 3], [3, 1])
add("aten.atleast_1d", np.array(2.5, np.float32))
add("aten.atleast_2d", f32(3))
add("aten.diag", f32(3), 1)
add("aten.diag", x, 0)
add("aten._safe_softmax", np.array([[-np.inf, -np.inf], [0, 1]], np.float32), 1, None)
add("aten.tensor_split.sections", f32(5, 2), 3, 0, results="list:3")
add("aten.split.sizes", x, [1, 3], 1, results="list:2")
add("aten.index.Tensor_hacked_twin", x, [ints(5, low=-3, high=3)])
for name in ("index_put.hacked_twin", "_unsafe_index_put.hacked_twin"):
    add(f"aten.{name}", x, [np.array([0, 2])], f32(2, 4), False)
add("aten.tensor", [1.5, 2.5], None, None, False)
add("aten.tensor.int", 3, None, None, False)
add("aten.tensor.float", 3.5, None, None, False)
add("aten.tensor.bool", True, None, None, False)
for name, kind in (("IntImplicit", "int"), ("FloatImplicit", "float"), ("ScalarImplicit", "int")):
    add(f"aten.{name}", np.array(3), results=kind)
for name, a, c, kind in (
    ("add", 1, 2.5, "float"), ("sub", 3, 2, "int"), ("mul", 3, 2, "int"), ("div", 3, 2, "float"), ("add.float_int", 0.5, 2, "float"),
    ("sub.float", 0.5, 2.0, "float"), ("mul.int_float", 3, 0.5, "float"), ("mul.float_int", 0.5, 3, "float"), ("eq.float", 0.5, 0.5, "bool"),
    ("eq.bool", True, False, "bool"), ("ne.bool", True, False, "bool"), ("ne.float_int", 0.5, 1, "bool"), ("lt.float_int", 0.5, 1, "bool"),
    ("le.int", 3, 3, "bool"), ("gt.int", 3, 3, "bool"), ("gt.float", 3.0, 2.0, "bool"), ("gt.float_int", 3.0, 2, "bool"), ("ge.int", 3, 3, "bool"),
    ("ge.float", 3.0, 3.0, "bool"), ("__and__.bool", True, False, "bool"), ("__or__.bool", True, False, "bool"),
):  # fmt: skip
    add(f"aten.{name}", a, c, results=kind)
for name, value, kind in (("Int.Scalar", 2.5, "int"), ("Float.Scalar", 2, "float"), ("Bool.float", 0.5, "bool"), ("ceil.Scalar", 2.5, "int")):
    add(f"aten.{name}", value, results=kind)
add("prim.abs.Scalar", -3, results="int")
add("prim.max.self_int", [3, 5, 4], results="int")
add("prim.min.self_int", [3, 5, 4], results="int")

# --- NumPy's sorts

ZEROS = np.array([[0.0, -0.0, np.nan, 1, -np.inf, 0.0], [3, -0.0, 0.0, -0.0, np.inf, np.nan]])
for stable in (False, True):
    for name in ("sort", "argsort"):
        add(f"tierup.{name}", f32(3, 40), -1, stable)
        add(f"tierup.{name}", ints(5, 4, dtype=np.int16), 0, stable)
        add(f"tierup.{name}", ZEROS, 1, stable)
        add(f"tierup.{name}", bools(2, 3, 4), 1, stable)
        add(f"tierup.{name}", ZEROS.astype(np.float16).T, -2, stable)
        add(f"tierup.{name}", f32(0, 3), 1, stable)
add("tierup.partition", f32(3, 40), -1, [5, -3])
add("tierup.partition", ZEROS.astype(np.float16).T, 0, [1])
add("tierup.partition", ints(5, 4, dtype=np.uint8), -2, [2])
add("tierup.partition", bools(9), 0, [0])
add("tierup.partition", f32(0, 3), 1, [1])

# linear algebra: matrices far from singular, one of float32 and a stack of float64 whose matrices lie column by column
for a in (f32(4, 4) + 4 * np.eye(4, dtype=np.float32), (_random.standard_normal((2, 3, 3)) + 3 * np.eye(3)).swapaxes(1, 2)):
    of_dtype = _random.standard_normal((*a.shape[:-1], 2)).astype(a.dtype)
    positive_definite = a @ a.swapaxes(-1, -2)
    add("tierup.linalg_solve", a, of_dtype)
    add("tierup.linalg_solve", a, of_dtype.reshape(-1)[: a.shape[-1]].copy())
    for name in ("inv", "inv_or_nan", "det"):
        add(f"tierup.linalg_{name}", a)
    add("tierup.linalg_slogdet", a, results=2)
    for name in ("cholesky_lo", "cholesky_up", "eigvalsh_lo", "eigvalsh_up"):
        add(f"tierup.linalg_{name}", positive_definite)
    for name in ("eigh_lo", "eigh_up"):
        add(f"tierup.linalg_{name}", positive_definite, results=2)
    for rectangle in (a[..., 1:], a[..., 1:, :]):
        add("tierup.linalg_svd", rectangle)
        add("tierup.linalg_svd_s", rectangle, results=3)
        add("tierup.linalg_svd_f", rectangle, results=3)
        add("tierup.linalg_as_pinv", rectangle.swapaxes(-1, -2), rectangle)
        if a.dtype == np.float32:  # NumPy has none of these
            continue
        add("tierup.linalg_qr_r_raw", rectangle, results=2)
        factors, tau = optable.lookup("tierup.linalg_qr_r_raw").tier0(np.ascontiguousarray(rectangle))
        add("tierup.linalg_qr_reduced", factors, tau)
        sides = of_dtype[..., : rectangle.shape[-2], :]
        add("tierup.linalg_lstsq", rectangle, sides, np.asarray(1e-6, a.dtype), results=4)
add("tierup.linalg_qr_complete", *optable.lookup("tierup.linalg_qr_r_raw").tier0(np.ascontiguousarray(a[..., 1:])))
KEYS, BOUNDS = np.array([[0.5, np.nan, -np.inf], [3, -0.0, np.inf]]), np.array([-1, -0.0, 0.5, 0.5, 3, np.nan])
for right in (False, True):
    for bounds in (BOUNDS, BOUNDS.astype(np.float32), BOUNDS[:0], BOUNDS[::-1].copy(), np.arange(4)):
        add("aten.bucketize.Tensor", KEYS, bounds, right, right)
    add("aten.bucketize.Tensor", ints(3, 4), np.arange(-3, 4, dtype=np.int8), False, right)
add("tierup.bincount", ints(30, low=0), None, 0)
add("tierup.bincount", ints(30, low=0, dtype=np.uint8), f32(30), 20)
add("tierup.bincount", ints(0), None, 4)
for mode in range(3):
    add("tierup.correlate", f32(20), f32(13), mode)
    add("tierup.correlate", f32(4), ints(9), mode)
    add("tierup.correlate", ints(6, dtype=np.int8), ints(12, dtype=np.int8), mode)
add("tierup.running_maximum", KEYS, 1)
add("tierup.running_minimum", ints(3, 4), 0)
for points in (BOUNDS[:5], BOUNDS[:2], np.array([0.5, 0.5, 3.0, np.inf])):
    add("tierup.interp", KEYS, points, np.arange(len(points)) * 1.5, None, None)
    add("tierup.interp", KEYS, points, points, -1.0, 2.5)
PLACES = np.array([0, 3, 3, 1, 2], np.int64)
for name in ("add", "subtract", "fmax", "bitwise_xor"):
    of = ints(4, 60, dtype=np.int8) if name == "bitwise_xor" else f32(4, 60)
    add("tierup.reduceat", of, PLACES * 13, 1, name)
    add("tierup.reduceat", of.T, PLACES, -1, name)
    add("tierup.at", of, [PLACES - 2], of[:1] + of[2:3], name)
    add("tierup.at", of, [None, of[0] > 0], of[1:2, 0], name)
add("tierup.reduceat", (f32(40) * 9).astype(np.float16), PLACES[:0], 0, "multiply")
add("tierup.at", bools(6), [PLACES], bools(5), "logical_and")
