"""The table of PyTorch's programs: every case has a network, results are compared, and a side that cannot run says why."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from benchmarks import torch_networks, torch_programs  # noqa: E402
from benchmarks.__main__ import span  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def without_compiler(program):
    def fails(*args):
        raise RuntimeError("no C++ compiler\nat all")

    return fails


def wrong(program):
    return lambda *args: program(*args) + 1


@pytest.mark.parametrize("case", torch_programs.CASES, ids=lambda case: case.name)
def test_each_case_runs_in_eager_mode(case):
    if case.name == "bert":
        pytest.importorskip("transformers")
    with torch.no_grad():
        case.make(torch_networks)(*case.inputs(torch))


def test_a_side_that_cannot_run_says_why_and_the_others_are_measured(monkeypatch, capsys):
    monkeypatch.setattr(torch, "compile", without_compiler)
    torch_programs.report(2, span, only=("perceptron",))
    _, line = capsys.readouterr().out.splitlines()
    assert line.count("x ") >= 1 and " - " in line and "torch.compile: RuntimeError: no C++ compiler)" in line


def test_a_wrong_result_has_no_speed(monkeypatch):
    monkeypatch.setattr(torch, "compile", wrong)
    with pytest.raises(AssertionError):
        torch_programs.measure(torch_programs.CASES[0], 2)


def test_calls_that_were_all_native_are_told_from_regions(monkeypatch):
    monkeypatch.setattr(torch, "compile", lambda program: program)
    found = {name: next(c for c in torch_programs.CASES if c.name == name) for name in ("perceptron", "vae")}
    rows = {name: torch_programs.measure(case, 2) for name, case in found.items()}
    assert rows["perceptron"].native and not rows["vae"].native
