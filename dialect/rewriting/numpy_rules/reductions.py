"""Reductions, scans and products under NumPy's rules as torch ops with explicit dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import Category
from tierup.dialect.facts.values import Float, Int, List, NoneValue
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind, Op
from tierup.dialect.optable.rows import row_of
from tierup.dialect.rewriting.numpy_rules.pointwise import Rewrite
from tierup.dialect.rewriting.site import Keep, Site

_HALF = (dtypes.f16, dtypes.bf16)


def _refuse_half(site: Site) -> None:
    if site.dtype_of(site.operands[0]) in _HALF:
        raise Keep("NumPy accumulates float16 and bfloat16 in themselves")


def accumulating(at: int) -> Rewrite:
    """sum, prod, cumsum, ...: the dtype that NumPy accumulates in and gives, as operand `at`."""

    def rewrite(site: Site) -> list[ir.Value]:
        if not _adds_in_float(site):
            _refuse_half(site)
        return site.in_numpys_steps(_with_dtype(site, at))

    return rewrite


def accumulating_floats(site: Site) -> list[ir.Value]:
    """The operand in the dtype of the result, which NumPy rounds to at each step: of halves torch does not."""
    if site.dtype in _HALF:
        raise Keep("NumPy accumulates float16 and bfloat16 in themselves")
    return site.in_numpys_steps([site.cast(site.operands[0], site.dtype), *site.operands[1:]])


def _adds_in_float(site: Site) -> bool:
    """Whether NumPy keeps a sum or product of float16 in float32, as torch does: along the last axes, in one inner loop
    (loops_utils.h, HALF_pairwise_sum; loops.c, HALF_multiply). Along others it rounds at every step. Told by the order of the axes:
    an array that is laid out in another order than theirs gets the more precise sum."""
    row = row_of(site.op)
    if row is None or site.dtype_of(site.operands[0]) is not dtypes.f16 or site.dtype is not dtypes.f16 or row.kind is Kind.SCAN:
        return False
    if site.name in ("aten.sum", "aten.prod"):
        return True
    dims, rank = site.values[1], len(site.shape_of(site.operands[0]))
    numbers = dims.items if isinstance(dims, List) else (dims,)
    if isinstance(dims, NoneValue) or not numbers or not rank:
        return isinstance(dims, NoneValue) or numbers == ()
    if not all(isinstance(d, Int) and isinstance(d.value, int) for d in numbers):
        return False
    axes = {d.value % rank for d in numbers if isinstance(d, Int) and isinstance(d.value, int)}
    return axes == set(range(rank - len(axes), rank))


def mean(at: int) -> Rewrite:
    """As `accumulating`; NumPy computes means of float16 in float32, as torch does."""

    def rewrite(site: Site) -> list[ir.Value]:
        return site.again(_with_dtype(site, at))

    return rewrite


def _with_dtype(site: Site, at: int) -> list[Any]:
    if site.dtype_of(site.operands[0]) is dtypes.bf16 or site.dtype is dtypes.bf16:
        raise Keep("NumPy accumulates bfloat16 in itself")
    operands: list[Any] = list(site.operands)
    operands[at] = site.dtype.code
    return operands


def spread(site: Site) -> list[ir.Value]:
    """var and std: integers are float64, and no correction means 0."""
    _refuse_half(site)
    operands: list[Any] = [site.cast(site.operands[0], site.dtype), *site.operands[1:]]
    if len(operands) > 2 and isinstance(site.values[2], NoneValue):
        operands[2] = 0
    return site.in_numpys_steps(operands)


def norm(site: Site) -> list[ir.Value]:
    """The 2-norm; along one axis the sum and the maximum of absolute values too. Of several axes those are matrix norms."""
    _refuse_half(site)
    order, axes = site.values[1:3]
    one_axis = isinstance(axes, List) and axes.items is not None and len(axes.items) == 1
    if not isinstance(order, (Int, Float)) or order.value not in ((1, 2, float("inf")) if one_axis else (2,)):
        raise Keep("a norm of this order")
    return site.again([site.cast(site.operands[0], site.dtype), *site.operands[1:]])


def extreme(site: Site) -> list[ir.Value]:
    """max, min, argmax, ...: booleans are ordered as bytes, which torch knows the places of."""
    x = site.operands[0]
    if site.dtype_of(x) is dtypes.bf16:
        raise Keep("NumPy's bfloat16")
    if site.dtype_of(x).category is Category.BOOL and site.name in ("aten.argmax", "aten.argmin"):
        x = site.cast(x, dtypes.u8)
    return site.in_numpys_steps([x, *site.operands[1:]])


def logical(site: Site) -> list[ir.Value]:
    """any and all: of booleans, since torch's give uint8 for uint8."""
    x = site.operands[0]
    if site.dtype_of(x) is dtypes.bf16:
        raise Keep("NumPy's bfloat16")
    return site.again([site.cast(x, dtypes.bool_), *site.operands[1:]])


# --- products -----------------------------------------------------------------------------------------------------------


def matmul(site: Site) -> list[ir.Value]:
    """np.matmul for operands of any rank, whatever the op: the op itself where its ranks fit, else aten.matmul."""
    a, b = (site.cast(v, site.dtype) for v in site.operands[:2])
    if site.dtype in (*_HALF, dtypes.bool_):
        raise Keep(f"NumPy's product of {site.dtype}")
    ranks = {"aten.mm": (2, 2), "aten.bmm": (3, 3), "aten.mv": (2, 1)}.get(site.name)
    shapes = site.shape_of(a), site.shape_of(b)
    fits = ranks == tuple(map(len, shapes)) and (site.name != "aten.bmm" or shapes[0][0] == shapes[1][0])
    return [site.one(site.name if fits else "aten.matmul", a, b)]


def dot(site: Site) -> list[ir.Value]:
    """np.dot: a product with a number, an inner product, a matrix product; for b of rank above 2 it is none of torch's."""
    a, b = (site.cast(v, site.dtype) for v in site.operands[:2])
    if site.dtype in (*_HALF, dtypes.bool_):
        raise Keep(f"NumPy's product of {site.dtype}")
    shapes = site.shape_of(a), site.shape_of(b)
    ranks = len(shapes[0]), len(shapes[1])
    ones = [not set(of) - {1} for of in shapes]
    if any(ones) and (0 in ranks or max(ranks) < 3):
        number, x = (a, b) if ones[0] else (b, a)
        return [_scaled(site, number, x, exact=all(ones) or max(ranks) > 2)]
    if ranks == (1, 1):
        return [site.one("aten.dot", a, b)]
    if ranks[1] > 2:
        raise Keep("np.dot with an operand of rank above 2")
    return [site.one("aten.matmul", a, b)]


def _scaled(site: Site, number: ir.Value, x: ir.Value, *, exact: bool) -> ir.Value:
    """The product with one element. If not `exact` it is what BLAS's axpy adds to zeros: nothing where that element is 0."""
    number = site.one("aten.reshape", number, [])
    if not exact and site.dtype.is_float:
        endless = site.one("aten.logical_not", site.one("aten.isfinite", x))
        lost = site.one("aten.logical_and", site.one("aten.eq.Scalar", number, 0), endless)
        x = site.one("aten.masked_fill.Scalar", x, lost, 0)
    product = site.one("aten.mul.Tensor", number, x)
    if not exact:
        product = site.one("aten.add.Scalar", product, 0, 1)
    shape = site.shape_of(site.op.results[0])
    return product if site.shape_of(x) == shape else site.one("aten.reshape", product, [n if isinstance(n, int) else -1 for n in shape])


def outer(site: Site) -> list[ir.Value]:
    """np.outer: both operands in the result's dtype."""
    return site.again([site.cast(v, site.dtype) for v in site.operands])


FORMS: dict[str, Callable[[Op], Rewrite]] = {
    "accumulating": lambda op: accumulating(op.operands.index("dtype")),
    "accumulating_floats": lambda op: accumulating_floats,
    "mean": lambda op: mean(op.operands.index("dtype")),
    "spread": lambda op: spread,
    "norm": lambda op: norm,
    "extreme": lambda op: extreme,
    "logical": lambda op: logical,
    "matmul": lambda op: matmul,
    "dot": lambda op: dot,
    "outer": lambda op: outer,
}
"""By what an op's definition calls it."""
