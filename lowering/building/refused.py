"""How a pass says that a program has no native code: at the user's op, and why."""

from __future__ import annotations

from dataclasses import replace

from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.registry import PassFailure
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.building.origins import Origin, origin


class Refused(PassFailure):
    """An op without native code; `blames=False`: a program of which no op is to blame. `why` is the message, `origin` the op of the program
    that people read of, under the name `named` where it is not the op's own, and `reason` why nothing was compiled."""

    def __init__(self, op: ir.Operation, why: str, *, named: str = "", blames: bool = True, reason: Reason = Reason.NO_LOWERING) -> None:
        super().__init__(op, why)
        found = origin(op.location) or Origin(torch_name(op), diagnostics.where(op.location))
        self.origin = (replace(found, op=named) if named else found) if blames else Origin("", "")
        self.why, self.reason = why, reason
