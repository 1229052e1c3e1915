"""Views of what is made of parts and of permuted tensors: native where strides allow them whatever they are, eager's exception where not."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tierup.torch import from_torchscript  # noqa: E402 - it may be missing

pytestmark = pytest.mark.torch


def shuffled_channels(x):
    a, b = x.chunk(2, 1)
    y = torch.cat([a, b.tanh()], 1)
    return y.view(y.size(0), 2, -1, y.size(2), y.size(3)).transpose(1, 2).contiguous().view(y.shape) + 1


def stacked_parts(x):
    return torch.stack([x[:, 1:], x[:, :-1].exp()], 1).view(-1) * 2


def scaled_part(x):
    return (x[:, :, 1:] * 2).view(x.size(0), -1).tanh()


def heads(x):
    y = x.permute(1, 0, 2, 3) * 2
    return y.view(2, 2, y.size(1), y.size(2), y.size(3)).tanh(), y.view(4, y.size(1), 1, y.size(2), y.size(3)) + 1


def masks_of_a_permuted(x):
    m = x.permute(3, 0, 1, 2).new_zeros((4, 6))
    m[:2, 3:] = 1
    return x.new_full((4, 6), 2.0).view(2, 2, 6) + m.view(2, 2, 6)


def merged_permuted(x):
    return (x.permute(1, 0, 2, 3) * 2).view(-1)


def merged_part(x):
    return x[:, 1:].view(-1) + 1


def filled_part(x):
    y = (x * 2)[:, 1:]
    y.fill_(3.0)
    return y.view(-1) + 1


def zeroed_part(x):
    y = (x * 2)[:, 1:]
    y.zero_()
    return y.view(-1) + 1


def copied_part(x):
    y = (x * 2)[:, 1:]
    y.copy_(x[:, :-1])
    return y.view(-1) + 1


def multiplied_part(x):
    y = (x * 2)[:, 1:]
    y.mul_(3)
    return y.view(-1) + 1


def joined_permuted(x):
    y = x.permute(0, 2, 3, 1)
    return torch.cat([y, y]).view(-1) + 1


NATIVE = [shuffled_channels, stacked_parts, scaled_part, heads, masks_of_a_permuted]
OTHERS = [merged_permuted, merged_part, filled_part, zeroed_part, copied_part, multiplied_part, joined_permuted]


@pytest.mark.parametrize("f", NATIVE + OTHERS, ids=lambda f: f.__name__)
def test_views_of_parts_and_permuted_tensors_are_eagers(f):
    ours = from_torchscript(torch.jit.script(f))
    for sizes in [(2, 4, 3, 5)] * 3 + [(3, 4, 2, 2)] * 2 + [(5, 4, 1, 1)] * 2 + [(1, 4, 3, 2)] * 2:
        x = torch.randn(sizes)
        try:
            wanted = f(x)
        except RuntimeError as e:
            with pytest.raises(type(e)):
                ours(x)
        else:
            torch.testing.assert_close(ours(x), wanted)
    assert f not in NATIVE or (ours.stats().hits > 3 and "need not be row-major" not in ours.explain()), ours.explain()
