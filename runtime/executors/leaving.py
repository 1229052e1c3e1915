"""Runs that are left in tier 0: a loop runs long there, where tier 0 takes some thirty times what Python takes for a statement on elements.

The call begins anew in a version that is made at once, as if no run was to be profiled. Of a program that can begin anew (`Tier0.polls`)
loops poll; what the run has written is put back (`Program.run_within`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account.times import WAITING, During
from tierup.runtime.base.events import EventKind
from tierup.runtime.compiling.scheduling.progress import guess, ops_in
from tierup.runtime.faults import faults

if TYPE_CHECKING:
    from tierup.runtime.arguments.signature import Signature
    from tierup.runtime.base.options import Options
    from tierup.runtime.base.protocols import Flat
    from tierup.runtime.code.plans import NotCompiled
    from tierup.runtime.dispatching.version import Version
    from tierup.runtime.executors.making import VersionMaker
    from tierup.runtime.programs.context import Context
    from tierup.runtime.programs.program import Program
    from tierup.runtime.programs.strategy import SpeculationLog

_SHORTEST = 0.1  # seconds of processor time that loops have in tier 0, however quickly their program compiles


def patience(program: Program) -> float:
    """How many seconds a program's loops may run in tier 0 before a version is made at once: a quarter of what a compile takes, which the
    next call would ask for anyway."""
    return max(_SHORTEST, guess.seconds(ops_in(program.graph)) / 4)


class Leaving:
    """Of the calls of one program, of which nothing is recorded in mid-program."""

    def __init__(self, context: Context, maker: VersionMaker[SpeculationLog]) -> None:
        self._program, self._history, self._maker = context.program, context.history, maker

    def may(self, flat: Flat, reason: Reason, options: Options) -> bool:
        """Whether tier 0, which is to answer a call for this reason, may be left: on the CPU, where calls wait for compiles."""
        if options.backend != "cpu" or options.in_background or faults.active or self._program.released:
            return False
        return reason in (Reason.PROFILING, Reason.NOT_SEEN_BEFORE) and self._program.can_be_left(flat)

    def run(self, flat: Flat) -> Flat:
        """What tier 0 gives. Raises RunsLong where it was left, with all arguments as they were."""
        return self._program.run_within(flat, patience(self._program))

    def version(self, flat: Flat, signature: Signature, options: Options) -> Version | NotCompiled | Reason:
        """What is there for a call that was left: see `VersionMaker.make`."""
        action = "left tier 0, where a loop took long: the call begins anew in native code"
        self._history.emit(EventKind.COMPILING, Reason.RUNS_LONG, action=action)
        outcome = self._maker.make(flat, signature, options, at_once=True)
        with During(WAITING):
            while outcome is Reason.COMPILING and self._maker.log.pending:  # another thread's call has asked for it
                time.sleep(_SHORTEST / 10)
        return outcome
