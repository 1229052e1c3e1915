"""Every rule of differentiation against PyTorch's autograd: first and second order, to a few units in the last place; ties and zeros too."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from gradient_cases import CASES, CORNERS, UNKNOWN_TO_TORCH  # noqa: E402
from gradient_harness import Case, array, case, differentiated, program, runner  # noqa: E402
from sampling import drawn  # noqa: E402
from torch_oracle import run_torch, to_torch  # noqa: E402

pytestmark = pytest.mark.torch

def _known_to_torch(given: Case) -> bool:
    return given.op not in UNKNOWN_TO_TORCH and given.torch_order > 0


KNOWN_TO_TORCH = [*drawn("autograd", [*filter(_known_to_torch, CASES)], 12, kind=lambda c: c.op), *filter(_known_to_torch, CORNERS)]


@pytest.mark.parametrize("given", KNOWN_TO_TORCH, ids=str)
def test_gradients_of_both_orders_are_pytorchs(given: Case) -> None:
    arrays = given.arrays
    wrt = [i for i, a in enumerate(arrays) if a.dtype.kind == "f"]
    text = program(given)
    values = runner(text)(*arrays)
    cotangents = [array(*v.shape, low=-1, high=1.5, seed=3 + k) for k, v in enumerate(values)]
    first = differentiated(text, wrt, range(len(values)))
    gradients = runner(first)(*arrays, *cotangents)
    second = [array(*g.shape, low=-1, high=1.5, seed=4 + k) for k, g in enumerate(gradients)]

    leaves = [to_torch(a.copy()) for a in (*arrays, *cotangents)]
    outer = [leaves[i].requires_grad_() for i in range(len(arrays), len(leaves))]
    wanted = [*(leaves[i].requires_grad_() for i in wrt), *outer]
    items = iter(leaves)
    operands = tuple(next(items) if isinstance(v, np.ndarray) else _listed(v, items) for v in given.operands)
    result = run_torch(given.op, operands)
    if isinstance(result, (list, tuple)):
        result = list(result) if given.of is None else result[given.of]
    expected = torch.autograd.grad(result, wanted[: len(wrt)], outer, create_graph=True, materialize_grads=True)
    for got, want in zip(gradients, expected, strict=True):
        _same(got, want, given)
    if given.torch_order > 1 and all(np.isfinite(v).all() for v in values) and all(np.isfinite(g).all() for g in gradients):
        linear = [g for g in expected if g.requires_grad]
        seeds = [to_torch(s) for s, g in zip(second, expected, strict=True) if g.requires_grad]
        twice = torch.autograd.grad(linear, wanted, seeds, materialize_grads=True)
        mine = runner(differentiated(first, [*wrt, *range(len(arrays), len(leaves))], range(len(wrt))))(*arrays, *cotangents, *second)
        for got, want in zip(mine, twice, strict=True):
            if np.isfinite(want.numpy(force=True)).all():
                _same(got, want, given)


def _listed(value: object, items: object) -> object:
    if isinstance(value, list):
        return [next(items) if isinstance(v, np.ndarray) else v for v in value]  # type: ignore[call-overload]
    return value


def _same(got: np.ndarray, want: object, given: Case) -> None:
    expected = want.detach().numpy(force=True)  # type: ignore[attr-defined]
    assert got.shape == expected.shape and got.dtype == expected.dtype
    np.testing.assert_allclose(got, expected, rtol=given.torch_rtol, atol=1e-12, err_msg=str(given))


@pytest.mark.parametrize("op", ["mul.Tensor", "add.Tensor", "div.Tensor", "pow.Tensor_Tensor", "maximum"])
def test_an_operand_of_another_dtype_gets_a_gradient_of_its_own(op: str) -> None:
    """Float32 with float64, a rank-0 float64, and integers."""
    x = array(2, 3, low=0.5, high=2).astype(np.float32)
    for other in (array(3, low=0.5, high=2), np.array(1.7), np.arange(1, 4), np.float16([1.5, 0.7, 2.1])):
        rest = (1,) if op == "add.Tensor" else ()
        for given in (case(f"aten.{op}", x, other, *rest), case(f"aten.{op}", other, x, *rest)):
            wrt = [i for i, a in enumerate(given.arrays) if a.dtype.kind == "f"]
            (value,) = runner(program(given))(*given.arrays)
            gradients = runner(differentiated(program(given), wrt))(*given.arrays, np.ones_like(value))
            leaves = [to_torch(a.copy()).requires_grad_(a.dtype.kind == "f") for a in given.arrays]
            expected = torch.autograd.grad(run_torch(given.op, (*leaves, *rest)).sum(), [leaves[i] for i in wrt])
            for got, want in zip(gradients, expected, strict=True):
                assert str(got.dtype) == str(want.dtype).removeprefix("torch.")
                np.testing.assert_allclose(got, want.numpy(), rtol=2e-3 if got.dtype == np.float16 else 2e-6)
