"""Memory of the device, kept for the next who wants as much: asking the driver costs a wait for all kernels.

One allocator serves one stream. What is freed may still be read by kernels on that stream; who gets it next only puts more on the
same stream, behind them. Sizes are rounded up so that few kinds of blocks lie around: to 512 bytes below 1 MiB, to an eighth of
the next power of two above. Of blocks of one size the one at the lowest address goes first: calls that ask for the same things in the same
order get the same addresses, for which a graph of their launches may be there.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush

from tierup.dialect.base import forking
from tierup.runtime.cuda.errors import OutOfMemory

_SMALL, _LARGE = 512, 1 << 20


class Allocator:
    """`allocate` and `free` ask the driver; `allocate` raises OutOfMemory. `wait` lets all kernels finish. Thread-safe."""

    def __init__(self, allocate: Callable[[int], int], free: Callable[[int], None], wait: Callable[[], None]) -> None:
        self._allocate, self._free, self._wait = allocate, free, wait
        self._lock = forking.lock()
        self._returned: deque[int] = deque()  # by `free`, which a garbage collection may call anywhere, so also under the lock
        self._kept: dict[int, list[int]] = {}  # rounded bytes -> heap of addresses
        self._sizes: dict[int, int] = {}  # address -> rounded bytes, of what is in use
        self.bytes_in_use = self.bytes_kept = 0

    def allocate(self, count: int) -> int:
        """The address of at least so many bytes. Raises MemoryError when the device has none left, with nothing kept here."""
        rounded = _rounded(count)
        with self._lock:
            self._sort()
            found = self._kept.get(rounded)
            if found:
                address = heappop(found)
                self.bytes_kept -= rounded
            else:
                address = self._ask(rounded)
            self._sizes[address] = rounded
            self.bytes_in_use += rounded
            return address

    def free(self, address: int) -> None:
        """Give memory back. Kernels that were launched before may still use it."""
        self._returned.append(address)

    def _sort(self) -> None:
        while self._returned:
            address = self._returned.popleft()
            rounded = self._sizes.pop(address)
            heappush(self._kept.setdefault(rounded, []), address)
            self.bytes_in_use -= rounded
            self.bytes_kept += rounded

    def empty(self) -> None:
        """Give the driver what nobody uses."""
        with self._lock:
            self._empty()

    def _ask(self, rounded: int) -> int:
        try:
            return self._allocate(rounded)
        except OutOfMemory:
            self._empty()
        try:
            return self._allocate(rounded)
        except OutOfMemory as e:
            raise MemoryError(
                f"the device has no {rounded:,} bytes left: tierup's arrays on it take {self.bytes_in_use:,}, none is kept unused; {e}"
            ) from e

    def _empty(self) -> None:
        self._sort()
        if not self._kept:
            return
        self._wait()  # kernels may still use it
        for addresses in self._kept.values():
            for address in addresses:
                self._free(address)
        self._kept.clear()
        self.bytes_kept = 0


def _rounded(count: int) -> int:
    if count <= _LARGE:
        return max(-(-count // _SMALL), 1) * _SMALL
    step = 1 << (count - 1).bit_length() - 3
    return -(-count // step) * step
