"""From a pristine graph to the graph that the simple executor runs, and that is shown as the profiling-insensitive copy.

Loads MLIR: the runtime imports this module when such a graph is wanted, not before.
"""

from __future__ import annotations

from tierup.dialect.parsing.text import parse_module
from tierup.dialect.speculation.reasons import Reason
from tierup.dialect.torchscript.profiling import INSENSITIVE
from tierup.lowering import faults
from tierup.lowering.driver import text_of
from tierup.runtime.compiling.version import run
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.interpreter.translate import translate


def insensitive(graph: str, entry: str) -> tuple[str, Tier0]:
    """The graph after the passes that need no record, as text and as what runs it. Raises NotCompiled where a pass refuses it."""
    faults.begins("simplify")
    module = parse_module(graph)
    run(INSENSITIVE, module, Reason.PROGRAM_RAISES)
    return text_of(module), translate(module, entry)
