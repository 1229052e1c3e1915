"""The tables of docs/gradients.md: which op has which rule, and why an op has none. `python -m tierup.tools.pages.passdoc` writes them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from tierup.dialect import optable
from tierup.dialect.ops import gradients
from tierup.dialect.ops.gradients.core import Rule
from tierup.dialect.ops.pointwise.elementary import zero_gradient
from tierup.dialect.passes.autodiff.differentiability import Gradient, gradient_of


def gradient_tables() -> str:
    """Every op of the table but those that write: by rule, then by the reason why there is none."""
    found: defaultdict[Gradient | None, list[str]] = defaultdict(list)
    reasons: defaultdict[str, list[str]] = defaultdict(list)
    for name, row in optable.table().items():
        how = gradient_of(row)
        found[how].append(name)
        if how is Gradient.NONE:
            reasons[row.why_no_gradient or ""].append(name)
    parts = [_rules(), "", "No rule:", "", "| ops | gradient |", "|---|---|"]
    parts += [f"| {_names(found[how])} | {how.value} |" for how in (Gradient.ITEMS, Gradient.PYTORCH)]
    parts += [f"| {_names(ops)} | none: {reason} |" for reason, ops in reasons.items()]
    if found[None]:
        parts.append(f"| {_names(found[None])} | not yet: differentiating it is an error |")
    return "\n".join(parts) + "\n"


def _rules() -> str:
    """A row for each formula, by family."""
    formulas: defaultdict[tuple[str, int], list[Rule]] = defaultdict(list)
    for rule in sorted(gradients.table().values(), key=_place):
        formulas[_place(rule)[:2]].append(rule)
    lines = ["| ops | rule | captures |", "|---|---|---|"]
    for (module, _), rules in sorted(formulas.items(), key=lambda item: item[0][0].rpartition(".")[2]):
        family, path = module.rpartition(".")[2], module.removeprefix("tierup.").replace(".", "/")
        captures = _names(dict.fromkeys(c for rule in rules for c in rule.captures)) or "-"
        zero = "zero: " if rules[0].apply is zero_gradient else ""
        lines.append(f"| {_names(rule.op for rule in rules)} | {zero}[{family}](../{path}.py) | {captures} |")
    return "\n".join(lines)


def _place(rule: Rule) -> tuple[str, int, str]:
    """Where a rule stands in its file: no table's order, which a test may have changed."""
    code = getattr(rule.apply, "__code__", None)
    return rule.apply.__module__, code.co_firstlineno if code is not None else 0, rule.op


def _names(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)
