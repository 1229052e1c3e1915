"""The rules of reverse-mode differentiation, by op: `lookup("aten.mul.Tensor")` gives one or None. See core.py for their shape.

An op that is defined in one place has its rule there (optable/define.py); a module in this folder that has `RULES` is a family of rules
of those that are not yet.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from tierup.dialect import optable
from tierup.dialect.gradients.core import Rule


@cache
def table() -> dict[str, Rule]:
    """Every rule by op name. Raises ValueError when two rules claim one op."""
    rules: dict[str, Rule] = {}
    for op in optable.table().values():
        if op.gradient is not None:
            apply, reads = op.gradient
            rules[op.name] = Rule(op.name, op.operands, reads, apply)
    for family in sorted(module.name for module in iter_modules(__path__)):
        found = getattr(import_module(f"{__name__}.{family}"), "RULES", None)
        for rule in found.rules if found is not None else ():
            if rule.op in rules:
                raise ValueError(f"two gradients for {rule.op}, the second in {family}")
            rules[rule.op] = rule
    return rules


def lookup(name: str) -> Rule | None:
    """The rule of an op named with or without the `torch.` prefix; None when it has none."""
    return table().get(name.removeprefix("torch."))
