"""The element of a tensor of TorchScript of which only the run knows that it has one."""

from __future__ import annotations

import pytest
import torch

import tierup.torch

pytestmark = pytest.mark.torch


def truth(x: torch.Tensor, n: int):
    return x * 2 if bool(x[:n]) else x + 1


def as_float(x: torch.Tensor, n: int):
    return x + float(x[:n])


def as_int(x: torch.Tensor, n: int):
    return x + int(x[:n])


def item(x: torch.Tensor, n: int):
    return x * x[:n].item()


@pytest.mark.parametrize("program", [truth, as_float, as_int, item], ids=lambda p: p.__name__)
def test_a_tensor_of_another_number_of_elements_is_no_number(program):
    scripted = torch.jit.script(program)
    f = tierup.torch.from_torchscript(scripted)
    x = torch.tensor([1.5, 2.5, 0.0])
    for n in (1, 1, 2, 1, 0, 2, 3, 0, 1, 2, 0):
        try:
            want = scripted(x, n)
        except RuntimeError:
            with pytest.raises(RuntimeError):
                f(x, n)
        else:
            assert torch.equal(f(x, n), want)
    assert f.stats().hits >= 8
