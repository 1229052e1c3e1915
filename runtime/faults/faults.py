"""Faults on purpose: `tierup.testing`, for tests of programs that run under tierup, and for tierup's own.

    with tierup.testing.faults(guard="f:argument0") as injected:
        f(x)                              # the version's guard on x is lost once: tier 0 answers
    assert injected.fired == ["f:argument0, evaluation 0"]

A **site** is where a guard or an assumption can fail: `PROGRAM:argument0` is the entry guard on flat argument 0 of a version of the
program, and `PROGRAM:bailout2` an assumption in mid-program, in native code or in tier 0. A program is a function by its name, a region of
one ("f, region 0", whose entry guards are the region's check), or what goes on where an assumption failed ("f, from model.py:12").

While a block is in force anywhere, all functions are called through Python, and calls that a fault may meet check their guards in
Python (`runtime/dispatching/dispatch.py`). When none is, what is left is a look at `active` on paths that are slow anyway.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, TypeVar

from tierup.dialect.base import forking
from tierup.lowering.base import faults as stages
from tierup.runtime.base import options as options_module
from tierup.runtime.faults.kinds import CRASH, CompilerFault, InjectedFault, failing_compile

if TYPE_CHECKING:
    from tierup.runtime.base.protocols import CompiledVersion

R = TypeVar("R")
__all__ = ["CRASH", "Faults", "InjectedFault", "faults"]

active = 0  # how many blocks are in force in this process


class Faults:
    """The faults of one block, and what became of them. `fired`: each fault that came to pass, in order, as "SITE, evaluation N",
    "compiler: STAGE", "delay" or "allocation N". `sites`: the sites that calls came by, with how often one call did at most (for
    bailouts in native code, which does not count, 0)."""

    def __init__(self, guard: str, evaluation: int | None, compiler: CompilerFault | None, allocation: int | None, always: bool) -> None:
        self.guard, self._evaluation, self._always = guard, evaluation, always
        self.compiler, self.allocation = compiler, allocation
        self.fired: list[str] = []
        self.sites: dict[str, int] = {}
        self._lock = forking.lock()

    @property
    def wants_python(self) -> bool:
        """Whether entry guards are to be checked where they can be lost, or noted."""
        if self.compiler is not None or self.allocation is not None:
            return False
        return not self.guard or ":bailout" not in self.guard

    def is_due(self) -> bool:
        """Whether the block's fault may still come to pass: it does so once, or always."""
        return self._always or not self.fired

    def fire(self, what: str) -> bool:
        """Note a fault that comes to pass; False when it has already, and does so once."""
        with self._lock:
            if not self.is_due():
                return False
            self.fired.append(what)
            return True

    def wants(self, site: str) -> bool:
        """Whether a site is to be lost at some evaluation."""
        return bool(self.guard) and self.is_due() and (site == self.guard or fnmatchcase(site, self.guard))

    def loses(self, site: str, evaluation: int) -> bool:
        """Whether a site is lost, at which a call is for the `evaluation`-th time (from 0)."""
        with self._lock:
            self.sites[site] = max(self.sites.get(site, 0), evaluation + 1)
        if not self.wants(site) or self._evaluation not in (None, evaluation):
            return False
        return self.fire(f"{site}, evaluation {evaluation}")

    def forced(self, site: str) -> int | None:
        """At which evaluation native code is to lose a site; None for none."""
        with self._lock:
            self.sites.setdefault(site, 0)
        return (self._evaluation or 0) if self.wants(site) else None


_FIRST = object()  # what `evaluation` is where it is not given: 0
_MOST_SECONDS = 1e6
_here: ContextVar[tuple[Faults, ...]] = ContextVar("tierup_faults", default=())
_everywhere: tuple[Faults, ...] = ()
_lock = forking.lock()


class _Thread(threading.local):
    evaluations: Counter[str] | None = None  # of the call that runs


_thread = _Thread()


@contextmanager
def faults(
    *,
    guard: int | str = "",
    evaluation: Any = _FIRST,
    compiler: str = "",
    delay: float = 0.0,
    allocation: int | None = None,
    always: bool = False,
    everywhere: bool = False,
) -> Iterator[Faults]:
    """Let something fail while the block runs: once, or `always`; in this thread (and the compiles it asks for), or `everywhere`.

    `guard`: the site that is lost, as a pattern ("f:argument*", "*, region 0:*", "*:bailout2"); a number is an argument's. It is lost
    the `evaluation`-th time (from 0, which is the default) that a call comes by, each call counted on its own; None: every time.
    `compiler`: the stage that raises InjectedFault (of `tierup.lowering.base.faults`), or "crash": compiles are done by a worker process
    then, which dies over it. `delay`: seconds by which a compile takes longer. While one of the two is given, compiles leave the cache on
    disk alone. `allocation`: which memory for an array that NumPy is asked for in a call (from 0), in whatever tier, it does not get:
    MemoryError.

    Without any of these nothing fails, and `sites` says what could. Assumptions in mid-program can be made to fail by code alone that was
    made under `options(testing=True)`; the block sets it for its thread. Blocks nest: all faults are in force. Raises TypeError or
    ValueError for a wrong value, and for `evaluation` and `always` where nothing is to fail.
    """
    pattern = guard if isinstance(guard, str) else f"*:argument{_number('guard', guard, ', or a string')}"
    if evaluation is not _FIRST and not pattern:
        raise ValueError("evaluation says when a guard is lost: give guard as well")
    at = 0 if evaluation is _FIRST else None if evaluation is None else _number("evaluation", evaluation, ", or None")
    if allocation is not None:
        _number("allocation", allocation, ", or None")
    known = (*stages.STAGES, *stages.OTHERS, CRASH)
    if not isinstance(compiler, str):
        raise TypeError(f"compiler: expected the name of a stage, got {compiler!r}")
    if compiler and compiler not in known:
        raise ValueError(f"no stage {compiler!r} of compiling: choose from {', '.join(known)}")
    if not isinstance(delay, int | float) or isinstance(delay, bool):
        raise TypeError(f"delay: expected seconds, got {delay!r}")
    if not 0 <= delay <= _MOST_SECONDS:  # a NaN is not
        raise ValueError(f"delay: expected 0 to {_MOST_SECONDS:.0f} seconds, got {delay}")
    for name, flag in (("always", always), ("everywhere", everywhere)):
        if not isinstance(flag, bool):
            raise TypeError(f"{name}: expected True or False, got {flag!r}")
    if always and not (pattern or compiler or delay or allocation is not None):
        raise ValueError("always says how often something fails: give guard, compiler, delay or allocation as well")
    made = Faults(pattern, at, CompilerFault(compiler, delay) if compiler or delay else None, allocation, always)
    token = _here.set(_here.get() if everywhere else (*_here.get(), made))
    _begin(made, everywhere)
    try:
        with options_module.options(testing=True):
            yield made
    finally:
        _end(made, everywhere)
        _here.reset(token)


def _number(name: str, value: object, others: str) -> int:
    """A count from 0. Raises TypeError or ValueError."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name}: expected a whole number{others}, got {value!r}")
    if value < 0:
        raise ValueError(f"{name} counts from 0, got {value}")
    return value


def _begin(made: Faults, everywhere: bool) -> None:
    global _everywhere
    if everywhere:
        with _lock:
            _everywhere = (*_everywhere, made)
    _count(1)
    options_module.bypass(True)


def _end(made: Faults, everywhere: bool) -> None:
    global _everywhere
    if everywhere:
        with _lock:
            _everywhere = tuple(f for f in _everywhere if f is not made)
    _count(-1)
    options_module.bypass(False)


def _count(blocks: int) -> None:
    global active
    with _lock:
        active += blocks
        stages.hook = _stages if active else None


def _current() -> tuple[Faults, ...]:
    return (*_here.get(), *_everywhere)


# --- from calls: all of these only while `active` -------------------------------------------------------------------------


def run(answer: Callable[..., R], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> R:
    """One call of a function, within which evaluations and allocations are counted; a call in it has counts of its own."""
    found = _current()
    if not found:
        return answer(*args, **kwargs)
    outer, _thread.evaluations = _thread.evaluations, Counter()
    starving = [f for f in found if f.allocation is not None and f.is_due()]
    try:
        with _allocations(starving) if starving else nullcontext():
            return answer(*args, **kwargs)
    finally:
        _thread.evaluations = outer


def _allocations(starving: list[Faults]) -> Any:
    from tierup.runtime.faults.memory import counted  # here: reads NumPy's C interface, which only this needs

    def fails(number: int) -> bool:
        return any(f.allocation == number and f.fire(f"allocation {number}") for f in starving)

    return counted(fails)


def entry(wanted: str) -> str:
    """Who is to check the guards of a call: what Python checks can be lost. Faults of other kinds leave the choice alone."""
    return "python" if any(f.wants_python for f in _current()) else wanted


def loses(site: str, evaluation: int | None = None) -> bool:
    """Whether a guard or an assumption that holds is to fail. `evaluation`: how often the call came by before, where the caller counts."""
    found = _current()
    if not found:
        return False
    if evaluation is None:
        counts = _thread.evaluations = _thread.evaluations if _thread.evaluations is not None else Counter()
        evaluation = counts[site]
        counts[site] += 1
    answers = [f.loses(site, evaluation) for f in found]  # each is asked
    return any(answers)


def loses_guard(program: str, arguments: int) -> int | None:
    """The argument whose entry guard is to be lost though it holds, of a version of `program`; None for none."""
    lost = [k for k in range(arguments) if loses(f"{program}:argument{k}")]
    return lost[0] if lost else None


def fail_of(program: str) -> Callable[[str, int], bool]:
    """The hook of a tier 0 that asks (`Tier0.fails`)."""

    def fail(site: str, evaluation: int) -> bool:
        name = site.rpartition(":")[2]
        return loses(f"{program}:{name if name.startswith('guard') else 'bailout' + name}", evaluation)

    return fail


def loses_on_purpose() -> bool:
    """Whether this call may make assumptions fail on purpose: then none counts as lost too often."""
    return active > 0 and any(f.guard for f in _current())


@contextmanager
def forcing(versions: Sequence[CompiledVersion]) -> Iterator[None]:
    """Around a call of native code: versions make the assumptions fail that are to. The code has one place for it: threads that force one
    version to different ends at once get in each other's way."""
    codes = []
    found = _current()
    for version in versions if found else ():
        code: Any = version.record.keepalive
        for exit_ in version.record.exits if getattr(code, "forcible", False) else ():
            at = [e for f in found if (e := f.forced(f"{version.function}:bailout{exit_.index}")) is not None]
            if at and code not in codes:
                code.force(exit_.index, at[0])
                codes.append(code)
    try:
        yield
    finally:
        for code in codes:
            code.force()


def left(program: str, index: int) -> None:
    """Native code of a program left at a bailout."""
    for f in _current():
        site = f"{program}:bailout{index}"
        if (evaluation := f.forced(site)) is not None:
            f.fire(f"{site}, evaluation {evaluation}")


# --- from compiles --------------------------------------------------------------------------------------------------------


class _Stages:
    """See `lowering/base/faults.py`."""

    def begins(self, stage: str) -> None:
        for f in _current():
            if f.compiler is not None:
                if stage == stages.STAGES[0] and f.compiler.delay and (f.compiler.stage or f.fire(f.compiler.text)):
                    time.sleep(f.compiler.delay)
                if stage == f.compiler.stage and f.fire(f.compiler.text):
                    raise InjectedFault(f"a fault was injected into the compiler: {stage}")

    def compiles_anew(self) -> bool:
        return any(f.compiler is not None for f in _current())


_stages = _Stages()


def captured() -> tuple[Faults, ...]:
    """The faults of this thread, for a thread that works for it."""
    return _here.get()


@contextmanager
def carried(found: tuple[Faults, ...]) -> Iterator[None]:
    """In another thread: the faults that were `captured`."""
    if not found:
        yield
        return
    token = _here.set(found)
    _count(1)  # the block may be over
    try:
        yield
    finally:
        _count(-1)
        _here.reset(token)


def wants_worker() -> bool:
    """Whether a compile is to be a worker's: it is to die over it."""
    return any(f.compiler is not None and f.compiler.stage == CRASH and f.is_due() for f in _current())


def compiler_of(function: tuple[str, str], arguments: tuple[object, ...]) -> tuple[Any, ...]:
    """What a worker is asked for in place of `function(*arguments)`: module, name and arguments. Faults that it is to meet have fired."""
    due = [f.compiler for f in _current() if f.compiler is not None and f.fire(f.compiler.text)]
    if not due:
        return (*function, *arguments)
    return (failing_compile.__module__, failing_compile.__name__, due, function, arguments)
