"""Numbers of the program, and numbers read off tensors: dialect/ops/scalars/numbers.py and comparisons.py on i64, f64 and i1. Ints wrap, or
saturate where that is asked (`_fits`) and the op says so.

A formula gets Scalars (i64, f64, bool); where ints and floats meet, they meet in f64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tierup.dialect.analysis.ints.positions import NOT_NEGATIVE
from tierup.dialect.base import dtypes
from tierup.dialect.ir.attributes import SATURATES
from tierup.dialect.ir.structure import module_of
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.ops.pointwise.comparison import bitwise_left_shift, bitwise_right_shift
from tierup.dialect.ops.pointwise.division import floor_divide, fmod, remainder
from tierup.dialect.ops.scalars.libm import LIBM
from tierup.dialect.ops.scalars.libm import PREFIX as LIBM_PREFIX
from tierup.dialect.ops.scalars.script_math import LIBM as SCRIPT_LIBM
from tierup.dialect.rewriting.core import int_of
from tierup.lowering.building import functions as fn
from tierup.lowering.building.arith import Scalar, absolute, constant, element_type, halves_of_product, maximum, minimum, of, select
from tierup.lowering.building.sizes import Size
from tierup.lowering.externals import libm
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call
from tierup.lowering.ops.pointwise.context import NotHandled, number
from tierup.lowering.ops.pointwise.elements import SCALARS, SCALARS_BY_POSITIVE, WHOLE_BY_POSITIVE, Scalars

Formula = Callable[..., Scalar]
POSITIVE_DIVISOR = "tierup.positive_divisor"  # on divisions of ints
DIVISIONS = ("aten.floordiv.int", "aten.remainder.int")


def _together(x: Scalar, y: Scalar) -> tuple[Scalar, Scalar]:
    """Both as floats when one is; bools as ints when the other is no bool."""
    if x.dtype is y.dtype:
        return x, y
    dtype = dtypes.f64 if x.is_float or y.is_float else dtypes.i64
    return x.cast(dtype), y.cast(dtype)


def _arithmetic(formula: Callable[[Scalar, Scalar], Scalar]) -> Formula:
    def run(x: Scalar, y: Scalar) -> Scalar:
        x, y = _together(x, y)
        return formula(x.cast(dtypes.i64), y.cast(dtypes.i64)) if x.is_bool else formula(x, y)

    return run


def _compare(how: str) -> Formula:
    def run(x: Scalar, y: Scalar) -> Scalar:
        x, y = _together(x, y)
        return x.compare(how, y)

    return run


def _div(x: Scalar, y: Scalar) -> Scalar:
    return x.cast(dtypes.f64) / y.cast(dtypes.f64)


def _whole(name: str) -> Formula:
    return lambda x: x.call(name).cast(dtypes.i64) if x.is_float else x


def _copysign(x: Scalar, y: Scalar) -> Scalar:
    return x.cast(dtypes.f64).call("math.copysign", y.cast(dtypes.f64))


def _to(dtype: dtypes.DType) -> Formula:
    return lambda x: x.cast(dtype)


def _libm(name: str, operands: Sequence[str] = ()) -> Formula:
    """A call of the C library, of doubles; what `operands` calls n is C's long."""
    longs = [i for i, operand in enumerate(operands) if operand == "n"]

    def run(*numbers: Scalar) -> Scalar:
        module = module_of(ir.InsertionPoint.current.block.owner.operation)
        where = ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0])
        given = [x.cast(dtypes.i64 if i in longs else dtypes.f64) for i, x in enumerate(numbers)]
        return of(fn.call(libm.PREFIX + name, given, [element_type(dtypes.f64)], where, **{"llvm.readnone": ir.UnitAttr.get()}).results[0])

    return run


def _exponent(x: Scalar) -> Scalar:
    is_plain = (x - x).equals(0.0) & x.differs(0.0)
    return select(is_plain, _libm("logb")(select(is_plain, x, 1.0)).cast(dtypes.i64) + 1, 0)


def _isqrt(n: Scalar) -> Scalar:
    """The root as a float may be one too large where n has more than 53 bits."""
    root = n.cast(dtypes.f64).call("math.sqrt").cast(dtypes.i64)
    return root - (root * root > n).cast(dtypes.i64)


def _range_length(low: Scalar, high: Scalar, step: Scalar) -> Scalar:
    """len(range(low, high, step)), for a step that is not 0."""
    up = select(high > low, (high - low - 1).call("arith.divsi", select(step > 0, step, 1)) + 1, 0)
    down = select(low > high, (low - high - 1).call("arith.divsi", select(step < 0, -step, 1)) + 1, 0)
    return select(step > 0, up, down)


def add_fits(x: Scalar, y: Scalar) -> Scalar:
    """Whether 64 bits hold the sum of two ints."""
    return (x + y < x).equals(y < 0)


def sub_fits(x: Scalar, y: Scalar) -> Scalar:
    """Whether 64 bits hold the difference of two ints."""
    return (x - y > x).equals(y < 0)


def mul_fits(x: Scalar, y: Scalar) -> Scalar:
    """Whether 64 bits hold the product of two ints."""
    low, high = halves_of_product(x, y)
    return high.equals(low >> 63)


def _lshift(x: Scalar, y: Scalar) -> Scalar:
    found: Scalar = bitwise_left_shift.formula(SCALARS, x, y)
    return found


def _rshift(x: Scalar, y: Scalar) -> Scalar:
    found: Scalar = bitwise_right_shift.formula(SCALARS, x, y)
    return found


def _lshift_fits(x: Scalar, y: Scalar) -> Scalar:
    return x.equals(0) | (y < 64) & _rshift(_lshift(x, y), y).equals(x)


_FORMULAS: dict[str, Formula] = {
    **{f"aten.add{k}": _arithmetic(lambda x, y: x + y) for k in ("", ".int", ".float", ".float_int")},
    **{f"aten.sub{k}": _arithmetic(lambda x, y: x - y) for k in ("", ".int", ".float")},
    **{f"aten.mul{k}": _arithmetic(lambda x, y: x * y) for k in ("", ".int", ".float", ".int_float", ".float_int")},
    **{f"aten.div{k}": _div for k in ("", ".int", ".float")},
    **{f"aten.neg.{k}": (lambda x: -x) for k in ("int", "float")},
    **{f"prim.abs.{k}": absolute for k in ("Scalar", "int", "float")},
    **{name: _libm(found.symbol, found.op.operands) for name, found in LIBM.items()},
    f"{LIBM_PREFIX}exponent": _exponent,
    f"{LIBM_PREFIX}isqrt": _isqrt,
    **{name: _libm(function) for name, function in SCRIPT_LIBM.items()},
    **{f"aten.sqrt.{k}": (lambda x: x.cast(dtypes.f64).call("math.sqrt")) for k in ("int", "float")},
    **{f"aten.ceil.{k}": _whole("math.ceil") for k in ("int", "float", "Scalar")},
    **{f"aten.floor.{k}": _whole("math.floor") for k in ("int", "float")},
    **{f"aten.fabs.{k}": (lambda x: x.cast(dtypes.f64).call("math.absf")) for k in ("int", "float")},
    **{f"aten.copysign.{k}": _copysign for k in ("int", "float", "int_float", "float_int")},
    **{f"aten.degrees.{k}": (lambda x: x.cast(dtypes.f64) * (180 / math.pi)) for k in ("int", "float")},
    **{f"aten.radians.{k}": (lambda x: x.cast(dtypes.f64) * (math.pi / 180)) for k in ("int", "float")},
    "aten.isnan.float": lambda x: x.differs(x),
    "aten.isinf.float": lambda x: absolute(x).equals(math.inf),
    "aten.isfinite.float": lambda x: absolute(x) < math.inf,
    "prim.max.float": lambda x, y: select(x > y, x, y),
    "prim.min.float": lambda x, y: select(x < y, x, y),
    **{f"aten.Int.{k}": _to(dtypes.i64) for k in ("Scalar", "bool", "float")},
    "aten.Float.Scalar": _to(dtypes.f64),
    **{f"aten.Bool.{k}": _to(dtypes.bool_) for k in ("int", "float")},
    **{f"aten.{how}.{k}": _compare(how) for how in ("eq", "ne", "lt", "le", "gt", "ge") for k in ("int", "float", "bool", "float_int")},
    "aten.__and__.bool": lambda x, y: x & y,
    "aten.__or__.bool": lambda x, y: x | y,
    "aten.__not__": lambda x: ~x,
    "aten.__and__.int": lambda x, y: x & y,
    "aten.__or__.int": lambda x, y: x | y,
    "aten.__xor__.int": lambda x, y: x ^ y,
    "aten.__lshift__.int": _lshift,
    "aten.__rshift__.int": _rshift,
    "tierup.within": lambda x, count: maximum(minimum(x, count - 1), 0),
    **{f"tierup.{name}_fits": f for name, f in (("add", add_fits), ("sub", sub_fits), ("mul", mul_fits), ("lshift", _lshift_fits))},
    "prim.max.int": maximum,
    "prim.min.int": minimum,
    "aten.__range_length": _range_length,
    "aten.__derive_index": lambda index, start, step: start + index * step,
}



def _by(formula: Formula) -> Callable[[Call], Scalar]:
    return lambda c: formula(*map(number, c.op.operands))


def _checked(name: str, fits: Formula, is_negative: Formula) -> Callable[[Call], Scalar]:
    """An op on ints, one of which saturates gives the nearest int that 64 bits hold, with the sign that `is_negative` says of operands."""

    def run(c: Call) -> Scalar:
        operands = [number(v) for v in c.op.operands]
        found: Scalar = _FORMULAS[name](*operands)
        if SATURATES not in c.op.attributes:
            return found
        return select(fits(*operands), found, select(is_negative(*operands), constant(-1 << 63, dtypes.i64), (1 << 63) - 1))

    return run


def _quotient(c: Call) -> Scalar:
    """a // b of ints."""
    found: Scalar = floor_divide.formula(_kind(c), *map(number, c.op.operands))
    return found


def _remainder(c: Call) -> Scalar:
    """a % b of ints. Its sign does not matter where all that is asked is whether it is 0."""
    formula = fmod.formula if all(_asks_for_zero(use.owner.operation) for use in c.op.results[0].uses) else remainder.formula
    found: Scalar = formula(_kind(c), *map(number, c.op.operands))
    return found


def _kind(c: Call) -> Scalars:
    if POSITIVE_DIVISOR not in c.op.attributes:
        return SCALARS
    return WHOLE_BY_POSITIVE if NOT_NEGATIVE in c.op.attributes else SCALARS_BY_POSITIVE


def _asks_for_zero(op: ir.Operation) -> bool:
    """Whether an op compares a number with 0."""
    name = torch_name(op)
    return name == "aten.Bool.int" or name in ("aten.eq.int", "aten.ne.int") and 0 in map(int_of, op.operands)


def _item(c: Call) -> Scalar:
    """One element of a tensor, as a number of the result's type."""
    x = c.tensor(0)
    if 0 in x.sizes:
        raise NotHandled
    return tensors.element(x, [0] * x.rank)


def _length(c: Call, axis: int) -> Scalar:
    x = c.tensor(0)
    if not x.rank:
        raise NotHandled
    return _int(x.length(axis % x.rank))


def _int(size: Size) -> Scalar:
    return constant(size, dtypes.i64) if isinstance(size, int) else size.cast(dtypes.i64)


def _numel(c: Call) -> Scalar:
    x = c.tensor(0)
    return _int(tensors.count(x, range(x.rank)))


_ITEMS = ("item", "Int.Tensor", "Float.Tensor", "Bool.Tensor", "IntImplicit", "FloatImplicit", "ScalarImplicit")

LOWERINGS: dict[str, Callable[[Call], Scalar]] = {
    **{name: _by(formula) for name, formula in _FORMULAS.items()},
    "aten.floordiv.int": _quotient,
    "aten.remainder.int": _remainder,
    "aten.add.int": _checked("aten.add.int", add_fits, lambda x, y: x < 0),
    "aten.sub.int": _checked("aten.sub.int", sub_fits, lambda x, y: x < 0),
    "aten.mul.int": _checked("aten.mul.int", mul_fits, lambda x, y: (x ^ y) < 0),
    **{f"aten.{name}": _item for name in _ITEMS},
    "aten.size.int": lambda c: _length(c, c.integer(1)),
    "aten.numel": _numel,
    "aten.dim": lambda c: _int(c.tensor(0).rank),
    "aten.len.Tensor": lambda c: _length(c, 0),
}
