"""Calls whose arrays all lie on the host: the place of programs for the CPU. `runtime/cuda/calls/place.py` is the other one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tierup.runtime.arguments.argument_spec import CallSpec, spec_of
from tierup.runtime.dispatching.dispatch import make_table

if TYPE_CHECKING:
    from tierup.runtime.base.protocols import Answer, Call, FindSplit, Flat
    from tierup.runtime.programs.program import Program
    from tierup.runtime.programs.publication import Publication


class Host:
    """See `protocols.Place`."""

    make_table = staticmethod(make_table)

    def around(self, call: Call) -> Call:
        """The call itself."""
        return call

    def slow(self, answer: Answer, find: FindSplit) -> Answer:
        """`answer` itself: all arrays lie on the host."""
        return answer

    def failed(self, answer: Callable[..., Flat], stays: Callable[[Any, int], bool]) -> Callable[..., Flat]:
        """`answer` itself: all arrays lie on the host."""
        return answer

    def run(self, program: Program, flat: Flat) -> Flat:
        """The results of a call in tier 0."""
        return program.run(flat)

    def on_host(self, run: Answer, flat: Flat) -> Flat:
        """`run(*flat)`."""
        return run(*flat)

    def copies(self, flat: Flat) -> Flat:
        """The arguments themselves: nothing is copied."""
        return flat

    def spec_of(self, flat: Flat) -> CallSpec:
        """The argument spec of a call."""
        return spec_of(flat)

    def results(self, publication: Publication, flat: Flat, values: Flat) -> Flat:
        """The results of a call, from the values that a continuation gives; what the program writes is written."""
        return publication.results(flat, values)


HOST = Host()
