"""What may go wrong on the way to a device, as exceptions."""

from __future__ import annotations


class NoDevice(RuntimeError):
    """There is no device to run kernels on. The message says what is missing and what to do."""


class DriverError(RuntimeError):
    """NVIDIA's driver refused a call. `name` is its own: CUDA_ERROR_ILLEGAL_ADDRESS; the message names the kernel and the user's line
    where a kernel is at fault."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


class OutOfMemory(DriverError):
    """The device has no memory left. The allocator turns it into a MemoryError when nothing helps."""
