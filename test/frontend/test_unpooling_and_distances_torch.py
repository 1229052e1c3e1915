"""Unpooling, folding, distances of all pairs, and convolutions over the first dim: native with their gradients, as in eager PyTorch."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tierup.torch import from_torchscript

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

PLACES = {
    2: torch.tensor([[[0, 3], [9, 14]], [[15, 2], [5, 8]]]),
    3: torch.tensor([[[[0, 3], [9, 14]], [[16, 25], [5, 63]]]]),
}
PROGRAMS = {
    "unpooled": ("torch.nn.functional.max_unpool2d(x, i, [2, 2])", (torch.randn(2, 2, 2), PLACES[2])),
    "a batch unpooled": ("torch.nn.functional.max_unpool2d(x, i, [2, 2]) * 2", (torch.randn(3, 2, 2, 2), PLACES[2].expand(3, 2, 2, 2).contiguous())),
    "unpooled in space": ("torch.nn.functional.max_unpool3d(x, i, [2, 2, 2])", (torch.randn(1, 2, 2, 2), PLACES[3])),
    "distances": ("torch.cdist(x, i)", (torch.randn(4, 3), torch.randn(5, 3))),
    "distances in batches": ("torch.cdist(x, i, 1.0)", (torch.randn(2, 1, 4, 3), torch.randn(6, 5, 3))),
    "distances of a point to itself": ("torch.cdist(x, x) + i", (torch.randn(4, 3), torch.zeros(4, 4))),
    "folded": ("torch.nn.functional.fold(x, [3, 3], [2, 2]) + i", (torch.randn(1, 12, 4), torch.zeros(1, 3, 3, 3))),
    "over time": ("torch.conv_tbc(x, i, torch.ones(4, dtype=x.dtype), 1)", (torch.randn(5, 2, 3), torch.randn(2, 3, 4))),
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_values_layouts_and_gradients_are_eagers(kind):
    text, inputs = PROGRAMS[kind]
    program = torch.jit.CompilationUnit(f"def program(x, i):\n    return {text}\n").program
    ours = from_torchscript(program)
    for _ in range(3):
        result, expected = ours(*inputs), program(*inputs)
        torch.testing.assert_close(result, expected)
        assert result.stride() == expected.stride()
    assert ours.stats().hits > 0 and "in tier 0: aten" not in ours.explain(), ours.explain()
    given = [t.double().requires_grad_() if t.is_floating_point() else t for t in inputs]
    wanted = [t for t in given if t.requires_grad]
    for _ in range(3):
        found = [torch.autograd.grad(p(*given).cos().sum(), wanted, allow_unused=True) for p in (ours, program)]
        torch.testing.assert_close(*found)
    assert "0 by the original program" in ours.explain()


def test_an_index_outside_of_the_unpooled_image_raises_in_every_tier():
    ours = from_torchscript(torch.jit.CompilationUnit("def program(x, i):\n    return torch.nn.functional.max_unpool2d(x, i, [2, 2]) * 2\n").program)
    x, places = torch.randn(2, 2, 2), PLACES[2]
    for _ in range(3):
        ours(x, places)
    for wrong in (places + 1, places - 1, places[:1]):
        with pytest.raises(RuntimeError):
            ours(x, wrong)
    torch.testing.assert_close(ours(x, places), torch.nn.functional.max_unpool2d(x, places, [2, 2]) * 2)
