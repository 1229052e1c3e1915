"""Programs with ops that PyTorch computes are compiled in a worker, which is told of them: a compiler that crashes ends no process of a user's."""

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

from tierup.runtime.compiling.processes import in_process, workers
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
    assert g.stats().compiles and set(done_here) <= {"recorder_of", "main_tier0"}, (done_here, g.explain())
