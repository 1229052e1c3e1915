"""The ops of the tierup dialect as tier 0 runs them. Handlers as in structural.py."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tierup.dialect.mlir import ir
from tierup.runtime.interpreter.graph import Piece
from tierup.runtime.interpreter.structural import Handler

if TYPE_CHECKING:
    from tierup.runtime.interpreter.reader import Reader


def _profile(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    reader.env[op.results[0]] = operands[0]


HANDLERS: dict[str, Handler] = {"tierup.profile": _profile}
