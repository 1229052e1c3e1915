"""From MLIR text to a module that was verified whole: by MLIR, and by the tierup dialect's own verifier.

Use these instead of `ir.Module.parse`, which knows nothing of the tierup ops and lets ops of unknown dialects pass.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

from tierup.dialect.base.spelling import printable
from tierup.dialect.ir import nesting
from tierup.dialect.language import ops
from tierup.dialect.language.context import thread_context
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.diagnostics import Diagnostic

BYTECODE = b"ML\xefR"
"""What a file of MLIR bytecode begins with."""

LARGEST = 1 << 30
"""Bytes that a file of a program may have."""


class InvalidIR(ValueError):
    """Text that is no program, or a module with broken ops. `diagnostics` says what and where; str() shows them all."""

    def __init__(self, found: tuple[Diagnostic, ...]) -> None:
        super().__init__("\n".join(map(str, found)))
        self.diagnostics = found


def parse_module(text: str, context: ir.Context | None = None) -> ir.Module:
    """The module of a text, in `context` or this thread's. Raises InvalidIR."""
    return _checked(lambda c: ir.Module.parse(text, c), context or thread_context())


def check_nesting(text: str, file: str = "-") -> None:
    """Raises InvalidIR for a text from outside that nests deeper than MLIR's parser can bear (nesting.py). Our own texts do not."""
    found = nesting.check_text(text, file)
    if found is not None:
        raise InvalidIR((found,))


def read(path: str | Path) -> bytes:
    """A file's content. Raises OSError, also for one of more than LARGEST bytes: a device may give bytes for ever."""
    with open(os.fspath(path), "rb") as file:
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST:
        raise OSError(errno.EFBIG, f"more than {LARGEST >> 20} MiB", str(path))
    return data


def parse_file(path: str | Path, context: ir.Context | None = None) -> ir.Module:
    """The module in a file of MLIR text or bytecode; locations name it, or `-` where its name is not UTF-8. Raises InvalidIR, OSError."""
    data = read(path)  # a missing file is an OSError that says so, not a diagnostic without a place
    if not data.startswith(BYTECODE):
        check_nesting(data.decode(errors="replace"), printable(str(path)))
    named = printable(str(path)) == str(path) and Path(path).is_file()  # MLIR takes no other names, and what is read of a pipe is gone
    parse = (lambda c: ir.Module.parseFile(str(path), c)) if named else (lambda c: ir.Module.parse(data, c))
    return _checked(parse, context or thread_context())


def verify_module(module: ir.Module) -> None:
    """Raises InvalidIR when any op is broken."""
    try:
        module.operation.verify()
    except ir.MLIRError as e:
        raise InvalidIR(diagnostics.from_error(e)) from e
    found = ops.verify(module.operation)
    if found:
        raise InvalidIR(tuple(found))


def _checked(parse: Callable[[ir.Context], ir.Module], context: ir.Context) -> ir.Module:
    try:
        module = parse(context)
    except ir.MLIRError as e:
        raise InvalidIR(diagnostics.from_error(e) or (Diagnostic("error", diagnostics.Place(), str(e).strip()),)) from e
    found = ops.verify(module.operation)
    if found:
        raise InvalidIR(tuple(found))
    return module


def text_of(module: ir.Module) -> str:
    """A module with its locations."""
    return str(module.operation.get_asm(enable_debug_info=True))
