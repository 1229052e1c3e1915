"""Calls with tensors: which of them reach native code without a line of Python, and what the others give."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing

import tierup  # noqa: E402
from tierup.lowering.entry.records import SlowCause  # noqa: E402
from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


@torch.jit.script
def muladd(x, y, z):
    return x * y + z


def table(ours):
    """The native table behind a function; there is one."""
    (found,) = ours._function._tables.values()
    return found.table


def directly(ours, *args, **kwargs):
    """The result, and whether native code gave it without Python; None for the cause where Python was asked first."""
    before = table(ours).counts()
    result = ours(*args, **kwargs)
    after = table(ours).counts()
    causes = [cause for cause in SlowCause if after.slow[cause] > before.slow[cause]]
    return result, causes or (after.hits > before.hits)


def warm(program, *args, **options):
    ours = from_torchscript(program, **options)
    for _ in range(2):
        ours(*args)
    return ours


def test_plain_tensors_reach_native_code_directly():
    ours = warm(muladd, torch.ones(4), torch.ones(4), torch.ones(4))
    x, y, z = torch.randn(3, 4)
    result, how = directly(ours, x, y, z)
    assert how is True and type(result) is torch.Tensor
    torch.testing.assert_close(result, muladd(x, y, z))


def test_what_guards_refuse_is_answered_all_the_same():
    x, y, z = torch.randn(3, 4)
    ours = warm(muladd, x, y, z)
    wanted = x.clone().requires_grad_()
    negated = torch.complex(x, -y).conj().imag
    for args, causes in (
        ((wanted, y, z), [SlowCause.TENSORS]),
        ((x, negated, z), [SlowCause.TENSORS]),
        ((x.double(), y, z), [SlowCause.MISS]),
        ((x, y, torch.randn(2, 4)), [SlowCause.MISS]),
    ):
        result, how = directly(ours, *args)
        assert how == causes
        torch.testing.assert_close(result, muladd(*args))
        assert result.requires_grad == muladd(*args).requires_grad
    result, how = directly(ours, x, y, z=z)
    assert how is True
    torch.testing.assert_close(result, muladd(x, y, z))


def test_without_grad_mode_parameters_reach_native_code_directly():
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU())
    x = torch.randn(2, 4)
    with torch.no_grad():
        ours = warm(torch.jit.script(model), x)
        result, how = directly(ours, x)
        assert how is True
        torch.testing.assert_close(result, model(x))
    result, how = directly(ours, x)
    assert how == [SlowCause.TENSORS] and result.requires_grad
    with torch.inference_mode():
        result, how = directly(ours, x)
        assert how is True and result.is_inference()


class Weighted(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.arange(12.0).reshape(3, 4))

    def forward(self, x):
        return x * self.w + 1


CHANGES = {
    "written": lambda m: m.w.mul_(2),
    "replaced": lambda m: setattr(m, "w", nn.Parameter(torch.ones(3, 4))),
    "other strides on the same memory": lambda m: m.w.as_strided_((3, 4), (1, 3)),
    "other sizes on the same memory": lambda m: m.w.as_strided_((1, 4), (4, 1)),
    "other data": lambda m: setattr(m.w, "data", torch.full((3, 4), 7.0)),
    "other data on the same memory": lambda m: setattr(m.w, "data", m.w.data[:1]),
    "another dtype": lambda m: m.double(),
    "set": lambda m: m.w.set_(torch.zeros(3, 4)),
}


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("native", [True, False])
def test_a_parameter_that_changed_is_seen(name, native):
    scripted, x = torch.jit.script(Weighted()), torch.ones(3, 4)
    with torch.no_grad():
        ours = warm(scripted, x, optimize=native)
        CHANGES[name](scripted)
        for _ in range(3):
            torch.testing.assert_close(ours(x), scripted(x))
    assert (ours.stats().hits > 0) == native


def test_a_call_without_tensors_gives_tensors():
    @torch.jit.script
    def program(n: int):
        return torch.full([2, 2], n * 2)

    ours = warm(program, 3)
    for _ in range(2):
        result = ours(3)
        assert type(result) is torch.Tensor and torch.equal(result, program(3))


def test_an_argument_that_is_the_result_is_the_very_tensor():
    @torch.jit.script
    def program(x, y):
        return x, x + y

    x, y = torch.ones(3), torch.ones(3)
    ours = from_torchscript(program)
    for _ in range(3):
        assert ours(x, y)[0] is x
    assert directly(ours, x, y)[1] is True


def test_a_write_is_counted_by_pytorch():
    @torch.jit.script
    def program(x):
        x.add_(1)
        return x * 2

    ours = from_torchscript(program)
    x, w = torch.zeros(3), torch.ones(3, requires_grad=True)
    for i in range(3):
        version = x._version
        product = w * x  # PyTorch saves x for w's gradient
        ours(x)
        assert x.tolist() == [i + 1.0] * 3 and x._version > version
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.sum().backward()


def test_views_are_views():
    @torch.jit.script
    def program(x):
        return x[1:]

    ours = from_torchscript(program)
    x = torch.zeros(3)
    for i in range(3):
        ours(x).fill_(i)
        assert x.tolist() == [0, i, i]


def test_options_that_the_native_entry_does_not_look_at_are_honoured():
    x = torch.ones(4)
    ours = warm(muladd, x, x, x)
    with tierup.options(optimize=False):
        before = ours.stats().interpreted
        ours(x, x, x)
    assert ours.stats().hits == 1 and ours.stats().interpreted == before + 1


def test_after_reset_it_starts_again():
    x = torch.ones(4)
    ours = warm(muladd, x, x, x)
    ours.reset()
    for _ in range(2):
        assert ours(x, x, x).tolist() == [2, 2, 2, 2]
    assert directly(ours, x, x, x)[1] is True


def test_under_the_python_entry_tensors_come_back_too():
    x = torch.ones(4)
    ours = warm(muladd, x, x, x, entry="python")
    result = ours(x, x, x)
    assert type(result) is torch.Tensor and result.tolist() == [2, 2, 2, 2] and ours.stats().hits == 2
