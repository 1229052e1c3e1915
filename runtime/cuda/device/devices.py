"""The device that kernels run on, found when it is first asked for.

`CUDA_VISIBLE_DEVICES` says, as for all of CUDA's programs, which devices the driver shows, and in which order; ours is the first of these.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Any

from tierup.dialect.base import forking
from tierup.runtime.cuda.device.allocator import Allocator
from tierup.runtime.cuda.device.cublas import Cublas, NoLibrary, open_cublas
from tierup.runtime.cuda.device.driver import Driver
from tierup.runtime.cuda.errors import NoDevice

INSTALL = "pip install 'tierup[cuda]'"


class Device:
    """The driver, and memory of the device that is kept for later. `lock` is held while kernels are put on the stream."""

    def __init__(self, driver: Driver) -> None:
        self.driver = driver
        self.allocator = Allocator(driver.allocate, driver.free, driver.synchronize)
        self.lock = forking.lock()
        self.poison: bytes | None = None  # a byte that fresh memory is filled with, for who looks for elements that nobody wrote
        self._garbage: deque[Callable[[], object]] = deque()
        self._library: Cublas | NoLibrary | None = None
        self.unsaid: list[str] = []  # what is wrong with a library that is installed, until an event has said it

    def library(self) -> Cublas | NoLibrary:
        """cuBLAS, loaded when it is first asked for, or why there is none. To be called under the lock."""
        if self._library is None:
            try:
                self._library = open_cublas(self.driver, self.allocator.allocate)
            except NoLibrary as e:
                self._library = e
                if e.installed:
                    self.unsaid.append(str(e))
        return self._library

    def about_library(self) -> str:
        """Who computes large products, as far as anybody has asked."""
        found = self._library
        if found is None:
            return "by cuBLAS where it is installed and takes them"
        if isinstance(found, NoLibrary):
            return f"by our kernels, since cuBLAS cannot be used ({found})" if found.installed else f"by our kernels, since {found}"
        return f"by {found} where it takes them"

    def fresh(self, count: int) -> int:
        """The address of so many bytes, to be given back to the allocator. Raises MemoryError."""
        address = self.allocator.allocate(count)
        if self.poison is not None and count:
            self.driver.fill(address, self.poison, count)
        return address

    def later(self, let_go: Callable[[], object]) -> None:
        """Let something go before the next call. Garbage collections come anywhere, also where the driver allows no such thing."""
        self._garbage.append(let_go)

    def clean(self) -> None:
        """Let go what nobody uses any more. To be called under the lock."""
        if self._garbage:
            self.driver.synchronize()
            while self._garbage:
                self._garbage.popleft()()

    def __repr__(self) -> str:
        major, minor = self.driver.capability
        return f"<device {self.driver.ordinal}: {self.driver.name}, compute capability {major}.{minor}>"


_lock = forking.lock()
_found: Device | None = None
_missing: tuple[str | None, NoDevice] | None = None  # and under which CUDA_VISIBLE_DEVICES


def bindings() -> Any:
    """NVIDIA's bindings of the driver API. Raises NoDevice when they are not installed."""
    try:
        from cuda.bindings import driver  # here: an optional dependency, and 30 ms
    except ImportError as e:
        raise NoDevice(f"NVIDIA's Python bindings of the driver are not installed ({e}): {INSTALL}") from e
    return driver


def device() -> Device:
    """The device, its context current in this thread. Raises NoDevice, saying what is missing and what to do."""
    global _found, _missing
    found = _found
    if found is not None:
        found.driver.make_current()
        return found
    with _lock:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        if _found is None:
            if _missing is not None and _missing[0] == visible:
                raise NoDevice(*_missing[1].args)
            try:
                _found = Device(_open(visible))
            except NoDevice as e:
                _missing = visible, e
                raise
    _found.driver.make_current()
    return _found


def _open(visible: str | None) -> Driver:
    """Raises NoDevice with the remedy."""
    api = bindings()
    try:
        return Driver(api)
    except NoDevice as e:
        shown = "" if visible is None else f" CUDA_VISIBLE_DEVICES is {visible!r}."
        raise NoDevice(
            f"{e}.{shown} Kernels need an NVIDIA device and its driver (libcuda.so): install the driver, run where there is a device, "
            f'or choose options(backend="cpu") or options(backend="cuda-or-cpu")'
        ) from e


def forget() -> None:
    """Look again at the next call, as in a new process. Arrays on the device that is forgotten stay usable."""
    global _found, _missing
    with _lock:
        _found = _missing = None
