"""Under which name other distributions bring what is theirs. Free of MLIR."""

from __future__ import annotations

ENTRY_POINTS = "tierup.passes"  # they name modules of passes here
