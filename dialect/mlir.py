"""The one module that imports the MLIR bindings; everything else takes `ir`, `passmanager`, ... from here.

Another distribution of the upstream bindings can be put in its place by editing this file alone.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from torch_mlir import _mlir_libs, ir, passmanager, rewrite
from torch_mlir._mlir_libs._mlir import globals as _bindings
from torch_mlir._mlir_libs._torchMlir import register_dialect as register_torch_dialect
from torch_mlir.dialects import ext

__all__ = ["ext", "ir", "mlir_pass_names", "passmanager", "register_torch_dialect", "rewrite"]

# The bindings import the generated op classes of a dialect (torch's: 100 ms) when they first meet an op of it. Looked for
# here first, torch has none, and its ops arrive as plain ir.OpView; who wants the classes imports torch_mlir.dialects.torch.
_LIGHT = "tierup.dialect.bindings"
if _LIGHT not in _bindings.dialect_search_modules:
    _bindings.dialect_search_modules = [_LIGHT, *_bindings.dialect_search_modules]


@cache
def mlir_pass_names() -> tuple[str, ...]:
    """The passes and pass pipelines that MLIR registered, sorted; for suggestions and lists, never for a decision.

    The bindings cannot list them, but mlir-opt's twin in the same wheel can. Empty where there is no such program.
    """
    tools = [Path(folder) / "torch-mlir-opt" for folder in _mlir_libs.__path__]
    tool = next((t for t in tools if t.exists()), None)
    if tool is None:
        return ()
    listed = subprocess.run([tool, "--list-passes"], capture_output=True, text=True, check=False, timeout=30).stdout
    return tuple(sorted(set(re.findall(r"^  --([\w-]+) ", listed, re.MULTILINE))))
