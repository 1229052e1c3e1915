"""Programs with ops that PyTorch computes are compiled in a worker, which is told of them: a compiler that crashes ends no process of a user's."""

import pickle

import pytest

pytestmark = pytest.mark.torch
torch = pytest.importorskip("torch")

from tierup.dialect import optable
from tierup.runtime.compiling import steps
from tierup.runtime.compiling.processes import in_process, placement, workers
from tierup.torch import from_torchscript


@torch.library.custom_op("tierup_test::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    """An op of the program's own library, with a gradient."""
    return x * 2


twice.register_fake(torch.empty_like)
twice.register_autograd(lambda ctx, grad: grad * 2)


def between(x):
    """Arithmetic around the op."""
    return torch.tanh(torch.ops.tierup_test.twice(torch.sin(x) * x)) * 3 + x


@pytest.fixture
def done_here(monkeypatch):
    """The steps of the compiler that this process does itself, while a worker is up and nothing is on disk."""
    monkeypatch.setenv("TIERUP_CACHE", "0")
    monkeypatch.setenv("TIERUP_WORKER", "1")
    found, run = [], in_process.run
    monkeypatch.setattr(in_process, "run", lambda *step, **limit: found.append(step[1]) or run(*step, **limit))
    workers.waited_for().call("compile_functions", "nothing")
    return found


def gradients_are_those_of(function, g):
    """Of a few calls."""
    for _ in range(4):
        mine, its = (torch.linspace(-1, 1, 6, dtype=torch.float64).requires_grad_() for _ in range(2))
        g(mine).sum().backward()
        function(its).sum().backward()
        torch.testing.assert_close(mine.grad, its.grad)


def test_the_parts_of_a_program_around_an_op_of_pytorchs_are_compiled_in_a_worker(done_here):
    @torch.jit.script
    def f(x, again: bool):
        y = torch.tanh(x) * 2 + torch.exp(x)
        if again:
            y = torch.linalg.matrix_exp(y * 0.1)
        return torch.sin(y) * 3 + torch.cos(y)

    g, x = from_torchscript(f), torch.randn(5, 5)
    for again in (True, True, True, False, True):
        torch.testing.assert_close(g(x, again), f(x, again))
    assert g.stats().compiles and placement.COMPILER[1] not in done_here, (done_here, g.explain())


def test_every_row_of_an_op_of_pytorchs_can_be_told_to_a_worker():
    @torch.jit.script
    def f(x):
        return torch.tanh(torch.linalg.matrix_exp(torch.sin(x) * 2)) * 2

    g, x = from_torchscript(f), torch.randn(5, 5, dtype=torch.float64, requires_grad=True)
    for _ in range(3):
        g(x).sum().backward()
    mine = [row for row in optable._foreign.values() if "matrix_exp" in row.name]
    assert len(mine) > 1  # its gradient, too
    for row in mine:
        assert pickle.loads(pickle.dumps(row)).name == row.name


def test_gradients_of_an_op_of_the_program_s_own_library_are_found_in_a_worker_and_computed_here(done_here):
    g = from_torchscript(torch.jit.trace(between, torch.ones(6, dtype=torch.float64)))
    gradients_are_those_of(between, g)
    assert set(done_here) <= {"recorder_of", "main_tier0"}, done_here
    assert any("vjp" in row.name and "twice" in row.name for row in optable.foreign()) and g.stats().compiles, g.explain()


@pytest.mark.parametrize("part", [steps.gradients, steps.regions], ids=["gradients", "recording"])
def test_a_crash_in_a_step_of_a_program_with_such_an_op_leaves_the_process_alone(part, done_here, monkeypatch):
    monkeypatch.setattr(part, "_module", "crashing_steps")
    g = from_torchscript(torch.jit.trace(between, torch.ones(6, dtype=torch.float64)))
    gradients_are_those_of(between, g)
    assert "LLVM ERROR: in a step" in g.explain() and set(done_here) <= {"recorder_of", "main_tier0"}, (done_here, g.explain())
