"""What a kernel hands over at an exit, as Python objects. The rare path: both entries take it, in Python.

Free of MLIR and LLVM.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.dims import evaluate
from tierup.lowering.abi import EXIT_BASE, ArgumentKind, ArgumentSpec, ExitSite, Live, ResultKind, ResultSpec, words_of

free = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("free", ctypes.pythonapi))

_SCALARS: dict[str, tuple[type, Any]] = {"int": (int, ctypes.c_int64), "float": (float, ctypes.c_double), "bool": (bool, ctypes.c_int64)}


class Memory:
    """Memory that is someone else's, for `np.asarray`, which keeps it alive through this object."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner, self.__array_interface__ = owner, interface


class _Allocated(Memory):
    """Memory from malloc; goes with the last array over it."""

    def __init__(self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
        super().__init__(None, {"version": 3, "typestr": dtype.str, "shape": shape, "data": (address, False)})
        self._address = address

    def __del__(self, free: Any = free) -> None:  # a default: at exit the module's names may be gone
        free(self._address)


def live_values(
    exits: Sequence[ExitSite], arguments: Sequence[ArgumentSpec], status: int, flat: Sequence[Any], address: int
) -> tuple[Any, ...] | None:
    """The operands of the bailout at which a kernel left, in their order; None for a status that is no exit's. `address`: of the live
    words (abi.py). Arrays own the memory that the kernel allocated; views keep their argument alive."""
    site = next((site for site in exits if site.index == status - EXIT_BASE), None)
    if site is None:
        return None
    symbols: dict[str, int] = {}
    words = iter(_owned([leaf for live in site.live for leaf in _leaves(live)], address))

    def value(live: Live) -> Any:
        if isinstance(live, tuple):
            return [value(item) for item in live]
        if live.kind is ResultKind.ALIAS:
            return flat[live.argument]
        if live.kind is not ResultKind.VIEW:
            return next(words)
        symbols.update(symbols or symbols_of(arguments, flat))
        return view(live, flat[live.argument], symbols)

    return tuple(value(live) for live in site.live)


def _leaves(live: Live) -> Iterator[ResultSpec]:
    if isinstance(live, tuple):
        for item in live:
            yield from _leaves(item)
    elif live.kind not in (ResultKind.ALIAS, ResultKind.VIEW):
        yield live


def _owned(leaves: Sequence[ResultSpec], address: int) -> list[Any]:
    """What the kernel handed over. All of it at once: memory has its owner before anything can go wrong."""
    found: list[Any] = []
    for spec in leaves:
        if spec.kind is ResultKind.ALLOCATED:
            found.append(_allocated(spec, address))
        elif spec.kind is ResultKind.SCALAR:
            python, c = _SCALARS[spec.dtype]
            found.append(python(c.from_address(address).value))
        else:
            found.append(None)
        address += 8 * words_of(spec)
    return found


def _allocated(spec: ResultSpec, address: int) -> np.ndarray[Any, Any]:
    rank, dtype = len(spec.sizes), dtypes.BY_NAME[spec.dtype].numpy
    data, *sizes = (ctypes.c_int64 * (1 + rank)).from_address(address)
    array = np.asarray(_Allocated(data, dtype, tuple(sizes))) if 0 not in sizes else _empty(data, dtype, sizes)
    return array.view(dtype) if array.dtype != dtype else array


def _empty(data: int, dtype: np.dtype[Any], sizes: Sequence[int]) -> np.ndarray[Any, Any]:
    free(data)
    return np.empty(sizes, dtype)


def symbols_of(arguments: Sequence[ArgumentSpec], flat: Sequence[Any]) -> dict[str, int]:
    """What the sizes and strides of arguments that fit are, by the names that specs have for them."""
    symbols: dict[str, int] = {}
    for i, (spec, value) in enumerate(zip(arguments, flat, strict=True)):
        if spec.kind is ArgumentKind.ARRAY:
            symbols |= {name: size for name, size in zip(spec.sizes, value.shape, strict=True) if isinstance(name, str)}
            symbols |= {f"stride{i}_{d}": stride // value.itemsize for d, stride in enumerate(value.strides)}
    return symbols


def view(spec: ResultSpec, base: np.ndarray[Any, Any], symbols: Mapping[str, int]) -> np.ndarray[Any, Any]:
    """The view of `base` that a spec describes."""
    interface = {
        "version": 3,
        "typestr": base.dtype.str,
        "shape": tuple(evaluate(d, symbols) for d in spec.sizes),
        "strides": tuple(evaluate(d, symbols) * base.itemsize for d in spec.strides),
        "data": (base.ctypes.data + evaluate(spec.offset, symbols) * base.itemsize, not base.flags.writeable),
    }
    array = np.asarray(Memory(base, interface))
    return array.view(base.dtype) if array.dtype != base.dtype else array
