"""Attention over keys and values.

softmax(q k^T / sqrt(width)) v (Vaswani et al., 2017), as PyTorch's scaled_dot_product_attention computes it: a row in which everything is
masked gives zeros; what is of half width is computed in float32. Without dropout: a front end leaves that to PyTorch.
"""

from __future__ import annotations

import math

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import Kind, ShapeError
from tierup.dialect.optable.formulas.core import FLOAT, Ops, T, formula

_NAME = "scaled_dot_product_attention"


@formula(f"{_NAME}(query, key, value, attn_mask; dropout_p, is_causal, scale, enable_gqa)", kind=Kind.PRODUCT)
def scaled_dot_product_attention(
    o: Ops[T], q: T, k: T, v: T, mask: T | None = None,
    dropout: float = 0.0, causal: bool = False, scale: float | None = None, gqa: bool = False,
) -> T:  # fmt: skip
    """q: ... x rows x width, k: ... x places x width, v: ... x places x any. The mask is of bools, or is added to the scores.

    ValueError for ranks below 2 and sizes that do not fit, TypeError for integers, dtypes that differ, and dropout.
    """
    if dropout:
        raise TypeError(f"{_NAME}: dropout_p is {dropout}; only PyTorch drops")
    if mask is not None and causal:
        raise ShapeError(f"{_NAME}: Explicit attn_mask should not be set when is_causal=True")
    dtype = o.known(q).dtype
    if (dtype is not None and not dtype.is_float) or any(o.known(x).dtype not in (None, dtype) for x in (k, v) if dtype is not None):
        raise TypeError(f"{_NAME}: Expected query, key, and value to have the same floating dtype")
    if any(rank is not None and rank < 2 for rank in (o.known(x).rank for x in (q, k, v))):
        raise ShapeError(f"{_NAME}: Expected query, key, and value to all be at least 2 dimensional")
    if gqa:
        k, v = _repeated(o, k, q), _repeated(o, v, q)
    half = dtype in (dtypes.f16, dtypes.bf16)
    if half:
        q, k, v = (o.call("aten.to.dtype", x, dtypes.f32.code, False, False, None) for x in (q, k, v))
    scores = o.call("aten.matmul", _scaled(o, q, scale), o.call("aten.transpose.int", k, -2, -1))
    if causal:
        rows, places = (o.call("aten.arange", o.size(x, -2), None, None, None, None) for x in (q, k))
        seen = o.call("aten.le.Tensor", places, o.call("aten.unsqueeze", rows, 1))
        scores = o.where(seen, scores, -math.inf)
    if mask is None:
        weights = o.call("aten.softmax.int", scores, -1, None)
    else:
        scores = _masked(o, scores, mask, dtype)
        some = o.call("aten.any.dim", o.call("aten.ne.Scalar", scores, -math.inf), -1, True)
        weights = o.where(some, o.call("aten.softmax.int", o.where(some, scores, 0.0), -1, None), 0.0)
    found = o.call("aten.matmul", weights, v)
    return o.call("aten.to.dtype", found, dtype.code, False, False, None) if dtype is not None and half else found


def _scaled(o: Ops[T], q: T, scale: float | None) -> T:
    if scale is not None:
        return o.mul(q, scale)
    width = (o.known(q).shape or (None,))[-1]
    if isinstance(width, int):
        return o.mul(q, 1 / math.sqrt(width) if width else 0.0)
    return o.div(q, o.call("aten.sqrt.int", o.size(q, -1), type_=FLOAT))


def _masked(o: Ops[T], scores: T, mask: T, dtype: dtypes.DType | None) -> T:
    found = o.known(mask).dtype
    if found is None:
        raise o.unknown()
    if found is dtypes.bool_:
        return o.where(mask, scores, -math.inf)
    if dtype is not None and found not in (dtypes.f32, dtype):
        raise TypeError(f"{_NAME}: Expected attn_mask dtype to be bool or float or to match query dtype, but got {found}")
    return o.call("aten.type_as", o.add(scores, mask), scores)


def _repeated(o: Ops[T], x: T, q: T) -> T:
    """Each head of keys or values as often as there are heads of queries for it."""
    rank = o.rank(x)
    if rank < 3 or o.rank(q) < 3:
        raise ShapeError(f"{_NAME}: enable_gqa needs heads")
    heads, wanted = ((o.known(y).shape or ())[-3] for y in (x, q))
    if not isinstance(heads, int) or not isinstance(wanted, int):
        raise o.unknown()
    if heads == 0 or wanted % heads:
        raise ShapeError(f"{_NAME}: {wanted} heads of queries are no multiple of {heads} heads of keys")
    sizes = [-1] * (rank - 2) + [wanted // heads, -1, -1]
    spread = o.call("aten.expand", o.call("aten.unsqueeze", x, rank - 2), sizes, False)
    return o.call("aten.flatten.using_ints", spread, rank - 3, rank - 2)
