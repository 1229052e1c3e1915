"""A loop of TorchScript that is left by `return`, `break` or `continue` has gradients, whichever iteration that happens in: what is not there yet is kept, too."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

import tierup  # noqa: E402

Tensor = torch.Tensor


def of_rank_0(x: Tensor) -> Tensor:
    for _ in range(2):
        x = x * 1.5
        if bool(x.sum() > 20):
            return x.sum()
    return x


def of_another_rank(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x * x
        if bool(x.sum() > 20):
            return torch.stack([x, x * i])
    return x + n


def out_of_two_loops(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        for j in range(3):
            x = x * 1.25 + j
            if bool(x.sum() > 30):
                return x[1:] * i
        if bool(x.sum() < -5):
            break
    return x.exp()


def of_a_while_loop(x: Tensor) -> Tensor:
    while bool(x.sum() < 50):
        x = x * x + 0.5
        if bool(x.max() > 6):
            return x.cumsum(0)
    return x


def of_breaks_and_continues(x: Tensor, n: int) -> Tensor:
    i = 0
    while i < 2 * n:
        i += 1
        if i == 3:
            continue
        if i > 5:
            break
        x = x * 1.1 + i
    return x


def of_items(x: Tensor, n: int) -> Tensor:
    items = [x, x[1:], x * 2, x + n, x]
    for i in range(len(items)):
        if items[i].size(0) == 2:
            continue
        half, sizes = 0.5 * i, [i, n]
        if i == n:
            break
        x = x + items[i].sum() * x * half + sizes[0]
    return x


PROGRAMS = (of_rank_0, of_another_rank, out_of_two_loops, of_a_while_loop, of_breaks_and_continues, of_items)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_gradients_of_loops_that_return_are_eagers(program, dtype) -> None:
    f = tierup.torch.from_torchscript(torch.jit.script(program), gradients="error")
    for scale in (1.0, 1.0, 1.0, 9.0, 9.0, 9.0, -4.0, -4.0, 1.0):
        for n in (3,) if program.__code__.co_argcount == 2 else (None,):
            grads = []
            for call in (f, program):
                x = torch.full((3,), scale, dtype=dtype).requires_grad_()
                y = call(x) if n is None else call(x, n)
                (y * torch.arange(1.0, y.numel() + 1, dtype=dtype).reshape(y.shape)).sum().backward()
                grads.append((y.detach(), x.grad))
            torch.testing.assert_close(grads[0], grads[1])
