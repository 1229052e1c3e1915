"""Tensors that NumPy lets nobody write, views by np.broadcast_to and np.diagonal, followed to what they reach.

`tierup.read_only` numbers the user's results that are such on all paths, `tierup.perhaps_read_only` those that may be on some.
"""

from __future__ import annotations

from tierup.dialect.analysis.showing import Shown, reached, shown
from tierup.dialect.mlir import ir
from tierup.dialect.passes.functional.views import is_read_only

READ_ONLY, PERHAPS_READ_ONLY = "tierup.read_only", "tierup.perhaps_read_only"


def perhaps_read_only(value: ir.Value, shown: Shown = shown) -> bool:
    """Whether some path makes a value read-only, or puts what is read-only into it."""
    return any(not isinstance(v.owner, ir.Block) and is_read_only(v.owner.operation) for v in reached([value], shown))
