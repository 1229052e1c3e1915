"""What tierup says without being asked: the log, and the one warning."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.runtime.base import events

PROGRAM = """
import numpy as np, tierup
@tierup.jit
def f(x):
    return np.tanh(x) * 2
for n in (3, 3, 4):
    f(np.ones(n))
"""


@pytest.mark.parametrize(
    ("wanted", "kinds"),
    [("", []), ("compiles", ["compiled"]), ("misses", ["miss"]), ("compiles, misses", ["compiled", "miss"]), ("all", ["profiled", "compiled", "miss"])],
)
def test_the_environment_chooses_what_is_printed(wanted: str, kinds: list[str], tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(PROGRAM)
    run = subprocess.run([sys.executable, "p.py"], cwd=tmp_path, env={**os.environ, events.LOG: wanted}, capture_output=True, text=True, check=True)
    lines = run.stderr.splitlines()
    assert [line.split(": ")[3].split(";")[0] for line in lines] == kinds, run.stderr
    assert all(line.startswith("tierup: call ") and "p.py" in line for line in lines)


def test_an_unknown_kind_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    events.log_listener("compile")
    assert "unknown kind 'compile': all, or some of compiles, misses" in capsys.readouterr().err


def sum_of(x):
    return np.tanh(x) * 2.0


def test_a_function_that_has_used_up_its_versions_warns_once_at_the_users_line() -> None:
    f = tierup.jit(sum_of, fusion_strategy=[("static", 1)])
    f(np.ones(3)), f(np.ones(3))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in (4, 4, 5, 5):
            f(np.ones(n))
    (one,) = [w for w in caught if w.category is tierup.RecompileLimitWarning]
    text = str(one.message)
    assert one.filename == __file__
    assert "sum_of" in text and "test_log.py" in text and "1 static" in text and "Raise fusion_strategy" in text


def sorted_of(x):
    return np.exp(np.argpartition(np.tanh(x) * 2, -1)) * 2


@pytest.mark.parametrize("function", [sum_of, sorted_of])
def test_a_function_warns_once_whatever_its_graphs_regions_and_options(function: Callable[..., Any]) -> None:
    f = tierup.jit(function, fusion_strategy=[("static", 1)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for changed in ({}, {"level": 1}, {"speculate": "bailout"}):
            with tierup.options(**changed):
                for x in (np.ones(3), np.ones(4), np.ones((3, 3)), np.ones((4, 4))):
                    for _ in range(4):
                        f(x)
        assert [w.category for w in caught] == [tierup.RecompileLimitWarning]
        f.reset()
        for n in (3, 3, 3, 4, 4, 5, 5, 6, 6):
            f(np.ones(n))
        assert len(caught) == 2


def between_regions(x):
    y = np.argpartition(np.tanh(x) * 2.0, -1)
    return np.exp(y[y > 0]) - 1.0


def test_a_region_that_has_used_up_its_versions_warns_at_the_users_line_too() -> None:
    f = tierup.jit(between_regions, fusion_strategy=[("static", 1)])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in (4, 4, 4, 5, 5, 6, 6, 7, 7):
            f(np.arange(n) - 1.0)
    assert f.stats().fallbacks > 0, f.explain()
    found = [w for w in caught if "region" in str(w.message)]
    assert found and {w.filename for w in found} == {__file__}


def test_no_warning_when_versions_are_not_wanted_at_all() -> None:
    f = tierup.jit(sum_of, bailout_depth=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in (4, 4, 5, 5):
            f(np.ones(n))
