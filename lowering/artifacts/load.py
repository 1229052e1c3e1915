"""From a relocatable object to an address that can be called, and back: code is freed with the last object that refers to it."""

from __future__ import annotations

import ctypes
import weakref

from tierup.lowering.base import faults
from tierup.lowering.base.abi import Artifact
from tierup.lowering.entry import given
from tierup.lowering.externals import blas, libm, numpy_sorts
from tierup.lowering.objects import linking, perf_map

_loaded: weakref.WeakSet[NativeCode] = weakref.WeakSet()


class NativeCode:
    """An artifact loaded into this process. `address` is the kernel's (see abi.py); it is valid until `close`.

    Whoever may call the kernel holds this object: a version's record, and with it the dispatch tables and the calls that are in it.
    """

    def __init__(self, artifact: Artifact, linked: linking.Linked | linking.LinkedByLLVM) -> None:
        self.artifact, self.address = artifact, linked[artifact.symbol]
        self._linked: linking.Linked | linking.LinkedByLLVM | None = linked
        self._forced = (ctypes.c_int64 * 2).from_address(linked[artifact.forced]) if artifact.forced else None
        _loaded.add(self)

    @property
    def forcible(self) -> bool:
        """Whether it was compiled for `force`."""
        return self._forced is not None

    def force(self, index: int = -1, evaluation: int = 0) -> None:
        """For tests: from now on every call loses the assumption of bailout `index` at its `evaluation`-th evaluation (from 0) in the call;
        -1: none. Raises ValueError unless it was compiled for this (`Request.force`), with the bailout in it."""
        if index >= 0 and (self._forced is None or all(site.index != index for site in self.artifact.exits)):
            raise ValueError(f"this code was not compiled to lose bailout {index} at will")
        if self._forced is not None:
            self._forced[0], self._forced[1] = index, evaluation

    def close(self) -> None:
        """Free the code, which is also what happens when this object goes. The caller sees to it that no thread is in it. Idempotent."""
        linked, self._linked, self.address, self._forced = self._linked, None, 0, None
        if linked is not None:
            linked.close()
            _loaded.discard(self)


def count() -> int:
    """How many artifacts are loaded in this process now."""
    return len(_loaded)


def load(artifact: Artifact, name: str = "") -> NativeCode:
    """Link an artifact into this process. `name`: the function and version, which profilers and debuggers then show.

    Raises RuntimeError when a symbol that it calls does not exist here, ValueError for an object without its kernel.
    """
    faults.begins("load")
    shown = f"tierup:{name or artifact.symbol}"
    exported = (artifact.symbol, artifact.forced) if artifact.forced else (artifact.symbol,)
    try:
        needed = artifact.externals
        external = blas.addresses(needed) | numpy_sorts.addresses(needed) | libm.addresses(needed) | given.addresses(needed)
        linked = linking.link(artifact.object, external, exported, {artifact.symbol: shown})
    except RuntimeError as e:
        raise RuntimeError(f"{shown} cannot be linked: {e}") from e
    code = NativeCode(artifact, linked)
    perf_map.loaded(shown, artifact.object, artifact.symbol, code.address)
    return code
