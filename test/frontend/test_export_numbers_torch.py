"""Numbers in exported programs, and in programs of torch.compile: sizes, items and bools, whose values and dtypes are eager's."""

from __future__ import annotations

import io
import math

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing
from torch.export import Dim, export, load, save  # noqa: E402

from tierup.torch import from_export  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")]


def of_sizes(x):
    n, s = x.shape[0], x.sum()
    pads = x.new_zeros(-(-n // 4)), x[: n - n % 4], torch.zeros(n**2)
    scaled = s * n**3, s * n**0.5, s * n**-1.0, s * (n / 3), s * -n, s * abs(n - 8)
    return *pads, *scaled, s * math.ceil(n / 2), s * math.floor(n / 2), s * torch.sym_sum([n, 3, n, x.shape[1]]), s * max(n, 5), s * torch.sym_min(n, 7)


def of_a_float(x):
    n = x.sum().item()
    return -n, n**2, n * 2 + 1, math.ceil(n), math.floor(n), n <= 1.5, torch.sym_max(n, 1.5), torch.sym_min(n, 0.5), x * n


def of_ints(i):
    n, m = i.sum().item(), i[0].item()
    both = (n > 3) & (m > 1), (n > 3) | (m > 1), torch.sym_not(n > 3)
    return *both, torch.sym_float(n) * 2, n**2, math.ceil(n / 2), n // 2, n % 3, i.any().item()


def with_bools(x):
    y = x > 0
    of_floats = x * True, x + True, torch.where(y, x, False), x.pow(True), x.masked_fill(y, True), x.clamp(min=False), x / True
    of_bools = y * True, y + False, torch.where(y, y, True), torch.where(y, False, True), y & True, torch.full((2,), True)
    return *of_floats, *of_bools, x.int() * True, y == True, torch.full_like(x, True)  # noqa: E712 - the op


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


OPEN = ({0: Dim.DYNAMIC},)
ROWS = [  # a program, the calls' arguments, whether dim 0 is open
    (of_sizes, [torch.randn(n, 4) for n in (6, 6, 5, 9)], OPEN),
    (of_a_float, [torch.tensor([a, 0.3, 1.0]) for a in (2.0, 2.0, -3.0)], None),
    (of_ints, [torch.tensor(a) for a in ([1, 2], [1, 2], [3, 2], [0, 0])], None),
    (with_bools, [torch.randn(3, 2) for _ in range(3)], None),
]


@pytest.mark.parametrize(("program", "calls", "sizes"), ROWS, ids=[program.__name__ for program, *_ in ROWS])
def test_numbers_are_those_of_eager(program, calls, sizes):
    ours = from_export(export(Calls(program), (calls[0],), dynamic_shapes=sizes))
    for x in calls:
        torch.testing.assert_close(ours(x), program(x))
    assert ours.stats().hits > 0, ours.explain()


def test_bools_among_numbers_have_gradients():
    x = torch.randn(3, 2, requires_grad=True)
    ours = from_export(export(Calls(with_bools), (x,)))
    compiled = torch.compile(with_bools, backend="tierup")
    found = [torch.autograd.grad(sum(v.sum() for v in program(x)[:7]), x)[0] for program in (with_bools, ours, compiled)]
    torch.testing.assert_close(found[1:], [found[0]] * 2)


def halves(x):
    return x.sum() * int(x.shape[0] / 2)  # tracing takes it for 3


def test_what_tracing_took_for_granted_is_checked():
    exported, stored = export(Calls(halves), (torch.ones(6, 2),), dynamic_shapes=OPEN), io.BytesIO()
    save(exported, stored)
    stored.seek(0)
    for program in (exported, load(stored)):
        ours = from_export(program)
        for _ in range(2):
            assert ours(torch.ones(7, 2)) == 14 * 3
            with pytest.raises(ValueError, match=r"exported for other sizes: .*trunc\(x\.size\(\)\[0\] / 2\) == 3"):
                ours(torch.ones(5, 2))
