"""From a pristine graph and an argument spec to the graphs of a plan of the specialising executor.

Loads MLIR: the runtime imports this module when a plan is made, not before. The work is done by the pipelines of TorchScript's older
executor (`legacy-*`, `dialect/torchscript/legacy.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tierup.dialect.analysis.contiguity import doubtful_view
from tierup.dialect.base import dtypes
from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir.walking import function_names
from tierup.dialect.language import ops
from tierup.dialect.language.text import parse_module, text_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics, registry
from tierup.dialect.passes.registry import NamedPipeline
from tierup.dialect.speculation.reasons import Reason
from tierup.dialect.torchscript.legacy import NONDIFF, OPTIMIZE, REQUIRED, SPECIALIZE
from tierup.dialect.torchscript.profiling import INSENSITIVE
from tierup.dialect.transforms.fuse_groups import exclude
from tierup.lowering.base import faults
from tierup.runtime.arguments.argument_spec import CallSpec, TensorSpec
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.regions import SplitCode, ValueGraph, cut, publication_of
from tierup.runtime.compiling.version import run, to_values
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.interpreter.translate import translate

# Code for the whole is made before loops are unrolled: that would make it eight times as long, and nothing quicker (docs/performance.md).
_CLEAN_UP = replace(OPTIMIZE, steps=tuple(step for step in OPTIMIZE.steps if step != "tierup-unroll-loops"))
# The passes of users are left out: a region is compiled as a program is, and goes through them then.
_FUSE = replace(NONDIFF, steps=tuple(s for s in (*OPTIMIZE.steps, *NONDIFF.steps) if not s.startswith("tierup-custom-passes")))
_FORGET = registry.parse("tierup-clear-specializations")  # regions are programs of their own, with specs of their own


def required(graph: str, entry: str) -> tuple[str, Tier0]:
    """The pristine graph after the passes that a plan needs even with optimisation off. Raises NotCompiled where a pass refuses it."""
    return _simplified(REQUIRED, graph, entry)


def insensitive(graph: str, entry: str) -> tuple[str, Tier0]:
    """The pristine graph after the passes that need no record, which the simple executor runs, and which is shown as the
    profiling-insensitive copy. Raises NotCompiled where a pass refuses it."""
    return _simplified(INSENSITIVE, graph, entry)


def _simplified(pipeline: NamedPipeline, graph: str, entry: str) -> tuple[str, Tier0]:
    """The graph behind a pipeline, as text and as what runs it."""
    faults.begins("simplify")
    module = parse_module(graph)
    run(pipeline, module, Reason.PROGRAM_RAISES)
    return text_of(module), translate(module, entry)


def specialize(graph: str, entry: str, spec: CallSpec) -> ValueGraph:
    """The pristine graph for arguments of a spec: what follows from it, cleaned up. Raises NotCompiled where it is not told as values."""
    faults.begins("simplify")
    module = parse_module(to_values(graph))
    func = function_names(module)[entry]
    _record(func, spec)
    run(SPECIALIZE, module, Reason.PROGRAM_RAISES)
    run(_CLEAN_UP, module, Reason.PROGRAM_RAISES)
    return ValueGraph(text_of(module), translate(module, entry), publication_of(function_names(module)[entry]))


def regions(graph: str, entry: str, excluded: Collection[str]) -> SplitCode:
    """A specialised graph cut into its fusion groups and what tier 0 runs between them. `excluded`: ops that are not to stand in groups.
    Raises NotCompiled when there is no group.

    Loops are unrolled first, so that a group has more than one iteration in it.
    """
    faults.begins("cut")
    module = parse_module(graph)
    func = function_names(module)[entry]
    if (op := doubtful_view(func)) is not None:
        raise NotCompiled(Reason.STRIDES, f"{op.name} has an operand that need not be row-major", diagnostics.where(op.location))
    row_major = doubtful_view(func, range(len(func.regions[0].blocks[0].arguments))) is not None
    exclude(module, excluded)
    run(_FUSE, module, Reason.PROGRAM_RAISES)
    fused = text_of(module)
    _FORGET.run(module)
    return replace(cut(module, entry, graph, fused), row_major=row_major)


def _record(func: ir.Operation, spec: CallSpec) -> None:
    """Say of each tensor argument what the spec says, as a profile would."""
    block = func.regions[0].blocks[0]
    at = ir.InsertionPoint.at_block_begin(block)
    for slot, (argument, known) in enumerate(zip(list(block.arguments), spec.arguments, strict=True)):
        if not isinstance(known, TensorSpec):
            continue
        fact = Profiled(
            dtypes.BY_NAME[known.dtype], known.device, (None,) * known.rank, requires_grad=known.requires_grad, defined=known.defined
        )
        with func.context, ir.Location.unknown():
            made = ops.profile(argument, slot, fact, ip=at)
        argument.replace_all_uses_except(made, made.owner.operation)
