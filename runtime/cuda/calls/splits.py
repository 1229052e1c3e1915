"""Split programs on the device: what native regions hand to one another stays there; tier 0 fetches what its ops read, when they do.

    run = DeviceSplit(split)
    results = run(device(), flat)         # flat: arrays of either side
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import MethodType
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.optable.kernels import drawing
from tierup.lowering.base.abi import ArgumentKind, Layout
from tierup.runtime.account import last_plan
from tierup.runtime.arguments.guards import extent, overlaps_itself
from tierup.runtime.arguments.signature import ArgumentClass, signature_of
from tierup.runtime.cuda.arrays.arrays import DeviceArray, empty, to_host
from tierup.runtime.cuda.calls.moving import Moves
from tierup.runtime.cuda.device.devices import Device
from tierup.runtime.executors.splits.split import Site, Split
from tierup.runtime.interpreter.parameters import fits
from tierup.runtime.interpreter.tier0 import Tier0, resolve
from tierup.runtime.programs.publication import Publication


def classes_of(flat: Sequence[Any]) -> tuple[ArgumentClass, ...]:
    """As `signature_of(flat).classes`, of arrays of either side. Raises Unsupported."""
    return tuple([_class(value) if type(value) is DeviceArray else signature_of((value,), lambda _: False).classes[0] for value in flat])


def _class(array: DeviceArray) -> ArgumentClass:
    dtype = dtypes.from_numpy(array.dtype)
    assert dtype is not None  # others are no device arrays
    return ArgumentClass(ArgumentKind.ARRAY, dtype.name, array.ndim, Layout.CONTIGUOUS if array.is_contiguous else Layout.STRIDED)


class DeviceSplit:
    """A split, run with arrays of either side; results lie on the device where any argument does. Thread-safe."""

    def __init__(self, split: Split) -> None:
        self._split, self._run = split, threading.local()
        self._tier0 = self._placed(split.tier0)

    def takes(self, flat: tuple[Any, ...]) -> bool:
        """Whether the arguments are of the sizes that the program's types say, and what it writes lies apart."""
        for parameter, value in zip(self._tier0.parameters, flat, strict=True):
            sizes = parameter.kind.sizes
            if isinstance(value, np.ndarray | DeviceArray) and sizes is not None and not fits(value.shape, sizes):
                return False
        for i in self._split.publication.writebacks:
            if not flat[i].flags.writeable or overlaps_itself(flat[i]):
                return False
            if any(_overlap(flat[i], other) for j, other in enumerate(flat) if j != i):
                return False
        return True

    def __call__(self, on: Device, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """The flat results of a call. Whatever it raises, no argument has been written."""
        moves = self._run.moves = Moves(on)
        drawing.begin()
        try:
            given = self._tier0.call(*flat)
            values = given if isinstance(given, tuple) else () if given is None else (given,)
            if any(type(value) is DeviceArray for value in flat):
                results = published(self._split.publication, flat, values, moves)
            else:
                results = self._split.publication.results(flat, tuple([moves.host(value, "results") for value in values]))
        except BaseException:
            drawing.give_up()
            raise
        finally:
            self._run.moves = None
        self._split.note = moves.told()
        last_plan.note(self._split)
        return results

    def _placed(self, tier0: Tier0) -> Tier0:
        """Tier 0 whose kernels run on the host, and whose regions are given arrays on the device."""
        kernels = {name: self._on_host(name, resolve(path)) for name, path in tier0.bindings.items()}
        others = {name: self._called(value) for name, value in tier0.constants.items() if isinstance(value, Site | MethodType)}
        return replace(tier0, constants={**tier0.constants, **others, **kernels})

    def _on_host(self, name: str, kernel: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            moves: Moves = self._run.moves
            return kernel(*[moves.host(value, name) for value in given], **{k: moves.host(v, name) for k, v in named.items()})

        return run

    def _called(self, what: Site | MethodType) -> Callable[..., Any]:
        if isinstance(what, MethodType):  # makes an argument fit, or refuses it; `takes` was asked about those on the device
            return lambda value: value if type(value) is DeviceArray else what(value)

        def region(*values: Any) -> Any:
            return what(*[self._run.moves.device(value) for value in values])

        return region


def published(publication: Publication, flat: tuple[Any, ...], values: Sequence[Any], moves: Moves) -> tuple[Any, ...]:
    """What `Publication.results` does, for results on the device."""
    written = [flat[i] for i in publication.writebacks]
    new = [_apart(moves.device(value), written) for value in values[publication.n_results :]]
    others = [value for value in flat if type(value) is DeviceArray]
    results: list[Any] = []
    for i, value in enumerate(values[: publication.n_results]):
        alias = publication.aliases[i] if publication.aliases else ""
        if alias.startswith("argument:"):
            results.append(flat[int(alias.partition(":")[2])])
            continue
        if alias not in ("", "fresh") and isinstance(value, np.ndarray) and any(_overlap(value, other) for other in flat):
            results.append(value)  # a view of an argument on the host
            continue
        found = moves.device(value)
        if alias == "fresh" and type(found) is DeviceArray:
            found = _apart(found, others)
            others.append(found)
        results.append(found)
    for array, contents in zip(written, new, strict=True):
        if type(array) is DeviceArray:
            _write(array, contents)
        else:
            np.copyto(array, moves.host(contents, "arguments"))
    return tuple(results)


def _write(array: DeviceArray, contents: DeviceArray) -> None:
    """New contents of an argument on the device."""
    low, high = extent(array)
    with array.on.lock:
        if array.is_contiguous and contents.is_contiguous:
            array.on.driver.copy(low, contents.address, high - low)
            return
        (copy,) = to_host([array])  # what lies between its elements stays as it is
        np.copyto(copy, contents.numpy())
        array.on.driver.to_device(low, extent(copy)[0], high - low)


def _apart(value: Any, others: Sequence[Any]) -> Any:
    """The array, or a copy on the device where it shares memory with one of the others."""
    if type(value) is not DeviceArray or not any(_overlap(value, other) for other in others):
        return value
    low, high = extent(value)
    made = empty(value.on, (high - low,), np.dtype(np.uint8))
    with value.on.lock:
        value.on.driver.copy(made.address, low, high - low)
    return DeviceArray(value.on, made.address + value.address - low, value.dtype, value.shape, value.strides, made)


def _overlap(x: Any, y: Any) -> bool:
    if type(x) is DeviceArray and type(y) is DeviceArray:
        (low, high), (first, last) = extent(x), extent(y)
        return low < last and first < high
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and bool(np.may_share_memory(x, y))
