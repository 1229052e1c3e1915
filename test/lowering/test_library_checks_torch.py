"""What PyTorch's library has around its ops, natively: checks of sizes in loops, messages that are put together, sizes that the run knows."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


def agree(program, calls):
    """All calls agree; those after the first version was compiled for sizes as symbols are native."""
    ours = from_torchscript(torch.jit.script(program))
    for args in calls:
        got, want = ours(*args), program(*args)
        for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,), strict=True):
            torch.testing.assert_close(g, w, rtol=1e-5, atol=1e-5)
    assert "dynamic" in [v.speculation.kind for v in ours.versions] and ours.stats().hits >= len(calls) - 2 - ours.stats().misses, ours.explain()
    return ours


def test_diagonals_that_the_run_computes():
    def program(x, k: int):
        return torch.tril(x, k), torch.triu(x, x.size(0) - k)

    calls = [(4, 0), (4, 0), (5, 0), (5, 1), (6, 9), (6, -9), (7, 3), (7, -2)]
    agree(program, [(torch.randn(n, n + 1), k) for n, k in calls])


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_groups_of_any_size(rank):
    def program(x, w, b):
        return F.group_norm(x, 2, w, b), F.group_norm(x, 4)

    more = (3, 2)[: max(0, rank - 3)]
    agree(program, [(torch.randn(n, 4, *([n + 1] if rank > 2 else []), *more), torch.randn(4), torch.randn(4)) for n in (3, 3, 4, 5, 6, 2)])


def test_an_exception_with_a_message_of_many_parts_costs_no_native_code():
    def program(x):
        if x.size(0) > 6:
            raise ValueError("too long: " + str(x.size(0)) + " of " + str(x.shape[1] + 5))
        return torch.tanh(x) * 2

    ours = agree(program, [(torch.randn(n, 3),) for n in (2, 2, 3, 4, 5)])
    with pytest.raises(ValueError, match=r"too long: 7 of 8"):
        ours(torch.randn(7, 3))
    before = ours.stats()
    ours(torch.randn(6, 3))
    assert ours.stats().hits == before.hits + 1


def test_items_of_sizes_at_a_position_that_the_run_knows():
    def program(x, k: int):
        size = x.size()
        found = 1
        for i in range(k):
            found = found * 10 + size[i - 1]
        return x * found

    ours = agree(program, [(torch.ones(n, 3, n + 1), 2) for n in (2, 2, 4, 5, 6)])
    torch.testing.assert_close(ours(torch.ones(2, 3, 4), 3), program(torch.ones(2, 3, 4), 3))
    with pytest.raises(IndexError):
        ours(torch.ones(2, 3, 4), 5)
