"""A few of the programs that `make soak` makes without end: under options that compile nothing, and compiled. Plain NumPy is the oracle."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gradient_programs
import mutated_programs
import numpy as np
import pytest
import running
from arguments import Call, Parameter, arguments
from checking import Refused, may_be_rounding, outcome, plain
from numpy_programs import NumpyProgram, numpy_program
from reproducer import reduced, script
from sampling import IS_EXHAUSTIVE, SEED

MANY = 400 if IS_EXHAUSTIVE else 20
FIRST = 1_000_000 * SEED


def tally(numbers: range, sets: list[dict[str, object]], **what: bool) -> running.Tally:
    found = running.Tally()
    for number in numbers:
        running.run(numpy_program(number, **what), sets, found)
    for finding in found.findings:
        raise AssertionError(f"seed {finding.program.seed} under {finding.options}, call {finding.call}: {finding.what}\n{finding.program.source}")
    assert found.calls > 10 * found.programs and found.refused < found.programs / 2
    return found


def test_generated_programs_without_code_do_what_numpy_does() -> None:
    tally(range(FIRST, FIRST + MANY), list(running.INTERPRETED))


def test_generated_programs_of_rare_functions_and_arguments_do_what_numpy_does() -> None:
    tally(range(FIRST, FIRST + MANY // 2), [{"optimize": False}, {"bailout_depth": 0}], keywords=True)
    tally(range(FIRST, FIRST + MANY // 20), [{"level": 1}], keywords=True)


def test_generated_programs_of_lists_do_what_python_does() -> None:
    tally(range(FIRST, FIRST + MANY // 2), [{"optimize": False}], lists=True)
    tally(range(FIRST, FIRST + MANY // 10), [{"level": 1, "weigh": False}], lists=True)


def test_generated_programs_compiled_do_what_numpy_does() -> None:
    tally(range(FIRST + 8, FIRST + 8 + MANY // 8), [{"level": 1}, {"speculate": "bailout", "level": 1}])


def test_generated_programs_with_statements_that_python_runs_do_what_python_does() -> None:
    """In tier 0, and with native regions between the statements."""
    found = running.Tally()
    with running.native_wins():
        for number in range(FIRST, FIRST + MANY // 4):
            options = [{"level": 0}] if number % 10 == 3 else [{"optimize": False}, {"bailout_depth": 0}]
            running.run(numpy_program(number, islands=True), options, found)
    for finding in found.findings:
        raise AssertionError(f"seed {finding.program.seed} under {finding.options}, call {finding.call}: {finding.what}\n{finding.program.source}")
    assert found.calls > 10 * found.programs and not found.refused


def test_everyday_programs_changed_in_a_few_places_do_what_python_does(tmp_path: Path) -> None:
    compared = 0
    for number in range(FIRST, FIRST + MANY):
        program = mutated_programs.mutated_program(number)
        options = mutated_programs.OPTIONS[1] if number % 8 else mutated_programs.OPTIONS[number // 8 % 4]
        calls, what = (0, "") if program is None else mutated_programs.check(program, options, tmp_path)
        assert not what, f"seed {number} under {options}: {what}\n{program.source}"
        compared += calls
    assert compared > MANY


@pytest.mark.parametrize(("result", "hangs"), [("float(y.std())", False), ("len(str(y.std()))", True), ("np.argmax([y[0] - y[0], 0 * y[1]])", False)])
def test_a_program_hangs_on_roundings_where_the_last_digits_of_its_arguments_decide(tmp_path: Path, result: str, hangs: bool) -> None:
    program = mutated_programs.MutatedProgram(0, "integrate", f"def integrate(y):\n    return {result}\n")
    function = mutated_programs._function(program, tmp_path / "mutated_0.py")
    assert mutated_programs._hangs_on_roundings(function, program) is hangs


def test_generated_programs_have_the_gradients_of_central_differences(tmp_path: Path) -> None:
    compared = 0
    for number in range(FIRST, FIRST + MANY // 4):
        try:
            calls, what = gradient_programs.check(gradient_programs.gradient_program(number), [{"optimize": False}, {"bailout_depth": 0}], tmp_path)
        except Refused:
            continue
        assert not what, f"seed {number}: {what}\n{gradient_programs.gradient_program(number).source}"
        compared += calls
    assert compared > 2 * MANY


@pytest.mark.parametrize(("dtype", "is_told"), [("float64", True), ("float32", True), ("float16", False)])
def test_differences_tell_gradients_of_float64_and_float32(dtype: str, is_told: bool) -> None:
    """Of narrower numbers steps are lost in rounding: what differences say then is not what the gradient is."""
    source = f"def f(x):\n    return np.sum(np.sin(x.astype(np.{dtype}) * 0.3)) + np.sum(np.sin(x * 0.3))\n"
    parameter, call = Parameter("x", "float64", ("n",)), Call({"n": 50}, 1)
    found = gradient_programs.wanted(NumpyProgram(source, [parameter], [call], 0), call).gradients
    (x,) = gradient_programs.given([parameter], call)
    assert (found is not None) == is_told
    for slope, is_smooth in found or ():
        assert is_smooth.all()
        np.testing.assert_allclose(slope, 0.6 * np.cos(x * 0.3), rtol=1e-6, atol=1e-6)


WRONG = NumpyProgram(
    "def f(x, i):\n    v1 = x + 1\n    if i > 1:\n        v2 = v1 * 2\n    else:\n        v2 = v1\n    v3 = np.sin(x)\n    return v1, v2\n",
    [Parameter("x", "float32", ("n",)), Parameter("i", "int")], [Call({"n": 3}, 1, times=2), Call({"n": 4}, 2, times=2), Call({"n": 4}, 3)], 0,
)  # fmt: skip


def test_a_program_is_reduced_to_what_shows_the_difference() -> None:
    small = reduced(WRONG, lambda p: "* 2" in p.source and any(c.sizes["n"] == 4 for c in p.calls))
    assert "sin" not in small.source and "if" not in small.source and len(list(running.made(small.calls))) == 1
    assert "v1 * 2" in small.source or "x * 2" in small.source
    compile(script(small, {"compile": "background"}, "what", "found"), "script", "exec")


@pytest.mark.parametrize(("source", "far", "rounding"), [
    ("return np.exp(x) * 3", 0.0, True), ("return (np.exp(x) * 3 - np.exp(x) - np.exp(x) - np.exp(x)) * 1e6", 0.2, True), ("return x * 2 + x", 1.0, False),
])  # fmt: skip
def test_a_difference_that_noise_makes_too_is_rounding(source: str, far: float, rounding: bool) -> None:
    program = replace(WRONG, source=f"def f(x, i):\n    {source}\n", calls=[Call({"n": 3}, 1)])
    got = outcome(plain(program.source), arguments(program.parameters, program.calls[0]))
    got.result = got.result + got.result.dtype.type(far)
    assert may_be_rounding(program.source, program.parameters, program.calls[0], got) is rounding
