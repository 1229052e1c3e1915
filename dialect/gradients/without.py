"""Ops that by nature have no gradient: all of them, each with the reason. An op that has one should have a rule instead.

No result of these requires a gradient, so that differentiation does not come to them: their rows say so (`differentiable`), or their
operands cannot require one.
"""

from __future__ import annotations

from tierup.dialect.optable.core import Kind, Op

_PLAIN = "a number, a truth value, a text, or a list of them"
_BY_KIND = {Kind.FACTORY: "made of numbers and sizes; of a tensor only sizes and dtype are read", Kind.SCALAR: _PLAIN}

_BY_OP = {
    _PLAIN: ("aten.__contains__.int_list", "aten.__contains__.str_list", "aten.add.str", "aten.any.bool", "aten.all.bool"),
}

REASONS: dict[str, str] = {op: reason for reason, ops in _BY_OP.items() for op in ops}


def reason(row: Op) -> str | None:
    """Why an op has no gradient, in a few words for the documentation; None when nothing says that it has none."""
    found = row.no_gradient or REASONS.get(row.name)
    return _BY_KIND.get(row.kind) if found is None and not row.differentiable else found
