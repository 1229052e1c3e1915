"""Generated NumPy programs as plans: called, saved, and called again as what is loaded where there is no compiler."""

from __future__ import annotations

import random
import tempfile
import warnings
from pathlib import Path
from unittest import mock

from arguments import arguments
from checking import Refused, difference, may_be_rounding, outcome, plain
from numpy_programs import NumpyProgram, numpy_program
from running import function_of, made

import tierup
from tierup import PlanError
from tierup.runtime.base.errors import UnsupportedArgument
from tierup.runtime.code import plans

ANSWERED_BY_NONE = (PlanError, UnsupportedArgument)  # where the Python function alone goes on, or a call has no graph


def saved(seed: int) -> tuple[int, str, str]:
    """(calls of the plan, what was wrong, the program). Raises Refused for a program that cannot be saved."""
    chance = random.Random(f"plans {seed}")
    program = numpy_program(f"plans {seed}", keywords=chance.random() < 0.3, lists=chance.random() < 0.3)
    with tempfile.TemporaryDirectory(prefix="tierup-soak-") as folder, warnings.catch_warnings(action="ignore"):
        count, what = _check(program, Path(folder))
    return count, what, program.source


def _check(program: NumpyProgram, folder: Path) -> tuple[int, str]:
    oracle, function = plain(program.source), tierup.jit(function_of(program.source, folder), weigh=False)
    for call in made(program.calls):
        outcome(function, arguments(program.parameters, call))
    try:
        function.save(folder / "plan")
    except ValueError as e:
        raise Refused(str(e).partition("cannot be saved: ")[2]) from e
    with mock.patch.object(plans, "has_compiler", lambda: False):
        plan = tierup.load_plan(folder / "plan")
        for count, call in enumerate(made(program.calls), start=1):
            want, got = (outcome(each, arguments(program.parameters, call)) for each in (oracle, plan))
            what = "" if isinstance(got.error, ANSWERED_BY_NONE) else difference(got, want)
            if what and not may_be_rounding(program.source, program.parameters, call, got):
                return count, f"call {count}: {what}"
    return count, ""
