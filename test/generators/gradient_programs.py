"""Random NumPy programs that are differentiated: those of the generator, with a loss of what they compute. The oracle is central differences.

Where the loss has a kink, is too steep, or numbers are too coarse for differences, nothing is compared with them; the tiers must agree there, too. Steps
drown in the rounding of float32: differences are of the program with float64 in its place, if that computes the same. Of float16 there are none.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from arguments import Call, Parameter, arguments, calls, parameters
from checking import Refused, outcome, plain, with_noise
from corpus_compare import assert_same_exception
from draft import Draft, indented, is_array
from families import grow
from numpy_programs import THEMES, NumpyProgram
from running import function_of, made

import tierup

STEP = 1e-5
STEEP = 1e8  # from here on the rounding of an operand moves the sine of the loss by more than tiers may differ
LOSS = "np.sum(np.sin(({}) * 0.3))"
Differences = tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]  # the gradient, and where there is one that differences can tell


def gradient_program(seed: object) -> NumpyProgram:
    chance = random.Random(f"gradients {seed}")
    made_ = parameters(chance, ("float64",), (1,))
    planned = [replace(c, pair=None, special=False, dtypes={}, times=min(c.times, 2)) for c in calls(chance, made_)][:6]
    names = [p.name for p in made_]
    draft = Draft(chance, dict(zip(names, given(made_, planned[0]), strict=True)), raises=chance.choice((0.0, 0.0, 0.05)))
    draft.keep([f"{p.name} = {p.name}.copy()" for p in made_ if p.dims is not None])  # a write to an argument has no gradient
    grow(draft, chance.randint(1, 8), chance.choice(THEMES))
    lines = [re.sub(r"^( *)return (.*)", lambda m: f"{m[1]}return {LOSS.format(m[2])}", line) for line in draft.lines]
    floats = draft.names(lambda v: is_array(v) and v.dtype.kind == "f")
    chosen = dict.fromkeys([floats[-1], *(chance.choice(floats) for _ in range(2))])
    source = "\n".join([f"def f({', '.join(names)}):", *indented([*lines, "return " + " + ".join(LOSS.format(n) for n in chosen)])]) + "\n"
    return NumpyProgram(source, made_, planned, seed)


def given(made_: list[Parameter], call: Call) -> list[Any]:
    """Arguments whose arrays have numbers that are no ties."""
    rng, found = np.random.default_rng(call.seed), arguments(made_, call)
    for value in found:
        if isinstance(value, np.ndarray):
            writeable, value.flags.writeable = value.flags.writeable, True
            value[...] = rng.normal(size=value.shape)
            value.flags.writeable = writeable
    return found


@dataclass
class Wanted:
    """What a call gives: the loss, and of each array argument the differences, None where they tell nothing; or what it raises."""

    value: Any
    error: Exception | None
    gradients: list[Differences] | None = None


def wanted(program: NumpyProgram, call: Call) -> Wanted:
    first = outcome(plain(program.source), given(program.parameters, call))
    if first.error is not None or "float16" in program.source:
        return Wanted(first.result, first.error)
    function = plain(program.source.replace("float32", "float64"))
    middle = outcome(function, given(program.parameters, call)).result
    if middle is None or not np.allclose(middle, first.result, rtol=1e-5, atol=1e-5, equal_nan=True):
        return Wanted(first.result, None)
    arrays = [i for i, p in enumerate(program.parameters) if p.dims is not None]
    return Wanted(first.result, None, [_differences(function, program, call, i, middle) for i in arrays])


def _differences(function: Callable[..., Any], program: NumpyProgram, call: Call, argument: int, middle: Any) -> Differences:
    shape = given(program.parameters, call)[argument].shape
    slope, is_smooth = np.zeros(shape), np.zeros(shape, bool)
    for index in np.ndindex(shape):
        sides = []
        for steps in (-2, -1, 1, 2):
            moved = given(program.parameters, call)
            x = moved[argument] = moved[argument].copy()
            x[index] += steps * STEP
            found = outcome(function, moved)
            sides.append(np.nan if found.error is not None else float(found.result))
        near, far = (sides[2] - sides[1]) / (2 * STEP), (sides[3] - sides[0]) / (4 * STEP)
        left, right = (middle - sides[1]) / STEP, (sides[2] - middle) / STEP
        slope[index] = near
        is_smooth[index] = abs(near - far) < 1e-5 * (1 + abs(near)) and abs(left - right) < 1e-3 * (1 + abs(near))
    return slope, is_smooth


def _noise_moves(program: NumpyProgram, call: Call, got: Any, want: Any) -> bool:
    """Whether plain Python's loss differs from itself as much where all that it computes has some noise: of float32's rounding, say."""
    found = [o.result for o in with_noise(program.source, lambda: given(program.parameters, call)) if o.error is None]
    return max((abs(float(a) - float(want)) for a in found), default=0.0) * 4 > abs(float(got) - float(want))


def _nudges_move(function: Callable[..., Any], program: NumpyProgram, call: Call, got: Any, before: Any) -> bool:
    """Whether the gradients differ as much where arguments differ in their last digits: at powers of singular values, say."""
    moved = []
    for seed in range(4):
        rng, values = np.random.default_rng(seed), given(program.parameters, call)
        nudged = [v * (1 + np.finfo(v.dtype).eps * rng.integers(-2, 3, v.shape)) if is_array(v) and v.dtype.kind == "f" else v for v in values]
        moved.append(outcome(function, nudged))
    gradients = [o.result[1] for o in moved if o.error is None]
    return any(all(_as_far(a[i], b, got[i]) for i, b in enumerate(before)) for a in gradients)


def _as_far(moved: Any, before: Any, got: Any) -> bool:
    return bool(4 * np.abs(moved - before).max(initial=0) >= np.abs(got - before).max(initial=0))


def check(program: NumpyProgram, sets: list[dict[str, Any]], folder: Path, at: Callable[[str], None] = lambda where: None) -> tuple[int, str]:
    """How many calls were made, and how value or gradients differ; "" when they do not. The first set is what the others are held against.
    Raises Refused where the program has no gradient, or the front end does not take it."""
    expected, count = [wanted(program, call) for call in program.calls], 0
    rounding = max([1e-7, *(64 * float(np.finfo(t).eps) for t in ("float32", "float16") if t in program.source)])  # what tiers may differ by
    argnums = tuple(i for i, p in enumerate(program.parameters) if p.dims is not None)
    base: dict[int, Any] = {}
    for options in sets:
        at(repr(options))
        function = tierup.value_and_grad(function_of(program.source, folder), argnums, **options)
        for number, call in enumerate(made([*program.calls])):
            want = expected[next(i for i, c in enumerate(program.calls) if c is call)]
            got = outcome(function, given(program.parameters, call))
            count += 1
            if isinstance(got.error, tierup.NotDifferentiable):
                raise Refused(str(got.error))
            try:
                if want.error is not None:
                    assert_same_exception(got.error, want.error, "the call")
                    continue
                assert got.error is None, f"raised {type(got.error).__name__}: {got.error}"
                value, gradients = got.result
                if not np.allclose(value, want.value, rtol=rounding, atol=rounding, equal_nan=True) and not _noise_moves(program, call, value, want.value):
                    np.testing.assert_allclose(value, want.value, rtol=rounding, atol=rounding)
                if options is sets[0]:
                    base[number] = gradients
                    for found, (slope, is_smooth) in zip(gradients, want.gradients or (), strict=want.gradients is not None):
                        assert found.shape == slope.shape and found.dtype == np.float64
                        told = is_smooth & np.isfinite(found)
                        np.testing.assert_allclose(found[told], slope[told], rtol=1e-4, atol=1e-5 + 1e-6 * np.abs(slope[told]).max(initial=0))
                else:
                    for found, before in zip(gradients, base[number], strict=True):
                        finite, told = np.abs(before[np.isfinite(before)]), ~(np.abs(before) > STEEP)
                        np.testing.assert_allclose(found[told], before[told], rtol=max(1e-6, rounding), atol=rounding / 10 + rounding / 100 * finite.max(initial=0))
            except AssertionError as e:
                if got.error is None and options is not sets[0] and _nudges_move(function, program, call, got.result[1], base[number]):
                    continue
                return count, f"{options}, call {number} of {call}: {e}"
    return count, ""

