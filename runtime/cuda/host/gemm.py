"""A product of buffers as BLAS takes it: matrices in columns, their lines apart by a leading dimension, pages by a stride.

    gemm("ab,bc->ac", Buffer(x, "f32", 0, (2, 3), (3, 1)), Buffer(y, "f32", 0, (3, 4), (4, 1)))
        -> Gemm(m=4, n=2, k=3, a=Matrix(1, False, 4, 0), b=Matrix(0, False, 3, 0), c=Matrix(2, False, 4, 0), batch=1)

BLAS knows columns alone (cuBLAS Library, "Data layout"). A matrix in rows is its transpose in columns, so a result in rows is computed
as its transpose, y' x', where nothing is moved either. Loops of one part (batch, m, n, k) count as one where they lie in one another.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.base.records import dataclass
from tierup.runtime.cuda.host.buffers import Buffer, dense

_INT_MAX = (1 << 31) - 1


@dataclass(frozen=True)
class Matrix:
    """`operand`: 0 is x, 1 is y, 2 the result; `start`: its first element, counted from its memory; `leading`: elements from one column to
    the next; `page`: from one of the batch to the next."""

    operand: int
    transposed: bool
    leading: int
    page: int
    start: int = 0


@dataclass(frozen=True)
class Gemm:
    """c (m x n) = a (m x k) times b (k x n), all in columns, `batch` times. `types`: MLIR's names of operands' and result's elements."""

    m: int
    n: int
    k: int
    a: Matrix
    b: Matrix
    c: Matrix
    batch: int
    types: tuple[str, str]

    @property
    def work(self) -> int:
        """Multiplications."""
        return self.batch * self.m * self.n * self.k


@dataclass(frozen=True)
class _Axis:
    """The loops of one part as one: how many positions, and how far apart in each operand."""

    size: int
    strides: dict[int, int]


def gemm(equation: str, operands: Sequence[Buffer]) -> Gemm | None:
    """A product of x and y into the third of `operands`, or into a fresh buffer in C order. None where BLAS does not take it: nothing to
    compute, axes that no leading dimension describes, more than 32 bits count."""
    inputs, _, output = equation.partition("->")
    terms = [*inputs.split(","), output]
    sizes = {letter: size for term, buffer in zip(terms, operands, strict=False) for letter, size in zip(term, buffer.sizes, strict=True)}
    if 0 in sizes.values():
        return None
    buffers = [*operands, *([dense(None, operands[0].dtype, [sizes[letter] for letter in output])] if len(operands) == 2 else [])]
    x, y, out = (set(term) for term in terms)
    batch, m, n, k = (
        _axis(letters, terms, buffers, sizes)
        for letters in (
            [c for c in output if c in x & y], [c for c in output if c not in y], [c for c in output if c not in x],
            [c for c in terms[0] if c not in out],
        )
    )  # fmt: skip
    if batch is None or m is None or n is None or k is None:
        return None
    for rows, columns, left, right in ((n, m, 1, 0), (m, n, 0, 1)):  # the result's transpose, then the result itself, in columns
        lines = _leading(2, rows, columns)
        if lines is None:
            continue
        a, b = _operand(left, rows, k), _operand(right, k, columns)
        if a is None or b is None:
            return None
        made = [
            Matrix(which, transposed, leading, batch.strides.get(which, 0), buffers[which].offset)
            for which, (transposed, leading) in ((left, a), (right, b), (2, (False, lines)))
        ]
        if max(rows.size, columns.size, k.size, batch.size, *(matrix.leading for matrix in made)) > _INT_MAX:
            return None
        types = operands[0].dtype, buffers[2].dtype
        return Gemm(rows.size, columns.size, k.size, made[0], made[1], made[2], batch.size, types)
    return None


def _axis(letters: Sequence[str], terms: Sequence[str], buffers: Sequence[Buffer], sizes: dict[str, int]) -> _Axis | None:
    """None where the loops do not lie in one another, in some operand."""
    loops = [letter for letter in letters if sizes[letter] != 1]
    count = 1
    for letter in loops:
        count *= sizes[letter]
    strides = {}
    for which, (term, buffer) in enumerate(zip(terms, buffers, strict=True)):
        if not loops or loops[0] not in term:
            continue
        steps = [buffer.strides[term.index(letter)] for letter in loops]
        if min(steps) < 0 or any(s != t * sizes[inner] for s, t, inner in zip(steps, steps[1:], loops[1:], strict=False)):
            return None
        strides[which] = steps[-1]
    return _Axis(count, strides)


def _operand(which: int, rows: _Axis, columns: _Axis) -> tuple[bool, int] | None:
    """Whether a matrix lies in rows, and its leading dimension."""
    for transposed, (along, across) in enumerate(((rows, columns), (columns, rows))):
        leading = _leading(which, along, across)
        if leading is not None:
            return bool(transposed), leading
    return None


def _leading(which: int, along: _Axis, across: _Axis) -> int | None:
    """How far apart the lines of a matrix are, if their elements are neighbours and they do not overlap."""
    if along.size != 1 and along.strides[which] != 1:
        return None
    if across.size == 1:
        return along.size
    return across.strides[which] if across.strides[which] >= along.size else None
