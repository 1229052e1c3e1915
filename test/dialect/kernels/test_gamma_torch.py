"""lgamma, digamma, trigamma and erfinv against PyTorch and mpmath; their programs are native, and so are their gradients."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tierup.dialect import optable
from tierup.dialect.optable import kernels
from tierup.torch import from_torchscript

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

EXACT = {
    "aten.lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))), "aten.digamma": mpmath.digamma, "tierup.trigamma": lambda x: mpmath.psi(1, x),
    "aten.erfinv": mpmath.erfinv,
}  # fmt: skip
ZEROS = {"aten.lgamma": (1.0, 2.0), "aten.digamma": (1.4616321449683623,)}  # around these results are small, and errors are not
SPECIAL = [0.0, -0.0, float("inf"), -float("inf"), float("nan"), -1.0, -2.0, 1.0, 2.0, 3.0, 1.5, -0.5, 1e-30, 1e30]


def computed(name, x):
    return kernels.resolve(optable.lookup(name).kernel)(x)


@pytest.mark.parametrize("name", EXACT)
def test_float64_is_within_a_few_roundings_of_mpmath(name):
    rng = np.random.default_rng(3)
    x = rng.uniform(-1, 1, 300) if name == "aten.erfinv" else np.concatenate([rng.uniform(0.01, 12, 300), rng.uniform(0, 1000, 30), [-0.25, -3.75]])
    x = np.concatenate([x, 1 - 10.0 ** rng.uniform(-15, -2, 40)]) if name == "aten.erfinv" else x
    with mpmath.workdps(40):
        expected = np.array([float(EXACT[name](mpmath.mpf(float(v)))) for v in x])
    scale = np.maximum(np.abs(expected), 0.5 if name in ZEROS else 0.0)
    assert np.max(np.abs(computed(name, x) - expected) / scale) < 64 * np.finfo(np.float64).eps
    near = np.array([1 + 1e-9, 1 - 1e-9, 2 + 1e-9])
    np.testing.assert_allclose(computed("aten.lgamma", near), [-5.77215663e-10, 5.77215666e-10, 4.22784335e-10], rtol=1e-7)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv"])
def test_values_and_dtypes_are_torchs_in_all_tiers(name, dtype):
    x = torch.tensor(SPECIAL) if dtype.startswith("float") else torch.tensor([-2.0, 0.0, 1.0, 5.0])
    x = x.to(getattr(torch, dtype))
    ours = from_torchscript(torch.jit.CompilationUnit(f"def program(x):\n    return torch.{name}(x) * 2\n").program)
    for _ in range(3):
        torch.testing.assert_close(ours(x), getattr(torch, name)(x) * 2, equal_nan=True)
    assert ours.stats().hits > 0


@pytest.mark.parametrize("name", ["lgamma", "digamma", "erfinv"])
def test_gradients_are_torchs(name):
    program = torch.jit.CompilationUnit(f"def program(x):\n    return torch.{name}(x)\n").program
    ours = from_torchscript(program)
    x = torch.tensor([0.3, 0.9, -0.4, 0.01] if name == "erfinv" else [0.3, 4.0, -1.6, 25.0], dtype=torch.float64, requires_grad=True)
    for _ in range(3):
        found = [torch.autograd.grad(p(x).sum(), x) for p in (ours, program)]
        torch.testing.assert_close(*found)
    assert "0 by the original program" in ours.explain() and "vjp" not in ours.explain()
