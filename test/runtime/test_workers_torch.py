"""Programs with ops that PyTorch computes are compiled in a worker, which is told of them: a compiler that crashes ends no process of a user's."""

import pickle

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

from tierup.dialect import optable
from tierup.runtime.compiling.processes import in_process, placement, workers
from tierup.torch import from_torchscript


def test_the_parts_of_a_program_around_an_op_of_pytorchs_are_compiled_in_a_worker(monkeypatch):
    @torch.jit.script
    def f(x, again: bool):
        y = torch.tanh(x) * 2 + torch.exp(x)
        if again:
            y = torch.cdist(y, y)
        return torch.sin(y) * 3 + torch.cos(y)

    monkeypatch.setenv("TIERUP_CACHE", "0")
    monkeypatch.setenv("TIERUP_WORKER", "1")
    done_here, run = [], in_process.run
    monkeypatch.setattr(in_process, "run", lambda *step, **limit: done_here.append(step[1]) or run(*step, **limit))
    workers.waited_for().call("compile_functions", "nothing")
    g, x = from_torchscript(f), torch.randn(5, 5)
    for again in (True, True, True, False, True):
        torch.testing.assert_close(g(x, again), f(x, again))
    assert g.stats().compiles and placement.COMPILER[1] not in done_here, (done_here, g.explain())


def test_every_row_of_an_op_of_pytorchs_can_be_told_to_a_worker():
    @torch.jit.script
    def f(x):
        return torch.tanh(torch.cdist(torch.sin(x) * 2, x)) * 2

    g, x = from_torchscript(f), torch.randn(5, 5, dtype=torch.float64, requires_grad=True)
    for _ in range(3):
        g(x).sum().backward()
    mine = [row for row in optable._foreign.values() if "cdist" in row.name]
    assert len(mine) > 1  # its gradient, too
    for row in mine:
        assert pickle.loads(pickle.dumps(row)).name == row.name
