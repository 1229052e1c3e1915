"""Runs a generated NumPy program under sets of options, and says what was wrong."""

from __future__ import annotations

import importlib.util
import itertools
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from arguments import Call, arguments
from checking import Refused, difference, may_be_rounding, outcome, plain
from numpy_programs import NumpyProgram
from verified_graphs import verify_graphs

import tierup
from tierup.frontend.python.islands import worth
from tierup.runtime.functions.weighing import Weighed

verify_graphs()

# without any code: cheap
INTERPRETED: tuple[dict[str, Any], ...] = (
    {"optimize": False}, {"bailout_depth": 0}, {"fusion_strategy": []}, {"executor": "specializing", "optimize": False}, {"num_profiled_runs": 1000},
)  # fmt: skip
COMPILED: tuple[dict[str, Any], ...] = (
    {}, {"speculate": "bailout"}, {"executor": "specializing"}, {"entry": "python"}, {"compile": "background"}, {"level": 0}, {"level": 3}, {"num_profiled_runs": 0},
    {"fusion_strategy": [("dynamic", 2)]}, {"fusion_strategy": [("static", 1)]}, {"max_versions": 1}, {"max_graphs": 1}, {"release_graphs": True, "release_delay": 0},
    {"bailout_depth": 1}, {"bailout_depth": 1, "speculate": "bailout"}, {"testing": True, "speculate": "bailout"}, {"num_profiled_runs": 2, "speculate": "bailout"},
    {"executor": "specializing", "entry": "python"}, {"speculate": "bailout", "entry": "python"}, {"threads": 2}, {"fusion_strategy": [("dynamic", 1), ("static", 2)]},
)  # fmt: skip

_count = itertools.count()


@dataclass
class Finding:
    """A program that did something else than plain Python: under which options, in which call, how."""

    program: NumpyProgram
    options: dict[str, Any]
    call: int  # of those that are made, each as often as it says
    what: str


@dataclass
class Tally:
    """What was run. `sign`: called before each call, for whoever waits."""

    sign: Callable[[], object] = lambda: None
    programs: int = 0
    calls: int = 0
    refused: int = 0
    rounding: int = 0
    findings: list[Finding] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)


PROLOGUE = "import contextlib, functools, math, types\nimport numpy as np\nimport tierup\n"  # what programs read


def function_of(source: str, folder: Path) -> Callable[..., Any]:
    """The program's f, out of a file: front ends read source."""
    name = f"generated_{next(_count)}"
    path = folder / f"{name}.py"
    path.write_text(f"{PROLOGUE}\n\n{source}")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module.f


def option_sets(chance: random.Random, compiled: int) -> list[dict[str, Any]]:
    """All those that compile nothing, and some of the others; the default most often."""
    others = list(COMPILED[1:])
    chosen = [{}, *chance.sample(others, compiled - 1)] if chance.random() < 0.7 else chance.sample(others, compiled)
    return [*INTERPRETED, *chosen]


def made(calls: list[Call]) -> Iterator[Call]:
    for call in calls:
        for _ in range(call.times):
            yield call


def check(program: NumpyProgram, options: dict[str, Any], folder: Path, tally: Tally) -> Finding | None:
    """Make the program's calls under these options. Raises Refused."""
    oracle = plain(program.source)
    function = tierup.jit(function_of(program.source, folder), **options)
    for number, call in enumerate(made(program.calls)):
        tally.sign()
        want = outcome(oracle, arguments(program.parameters, call))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            got = outcome(function, arguments(program.parameters, call))
        tally.calls += 1
        if options.get("compile") == "background":
            function.wait(200)
        what = difference(got, want)
        if what:
            if may_be_rounding(program.source, program.parameters, call, got):
                tally.rounding += 1
                continue
            return Finding(program, options, number, what)
    return None


def run(program: NumpyProgram, sets: list[dict[str, Any]], tally: Tally) -> None:
    """Every set of options, until the program is refused."""
    tally.programs += 1
    with tempfile.TemporaryDirectory(prefix="tierup-soak-") as folder:
        for options in sets:
            try:
                found = check(program, options, Path(folder), tally)
            except Refused as e:
                tally.refused += 1
                tally.reasons.append(str(e))
                return
            if found is not None:
                tally.findings.append(found)


@contextmanager
def native_wins() -> Iterator[None]:
    """Regions between statements that Python runs are native from their second call on, whatever is quicker."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_SAMPLES", 0), ("_LAPS", 1), ("_ADVANTAGE", 1e9)):
            patch.setattr(worth, name, value)
        patch.setattr(Weighed, "weigh_parts", lambda _: None)
        yield


def words(what: str) -> str:
    """What kind of difference it is, for reducing: a smaller program must show the same kind."""
    head = what.strip().split("\n")[0]
    for start in ("raised", "the call", "results share", "writeable", "arguments"):
        if head.startswith(start):
            return " ".join(head.split(" ")[:3])
    return "is not" if " is not " in head else "values"
