"""What is said of a PyTorch program that is not taken."""

from __future__ import annotations

from tierup.dialect import optable
from tierup.dialect.optable.core import Kind
from tierup.runtime.errors import origin_of


class UnsupportedProgram(TypeError):
    """A TorchScript or FX program with a construct, a type or an op that is not translated. The message names the user's line."""


class AsksForGradients(UnsupportedProgram):
    """A program asks whether an argument requires a gradient, and it does: graphs are made for arguments that require none."""


def error_of_torch(error: Exception) -> Exception:
    """What PyTorch raises where a kernel of ours raises `error`: a RuntimeError for a shape or a dtype that an op refuses. What the program
    raises itself, and Python's own ops on numbers, strings and lists, stay as they are."""
    origin = origin_of(error)
    row = None if origin is None else optable.lookup(origin.op)
    if row is None or row.kind is Kind.SCALAR or row.kernel.startswith("by_torch."):
        return error
    return RuntimeError(str(error))
