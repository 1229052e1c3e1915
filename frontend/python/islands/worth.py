"""Whether a region is worth its call: native code and the user's own statements take turns until one of them is known to be quicker.

The first calls run the statements as plain Python, timed. What takes a microsecond or two there is never handed over; what takes longer
goes to the region's function until native code answers, then the two take turns, and the quicker one answers from then on. Sizes may
grow after that, so there is another race after ten times as many calls. A region whose arguments have another
structure in every call gathers no versions, and stays Python. Under `weigh=False` the region's function answers all calls.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from types import CellType
from typing import Any

from tierup.runtime.functions.function import Function
from tierup.runtime.functions.weighing import timed

_SAMPLES = 2  # calls that are plain Python at first
_TINY = 1.5e-6  # seconds: no native code makes up for the call
_PATIENCE = 16  # calls in which no native code answered: it will not
_LAPS = 6  # timed calls of each side
_ADVANTAGE = 0.95  # of the statements' own time, at most
_FIRST, _LATER = 64, 10  # times as many calls before the next race; after native code has won, ten times this many at first


class Lost(Enum):
    """Why a region stays Python."""

    TOO_SMALL = "it takes less time than a call of native code"
    SLOWER = "Python is as quick as native code there; the option weigh=False would have native code all the same"
    NO_VERSIONS = "no native code answered its calls, whose arguments had another structure, kind or size every time"


class Race:
    """What answers a region's calls. `cell` holds what the driver calls: this, then the winner; `lost` is told when that is Python,
    `judged` when it is native code, or Python until the next race."""

    def __init__(
        self, plain: Callable[..., Any], native: Function, cell: CellType, lost: Callable[[Lost], None], judged: Callable[[], None]
    ) -> None:
        self._plain, self._native, self._cell, self._lost, self._judged = plain, native, cell, lost, judged
        self._calls = self._wins = 0
        self._in_vain = 0  # calls that no native code answered
        self._again_at = 0  # calls: Python answers until then
        self._samples: list[float] = []
        self._laps: list[tuple[float, float]] = []
        self._lap: float | None = None  # what native code took in the lap that goes on

    @property
    def goes_on(self) -> bool:
        """Whether calls take part in it now, and there were some."""
        return 0 < self._calls >= self._again_at

    def again(self) -> None:
        """Let the next race begin with the next call, but where Python has won for good."""
        self._again_at = 0
        if self._cell.cell_contents is self._native:
            self._cell.cell_contents = self

    def __call__(self, *args: Any) -> Any:
        """The statements' result, by whichever is tried now."""
        self._calls += 1
        if self._calls < self._again_at:
            return self._plain(*args)
        if not self._native.may_be_weighed:
            return self._native(*args)
        if len(self._samples) < _SAMPLES:
            return timed(self._plain, args, {}, self._sampled)
        lap, self._lap = self._lap, None
        if lap is not None:
            return timed(self._plain, args, {}, lambda took: self._end_of_lap(lap, took))
        if not self._native.wait(0):  # it is compiled in the background
            return self._plain(*args)
        hits, refused = self._native.stats().hits, self._native.unsupported_calls
        return timed(self._native, args, {}, lambda took: self._by_native(hits, refused, took))

    def _sampled(self, took: float) -> None:
        self._samples.append(took)
        if len(self._samples) == _SAMPLES and min(self._samples) < _TINY:
            self._decide(Lost.TOO_SMALL)

    def _by_native(self, hits: int, refused: int, took: float) -> None:
        """A call of the region's function has ended, which had so many hits and refused calls before."""
        if self._native.stats().hits > hits:
            self._lap = took
            return
        self._in_vain += 1 if self._native.unsupported_calls == refused else _PATIENCE // 3
        if self._in_vain >= _PATIENCE:
            self._decide(Lost.NO_VERSIONS)

    def _end_of_lap(self, native: float, plain: float) -> None:
        self._laps.append((native, plain))
        if len(self._laps) >= _LAPS:
            self._judge()

    def _judge(self) -> None:
        laps, self._laps = self._laps, []
        native, plain = (sorted(side)[len(laps) // 2] for side in zip(*laps, strict=True))
        if native + self._native.seconds_of_raising < plain * _ADVANTAGE:
            self._wins += 1
            self._native.tell_after(_FIRST * _LATER**self._wins, self.again)
            self._cell.cell_contents = self._native
        elif plain < 4 * _TINY:
            self._decide(Lost.SLOWER)
            return
        else:
            self._again_at = self._calls * _LATER
        self._judged()

    def _decide(self, why: Lost) -> None:
        self._cell.cell_contents = self._plain
        self._lost(why)
