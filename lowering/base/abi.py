"""The one ABI of native functions: what a caller passes, what comes back, and the metadata that says so.

    int32 kernel(const Argument *arguments, Result *results)

It returns 0 when done, `EXIT_BASE + n` when it left at exit site n, `ERROR_BASE + n` when error site n saw a value that the
program cannot take (an index out of range, a zero divisor). It writes to fresh result buffers only, never to an argument,
so that a caller may always throw the results away and run tier 0 instead, which raises the user's exception or goes on. With
INTERRUPTED it left because the handler of a signal raised: the exception is set (`lowering/externals/polling.py`).
What the program writes to an argument comes back as a result of kind ARGUMENT: the caller copies it over when the status
is 0.

A kernel with exit sites finds `live_words(artifact.exits)` words (int64) behind its Results. When it leaves at an exit, they hold what
the site's `live` says that is not an argument's: first the number of ALLOCATED arrays, then for each of these its owner; then, one after
the other, those of a list in its place: a SCALAR's 8 bytes; for an ALLOCATED array the address of its first element, its sizes, its
strides (in elements). An owner is the address of memory from malloc that the caller must free, once, however many arrays lie in it. At any
other status the words mean nothing.

Free of MLIR and LLVM, and picklable: a cached artifact needs no compiler.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import field
from enum import Enum
from typing import Union

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import Dim, Expr, symbol

DONE = 0
EXIT_BASE = 1
ERROR_BASE = 1 << 16
INTERRUPTED = 1 << 30

INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1
MOST_BY_NAME = 1 << 30  # the largest int argument that a symbol stands for: a product of two fits 64 bits


class Argument(ctypes.Structure):
    """One flat argument. Array: address of element 0, sizes and strides (bytes, int64[rank]). Scalar: its 8 bytes
    (int64, float64 bits, bool as 0 or 1) in `data`, the other two null."""

    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.c_void_p), ("strides", ctypes.c_void_p)]


class Result(ctypes.Structure):
    """One flat result slot.

    BUFFER, ARGUMENT: the caller sets `data` to a fresh buffer, dense in the result's order of dims (64-byte alignment is not promised), and
    `dims` to its int64 sizes. ALLOCATED: the kernel sets `data` to memory from malloc that the caller must free, and fills the
    caller's `dims`. SCALAR: the kernel stores the 8 bytes in `data`.
    """

    _fields_ = [("data", ctypes.c_void_p), ("dims", ctypes.c_void_p)]


class ArgumentKind(Enum):
    """What an argument is: an array, or a Python number."""

    ARRAY = "array"
    INT = "int"
    FLOAT = "float"
    BOOL = "bool"
    __hash__ = object.__hash__  # Enum's is a line of Python, and keys of profiles are full of these


class Layout(Enum):
    """The stride classes that code is generated for."""

    CONTIGUOUS = "contiguous"  # C order; code may assume it
    COLUMNS = "columns"  # Fortran order, of two dims and more; code may assume it
    STRIDED = "strided"  # any strides; code reads them
    __hash__ = object.__hash__


@dataclass(frozen=True)
class ArgumentSpec:
    """What a kernel was compiled for, argument by argument. The guards of a version hold exactly this.

    `sizes`: an int is compiled in; a string is a symbol: any size of at least 2, equal wherever the same name stands. `value`: that of an
    int may be a symbol, too, for at most `MOST_BY_NAME`.
    """

    kind: ArgumentKind
    dtype: str = ""  # DType.name, arrays only
    sizes: tuple[int | str, ...] = ()
    layout: Layout = Layout.CONTIGUOUS
    value: int | float | bool | str | None = None  # scalars only: a number is compiled in

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names that it gives to sizes, or to its value."""
        return tuple([size for size in (*self.sizes, self.value) if isinstance(size, str)])

    @property
    def assumed(self) -> int | float | bool | None:
        """The number that its value is; None where any is taken, or any that a symbol stands for."""
        return None if isinstance(self.value, str) else self.value


class ResultKind(Enum):
    """How a result of native code becomes the user's."""

    BUFFER = "buffer"  # a fresh array of sizes known from the arguments
    ALLOCATED = "allocated"  # a fresh array whose sizes the kernel found at run time
    ARGUMENT = "argument"  # new contents for argument `argument`: copied over it when done; no result for the user
    WRITTEN = "written"  # ... which the kernel writes itself, and puts back where it fails
    ALIAS = "alias"  # the user gets argument `argument` itself
    VIEW = "view"  # the user gets a view of argument `argument`, described by offset and strides
    SCALAR = "scalar"
    NONE = "none"


@dataclass(frozen=True)
class ResultSpec:
    """One result, in the order of the program's results; write-backs (ARGUMENT, WRITTEN) come after them."""

    kind: ResultKind
    dtype: str = ""  # DType.name; for SCALAR: int, float or bool
    sizes: tuple[Dim, ...] = ()  # ints and expressions over the argument symbols; ALLOCATED: only its length counts
    argument: int = -1  # ARGUMENT, WRITTEN, ALIAS, VIEW
    offset: Dim = 0  # VIEW: elements from the argument's element 0; `stride_symbol`s allowed
    strides: tuple[Dim, ...] = ()  # VIEW: in elements; `stride_symbol`s allowed
    order: tuple[int, ...] = ()  # BUFFER: its dims from the outermost in memory to the innermost; () where that is their own order
    read_only: bool = False  # BUFFER, ALLOCATED, VIEW: an array that cannot be written
    in_place: bool = False  # ARGUMENT: the array lies as its new contents do, so that the kernel may write there


def dense_strides(sizes: Sequence[Dim], order: Sequence[int]) -> tuple[Dim, ...]:
    """The strides, in elements, of an array that fills its memory with its dims in that order."""
    strides: list[Dim] = [0] * len(sizes)
    step: Dim = 1
    for d in reversed(order):
        strides[d], step = step, step * sizes[d]
    return tuple(strides)


def scalar_bits(kind: ArgumentKind, value: int | float | bool) -> int:
    """The 8 bytes of a scalar argument as an int64. Guards compare these: NaN is NaN, -0.0 is not 0.0.
    Raises struct.error beyond 64 bits."""
    packed = struct.pack("=d" if kind is ArgumentKind.FLOAT else "=q", value)
    return int(struct.unpack("=q", packed)[0])


def stride_symbol(argument: int, dim: int) -> Expr:
    """The stride, in elements, of a dim of an array argument: what views of STRIDED arguments are described with."""
    return symbol(f"stride{argument}_{dim}", low=INT64_MIN)


@dataclass(frozen=True)
class ErrorSite:
    """A place in the program whose check failed: for explain(); the exception itself comes from tier 0."""

    op: str
    location: str


@dataclass(frozen=True)
class ExitSite:
    """A bailout of the program: the kernel leaves with status `EXIT_BASE + index` where its assumption fails. `live`: where each of its
    operands then is, in their order: ALIAS (argument `argument` itself), VIEW of an argument, NONE, or handed over: SCALAR, ALLOCATED. A
    tuple of these is a list."""

    index: int
    op: str
    location: str
    live: tuple[Live, ...]


Live = Union[ResultSpec, tuple["Live", ...]]


def words_of(live: Live) -> int:
    """How many of the live words one live value takes."""
    if isinstance(live, tuple):
        return sum(map(words_of, live))
    if live.kind is ResultKind.ALLOCATED:
        return 2 + 2 * len(live.sizes)
    return 1 if live.kind is ResultKind.SCALAR else 0


def live_words(exits: tuple[ExitSite, ...]) -> int:
    """How many words a kernel with these exits finds behind its Results."""
    return max((1 + sum(map(words_of, site.live)) for site in exits), default=0)


@dataclass(frozen=True)
class Request:
    """All that a compile depends on. Equal requests give equal artifacts.

    `ir` is the text of a module that keeps the `specialized` contract, but for bailouts, which may stand in its public function, `entry`.
    `force`: tests may make each of them fail at will (`load.NativeCode.force`).
    """

    ir: str
    entry: str
    arguments: tuple[ArgumentSpec, ...]
    level: int = 2  # LLVM optimisation: 1 compiles fast, 2 is full
    fast_math: bool = False  # contraction across the user's operations: off unless an option asks
    threads: int = 1
    target: str = ""  # "" is the host; else "triple:cpu:features"
    force: bool = False
    tf32: bool = False  # f32 products on a device may round their operands to 10 bits of mantissa


@dataclass(frozen=True)
class Artifact:
    """A compile's result: a relocatable object and what a caller must know about it."""

    object: bytes
    symbol: str  # the kernel, of the type in the module docstring
    arguments: tuple[ArgumentSpec, ...]
    results: tuple[ResultSpec, ...]
    error_sites: tuple[ErrorSite, ...] = ()
    exits: tuple[ExitSite, ...] = ()
    forced: str = ""  # a symbol, two int64: the bailout, by its index, and the evaluation at which it is lost; "" when not asked for
    externals: tuple[str, ...] = ()  # library symbols the object calls: cblas_sgemm, ...
    reads_across: tuple[int, ...] = ()  # the arguments of which loops read elements that are no neighbours
    turns: tuple[int, ...] = ()  # those that are gone through in strips, since other arrays lie the other way
    work: int = 0  # a rough count of operations; 0 when sizes are symbolic
    stages: dict[str, str] = field(default_factory=dict)  # text of linalg, llvm, asm when asked for
    timings_ms: dict[str, float] = field(default_factory=dict)
