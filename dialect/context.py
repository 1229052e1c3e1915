"""MLIR contexts in which programs parse: upstream dialects, torch, tierup, and memory effects on the torch ops."""

from __future__ import annotations

import threading

from tierup.dialect import effects, ops
from tierup.dialect.mlir import ir, register_torch_dialect

_local = threading.local()


def new_context() -> ir.Context:
    """A fresh context. Costs some 10 ms: most callers want `thread_context`."""
    context = ir.Context()
    register_torch_dialect(context)
    ops.register(context)
    effects.attach(context)
    return context


def thread_context() -> ir.Context:
    """This thread's context, made on first use."""
    if not hasattr(_local, "context"):
        _local.context = new_context()
    return _local.context
