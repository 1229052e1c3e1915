"""The measured plans are what their names say, and give what the program gives."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import pipelines


@pytest.mark.parametrize("name", pipelines.PLANS)
def test_a_plan_runs_its_groups_natively_and_agrees_with_numpy(name: str) -> None:
    x, w, b = arguments = pipelines.arguments_of("mm", 8)
    call = pipelines.executable(pipelines.plan("mm", pipelines.PLANS[name], arguments), "mm")
    for _ in range(3):
        np.testing.assert_allclose(call(x, w, b), np.maximum(x @ w + b, 0), rtol=1e-5)


def test_what_is_measured_is_how_a_program_is_cut() -> None:
    rows = {name: pipelines.measure("branch", name, 8, repeats=3) for name in pipelines.PLANS}
    assert {name: (row.groups, row.checks) for name, row in rows.items()} == {"2.x": (3, 3), "default": (1, 1)}
    assert all(row.microseconds > 0 for row in rows.values())
