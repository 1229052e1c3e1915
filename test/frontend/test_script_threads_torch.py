"""Threads that call one program of TorchScript while its graph is built, and with other settings of PyTorch's."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing

from tierup.frontend.torch.script.module import Attributes  # noqa: E402
from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch
THREADS = 3


@pytest.fixture(autouse=True)
def _switching_often():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def at_once(call):
    """`call(thread)` in each thread, begun together; what it raises."""
    together = Barrier(THREADS, timeout=300)

    def begin(thread):
        together.wait()
        return call(thread)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(begin, range(THREADS)))


class Holding(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(3, 3) for _ in range(12)])
        self.pair = (torch.ones(3), 2.0)
        self.listed = [torch.ones(3), torch.zeros(3)]

    def forward(self, x):
        return self.layers(x) * self.pair[0] + self.listed[0] * self.pair[1]


def test_threads_that_make_the_first_call_at_once_read_what_the_graph_holds():
    x = torch.randn(2, 3)
    for attempt in range(10):
        module = Holding()
        scripted = torch.jit.script(module) if attempt % 2 else torch.jit.trace(module, x)
        ours, want = from_torchscript(scripted, bailout_depth=0), module(x)
        for got in at_once(lambda thread, ours=ours: [ours(x) for _ in range(3)]):
            for result in got:
                torch.testing.assert_close(result, want)
        assert ours.stats().calls == ours.stats().interpreted == 3 * THREADS


def test_a_thread_with_other_settings_does_not_change_the_graph_of_a_call_that_is_under_way(monkeypatch):
    @torch.jit.script
    def program(x):
        return x * 2 if torch.is_grad_enabled() else x * 3

    ours, x, refresh = from_torchscript(program), torch.ones(2), Attributes.refresh
    with torch.no_grad():
        ours(x)
    assert ours(x).tolist() == [2, 2]

    def refresh_and_be_overtaken(self):
        found = refresh(self)
        monkeypatch.setattr(Attributes, "refresh", refresh)
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(lambda: torch.no_grad()(ours)(x)).result().tolist() == [3, 3]
        return found

    for _ in range(3):
        monkeypatch.setattr(Attributes, "refresh", refresh_and_be_overtaken)
        assert ours(x).tolist() == [2, 2]
