"""From a pristine graph to the graph that the simple executor runs, and that is shown as the profiling-insensitive copy.

Loads MLIR: the runtime imports this module when such a graph is wanted, not before.
"""

from __future__ import annotations

from tierup.dialect import registry
from tierup.dialect.ir.ir_text import parse_module
from tierup.dialect.registry import PassFailure
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering import faults
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.version import place_of_failure
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.interpreter.translate import translate

_INSENSITIVE = registry.pipeline("profiling-insensitive")


def insensitive(graph: str, entry: str) -> tuple[str, Tier0]:
    """The graph after the passes that need no record, as text and as what runs it. Raises NotCompiled where a pass refuses it."""
    faults.begins("simplify")
    module = parse_module(graph)
    try:
        _INSENSITIVE.run(module)
    except PassFailure as e:
        raise NotCompiled(Reason.PROGRAM_RAISES, str(e), place_of_failure(e)) from e
    return module.operation.get_asm(enable_debug_info=True), translate(module, entry)
