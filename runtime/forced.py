"""Bets in mid-program lost at will: for tests, which must see a program leave wherever it can.

    with forced.compiled():                 # what is compiled or cut in this block can lose bets at will
        f(x); f(x)
        with forced.losing("f", 2, 0):      # the bet of bailout 2 in @f, the first time that a call comes to it
            f(x)

For all threads. Bets that are lost by force count as lost for nobody: no version is made again because of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet


class Code(Protocol):
    """Native code with exits that was compiled here (`lowering.load.NativeCode`)."""

    def force(self, index: int = -1, evaluation: int = 0) -> None: ...


_compiled = 0
_lost: tuple[str, int, int] | None = None
_codes: dict[str, WeakSet[Code]] = {}  # by the symbols of their programs


def is_asked_for() -> bool:
    """Whether what is made now must be able to lose bets at will."""
    return _compiled > 0


def is_active() -> bool:
    """Whether a bet is being lost by force."""
    return _lost is not None


def is_lost(site: str, evaluation: int) -> bool:
    """The hook of tier 0: see `Tier0.fails`."""
    entry, _, index = site.rpartition(":")
    return _lost == (entry, int(index), evaluation)


def register(entry: str, code: Code) -> None:
    """Code that can lose bets at will, of the program @`entry`."""
    _codes.setdefault(entry, WeakSet()).add(code)


@contextmanager
def compiled() -> Iterator[None]:
    """What is compiled or cut in the block can lose bets at will."""
    global _compiled
    _compiled += 1
    try:
        yield
    finally:
        _compiled -= 1


@contextmanager
def losing(entry: str, index: int, evaluation: int) -> Iterator[None]:
    """Every call in the block loses the bet of bailout `index` of the program @`entry` when it comes to it for the `evaluation`-th time,
    from 0; whatever the value. Programs that do not have that bailout are left alone."""
    global _lost
    _lost = (entry, index, evaluation)
    touched = [code for code in _codes.get(entry, ()) if _force(code, index, evaluation)]
    try:
        yield
    finally:
        _lost = None
        for code in touched:
            code.force()


def _force(code: Code, index: int, evaluation: int) -> bool:
    try:
        code.force(index, evaluation)
    except ValueError:  # it has no such bailout any more: its branch was never taken, or types prove what it bets on
        return False
    return True
