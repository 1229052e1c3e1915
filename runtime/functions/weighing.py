"""Who answers a function's calls: what was made of it, or the Python function itself, whichever is quicker.

Native code is not quicker for everything: of some ops NumPy has a better kernel, and half of a program may run in tier 0. So after 64
calls the two take turns for twelve calls, timed, each of them answered by one; the quicker one answers from then on, and there is another
such round after ten times as many calls, since arguments change. A round ends with its first call where there is nothing to gain: native
code takes a microsecond or two, or less than a 64th of what tier 0 took for a recorded call, so that Python would take much longer; of what
tier 0 took, a tenth of a second may have been imports and other things that a process does once.

A function that is translated in part has such rounds, too, once it is settled who answers its regions: each may be quicker than its own
statements called as a function, and all of it take longer than the Python function, which calls none.

The turns are those of Thue and Morse, in which no side has the first of each pair, nor every second or third call.
"""

from __future__ import annotations

import functools
import itertools
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from threading import get_ident
from typing import TYPE_CHECKING, Any

from tierup.dialect.base import forking
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account import last_plan, times
from tierup.runtime.account.times import NATIVE, OVERHEAD, PYTHON, START_UP, During, Times, clocked
from tierup.runtime.base import events
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.dispatching import dispatch
from tierup.runtime.faults import faults
from tierup.runtime.functions.direct_calls import DirectCalls
from tierup.runtime.functions.elsewhere import Elsewhere, PlainPython
from tierup.runtime.functions.report import Report

if TYPE_CHECKING:
    from tierup.lowering.entry.tables.forward import Forward
    from tierup.lowering.entry.tables.table import NativeTable

FIRST = 64  # calls before the first round
LATER = 10  # times as many calls before the next
ADVANTAGE = 0.95  # of the other's time, at most, is what the one that replaces it takes
_CLEARLY = 2  # times as quick: known after two calls, where these take long enough
_LONG = 1e-4  # seconds: a first call that finds nothing in the caches does not take twice that for it
_TURNS = "NPPNPNNPPNNP"  # native code, Python
_RAISING = 5e-5  # seconds that a call takes longer, at least, which native code leaves to tier 0 to raise
_TIER0 = 64  # times as long as native code: Python will not be quicker
_QUICK = 2e-6  # seconds: nothing to gain, and too little to measure
_COUNTED = 1e-7  # seconds: what counting the calls adds to the Python function's
_ENDLESS = 2**63 - 1  # calls
_ONCE = 0.1  # seconds of tier 0's, which may have imported modules


class Weighed(DirectCalls, Report):
    """A function of which either may answer the calls: `_slow` and the tables by which native code is reached, or `_python`."""

    _slow: Callable[..., Any]
    _python: Callable[..., Any] | None
    times: Times
    _in_parts: Elsewhere | None = None  # what was made of a function of which there is no graph
    _when_due: Callable[[], None] | None = None  # of a region: what is called in the place of a round

    def _expect_weighing(self) -> None:
        self.is_weighed = self._python is not None
        self._first: NativeTable | None = None  # of those that are open, the one that is tried first
        self._runs: tuple[NativeTable, Callable[..., Any]] | None = None
        self._linking = forking.lock()  # over `_first`, `elsewhere` and `_round`
        self._round: Round | None = None  # whose turns calls take now
        self._turns_of_python = 0  # calls that it answered before the ones that it answers now
        self._due = functools.partial(answer_due, weakref.ref(self))
        self._due_in = 0  # native calls before the next round
        self._armed: tuple[NativeTable, int] | None = None  # the table that asks about a call, after so many
        self._untimed = self._entries_then = 0  # native calls since the last that was timed; calls through Python, then
        self._passing: Forward | None = None  # what lets calls through to `_in_parts`
        self._python_before = 0.0  # seconds of calls that the Python function answered before those that it answers now
        self._weigh_after(FIRST)

    @property
    def may_be_weighed(self) -> bool:
        """Whether the options of now let Python answer what native code or tier 0 could."""
        options = self._overrides.current()
        return options.weigh and options.optimize and not options.strict

    def leave_to(self, elsewhere: Elsewhere) -> None:
        """Let calls be answered by it, but those that are to be native or fail."""
        with self._linking:
            self._round, self.elsewhere, self._in_parts = None, elsewhere, elsewhere
            self._answer_as_made()
        self._tell(elsewhere)

    @property
    def is_in_parts(self) -> bool:
        """Whether there is no graph of the whole function."""
        return self._in_parts is not None

    def weigh_parts(self) -> None:
        """Let the next calls take turns, where the function is translated in part: it is settled who answers its regions."""
        if self._python is not None and self._in_parts is not None and self._in_parts.call is not self._python and self._may_take_turns:
            self.begin(Round(self, self._python))

    def tell_after(self, calls: int, tell: Callable[[], None]) -> None:
        """Call this after so many calls, and after ten times as many, where who calls this weighs."""
        self._when_due, self.is_weighed = tell, True
        self._weigh_after(calls)

    def take_back(self, python: QuickerPython) -> None:
        """Answer calls by what was made of it, where this answers them now."""
        with self._linking:
            if self.elsewhere is not python:
                return
            self._python_before += python.seconds
            self.elsewhere, self._turns_of_python = self._in_parts, self._turns_of_python + python.calls()
            self._answer_as_made()
        if self._in_parts is not None:
            self._in_parts.race_again()

    def _answer_as_made(self) -> None:
        self.times.python.skip(self._passed)
        if self._in_parts is None:
            self._passing = None
            self._answer_directly(table=self._first)
            return
        call = self._in_parts.call

        def otherwise(*args: Any, **kwargs: Any) -> Any:
            if forward is None or self.concerns_tensors(args, kwargs):
                with During(PYTHON, self.times):
                    return self.in_python(call, args, kwargs)
            forward.let_pass((*args, *kwargs.values()))
            if forward.is_over:
                return self._timed_in_python(forward, call, args, kwargs)
            forward.count()
            return call(*args, **kwargs)

        self._passing = forward = self.forward(call, otherwise, 0)
        self._answer_directly(forward=forward)

    @property
    def let_through(self) -> int:
        """How many calls the Python function, or the driver of its regions, answered, but for turns."""
        return self.times.entries + self.times.python.calls + self._passed

    @property
    def _passed(self) -> int:
        """Calls that were let through since the last one that was timed."""
        return 0 if self._passing is None else self._passing.passed

    def _timed_in_python(self, forward: Forward, call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The result of a call that is let through, timed: it stands for those since the last. Calls of the function in it, which are let
        through, too, took their parts of the time; of a call whose time is known all of it is."""
        regions, stands_for, is_known = self._parts, forward.passed + 1, times.is_here(self.times)
        inside = _seconds_of(regions)
        forward.give(_ENDLESS)
        start = times.now()
        try:
            return call(*args, **kwargs)
        finally:
            took, calls = times.now() - start, forward.passed + 1
            if not is_known:
                own = max(0.0, took - (_seconds_of(regions) - inside))
                self.times.answered_by_python(took / calls, stands_for, own / calls)
                self.times.python.skip(calls - 1)
            forward.give(0 if is_known else self.times.python.untimed())

    def in_python(self, python: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What a Python function gives in a program's place. PyTorch's tensors mean there what they mean in programs."""
        raise NotImplementedError

    def begin(self, weighing: Round) -> None:
        """Let calls take these turns, and no longer those of an earlier round that never ended: a call in it may hang."""
        with self._linking:
            if self.elsewhere is self._in_parts:
                self._round = weighing
                self._answer_directly(weighing)

    def settle(self, weighing: Round, python: QuickerPython | None = None) -> None:
        """The end of a round, but of one that a `reset` or what another call found has ended. `python` won, or native code did."""
        with self._linking:
            if self._round is not weighing:
                return
            self._round, self.elsewhere = None, self._in_parts if python is None else python
            if python is None:
                self._answer_as_made()
            else:
                self._answer_directly(*((python.call,) if python.forward is None else (None, None, python.forward)))
        if python is not None:
            self._tell(python)

    @property
    def calls_in_python(self) -> int:
        """How many calls the Python function answered, in turns or since it is quicker, or the program that it was made of."""
        elsewhere = self.elsewhere
        return self._turns_of_python + (elsewhere.calls() if isinstance(elsewhere, QuickerPython) else 0)

    @property
    def seconds_of_raising(self) -> float:
        """What those of its calls that raise make a call take longer: few turns may be such calls, or none."""
        stats = self.stats()
        return _RAISING * stats.raised / max(1, stats.calls)

    def note_python(self) -> None:
        """Count a call that the Python function answered, in its turn, or the program in PyTorch that the function was made of."""
        with self._linking:
            self._turns_of_python += 1

    def ours(self, tensors: bool = False) -> Callable[..., Any]:
        """What answers a call but for the Python function: the native entry, where there is one. `tensors`: a call with PyTorch's."""
        if self._in_parts is not None and self._is_left(self._in_parts):
            return self._slow if tensors else self._in_parts.call
        first = self._first
        return self._slow if first is None else first.callable()

    def forward(self, plain: Callable[..., Any], otherwise: Callable[..., Any], most: int | None = None) -> Forward | None:
        """What answers calls by `plain`, `most` of them or up to the one that is due, and leaves others to `otherwise`; None without a
        native entry."""
        with During(START_UP):  # the first one loads llvmlite
            if self._overrides.current().entry != "native" or dispatch.native_unavailable() is not None:
                return None
            from tierup.lowering.entry.tables.forward import Forward

        return Forward(plain, self._weighed_at if most is None else most, otherwise)

    def is_due(self) -> bool:
        """Counts a call; whether it is the one with which a round is to begin."""
        return next(self._calls) == self._weighed_at  # one step of the interpreter: of all threads' calls, one is

    def concerns_tensors(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call has PyTorch's tensors, with which the Python function does other things."""
        raise NotImplementedError

    def weigh(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The result of the call that is due, with which a round begins where one may."""
        after, options, compiled = self._weighed_at, self._overrides.current(), self.wait(0)
        self._weigh_after(after * LATER if compiled else after)
        if self._when_due is not None:
            self._when_due()
        free = self._when_due is None and self.elsewhere is None and self._may_take_turns and options.num_profiled_runs < after
        tensors = self.concerns_tensors(args, kwargs)
        if self._python is None or not (free and compiled) or tensors:
            return self.ours(tensors)(*args, **kwargs)
        return Round(self, self._python)(*args, **kwargs)

    @property
    def _may_take_turns(self) -> bool:
        options = self._overrides.current()
        return self.may_be_weighed and options.profile and options.backend == "cpu" and not faults.active

    def _weigh_after(self, calls: int) -> None:
        self._weighed_at, self._calls = calls, itertools.count()
        self._runs = None  # of a table that is gone, perhaps
        self._due_in = calls
        self._arm()

    # --- native calls that are timed ------------------------------------------------------------------------------------

    def _arm(self) -> None:
        """Have the native table ask about the next call that is to be timed, or to begin a round."""
        self._untimed, self._armed = self.untimed, None
        if self._first is not None:
            untimed = self.times.native.untimed()
            calls = min(untimed, self._due_in) if self.is_weighed else untimed
            self._armed = self._first, calls
            self._first.call_after(calls, self._due)

    @property
    def untimed(self) -> int:
        """Native calls since the last one that was timed."""
        if self._armed is None:
            return self._untimed
        table, calls = self._armed
        return self._untimed + calls - max(table.calls_until_due, 0)

    def answer_due(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The result of a call that the native table asks about."""
        passed = 0 if self._armed is None else self._armed[1]
        self._untimed, self._armed = self._untimed + passed, None
        self._due_in -= passed
        if self.is_weighed and self._due_in <= 0:
            with During(OVERHEAD, self.times):
                return self.weigh(args, kwargs)
        self._due_in -= 1
        first, entries, left = self._first, self.times.entries, self.times.left
        run = self._slow if first is None else self._through(first)
        try:
            result, took = clocked(run, args, kwargs)
            if self.times.entries == entries and self.times.left == left:  # else its time is known by parts
                # it stands for those since the last, but for those that came through Python
                self.times.answered_natively(took, max(1, self._untimed + 1 - entries + self._entries_then), last_plan.serial())
                self._untimed, self._entries_then = 0, entries
        finally:
            self._arm()
        return result

    def _through(self, table: NativeTable) -> Callable[..., Any]:
        """What runs this table."""
        kept, run = self._runs or (None, None)
        if run is None or kept is not table:
            run = table.callable()
            self._runs = table, run
        return run

    @property
    def times_by_part(self) -> dict[str, float]:
        """What its calls took until now, seconds by part."""
        by_part, native = self.times.by_part, self.times.native
        by_part[NATIVE] += native.last * max(0, self.untimed - self.times.entries + self._entries_then)
        elsewhere = self.elsewhere
        by_part[PYTHON] += self.times.python.last * self._passed + self._python_before
        by_part[PYTHON] += elsewhere.seconds if isinstance(elsewhere, QuickerPython) else 0.0
        return by_part

    def _is_left(self, elsewhere: Elsewhere) -> bool:
        """Whether it answers calls under the options of now."""
        return self.may_be_weighed if isinstance(elsewhere, QuickerPython) else not self._overrides.current().strict

    def _tell(self, elsewhere: Elsewhere) -> None:
        if isinstance(elsewhere, PlainPython):
            events.emit(Event(EventKind.PLAIN_PYTHON, self.__name__, self.stats().calls + 1, elsewhere.reason, action=elsewhere.why))


def _seconds_of(regions: Sequence[Report]) -> float:
    return sum(sum(region.times_by_part.values()) for region in regions)


def answer_due(weak: weakref.ref[Weighed], /, *args: Any, **kwargs: Any) -> Any:
    """A call that a native table asks about."""
    function = weak()
    assert function is not None  # it is being called
    return function.answer_due(args, kwargs)


def timed(call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], note: Callable[[float], None]) -> Any:
    """What a call gives or raises. `note` gets its seconds in this thread, which other jobs of the machine take nothing from: of one that
    raises, too, since for some functions that is what most calls do, but not of one that a signal ends."""
    start = time.thread_time()
    try:
        result = call(*args, **kwargs)
    except Exception:
        note(time.thread_time() - start)
        raise
    note(time.thread_time() - start)
    return result


class Round:
    """Twelve turns, which the calls of all threads take. Each call is answered once: by the side whose turn it is, else by native code."""

    def __init__(self, function: Weighed, plain: Callable[..., Any]) -> None:
        self._function, self._plain = function, plain
        self._turns = deque(_TURNS)
        self._took: dict[str, list[float]] = {"N": [], "P": []}
        self._sides: dict[int, Callable[..., Any]] = {}  # by thread: what is timed there; calls inside are its own
        self._lock = forking.lock()

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """What the side whose turn it is gives or raises. After a signal the turn is still to be taken."""
        thread, function = get_ident(), self._function
        if function.concerns_tensors(args, kwargs):
            return function.ours(tensors=True)(*args, **kwargs)
        side = self._sides.get(thread)
        if side is not None:
            if side is self._plain:
                function.note_python()
            return side(*args, **kwargs)
        try:
            turn = self._turns.popleft()
        except IndexError:  # other threads take the last ones
            return function.ours()(*args, **kwargs)
        if turn == "P":
            function.note_python()
        elif function.is_in_parts:
            function.times.entries += 1
        side = self._sides[thread] = self._plain if turn == "P" else function.ours()
        seconds: list[float] = []
        try:
            with During(PYTHON, function.times) if turn == "P" or function.is_in_parts else nullcontext():
                return timed(side, args, kwargs, seconds.append)
        finally:
            del self._sides[thread]
            if seconds:
                self._note(turn, *seconds)
            else:
                self._turns.appendleft(turn)

    def _note(self, turn: str, took: float) -> None:
        with self._lock:
            self._took[turn].append(took)
            native, python = (sorted(side) for side in self._took.values())
        function, taken = self._function, len(native) + len(python)
        if taken == 1:  # the others wait for it
            if took + function.seconds_of_raising >= _QUICK and took * _TIER0 + _ONCE >= function.seconds_in_tier0:
                function.begin(self)
            else:
                function.settle(self)
        elif turn == "P" and len(python) == 1 and took >= _LONG and native[0] * _CLEARLY < took:
            function.settle(self)
        elif taken == len(_TURNS):
            ours, plain = (sum(side[:-2]) / len(side[:-2]) for side in (native, python))  # no slowest: page faults, a collection
            ours += function.seconds_of_raising
            quicker = plain + _COUNTED < ours * ADVANTAGE and ours >= _QUICK
            function.settle(self, QuickerPython(function, self._plain, ours, plain) if quicker else None)


class QuickerPython(PlainPython):
    """The Python function, which answered in less time than native code and tier 0 did, until the next round."""

    reason = Reason.PYTHON_IS_QUICKER

    def __init__(self, function: Weighed, plain: Callable[..., Any], ours: float, took: float) -> None:
        """`ours`, `took`: seconds of a call."""
        why = f"it takes {took * 1e6:.3g} us a call, what was made of it {ours * 1e6:.3g} us, which answers with the option weigh=False"
        super().__init__(self._answer, why)
        self._function, self._plain, self._instead_of, self._took, self._ours = function, plain, function.elsewhere, took, ours
        if self._instead_of is not None:
            self.functions, self.left = self._instead_of.functions, self._instead_of.left
        self._calls, self._asked, self._asking = itertools.count(), 0, forking.lock()
        self.forward = function.forward(plain, self._answer)  # the shorter way, where there is one

    @property
    def compared(self) -> tuple[float, float]:
        """Seconds of a call: of Python's, and of what was made of the function."""
        return self._took, self._ours

    def explain(self) -> list[str]:
        """That it is so, and what it answers instead of."""
        return [*super().explain(), *([] if self._instead_of is None else self._instead_of.explain())]

    def calls(self) -> int:
        """How many it has answered."""
        with self._asking:
            self._asked += 1
            forwarded = 0 if self.forward is None else self.forward.calls
            return next(self._calls) + 1 - self._asked + forwarded

    @property
    def seconds(self) -> float:
        """What these took, by those that were timed."""
        return self.calls() * self._took

    def _answer(self, /, *args: Any, **kwargs: Any) -> Any:
        function, forward = self._function, self.forward
        if forward is not None and forward.is_over or function.is_due() or function.concerns_tensors(args, kwargs):
            function.take_back(self)
            return function.weigh(args, kwargs)
        if forward is not None:
            forward.let_pass((*args, *kwargs.values()))
        next(self._calls)  # one step of the interpreter: no thread's call is lost
        return self._plain(*args, **kwargs)
