"""PyTorch's second names of ops, and views with operands filled in, by tierup's own kernels and natively."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tierup.dialect import optable
from tierup.frontend.torch.script.nodes import synonyms as script_synonyms
from tierup.torch import from_torchscript

pytestmark = pytest.mark.torch

X, Y = (torch.rand(3, 4, generator=torch.Generator().manual_seed(seed)) * 0.8 for seed in (0, 1))

PROGRAMS = {
    "arccos": torch.arccos,
    "arccos_": lambda x: x.clone().arccos_(),
    "arctan2": lambda x: torch.arctan2(x, Y),
    "clip": lambda x: torch.clip(x, 0.1, 0.5),
    "concat": lambda x: torch.concat([x, Y]),
    "divide": lambda x: torch.divide(x, Y, rounding_mode="floor"),
    "greater": lambda x: torch.greater(x, 0.5),
    "multiply_": lambda x: x.clone().multiply_(3),
    "subtract": lambda x: torch.subtract(x, Y, alpha=2),
    "row_stack": lambda x: torch.row_stack([x, Y]),
    "swapaxes": lambda x: torch.swapaxes(x, 0, 1),
    "moveaxis": lambda x: torch.moveaxis(x, 0, 1),
    "special.expit": torch.special.expit,
    "special.round": lambda x: torch.special.round(x, decimals=2),
    "special.softmax": lambda x: torch.special.softmax(x, 1),
    "special.log_softmax": lambda x: torch.special.log_softmax(x, 1),
    "special.xlogy": lambda x: torch.special.xlogy(x, Y),
    "mT": lambda x: x.mT,
    "real": lambda x: x.real + 1,
    "ravel": lambda x: x.ravel(),
    "view_as": lambda x: x.view_as(Y),
    "squeeze from the front": lambda x: x[None, :, None].squeeze((0, 2)),
    "rrelu": lambda x: torch.rrelu(x - 0.4, 0.1, 0.3),
    "norm": lambda x: torch.stack([torch.linalg.norm(x), torch.linalg.norm(x[0]), torch.linalg.matrix_norm(x), torch.linalg.norm(x, "fro")]),
    "norm along a dim": lambda x: torch.linalg.norm(x, 1, dim=1),
    "norm of several dims": lambda x: torch.linalg.norm(x, dim=(0, 1), keepdim=True),
    "squeeze from behind": lambda x: x[None, :, None].squeeze((-2, -4)),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_second_name_is_the_op(name):
    program = torch.jit.trace(PROGRAMS[name], (X,), check_trace=False)
    torch.testing.assert_close(from_torchscript(program, foreign="error", optimize=False)(X), PROGRAMS[name](X))
    ours = from_torchscript(program, foreign="error", num_profiled_runs=0, strict=True)
    torch.testing.assert_close(ours(X), PROGRAMS[name](X))
    assert ours.stats().hits == 1


def test_whether_all_is_close_is_native_and_other_norms_are_pytorchs():
    @torch.jit.script
    def program(x, y):
        z = x * 2
        if torch.allclose(x, y, atol=0.1):
            z = z + 1
        return z, torch.allclose(x, y, equal_nan=True)

    ours = from_torchscript(program)
    for y in (X, X, X + 0.05, X + 1, X * float("nan"), Y):
        torch.testing.assert_close(ours(X, y), program(X, y))
    assert ours.stats().hits == 5
    norms = torch.jit.trace(lambda x: (torch.linalg.norm(x, 2), torch.linalg.matrix_norm(x, 1)), (X,))
    torch.testing.assert_close(from_torchscript(norms)(X), norms(X))


def test_views_stay_views():
    program = torch.jit.trace(lambda x: (x.mT, x.ravel(), x.view_as(x)), (X,), check_trace=False)
    x = X.clone()
    for view in from_torchscript(program)(x):
        assert view.data_ptr() == x.data_ptr()


def test_a_second_name_without_a_row_is_kept():
    assert script_synonyms.canonical("aten.multiply.Tensor") == "aten.mul.Tensor"
    assert script_synonyms.canonical("aten.special_digamma") == "aten.special_digamma" or "aten.digamma" in optable.table()
