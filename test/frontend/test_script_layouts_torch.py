"""Fresh results of programs from TorchScript have the strides that eager's have, in every tier and under every entry."""

from collections.abc import Callable
from typing import Any

import pytest
from sampling import drawn

torch = pytest.importorskip("torch")
import tierup  # noqa: E402 - behind the test for PyTorch

pytestmark = pytest.mark.torch
Tensor = torch.Tensor


def relu(x: Tensor):
    return torch.relu(x.transpose(1, 2)).exp()


def several(x: Tensor):
    y = x.permute(2, 0, 1)
    return y + y, x.transpose(0, 1) + x.transpose(0, 1)[0], y > 0, y.to(torch.float64), x * 2


def mixed(x: Tensor):
    return x.transpose(1, 2) * x[0, 0, 0], torch.where(x > 0, x, 0.0).transpose(0, 2) + x.transpose(0, 2)[0]


def copied(x: Tensor):
    return x.transpose(1, 2).clone(), x.transpose(1, 2).flip(0), x.transpose(1, 2).contiguous() + 1


def multiplied(x: Tensor):
    return torch.matmul(x, x.transpose(1, 2)).transpose(0, 1).exp(), x.transpose(1, 2).sum(0) * 2


def viewed(x: Tensor):
    return x.transpose(1, 2).tanh().view(-1)


def reduced(x: Tensor):
    y = x.permute(2, 0, 1)
    return y.mean(1), y.amax(0), y.var(1), y.logsumexp(1), (y > 0).any(1)


def normalised(x: Tensor):
    y = x.transpose(0, 1)
    return torch.nn.functional.layer_norm(x.transpose(1, 2), (x.size(1),)), torch.softmax(y, 0)


def disagreeing(x: Tensor):
    y = x.transpose(1, 2)
    other = torch.ones(y.size(0), y.size(1), y.size(2))
    return y + other, torch.zeros_like(y), y.sort(1)[0], y.argsort(1)


def moved(x: Tensor):
    y = x.transpose(1, 2)
    return y.tril(), y.gather(1, torch.zeros_like(y, dtype=torch.long)), torch.nn.functional.interpolate(x[None], scale_factor=2.0)


def in_rows(x: Tensor):
    y = x.transpose(1, 2)
    return torch.nn.functional.logsigmoid(y).view(-1), y.repeat(1, 1, 1).view(-1), torch.nn.functional.one_hot((y > 0).long()).view(-1), y.clone(memory_format=torch.contiguous_format), (y + 1).contiguous()


def channels_last(x: Tensor):
    y = x[None].clone(memory_format=torch.channels_last)
    return y, y.relu(), torch.zeros_like(x[None], memory_format=torch.channels_last), x[None].to(torch.float64, memory_format=torch.channels_last) + 1


def written(x: Tensor):
    """A copy in another format is not the operand; one in the format that the operand has is."""
    y = x[None].contiguous(memory_format=torch.channels_last)
    y.add_(1)
    z = y.contiguous(memory_format=torch.channels_last)
    z.mul_(2)
    flat = x.transpose(0, 1).ravel()
    flat.mul_(3)
    return x * 1, y * 1, flat


PROGRAMS = [in_rows, channels_last, written, relu, several, mixed, copied, multiplied, viewed, reduced, normalised, disagreeing, moved]
WAYS: list[dict[str, Any]] = [{}, {"entry": "python"}, {"speculate": "bailout"}, {"executor": "specializing"}]


def outcome(f: Callable[[Tensor], Any], x: Tensor) -> Any:
    """Values and strides; None where it raises."""
    try:
        found = f(x)
    except RuntimeError:
        return None, []
    tensors = found if isinstance(found, tuple) else (found,)
    return tensors, [(t.shape, t.stride(), t.dtype) for t in tensors]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("program", drawn("layouts of scripts", PROGRAMS, 5, lambda f: f.__name__ in ("written", "in_rows")))
def test_strides_are_eagers_in_every_call(program: Callable[[Tensor], Any], way: dict[str, Any]) -> None:
    f = tierup.torch.from_torchscript(torch.jit.script(program), **way)
    for shape in [(2, 4, 8)] * 3 + [(3, 5, 7)] * 2 + [(4, 6, 9)] * 2:  # the last are of a version with symbols for sizes
        x = torch.randn(shape)
        (ours, described), (theirs, expected) = outcome(f, x), outcome(program, x)
        assert described == expected
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("gradient", [False, True])
def test_a_permuted_result_is_native(gradient: bool) -> None:
    f = tierup.torch.from_torchscript(torch.jit.script(relu))
    x = torch.randn(2, 4, 8, requires_grad=gradient)
    for _ in range(4):
        assert f(x).stride() == (32, 1, 8)
    assert gradient or f.stats().hits == 3


def normalised_and_viewed(x: Tensor):
    y = torch.nn.functional.layer_norm(x.permute(0, 2, 1), [x.size(1)])
    return torch.nn.functional.pad(y, (0, 0, 0, 1)).view(x.size(0), -1)


def test_a_view_of_a_layer_norm_of_permuted_dims_is_native() -> None:
    f = tierup.torch.from_torchscript(torch.jit.script(normalised_and_viewed))
    for size in (3, 3, 3, 4, 5):
        x = torch.randn(2, 4, size)
        torch.testing.assert_close(f(x), normalised_and_viewed(x))
    assert f.stats().hits == 3, f.explain()


def marked(x: Tensor):
    mask = x.new_zeros((4, 4))
    for h in ((0, -2), (-2, -1)):
        for w in ((0, -2), (-2, -1)):
            mask[h[0] : h[1], w[0] : w[1]] = x[0]
    return mask.view(-1) * 2


def test_a_view_of_what_was_written_in_parts_is_native() -> None:
    f = tierup.torch.from_torchscript(torch.jit.script(marked))
    for _ in range(3):
        x = torch.randn(3)
        torch.testing.assert_close(f(x), marked(x))
    assert f.stats().hits == 2, f.explain()


def positions(x: Tensor) -> Tensor:
    return torch.nonzero(x).view(-1)


def test_a_view_of_positions_raises_as_in_eager_whatever_came_before() -> None:
    """They lie an axis after another: of one element there is such a view, of two there is none."""
    f = tierup.torch.from_torchscript(torch.jit.script(positions))
    one, two = torch.tensor([[0.0, 0, 3], [0, 0, 0]]), torch.tensor([[0.0, 2, 3], [0, 0, 0]])
    for x in (one, one, one, two, two, one):
        if x is one:
            assert torch.equal(f(x), positions(x))
            continue
        for call in (positions, f):
            with pytest.raises(RuntimeError, match="view size is not compatible"):
                call(x)


def written_through_a_view(x: Tensor):
    a = x * 2
    b = a.transpose(1, 2)
    b.add_(1)
    return a, b


def written_in_part(x: Tensor):
    a = x * 2
    b = a.permute(2, 0, 1)
    b[0] = 0
    b[:, 1:] += 1
    return a, b, torch.relu(b).exp()


def viewed_and_read(x: Tensor):
    a = x * 2
    b = a.transpose(1, 2)
    return a, b, a[0], torch.exp(b + 1), torch.exp(a[0] + 1)


@pytest.mark.parametrize("program", [written_through_a_view, written_in_part, viewed_and_read])
def test_results_that_share_memory_have_eagers_strides_around_a_native_region(program: Callable[[Tensor], Any]) -> None:
    f = tierup.torch.from_torchscript(torch.jit.script(program))
    for _ in range(3):
        x = torch.randn(2, 3, 4)
        (ours, described), (theirs, expected) = outcome(f, x), outcome(program, x)
        assert described == expected
        torch.testing.assert_close(ours, theirs)
        ours[0].fill_(7)
        assert bool((ours[1] == 7).all())
    assert f.stats().hits == 1, f.explain()
