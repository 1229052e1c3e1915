"""scaled_dot_product_attention against PyTorch's, in tier 0 and native: masks, what is masked whole, dtypes, errors, dropout."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


def plain(q, k, v):
    return F.scaled_dot_product_attention(q, k, v)


def causal(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def scaled(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, scale=0.3)


def grouped(q, k, v):
    return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)


def masked(q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def operands(*lead: int, rows: int = 4, places: int = 6, dtype: Any = torch.float32) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(3)
    return tuple(torch.randn(*lead, n, w).to(dtype) for n, w in ((rows, 5), (places, 5), (places, 7)))


def agree(program: Any, *args: torch.Tensor) -> None:
    ours = from_torchscript(torch.jit.script(program))
    half = args[0].dtype in (torch.float16, torch.bfloat16)
    for _ in range(3):
        got, want = ours(*args), program(*args)
        torch.testing.assert_close(got, want, rtol=2e-2 if half else 1e-5, atol=1e-2 if half else 1e-6)
    assert (ours.stats().profiled_runs, ours.stats().hits) == (1, 2), ours.explain()


@pytest.mark.parametrize("program", [plain, causal, scaled])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)], ids=str)
def test_ranks(program, lead):
    agree(program, *operands(*lead))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64], ids=str)
def test_dtypes(dtype):
    agree(causal, *operands(2, dtype=dtype))


MASKS = {
    "bools": torch.rand(4, 6, generator=torch.Generator().manual_seed(0)) > 0.5,
    "per sample": torch.arange(6).expand(2, 1, 1, 6) < 3,
    "nothing is seen": torch.zeros(4, 6, dtype=torch.bool),
    "added": torch.linspace(-2, 2, 24).view(4, 6),
    "minus infinity": torch.full((4, 6), -torch.inf),
}


@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)
def test_masks(mask):
    agree(masked, *operands(2, 3), mask)


@pytest.mark.parametrize("mask", [torch.ones(4, 0, dtype=torch.bool), torch.zeros(4, 0)], ids=["bools", "floats"])
def test_no_keys_under_a_mask_give_zeros(mask):
    agree(masked, *operands(2, 3, places=0), mask)


def test_heads_of_queries_share_those_of_keys():
    q, k, v = operands(2, 4)
    agree(grouped, q, k[:, :2], v[:, :2])


@pytest.mark.parametrize("other", [(2, 5, 6), (3, 5, 9)], ids=str)
def test_sizes_become_symbols(other):
    ours = from_torchscript(torch.jit.script(causal))
    for sizes in ((2, 3, 3), (2, 3, 3), other, other, (4, 2, 2)):
        args = operands(sizes[0], rows=sizes[1], places=sizes[2])
        torch.testing.assert_close(ours(*args), causal(*args), rtol=1e-5, atol=1e-6)
    assert ours.stats().compiles <= 3, ours.explain()


def test_what_pytorch_refuses_is_refused():
    q, k, v = operands(2)
    ours = from_torchscript(torch.jit.script(plain))
    for wrong in ((q, k[..., :3], v), (q, k, v[:, :2]), (q[0, 0], k, v), (q, k.double(), v), (q.int(), k.int(), v.int())):
        with pytest.raises(RuntimeError):
            plain(*wrong)
        with pytest.raises((ValueError, TypeError, RuntimeError)):
            ours(*wrong)


def test_attention_that_drops_goes_through_pytorch_with_its_generator():
    @torch.jit.script
    def program(q, k, v, p: float):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=p) * 2

    args = operands(2, 3)
    ours = from_torchscript(program)
    for p in (0.5, 0.5, 0.25, 0.0):
        torch.manual_seed(1)
        want = program(*args, p)
        torch.manual_seed(1)
        torch.testing.assert_close(ours(*args, p), want)


def dropping(q, k, v, mask: torch.Tensor | None):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=0.4)


def dropping_masked(q, k, v, mask: torch.Tensor | None):
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.4, scale=0.3, enable_gqa=True)


@pytest.mark.parametrize("mask", [None, torch.ones(4, 6).tril().bool(), torch.arange(24.0).view(4, 6)], ids=["causal", "bools", "floats"])
def test_attention_that_drops_has_gradients_by_eagers_numbers(mask):
    program = dropping if mask is None else dropping_masked
    ours, heads = from_torchscript(torch.jit.script(program)), 4 if mask is None else 2
    for seed in range(3):
        given = [torch.randn(2, h, n, 5, requires_grad=True) for h, n in ((4, 4), (heads, 6), (heads, 6))]
        found = []
        for f in (ours, program):
            torch.manual_seed(seed)
            result = f(*given, mask)
            found.append((result, *torch.autograd.grad(result.pow(2).sum(), given)))
        torch.testing.assert_close(*found, rtol=1e-4, atol=1e-5)
    assert "under autograd: 3 calls by tierup's forward and backward programs, 0 by" in ours.explain()
    assert ours.stats().compiles >= 2
