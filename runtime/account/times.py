"""Where the time of calls went: every microsecond of a call is one part's, and the parts add up to what the calls took.

    with During(GRAPHS): ...           # what this takes belongs to graphs, but for what is During something else inside it

A thread is in one part at a time, of one function's account. Calls that native code, or the Python function, answers without a line of
ours are timed now and then (`Samples`); each of these stands for those since the one before.
"""

from __future__ import annotations

import operator
import threading
from collections import deque
from collections.abc import Callable, Mapping
from functools import cache
from time import perf_counter
from typing import Any
from weakref import WeakSet

from tierup.dialect.base import forking
from tierup.runtime.account import calls

START_UP, GRAPHS, COMPILING, LOADING = "start-up", "graphs", "compiling", "loading code"
TIER0, NATIVE, PYTHON, OVERHEAD, WAITING = "tier 0", "native code", "Python", "call overhead", "waiting"
PARTS = (START_UP, GRAPHS, COMPILING, LOADING, TIER0, NATIVE, PYTHON, OVERHEAD, WAITING)

_NATIVELY, _BY_PYTHON = 2e-5, 3e-5  # seconds that a timed call takes longer: its code is in no cache
_SHARE = 0.01  # of all time, at most, goes to that
_MOST_UNTIMED = 1 << 16  # calls between two that are timed
_MUCH = 4  # times as long
_KEPT = 1024  # calls
_GOLDEN = 0.6180339887498949  # steps through 0 to 1 that no pattern of calls follows


class Samples:
    """Calls that were timed, of those of which most are not; each stands for the untimed ones before it. `by_version`: of each version that
    answered some, by its serial, [calls, seconds]. `cost`: seconds that a timed call takes longer."""

    def __init__(self, cost: float) -> None:
        self.seconds = 0.0  # of all these calls, by the timed ones
        self.calls = 0
        self.by_version: dict[int, list[float]] = {}
        self._cost, self._count, self._last = cost, 0, 0.0

    def add(self, seconds: float, calls: int, serial: int) -> None:
        """A call took so long, and is taken for so many; for itself alone where it took much longer than the one before: another process
        had the core, or calls take longer now, as the next will say."""
        others = self._last if self._count and seconds > _MUCH * self._last else seconds
        self.seconds += seconds + others * (calls - 1)
        self.calls += calls
        self._count, self._last = self._count + 1, seconds
        known = self.by_version.setdefault(serial, [0, 0.0])
        known[0] += 1
        known[1] += seconds

    def skip(self, calls: int) -> None:
        """So many were not timed, and stand for themselves."""
        self.seconds += self._last * calls
        self.calls += calls

    def of_version(self, serial: int) -> float | None:
        """Seconds of a call that this version answers, None where none was timed."""
        known = self.by_version.get(serial)
        return None if known is None else known[1] / known[0]

    @property
    def last(self) -> float:
        """Seconds of the call that was timed last."""
        return self._last

    def untimed(self) -> int:
        """How many calls to let go by until the next is timed."""
        if not self._count:
            return 0
        usual = min(self._cost / (_SHARE * max(self._last, 1e-8)), self.calls)  # of the first calls more are timed
        return min(_MOST_UNTIMED, int(usual * (0.5 + self._count * _GOLDEN % 1)))


class Times:
    """What calls of one function took, by PARTS; seconds. `place`: the line of the function.

    `stages`: of what is COMPILING, by the compiler's stages, where they are known. `background`: compiles that no call
    waited for; None of such an account.
    `entries`: calls that came through Python; `left`: calls that native code left for it. `graphs`: how many were made.
    """

    def __init__(self, name: str = "", place: str = "", *, is_background: bool = False) -> None:
        self.name, self.place = name, place
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.stages: dict[str, float] = {}
        self.entries = self.left = self.graphs = 0
        self.native, self.python = Samples(_NATIVELY), Samples(_BY_PYTHON)
        self.recent: deque[tuple[float, float]] = deque(maxlen=_KEPT)  # (start, seconds) of the last calls that came through Python
        self.background = None if is_background else Times(name, is_background=True)
        if place:
            _place(name, place).begin(self)

    def __del__(self) -> None:
        if getattr(self, "place", ""):
            _place(self.name, self.place).end(self)

    @property
    def by_part(self) -> dict[str, float]:
        """Seconds by part, calls that were not timed included."""
        seconds = self.seconds
        return {**seconds, NATIVE: seconds[NATIVE] + self.native.seconds, PYTHON: seconds[PYTHON] + self.python.seconds}

    def take(self, other: Times) -> None:
        """Add what another's calls took."""
        for part, seconds in other.by_part.items():
            self.seconds[part] += seconds
        for stage, seconds in other.stages.items():
            self.stages[stage] = self.stages.get(stage, 0.0) + seconds
        self.entries += other.entries
        self.left += other.left
        self.graphs += other.graphs
        if self.background is not None and other.background is not None:
            self.background.take(other.background)

    def ended(self, start: float, end: float, before: Mapping[str, float] | None) -> None:
        """A call came in and ended, by `perf_counter`. `before`: the seconds by part when it began, where calls are told."""
        self.recent.append((start, end - start))
        if before is not None:
            calls.tell(self.name, self.place, start, end - start, {part: spent - before[part] for part, spent in self.seconds.items()})

    def answered_natively(self, seconds: float, stands_for: int, serial: int) -> None:
        """A call took so long that native code answered, without a line of Python; it stands for those that were not timed before it."""
        self.native.add(seconds, stands_for, serial)
        if calls.are_heard():
            calls.tell(self.name, self.place, perf_counter() - seconds, seconds, {NATIVE: seconds}, stands_for)

    def answered_by_python(self, seconds: float, stands_for: int, own: float) -> None:
        """As `answered_natively`, by the Python function, and in `own` of these seconds: regions have accounts of their own."""
        self.python.add(own, stands_for, 0)
        if calls.are_heard():
            calls.tell(self.name, self.place, perf_counter() - seconds, seconds, {PYTHON: own, NATIVE: seconds - own}, stands_for)

    def clear(self) -> None:
        """Forget all of it: what the place's sum has stays there."""
        if self.place:
            place = _place(self.name, self.place)
            place.end(self)
            place.begin(self, again=True)
        self.seconds = dict.fromkeys(PARTS, 0.0)
        self.entries = self.left = self.graphs = 0
        self.stages, self.native, self.python = {}, Samples(_NATIVELY), Samples(_BY_PYTHON)
        self.recent.clear()
        if self.background is not None:
            self.background.clear()


class Place:
    """All functions that were made at one line."""

    def __init__(self, name: str) -> None:
        self.name, self.made = name, 0
        self._ended, self._alive = Times(), WeakSet[Times]()

    def begin(self, times: Times, *, again: bool = False) -> None:
        """One more, or one whose `times` start anew."""
        self.made += not again
        self._alive.add(times)

    def end(self, times: Times) -> None:
        """One is gone, or starts anew."""
        with _lock:
            self._alive.discard(times)
            self._ended.take(times)

    def total(self) -> Times:
        """What all calls took."""
        made = Times()
        with _lock:
            made.take(self._ended)
            for times in list(self._alive):
                made.take(times)
        return made


_lock = forking.lock()  # a collection may end one while its own thread adds up
_places: dict[tuple[str, str], Place] = {}


def _place(name: str, place: str) -> Place:
    with _lock:
        return _places.setdefault((name, place), Place(name))


def places() -> Mapping[tuple[str, str], Place]:
    """By name and line, the functions there were and are."""
    return dict(_places)


class _Here(threading.local):
    account: Times | None = None
    part = ""
    since = 0.0
    entered = 0.0  # when the call came in that the thread is in
    before: dict[str, float] | None = None  # what calls before it took, where somebody wants to know of each


_here = _Here()


class During:
    """A block that belongs to a part, of the account of the thread's call, or of the one given. Outside of calls nothing is kept."""

    __slots__ = ("_account", "_before", "_part")

    def __init__(self, part: str, account: Times | None = None) -> None:
        self._part, self._account = part, account

    def __enter__(self) -> None:
        here, now = _here, perf_counter()
        account, part = self._before = here.account, here.part
        if account is not None:
            account.seconds[part] += now - here.since
        if self._account is not None:
            if account is None:
                here.entered = now
                here.before = dict(self._account.seconds) if calls.are_heard() else None
            here.account = self._account
        here.part, here.since = self._part, now

    def __exit__(self, *_: object) -> None:
        here, now = _here, perf_counter()
        if here.account is not None:
            here.account.seconds[here.part] += now - here.since
        here.account, here.part = self._before
        here.since = now
        if here.account is None and self._account is not None:
            self._account.ended(here.entered, now, here.before)


def of_background() -> Times | None:
    """The account of what no call waits for, of the function whose call this thread is in."""
    account = _here.account
    return account if account is None or account.background is None else account.background


def now() -> float:
    """Seconds, by the clock of all accounts."""
    return perf_counter()


def is_here(account: Times) -> bool:
    """Whether this thread's time is this account's now."""
    return _here.account is account


def since_call() -> float:
    """Seconds since this thread's call came in; 0 outside of one."""
    return perf_counter() - _here.entered if _here.account is not None else 0.0


def move(taken: str, given: str, seconds: float) -> None:
    """So much of one part, of the call that this thread is in, was another's."""
    account = _here.account
    if account is not None:
        account.seconds[taken] -= max(0.0, seconds)
        account.seconds[given] += max(0.0, seconds)


def note_stages(seconds: Mapping[str, float]) -> None:
    """A compile of the call that this thread is in took so long in these stages."""
    account = _here.account
    if account is not None:
        for stage, spent in seconds.items():
            account.stages[stage] = account.stages.get(stage, 0.0) + spent


def clocked(call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, float]:
    """What a call gives, and its seconds, without those that it takes to look at the clock."""
    result, took = _clocked(call, args, kwargs)
    return result, max(took - _of_clock(), 1e-8)


def _clocked(call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, float]:
    start = perf_counter()
    result = call(*args, **kwargs)
    return result, perf_counter() - start


@cache
def _of_clock() -> float:
    """Seconds that a call which does nothing seems to take."""
    return min(_clocked(operator.is_, (None, None), {})[1] for _ in range(32))
