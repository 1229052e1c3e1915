"""The one module that imports the MLIR bindings; everything else takes `ir`, `passmanager`, ... from here.

Another distribution of the upstream bindings can be put in its place by editing this file alone.
"""

from __future__ import annotations

import ctypes
import sys
from importlib import import_module
from types import ModuleType

from tierup.dialect.base.shielded import shielded

_LIBRARIES = ("torch_mlir.passmanager", "torch_mlir.rewrite", "torch_mlir._mlir_libs._mlirDialectsLLVM", "torch_mlir._mlir_libs._torchMlir")
shielded(lambda: [import_module(name) for name in _LIBRARIES])  # broken off in the midst, they register themselves twice, which aborts

from torch_mlir import ir, passmanager, rewrite  # noqa: E402 - there by now
from torch_mlir._mlir_libs._mlir import globals as _bindings  # noqa: E402
from torch_mlir._mlir_libs._mlirDialectsLLVM import translate_module_to_llvmir  # noqa: E402
from torch_mlir._mlir_libs._torchMlir import register_dialect as register_torch_dialect  # noqa: E402

__all__ = ["address", "ir", "passmanager", "register_torch_dialect", "rewrite", "translate_module_to_llvmir"]

# The bindings import the generated op classes of a dialect (torch's: 100 ms) when they first meet an op of it. Looked for
# here first, torch, linalg, arith, ... have none, and their ops arrive as plain ir.OpView; who wants the classes of a dialect
# imports torch_mlir.dialects.<it>.
_LIGHT = "tierup.dialect.no_op_classes"
_DIALECTS = (
    "affine", "arith", "bufferization", "builtin", "cf", "func", "gpu", "index", "linalg", "llvm", "math", "memref", "nvvm", "scf",
    "tensor", "tierup", "torch", "torch_c", "ub", "vector",
)  # fmt: skip
sys.modules.update({f"{_LIGHT}.{dialect}": ModuleType(f"{_LIGHT}.{dialect}") for dialect in _DIALECTS})
if _LIGHT not in _bindings.dialect_search_modules:
    _bindings.dialect_search_modules = [_LIGHT, *_bindings.dialect_search_modules]

_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_size_t, [ctypes.py_object, ctypes.c_char_p]


def address(op: ir.Operation) -> int:
    """Where an op lies, or lay: nothing is read there."""
    try:
        return int(_pointer(op._CAPIPtr, b"torch_mlir.ir.Operation._CAPIPtr"))
    except ctypes.ArgumentError as e:  # what ctypes says where its own Python code finds no room on the stack
        raise RecursionError(str(e)) from None


# Dicts and sets know ops, values and blocks by where they lie, as == does. The bindings' hash of an op is of what it says: a set did not
# find an op any more once an operand of it was another, and of an erased one it read freed memory. That of a region, location or use is of
# the Python object, of which there is a new one each time. After an erase an address may be another's: test/stale_keys.py finds who asks.
ir._OperationBase.__hash__ = address
for _class in (ir.Region, ir.Location, ir.OpOperand):
    _class.__hash__ = None
