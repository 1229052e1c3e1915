"""From a relocatable object to an address that can be called, and back: code is freed with the last object that refers to it."""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref

from llvmlite import binding as llvm

from tierup.lowering import blas, faults
from tierup.lowering.abi import Artifact
from tierup.lowering.llvm import initialise
from tierup.lowering.objects import elf, perf_map

# LLVM keeps some 9 kB for every library that was ever linked into an LLJIT, unloaded or not, until the LLJIT is gone (measured; the
# bindings have no call that removes a JITDylib). So an LLJIT takes this many libraries, and the next ones go to a new one, which costs
# as much as two links. Resource trackers share in owning their LLJIT: it goes with the last of its libraries.
LIBRARIES_PER_JIT = 16

_lock = threading.RLock()
_loaded: weakref.WeakSet[NativeCode] = weakref.WeakSet()
_names = itertools.count()
_jit: llvm.LLJIT | None = None
_room = 0  # libraries that `_jit` still takes


class NativeCode:
    """An artifact loaded into this process. `address` is the kernel's (see abi.py); it is valid until `close`.

    Whoever may call the kernel holds this object: a version's record, and with it the dispatch tables and the calls that are in it.
    """

    def __init__(self, artifact: Artifact, address: int, tracker: llvm.orcjit.ResourceTracker) -> None:
        self.artifact, self.address = artifact, address
        self._tracker: llvm.orcjit.ResourceTracker | None = tracker
        self._forced = (ctypes.c_int64 * 2).from_address(tracker[artifact.forced]) if artifact.forced else None
        _loaded.add(self)

    @property
    def forcible(self) -> bool:
        """Whether it was compiled for `force`."""
        return self._forced is not None

    def force(self, index: int = -1, evaluation: int = 0) -> None:
        """For tests: from now on every call loses the bet of bailout `index` at its `evaluation`-th evaluation (from 0) in the call; -1:
        none. Raises ValueError unless it was compiled for this (`Request.force`), with the bailout in it."""
        if index >= 0 and (self._forced is None or all(site.index != index for site in self.artifact.exits)):
            raise ValueError(f"this code was not compiled to lose bailout {index} at will")
        if self._forced is not None:
            self._forced[:] = index, evaluation

    def close(self) -> None:
        """Free the code, which is also what happens when this object goes. The caller sees to it that no thread is in it. Idempotent."""
        tracker, self._tracker, self.address, self._forced = self._tracker, None, 0, None
        if tracker is not None:
            tracker.close()
            _loaded.discard(self)


def count() -> int:
    """How many artifacts are loaded in this process now."""
    return len(_loaded)


def load(artifact: Artifact, name: str = "") -> NativeCode:
    """Link an artifact into this process. `name`: the function and version, which profilers and debuggers then show.

    Every object calls its kernel `kernel`; LLVM tells gdb of what it links, so that name is put into what is linked.
    Raises RuntimeError when a symbol that it calls does not exist here, ValueError for an object without its kernel.
    """
    faults.begins("load")
    initialise()
    external = blas.addresses(artifact.externals)
    shown = f"tierup:{name or artifact.symbol}"
    image = elf.renamed(artifact.object, artifact.symbol, shown)
    builder = llvm.JITLibraryBuilder().add_object_img(image).add_current_process().export_symbol(shown)
    if artifact.forced:
        builder.export_symbol(artifact.forced)
    for symbol, address in external.items():
        builder.import_symbol(symbol, address)
    with _lock:  # llvmlite's JITs are shared: linking is not
        tracker = builder.link(_jit_with_room(), f"tierup{next(_names)}")  # a library's name can't be used twice
    code = NativeCode(artifact, tracker[shown], tracker)
    perf_map.loaded(shown, image, shown, code.address)
    return code


def _jit_with_room() -> llvm.LLJIT:
    global _jit, _room
    if _jit is None or not _room:
        _jit, _room = llvm.create_lljit_compiler(), LIBRARIES_PER_JIT
    _room -= 1
    return _jit
