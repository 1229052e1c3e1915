"""On which paths of a run there is a gradient: what a branch that is not taken, or a loop of no iteration, has none of.

    v = x.sqrt()                 Where c is false no gradient comes to v, which is something else than one of zeros: zero times the
    y = v if c else x * 2        derivative of sqrt at 0 would be NaN, and no path goes there.

A truth value goes along with such a gradient. Where it is false the gradient may be anything, until it meets one that is there on other
paths or leaves the program: then it is made zeros.
"""

from __future__ import annotations

from typing import Union

from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients import lists
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.ops.gradients.lists import ListGradient

When = Union[bool, ir.Value]
"""On which paths: all, none, or those on which a `!torch.bool` is true."""


@dataclass(frozen=True)
class Path:
    """When a gradient is there. `zeros`: on other paths it is zeros."""

    when: When = True
    zeros: bool = True


def either(e: Emitter, a: When, b: When) -> When:
    """Whether one of two holds: an op where the run must say so."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is True or b is True or (b if a is False else a)
    return a if a == b else e.call("aten.__or__.bool", a, b, type_="!torch.bool")


def both(e: Emitter, a: When, b: When) -> When:
    """Whether two hold: an op where the run must say so."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is not False and b is not False and (b if a is True else a)
    return a if a == b else e.call("aten.__and__.bool", a, b, type_="!torch.bool")


def negated(e: Emitter, a: When) -> When:
    """Whether it does not hold: an op where the run must say so."""
    return not a if isinstance(a, bool) else e.call("aten.__not__", a, type_="!torch.bool")


def same(a: When, b: When) -> bool:
    """Whether two are the same constant or the same value."""
    return a is b if isinstance(a, bool) or isinstance(b, bool) else a == b


def masked(e: Emitter, gradient: ir.Value | ListGradient, path: Path) -> ir.Value | ListGradient:
    """The gradient, zeros where there is none."""
    if isinstance(path.when, bool) or path.zeros:
        return gradient
    when = path.when

    def one(tensor: ir.Value) -> ir.Value:  # a branch: its own gradient is there on these paths only
        made = e.choose(when, lambda: tensor, lambda: e.zeros_like(tensor))
        e.inference.values[made] = e.known(tensor)
        return made

    return one(gradient) if isinstance(gradient, ir.Value) else lists.each(e, gradient, one)
