"""Arrays on the device: memory, dtype, shape, strides. They are exchanged with PyTorch and CuPy without a copy.

    x = tierup.device_array(numpy_array)     # a copy on the device
    torch.from_dlpack(x); cupy.asarray(x)    # the same memory
    x.numpy()                                # a copy on the host
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.runtime.arguments import guards
from tierup.runtime.cuda.arrays import dlpack
from tierup.runtime.cuda.arrays.layouts import Layout, layout
from tierup.runtime.cuda.device.devices import Device, device

_VERSION = 3  # of the CUDA Array Interface


class Memory:
    """Memory of the device's allocator, given back when nobody refers to it."""

    __slots__ = ("_free", "address")

    def __init__(self, on: Device, address: int) -> None:
        self._free, self.address = on.allocator.free, address

    def __del__(self) -> None:
        self._free(self.address)


@dataclass(frozen=True)
class Flags:
    """Those of NumPy's that guards ask for."""

    aligned: bool
    writeable: bool
    c_contiguous: bool


class DeviceArray:
    """An array on the device. `owner`: what keeps its memory alive. Strides count bytes, as NumPy's.

    Nothing is computed with it but by tierup's functions; `numpy()` copies it to the host.
    """

    __slots__ = ("__weakref__", "address", "layout", "on", "owner", "writeable")

    def __init__(
        self,
        on: Device,
        address: int,
        dtype: np.dtype,
        shape: Sequence[int],
        strides: Sequence[int] | None,
        owner: object,
        writeable: bool = True,
    ) -> None:
        self.on, self.address, self.owner, self.writeable = on, address, owner, writeable
        self.layout = layout(np.dtype(dtype), tuple(shape), None if strides is None else tuple(strides))

    @classmethod
    def of(cls, on: Device, address: int, lies: Layout, owner: object) -> DeviceArray:
        """One whose layout is known."""
        made = cls.__new__(cls)
        made.on, made.address, made.owner, made.writeable, made.layout = on, address, owner, True, lies
        return made

    @property
    def dtype(self) -> np.dtype:
        """The type of its elements, as NumPy's."""
        return self.layout.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Its size in each dimension."""
        return self.layout.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """The bytes from one element to the next, in each dimension."""
        return self.layout.strides

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.layout.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.layout.size

    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
        return self.layout.itemsize

    @property
    def nbytes(self) -> int:
        """The bytes of all elements, without gaps between them."""
        return self.layout.nbytes

    @property
    def flags(self) -> Flags:
        """Whether it is aligned, may be written, and is in C order."""
        return Flags(self.is_aligned, self.writeable, self.is_contiguous)

    @property
    def is_contiguous(self) -> bool:
        """Whether it is in C order."""
        return self.layout.is_contiguous

    @property
    def is_aligned(self) -> bool:
        """Whether every element lies at a multiple of its size."""
        return self.layout.is_whole and not self.address % self.layout.itemsize

    def numpy(self) -> np.ndarray:
        """A copy on the host, of the same strides, when all kernels before are done."""
        return to_host([self])[0]

    def __array__(self, dtype: object = None, copy: bool | None = None) -> np.ndarray:
        raise TypeError(
            "an array on the device is not copied to the host unasked: call its numpy(), or give the function that takes it "
            'options(backend="cuda")'
        )

    # --- exchange ---------------------------------------------------------------------------------------------------

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, not self.writeable),
            "version": _VERSION,
            "strides": None if self.is_contiguous else self.strides,
            "stream": self.on.driver.stream,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack.CUDA, self.on.driver.ordinal

    def __dlpack__(self, *, stream: int | None = None, **others: object) -> object:
        """`stream`: the consumer's, as the standard has it: 1 is the legacy default stream, -1 asks for no waiting."""
        if stream not in (None, -1):
            self.on.driver.make_current()
            self.on.driver.let_wait(stream)
        return dlpack.export(self, (dlpack.CUDA, self.on.driver.ordinal))

    def __repr__(self) -> str:
        found = dtypes.from_numpy(self.dtype)
        return f"<device array {found or self.dtype}[{', '.join(map(str, self.shape))}]>"


guards.device_arrays.add(DeviceArray)


def empty(on: Device, shape: Sequence[int], dtype: np.dtype) -> DeviceArray:
    """A new array, not initialised. Raises MemoryError."""
    lies = layout(np.dtype(dtype), tuple(shape))
    memory = Memory(on, on.fresh(lies.nbytes))
    return DeviceArray.of(on, memory.address, lies, memory)


def copy_of(array: DeviceArray, alignment: int) -> DeviceArray:
    """A copy on the device of the same strides, whose first element lies at a multiple of `alignment`. Raises MemoryError."""
    if not array.size:
        return empty(array.on, array.shape, array.dtype)
    low, high = guards.extent(array)
    before = array.address - low
    start = -before % alignment
    memory = Memory(array.on, array.on.fresh(start + high - low))
    array.on.driver.copy(memory.address + start, low, high - low)
    return DeviceArray(array.on, memory.address + start + before, array.dtype, array.shape, array.strides, memory)


def put(on: Device, array: np.ndarray) -> DeviceArray:
    """A copy on the device, in C order. Raises MemoryError, and TypeError for a dtype that programs cannot hold."""
    if dtypes.from_numpy(array.dtype) not in dtypes.ALL:
        raise TypeError(f"arrays of {array.dtype} have no place on the device; there are {', '.join(map(str, dtypes.ALL))}")
    array = np.ascontiguousarray(array).reshape(array.shape)  # which it makes of rank 1 at least
    made = empty(on, array.shape, array.dtype)
    if array.size:
        with on.lock:
            on.driver.to_device(made.address, array.ctypes.data, array.nbytes)
    return made


def shown(array: DeviceArray, copy: np.ndarray, view: np.ndarray) -> DeviceArray:
    """What a view of an array's copy shows, on the device."""
    start = array.address + view.ctypes.data - copy.ctypes.data
    return DeviceArray(array.on, start, view.dtype, view.shape, view.strides, array, array.writeable)


def put_together(on: Device, arrays: Sequence[np.ndarray]) -> list[DeviceArray]:
    """Copies on the device, in C order; those of arrays that share memory do, at the same strides. Raises as `put`."""
    made: list[DeviceArray] = []
    wholes: dict[int, DeviceArray] = {}
    for array in arrays:
        if not any(np.shares_memory(array, other) for other in arrays if other is not array):
            made.append(put(on, array))
            continue
        at = array.ctypes.data
        low, high = next((low, high) for low, high in _spans(arrays) if low <= at < high)
        start = low % _HOST_ALIGNMENT
        if low not in wholes:
            wholes[low] = empty(on, (high - low + start,), np.dtype(np.uint8))
            with on.lock:
                on.driver.to_device(wholes[low].address + start, low, high - low)
        address = wholes[low].address + start + at - low
        made.append(DeviceArray(on, address, array.dtype, array.shape, array.strides, wholes[low], array.flags.writeable))
    return made


def device_array(array: Any) -> DeviceArray:
    """A NumPy array copied to the device, or an array that lies there already (PyTorch's, CuPy's), in the same memory.

    Raises NoDevice, MemoryError, and TypeError for what is neither.
    """
    on = device()
    found = taken(on, array)
    if found is not None:
        return found
    if isinstance(array, np.ndarray):
        return put(on, array)
    raise TypeError(f"device_array takes a NumPy array or an array on the device, not {type(array).__name__}")


def taken(on: Device, value: Any) -> DeviceArray | None:
    """Another library's array on the device as ours, in the same memory; None for what is none. What that library's kernels do is
    waited for, on the device. Raises ValueError for one on another device."""
    if type(value) is DeviceArray:
        return value
    if has_dlpack(value):
        found = _from_dlpack(on, value)
    else:
        interface = getattr(value, "__cuda_array_interface__", None)
        if interface is None:
            return None
        found = _from_interface(on, value, interface)
    ordinal = on.driver.ordinal_of(found.address) if found.size else on.driver.ordinal
    if ordinal != on.driver.ordinal:
        raise ValueError(
            f"an array lies on device {ordinal}, and kernels run on device {on.driver.ordinal}: CUDA_VISIBLE_DEVICES chooses it"
        )
    return found


def has_dlpack(value: Any) -> bool:
    """Whether a value says that it lies on a CUDA device, by the DLPack protocol."""
    where = getattr(value, "__dlpack_device__", None)
    return where is not None and type(value) is not np.ndarray and where()[0] == dlpack.CUDA


def _from_interface(on: Device, value: Any, interface: dict[str, Any]) -> DeviceArray:
    if interface.get("mask") is not None:
        raise TypeError("a masked array on the device is not supported")
    stream = interface.get("stream")
    if stream is not None and stream != on.driver.stream:
        on.driver.wait_for(stream)
    address, read_only = interface["data"]
    return DeviceArray(on, address or 0, np.dtype(interface["typestr"]), interface["shape"], interface.get("strides"), value, not read_only)


def _from_dlpack(on: Device, value: Any) -> DeviceArray:
    imported = dlpack.take(value.__dlpack__(stream=on.driver.stream))
    return DeviceArray(on, imported.address, imported.dtype, imported.shape, imported.strides, (value, imported))


def like(example: Any, made: DeviceArray) -> Any:
    """Our array as one of the library that `example` is of, in the same memory."""
    library = sys.modules.get(type(example).__module__.partition(".")[0])
    convert = getattr(library, "from_dlpack", None)
    return made if type(example) is DeviceArray or convert is None else convert(made)


def to_host(arrays: Sequence[DeviceArray]) -> list[np.ndarray]:
    """Copies on the host. They have the strides of the originals, and share memory where these do."""
    pieces: list[tuple[int, int, np.ndarray]] = []
    copies: list[np.ndarray] = []
    if not arrays:
        return copies
    on = arrays[0].on
    with on.lock:
        for low, high in _spans(arrays):
            start = low % _HOST_ALIGNMENT  # on the host an array is aligned as it is on the device
            raw = np.empty(high - low + start, np.uint8)
            on.driver.to_host(raw.ctypes.data + start, low, high - low)
            pieces.append((low, high, raw[start:]))
    on.driver.synchronize()
    for array in arrays:
        if not array.size:
            copies.append(np.empty(array.shape, array.dtype))
            continue
        low, _, raw = next(p for p in pieces if p[0] <= guards.extent(array)[0] < p[1])
        copy = np.ndarray(array.shape, array.dtype, raw.data, array.address - low, array.strides)
        copy.flags.writeable = array.writeable
        copies.append(copy)
    return copies


def _spans(arrays: Sequence[Any]) -> list[list[int]]:
    """The stretches [low, high) of memory that arrays lie in, those that overlap being one."""
    merged: list[list[int]] = []
    for low, high in sorted(guards.extent(a) for a in arrays if a.size):
        if merged and low < merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], high)
        else:
            merged.append([low, high])
    return merged


_HOST_ALIGNMENT = 16  # of NumPy's own memory
