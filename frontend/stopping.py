"""`tierup.stop_gradient` and `tierup.no_grad`: what has no gradient by wish. Free of MLIR."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

NO_GRAD = "__tierup_no_grad__"
"""The attribute of functions that `no_grad` decorates: the function itself, since functools.wraps copies attributes."""


def stop_gradient(x: T) -> T:
    """Its argument, an array or a tree (tuple, list, dict) of arrays, as a constant for gradients. Outside of `tierup.jit` the argument
    itself."""
    return x


class no_grad:  # noqa: N801 - used as a function is, and by PyTorch's name
    """Nothing that is computed here has a gradient: `with tierup.no_grad():` in a program, or `@tierup.no_grad()` on a function of it.

    What the block computes is a constant for a gradient taken of the program around it; an array that it writes in place keeps the
    gradient that it had. Outside of programs it does nothing: nothing there has a gradient that was not asked for.
    """

    def __new__(cls, function: Any = None) -> Any:
        """`@tierup.no_grad` does what `@tierup.no_grad()` does."""
        made = super().__new__(cls)
        return made if function is None else made(function)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def __call__(self, function: F) -> F:
        """Mark a Python function or a tierup function. Raises TypeError for anything else."""
        target = getattr(function, "__tierup_function__", function)
        if not callable(target) or not hasattr(target, "__code__"):
            raise TypeError(f"tierup.no_grad() decorates a Python function or a tierup.jit function, not {type(function).__name__}")
        setattr(target, NO_GRAD, target)
        return function
