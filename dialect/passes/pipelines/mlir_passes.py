"""The names of MLIR's passes and pass pipelines (mlir_passes.txt), for `--list-passes` and for suggestions.

The bindings cannot list them. Whether a name exists is always MLIR's answer, never this list's; a test asks it for each.
"""

import pkgutil

NAMES = tuple((pkgutil.get_data(__name__, "mlir_passes.txt") or b"").decode().split())
