"""What a PyTorch program makes of numbers, and what kind of gradient it has: default dtypes, leaves of autograd's, sparse gradients."""

from __future__ import annotations

from typing import List  # noqa: UP035 - what torch.jit.script reads

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing

from tierup.torch import from_export, from_torchscript  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


@pytest.fixture
def other_default():
    def set_(dtype):
        torch.set_default_dtype(dtype)

    yield set_
    torch.set_default_dtype(torch.float32)


def makes(x):
    return torch.zeros(2) + 1, torch.tensor(1.5), torch.full([2], 0.5), torch.arange(3.0), x / 2, x.sqrt(), torch.linspace(0, 1, 3), x * 0.1


@pytest.mark.parametrize("entry", ["script", "trace", "export"])
def test_another_default_dtype_is_respected_in_every_call(entry, other_default):
    class Makes(nn.Module):
        def forward(self, x):
            return makes(x)

    x = torch.arange(3)
    if entry == "export":
        program = torch.export.export(Makes(), (x,))
        ours, eager = from_export(program), program.module()
    else:
        made = torch.jit.script(makes) if entry == "script" else torch.jit.trace(makes, x)
        ours, eager = from_torchscript(made), made
    for dtype in (torch.float32, torch.float32, torch.float64, torch.float64, torch.float32, torch.float16):
        other_default(dtype)
        for got, want in zip(ours(x), eager(x), strict=True):
            assert got.dtype == want.dtype
            torch.testing.assert_close(got, want)
    assert "default dtype" in ours.explain()


def test_a_list_of_ints_without_items_is_a_tensor_of_ints():
    @torch.jit.script
    def program(n: int):
        ints: List[int] = []  # noqa: UP006
        flags: List[bool] = []  # noqa: UP006
        floats: List[float] = []  # noqa: UP006
        for i in range(n):
            ints.append(i)
            flags.append(i > 1)
            floats.append(i / 2)
        return torch.tensor(ints), torch.tensor(flags), torch.tensor(floats), torch.tensor(ints, dtype=torch.float64), torch.tensor([ints, ints])

    ours = from_torchscript(program)
    for n in (0, 0, 0, 2, 2, 3, 0):
        got, want = ours(n), program(n)
        assert [t.dtype for t in got] == [t.dtype for t in want]
        torch.testing.assert_close(got, want)


def test_a_leaf_that_the_program_makes_requires_a_gradient():
    def program(x):
        made = torch.tensor(2.5, requires_grad=True)
        return made * x, x + 1, made

    ours = from_torchscript(torch.jit.script(program))
    for requires_grad in (False, False, True, False, True):
        x = torch.ones(2, requires_grad=requires_grad)
        for enabled in (True, False):
            with torch.set_grad_enabled(enabled):
                got, want = ours(x), program(x)
            assert [(t.requires_grad, t.is_leaf) for t in got] == [(t.requires_grad, t.is_leaf) for t in want]
            torch.testing.assert_close(got, want)


@pytest.mark.parametrize("enter", [torch.jit.script, lambda m: torch.jit.trace(m, torch.tensor([1, 2]))], ids=["script", "trace"])
def test_an_embedding_with_sparse_gradients_has_a_sparse_gradient(enter):
    module = nn.Sequential(nn.Embedding(5, 3, sparse=True), nn.Linear(3, 2))
    ours = from_torchscript(enter(module))
    for n in (2, 2, 3, 0):
        at = torch.randint(0, 5, (n,))
        found = []
        for f in (module, ours):
            module.zero_grad(set_to_none=True)
            f(at).sum().backward()
            found.append([p.grad for p in module.parameters()])
        assert found[1][0].is_sparse
        torch.testing.assert_close([g.to_dense() for g in found[1]], [g.to_dense() for g in found[0]])


@pytest.mark.parametrize(
    "text", ["torch.nn.functional.embedding_bag(i, w, torch.tensor([0, 2]), mode='sum', sparse=True)", "torch.gather(w, 0, i[:, None], sparse_grad=True)"]
)
def test_other_ops_with_sparse_gradients_have_them_too(text):
    program = torch.jit.CompilationUnit(f"def program(w, i):\n    return {text}\n").program
    ours, at = from_torchscript(program), torch.tensor([0, 2, 1, 3])
    for _ in range(3):
        given = [torch.arange(15.0).reshape(5, 3).requires_grad_() for _ in range(2)]
        for f, w in zip((ours, program), given, strict=True):
            f(w, at).sum().backward()
        assert given[0].grad.is_sparse
        torch.testing.assert_close(given[0].grad.to_dense(), given[1].grad.to_dense())
