"""Where compiling can be made to fail on purpose: each stage says here that it begins. `tierup.testing` puts the hook in. Free of MLIR."""

from __future__ import annotations

from typing import Protocol

# in the order in which a compile comes by
STAGES = ("specialize", "parse", "torch", "linalg", "bufferise", "loops", "llvm", "translate", "emit", "load")
# what else is asked of the compiler: recording runs, splits, what goes on where an assumption failed, the executors without profiles
OTHERS = ("instrument", "cut", "continuation", "simplify")


class Hook(Protocol):
    """Who is told of the stages of compiles, to make them fail in tests."""

    def begins(self, stage: str) -> None:
        """A stage begins. What this raises, the stage raises."""

    def compiles_anew(self) -> bool:
        """Whether code on disk is to be left alone."""


hook: Hook | None = None


def begins(stage: str) -> None:
    """A stage of STAGES or OTHERS begins in this thread."""
    if hook is not None:
        hook.begins(stage)


def compiles_anew() -> bool:
    """Whether this thread is to compile what may be on disk, and to keep nothing there."""
    return hook is not None and hook.compiles_anew()
