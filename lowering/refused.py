"""How a pass says that a program has no native code: at the user's op, and why."""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.pipelines import diagnostics
from tierup.dialect.registry import PassFailure
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.origins import Origin, origin


class Refused(PassFailure):
    """An op without native code, or where `blames` is False a program of which no op is to blame. The message follows "'torch.x' op"; `why`
    is the message, `origin` the op of the program that is named, `reason` what people read of it in events."""

    def __init__(self, op: ir.Operation, why: str, *, blames: bool = True, reason: Reason = Reason.NO_LOWERING) -> None:
        super().__init__(op, why)
        place = diagnostics.place_of(op.location)
        found = origin(op.location) or Origin(op.name.removeprefix("torch."), str(place) if place.line else "")
        self.origin = found if blames else Origin("", "")
        self.why, self.reason = why, reason
