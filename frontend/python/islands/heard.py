"""Whether somebody hears what native code gives without a word."""

from __future__ import annotations

import warnings

import numpy as np

SETS = frozenset({"seterr", "seterrcall"})
"""What makes it so for all that runs later."""


def is_heard() -> bool:
    """Whether in this thread NumPy now raises, calls, prints or logs for what is infinite or no number, by its own settings (np.errstate)
    or by those of warnings."""
    modes = set(np.geterr().values())
    raises = any(action == "error" and issubclass(RuntimeWarning, category) for action, _, category, *_ in warnings.filters)
    return not modes <= {"ignore", "warn"} or (raises and "warn" in modes)
