"""The element types that programs may use, with their NumPy, MLIR and torch spellings.

Free of MLIR: the runtime reads this module when it dispatches a call.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

try:
    from ml_dtypes import bfloat16
except ImportError:  # where bundles are run with NumPy alone (docs/bundles.md): its arrays are then of two bytes that nobody computes with
    bfloat16 = [("bfloat16", "<u2")]


class Category(IntEnum):
    """torch's promotion categories, in their order: a higher one wins."""

    BOOL = 0
    INT = 1
    FLOAT = 2
    COMPLEX = 3


@dataclass(frozen=True)
class DType:
    """One element type. `name` is what MLIR's builtin types call it without sign; `mlir` is torch's spelling."""

    name: str  # f32, i64, u8, bool: how docs, events and #tierup.profiled spell it
    mlir: str  # f32, si64, ui8, i1: how !torch.vtensor spells it
    numpy: np.dtype
    category: Category
    code: int  # torch's ScalarType number, as in `torch.constant.int 6` for a dtype argument

    @property
    def itemsize(self) -> int:
        """How many bytes an element takes."""
        return self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        """Whether the elements are floating-point numbers."""
        return self.category is Category.FLOAT

    @property
    def signed(self) -> bool:
        """Whether the elements are integers that may be negative."""
        return self.numpy.kind == "i"

    @property
    def range(self) -> tuple[int, int]:
        """The least and the greatest of integers, or of truth values."""
        if self.category is Category.BOOL:
            return 0, 1
        info = np.iinfo(self.numpy)
        return int(info.min), int(info.max)

    @property
    def of_numpy_alone(self) -> bool:
        """Whether PyTorch has the dtype but few ops on it: its programs with such tensors stay its own."""
        return self.numpy.kind == "u" and self.itemsize > 1

    @property
    def is_complex(self) -> bool:
        """Whether the elements are complex numbers: two floats, as `part` says."""
        return self.category is Category.COMPLEX

    @property
    def part(self) -> DType:
        """What the real part of an element is: of a complex number one of its two floats, of all others itself."""
        return (f32 if self.itemsize == 8 else f64) if self.is_complex else self

    def __repr__(self) -> str:
        return self.name


def _row(name: str, mlir: str, numpy: Any, category: Category, code: int) -> DType:
    return DType(name, mlir, np.dtype(numpy), category, code)


u8 = _row("u8", "ui8", np.uint8, Category.INT, 0)
i8 = _row("i8", "si8", np.int8, Category.INT, 1)
i16 = _row("i16", "si16", np.int16, Category.INT, 2)
i32 = _row("i32", "si32", np.int32, Category.INT, 3)
i64 = _row("i64", "si64", np.int64, Category.INT, 4)
f16 = _row("f16", "f16", np.float16, Category.FLOAT, 5)
f32 = _row("f32", "f32", np.float32, Category.FLOAT, 6)
f64 = _row("f64", "f64", np.float64, Category.FLOAT, 7)
bool_ = _row("bool", "i1", np.bool_, Category.BOOL, 11)
bf16 = _row("bf16", "bf16", bfloat16, Category.FLOAT, 15)
u16 = _row("u16", "ui16", np.uint16, Category.INT, 27)
u32 = _row("u32", "ui32", np.uint32, Category.INT, 28)
u64 = _row("u64", "ui64", np.uint64, Category.INT, 29)
c64 = _row("c64", "complex<f32>", np.complex64, Category.COMPLEX, 9)
c128 = _row("c128", "complex<f64>", np.complex128, Category.COMPLEX, 10)

ALL: tuple[DType, ...] = (bool_, u8, i8, i16, i32, i64, f16, bf16, f32, f64, u16, u32, u64)
OF_TORCH = tuple(d for d in ALL if not d.of_numpy_alone)
FLOATS = tuple(d for d in ALL if d.is_float)
INTS = tuple(d for d in ALL if d.category is Category.INT)

COMPLEX = (c64, c128)  # those of which only ops whose rows say `takes_complex` have operands and results (docs/architecture.md)
_KNOWN = (*ALL, *COMPLEX)

BY_NAME = {d.name: d for d in _KNOWN}
BY_MLIR = {d.mlir: d for d in _KNOWN}
BY_CODE = {d.code: d for d in _KNOWN}
_BY_NUMPY = {d.numpy: d for d in _KNOWN}
_CODES = {d.numpy: d.code for d in _KNOWN}
NUMPY_BY_CODE = {code: dtype for dtype, code in _CODES.items()}


def refuses_some(target: DType, source: DType, *, weak: bool) -> bool:
    """Whether an assignment of a NumPy scalar, or of a Python number (`weak`), to elements of `target` may raise: signed integers refuse
    what they cannot hold, unsigned ones do so of Python's numbers alone."""
    is_asked = target.category is Category.INT and (weak or target.signed)
    return is_asked and not np.can_cast(source.numpy, target.numpy, "safe")


def code_of(dtype: np.dtype) -> int | None:
    """torch's ScalarType number of a NumPy dtype, also of one that programs cannot hold; None where torch has none."""
    return _CODES.get(dtype)


def from_numpy(dtype: Any) -> DType | None:
    """The element type of a NumPy dtype in native byte order; None for one that programs cannot hold (object, >f4, ...)."""
    return _BY_NUMPY.get(np.dtype(dtype))


def largest(dtype: np.dtype) -> float:
    """The largest finite number of a NumPy dtype of floats."""
    return 2.0**127 * (2 - 2.0**-7) if dtype == bf16.numpy else float(np.finfo(dtype).max)


def spelled(dtype: np.dtype) -> str:
    """`f32`: how docs, events and specs spell a NumPy dtype; one that programs cannot hold as NumPy does."""
    known = from_numpy(dtype) if dtype.isnative else None
    return str(dtype) if known is None else known.name


def native(dtype: np.dtype) -> np.dtype:
    """A dtype in native byte order: itself where it is that, or has none, as variable strings have."""
    return dtype if dtype.isnative else dtype.newbyteorder("=")


def scalar_type(dtype: np.dtype) -> str:
    """torch's name of an element type in its messages: Float, Long, ..."""
    known = from_numpy(dtype)
    return _SCALAR_TYPES[known.name] if known else str(dtype)


_SCALAR_TYPES = {
    "bool": "Bool", "u8": "Byte", "i8": "Char", "i16": "Short", "i32": "Int", "i64": "Long",
    "u16": "UInt16", "u32": "UInt32", "u64": "UInt64",
    "f16": "Half", "bf16": "BFloat16", "f32": "Float", "f64": "Double",
}  # fmt: skip
