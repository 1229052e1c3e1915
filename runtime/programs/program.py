"""A program as an executor takes it: a pristine graph, and tier 0 made of it. Free of MLIR."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.account import last_plan
from tierup.runtime.account.last_plan import ExecutedPlan
from tierup.runtime.account.times import TIER0, During
from tierup.runtime.arguments.signature import Signature, signature_of
from tierup.runtime.base.errors import RunsLong
from tierup.runtime.base.options import Options
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.programs.given import Given

_MOST_COPIED = 1 << 28  # bytes: some 0.1 s
BAILOUT = '"tierup.bailout"('  # as a text of MLIR has it: no op of the tierup dialect has another form


class Program:
    """A pristine graph as text, and its tier 0. `names`: the flat arguments'; `place`: where the user wrote it.

    `made`: the arguments that are arrays made for the call, of lists. The text may be released; tier 0 never is. `packed`: a released text
    is kept compressed, to be made a program of again. `given`: versions that it came with, for the CPU.
    """

    def __init__(
        self,
        name: str,
        graph: str,
        entry: str,
        names: tuple[str, ...],
        tier0: Tier0,
        place: str = "",
        *,
        packed: bool = False,
        made: tuple[int, ...] = (),
        given: Given | None = None,
    ) -> None:
        self.name, self.entry, self.names, self.tier0, self.place, self.made = name, entry, names, tier0, place, made
        self.writes_arrays = any(p.written and i not in made for i, p in enumerate(tier0.parameters))  # the caller's own
        self._given = given
        self._graph: str | None = graph
        self.has_bailouts = BAILOUT in graph  # the user's own: the program's assumptions stand in it
        self._packed: bytes | None = None
        self._is_packed = packed

    @property
    def graph(self) -> str:
        """Raises NotCompiled once it was released: whoever compiles at that moment gives up as for any other reason."""
        graph = self._graph
        if graph is None:
            raise NotCompiled(Reason.RELEASED, f"the graph of {self.name} was released; reset() builds it again")
        return graph

    def given(self, options: Options) -> Given | None:
        """What it came with for calls under these options."""
        return self._given if options.backend == "cpu" else None

    @property
    def released(self) -> bool:
        """Whether the text was let go."""
        return self._graph is None

    def release(self) -> None:
        """Let the text go, for good."""
        if self._is_packed and self._graph is not None:
            self._packed = zlib.compress(self._graph.encode())
        self._graph = None

    def renewed(self) -> Program:
        """A program with the text of one that was packed."""
        assert self._packed is not None  # its maker asked for it
        graph = zlib.decompress(self._packed).decode()
        return Program(self.name, graph, self.entry, self.names, self.tier0, self.place, packed=True, made=self.made)

    def signature_of(self, flat: tuple[Any, ...], options: Options) -> Signature:
        """What a call looks like, to code for the backend of these options. Raises Unsupported.

        An array in Fortran order that the program may write is one with strides: code that assumes the order reads it as the rows of its
        transpose, a value, and what is written stays in the array itself.
        """
        parameters, on_host = self.tier0.parameters, options.backend == "cpu"
        return signature_of(flat, lambda i: on_host and not parameters[i].written)

    def executed(self) -> ExecutedPlan:
        """What `last_executed_plan` says after a run in tier 0."""
        return ExecutedPlan(self.name, "tier 0")

    def run(self, flat: tuple[Any, ...]) -> tuple[Any, ...]:
        """The flat results of a call in tier 0. Raises what the program raises, with the user's line in the message."""
        return self._run(self.tier0.call, flat)

    def can_be_left(self, flat: tuple[Any, ...]) -> bool:
        """Whether `run_within` can leave such a call: the program has loops, and of what it writes a copy costs little beside them."""
        return self.tier0.polls and sum(array.nbytes for array in self._written(flat)) <= _MOST_COPIED

    def run_within(self, flat: tuple[Any, ...], seconds: float) -> tuple[Any, ...]:
        """As `run`. Raises RunsLong, with all arguments as they were, in a loop after so many seconds of this thread's processor time."""
        before = [(array, array.copy()) for array in self._written(flat)]
        try:
            return self._run(partial(self.tier0.call_within, seconds), flat)
        except RunsLong:
            for array, contents in before:
                array[...] = contents
            raise

    def _run(self, call: Callable[..., Any], flat: tuple[Any, ...]) -> tuple[Any, ...]:
        with During(TIER0):
            result = call(*flat)
        last_plan.note(self)
        return result if isinstance(result, tuple) else () if result is None else (result,)

    def _written(self, flat: tuple[Any, ...]) -> list[np.ndarray]:
        """The arrays among the arguments that the program may write, and can."""
        pairs = zip(flat, self.tier0.parameters, strict=True)
        return [leaf for leaf, parameter in pairs if parameter.written and isinstance(leaf, np.ndarray) and leaf.flags.writeable]
