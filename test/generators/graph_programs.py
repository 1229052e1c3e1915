"""The graph of a generated NumPy program, as what the tests of passes take: text, and calls."""

from __future__ import annotations

import itertools
import random
import tempfile
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from arguments import Call, arguments
from checking import Refused
from numpy_programs import NumpyProgram, numpy_program
from running import function_of, made

from tierup.dialect.base.dtypes import from_numpy
from tierup.dialect.facts.values import Bool, Float, Int, Tensor, Value
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.build import build
from tierup.runtime.arguments.trees import CallShape, OutputNode, OutputTree, OutputUnion


@dataclass(frozen=True)
class GraphProgram:
    """As random_graph_strategy.Program: its entry is @f. `apart`: no arguments share memory."""

    text: str
    program: NumpyProgram
    arguments: tuple[Value, ...]
    output: OutputTree
    seed: int
    apart: bool = False

    @property
    def source(self) -> str:
        return self.program.source

    def leaves(self, call: Call) -> list[Any]:
        """The flat arguments of a call."""
        return CallShape.of(dict(enumerate(arguments(self.program.parameters, call))))[1]  # type: ignore[arg-type]  # no names are asked for

    def unread(self, results: list[Any]) -> set[int]:
        """The places of those results that are there for another path alone."""
        slots, found = itertools.count(), set[int]()

        def visit(tree: OutputTree, *, is_read: bool) -> None:
            if isinstance(tree, OutputUnion):
                slot = next(slots)
                tag = results[slot] if is_read else None
                for i, alternative in enumerate(tree.alternatives):
                    visit(alternative, is_read=is_read and i == tag)
            elif isinstance(tree, OutputNode):
                for item in tree.items:
                    visit(item, is_read=is_read)
            elif tree.kind not in ("const", "again"):
                slot = next(slots)
                if not is_read:
                    found.add(slot)

        visit(self.output, is_read=True)
        return found

    def calls(self, count: int = 2) -> list[list[Any]]:
        return [self.leaves(call) for call in self.program.calls[:count]]

    def overlapping(self) -> list[list[Any]]:
        """Calls with two arguments in one memory."""
        if self.apart:
            return []
        return [self.leaves(call) for call in self.program.calls if call.pair is not None][:2]

    def other_shapes(self) -> list[list[Any]]:
        return [self.leaves(call) for call in self.program.calls[2:] if call.pair is None][:4]


def graph_program(seed: int) -> GraphProgram:
    """Raises Refused where the front end does not take the program, or it reads what is no argument."""
    program = numpy_program(f"graph {seed}")
    given = arguments(program.parameters, next(made(program.calls)))
    names = [p.name for p in program.parameters]
    with tempfile.TemporaryDirectory(prefix="tierup-soak-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function = function_of(program.source, Path(folder))
        bound = dict(zip(names, given, strict=True))
        shape, leaves = CallShape.of(bound)
        try:
            built = build(function, shape, bound)  # type: ignore[arg-type]  # a function
        except UnsupportedSyntax as e:
            raise Refused(str(e)) from None
    if built.hidden:
        raise Refused("hidden inputs")
    return GraphProgram(str(built.module).replace(f"@{built.entry}", "@f"), program, tuple(map(_known, leaves)), built.output, random.Random(str(seed)).randrange(1 << 16))


def _known(value: Any) -> Value:
    if isinstance(value, np.ndarray):
        return Tensor(from_numpy(value.dtype), value.shape)
    return Bool() if isinstance(value, bool) else Int() if isinstance(value, int) else Float()
