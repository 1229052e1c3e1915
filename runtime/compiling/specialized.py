"""From a pristine graph and an argument spec to the graphs of a plan of the specialising executor.

Loads MLIR: the runtime imports this module when a plan is made, not before. The work is done by the pipelines of TorchScript's older
executor (`legacy-*`, `dialect/pipelines/legacy.py`).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from tierup.dialect import dtypes, ops, registry
from tierup.dialect.analysis.contiguity import doubtful_view
from tierup.dialect.contracts import function_names
from tierup.dialect.inference.profiled import Profiled
from tierup.dialect.ir.ir_text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.pipelines import diagnostics
from tierup.dialect.pipelines.legacy import NONDIFF, OPTIMIZE
from tierup.dialect.records import dataclass
from tierup.dialect.registry import PassFailure
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering import faults
from tierup.runtime.arguments.argument_spec import CallSpec, TensorSpec
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.regions import SplitCode, cut, publication_of
from tierup.runtime.compiling.version import place_of_failure, to_values
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.interpreter.translate import translate

_REQUIRED = registry.pipeline("legacy-required")
_SPECIALIZE = registry.pipeline("legacy-specialize")
_UNROLL = "tierup-unroll-loops"
# Code for the whole is made before loops are unrolled: that would make it eight times as long, and nothing quicker (docs/performance.md).
_CLEAN_UP = registry.parse(f"builtin.module({','.join(step for step in OPTIMIZE.steps if step != _UNROLL)})")
_FORGET = "tierup-clear-specializations"  # regions are programs of their own, with specs of their own


@dataclass(frozen=True)
class Specialized:
    """The graph for a spec, as values, and what runs it. `n_results`, `writebacks`, `aliases`, `read_only`: see `tierup-functionalize`."""

    graph: str
    tier0: Tier0
    n_results: int
    writebacks: tuple[int, ...]
    aliases: tuple[str, ...]
    read_only: tuple[int, ...]
    perhaps_read_only: tuple[int, ...]


def required(graph: str, entry: str) -> tuple[str, Tier0]:
    """The pristine graph after the passes that a plan needs even with optimisation off. Raises NotCompiled where a pass refuses it."""
    faults.begins("simplify")
    module = parse_module(graph)
    _run(module, _REQUIRED)
    return _text(module), translate(module, entry)


def specialize(graph: str, entry: str, spec: CallSpec) -> Specialized:
    """The pristine graph for arguments of a spec: what follows from it, cleaned up. Raises NotCompiled where it is not told as values."""
    faults.begins("simplify")
    module = parse_module(to_values(graph))
    func = function_names(module)[entry]
    _record(func, spec)
    _run(module, _SPECIALIZE)
    _run(module, _CLEAN_UP)
    return Specialized(_text(module), translate(module, entry), *publication_of(function_names(module)[entry]))


def regions(graph: str, entry: str, excluded: Collection[str]) -> SplitCode:
    """A specialised graph cut into its fusion groups and what tier 0 runs between them. `excluded`: ops that are not to stand in groups.
    Raises NotCompiled when there is no group.

    Loops are unrolled first, so that a group has more than one iteration in it. The passes of users are left out: a region is compiled
    as a program is, and goes through them then.
    """
    steps = [step for step in (*OPTIMIZE.steps, *NONDIFF.steps) if not step.startswith("tierup-custom-passes")]
    if excluded:
        (fuse,) = (i for i, step in enumerate(steps) if step.startswith("tierup-fuse-groups"))
        steps[fuse] = f"{steps[fuse][:-1]} excluded={','.join(sorted(excluded))}}}"
    faults.begins("cut")
    module = parse_module(graph)
    func = function_names(module)[entry]
    if (op := doubtful_view(func)) is not None:
        place = diagnostics.place_of(op.location)
        raise NotCompiled(Reason.STRIDES, f"{op.name} has an operand that need not be row-major", str(place) if place.line else "")
    row_major = doubtful_view(func, range(len(func.regions[0].blocks[0].arguments))) is not None
    _run(module, registry.parse(f"builtin.module({','.join(steps)})"))
    fused = _text(module)
    _run(module, registry.parse(f"builtin.module({_FORGET})"))
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


def _run(module: ir.Module, pipeline: registry.Pipeline) -> None:
    try:
        pipeline.run(module)
    except PassFailure as e:
        raise NotCompiled(Reason.PROGRAM_RAISES, str(e), place_of_failure(e)) from e


def _text(module: ir.Module) -> str:
    return module.operation.get_asm(enable_debug_info=True)
