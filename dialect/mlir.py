"""The one module that imports the MLIR bindings; everything else takes `ir`, `passmanager`, ... from here.

Another distribution of the upstream bindings can be put in its place by editing this file alone.
"""

from torch_mlir import ir, passmanager, rewrite
from torch_mlir._mlir_libs._torchMlir import register_dialect as register_torch_dialect
from torch_mlir.dialects import ext

__all__ = ["ext", "ir", "passmanager", "register_torch_dialect", "rewrite"]
