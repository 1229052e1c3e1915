"""What a gradient pair is made for, and how that is said. Free of MLIR."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.speculation.reasons import Reason

Kind = tuple[str, tuple[int, ...]] | None  # of a leaf: an array's dtype and its sizes, 2 for all that are more; None for other leaves
# wanted leaves, the kinds of all, the lengths of lists of leaves, and whether sizes that some path needs equal may differ
Key = tuple[tuple[int, ...], tuple[Kind, ...], tuple[int, ...], bool]
Sizes = tuple[tuple[int, ...] | None, ...]  # of arrays
Equal = tuple[tuple[int, int] | int, tuple[int, int] | int]  # two sizes: each of a leaf in a dim, or a number


def kind_of(leaf: object) -> Kind:
    """What of a leaf a pair hangs on."""
    if type(leaf) is np.ndarray:
        dtype = dtypes.from_numpy(leaf.dtype)
        if dtype is not None:
            return dtype.name, tuple([n if n < 2 else 2 for n in leaf.shape])
    return None


def are_equal(pairs: Sequence[Equal], leaves: Sequence[Any]) -> bool:
    """Whether these sizes are equal, pair by pair."""

    def size(of: tuple[int, int] | int) -> object:
        return of if isinstance(of, int) else leaves[of[0]].shape[of[1]]

    return all(size(a) == size(b) for a, b in pairs)


def difference(names: tuple[str, ...], old: Key, new: Key) -> tuple[Reason, str, str]:
    """Why a pair for one does not serve a call of the other: the check that fails, what it expects, and what came."""
    if old[2] != new[2]:
        return Reason.WRONG_SIZE, f"lists of {', '.join(map(str, old[2]))}", f"lists of {', '.join(map(str, new[2]))}"
    if old[0] != new[0]:
        return Reason.REQUIRES_GRAD, ", ".join(names[i] for i in old[0]), ", ".join(names[i] for i in new[0])
    if old[1] == new[1]:
        return Reason.UNEQUAL_SIZES, "sizes that are equal", "sizes that some path needs equal, and that differ"
    name, before, now = next((name, a, b) for name, a, b in zip(names, old[1], new[1], strict=True) if a != b)
    if before is None or now is None:
        reason = Reason.WRONG_TYPE
    elif before[0] != now[0]:
        reason = Reason.WRONG_DTYPE
    else:
        reason = Reason.SMALL_SIZE if len(before[1]) == len(now[1]) else Reason.WRONG_RANK
    return reason, f"{name}: {_spell(before)}", _spell(now)


def _spell(kind: Kind) -> str:
    return "no array" if kind is None else f"{kind[0]}[{', '.join('?' if n == 2 else str(n) for n in kind[1])}]"
