"""Where nodes of TorchScript stand in the user's program."""

from __future__ import annotations

import re
from typing import Any

from tierup.dialect.base.spelling import printable
from tierup.dialect.mlir import ir

_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def place_of(node: Any) -> tuple[str, int] | None:
    """File and line; of a node that stands nowhere, where what it gives is used first."""
    ranges = (n.sourceRange() for n in (node, *(use.user for o in node.outputs() for use in o.uses())))
    found = next((found for text in ranges if (found := _PLACE.search(text))), None)
    return None if found is None else (found["file"], int(found["line"]))


def location_of(node: Any, context: ir.Context) -> ir.Location:
    """The same for MLIR, of the node alone; of one that reads an attribute, which stands nowhere, as above."""
    if node.kind() != "prim::GetAttr" and not _PLACE.search(node.sourceRange()):
        return ir.Location.unknown(context)
    place = place_of(node)
    return ir.Location.unknown(context) if place is None else ir.Location.file(printable(place[0]), place[1], 0, context)
