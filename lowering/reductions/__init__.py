"""Reductions and normalisations as loops: what `tierup-lower-reductions` puts in place of torch ops."""

from __future__ import annotations

from functools import cache

from tierup.lowering.call import Lowering
from tierup.lowering.reductions import extremes, normalisation, scans, statistics, sums


@cache
def lowerings() -> dict[str, Lowering]:
    """All lowerings by op name."""
    return {name: f for family in (sums, extremes, statistics, normalisation) for name, f in family.LOWERINGS.items()} | scans.lowerings()
