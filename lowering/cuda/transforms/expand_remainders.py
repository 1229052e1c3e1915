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

from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering import builders as b
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.transforms.expand_math import LIBRARY_CALL

_BITS = 64  # of the integers
_EQ, _ULT, _UGE, _SGT = 0, 6, 9, 4  # arith.cmpi's predicates


@dataclass(frozen=True)
class _Format:
    """A float's: bits in all, of its mantissa without the leading one, and how much its exponent field is beyond the exponent."""

    bits: int
    mantissa: int
    bias: int

    @property
    def step(self) -> int:
        """How many bits a remainder may be shifted without loss."""
        return _BITS - self.mantissa - 1

    @property
    def infinity(self) -> int:
        return ((1 << self.bits - 1 - self.mantissa) - 1) << self.mantissa


_FORMATS = {"f32": _Format(32, 23, 127), "f64": _Format(64, 52, 1023)}


@register
@dataclass(frozen=True)
class ExpandRemainders(Pass):
    """Compute remainders of floats in kernels by integer arithmetic."""

    name = "tierup-expand-remainders"

    def run_on_function(self, function: ir.Operation) -> None:
        launches = [op for op in b.walk(function) if op.name == gpu.LAUNCH]
        for op in [op for launch in launches for op in b.walk(launch) if op.name == "arith.remf" and LIBRARY_CALL not in op.attributes]:
            expand(op)


def expand(op: ir.Operation) -> None:
    """Compute one arith.remf."""
    with op.location, ir.InsertionPoint(op):
        op.results[0].replace_all_uses_with(_any(*op.operands))
    op.erase()


def _any(x: ir.Value, y: ir.Value) -> ir.Value:
    type_ = x.type
    if not isinstance(type_, (ir.F16Type, ir.BF16Type)):
        return _remainder(x, y, _FORMATS[str(type_)])
    wide = ir.F32Type.get()
    left = _remainder(*(b.value("arith.extf", [v], wide) for v in (x, y)), _FORMATS["f32"])
    return b.value("arith.truncf", [left], type_)  # exact: it is a multiple of what both are multiples of


def _remainder(x: ir.Value, y: ir.Value, form: _Format) -> ir.Value:
    """Magnitudes are integers: they compare as the floats do, infinity is the largest number, NaN is beyond it."""
    a, d = _magnitude(x, form), _magnitude(y, form)
    infinity, nothing = _int(form.infinity), _int(0)
    undefined = _or(_or(_is(_UGE, a, infinity), _is(_EQ, d, nothing)), _is(_SGT, d, infinity))
    smaller = _is(_ULT, a, d)
    (exponent, left), (least, divisor) = _parts(a, form), _parts(d, form)
    divisor = _select(undefined, _int(1), divisor)
    bits = _select(_or(undefined, smaller), nothing, _op("subi", exponent, least))
    steps = _op("divui", _op("addi", bits, _int(form.step - 1)), _int(form.step))

    def step(number: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        done = _op("muli", b.value("arith.index_cast", [number], left.type), _int(form.step))
        now = _op("minui", _op("subi", bits, done), _int(form.step))
        return [_op("remui", _op("shli", carried[0], now), divisor)]

    stop = b.value("arith.index_cast", [steps], b.index_type())
    (left,) = gpu.carried((b.index(0), stop, b.index(1)), [_op("remui", left, divisor)], step)
    found = _scaled(left, _op("subi", least, _int(form.bias + form.mantissa)), x.type)
    found = b.value("arith.select", [smaller, x, b.value("math.copysign", [found, x], x.type)], x.type)
    nan = b.value("arith.constant", [], x.type, value=ir.FloatAttr.get(x.type, float("nan")))
    return b.value("arith.select", [undefined, nan, found], x.type)


def _magnitude(x: ir.Value, form: _Format) -> ir.Value:
    """The bits without the sign, in 64."""
    raw = b.value("arith.bitcast", [x], b.integer_type(form.bits))
    wide = raw if form.bits == _BITS else b.value("arith.extui", [raw], b.integer_type(_BITS))
    return _op("andi", wide, _int((1 << form.bits - 1) - 1))


def _parts(magnitude: ir.Value, form: _Format) -> tuple[ir.Value, ir.Value]:
    """Exponent and mantissa; what is denormal has the least exponent, and no leading one."""
    exponent = _op("shrui", magnitude, _int(form.mantissa))
    mantissa = _op("andi", magnitude, _int((1 << form.mantissa) - 1))
    denormal = _is(_EQ, exponent, _int(0))
    leading = _op("ori", mantissa, _int(1 << form.mantissa))
    return _select(denormal, _int(1), exponent), _select(denormal, mantissa, leading)


def _scaled(number: ir.Value, exponent: ir.Value, type_: ir.Type) -> ir.Value:
    """number * 2**exponent, which the type has: computed in f64, in two steps, since not every power of two is a normal number there."""
    wide, form = ir.F64Type.get(), _FORMATS["f64"]
    found = b.value("arith.uitofp", [number], wide)
    half = _op("shrsi", exponent, _int(1))
    for power in (half, _op("subi", exponent, half)):
        bits = _op("shli", _op("addi", power, _int(form.bias)), _int(form.mantissa))
        found = b.value("arith.mulf", [found, b.value("arith.bitcast", [bits], wide)], wide)
    return found if type_ == wide else b.value("arith.truncf", [found], type_)


def _int(number: int) -> ir.Value:
    return b.integer(number, _BITS)


def _op(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    return b.value(f"arith.{name}", [left, right], left.type)


def _is(predicate: int, left: ir.Value, right: ir.Value) -> ir.Value:
    return b.value("arith.cmpi", [left, right], b.integer_type(1), predicate=ir.IntegerAttr.get(b.integer_type(64), predicate))


def _or(left: ir.Value, right: ir.Value) -> ir.Value:
    return _op("ori", left, right)


def _select(condition: ir.Value, then: ir.Value, otherwise: ir.Value) -> ir.Value:
    return b.value("arith.select", [condition, then, otherwise], then.type)
