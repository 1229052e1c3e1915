"""Who answers a function's calls: what was made of it, or the Python function itself, whichever is quicker.

Native code is not quicker for everything: of some ops NumPy has a better kernel, and half of a program may run in tier 0. So after 64
calls the two take turns for twelve calls, timed, each of them answered by one; the quicker one answers from then on, and there is another
such round after ten times as many calls, since arguments change. There is none where the answer is known: native code that takes less than
a 64th of what tier 0 took for a recorded call is the quicker one, and so no call is given to Python that takes much longer.

The turns are those of Thue and Morse, in which no side has the first of each pair, nor every second or third call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.functions.elsewhere import Elsewhere, PlainPython

FIRST = 64  # calls before the first round
LATER = 10  # times as many calls before the next
ADVANTAGE = 0.95  # of the other's time, at most, is what the one that replaces it takes
_CLEARLY = 2  # times as quick: known after two calls
_TURNS = "NPPNPNNPPNNP"  # native code, Python
_TIER0 = 64  # times as long as native code: Python will not be quicker


class Weighed(Protocol):
    """A function whose calls may be weighed."""

    elsewhere: Elsewhere | None

    @property
    def weighs(self) -> bool:
        """Whether its calls may be answered by either now."""
        ...

    @property
    def seconds_in_tier0(self) -> float:
        """What a recorded run in tier 0 took; 0 where there was none."""
        ...

    def ours(self) -> Callable[..., Any]:
        """What answers a call but for the Python function."""
        ...

    def take_back(self, again_after: int) -> None:
        """Answer calls as before, and weigh them again after so many."""
        ...

    def answer_by(self, call: Callable[..., Any]) -> None:
        """Let it answer calls for now."""
        ...

    def leave_to(self, elsewhere: Elsewhere) -> None:
        """Let it answer calls from now on."""
        ...

    def concerns_tensors(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
        """Whether a call has PyTorch's tensors, with which the Python function does other things."""
        ...


def timed(call: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[Any, float]:
    """What a call gives, and its seconds in this thread, which other jobs of the machine take nothing from."""
    start = time.thread_time()
    result = call(*args, **kwargs)
    return result, time.thread_time() - start


class Weighing:
    """One round. A call of it is a call of the function. `after`: how many calls there were before."""

    def __init__(self, function: Weighed, plain: Callable[..., Any], after: int) -> None:
        self._function, self._plain, self._after = function, plain, after
        self._ours = function.ours()
        self._took: list[float] = []

    def begin(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The first call of the round, with which it ends where the answer is known."""
        function = self._function
        if not function.weighs or function.concerns_tensors(args, kwargs):
            function.take_back(self._after * LATER)
            return self._ours(*args, **kwargs)
        result, took = timed(self._ours, args, kwargs)
        if took * _TIER0 < function.seconds_in_tier0:
            function.take_back(self._after * LATER)
        else:
            self._took.append(took)
            function.answer_by(self)
        return result

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the one whose turn it is gives."""
        turn = len(self._took)
        if turn >= len(_TURNS) or self._function.concerns_tensors(args, kwargs):  # another thread ended the round just now
            return self._ours(*args, **kwargs)
        result, took = timed(self._plain if _TURNS[turn] == "P" else self._ours, args, kwargs)
        self._took.append(took)
        self._judge()
        return result

    def _judge(self) -> None:
        took = list(zip(_TURNS, self._took, strict=False))
        native, python = (sorted(t for side, t in took if side == which) for which in "NP")
        if len(took) == 2 and native[0] * _CLEARLY < python[0]:
            self._function.take_back(self._after * LATER)
        elif len(took) == len(_TURNS):
            ours, plain = sum(native[:-1]), sum(python[:-1])  # without the slowest of each: a page fault, a collection
            if plain < ours * ADVANTAGE:
                each = len(native) - 1
                self._function.leave_to(QuickerPython(self._function, self._plain, self._after, ours / each, plain / each))
            else:
                self._function.take_back(self._after * LATER)


class QuickerPython(PlainPython):
    """The Python function, which answered in less time than native code and tier 0 did, until the next round."""

    reason = Reason.PYTHON_IS_QUICKER

    def __init__(self, function: Weighed, plain: Callable[..., Any], after: int, ours: float, took: float) -> None:
        """`ours`, `took`: seconds of a call."""
        super().__init__(self._answer, f"it takes {took * 1e6:.3g} us a call, what was made of it {ours * 1e6:.3g} us")
        self._function, self._plain, self._after = function, plain, after
        self._left = after * (LATER - 1)

    def _answer(self, *args: Any, **kwargs: Any) -> Any:
        self._left -= 1
        if self._left < 0 or self._function.concerns_tensors(args, kwargs):
            self._function.take_back(0)
            return Weighing(self._function, self._plain, self._after * LATER).begin(args, kwargs)
        return self._plain(*args, **kwargs)
