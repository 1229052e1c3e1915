"""Whether a function of tierup does what plain Python does, call by call; and whether a difference may be rounding."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from arguments import Call, Parameter, arguments
from corpus_compare import arrays, assert_same, assert_same_exception, sharing
from draft import NAMES

from tierup.frontend.errors import UnsupportedSyntax

TOLERANCE = 64.0  # units of the dtype's epsilon, of the result's largest value: several ops of 4 each, and sums in another order


DOCUMENTED = ("is complex",)  # docs/python.md: where a decorated function raises and Python goes on


@dataclass
class Outcome:
    """What a call gave or raised, and its arguments as it left them."""

    result: Any
    error: Exception | None
    arguments: list[Any]


class Refused(Exception):
    """The front end does not take the program."""


def outcome(function: Callable[..., Any], given: list[Any]) -> Outcome:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return Outcome(function(*given), None, given)
        except UnsupportedSyntax as e:
            raise Refused(str(e)) from None
        except Exception as e:  # noqa: BLE001 - whatever it is, both must raise it
            return Outcome(None, e, given)


def difference(got: Outcome, want: Outcome, tolerance: float = TOLERANCE) -> str:
    """How two calls differ; "" when they do not."""
    if any(words in str(got.error) for words in DOCUMENTED):
        return ""
    try:
        if want.error is not None:
            assert_same_exception(got.error, want.error, "the call")
        else:
            assert got.error is None, f"raised {type(got.error).__name__}: {got.error}"
            assert_same(got.result, want.result, tolerance, "result")
            shared, expected = sharing(got.result, got.arguments), sharing(want.result, want.arguments)
            assert shared == expected, f"results share memory with arguments {shared}, not {expected}"
            assert _beside(got.result) == _beside(want.result), f"results share memory {_beside(got.result)}, not {_beside(want.result)}"
            assert _lists_beside(got) == _lists_beside(want), f"which lists are which arguments: {_lists_beside(got)}, not {_lists_beside(want)}"
            assert _flags(got) == _flags(want), f"writeable, and strides of views: {_flags(got)}, not {_flags(want)}"
        assert_same(got.arguments, want.arguments, tolerance, "arguments after the call")
    except AssertionError as e:
        return str(e).strip() or "differs"
    return ""


def _beside(result: Any) -> list[list[bool]]:
    found = arrays(result)
    return [[np.shares_memory(a, b) for b in found[:i]] for i, a in enumerate(found)]


def _lists_beside(o: Outcome) -> list[list[int]]:
    """Which lists of the arguments, and of the results before it, each list of the result is."""
    given, found = lists_in(o.arguments), lists_in(o.result)
    return [[k for k, other in enumerate([*given, *found[:i]]) if other is one] for i, one in enumerate(found)]


def lists_in(value: Any) -> list[list[Any]]:
    """All lists in a tree."""
    if not isinstance(value, (list, tuple, dict)):
        return []
    inner = [found for part in (value.values() if isinstance(value, dict) else value) for found in lists_in(part)]
    return [value, *inner] if isinstance(value, list) else inner


def _flags(o: Outcome) -> list[tuple[bool, Any]]:
    """Of each result whether it may be written, and the strides of those that are views of arguments."""
    return [
        (a.flags.writeable, [s for s, n in zip(a.strides, a.shape, strict=True) if n > 1] if any(row) and a.size else None)
        for a, row in zip(arrays(o.result), sharing(o.result, o.arguments), strict=True)
    ]


# --- rounding ---------------------------------------------------------------------------------------------------------------


def noise(seed: int) -> Callable[[Any], Any]:
    """A function that moves floats by an epsilon or two, in place, but for those that no order of operations rounds, and gives NaNs any sign.
    `either`: zeros get any sign, too."""
    rng = np.random.default_rng(seed)

    def moved(value: Any, either: bool = False) -> Any:
        if either and isinstance(value, (np.ndarray, np.floating)) and value.dtype.kind == "f":
            value = np.where(value == 0, np.copysign(value, rng.choice([-1, 1], np.shape(value)).astype(value.dtype)), value)[()]
        if isinstance(value, np.ndarray) and value.dtype.kind == "f" and value.flags.writeable and value.size:
            with np.errstate(all="ignore"):
                unknown = np.isnan(value)
                value[unknown] = np.copysign(value[unknown], rng.choice([-1, 1], int(unknown.sum())).astype(value.dtype))
                some = np.isfinite(value) & (value * 64 != np.rint(value * 64))
                value[some] *= (1 + np.finfo(value.dtype).eps * rng.integers(-2, 3, value.shape)).astype(value.dtype)[some]
        elif isinstance(value, (float, np.floating)) and np.isnan(value):
            return type(value)(np.copysign(value, rng.choice([-1, 1])))
        elif isinstance(value, (float, np.floating)) and np.isfinite(value) and float(value) * 64 != round(float(value) * 64):
            eps = float(np.finfo(type(value) if isinstance(value, np.floating) else float).eps)
            return type(value)(float(value) * (1 + eps * int(rng.integers(-2, 3))))
        return value

    return moved


_EITHER_ZERO = ("maximum", "minimum", "fmax", "fmin", "clip", "max", "min", "amax", "amin", "nanmax", "nanmin")  # docs/python.md: of 0.0 and -0.0


class _Noisy(ast.NodeTransformer):
    """Every computed value goes through `noise_`."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        names = {n.attr for n in ast.walk(node.func) if isinstance(n, ast.Attribute)}
        return self._wrapped(self.generic_visit(node), bool(names & {*_EITHER_ZERO}))

    def visit_BinOp(self, node: ast.AST) -> ast.AST:
        return self._wrapped(self.generic_visit(node))

    visit_UnaryOp = visit_BinOp

    def _wrapped(self, node: ast.AST, either: bool = False) -> ast.AST:
        return ast.copy_location(ast.Call(ast.Name("noise_", ast.Load()), [node, ast.Constant(either)], []), node)


def with_noise(source: str, given: Callable[[], list[Any]]) -> list[Outcome]:
    """What plain Python does with what is `given` where all that it computes has some noise, several times."""
    return [outcome(noisy(source, "f", NAMES, seed), given()) for seed in range(6)]


def noisy(source: str, name: str, names: dict[str, Any], seed: int) -> Callable[..., Any]:
    """The function of this name, where all that it computes has some noise."""
    tree = ast.fix_missing_locations(_Noisy().visit(ast.parse(source)))
    space = {**names, "noise_": noise(seed)}
    exec(compile(tree, "noisy", "exec"), space)  # noqa: S102 - our own program
    return space[name]


def may_be_rounding(source: str, parameters: list[Parameter], call: Call, got: Outcome) -> bool:
    """Whether plain Python with some noise differs as much from itself: then the program tells an epsilon from none."""
    outcomes = with_noise(source, lambda: arguments(parameters, call))
    if any(not difference(got, o, 4 * TOLERANCE) for o in outcomes):
        return True
    return any(difference(o, outcomes[0], TOLERANCE / 8) for o in outcomes[1:])


def plain(source: str) -> Callable[..., Any]:
    names: dict[str, Any] = dict(NAMES)
    exec(compile(source, "plain", "exec"), names)  # noqa: S102 - our own program
    return names["f"]


def wanted(source: str, parameters: list[Parameter], calls: Sequence[Call]) -> list[Outcome]:
    function = plain(source)
    return [outcome(function, arguments(parameters, call)) for call in calls]
