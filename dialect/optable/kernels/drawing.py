"""Random numbers of PyTorch's generator in a run that may be begun again: its state before the first draw is kept, to go back to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


class _Run(threading.local):
    watched = False
    state: Any = None  # before the first draw


_run = _Run()


def begin() -> None:
    """A run begins in this thread, which may be given up for another."""
    _run.watched, _run.state = True, None


def draws() -> None:
    """A kernel is about to draw."""
    if _run.watched and _run.state is None:
        import torch  # here: optional, and whoever draws has it

        _run.state = torch.get_rng_state()


def give_up() -> None:
    """The run is given up: as if it had drawn nothing."""
    if _run.state is not None:
        import torch  # here: it has drawn

        torch.set_rng_state(_run.state)
    _run.watched, _run.state = False, None


def tried(run: Callable[[], T]) -> T | None:
    """What a run gives; None where it raised and was given up: who answers in its place does so when the exception was let
    go, which would else be the context of what that raises."""
    begin()
    try:
        return run()
    except Exception:  # noqa: BLE001 - the pristine graph raises it, with all it writes before, or gives the results
        give_up()
        return None
