"""Indices and sizes that eager mode refuses are refused by programs of PyTorch's with the same class, before and after they are compiled."""

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tierup

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

X, PART = torch.arange(12.0).reshape(4, 3), torch.ones(2, 3)
INDEXED: dict[str, Callable[..., Any]] = {
    "index_add": lambda x, i: x.index_add(0, i, PART),
    "index_copy": lambda x, i: x.index_copy(0, i, PART),
    "index_fill": lambda x, i: x.index_fill(0, i, 2.0),
    "index_add of a row": lambda x, i: x[0].index_add(0, i % 4, PART[0, :2]),
}


def outcome(f: Callable[..., Any], *args: Any) -> Any:
    try:
        return f(*args).tolist()
    except Exception as e:  # noqa: BLE001 - whatever eager raises
        return type(e)


@pytest.mark.parametrize("name", INDEXED)
def test_an_exported_program_refuses_the_indices_that_eager_refuses(name: str) -> None:
    class M(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def forward(self, x: Any, i: Any) -> Any:
            return INDEXED[name](x, i)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = tierup.torch.from_export(torch.export.export(M(), (X, torch.tensor([0, 2]))))
    indices = [torch.tensor(i) for i in ([0, 2], [0, 2], [0, 2], [-1, 0], [0, 7], [1, -7], [0, 3])]
    assert [outcome(made, X, i) for i in indices] == [outcome(INDEXED[name], X, i) for i in indices]


@pytest.mark.parametrize("loss", ["nll_loss", "cross_entropy"])
def test_a_loss_of_another_batch_is_a_value_error(loss: str) -> None:
    function = getattr(torch.nn.functional, loss)
    made = tierup.torch.from_torchscript(torch.jit.trace(function, (X, torch.tensor([0, 1, 2, 1])), check_trace=False))
    short, image = torch.tensor([0, 1, 2]), torch.zeros(4, 2, 2, dtype=torch.long)
    for args in ((X, short), (X, torch.tensor([0, 1, 2, 1])), (X, torch.tensor([0, 1, 2, 1])), (X, short), (X.reshape(4, 3, 1, 1), image)):
        got, wanted = outcome(made, *args), outcome(function, *args)
        assert got == (wanted if isinstance(wanted, type) else pytest.approx(wanted, rel=1e-6))
