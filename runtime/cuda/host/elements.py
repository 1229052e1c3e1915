"""Elements as kernels and host programs have them, by the names that MLIR gives their types: sizes in bytes, and numbers as bytes."""

from __future__ import annotations

import math
import struct

_FORMATS = {
    "i1": "B", "i8": "b", "i16": "h", "i32": "i", "i64": "q", "index": "q", "f16": "e", "f32": "f", "f64": "d", "bf16": "H", "ptr": "Q",
}  # fmt: skip
_BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}
_BF16_SHIFT = 16
_BEYOND = 2.0**63


def size(dtype: str) -> int:
    """Bytes of one element. Raises ValueError for a type that host programs do not know."""
    return struct.calcsize("=" + _format(dtype))


def pack(value: int | float, dtype: str) -> bytes:
    """A number as an element; an int loses the bits that do not fit, as in C."""
    format_ = "=" + _format(dtype)
    if dtype == "bf16":
        return struct.pack(format_, _to_bf16(float(value)))
    bits = _BITS.get(dtype)
    if bits is None:
        return struct.pack(format_, int(value)) if dtype == "ptr" else _pack_float(format_, float(value))
    if bits == 1:
        return struct.pack(format_, bool(value))
    half = 1 << bits - 1
    return struct.pack(format_, (int(value) + half) % (2 * half) - half)


def unpack(data: bytes, dtype: str) -> int | float:
    """The number in an element."""
    value = struct.unpack("=" + _format(dtype), data)[0]
    if dtype == "bf16":
        return float(struct.unpack("=f", struct.pack("=I", value << _BF16_SHIFT))[0])
    return int(value != 0) if dtype == "i1" else value


def cast(value: int | float, dtype: str) -> int | float:
    """A number as one of this type: a float rounded, an int without the bits that do not fit. A float becomes an int towards zero, and 0
    where it is none, or beyond 64 bits: who casts it there has checked it."""
    if dtype not in _BITS:
        return float(value) if dtype == "f64" else unpack(pack(value, dtype), dtype)
    if isinstance(value, float):
        value = int(value) if abs(value) < _BEYOND else 0  # a NaN is not
    return unpack(pack(value & 1 if dtype == "i1" else value, dtype), dtype)


def _format(dtype: str) -> str:
    found = _FORMATS.get(dtype)
    if found is None:
        raise ValueError(f"host programs know no elements of type {dtype}; they know {', '.join(_FORMATS)}")
    return found


def _pack_float(format_: str, value: float) -> bytes:
    try:
        return struct.pack(format_, value)
    except OverflowError:  # finite, but beyond the type's range: the machine rounds it to infinity
        return struct.pack(format_, math.copysign(math.inf, value))


def _to_bf16(value: float) -> int:
    """The upper half of an f32's bits, rounded to even; a NaN stays one."""
    bits: int = struct.unpack("=I", _pack_float("=f", value))[0]
    if math.isnan(value):
        return (bits >> _BF16_SHIFT) | 0x40
    return (bits + 0x7FFF + ((bits >> _BF16_SHIFT) & 1)) >> _BF16_SHIFT
