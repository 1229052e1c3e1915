"""What calls of a function looked like, as a profile; and the versions for such calls, made before there is one.

A profile is made of what the graphs' calls left in the speculation logs; warming puts into these what calls like them would, and asks for
the version that the next one would get. No program is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from tierup.lowering.base.abi import ArgumentKind, Layout
from tierup.runtime.arguments.call_profiles import (
    SAMPLES,
    VARIES,
    Call,
    Described,
    NotDescribed,
    calls_of,
    described,
    leaf_of,
    leaves_of,
    sampled,
    varies,
    written,
)
from tierup.runtime.arguments.signature import ArgumentClass, Signature, Unsupported
from tierup.runtime.base.errors import UnsupportedArgument
from tierup.runtime.functions.elsewhere import AnsweredElsewhere

if TYPE_CHECKING:
    from tierup.runtime.arguments.trees import CallShape
    from tierup.runtime.base.options import Options
    from tierup.runtime.functions.graphs.variant import Variant


class WithGraphs(Protocol):
    """What is asked of a function here."""

    __name__: str

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The names of its parameters."""

    @property
    def shapes(self) -> list[tuple[CallShape, Variant]]:
        """Its graphs, and the structure of the calls of each."""

    def structure_of(self, arguments: Mapping[str, Any]) -> CallShape:
        """Of a call with these arguments."""

    def graph_for(self, arguments: Mapping[str, Any]) -> tuple[Variant, tuple[Any, ...]]:
        """The graph for arguments, and its own."""


def profile(function: WithGraphs) -> str:
    """See `Function.profile`."""
    calls: list[Call] = []
    for shape, variant in function.shapes:
        for classes, sizes, ints in variant.executor.seen():
            leaves = iter([_leaf(*each, ints.get(i)) for i, each in enumerate(zip(classes, sizes, strict=True))])
            try:
                calls.append([(name, described(tree, leaves)) for name, tree in shape.parameters])
            except NotDescribed:
                break
    return written(function.__name__, calls)


def _leaf(of: ArgumentClass, sizes: tuple[int, ...], value: int | None) -> Described:
    if of.kind is ArgumentKind.ARRAY:
        return leaf_of(of.dtype, sizes, of.layout)
    return {"int": VARIES if value is None else value} if of.kind is ArgumentKind.INT else {of.kind.value: None}


def warm(function: WithGraphs, text: str) -> int:
    """See `Function.warm`."""
    _, calls = calls_of(text)
    parameters = function.parameter_names
    for call in calls:
        if tuple(name for name, _ in call) != parameters:
            theirs = ", ".join(name for name, _ in call)
            raise ValueError(f"calls of the profile have the arguments {theirs}, those of {function.__name__}() {', '.join(parameters)}")
    return sum(_warm(function, call, compile="background") for call in calls)


def warm_structure(function: WithGraphs, shape: CallShape, text: str) -> None:
    """Have the versions made that calls of this structure, of which there is a graph, would get by a profile of the function; who waits
    for a compile is for the options to say, since a call does."""
    for call in calls_of(text)[1]:
        if function.structure_of(sampled(call, SAMPLES[-1])) == shape:
            _warm(function, call)


def _warm(function: WithGraphs, call: Call, **changes: Any) -> bool:
    """Whether a version for a kind of call is made, or on its way."""
    try:
        arguments = sampled(call, SAMPLES[-1])
        variant, flat = function.graph_for(arguments)
    except (AnsweredElsewhere, UnsupportedArgument, MemoryError):  # no graph answers such a call
        return False
    options = replace(variant.executor.options, num_profiled_runs=0, **changes)
    if not options.optimize or varies(call) and not options.is_dynamic or not variant.built.program.tier0.takes(flat):
        return False
    seen = [_signature(variant, call, flat, each, options) for each in (SAMPLES if varies(call) else SAMPLES[-1:])]
    return None not in seen and variant.executor.warm([s for s in seen if s is not None], flat, options)


def _signature(variant: Variant, call: Call, flat: tuple[Any, ...], each: int, options: Options) -> Signature | None:
    """Of a call with `each` for what varies; None where no native code takes such arguments."""
    program = variant.built.program
    try:
        signature = program.signature_of(flat, options)
    except Unsupported:
        return None
    classes, sizes, values = list(signature.classes), list(signature.sizes), list(signature.values)
    for i, leaf in enumerate(leaves_of(call)):
        if "array" in leaf:
            order = Layout(leaf["order"])
            if order is Layout.COLUMNS and (options.backend != "cpu" or program.tier0.parameters[i].written):
                order = Layout.STRIDED
            classes[i] = replace(classes[i], layout=order)
            sizes[i] = tuple(each if size == VARIES else size for size in leaf["sizes"])
        elif "int" in leaf:
            values[i] = each if leaf["int"] == VARIES else leaf["int"]
    return Signature(tuple(classes), tuple(sizes), tuple(values))
