"""A Python function that answers calls in a table's place, with a line of generated code before it and none of Python's."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from tierup.lowering.entry import layout
from tierup.lowering.entry.jit import code
from tierup.lowering.entry.tables import types

_LOOKED_INTO = (np.ndarray, float, int, bool, str, type(None), list, tuple, dict)


class Forward:
    """Lets `answer` take the next `most` calls. `otherwise` takes those after them, and, where PyTorch is there, calls whose arguments are
    not all arrays, numbers, strings, None, of a type let pass, or lists, tuples or dicts of these: they may be, or hold, tensors."""

    def __init__(self, answer: Callable[..., Any], most: int, otherwise: Callable[..., Any]) -> None:
        self._answer, self._otherwise = answer, otherwise  # held here, for the structure
        self._modules, self._library = sys.modules, sys.intern("torch")  # held here, too
        self._struct = layout.Forward(id(answer), id(otherwise), id(self._modules), id(self._library), 0, most)
        self._from = 0
        self._passing: dict[str, type] = {}  # held here, for the structure
        self._slots = cycle(layout.OTHERS)

    def let_pass(self, args: Sequence[Any]) -> None:
        """The arguments of a call that had no tensors: the next may have objects of their classes, too."""
        for cls in {type(each) for each in args}:
            if cls not in _LOOKED_INTO and cls not in self._passing.values():
                slot = next(self._slots)
                setattr(self._struct, slot, id(cls))
                self._passing[slot] = cls  # the one before goes last

    @property
    def calls(self) -> int:
        """How many calls `answer` took."""
        return int(self._struct.calls)

    @property
    def passed(self) -> int:
        """How many it took since it was last given some."""
        return self.calls - self._from

    def give(self, most: int) -> None:
        """Let it take so many from now on."""
        self._from = self.calls
        self._struct.most = self._from + most

    def count(self) -> None:
        """`otherwise` took a call in the place of `answer`."""
        self._struct.calls += 1

    @property
    def is_over(self) -> bool:
        """Whether it has taken all of them."""
        return bool(self._struct.calls >= self._struct.most)

    def attach(self, function: Any) -> None:
        """Let calls of an instance of a `make_function_type` class be answered so."""
        types.attach(function, self, ctypes.addressof(self._struct), code().forward)
