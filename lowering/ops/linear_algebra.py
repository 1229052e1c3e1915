"""Linear algebra: dialect/ops/linear_algebra.py as calls of LAPACK, the routines that NumPy calls, one matrix after the other.

LAPACK has matrices column by column, and overwrites them. So each stack of matrices is copied, transposed, to memory of its own
(`Matrices`), on which the routine works, and what it left there is a tensor again. A routine that reports an error is an error site: tier 0
runs the call again, and raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.ir.structure import module_of
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building import sizes
from tierup.lowering.building.arith import INDEX, SIGNED_INDEX, Scalar, absolute, constant, element_type, of, select
from tierup.lowering.building.loops import nest
from tierup.lowering.building.sizes import Size
from tierup.lowering.externals.blas import PREFIX
from tierup.lowering.ops import tensors
from tierup.lowering.ops.call import Call, Lowering
from tierup.lowering.ops.movement import shape
from tierup.lowering.ops.pointwise.context import NotHandled
from tierup.lowering.ops.products.contractions import stacked
from tierup.lowering.ops.tensors import Tensor, assert_, pointwise

_INT_MAX = (1 << 31) - 1


class Memory:
    """Memory of its own, of these sizes, row-major: what a routine reads and writes. `element`: what it holds at first, by position."""

    def __init__(self, lengths: Sequence[Size], dtype: DType, element: Callable[[list[Scalar]], Scalar] | None = None) -> None:
        self.lengths, self.dtype = lengths, dtype
        known = [ir.ShapedType.get_dynamic_size() if v is None else v for v in sizes.known(lengths)]
        self.buffer = b.alloc(ir.MemRefType.get(known, element_type(dtype)), [v for v in lengths if not isinstance(v, int)])
        if element is not None:
            _each(lengths, lambda *at: self.set(element(list(at)), *at))

    def at(self, matrix: Scalar) -> ir.Value:
        """Where a part of it begins: the first axis is that of the parts."""
        step = sizes.product(self.lengths[1:]) * self.dtype.itemsize
        return _pointer(b.address(self.buffer) + matrix * step)

    @property
    def start(self) -> ir.Value:
        """Where it begins."""
        return _pointer(b.address(self.buffer))

    def get(self, *at: Scalar) -> Scalar:
        """An element, the first unless told."""
        return Scalar(b.load(self.buffer, *(at or [b.index(0)])), self.dtype)

    def set(self, number: Scalar, *at: Scalar) -> None:
        """Write an element, the first unless told."""
        b.store(number, self.buffer, *(at or [b.index(0)]))

    def tensor(self) -> Tensor:
        """What it holds now, when nothing writes to it any more."""
        known = sizes.known(self.lengths)
        type_ = ir.RankedTensorType.get(ir.MemRefType(self.buffer.type).shape, element_type(self.dtype))
        return Tensor(b.value("bufferization.to_tensor", [self.buffer], type_, restrict=ir.UnitAttr.get()), self.dtype, known)


def _pointer(address: Scalar) -> ir.Value:
    return b.value("llvm.inttoptr", [address.cast(dtypes.i64)], ir.Type.parse("!llvm.ptr"))


def _columns(x: Tensor) -> Memory:
    """A stack (matrices, rows, columns) in memory of its own, column by column."""
    return Memory([x.length(0), x.length(2), x.length(1)], x.dtype, lambda at: tensors.element(x, [at[0], at[2], at[1]]))


def _rows(memory: Memory, stack: Sequence[Size]) -> Tensor:
    """The matrices that stand in memory column by column, as a stack of those sizes."""
    x = memory.tensor()
    found = tensors.read(x, [x.length(0), x.length(2), x.length(1)], tensors.dims_map(3, [0, 2, 1]))
    return shape.reshaped(found, [*stack, *found.lengths[1:]])


class Routine:
    """A routine of LAPACK for one dtype, with the numbers that it is given, which lie in memory as Fortran has them: ints, and letters by
    their codes."""

    def __init__(self, c: Call, name: str, dtype: DType, *numbers: Size | str) -> None:
        self._name, self._dtype = f"{PREFIX}{'s' if dtype is dtypes.f32 else 'd'}{name}_", dtype
        self._top = ir.InsertionPoint.at_block_begin(module_of(c.op).regions[0].blocks[0])
        self._count = len(numbers) + 4
        self._slots = Memory([self._count], dtypes.i32)
        *self.numbers, self._room, self._ints, self._asked, self._info = (self._slots.at(b.index(i)) for i in range(self._count))
        for i, number in enumerate(numbers):
            self._slots.set(_int(ord(number) if isinstance(number, str) else number), b.index(i))

    def _slot(self, from_end: int) -> Scalar:
        return b.index(self._count - from_end)

    def __call__(self, *arguments: ir.Value) -> Scalar:
        """Call it, and give what it reports: 0 where all is well."""
        fn.call(self._name, [*arguments, self._info], [], self._top)
        return self._slots.get(self._slot(1))

    def room(self, *arguments: ir.Value, ints: Size | None = None, counted: bool = False) -> list[ir.Value]:
        """The arguments behind these: memory to work in, as much as it asks for, and `ints`, of 0 as many as it asks for. `counted`: it is
        given how many."""
        work, behind = Memory([1], self._dtype), [self._room, *([] if ints is None else [self._asked]), *([self._ints] if counted else [])]
        for asked in (4, 3):
            self._slots.set(b.integer(-1, 32), self._slot(asked))
        self(*arguments, work.start, *behind)
        wanted = work.get().cast(dtypes.i32)
        self._slots.set(wanted, self._slot(4))
        if ints is not None:
            count = self._slots.get(self._slot(2))
            self._slots.set(count, self._slot(3))
            behind[1] = Memory([count.cast(dtypes.i64).cast(INDEX) if ints == 0 and isinstance(ints, int) else ints], dtypes.i32).start
        return [Memory([wanted.cast(dtypes.i64).cast(INDEX)], self._dtype).start, *behind]


def _int(size: Size) -> Scalar:
    """A number for LAPACK, whose ints have 32 bits; a size beyond is an error site."""
    if isinstance(size, int):
        return constant(size, dtypes.i32)
    signed = of(size, SIGNED_INDEX)
    assert_(signed <= _INT_MAX, "a size beyond 32 bits in linear algebra")
    return signed.call("arith.minsi", _INT_MAX).cast(dtypes.i32)


def _each(counts: Sequence[Size], body: Callable[..., None]) -> None:
    """Build a nest of loops that carry nothing."""

    def one(at: list[Scalar], carried: list[ir.Value]) -> list[ir.Value]:
        body(*at)
        return carried

    nest([sizes.value(count) for count in counts], [], one)


def _leading(size: Size) -> Size:
    """The distance of columns, which LAPACK wants to be at least 1."""
    return sizes.greatest(size, 1)


def _gesv(c: Call, a: Tensor, solutions: Memory) -> tuple[Memory, Memory]:
    """The solutions of a stack of systems, which come in the place of the right-hand sides, and what the routine reported of each."""
    n, systems = a.length(1), _columns(a)
    pivots, reports = Memory([n], dtypes.i32), Memory([a.length(0)], dtypes.i32)
    gesv = Routine(c, "gesv", a.dtype, n, solutions.lengths[1], _leading(n))

    def solve(k: Scalar) -> None:
        size, count, leading = gesv.numbers
        reports.set(gesv(size, count, systems.at(k), leading, pivots.start, solutions.at(k), leading), k)

    _each([a.length(0)], solve)
    return solutions, reports


def _refuse(reports: Memory, error: str) -> None:
    """An error site where the routine reported an error of one of the matrices."""
    _each(reports.lengths, lambda k: assert_(reports.get(k).equals(0), error))


def _solve(c: Call) -> Tensor:
    a, right = c.tensor(0), c.tensor(1)
    is_vector = right.rank == 1
    stack, (systems, sides) = stacked(a, shape.unsqueezed(right, 1) if is_vector else right)
    solutions, reports = _gesv(c, systems, _columns(sides))
    _refuse(reports, "Singular matrix")
    found = _rows(solutions, stack)
    return tensors.squeezed(found, range(found.rank - 1)) if is_vector else found


def _inv(c: Call) -> Tensor:
    stack, (a,) = stacked(c.tensor(0))
    solutions, reports = _gesv(c, a, _identities(a.length(0), a.length(1), a.length(2), a.dtype))
    if not torch_name(c.op).endswith("_or_nan"):
        _refuse(reports, "Singular matrix")
        return _rows(solutions, stack)
    found = _rows(solutions, a.lengths[:1])
    valid = [(found, [0, 1, 2]), (reports.tensor(), [0])]
    whole = pointwise(found.lengths, valid, a.dtype, lambda v, info: select(info.equals(0), v, math.nan))
    return shape.reshaped(whole, [*stack, *whole.lengths[1:]])


def _slogdet(c: Call) -> list[Tensor]:
    """The sign of the determinant and the logarithm of its size, added up as NumPy does; 0 and -inf where a pivot is 0."""
    stack, (a,) = stacked(c.tensor(0))
    count, n, dtype, factors = a.length(0), a.length(1), a.dtype, _columns(a)
    pivots, signs, logarithms = Memory([n], dtypes.i32), Memory([count], dtype), Memory([count], dtype)
    getrf = Routine(c, "getrf", dtype, n, _leading(n))

    def one(k: Scalar) -> None:
        size, leading = getrf.numbers
        regular = getrf(size, size, factors.at(k), leading, pivots.start).equals(0)

        def add(at: list[Scalar], so_far: list[Scalar]) -> list[Scalar]:
            (i,), (sign, total) = at, so_far
            pivot = factors.get(k, i, i)
            swapped = pivots.get(i).differs((i + 1).cast(dtypes.i64).cast(dtypes.i32))
            return [select(swapped ^ (pivot < 0), -sign, sign), total + absolute(pivot).call("math.log")]

        sign, total = nest([sizes.value(n)], [constant(1, dtype), constant(0, dtype)], add)
        signs.set(select(regular, sign, 0), k)
        logarithms.set(select(regular, total, -math.inf), k)

    _each([count], one)
    return [shape.reshaped(found.tensor(), stack) for found in (signs, logarithms)]


def _det(c: Call) -> Tensor:
    sign, logarithm = _slogdet(c)
    operands = [tensors.whole(sign), tensors.whole(logarithm)]
    return pointwise(sign.lengths, operands, sign.dtype, lambda s, v: s * v.call("math.exp"))


def _cholesky(uplo: str) -> Lowering:
    def lowered(c: Call) -> Tensor:
        stack, (a,) = stacked(c.tensor(0))
        factors, n, reports = _columns(a), a.length(1), Memory([a.length(0)], dtypes.i32)
        potrf = Routine(c, "potrf", a.dtype, uplo, n, _leading(n))

        def one(k: Scalar) -> None:
            letter, size, leading = potrf.numbers
            reports.set(potrf(letter, size, factors.at(k), leading), k)

        _each([a.length(0)], one)
        _refuse(reports, "Matrix is not positive definite")
        found = _rows(factors, stack)
        row, column = found.rank - 2, found.rank - 1

        def half(v: Scalar) -> Scalar:
            i, j = b.loop_index(row), b.loop_index(column)
            return select(i >= j if uplo == "L" else i <= j, v, 0)

        return tensors.mapped(found, a.dtype, half)

    return lowered


def _eigen(letters: str) -> Lowering:
    """Eigenvalues of the half that the second letter names, and with V for the first one vectors too."""

    def lowered(c: Call) -> Tensor | list[Tensor]:
        stack, (a,) = stacked(c.tensor(0))
        count, n, vectors, reports = a.length(0), a.length(1), _columns(a), Memory([a.length(0)], dtypes.i32)
        values = Memory([count, n], a.dtype)
        syevd = Routine(c, "syevd", a.dtype, *letters, n, _leading(n))
        kind, uplo, size, leading = syevd.numbers
        room = syevd.room(kind, uplo, size, vectors.start, leading, values.start, ints=0, counted=True)

        def one(k: Scalar) -> None:
            reports.set(syevd(kind, uplo, size, vectors.at(k), leading, values.at(k), *room), k)

        _each([count], one)
        _refuse(reports, "Eigenvalues did not converge")
        found = shape.reshaped(values.tensor(), [*stack, n])
        return [found, _rows(vectors, stack)] if letters[0] == "V" else found

    return lowered


def _identities(count: Size, n: Size, m: Size, dtype: DType) -> Memory:
    """What LAPACK leaves as it is of a matrix without elements."""
    return Memory([count, n, m], dtype, lambda at: select(at[1].equals(at[2]), constant(1, dtype), 0))


def _svd(kind: str) -> Lowering:
    """Singular values, and with A all vectors, with S those of these values."""

    def lowered(c: Call) -> Tensor | list[Tensor]:
        stack, (a,) = stacked(c.tensor(0))
        (count, m, n), matrices, reports = a.lengths, _columns(a), Memory([a.length(0)], dtypes.i32)
        k = sizes.least(m, n)
        rows, columns = {"A": (m, n), "S": (k, k), "N": (1, 1)}[kind]
        values = Memory([count, k], a.dtype)
        left, right = (Memory([1, 1, 1], a.dtype),) * 2 if kind == "N" else (
            _identities(count, rows, m, a.dtype), _identities(count, n, columns, a.dtype)
        )  # fmt: skip
        gesdd = Routine(c, "gesdd", a.dtype, kind, m, n, _leading(m), _leading(columns))
        letter, height, width, leading, leading_right = gesdd.numbers
        given = [matrices.start, leading, values.start, left.start, leading, right.start, leading_right]
        room = gesdd.room(letter, height, width, *given, ints=sizes.greatest(8 * k, 1))

        def one(i: Scalar) -> None:
            at = b.index(0) if kind == "N" else i
            parts = [matrices.at(i), leading, values.at(i), left.at(at), leading, right.at(at), leading_right]
            reports.set(gesdd(letter, height, width, *parts, *room), i)

        _each([count], one)
        _refuse(reports, "SVD did not converge")
        found = shape.reshaped(values.tensor(), [*stack, k])
        return found if kind == "N" else [_rows(left, stack), found, _rows(right, stack)]

    return lowered


def _qr_raw(c: Call) -> list[Tensor]:
    """R above the diagonal, below it the reflectors whose factors come second."""
    stack, (a,) = stacked(c.tensor(0))
    (count, m, n), factors = a.lengths, _columns(a)
    tau = Memory([count, sizes.least(m, n)], a.dtype)
    geqrf = Routine(c, "geqrf", a.dtype, m, n, _leading(m))
    height, width, leading = geqrf.numbers
    room = geqrf.room(height, width, factors.start, leading, tau.start)

    def one(k: Scalar) -> None:
        geqrf(height, width, factors.at(k), leading, tau.at(k), *room)  # no error but of wrong arguments

    _each([count], one)
    return [_rows(factors, stack), shape.reshaped(tau.tensor(), [*stack, tau.lengths[1]])]


def _q(is_complete: bool) -> Lowering:
    """The orthogonal factor that reflectors make."""

    def lowered(c: Call) -> Tensor:
        stack, (a, tau_rows) = stacked(c.tensor(0), shape.unsqueezed(c.tensor(1), c.tensor(1).rank))
        count, m, n = a.lengths
        k = sizes.least(m, n)
        columns = m if is_complete else k
        blank = tensors.zeros([count, m, columns], a.dtype)
        kept = sizes.least(n, columns)
        part = shape.sliced(a, [0, 0, 0], [count, m, kept])
        q = _columns(shape.inserted(part, blank, [0, 0, 0], [count, m, kept]))
        tau = Memory([count, k], a.dtype, lambda at: tensors.element(tau_rows, [*at, 0]))
        orgqr = Routine(c, "orgqr", a.dtype, m, columns, k, _leading(m))
        height, width, reflectors, leading = orgqr.numbers
        room = orgqr.room(height, width, reflectors, q.start, leading, tau.start)

        def one(i: Scalar) -> None:
            orgqr(height, width, reflectors, q.at(i), leading, tau.at(i), *room)

        _each([count], one)
        return _rows(q, stack)

    return lowered


def _lstsq(c: Call) -> list[Tensor]:
    """Solutions, residuals (sums of squares; NaN where the rank is not full), ranks and singular values."""
    rcond = c.tensor(2)
    if rcond.rank:
        raise NotHandled
    stack, (a, right) = stacked(c.tensor(0), c.tensor(1))
    (count, m, n), dtype, others = a.lengths, a.dtype, right.length(2)
    high = sizes.greatest(m, n)
    given = shape.inserted(right, tensors.zeros([count, high, others], dtype), [0, 0, 0], [count, m, others])
    matrices, solutions, values = _columns(a), _columns(given), Memory([count, sizes.least(m, n)], dtype)
    ranks, reports, residuals = Memory([count], dtypes.i32), Memory([count], dtypes.i32), Memory([count, others], dtype)
    limit = Memory([1], dtype)
    limit.set(tensors.element(rcond, []))
    gelsd = Routine(c, "gelsd", dtype, m, n, others, _leading(m), _leading(high))
    height, width, columns, leading, leading_right = gelsd.numbers
    head = (height, width, columns)
    behind = (values.start, limit.start, ranks.start)
    room = gelsd.room(*head, matrices.start, leading, solutions.start, leading_right, *behind, ints=0)

    def one(i: Scalar) -> None:
        parts = [matrices.at(i), leading, solutions.at(i), leading_right, values.at(i), limit.start, ranks.at(i)]
        reports.set(gelsd(*head, *parts, *room), i)
        full = ranks.get(i).equals(_int(n))

        def residual(side: Scalar) -> None:
            def add(row: list[Scalar], total: list[Scalar]) -> list[Scalar]:
                v = solutions.get(i, side, row[0] + n)
                return [total[0] + v * v]

            (total,) = nest([sizes.value(sizes.greatest(m - n, 0))], [constant(0, dtype)], add)
            residuals.set(select(full, total, math.nan), i, side)

        _each([others], residual)

    _each([count], one)
    _refuse(reports, "SVD did not converge in Linear Least Squares")
    x = shape.sliced(_rows(solutions, [count]), [0, 0, 0], [count, n, others])
    return [
        shape.reshaped(x, [*stack, n, others]), shape.reshaped(residuals.tensor(), [*stack, others]), shape.reshaped(ranks.tensor(), stack),
        shape.reshaped(values.tensor(), [*stack, values.lengths[1]]),
    ]  # fmt: skip


_BY_NAME: dict[str, Lowering] = {
    "solve": _solve, "inv": _inv, "inv_or_nan": _inv, "det": _det, "slogdet": _slogdet,
    "cholesky_lo": _cholesky("L"), "cholesky_up": _cholesky("U"),
    "eigvalsh_lo": _eigen("NL"), "eigvalsh_up": _eigen("NU"), "eigh_lo": _eigen("VL"), "eigh_up": _eigen("VU"),
    "svd": _svd("N"), "svd_s": _svd("S"), "svd_f": _svd("A"),
    "qr_r_raw": _qr_raw, "qr_reduced": _q(False), "qr_complete": _q(True), "lstsq": _lstsq,
    "as_pinv": lambda c: c.tensor(0),
}  # fmt: skip
LOWERINGS: dict[str, Lowering] = {f"tierup.linalg_{name}": lowered for name, lowered in _BY_NAME.items()}
