"""How a specialised program becomes machine code. Free of MLIR and LLVM until `compiling.compile` or `artifacts.load` is imported."""

from __future__ import annotations

import importlib

_PUBLIC = {"NativeCode": "artifacts.load", "Unsupported": "base.errors", "CompileError": "base.errors"}

__all__ = sorted(_PUBLIC)  # noqa: PLE0604 - a list of str


def __getattr__(name: str) -> object:
    if name not in _PUBLIC:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PUBLIC[name]}"), name)
