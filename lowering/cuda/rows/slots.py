"""Which rows fit in registers: what the ops of a row hand to one another stays with the threads that computed it.

    slots = plan(body)                 # None for ops of another kind
    slots.threads_and_slots()          # None for rows that are too long

Each thread has a slot for each of its elements, in each buffer that more than one op touches (slots.py). A row is read from memory
once, and written once.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.aliasing import ALLOCATIONS, VIEWS, base, may_alias
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import bytes_of
from tierup.lowering.building.generics import is_identity
from tierup.lowering.cuda.rows.combining import combiners

_WORDS = 48  # registers of 32 bits that a thread's slots may take, of 64 where a block has 1024 threads
_MOST = 16  # slots of a thread in each buffer
_EACH = 8  # elements of a row that a thread takes before there is another warp
_LEAST_THREADS, _OPEN_THREADS, _MOST_THREADS = 32, 512, 1024


@dataclass
class Slots:
    """A loop over rows as work in registers. `length`: of a row, None where launches know it; `words`: registers that one slot
    takes in all buffers. `held`: the buffers that have slots; `own`: rows and numbers in memory of the loop alone: it is never touched."""

    body: ir.Block
    length: int | None
    rows: list[ir.Value]
    words: int
    held: list[ir.Value]
    own: set[ir.Value]

    def threads_and_slots(self) -> tuple[int, int] | None:
        """For rows of a known length; None where they are too long. For others: the most of both."""
        most = _MOST
        while most * self.words > _WORDS:
            most //= 2
        if self.length is None:
            return _OPEN_THREADS, most
        threads = _LEAST_THREADS
        while threads < _OPEN_THREADS and threads * min(_EACH, most) < self.length:
            threads *= 2
        if threads * most < self.length:
            threads = _MOST_THREADS
        slots = -(-self.length // threads)
        return (threads, slots) if slots <= most else None

    def size(self) -> ir.Value:
        """The length of a row, at the insertion point, which is before the loop."""
        return b.index(self.length) if self.length is not None else b.dim(*next(s for v in self.rows if (s := size(v, 0, self.body))))


def plan(body: ir.Block) -> Slots | None:
    """How a loop over rows with this body runs in registers: ops of one loop each, all of the same length, on whole rows and numbers.
    None for any other."""
    ops = _ops(body)
    along = [op for op in ops if op.iterators]
    if all(op.is_parallel for op in ops) or not all(_is_known(op) for op in ops):
        return None
    rows = list(dict.fromkeys(v for op in along for v in op.buffers if ir.ShapedType(v.type).rank))
    lengths = {None if _is_open(v) else ir.ShapedType(v.type).get_dim_size(0) for v in rows}
    length = next((n for n in lengths if n is not None), None)
    if len(lengths) != 1 or not _hang_together(along) or length == 0 or (length is None and not any(size(v, 0, body) for v in rows)):
        return None
    written = {v for op in ops for v in op.buffers[op.reads :]}
    if any(v != w and (base(v) == base(w) or may_alias(base(v), base(w))) for w in written for op in ops for v in op.buffers):
        return None
    if not all(_is_set_first(v, ops) for v in written):
        return None
    own = {v for v in written if is_own(v, body)}
    held = [v for v in rows if v in own or sum(_reads(op, v) for op in along) > (v not in written)]
    words = max(sum(max(1, bytes_of(ir.ShapedType(v.type).element_type) // 4) for v in held), 1)
    return Slots(body, length, rows, words, held, own) if words * 2 <= _WORDS else None


def _ops(body: ir.Block) -> list[Structured]:
    """The linalg ops of a loop's body; none where anything else but views and arithmetic stands there."""
    found = []
    for view in list(body.operations)[:-1]:
        op = view.operation
        structured = Structured.of(op)
        if structured is not None:
            found.append(structured)
        elif op.name not in (*VIEWS, "memref.dim") and not op.name.startswith("arith."):
            return []
    return found


def _element(buffer: ir.Value) -> str:
    return str(ir.ShapedType(buffer.type).element_type)


def _is_known(op: Structured) -> bool:
    """Whether an op goes along the row alone, touches element i of rows at its point i, and reduces to numbers by an op that is known."""
    if len(op.iterators) > 1 or any(_element(v) not in dtypes.BY_NAME for v in op.buffers):
        return False
    if not all(is_identity(m) for m in op.maps if len(m.results)) or any(inner.name == "memref.load" for inner in b.walk(op.op)):
        return False
    ranks = {ir.ShapedType(v.type).rank for v in op.buffers[op.reads :]}
    return ranks == {len(op.iterators)} if op.is_parallel else ranks == {0} and combiners(op) is not None


def _is_open(buffer: ir.Value) -> bool:
    return bool(ir.ShapedType(buffer.type).is_dynamic_dim(0))


def size(buffer: ir.Value, axis: int, body: ir.Block) -> tuple[ir.Value, int] | None:
    """A buffer from outside of a loop's body, and its axis that is as long as this one of `buffer`; None where there is none."""
    made = b.defining_op(buffer)
    while made is not None and made.name == "memref.subview" and made.block == body:
        source, first = made.operands[0], ir.DenseI64ArrayAttr(made.attributes["static_sizes"])[0]
        if ir.ShapedType(source.type).rank != ir.ShapedType(buffer.type).rank + 1 or first != 1:
            return None
        buffer, axis, made = source, axis + 1, b.defining_op(source)
    return (buffer, axis) if made is None or made.block != body else None


def _hang_together(ops: Sequence[Structured]) -> bool:
    """Whether each op's loop is as long as the others', since a row leads from one to the next."""
    reached: set[ir.Value] = set()
    left = list(ops)
    while left:
        more = [op for op in left if not reached or any(v in reached for v in op.buffers)][: None if reached else 1]
        if not more:
            return False
        left = [op for op in left if op not in more]
        reached |= {v for op in more for v in op.buffers if ir.ShapedType(v.type).rank}
    return True


def _reads(op: Structured, buffer: ir.Value) -> bool:
    return any(v == buffer and op.read_of(i) for i, v in enumerate(op.buffers))


def _is_set_first(buffer: ir.Value, ops: Sequence[Structured]) -> bool:
    """Whether the first op that touches a buffer sets it, without a look at what it holds."""
    return not _reads(next(op for op in ops if buffer in op.buffers), buffer)


def is_own(row: ir.Value, body: ir.Block) -> bool:
    """Whether a row is of memory that nothing but the body's ops looks at, but to free it or to ask for its size."""
    allocation = base(row)
    made = b.defining_op(allocation)
    if made is None or made.name not in ALLOCATIONS:
        return False

    def shows_only_it(buffer: ir.Value) -> bool:
        for use in buffer.uses:
            user = use.owner.operation
            if user.name in VIEWS:
                if not shows_only_it(user.results[0]):
                    return False
            elif user.name not in ("memref.dealloc", "memref.dim") and (buffer != row or user.block != body):
                return False
        return True

    return shows_only_it(allocation)
