"""An operand's tiles on their way to shared memory, and how they lie there.

Lines lie as the operand's lie in memory, along the axis in which neighbours are neighbours. A thread copies 16 bytes at a time (a chunk) by
cp.async, zeros beyond the edges. Where lines do not begin at multiples of 16 bytes (asked at run time if sizes are symbolic), elements are
moved one by one.

Chunks are swizzled: chunk c of line i lies at c xor (i % 8), where a line is 128 bytes or more; of shorter lines two or four share their
128 bytes and the number. So the eight threads that copy a line, and those that fetch one chunk of eight lines, meet different banks, and
no byte is spent on padding. The scheme is that of NVIDIA's CUTLASS ("Efficient GEMM in CUDA"; its layouts crosswise and congruous).
"""

from __future__ import annotations

from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import select
from tierup.lowering.building.loops import either
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.products.operand_lines import is_straight
from tierup.lowering.cuda.products.product import Operand, length
from tierup.lowering.cuda.products.tensor_cores import Operands, operands_of
from tierup.lowering.cuda.products.tile_order import Side

_TOKEN = "!nvgpu.device.async.token"
_TOGETHER = 4  # elements that a thread moves between two waits for memory
_BANKS = 8  # of 16 bytes: what all banks give in a clock
ROWS_OF_MATRIX = 8  # lines that one 8 x 8 matrix of ldmatrix takes


@dataclass(frozen=True)
class Layout(Operand):
    """An operand's tiles: `stages` of lines x per_line elements, `side` elements along m or n, `depth` along k."""

    stages: int
    side: int
    depth: int

    @property
    def kind(self) -> Operands:
        """How the tensor cores multiply its elements."""
        return operands_of(self.element)

    @property
    def lines(self) -> int:
        """How many lines a tile has."""
        return self.side if self.along_k else self.depth

    @property
    def per_line(self) -> int:
        """How many elements a line has."""
        return self.depth if self.along_k else self.side

    @property
    def shared_type(self) -> ir.Type:
        """The type of the buffer in shared memory that holds all stages."""
        return gpu.shared_type([self.stages, self.lines, self.per_line], self.element)

    @property
    def _fetched_by_ldmatrix(self) -> bool:
        """It transposes halves only."""
        return self.along_k or not self.kind.is_tf32

    def swizzled(self, line: ir.Value, chunk: ir.Value) -> ir.Value:
        """The first element in its line of where a chunk lies."""
        chunks = self.per_line // self.kind.chunk
        together = max(1, _BANKS // chunks)  # lines in 128 bytes
        turns = min(chunks, _BANKS)
        group = line // together if together > 1 else line
        if self._fetched_by_ldmatrix:
            turn = group % turns
        else:  # a warp fetches two chunks of each of four lines
            turn = group % (turns // 2) * 2
        return (chunk ^ turn) * self.kind.chunk

    def is_straight(self) -> ir.Value | bool:
        """Whether 16 bytes can be copied at a time: always, never, or an i1."""
        return is_straight(self.product, self.operand, self.kind.chunk)


@dataclass(frozen=True)
class StagedTiles:
    """The copies of one operand in a kernel."""

    layout: Layout
    threads: int
    at: Side
    straight: ir.Value | bool

    def fetch(self, stage: ir.Value, depth: ir.Value) -> None:
        """Begin the copies of the tile at a position along k into a stage; beyond the end of k, of zeros."""
        if self.straight is True:
            self._copy(stage, depth)
        elif self.straight is False:
            self._move(stage, depth)
        else:
            either(self.straight, [], lambda: self._copy(stage, depth), lambda: self._move(stage, depth))

    def _copy(self, stage: ir.Value, depth: ir.Value) -> list[ir.Value]:
        """The threads copy a chunk each, or as many zeros, until the tile is whole."""
        layout, chunk = self.layout, self.layout.kind.chunk
        per_line = layout.per_line // chunk
        for start in range(0, layout.lines * per_line, self.threads):
            number = self.at.thread + start
            line, here = number // per_line, number % per_line
            along, below, there = self._position(depth, line, here * chunk)
            places = self.at.places(layout, along, below)
            taken = select(there, b.index(chunk), 0)
            segments = ir.DenseI32ArrayAttr.get([1, 3, 1, len(places), 1])
            b.op(
                "nvgpu.device_async_copy", [self.at.shared, stage, line, layout.swizzled(line, here), layout.buffer, *places, taken],
                [ir.Type.parse(_TOKEN)],
                dstElements=ir.IntegerAttr.get(b.index_type(), chunk), bypassL1=ir.UnitAttr.get(), operandSegmentSizes=segments,
            )  # fmt: skip
        return []

    def _move(self, stage: ir.Value, depth: ir.Value) -> list[ir.Value]:
        """The same element by element: a loop over a few at a time, whose addresses need no registers outside."""
        layout, chunk = self.layout, self.layout.kind.chunk
        total = layout.lines * layout.per_line
        together = min(_TOGETHER, total // self.threads)
        with gpu.strided(self.at.thread, b.index(total), b.index(self.threads * together)) as first:
            found = []
            for start in range(0, self.threads * together, self.threads):
                number = first + start
                line, inside = number // layout.per_line, number % layout.per_line
                along, below, there = self._position(depth, line, inside)
                places = self.at.places(layout, select(there, along, 0), select(there, below, 0))  # beyond the end some place that is
                read = b.load(layout.buffer, *places)
                at = layout.swizzled(line, inside // chunk) + inside % chunk
                found.append((select(there, read, 0), line, at))
            for value, line, at in found:  # after the loads: they wait for memory together
                b.store(value, self.at.shared, stage, line, at)
        return []

    def _position(self, depth: ir.Value, line: ir.Value, inside: ir.Value) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Where an element of a tile lies along m or n and along k, and whether it is there."""
        side, deep = (line, inside) if self.layout.along_k else (inside, line)
        along, below = self.at.corner + side, depth + deep
        known = length(self.layout.product.op, self.layout.product.k)
        cut = known is None or known % self.layout.depth  # else the tile's first element stands for all
        there = (below if cut else depth) < self.at.k
        known = length(self.layout.product.op, self.layout.line)
        if known is None or known % self.layout.side:
            there = (along < self.at.end) & there
        return along, below, there


def close_group(*, running: int) -> None:
    """The thread's copies since its last group are one. Wait for all its groups but the newest `running`."""
    token = b.value("nvgpu.device_async_create_group", [], ir.Type.parse(_TOKEN))  # printed, it parses again only if no result follows
    b.op("nvgpu.device_async_wait", [token], numGroups=ir.IntegerAttr.get(b.integer_type(32), running))


def following(stage: ir.Value, stages: int) -> ir.Value:
    """The stage after one."""
    later = stage + 1
    return select(later.equals(stages), 0, later)
