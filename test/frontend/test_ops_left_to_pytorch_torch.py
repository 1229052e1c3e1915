"""Ops that tierup has no kernel for, through TorchScript: values, what requires a gradient, and gradients are those of eager PyTorch."""

from __future__ import annotations

import pytest

import tierup

torch = pytest.importorskip("torch")

from tierup.frontend.torch import by_torch  # noqa: E402 - it may be missing
from tierup.torch import from_torchscript  # noqa: E402 - it may be missing

pytestmark = pytest.mark.torch

OPS = [
    "torch.histc(x, 4, 0.0, 1.0)", "torch.inverse(x)", "torch.cdist(x, x * 2)", "torch.tensordot(x, x, dims=1)", "torch.kron(x, x)",
    "torch.det(x)", "torch.logdet(x @ x.t() + 3)", "torch.trapezoid(x)", "torch.renorm(x, 2.0, 0, 1.0)", "torch.cov(x)",
    "torch.mode(x)[0]", "torch.kthvalue(x, 2)[0]", "torch.nanmedian(x)", "torch.combinations(x[0])",
    "torch.cartesian_prod(x[0], x[1])", "torch.block_diag(x, x)", "torch.matrix_exp(x)", "torch.dist(x, x * 2)",
    "torch.bucketize(x, x[0].sort()[0])", "torch.searchsorted(x.sort()[0], x)", "torch.count_nonzero(x)", "torch.bincount(x[0].long())",
    "torch.frexp(x)[0]", "torch.i0(x)", "torch.polygamma(1, x)", "torch.mvlgamma(x + 3, 2)", "torch.pinverse(x)", "torch.pdist(x)",
    "torch.corrcoef(x)", "torch.nextafter(x, x * 2)", "torch.igamma(x.detach(), x.detach())",
]  # fmt: skip


def _results(f, x):
    y = f(x)
    return [y, y.requires_grad, *(torch.autograd.grad((y * y).sum(), x, allow_unused=True) if y.requires_grad else ())]


def test_what_requires_a_gradient_and_the_gradients_are_eagers():
    differ = []
    for op in OPS:
        script = torch.jit.CompilationUnit(f"def f(x):\n    return {op}\n").f
        ours = from_torchscript(script)
        x = torch.rand(3, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64).requires_grad_()
        for _ in range(2):
            try:
                expected = _results(script, x)
                torch.testing.assert_close(_results(ours, x), expected)
            except (AssertionError, RuntimeError, TypeError, ValueError) as e:
                differ.append(f"{op}: {e}")
    assert not differ, "\n".join(differ)


def test_pytorchs_table_of_derivatives_says_which_ops_have_none():
    flat = by_torch._flat()
    assert [flat[f"aten.{op}"] for op in ("histc", "count_nonzero", "linalg_lu", "linalg_inv_ex", "kthvalue")] == [(0,), (0,), (0,), (1,), ()]


@pytest.mark.parametrize("call", ["index_add_(0, i, y)", "index_copy_(0, i, y)", "scatter_(0, i, y, reduce='add')", "scatter_reduce_(0, i, y, 'sum')"])
def test_an_op_that_may_not_read_what_it_writes_is_refused_as_in_eager(call):
    source = f"def f(x: Tensor, i: Tensor):\n    y = x * 1\n    y.{call}\n    return y\n"
    script = torch.jit.CompilationUnit(source).f
    f = from_torchscript(script)
    for _ in range(3):
        with pytest.raises(RuntimeError, match="refer to a single memory location"):
            f(torch.ones(3), torch.tensor([1, 0, 2]))


def test_a_program_with_such_an_op_is_cut_before_the_types_of_the_whole_are_inferred(monkeypatch):
    from tierup.runtime.compiling import version

    specialised, original = [], version.specialise
    monkeypatch.setattr(version, "specialise", lambda values, entry, *rest: specialised.append(entry) or original(values, entry, *rest))
    ours = from_torchscript(torch.jit.CompilationUnit("def f(x):\n    return torch.exp(torch.i0(torch.tanh(x * 2)) + 1) * 3\n").f)
    for _ in range(4):
        torch.testing.assert_close(ours(torch.ones(3)), torch.exp(torch.i0(torch.tanh(torch.ones(3) * 2)) + 1) * 3)
    assert ours.stats().hits == 2 and "f" not in specialised
    assert "aten.i0: has no native code" in ours.explain()


def test_what_is_slow_is_the_op_without_native_code_and_not_one_that_stands_alone_beside_it():
    def program(x):
        y = torch.linalg.matrix_exp(torch.relu(torch.linalg.matrix_exp(torch.exp(x.tanh() + 1) / 9)))
        return torch.exp(y.tanh() + 1).sigmoid() * 3

    ours, x = from_torchscript(torch.jit.script(program)), torch.randn(3, 3)
    for _ in range(4):
        torch.testing.assert_close(ours(x), program(x))
    said = ours.explain()
    assert "aten.relu (has native code, but is alone" in said
    assert "Slow because `aten.linalg_matrix_exp` has no native code" in said and "`aten.relu" not in said


def in_the_storage_of_a_view(x):
    return [torch.as_strided(x[1:3], (2, 2), (8, 1), 0) + 1]


def beyond_a_view(x):
    return [torch.as_strided(x.reshape(-1)[3:3], (1,), (1,)), torch.as_strided_copy(x, (2,), (1,), 1)]


def strides_and_offset(x):
    return [torch.tensor([x.t().contiguous().stride(0), x.storage_offset()])]


@pytest.mark.parametrize("program", [in_the_storage_of_a_view, beyond_a_view, strides_and_offset], ids=lambda f: f.__name__)
def test_a_program_that_asks_how_a_tensor_lies_in_its_storage_is_pytorchs(program):
    x, script, heard = torch.arange(48.0).reshape(6, 8)[1:4], torch.jit.script(program), []
    ours = from_torchscript(script)
    with tierup.events.subscribe(heard.append):
        for _ in range(3):
            assert [t.tolist() for t in ours(x)] == [t.tolist() for t in script(x)]
    assert [("asks how a tensor lies in memory" in e.guard) for e in heard] == [True] * 3
    assert "3 calls by the original program" in ours.explain() and "asks how a tensor lies in memory" in ours.explain()
    with pytest.raises(tierup.torch.UnsupportedProgram, match="asks how a tensor lies in memory"):
        from_torchscript(script, foreign="error")(x)
