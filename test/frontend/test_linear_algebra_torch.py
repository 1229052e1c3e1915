"""torch.linalg in PyTorch's programs, and gradients of numpy.linalg, against torch.linalg."""

import numpy as np
import pytest

import tierup
from test.frontend.test_linear_algebra import PSEUDO_INVERTED
from tierup.torch import from_torchscript

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

PROGRAMS = {
    "inv": "torch.linalg.inv(x)", "inverse": "x.inverse()", "det": "torch.det(x)", "the sign of a determinant": "torch.linalg.slogdet(x)[0]",
    "the logarithm of a determinant": "torch.slogdet(x)[1]", "logdet": "torch.logdet(x)", "solve": "torch.linalg.solve(x, y)",
    "solve from the right": "torch.linalg.solve(x, y.mT, left=False)", "solve for a vector": "torch.linalg.solve(x, x[..., 0])",
    "cholesky": "torch.linalg.cholesky(x @ x.mT)", "cholesky, upper": "torch.linalg.cholesky(x @ x.mT, upper=True)",
    "eigvalsh": "torch.linalg.eigvalsh(x + x.mT)", "eigvalsh, upper": "torch.linalg.eigvalsh(x, UPLO='U')", "svdvals": "torch.linalg.svdvals(y)",
    "nuclear": "torch.linalg.matrix_norm(y, 'nuc')", "spectral": "torch.linalg.matrix_norm(y, 2)", "of rows": "torch.linalg.matrix_norm(y, -torch.inf)",
    "of columns": "torch.linalg.norm(y, 1, [-2, -1])", "over the first dim": "torch.linalg.matrix_norm(y, 2, [-1, 0], True)",
    "pinv, hermitian": "torch.linalg.pinv(x + x.mT, hermitian=True)", "only r": "torch.linalg.qr(y, mode='r')[1]",
    "rank above": "torch.linalg.matrix_rank(y, atol=1.0, rtol=0.5)", "rank": "torch.linalg.matrix_rank(y)", "pinv": "torch.linalg.pinv(y)",
    "qr": "torch.linalg.qr(y)[0]", "r": "torch.linalg.qr(y)[1]", "complete qr": "torch.linalg.qr(y, mode='complete')[0]",
}  # fmt: skip
CONSTANT = ("the sign of a determinant", "rank above", "rank", "complete qr", "only r")  # without gradients


@pytest.mark.parametrize("stack", [(), (3,)], ids=str)
@pytest.mark.parametrize("kind", PROGRAMS)
def test_linear_algebra_is_torchs_values_layouts_and_gradients(kind, stack):
    program = torch.jit.CompilationUnit(f"def program(x, y):\n    return {PROGRAMS[kind]}\n").program
    ours = from_torchscript(program)
    rng = np.random.default_rng(len(kind))
    for n in (4, 4, 4, 5):
        x = torch.tensor(rng.standard_normal((*stack, n, n)) + 3 * np.eye(n), dtype=torch.float32)
        y = torch.tensor(rng.standard_normal((*stack, n, 3)), dtype=torch.float32)
        result, expected = ours(x, y), program(x, y)
        torch.testing.assert_close(result, expected, rtol=1e-3, atol=1e-4)
        strides = [[step for step, size in zip(t.stride(), t.shape, strict=True) if size > 1] for t in (result, expected)]
        assert strides[0] == strides[1]
    assert ours.stats().hits > 0 and "in tier 0: aten" not in ours.explain(), ours.explain()
    if kind in CONSTANT:
        return
    given = [v.double().requires_grad_() for v in (x, y)]
    found = [torch.autograd.grad(p(*given).cos().sum(), given, allow_unused=True) for p in (ours, program)]
    torch.testing.assert_close(*found, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("kind", ["inv", "solve", "cholesky"])
def test_a_matrix_that_lapack_refuses_is_torchs_linalgerror_in_every_tier(kind):
    text = {"inv": "torch.linalg.inv(x)", "solve": "torch.linalg.solve(x, x)", "cholesky": "torch.linalg.cholesky(x)"}[kind]
    ours = from_torchscript(torch.jit.CompilationUnit(f"def program(x):\n    return {text} * 2\n").program)
    for _ in range(3):
        ours(torch.eye(3))
    for x in (-torch.eye(3) if kind == "cholesky" else torch.ones(3, 3),) * 3:
        with pytest.raises(torch.linalg.LinAlgError):
            ours(x)
    assert ours.stats().hits >= 2


@pytest.mark.parametrize("size", [(0, 0), (2, 0, 0)], ids=str)
def test_matrices_without_elements_are_inverted_and_solved(size):
    ours = from_torchscript(torch.jit.CompilationUnit("def program(x):\n    return torch.linalg.inv(x), torch.linalg.solve(x, x), torch.det(x)\n").program)
    x = torch.ones(size)
    for _ in range(3):
        torch.testing.assert_close(ours(x), (x, x, torch.ones(size[:-2])))


@pytest.mark.parametrize("kind", PSEUDO_INVERTED)
def test_the_gradient_of_a_pseudo_inverse_is_torchs(kind):
    a = PSEUDO_INVERTED[kind]
    weights = np.cos(np.arange(a.size).reshape(*a.shape[:-2], a.shape[-1], a.shape[-2]))
    given = torch.tensor(a, requires_grad=True)
    (torch.linalg.pinv(given) * torch.tensor(weights)).sum().backward()
    compiled = tierup.grad(lambda a: (np.linalg.pinv(a) * weights).sum())
    for _ in range(3):
        assert np.allclose(compiled(a), given.grad.numpy(), rtol=1e-9, atol=1e-9)
    assert compiled.stats().hits >= 1
