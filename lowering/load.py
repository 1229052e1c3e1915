"""From a relocatable object to an address that can be called."""

from __future__ import annotations

import itertools
import threading

from llvmlite import binding as llvm

from tierup.lowering import blas
from tierup.lowering.abi import Artifact
from tierup.lowering.llvm import initialise

_lock = threading.Lock()
_names = itertools.count()
_jit: llvm.LLJIT | None = None


class NativeCode:
    """An artifact loaded into this process. `address` is the kernel's (see abi.py); it is valid until `close`."""

    def __init__(self, artifact: Artifact, tracker: llvm.orcjit.ResourceTracker) -> None:
        self.artifact = artifact
        self.address: int = tracker[artifact.symbol]
        self._tracker: llvm.orcjit.ResourceTracker | None = tracker

    def close(self) -> None:
        """Free the code. The caller sees to it that no thread is in it. Idempotent."""
        tracker, self._tracker, self.address = self._tracker, None, 0
        if tracker is not None:
            with _lock:
                tracker.close()


def load(artifact: Artifact) -> NativeCode:
    """Link an artifact into this process. Raises RuntimeError when a symbol it calls does not exist here."""
    global _jit
    initialise()
    external = blas.addresses(artifact.externals)
    with _lock:  # llvmlite's JIT is shared: linking is not
        if _jit is None:
            _jit = llvm.create_lljit_compiler()
        builder = llvm.JITLibraryBuilder().add_object_img(artifact.object).add_current_process().export_symbol(artifact.symbol)
        for name, address in external.items():
            builder.import_symbol(name, address)
        tracker = builder.link(_jit, f"tierup{next(_names)}")  # a library's name can't be used twice
    return NativeCode(artifact, tracker)
