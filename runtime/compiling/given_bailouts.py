"""A program that comes with bailouts and their continuations, as the plan of an ancestor's pipeline (`pre-autodiff-1.7`): its assumptions
are those that stand in it, and where one is lost its own continuation goes on.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir.attributes import facts_of, i64
from tierup.dialect.ir.walking import function_names, walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes.pipelines.default import TO_VALUES
from tierup.dialect.rewriting.regions import inline
from tierup.dialect.speculation import CONTINUATION
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.base.abi import ArgumentSpec
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.version import run


def bailouts_of(func: ir.Operation) -> list[ir.Operation]:
    """The bailouts of a function by their indices."""
    return sorted((op for op in walk(func) if op.name == "tierup.bailout"), key=lambda op: ir.IntegerAttr(op.attributes["index"]).value)


def without_continuations(graph: str, entry: str) -> ir.Module:
    """The graph in values, groups of the ancestor's fuser dissolved, as native code is made of it: it leaves by the bailouts' indices.
    Raises NotCompiled."""
    module = parse_module(graph)
    by_name = function_names(module)
    func = by_name[entry]
    with module.context:
        for group in [op for op in walk(func) if op.name == "tierup.fusion_group"]:
            inline(group)
        for number, op in enumerate(bailouts_of(func)):  # a pass may have left some out
            op.attributes["index"] = i64(number)
            if "continuation" in op.attributes:
                del op.attributes["continuation"]
        for other in [other for other in by_name.values() if CONTINUATION in other.attributes]:
            other.erase()
    run(TO_VALUES, module, Reason.MUTATION)
    if "tierup.writebacks" in function_names(module)[entry].attributes:  # a pass may have made the function anew
        raise NotCompiled(Reason.MUTATION, f"@{entry} comes with bailouts and writes its arguments")
    return module


def refuse_sizes(func: ir.Operation, arguments: Sequence[ArgumentSpec]) -> None:
    """Raise NotCompiled for arguments of symbolic sizes, if an assumption is on sizes: what such an assumption says of symbols holds behind
    it alone."""
    expected = [facts_of(op.attributes["expected"]) for op in bailouts_of(func)]
    if any(isinstance(f, Profiled) and f.sizes for f in expected) and any(isinstance(s, str) for spec in arguments for s in spec.sizes):
        raise NotCompiled(Reason.TYPE_UNKNOWN, "the program assumes sizes of its own; it has code for known sizes of its arguments alone")
