"""Which op of the user's program an internal op came from.

Every op of the program gets a location that names it, `loc("torch.aten.mm"("x.py":3:4))`; passes carry locations along, so
what became of it still says where it began.
"""

from __future__ import annotations

import re

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics

_NAMED = re.compile(r'"(?P<op>torch\.[\w.]+|func\.[\w.]+|tierup\.[\w.]+)"\(')


@dataclass(frozen=True)
class Origin:
    """An op of the program: its name without the dialect, and its place as `file:line:column` or ""."""

    op: str
    place: str


def tag(op: ir.Operation) -> None:
    """Write the op's name into its location; one that has been written stays."""
    name = f"torch.{torch_name(op)}" if op.name == "torch.operator" else op.name
    if getattr(op.location, "name_str", "") != name:
        op.location = ir.Location.name(name, op.location)


def origin(location: ir.Location | str) -> Origin | None:
    """The op of the program that a location names, None when it names none."""
    text = str(location)
    match = _NAMED.search(text)
    if match is None:
        return None
    return Origin(match["op"].removeprefix("torch."), diagnostics.where(text))


_LOOP, _SHORT = "prim.Loop", "prim.Loop.short"


def is_programs(loop: ir.Operation) -> bool:
    """Whether the program has the loop that an op is, or decides the rounds of."""
    of = origin(loop.location)
    return of is not None and of.op in (_LOOP, _SHORT)


def tag_short(loop: ir.Operation) -> None:
    """Write into a loop's location that it has a few rounds, whatever the numbers are: MLIR's patterns keep no attribute of a loop."""
    loop.location = ir.Location.name(f"torch.{_SHORT}", loop.location)


def has_few_rounds(loop: ir.Operation) -> bool:
    """Whether a location says so."""
    of = origin(loop.location)
    return of is not None and of.op == _SHORT
