"""What the parts of an executor are given in its place: its program, options and account, and how a call is answered without code."""

from __future__ import annotations

import time
from collections.abc import Callable
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np

from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.base.events import EventKind
from tierup.runtime.programs.program import Program

if TYPE_CHECKING:
    from tierup.lowering.base.abi import ErrorSite
    from tierup.runtime.account.history import History
    from tierup.runtime.base.options import Options, Overrides
    from tierup.runtime.base.protocols import Flat, MakeExecutor, Place


class Context:
    """Of one executor. `make_region` makes the executor of a region of the program; `make_continuation`, where there may be assumptions in
    mid-program, of what goes on where one fails. `is_region`: the program is a region of another's."""

    def __init__(
        self,
        program: Program,
        overrides: Overrides,
        history: History,
        place: Place,
        make_region: MakeExecutor,
        *,
        is_region: bool = False,
        make_continuation: MakeExecutor | None = None,
        on_version: Callable[[Options], object] = lambda options: None,
        leave_to_python: Callable[[str, str], object] = lambda why, remedy: None,
    ) -> None:
        self.program, self.history, self.place, self._overrides = program, history, place, overrides
        self.make_region, self.make_continuation, self.is_region = make_region, make_continuation, is_region
        self.on_version = on_version  # called when there is a new version
        self.leave_to_python = leave_to_python  # has the Python function answer all calls from now on, for a reason, with what to do
        self.closed = False  # whether all versions were taken out: what is being compiled is dropped when it arrives

    def apart(self) -> Context:
        """Another for a part of the executor that is closed on its own."""
        made = copy(self)
        made.closed = False
        return made

    def options(self) -> Options:
        """Those in force here."""
        return self._overrides.current()

    def calls(self) -> int:
        """How many calls the program has answered, under any options. Asks all its executors: no lock of theirs is held."""
        return self.history.calls()

    def part(self, name: str, code: Any) -> Program:
        """A program that was cut out of this one, from what the compiler gave (`RegionCode`)."""
        return Program(f"{self.program.name}, {name}", code.graph, code.name, code.names, code.tier0, code.place)

    # --- calls that no code answers ----------------------------------------------------------------------------------

    def interpret(self, flat: Flat, reason: Reason, program: Program | None = None) -> Flat:
        """Answer a call in tier 0, for a reason that is no miss. `program`: what runs, when it is not the pristine graph."""
        self.history.interpreted(reason)
        return self.place.run(program or self.program, flat)

    def run_again(self, flat: Flat, count: Callable[[], None] | None = None, site: ErrorSite | None = None, serial: int = 0) -> Flat:
        """Run a call again that code left having written nothing: native code at an error site, or a split or a continuation that raised.
        An exception is what that was for; a result is none of the code's: `count` is told, and an assertion refuses it before anything is
        written. `site`: the check that failed, where it is known; `serial`: of the version that it is in."""
        return self.place.on_host(lambda *host: self._run_again(host, count, site, serial), flat)

    def _run_again(self, flat: Flat, count: Callable[[], None] | None, site: ErrorSite | None, serial: int) -> Flat:
        history, program, options = self.history, self.program, self.options()
        action, raises = "ran again in tier 0", False
        told = count or (lambda: history.emit(EventKind.HANDED_OVER, Reason.HANDED_OVER, action=action))
        if options.is_assertion:
            try:
                program.run(tuple(value.copy() if isinstance(value, np.ndarray) else value for value in flat))
            except Exception:
                raises = True  # the run below raises it, with what it writes before
            if not raises:
                told()
                history.refuse_tier0(Reason.HANDED_OVER, options)
        start = time.perf_counter()
        try:
            results = program.run(flat)
        except BaseException as e:
            op, line = ("", "") if site is None else (site.op, site.location)
            history.check_failed(op, line, e, time.perf_counter() - start, serial)
            raise
        told()
        return results
