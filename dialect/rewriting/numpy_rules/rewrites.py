"""The rewriting of an op under NumPy's rules into torch ops."""

from __future__ import annotations

from collections.abc import Callable

from tierup.dialect.optable.core import Op
from tierup.dialect.rewriting.numpy_rules import ints, movement, pointwise, reductions
from tierup.dialect.rewriting.numpy_rules.pointwise import Rewrite

_CHECKED: Callable[[Op], Rewrite | None] = lambda row: ints.checked
_FORMS = {**pointwise.FORMS, **reductions.FORMS, **movement.FORMS, ints.FORM: _CHECKED}


def rewrite_of(row: Op) -> Rewrite | None:
    """How the op is said in torch ops, None where it cannot be; of one whose NumPy kernel is torch's nothing need be said."""
    return _FORMS[row.numpy_form](row) if row.numpy_form else None
