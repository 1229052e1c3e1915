"""Lists of numbers that are written: who reads one reads a copy of what is in it then, so that a gradient can read that, too.

    %l = torch.prim.ListConstruct                          %l = torch.prim.ListConstruct
    torch.prim.Loop ... { torch.aten.append.t %l, %i }     torch.prim.Loop ... { torch.aten.append.t %l, %i }
    %y = torch.aten.permute %x, %l                    ->   %m = torch.aten.list.t %l
                                                           %y = torch.aten.permute %x, %m
"""

from __future__ import annotations

from tierup.dialect.analysis.alias import AliasAnalysis
from tierup.dialect.ir.structure import LIST_WRITERS
from tierup.dialect.ir.walking import unerased, walk
from tierup.dialect.language.contracts import STRUCTURE
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of

_COPY = "torch.aten.list.t"


def read_copies(func: ir.Operation) -> None:
    """Let every op of a function that reads a list of numbers which somebody writes read a copy of it."""
    aliases = aliases_of_lists(func)
    if aliases is None:
        return
    copies: dict[tuple[ir.Value, ir.Operation], ir.Value] = {}
    for op in unerased(walk(func)):
        hands_on = op.name in STRUCTURE or (op.name != "torch.operator" and row_of(op) is None)
        if hands_on or op.name in LIST_WRITERS or op.name == _COPY:
            continue
        for i, value in enumerate(op.operands):
            if str(value.type).startswith("!torch.list") and aliases.has_writers(value):
                at = _first_place(op, value, aliases)
                if (value, at) not in copies:
                    made = ir.Operation.create(_COPY, [value.type], [value], loc=op.location, ip=ir.InsertionPoint(at))
                    copies[value, at] = made.results[0]
                op.operands[i] = copies[value, at]


def aliases_of_lists(func: ir.Operation) -> AliasAnalysis | None:
    """Who writes the lists of a function in value form; None where nobody writes one."""
    return AliasAnalysis(func) if any(op.name in LIST_WRITERS for op in walk(func)) else None


def _first_place(reader: ir.Operation, value: ir.Value, aliases: AliasAnalysis) -> ir.Operation:
    """The op before which a copy is what the reader reads: as far outside of branches and loops as nobody in them writes the list."""
    own = value.owner if isinstance(value.owner, ir.Block) else value.owner.operation.block
    writers = aliases.writers(value)
    at = reader
    while at.block != own:
        holder = at.parent.operation
        if any(inner == writer for inner in walk(holder) for writer in writers):
            return at
        at = holder
    return at
