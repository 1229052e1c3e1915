"""Memory of the emulated device: NumPy arrays in which every access is checked for bounds, for values never written and for data races.

Between two barriers no two threads of a block may touch one element where one of them changes it; in a launch no two blocks may.
A store of the value that is there already changes nothing and is allowed, as several threads that all report one error do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

MANY = -1  # more than one thread
_ATOMIC = -2

DTYPES: dict[str, Any] = {
    "i1": np.bool_, "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "index": np.int64,
    "f16": np.float16, "f32": np.float32, "f64": np.float64, "bf16": ml_dtypes.bfloat16,
}  # fmt: skip


class Fault(AssertionError):
    """The kernel did what no kernel may do."""


class Memory:
    """A piece of memory, flat. `written`: which elements hold a value. `is_shared`: by the threads of one block; else by all blocks."""

    def __init__(self, what: str, data: np.ndarray, *, written: bool, is_shared: bool = False) -> None:
        self.what, self.data, self.is_shared = what, data, is_shared
        self.written = np.full(data.shape, written)
        self.is_float = data.dtype.kind not in "biu"
        self.reads: dict[int, int] = {}  # since the last barrier: element -> the thread, or MANY
        self.writes: dict[int, int] = {}
        self._block: tuple[set[int], set[int]] = (set(), set())
        self._launch: tuple[set[int], set[int]] = (set(), set())

    @classmethod
    def fresh(cls, what: str, count: int, dtype: str, *, is_shared: bool = False) -> Memory:
        """Never written; what it holds by accident is the worst that there is."""
        kind = np.dtype(DTYPES[dtype])
        poison = True if kind.kind == "b" else np.iinfo(kind).min + 77 if kind.kind in "iu" else np.nan
        return cls(what, np.full(count, poison, kind), written=False, is_shared=is_shared)

    def load(self, i: int, me: int) -> Any:
        writer = self.writes.get(i)
        if writer is not None and writer != me:
            raise Fault(f"data race: thread {me} reads element {i} of {self.what}, which thread {writer} writes")
        reader = self.reads.setdefault(i, me)
        if reader != me:
            self.reads[i] = MANY
        if not self.written[i]:
            raise Fault(f"thread {me} reads element {i} of {self.what}, which nothing wrote")
        value = self.data[i]
        return value if self.is_float else int(value)

    def store(self, i: int, value: Any, me: int) -> None:
        if self.written[i]:
            old = self.data[i]
            if old == value or (old != old and value != value):
                return
        for others, does in ((self.writes, "writes"), (self.reads, "reads")):
            other = others.get(i, me)
            if other != me:
                raise Fault(f"data race: thread {me} writes element {i} of {self.what}, which thread {other} {does}")
        self.writes[i] = me
        self.data[i] = value
        self.written[i] = True

    def forget(self, i: int, me: int) -> None:
        """An asynchronous copy of thread `me` will write an element at some time."""
        for others, does in ((self.writes, "writes"), (self.reads, "reads")):
            other = others.get(i, me)
            if other != me:
                raise Fault(f"data race: a copy of thread {me} writes element {i} of {self.what}, which thread {other} {does}")
        self.writes[i] = me
        self.written[i] = False

    def update(self, i: int, function: Any, value: Any, me: int) -> Any:
        """An atomic read, modify and write: threads may do it to one element at once."""
        del me
        if self.reads.get(i) is not None or self.writes.get(i, _ATOMIC) != _ATOMIC:
            raise Fault(f"data race: an atomic update of element {i} of {self.what}, which another thread reads or writes")
        self.writes[i] = _ATOMIC
        old = self.data[i] if self.is_float else int(self.data[i])
        self.data[i] = function(old, value)
        return old

    def barrier(self) -> None:
        """The threads of a block have met."""
        if not self.is_shared:
            self._block[0].update(self.reads)
            self._block[1].update(i for i, who in self.writes.items() if who != _ATOMIC)
        self.reads.clear()
        self.writes.clear()

    def end_block(self) -> None:
        self.barrier()
        (reads, writes), (all_reads, all_writes) = self._block, self._launch
        clash = (writes & (all_reads | all_writes)) | (reads & all_writes)
        if clash:
            raise Fault(f"data race: two blocks touch element {min(clash)} of {self.what}, and one of them writes it")
        all_reads |= reads
        all_writes |= writes
        self._block = (set(), set())

    def end_launch(self) -> None:
        self._launch = (set(), set())


class Private(Memory):
    """A thread's own."""

    def load(self, i: int, me: int) -> Any:
        if not self.written[i]:
            raise Fault(f"thread {me} reads element {i} of {self.what}, which nothing wrote")
        return self.data[i] if self.is_float else int(self.data[i])

    def store(self, i: int, value: Any, me: int) -> None:
        del me
        self.data[i] = value
        self.written[i] = True


@dataclass(slots=True)
class View:
    """A memref: `sizes` and `strides` in elements; None for those that a kernel was not told, since it needs none."""

    memory: Memory
    offset: int
    sizes: Sequence[int | None]
    strides: Sequence[int | None]

    def at(self, indices: Sequence[int]) -> int:
        place = self.offset
        for i, size, stride in zip(indices, self.sizes, self.strides, strict=True):
            if i < 0 or (size is not None and i >= size):
                raise Fault(f"out of bounds: {tuple(indices)} of {self.memory.what} with sizes {tuple(self.sizes)}")
            if i:
                assert stride is not None, "a stride that the kernel was not told is needed"
                place += i * stride
        if not 0 <= place < len(self.memory.data):
            raise Fault(f"out of bounds: element {place} of {self.memory.what}, which has {len(self.memory.data)}")
        return place

    def load(self, indices: Sequence[int], me: int) -> Any:
        return self.memory.load(self.at(indices), me)

    def store(self, value: Any, indices: Sequence[int], me: int) -> None:
        self.memory.store(self.at(indices), value, me)

    def size(self, axis: int) -> int | None:
        """None when the kernel was not told: later stages found that nothing needs it."""
        return self.sizes[axis]

    def subview(self, offsets: Sequence[int], sizes: Sequence[int | None], strides: Sequence[int], kept: Sequence[int]) -> View:
        """`kept`: the axes of the result."""
        start, steps = self.offset, []
        for offset, step, stride in zip(offsets, strides, self.strides, strict=True):
            assert stride is not None or not offset, "a stride that the kernel was not told is needed"
            start += offset * (stride or 0)
            steps.append(None if stride is None else step * stride)
        return View(self.memory, start, [sizes[i] for i in kept], [steps[i] for i in kept])

    def collapse(self, groups: Sequence[Sequence[int]]) -> View:
        sizes: list[int | None] = []
        strides: list[int | None] = []
        for group in groups:
            known = [self.sizes[i] for i in group]
            sizes.append(None if None in known else int(np.prod([k or 0 for k in known], dtype=np.int64)))
            strides.append(self.strides[group[-1]])
            for left, right in zip(group, group[1:], strict=False):
                a, b, n, m = self.strides[left], self.strides[right], self.sizes[right], self.sizes[left]
                if None not in (a, b, n, m) and m != 1 and a != b * n and 0 not in self.sizes:  # type: ignore[operator]
                    raise Fault(f"axes {left} and {right} of {self.memory.what} do not follow one another without a gap")
        return View(self.memory, self.offset, sizes, strides)

    def expand(self, groups: Sequence[Sequence[int]], sizes: Sequence[int]) -> View:
        strides: list[int | None] = [None] * len(sizes)
        for axis, group in enumerate(groups):
            step = self.strides[axis]
            for i in reversed(group):
                strides[i] = step
                step = None if step is None else step * sizes[i]
        return View(self.memory, self.offset, list(sizes), strides)


class Dynamic:
    """The shared memory that a launch asks for, cut into buffers that do not overlap."""

    def __init__(self, count: int) -> None:
        self._bytes = count
        self.pieces: dict[tuple[int, int, str], Memory] = {}  # by where they begin and end, and their element type

    def view(self, start: int, sizes: Sequence[int], dtype: str) -> View:
        count = int(np.prod(sizes))
        end = start + count * np.dtype(DTYPES[dtype]).itemsize
        what = f"dynamic shared memory from byte {start} on"
        if (start, end, dtype) not in self.pieces:
            if end > self._bytes or any(start < other_end and other < end for other, other_end, _ in self.pieces):
                raise Fault(f"{what}, up to {end}: {self._bytes} bytes were asked for, and {list(self.pieces)} are taken")
            self.pieces[start, end, dtype] = Memory.fresh(what, count, dtype, is_shared=True)
        return View(self.pieces[start, end, dtype], 0, list(sizes), contiguous(sizes))


def contiguous(sizes: Sequence[int | None]) -> list[int | None]:
    """Strides of C order; None from the first axis on whose inner sizes are not known."""
    strides: list[int | None] = []
    step: int | None = 1
    for size in reversed(sizes):
        strides.append(step)
        step = None if step is None or size is None else step * size
    return strides[::-1]
