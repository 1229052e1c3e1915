"""The rules of reverse-mode differentiation, by op: `lookup("aten.mul.Tensor")` gives one or None. See core.py for their shape.

An op has its rule where it is defined (optable/define.py); of one that is a formula it is that of the ops that the formula is made of.
"""

from __future__ import annotations

from functools import cache

from tierup.dialect import optable
from tierup.dialect.ops.gradients.core import Rule


@cache
def table() -> dict[str, Rule]:
    """Every rule by op name. Raises ValueError when two rules claim one op."""
    from tierup.dialect.ops.gradients import formulas  # here: it looks up rules

    found = [Rule(op.name, op.operands, op.gradient[1], op.gradient[0]) for op in optable.table().values() if op.gradient is not None]
    rules: dict[str, Rule] = {}
    for rule in (*found, *formulas.rules()):
        if rule.op in rules:
            raise ValueError(f"two gradients for {rule.op}")
        rules[rule.op] = rule
    return rules


def lookup(name: str) -> Rule | None:
    """The rule of an op named with or without the `torch.` prefix; None when it has none."""
    return table().get(name.removeprefix("torch."))
