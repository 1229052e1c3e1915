"""Pointwise ops under NumPy's rules as torch ops: the dtype that NumPy computes in is made explicit by casts.

The dtype comes from NumPy itself, `ufunc.resolve_dtypes` with NEP 50's weak Python numbers. Where NumPy's value differs from
torch's for operands of one dtype (integer division by zero, the sign of a zero remainder, NaN under sign), the difference is
spelled out with where.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import Category, DType
from tierup.dialect.facts.dims import at_least
from tierup.dialect.facts.values import Bool, Float, Int, NoneValue, Str, Tensor, Value
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Op
from tierup.dialect.rewriting.site import Keep, Site

Rewrite = Callable[[Site], list[ir.Value]]

def _described(value: Value) -> np.dtype | type:
    if isinstance(value, Tensor) and value.dtype is not None:
        return value.dtype.numpy
    if isinstance(value, (Int, Float)):
        return int if isinstance(value, Int) else float  # weak, as NEP 50 has it
    if isinstance(value, Bool):
        return np.dtype(bool)
    raise Keep("an operand's dtype is not known")


def _loop(ufunc: np.ufunc, *values: Value) -> tuple[DType, DType]:
    """(dtype of the operands, dtype of the result) that NumPy's loop has."""
    try:
        *operands, result = ufunc.resolve_dtypes((*[_described(v) for v in values], None))
    except TypeError as e:
        raise Keep(str(e)) from e
    dtype, given = dtypes.from_numpy(operands[0]), dtypes.from_numpy(result)
    if dtype is None or given is None or any(o != operands[0] for o in operands):
        raise Keep(f"NumPy computes in {', '.join(map(str, operands))}")
    return dtype, given


def binary(ufunc: np.ufunc) -> Rewrite:
    """Both operands in the dtype of the result, which is what arithmetic is done in."""

    def rewrite(site: Site) -> list[ir.Value]:
        dtype = _loop(ufunc, *site.values[:2])[1]
        return site.again([site.either(0, dtype), site.either(1, dtype), *site.operands[2:]])

    return rewrite


def scaled(ufunc: np.ufunc, swapped: bool = False) -> Rewrite:
    """add and sub, whose factor alpha is 1; rsub, whose operands change places (a loop does not care)."""
    plain = binary(ufunc)

    def rewrite(site: Site) -> list[ir.Value]:
        if len(site.values) > 2 and site.values[2] not in (Int(1), Float(1.0)):
            raise Keep("NumPy has no alpha")
        site.operands[2:] = [site.value(1) for _ in site.operands[2:]]
        return plain(site)

    return rewrite


def comparison(ufunc: np.ufunc) -> Rewrite:
    """Both operands in the dtype that NumPy compares in; Python ints are compared exactly, in int64, and so are uint64 and signed ones."""

    def rewrite(site: Site) -> list[ir.Value]:
        x, y = site.values[:2]
        of = x.dtype if isinstance(x, Tensor) else None
        exact = of is not None and not of.part.is_float and isinstance(y, (Int, Tensor))
        if exact and dtypes.u64 in (kinds := [of, dtypes.i64 if isinstance(y, Int) else site.dtype_of(site.operands[1])]):
            if any(d is not None and d.signed for d in kinds):
                return [_unsigned_with_signed(site, ufunc)]
        elif exact and isinstance(y, Int):
            return site.again([site.cast(site.operands[0], dtypes.i64), site.operands[1]])
        dtype = _loop(ufunc, x, y)[0]
        return site.again([site.either(0, dtype), site.either(1, dtype)])

    return rewrite


def _unsigned_with_signed(site: Site, ufunc: np.ufunc) -> ir.Value:
    """A comparison of uint64 and a signed integer, exactly: of what is negative the signs decide, all else is uint64."""
    x, y = site.operands
    if isinstance(site.values[1], Int):
        y = site.one("aten.full", [], y, dtypes.i64.code, None, None, None)
    left = site.dtype_of(x).signed
    negative = site.one("aten.lt.Scalar", x if left else y, 0)
    found = site.one(site.name.replace(".Scalar", ".Tensor"), site.cast(x, dtypes.u64), site.cast(y, dtypes.u64))
    if ufunc(-1, 0) if left else ufunc(0, -1):
        return site.one("aten.logical_or", found, negative)
    return site.one("aten.logical_and", found, site.one("aten.logical_not", negative))


def unary(site: Site) -> list[ir.Value]:
    """The operand in the dtype of the result."""
    return site.again([site.cast(site.operands[0], site.dtype), *site.operands[1:]])


def magnitude(site: Site) -> list[ir.Value]:
    """The operand as it is: a complex one gives a float."""
    return site.again() if site.dtype_of(site.operands[0]).is_complex else unary(site)


def as_is(site: Site) -> list[ir.Value]:
    """torch's op gives what NumPy's does, as far as the check of dtype and shape can tell them apart."""
    return site.again()


def truths(site: Site) -> list[ir.Value]:
    """The truth of each operand, where torch's rules may have no dtype that is common to them."""
    kinds = [site.dtype_of(v) for v in site.operands]
    same = kinds[0] is kinds[1] or any(d.is_complex for d in kinds)
    return site.again(None if same else [site.cast(v, dtypes.bool_) for v in site.operands])


def of_known_rank(site: Site) -> list[ir.Value]:
    """As it is, where the rank is known: of a vector NumPy's triangles are of a matrix, of rank 0 it refuses the axes that torch takes."""
    x = site.values[0]
    if not isinstance(x, Tensor) or x.shape is None:
        raise Keep("an operand's rank is not known")
    return site.again()


def copied(site: Site) -> list[ir.Value]:
    """copy: NumPy drops leading sizes of 1 from a source of more dimensions, torch refuses it."""
    target, source = (site.known(v) for v in site.operands[:2])
    if not (isinstance(target, Tensor) and isinstance(source, Tensor)) or target.shape is None or source.shape is None:
        raise Keep("a copy of unknown rank")
    given, more = site.operands[1], len(source.shape) - len(target.shape)
    if any(n != 1 for n in source.shape[: max(more, 0)]):
        raise Keep("a copy of a tensor of more dimensions")
    for _ in range(more):
        given = site.one("aten.select.int", given, 0, 0)
    return site.again([site.operands[0], given, *site.operands[2:]])


_OF_TENSORS = {
    "aten.floor_divide.Scalar": "aten.floor_divide", "aten.remainder.Scalar": "aten.remainder.Tensor",
    "aten.fmod.Scalar": "aten.fmod.Tensor", "aten.div.Scalar_mode": "aten.div.Tensor_mode",
}  # fmt: skip


def division(ufunc: np.ufunc) -> Rewrite:
    """floor_divide, remainder, fmod: an integer by zero is 0 in NumPy, an error in torch."""

    def rewrite(site: Site) -> list[ir.Value]:
        dtype = _loop(ufunc, *site.values[:2])[1]
        a, b = site.either(0, dtype), site.either(1, dtype)
        rest = site.operands[2:]
        if dtype.is_float:
            return [_signed_zero(site, site.again([a, b, *rest])[0], b)] if ufunc is np.remainder else site.again([a, b, *rest])
        divisor, name = site.known(b), site.name
        if isinstance(divisor, Int):
            known = divisor.value
            if known is not None and (at_least(known, 1) or at_least(-1 * known, 1)):
                return site.again([a, b, *rest])
            b = site.one("aten.full", [], b, dtype.code, None, None, None)
            name = _OF_TENSORS[name]
        elif not isinstance(divisor, Tensor):
            raise Keep("an integer divided by a number that is no int")
        zero = site.one("aten.eq.Scalar", b, 0)
        safe = site.one("aten.where.ScalarSelf", zero, 1, b)
        return [site.one("aten.where.ScalarSelf", zero, 0, site.one(name, a, safe, *rest))]

    return rewrite


def _signed_zero(site: Site, remainder: ir.Value, divisor: ir.Value) -> ir.Value:
    """A remainder of zero has the divisor's sign in NumPy (npy_divmod), the dividend's in torch."""
    known = site.known(divisor)
    if isinstance(known, (Int, Float)):
        if not isinstance(known.value, (int, float)):
            raise Keep("the sign of a divisor that the run knows")
        divisor = site.one("aten.full", [], divisor, site.dtype_of(remainder).code, None, None, None)
    is_zero = site.one("aten.eq.Scalar", remainder, 0)
    return site.one("aten.where.self", is_zero, site.one("aten.copysign.Tensor", remainder, divisor), remainder)


def division_mode(site: Site) -> list[ir.Value]:
    """div with a rounding mode: floor is np.floor_divide, trunc is np.trunc of the true quotient."""
    mode = site.values[2]
    if isinstance(mode, Str) and mode.value == "floor":
        return division(np.floor_divide)(site)
    dtype = _loop(np.true_divide, *site.values[:2])[1]
    kind = "Tensor" if site.is_tensor(1) else "Scalar"
    quotient = site.one(f"aten.div.{kind}", site.either(0, dtype), site.either(1, dtype))
    if isinstance(mode, NoneValue):
        return [quotient]
    if mode == Str("trunc"):
        return [site.one("aten.trunc", quotient)]
    raise Keep("a rounding mode that the run knows")


def power(site: Site) -> list[ir.Value]:
    """Integers to a negative integer power are an error in NumPy: only powers that cannot be are taken."""
    dtype = _loop(np.power, *site.values[:2])[1]
    if dtype.is_complex:
        return _complex_power(site, dtype)
    if not dtype.is_float:
        exponent = site.values[1]
        unsigned = isinstance(exponent, Tensor) and exponent.dtype is not None and exponent.dtype.range[0] == 0
        if not unsigned and not (isinstance(exponent, Int) and isinstance(exponent.value, int) and exponent.value >= 0):
            raise Keep("an integer to a power that may be negative")
    if dtype.is_float and site.is_tensor(0) and isinstance(site.values[1], (Int, Float)) and site.values[1].value in (None, -0.5, -2):
        return [_power_by_number(site, dtype, site.values[1])]
    return binary(np.power)(site)


def _complex_power(site: Site, dtype: DType) -> list[ir.Value]:
    """Squares are products in NumPy; higher powers, and others, go their own ways there."""
    exponent = site.values[1]
    if not site.is_tensor(0) or not isinstance(exponent, (Int, Float)) or exponent.value != 2:
        raise Keep("a complex power")
    return site.again([site.cast(site.operands[0], dtype), site.value(2)])


def _power_by_number(site: Site, dtype: DType, exponent: Int | Float) -> ir.Value:
    """NumPy's ** has a shortcut for 0.5 (sqrt) but none for -0.5 and -2 as torch has, which differ at -0.0, -inf and in overflow."""
    x = site.cast(site.operands[0], dtype)

    def filled(value: ir.Value, of: DType) -> ir.Value:
        """In x's shape: torch-mlir's canonicaliser takes a power by a rank-0 constant for torch's power by a number."""
        return site.one("aten.full_like", x, value, of.code, None, None, None, None)

    power = site.one("aten.pow.Tensor_Tensor", x, filled(site.number(1, dtype), dtype))
    if exponent.value is not None or isinstance(exponent, Int):
        return power
    is_half = site.one("aten.eq.Scalar", filled(site.operands[1], dtypes.f64), 0.5)
    return site.one("aten.where.self", is_half, site.one("aten.sqrt", x), power)


def sign(site: Site) -> list[ir.Value]:
    """NaN for NaN, where torch has 0; of a zero NumPy's bfloat16 keeps the sign, others do not."""
    if site.dtype is dtypes.bf16:
        raise Keep("NumPy's bfloat16")
    (result,) = unary(site)
    return [_nan_through(site, result)] if site.dtype.is_float else [result]


def heaviside(site: Site) -> list[ir.Value]:
    """NaN for NaN, where torch has the second operand's step."""
    return [_nan_through(site, binary(np.heaviside)(site)[0])]


def _nan_through(site: Site, result: ir.Value) -> ir.Value:
    x = site.cast(site.operands[0], site.dtype)
    return site.one("aten.where.self", site.one("aten.isnan", x), x, result)


def clamp(site: Site) -> list[ir.Value]:
    """All three in the dtype of the result."""
    if all(isinstance(v, NoneValue) for v in site.values[1:3]):
        raise Keep("clamp without bounds")
    return site.again([site.either(i, site.dtype) for i in range(len(site.operands))])


def where(site: Site) -> list[ir.Value]:
    """The condition as a bool, both branches in the dtype of the result."""
    if not site.is_tensor(1) and not site.is_tensor(2):
        raise Keep("where of two numbers")
    condition = site.cast(site.operands[0], dtypes.bool_)
    return site.again([condition, site.either(1, site.dtype), site.either(2, site.dtype)])


def fill(site: Site) -> list[ir.Value]:
    """An assignment of a number: the value in x's dtype, which refuses what it cannot hold."""
    known, dtype = site.values[1], site.dtype
    if isinstance(known, Tensor) and known.shape != ():
        raise Keep("a tensor with dimensions")
    if isinstance(known, (Int, Float)) and not isinstance(known.value, (int, float)) and dtype.category is Category.INT:
        of = dtypes.i64 if isinstance(known, Int) else dtypes.f64
        value = site.one("aten.full", [], site.operands[1], of.code, None, None, None)
    elif site.is_tensor(1):
        value = site.operands[1]
    else:
        return site.again([site.operands[0], site.number(1, dtype)])
    if dtypes.refuses_some(dtype, site.dtype_of(value), weak=not site.is_tensor(1)):
        site.refuse_outside(value, dtype)
    return [site.one("aten.fill.Tensor", site.operands[0], site.cast(value, dtype))]


def finite(site: Site) -> list[ir.Value]:
    """nan_to_num; NumPy's leaves bfloat16, a foreign dtype, as it is."""
    if site.dtype is dtypes.bf16:
        raise Keep("NumPy's bfloat16")
    return site.again()


def rounded(site: Site) -> list[ir.Value]:
    """np.round, which of floats and ints is torch's. Raises Keep for bools."""
    if site.dtype_of(site.operands[0]).category is Category.BOOL:
        raise Keep("np.round of booleans")
    return site.again()


def _function(row: Op) -> np.ufunc:
    assert isinstance(row.numpy_function, np.ufunc), row.name
    return row.numpy_function


FORMS: dict[str, Callable[[Op], Rewrite | None]] = {
    "none": lambda row: None,
    "as_is": lambda row: as_is,
    "truths": lambda row: truths,
    "unary": lambda row: unary,
    "magnitude": lambda row: magnitude,
    "binary": lambda row: binary(_function(row)),
    "comparison": lambda row: comparison(_function(row)),
    "sum": lambda row: scaled(np.add),
    "difference": lambda row: scaled(np.subtract),
    "division": lambda row: division(_function(row)),
    "division_mode": lambda row: division_mode,
    "power": lambda row: power,
    "sign": lambda row: sign,
    "heaviside": lambda row: heaviside,
    "clamp": lambda row: clamp,
    "where": lambda row: where,
    "fill": lambda row: fill,
    "rounded": lambda row: rounded,
    "nan_to_num": lambda row: finite,
    "copied": lambda row: copied,
}
"""By an op's `numpy_form`."""
