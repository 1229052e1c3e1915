"""MLIR contexts in which programs parse: upstream dialects, torch, tierup, and memory effects on the torch ops."""

from __future__ import annotations

import threading

from tierup.dialect.language import effects, ops
from tierup.dialect.mlir import ir, register_torch_dialect

_local = threading.local()


# Ops of these may be built straight away. Parsing, and the passes that produce them, load the others (llvm, gpu, ...);
# loading all of them would cost every process 10 ms.
_LOADED = ("func", "cf", "scf", "arith", "math", "tensor", "linalg", "memref", "bufferization", "affine")


def new_context(*, torch_effects: bool = True) -> ir.Context:
    """A fresh context. Costs some 8 ms: most callers want `thread_context`. Without `torch_effects` ops of torch are as torch-mlir's own
    driver has them: unused ones stay."""
    context = ir.Context(load_on_create_dialects=[])
    context.enable_multithreading(False)  # verifiers and effects are Python: threads would only wait for one another
    register_torch_dialect(context)
    for dialect in _LOADED:
        context.get_dialect_descriptor(dialect)
    ops.register(context)
    if torch_effects:
        effects.attach(context)
    return context


def thread_context() -> ir.Context:
    """This thread's context, made on first use."""
    if not hasattr(_local, "context"):
        _local.context = new_context()
    return _local.context
