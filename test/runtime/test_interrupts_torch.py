"""As test_interrupts.py, for programs from PyTorch: tensors, autograd."""

from __future__ import annotations

import signal

import pytest

import tierup.torch

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


class Alarm(Exception):
    pass


@pytest.mark.parametrize("writes", [False, True], ids=["reads", "writes"])
def test_a_handler_that_raises_ends_a_native_loop_over_tensors(writes: bool) -> None:
    def reading(x, n: int):
        for i in range(n):
            x = x * 0.5 + i
        return x

    def writing(x, n: int):
        for i in range(n):
            x.mul_(0.5).add_(i)
        return x * 1

    script = torch.jit.script(writing if writes else reading)
    made = tierup.torch.from_torchscript(script)
    for n in (5, 5, 6, 7):
        torch.testing.assert_close(made(torch.arange(3.0), n), script(torch.arange(3.0), n))
    before, x = made.stats().hits, torch.arange(3.0)

    def ring(*_: object) -> None:
        if made.stats().hits > begun:  # the call is in the loop
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise Alarm

    old = signal.signal(signal.SIGALRM, ring)
    try:
        for _ in range(2):
            begun = made.stats().hits
            signal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)
            with pytest.raises(Alarm):
                made(x, 1 << 36)
            assert x.tolist() == [0, 1, 2]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert made.stats().hits == before + 2
    torch.testing.assert_close(made(x, 9), script(torch.arange(3.0), 9))
