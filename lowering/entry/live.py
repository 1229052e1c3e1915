"""What a kernel hands over at an exit, as Python objects. The rare path: both entries take it, in Python.

Free of MLIR and LLVM.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import evaluate
from tierup.lowering.base.abi import EXIT_BASE, ArgumentKind, ArgumentSpec, ExitSite, Live, ResultKind, ResultSpec
from tierup.lowering.entry.records import VersionRecord

free = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("free", ctypes.pythonapi))

_SCALARS: dict[str, tuple[type, str]] = {"int": (int, "q"), "float": (float, "d"), "bool": (bool, "q")}


class Memory:
    """Memory that is someone else's, for `np.asarray`, which keeps it alive through this object."""

    def __init__(self, owner: Any, interface: dict[str, Any]) -> None:
        self.owner, self.__array_interface__ = owner, interface


class _Allocated(ctypes.c_char * (1 << 62)):  # type: ignore[misc]  # a length that no array in it exceeds
    """Memory from malloc, made by `from_address`; goes with the last array over it. Arrays find it through the buffer protocol, which takes
    them a third of the time of Memory's."""

    def __del__(self, free: Any = free, addressof: Any = ctypes.addressof) -> None:  # defaults: at exit the module's names may be gone
        free(addressof(self))


def live_values(record: VersionRecord, status: int, flat: Sequence[Any], address: int) -> tuple[Any, ...] | None:
    """The operands of the bailout at which a kernel left, in their order; None for a status that is no exit's. `address`: of the live
    words (abi.py). Arrays own the memory that the kernel allocated; views keep their argument alive."""
    decoders = _decoders.get(record)
    if decoders is None:
        decoders = _decoders[record] = {EXIT_BASE + site.index: _Decoder(site, record.arguments) for site in record.exits}
    decoder = decoders.get(status)
    return None if decoder is None else decoder.values(flat, address)


class _Decoder:
    """How the words of one exit are read."""

    def __init__(self, site: ExitSite, arguments: Sequence[ArgumentSpec]) -> None:
        self._live, self._arguments = site.live, arguments
        leaves = [leaf for live in site.live for leaf in _leaves(live)]
        self._n_arrays = sum(leaf.kind is ResultKind.ALLOCATED for leaf in leaves)
        layout, owner, at = f"={1 + self._n_arrays}q", 0, 1 + self._n_arrays
        # (the word with the owner, or 0; the first word; rank; dtype, or the number's type; bytes of an element; whether it is read-only)
        self._plan: list[tuple[int, int, int, Any, int, bool]] = []
        for leaf in leaves:
            if leaf.kind is ResultKind.SCALAR:
                python, code = _SCALARS[leaf.dtype]
                layout += code
                self._plan.append((0, at, 0, python, 0, False))
                at += 1
            else:
                owner += 1
                dtype, rank = dtypes.BY_NAME[leaf.dtype].numpy, len(leaf.sizes)
                self._plan.append((owner, at, rank, dtype, dtype.itemsize, leaf.read_only))
                layout += f"{1 + 2 * rank}q"
                at += 1 + 2 * rank
        self._words = struct.Struct(layout)
        self._memory = ctypes.c_char * self._words.size
        self._all_handed = all(not isinstance(live, tuple) and live.kind in _HANDED for live in site.live)

    def values(self, flat: Sequence[Any], address: int) -> tuple[Any, ...]:
        words = self._words.unpack_from(self._memory.from_address(address))
        # all of it at once: memory has its owner before anything can go wrong
        owned = {at: _Allocated.from_address(at) for at in {*words[1 : 1 + self._n_arrays]}}
        taken: set[int] = set()
        handed: list[Any] = []
        for owner, at, rank, kind, itemsize, read_only in self._plan:
            if not owner:
                handed.append(kind(words[at]))
                continue
            allocation, middle = words[owner], at + 1 + rank
            strides = tuple([stride * itemsize for stride in words[middle : middle + rank]])
            array = np.ndarray(words[at + 1 : middle], kind, owned[allocation], words[at] - allocation, strides)
            # What the kernel has in one place may be copies of each other in the program: no two results of it may share memory
            handed.append(array if allocation not in taken else array.copy())
            if read_only:
                handed[-1].flags.writeable = False
            taken.add(allocation)
        return tuple(handed) if self._all_handed else self._placed(handed, flat)

    def _placed(self, handed: Sequence[Any], flat: Sequence[Any]) -> tuple[Any, ...]:
        """All live values: what was handed over, arguments and views of these, in lists where they stand in lists."""
        symbols: dict[str, int] = {}
        rest = iter(handed)

        def value(live: Live) -> Any:
            if isinstance(live, tuple):
                return [value(item) for item in live]
            if live.kind is ResultKind.ALIAS:
                return flat[live.argument]
            if live.kind is ResultKind.NONE:
                return None
            if live.kind is not ResultKind.VIEW:
                return next(rest)
            symbols.update(symbols or symbols_of(self._arguments, flat))
            return view(live, flat[live.argument], symbols)

        return tuple([value(live) for live in self._live])


_HANDED = (ResultKind.SCALAR, ResultKind.ALLOCATED)
_decoders: WeakKeyDictionary[VersionRecord, dict[int, _Decoder]] = WeakKeyDictionary()


def _leaves(live: Live) -> Iterator[ResultSpec]:
    """What of a live value is handed over."""
    if isinstance(live, tuple):
        for item in live:
            yield from _leaves(item)
    elif live.kind in _HANDED:
        yield live


def symbols_of(arguments: Sequence[ArgumentSpec], flat: Sequence[Any]) -> dict[str, int]:
    """What the sizes and strides of arguments that fit are, by the names that specs have for them."""
    symbols: dict[str, int] = {}
    for i, (spec, value) in enumerate(zip(arguments, flat, strict=True)):
        if spec.kind is ArgumentKind.ARRAY:
            symbols |= {name: size for name, size in zip(spec.sizes, value.shape, strict=True) if isinstance(name, str)}
            symbols |= {f"stride{i}_{d}": stride // value.itemsize for d, stride in enumerate(value.strides)}
        elif isinstance(spec.value, str):
            symbols[spec.value] = value
    return symbols


def view(spec: ResultSpec, base: np.ndarray[Any, Any], symbols: Mapping[str, int]) -> np.ndarray[Any, Any]:
    """The view of `base` that a spec describes."""
    interface = {
        "version": 3,
        "typestr": base.dtype.str,
        "shape": tuple(evaluate(d, symbols) for d in spec.sizes),
        "strides": tuple(evaluate(d, symbols) * base.itemsize for d in spec.strides),
        "data": (base.ctypes.data + evaluate(spec.offset, symbols) * base.itemsize, spec.read_only or not base.flags.writeable),
    }
    array = np.asarray(Memory(base, interface))
    return array.view(base.dtype) if array.dtype != base.dtype else array
