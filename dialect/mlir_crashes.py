"""What crashes MLIR's own passes, refused before they run: a process that compiles must live on, whatever the module."""

from __future__ import annotations

import re

from tierup.dialect.mlir import ir
from tierup.dialect.passes import PassFailure

_INLINE = re.compile(r"(?<![\w-])inline(?![\w-])")


def refuse(text: str, op: ir.Operation) -> None:
    """Raise PassFailure for what the MLIR passes of `text` would crash on in `op`.

    `inline` asks who uses a function, and takes "unknown" for an answer that cannot be: it is one for an op of no registered dialect with
    a body, which might be a symbol table.
    """
    if _INLINE.search(text) is None:
        return
    found: list[ir.Operation] = []

    def look(inner: ir.Operation) -> ir.WalkResult:
        # ours are defined in IRDL, which the context does not count as registered
        if len(inner.regions) and not (inner.name.startswith("tierup.") or inner.context.is_registered_operation(inner.name)):
            found.append(inner.operation)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    op.walk(look, ir.WalkOrder.PRE_ORDER)
    if found:
        raise PassFailure(found[0], "is of no registered dialect and has a body: whether that names functions nobody knows")
