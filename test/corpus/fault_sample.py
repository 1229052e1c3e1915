"""The seed of samples and of stress. TIERUP_SEED in the environment chooses another; each failure and the head of a run say it."""

from __future__ import annotations

import os

SEED = int(os.environ.get("TIERUP_SEED", "0"))
