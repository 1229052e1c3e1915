"""Which version of a plan to make next, without a profile: for a layout of its arguments, with all sizes symbols."""

from __future__ import annotations

from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import ArgumentSpec
from tierup.runtime.arguments.signature import Signature
from tierup.runtime.base.events import EventKind
from tierup.runtime.base.options import Options
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.programs.speculations import Speculation, symbolic, with_values
from tierup.runtime.programs.strategy import Classes, Underway

MOST_VERSIONS = 8  # per plan: sizes 0 and 1, layouts and values of ints could be combined without end


class PlanLog:
    """What was tried for one plan. For its methods see `SpeculationLog`. `refusal`: why the plan has no code."""

    def __init__(self) -> None:
        self._tried: set[tuple[ArgumentSpec, ...]] = set()
        self._valued: set[tuple[ArgumentSpec, ...]] = set()  # guards that have code only together with values
        self._underway = Underway()
        self._has_code = False
        self.refusal: NotCompiled | None = None

    @property
    def pending(self) -> bool:
        """Whether a version of the plan is being compiled."""
        return bool(self._underway)

    def record(self, signature: Signature) -> None:
        """Nothing hangs on what calls looked like."""

    def propose(self, signature: Signature, options: Options) -> Speculation | Reason:
        """The version to make for a call that none fits, or why none is made."""
        if self.refusal is not None:
            return self.refusal.reason
        found = symbolic(signature, "dynamic")
        specs = with_values(found.specs, signature.values) if found.specs in self._valued else found.specs
        if specs in self._underway:
            return Reason.COMPILING
        if specs in self._tried:
            return Reason.SITE_GIVEN_UP
        if len(self._tried) >= MOST_VERSIONS:
            return Reason.DEPTH_EXHAUSTED
        return Speculation(specs, "dynamic" if found.generalised else "static", found.generalised)

    def for_values(self, speculation: Speculation, options: Options) -> Speculation | None:
        """`speculation`, if it may be made for calls that code without values hands over; None if it was tried, or too many were."""
        return None if speculation.specs in self._tried or len(self._tried) >= MOST_VERSIONS else speculation

    def needs_values(self, specs: tuple[ArgumentSpec, ...], valued: tuple[ArgumentSpec, ...]) -> None:
        """Note that `specs` have code only with the values of ints and bools, and that `valued` was made of them."""
        self._valued.add(specs)
        self._tried.add(valued)

    def made(self, speculation: Speculation, classes: Classes) -> None:
        """Note a speculation: it is being compiled until it is `decided`, `ended` or withdrawn."""
        self._underway.begin(speculation)
        self._tried.add(speculation.specs)

    def evicted(self, specs: tuple[ArgumentSpec, ...]) -> None:
        """It is not made again, as nothing is that was tried."""

    def withdraw(self, speculation: Speculation) -> None:
        """Forget a speculation for which something ran out, so that it may be made again."""
        self._underway.end(speculation)
        self._tried.discard(speculation.specs)

    def ended(self, speculation: Speculation) -> None:
        """Nobody compiles a speculation any more: forget it if it was not `decided`."""
        if self._underway.end(speculation):
            self._tried.discard(speculation.specs)

    def decided(self, speculation: Speculation) -> None:
        """Note that a speculation has its version."""
        self._underway.end(speculation)
        self._has_code = True

    def refused(self, speculation: Speculation, why: NotCompiled) -> None:
        """Note that a speculation has no code. Nor has the plan then, unless the speculation was for values, or the program raises and
        there is other code."""
        self._underway.end(speculation)
        if not speculation.for_values and (why.reason is not Reason.PROGRAM_RAISES or not self._has_code):
            self.refusal = why

    def told(self, speculation: Speculation) -> tuple[EventKind, Reason | None, str]:
        """How a new version is told: the event's kind, its reason, and words for people."""
        return EventKind.COMPILED, None, "a plan's code for"
