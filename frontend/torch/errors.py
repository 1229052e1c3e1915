"""What is said of a PyTorch program that is not taken."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tierup.dialect import optable
from tierup.dialect.base.exceptions import exception, exception_named
from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.formulas.classes import ANOTHER_BATCH
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.base.errors import origin_of


class UnsupportedProgram(TypeError):
    """A TorchScript or FX program with a construct, a type or an op that is not translated. The message names the user's line."""

    def saying(self, message: str) -> UnsupportedProgram:
        """The same with another message."""
        return type(self)(message)


class LeftToPyTorch(UnsupportedProgram):
    """A call that the original program answers in PyTorch, if it may: there is no graph for it."""

    def __init__(self, message: str, reason: Reason = Reason.NO_GRADIENT) -> None:
        super().__init__(message)
        self.reason = reason

    def saying(self, message: str) -> LeftToPyTorch:
        """The same, with its reason."""
        return LeftToPyTorch(message, self.reason)


@contextmanager
def refusals_at(place: Callable[[], tuple[str, int] | None], note: Callable[[], str]) -> Iterator[None]:
    """Let a refusal in the block name the user's line, and a note which node it is of; the innermost stays."""
    try:
        yield
    except UnsupportedProgram as e:
        if hasattr(e, "__notes__"):  # from a node inside this one
            raise
        where = place()
        error = e.saying(f"{where[0]}:{where[1]}: {e}" if where else str(e))
        error.add_note(note())
        raise error from None


def error_of_torch(error: Exception) -> Exception:
    """What PyTorch raises where a kernel of ours raises `error`: a RuntimeError for a shape or a dtype that an op refuses. What the program
    raises itself, and Python's own ops on numbers, strings and lists, stay as they are."""
    if isinstance(error, np.linalg.LinAlgError):
        import torch  # here: an optional package

        refused: Exception = torch.linalg.LinAlgError(str(error))
        return refused
    origin = origin_of(error)
    row = None if origin is None else optable.lookup(origin.op)
    if row is not None and row.name in _OTHERWISE and isinstance(error, _OTHERWISE[row.name]) and not str(error).startswith("Dimension"):
        return RuntimeError(str(error))
    if ANOTHER_BATCH in str(error):
        return error
    if row is None or row.kind is Kind.SCALAR or isinstance(error, IndexError) or row.kernel.startswith("by_torch."):
        return error
    return RuntimeError(str(error))


# Ops of which PyTorch says RuntimeError and our kernels another class: what reads one number of several, an index that is out of range
_OTHERWISE: dict[str, type[Exception]] = {
    **{f"aten.{n}": ValueError for n in ("item", "Int.Tensor", "Float.Tensor", "Bool.Tensor")},
    **{f"aten.{n}": ValueError for n in ("IntImplicit", "FloatImplicit", "ScalarImplicit")},
    **{f"aten.{n}": IndexError for n in ("gather", "scatter.src", "scatter.value", "scatter_add")},
    **{f"aten.{n}": IndexError for n in ("scatter_.src", "scatter_.value", "scatter_add_")},
}


def through_torch(program: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a program that PyTorch runs. What TorchScript's interpreter raises, which has no class but its own, comes out as eager
    mode has it, and as our tiers do."""
    import torch  # here: an optional package

    try:
        return program(*args, **kwargs)
    except (torch.jit.Error, RuntimeError) as e:
        as_eager = _error_of_script(e)
        if as_eager is e:
            raise
        raise as_eager from e


_HEAD = "The following operation failed in the TorchScript interpreter."
_LAST = re.compile(r"^(?:RuntimeError: )?((?:\w+\.)*\w+(?:Error|Exception|Warning|Iteration)): (.*)\Z", re.S | re.M)
# What Python and ATen's C++ call so, of which TorchScript keeps the text alone
_TEXTS: dict[str, type[Exception]] = {
    r"list index out of range|pop from empty list|string index out of range": IndexError,
    r"Dimension out of range|index out of range in self|Target -?\d+ is out of bounds": IndexError,
    r"select\(\): index -?\d+ out of range|index -?\d+ is out of bounds for dimension": IndexError,
    r"list\.remove\(x\)|\S+ is not in list|sto[dil]$|Expected \d+ elements in a list but found": ValueError,
    r"popitem\(\): dictionary is empty": KeyError,
    r"division by 0|division by zero|modulo by zero": ZeroDivisionError,
}


def _error_of_script(error: Exception) -> Exception:
    text = str(error).rstrip("\n")
    found = _LAST.search(text.rpartition("<--- HERE\n")[2]) if _HEAD in text else None
    if found is None:
        return error
    name, message = found[1], found[2]
    if exception_named(name) is RuntimeError:
        name = next((cls.__name__ for pattern, cls in _TEXTS.items() if re.match(pattern, message)), "RuntimeError")
    return error if type(error) is exception_named(name) else exception(name, message)
