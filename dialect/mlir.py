"""The one module that imports the MLIR bindings; everything else takes `ir`, `passmanager`, ... from here.

Another distribution of the upstream bindings can be put in its place by editing this file alone.
"""

from __future__ import annotations

import threading

from torch_mlir import ir, passmanager, rewrite
from torch_mlir._mlir_libs import _torchMlir
from torch_mlir.dialects import ext

__all__ = ["ext", "ir", "new_context", "passmanager", "rewrite", "thread_context"]

_local = threading.local()


def new_context() -> ir.Context:
    """A context in which programs parse: upstream dialects, torch, tierup, and memory effects on the torch ops."""
    from tierup.dialect import effects, ops  # here: both import this module

    context = ir.Context()
    _torchMlir.register_dialect(context)
    ops.register(context)
    effects.attach(context)
    return context


def thread_context() -> ir.Context:
    """This thread's context, made on first use: contexts cost some 10 ms, so compiles share one."""
    if not hasattr(_local, "context"):
        _local.context = new_context()
    return _local.context
