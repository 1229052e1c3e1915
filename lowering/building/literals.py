"""Float literals: the bindings print LLVM IR as LLVM 24 writes it, llvmlite parses as LLVM 22 reads it.

The newer printer writes decimals that need not be exact, and +inf, +qnan, -nan(0x1), +snan(0x1), f0x<bits>; the older
parser wants a literal that is not exact in hexadecimal. So every literal is rewritten as hexadecimal: 0x<double's bits> for float
and double, 0xH<bits> for half (LLVM Language Reference, "Simple Constants").

bfloat becomes i16: nothing is computed in it (see legalize_bf16), and LLVM would move it about by way of f32, with compiler
helper functions that not every process has.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import ml_dtypes
import numpy as np


@dataclass(frozen=True)
class _Format:
    numpy: np.dtype
    bits: np.dtype
    fraction: int  # bits of the significand that are stored


_FORMATS = {
    "half": _Format(np.dtype(np.float16), np.dtype(np.uint16), 10),
    "bfloat": _Format(np.dtype(ml_dtypes.bfloat16), np.dtype(np.uint16), 7),
    "float": _Format(np.dtype(np.float32), np.dtype(np.uint32), 23),
    "double": _Format(np.dtype(np.float64), np.dtype(np.uint64), 52),
}

# A type name, or a literal: literals take the type named last before them in their line.
_TOKEN = re.compile(
    r"(?P<type>\b(?:half|bfloat|float|double)\b)"
    r"|(?<![\w.%@$\"-])(?P<literal>[-+]?\d+\.\d+(?:e[-+]?\d+)?|f0x[0-9A-Fa-f]+|[-+](?:inf|qnan|s?nan\(0x[0-9A-Fa-f]+\)))(?![\w.\"])"
    r"|(?P<string>\"[^\"\n]*\")"
)
_MAY_NEED_IT = re.compile(r"\d\.\d|f0x|[-+](?:inf|qnan|s?nan)|bfloat")  # most lines do not, and finding out takes a quarter of the time


def mend(text: str) -> str:
    """LLVM IR text whose float literals every version of LLVM reads alike. Raises ValueError for a literal without a type."""
    return "\n".join([_mended(line) if _MAY_NEED_IT.search(line) else line for line in text.split("\n")])


def _mended(line: str) -> str:
    type_ = ""

    def replace(match: re.Match[str]) -> str:
        nonlocal type_
        if match["literal"] is not None:
            if not type_:
                raise ValueError(f"float literal {match['literal']} has no type before it")
            return _hexadecimal(match["literal"], type_)
        if match["type"] is not None:
            type_ = match["type"]
            return "i16" if type_ == "bfloat" else type_
        return match[0]

    return _TOKEN.sub(replace, line)


def _hexadecimal(literal: str, type_: str) -> str:
    form = _FORMATS[type_]
    bits = _bits(literal, form)
    if type_ == "half":
        return f"0xH{bits:04X}"
    if type_ == "bfloat":
        return str(bits)
    if type_ == "float":
        bits = _widened(bits)
    return f"0x{bits:016X}"


def _bits(literal: str, form: _Format) -> int:
    if literal.startswith("f0x"):
        return int(literal[3:], 16)
    sign, exponent = _sign_and_exponent(literal, form)
    body = literal.lstrip("+-")
    if body == "inf":
        return sign | exponent
    if body == "qnan":
        return sign | exponent | 1 << (form.fraction - 1)
    if body.startswith("nan("):
        return sign | exponent | 1 << (form.fraction - 1) | int(body[4:-1], 16)
    if body.startswith("snan("):
        return sign | exponent | int(body[5:-1], 16)
    return int(np.array(float(literal)).astype(form.numpy).view(form.bits))


def _sign_and_exponent(literal: str, form: _Format) -> tuple[int, int]:
    width = form.bits.itemsize * 8
    return (1 << (width - 1)) * literal.startswith("-"), (1 << (width - 1)) - (1 << form.fraction)


def _widened(bits: int) -> int:
    """The bits of the double of the same value as the float of these bits, NaN payloads kept, quiet or not."""
    if bits & 0x7F800000 == 0x7F800000:
        return (bits & 0x80000000) << 32 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
    return int(np.array(bits, np.uint32).view(np.float32).astype(np.float64).view(np.uint64))
