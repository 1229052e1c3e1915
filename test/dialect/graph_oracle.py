"""What a program does when tier 0 runs it, and whether two programs do the same: results to the bit, exceptions by type, what they write."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from tierup.dialect.base.exceptions import INT_TOO_LARGE
from tierup.dialect.facts.profiled import unset
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import functions
from tierup.runtime.base.errors import GuardFailed
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.interpreter.translate import LOOK_LIKE_RESULTS, translate

ENTRY = "f"


@dataclass
class Outcome:
    """One call: its results or its exception, the arguments as it left them, which of them share memory or are one object."""

    results: list[Any]
    error: Exception | None
    arguments: list[Any]
    sharing: list[tuple[int, int, bool]]
    writes_late: bool  # what it writes it gives back: nothing is written when it raises

    def __repr__(self) -> str:
        return f"{self.error!r}" if self.error else f"{self.results} and left {self.arguments}"


class Runner:
    """A module's @f in tier 0. `results`: how many the user's program has; a functionalised one has what it writes behind them."""

    def __init__(self, module: ir.Module, **hooks: bool) -> None:
        func = next(f for f in functions(module.operation) if ir.StringAttr(f.attributes["sym_name"]).value == ENTRY)
        self.functional = "tierup.result_aliases" in func.attributes
        self.written = list(ir.DenseI64ArrayAttr(func.attributes["tierup.writebacks"])) if "tierup.writebacks" in func.attributes else []
        types = [str(t) for t in ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results]
        self.count = len(types)
        self.single = self.count == 1 and not types[0].startswith(LOOK_LIKE_RESULTS)  # given as itself, not in a tuple
        self.tier0: Tier0 = translate(module, ENTRY, **hooks)

    def call(self, arguments: list[Any], **hooks: Callable[..., Any]) -> Outcome:
        given = copy.deepcopy(arguments)
        try:
            with np.errstate(all="ignore"):
                got = self.tier0.call(*given, **hooks)
        except Exception as e:  # noqa: BLE001 - whatever it is, both sides must raise it
            return Outcome([], e, given, [], self.functional)
        results = [] if self.count == 0 else [got] if self.single else list(got)
        results, contents = results[: self.count - len(self.written)], results[self.count - len(self.written) :]
        sharing = _sharing([*results, *given])
        for argument, value in zip(self.written, contents, strict=True):
            given[argument][...] = value
        return Outcome(results, None, given, sharing, self.functional)


def difference(got: Outcome, want: Outcome, *, rounding: bool = False, sharing: bool = True, unread: Collection[int] = ()) -> str:
    """How two calls differ, "" when they do not. `rounding`: floats may differ by what another order of sums gives. `unread`: the results
    that the other path would have given."""
    if isinstance(got.error, AssertionError) and str(got.error) == INT_TOO_LARGE:
        return ""  # native code leaves such a call to tier 0, which has a result or an exception of its own
    if want.error is not None or got.error is not None:
        if _kind(got.error) is not _kind(want.error):
            return f"gives {got}, not {want}"
        if got.writes_late or want.writes_late:
            return ""
        return _differ(got.arguments, want.arguments, "the arguments after the exception", rounding)
    nobodys = [i for i, v in enumerate(want.results) if i in unread or isinstance(v, np.ndarray) and unset.get(id(v)) is v]
    if nobodys:  # a pass may put any other in the place of what is not set
        got, want = (replace(o, results=[v for i, v in enumerate(o.results) if i not in nobodys], sharing=[]) for o in (got, want))
    found = _differ(got.results, want.results, "the results", rounding) or _differ(got.arguments, want.arguments, "the arguments", rounding)
    if not found and sharing and got.sharing != want.sharing:
        return f"results and arguments share memory as {got.sharing}, not {want.sharing}"
    return found


def _kind(error: Exception | None) -> type | None:
    """An exception's type as Python knows it: NumPy's own are kinds of ValueError, IndexError and TypeError."""
    return next((t for t in type(error).__mro__ if t.__module__ == "builtins" or t is GuardFailed), None)


def lost_assumption(outcome: Outcome) -> bool:
    return isinstance(outcome.error, GuardFailed)


def _differ(got: Any, want: Any, where: str, rounding: bool) -> str:
    if isinstance(want, (list, tuple)):
        if type(got) is not type(want) or len(got) != len(want):
            return f"{where}: {got!r}, not {want!r}"
        return next((d for i, (g, w) in enumerate(zip(got, want, strict=True)) if (d := _differ(g, w, f"{where}[{i}]", rounding))), "")
    if isinstance(want, np.ndarray):
        same = isinstance(got, np.ndarray) and got.dtype == want.dtype and got.shape == want.shape and _equal(got, want, rounding)
        return "" if same else f"{where}: {_shown(got)}, not {_shown(want)}"
    same = type(got) is type(want) and _equal(np.asarray(got), np.asarray(want), rounding, kept=False)
    return "" if same else f"{where}: {got!r}, not {want!r}"


def _shown(x: Any) -> str:
    return f"{x.tolist()} of {x.dtype}{list(x.shape)}" if isinstance(x, np.ndarray) else repr(x)


def _equal(got: np.ndarray, want: np.ndarray, rounding: bool, kept: bool = True) -> bool:
    """Equal to the bit; a NaN is a NaN. -0.0 is not 0.0. `kept`: the dtype is what it was computed in; a Python float may be out of a float32,
    as may an array of float64 whose numbers are all float32's."""
    if want.dtype.kind != "f" and want.dtype != ml_dtypes.bfloat16:
        return np.array_equal(got, want)
    epsilon = float(ml_dtypes.finfo(want.dtype).eps)
    got, want = got.astype(np.float64), want.astype(np.float64)  # which holds all others
    with np.errstate(all="ignore"):
        if rounding:
            if not kept or all(np.array_equal(x, x.astype(np.float32), equal_nan=True) for x in (got, want)):
                epsilon = max(epsilon, float(np.finfo(np.float32).eps))
            return np.allclose(got, want, rtol=64 * epsilon, atol=64 * epsilon, equal_nan=True)
    return bool(np.all(np.isnan(want) == np.isnan(got))) and np.where(np.isnan(want), 0, want).tobytes() == np.where(np.isnan(got), 0, got).tobytes()


def _sharing(values: list[Any]) -> list[tuple[int, int, bool]]:
    """Pairs of arrays that share memory, and whether they are one object; pairs of lists that are one object."""
    arrays = list(_leaves(values))
    pairs = []
    for i, a in enumerate(arrays):
        for j, b in enumerate(arrays[:i]):
            if a is b or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.shares_memory(a, b)):
                pairs.append((i, j, a is b))
    return pairs


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, (np.ndarray, list)):
        yield value
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from _leaves(item)
