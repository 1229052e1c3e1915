"""Views of parts of a tensor: native where PyTorch has them for every stride, tier 0's to raise where it has not."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


def heads(x):
    q, k, v = (x * 1).split(x.size(2) // 3, 2)
    return q.view(x.size(0), x.size(1), 2, -1) + 1, k.view(x.size(0), x.size(1), 2, -1).transpose(1, 2) * 2, v.tanh()


def chunks_of_rows(x):
    a, b = (x * 1).chunk(2, 1)
    return a.view(x.size(0), -1) + b.reshape(x.size(0), -1)


def picked(x):
    y = (x * 1)[:, 1]
    return y.view(x.size(0), 3, -1) + 1


def narrowed(x):
    y = (x * 1)[:, :2]
    return y.view(x.size(0), 2, 3, -1)[:, :, 1] * 2


def expanded(x):
    y = x * 1
    wide = y.expand(2, -1)
    y.fill_(7)
    return x.expand(2, -1), wide


@pytest.mark.parametrize("program", [heads, picked, narrowed, chunks_of_rows], ids=lambda f: f.__name__)
def test_views_that_leave_what_is_before_the_gap_are_native(program):
    ours = from_torchscript(torch.jit.script(program))
    for n in (2, 2, 3, 4, 5, 2):
        x = torch.randn(n, 4, 12)
        for got, want in zip(ours(x), program(x), strict=True):
            torch.testing.assert_close(got, want)
    assert ours.stats().hits >= 4 and ours.stats().interpreted == 0, ours.explain()


def merged(x):
    return (x * 1)[:, :2].view(-1, x.size(2)) + 1


def merged_pieces(x):
    a, _ = (x * 1).split(6, 2)
    return a.view(x.size(0), -1) + 1


def permuted_first(x):
    a, _ = (x * 1).transpose(0, 1).split(6, 2)
    return a.view(x.size(1), x.size(0), 2, 3) + 1


def permuted_then(x):
    a, _ = (x * 1).split(6, 2)
    return a.transpose(0, 1).view(x.size(1), -1) + 1


@pytest.mark.parametrize("program", [merged, merged_pieces, permuted_then], ids=lambda f: f.__name__)
def test_views_over_a_gap_raise_as_in_pytorch(program):
    ours, x = from_torchscript(torch.jit.script(program)), torch.randn(3, 4, 12)
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        program(x)
    for _ in range(3):
        with pytest.raises((ValueError, RuntimeError)):
            ours(x)


def test_a_part_of_what_is_permuted_is_left_to_tier_0():
    ours, x = from_torchscript(torch.jit.script(permuted_first)), torch.randn(3, 4, 12)
    for _ in range(3):
        torch.testing.assert_close(ours(x), permuted_first(x))


def test_loops_carry_parts_whose_gaps_differ():
    def program(x, n: int):
        y = x * 1
        part = y[:, :2]
        for i in range(n):
            part = part.view(x.size(0), 2, -1)
            part = (y[:, 1:3] * 1)[:, :2]
        return part + 1

    ours, x = from_torchscript(torch.jit.script(program)), torch.randn(3, 4, 12)
    for n in (0, 1, 1, 2, 2):
        torch.testing.assert_close(ours(x, n), program(x, n))


def test_an_expanded_result_is_a_view_in_every_call():
    ours = from_torchscript(torch.jit.script(expanded))
    for n in (3, 3, 3, 4):
        x = torch.randn(n)
        wide, written = ours(x)
        assert (wide.data_ptr(), wide.stride()) == (x.data_ptr(), (0, 1))
        x.add_(1)
        assert wide.tolist() == [x.tolist()] * 2 and written.tolist() == [[7] * n] * 2


def appended(x, n: int):
    items: list[torch.Tensor] = []
    for i in range(3):
        items.append(x)
    return items[-1], x * 2


def rows(x, n: int):
    v = x + 1
    items: list[torch.Tensor] = []
    for i in range(3):
        items.append(v[i])
    return v, items[n], v.unbind(0)[1]


def appended_last(x, n: int):
    v = x + 1
    items: list[torch.Tensor] = []
    for i in range(3):
        v = v * 2
        items.append(v)
    return v, items[-1], torch.stack(items)


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize("program", [appended, rows, appended_last], ids=lambda f: f.__name__)
def test_what_comes_out_of_a_list_shares_memory_in_every_call(program, gradient):
    ours = from_torchscript(torch.jit.script(program))
    for n in (1, 1, 1, 2):
        x, y = (torch.ones(3, 4, requires_grad=gradient) for _ in range(2))
        got, want = ours(x, n), program(y, n)
        for results in (got, want):
            results[1].detach().mul_(5)
            results[0].detach()[1] = 7
        for a, b in zip((x, *got), (y, *want), strict=True):
            torch.testing.assert_close(a.detach(), b.detach())


@torch.jit.script
def laid_out_anew(x):
    y = x.t()
    rows = [torch.cumsum(y, 0).view(-1), torch.cumprod(y, 1).view(-1), torch.cat([y, y], 1).view(-1), torch.stack([y, y]).view(-1)]
    return rows, torch.softmax(y, 0).view(-1), torch.log_softmax(y, 1).view(-1), torch.roll(y, 1, 0).view(-1)


def test_what_pytorch_lays_out_in_rows_may_be_viewed_as_one():
    ours, x = from_torchscript(laid_out_anew), torch.arange(6.0).reshape(2, 3)
    for _ in range(3):
        torch.testing.assert_close(ours(x), laid_out_anew(x))


def windows(x):  # of an image, as in Swin
    parts = x.view(2, 4, 3, 4).permute(0, 2, 1, 3).reshape(6, 16)
    apart = parts.unsqueeze(1) - parts.unsqueeze(2)
    return (apart.unsqueeze(0) + torch.ones(2, 6, 16, 16)).view(12, 16, 16)


def laid_out_as_before(x):  # strides allow a view: what is permuted stays so
    return torch.tanh(x.t().reshape(2, 6, 8)).view(-1)


def test_what_a_reshape_has_to_copy_is_row_major():
    ours, x = from_torchscript(torch.jit.script(windows)), torch.randn(8, 12)
    for _ in range(3):
        torch.testing.assert_close(ours(x), windows(x))
    assert ours.stats().hits == 2, ours.explain()
    ours = from_torchscript(torch.jit.script(laid_out_as_before))
    for _ in range(3):
        for f in (laid_out_as_before, ours):
            with pytest.raises(RuntimeError, match="view"):
                f(x)
