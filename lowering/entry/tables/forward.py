"""A Python function that answers calls in a table's place, with a line of generated code before it and none of Python's."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tierup.lowering.entry import layout
from tierup.lowering.entry.jit import code
from tierup.lowering.entry.tables import types

_LOOKED_INTO = (np.ndarray, float, int, bool, str, type(None), list, tuple, dict)


class Forward:
    """Lets `answer` take the next `most` calls. `otherwise` takes those after them, and calls whose arguments are not all arrays, numbers,
    strings, None, lists or tuples of these, or of the type that was let pass: they may be, or hold, PyTorch's tensors."""

    def __init__(self, answer: Callable[..., Any], most: int, otherwise: Callable[..., Any]) -> None:
        self._answer, self._otherwise = answer, otherwise  # held here, for the structure
        self._struct = layout.Forward(id(answer), id(otherwise), 0, most)

    def let_pass(self, args: Sequence[Any]) -> None:
        """The arguments of a call that had no tensors: the next may have an object of this class, too."""
        for each in args:
            if type(each) not in _LOOKED_INTO:
                self._other = type(each)  # held here, for the structure
                self._struct.other = id(self._other)

    @property
    def calls(self) -> int:
        """How many calls `answer` took."""
        return int(self._struct.calls)

    @property
    def is_over(self) -> bool:
        """Whether it has taken all of them."""
        return bool(self._struct.calls >= self._struct.most)

    def attach(self, function: Any) -> None:
        """Let calls of an instance of a `make_function_type` class be answered so."""
        types.attach(function, self, ctypes.addressof(self._struct), code().forward)
