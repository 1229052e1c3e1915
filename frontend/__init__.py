"""How a program comes in: Python source, MLIR text or bytecode."""

from importlib import import_module
from typing import Any

_EXPORTS = {
    "UnsupportedSyntax": "tierup.frontend.errors",
    "ProgramError": "tierup.frontend.errors",
    "build": "tierup.frontend.python.build",
    "GraphResult": "tierup.frontend.graph",
    "load": "tierup.frontend.mlir.file",
    "load_text": "tierup.frontend.mlir.file",
}

__all__ = ["GraphResult", "ProgramError", "UnsupportedSyntax", "build", "load", "load_text"]


def __getattr__(name: str) -> Any:
    if name in _EXPORTS:
        return getattr(import_module(_EXPORTS[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
