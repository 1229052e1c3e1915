"""tierup-expand-remainders: the remainder of floats, in kernels, by long division of their mantissas as integers: exact, as C's fmod.

    %r = arith.remf %x, %y : f64
becomes
    %m = mantissa of %x mod that of %y                                          arith.remui, of integers below 2**53
    %q = scf.for each 11 of the bits that x's exponent is beyond y's:           %m shifted by so many, mod y's again
    %r = %q times 2 to y's exponent, with x's sign; x itself where it is the smaller; NaN for infinities divided and for zeros dividing

In gpu.launch alone: the device has no instruction for it, and MLIR's conversion calls NVIDIA's libdevice (`__nv_fmod`), which not every
machine has; what is marked for that (tierup-math-to-libdevice) is left. Mantissas of f32 leave room for 40 bits at a time; f16 and bf16
are f32 meanwhile.

The algorithm is the schoolbook's, as fmod of musl and of FreeBSD's msun have it, who take one bit at a time.
"""

from __future__ import annotations

import math

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.ir.structure import take_place
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import INDEX, Scalar, constant, minimum, of, select
from tierup.lowering.building.loops import carried
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.math.constants import F32, F64, Format
from tierup.lowering.transforms.expand_math import LIBRARY_CALL

_BITS = 64  # of the integers


_FORMATS = {"f32": F32, "f64": F64}


@register
class ExpandRemainders(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        launches = [op for op in b.walk(function) if op.name == gpu.LAUNCH]
        for op in [op for launch in launches for op in b.walk(launch) if op.name == "arith.remf" and LIBRARY_CALL not in op.attributes]:
            expand(op)


def expand(op: ir.Operation) -> None:
    """Compute one arith.remf."""
    with op.location, ir.InsertionPoint(op):
        take_place(op, [_any(*map(of, op.operands))])


def _any(x: Scalar, y: Scalar) -> Scalar:
    if x.dtype.itemsize > 2:
        return _remainder(x, y, _FORMATS[x.dtype.name])
    wide = _remainder(x.cast(dtypes.f32), y.cast(dtypes.f32), _FORMATS["f32"])
    return wide.cast(x.dtype)  # exact: it is a multiple of what both are multiples of


def _remainder(x: Scalar, y: Scalar, form: Format) -> Scalar:
    """Magnitudes are integers: they compare as the floats do, infinity is the largest number, NaN is beyond it."""
    a, d = _magnitude(x, form), _magnitude(y, form)
    infinity, nothing = constant(2 * form.exponent_bias + 1 << form.mantissa, dtypes.u64), constant(0, dtypes.u64)
    undefined = (a >= infinity) | d.equals(nothing) | (d.cast(dtypes.i64) > infinity)
    smaller = a < d
    most = _BITS - form.mantissa - 1  # bits that a remainder may be shifted without loss
    (exponent, left), (least, divisor) = _parts(a, form), _parts(d, form)
    divisor = select(undefined, 1, divisor)
    bits = select(undefined | smaller, nothing, exponent - least)
    steps = (bits + (most - 1)) // most

    def step(number: Scalar, carried: list[Scalar]) -> list[Scalar]:
        done = number.cast(dtypes.u64) * most
        return [(of(carried[0], dtypes.u64) << minimum(bits - done, most)) % divisor]

    (left,) = carried((b.index(0), steps.cast(INDEX), b.index(1)), [left % divisor], step)
    found = _scaled(of(left, dtypes.u64), least - (form.exponent_bias + form.mantissa), x.dtype)
    found = select(smaller, x, found.call("math.copysign", x))
    return select(undefined, math.nan, found)


def _magnitude(x: Scalar, form: Format) -> Scalar:
    """The bits without the sign, in 64."""
    return x.bits().cast(dtypes.u64) & ((1 << form.bits - 1) - 1)


def _parts(magnitude: Scalar, form: Format) -> tuple[Scalar, Scalar]:
    """Exponent and mantissa; what is denormal has the least exponent, and no leading one."""
    exponent = magnitude >> form.mantissa
    mantissa = magnitude & ((1 << form.mantissa) - 1)
    denormal = exponent.equals(0)
    leading = mantissa | (1 << form.mantissa)
    return select(denormal, 1, exponent), select(denormal, mantissa, leading)


def _scaled(number: Scalar, exponent: Scalar, dtype: DType) -> Scalar:
    """number * 2**exponent, which the dtype has: computed in f64, in two steps, since not every power of two is a normal number there."""
    form = _FORMATS["f64"]
    found = number.cast(dtypes.f64)
    half = exponent.call("arith.shrsi", 1)
    for power in (half, exponent - half):
        found = found * ((power + form.exponent_bias) << form.mantissa).convert("arith.bitcast", dtypes.f64)
    return found.cast(dtype)
