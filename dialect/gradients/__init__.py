"""The rules of reverse-mode differentiation, by op: `lookup("aten.mul.Tensor")` gives one or None. See core.py for their shape."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from tierup.dialect.gradients.core import Rule

FAMILIES = ("arithmetic", "elementary", "selection", "reductions", "products", "views", "movement", "casts")


@cache
def table() -> dict[str, Rule]:
    """Every rule by op name. Raises ValueError when two rules claim one op."""
    rules: dict[str, Rule] = {}
    for family in FAMILIES:
        for rule in import_module(f"tierup.dialect.gradients.{family}").RULES.rules:
            if rule.op in rules:
                raise ValueError(f"two gradients for {rule.op}, the second in {family}")
            rules[rule.op] = rule
    return rules


def lookup(name: str) -> Rule | None:
    """The rule of an op named with or without the `torch.` prefix; None when it has none."""
    return table().get(name.removeprefix("torch."))
