"""Writes to memory that shows an element more than once, or that the op reads as well: as eager takes or refuses them, in every tier."""

from collections.abc import Callable
from typing import Any

import pytest
from sampling import drawn

torch = pytest.importorskip("torch")
import tierup  # noqa: E402 - behind the test for PyTorch

pytestmark = pytest.mark.torch
Tensor = torch.Tensor


def part_of_expanded(x: Tensor):
    x.expand(3, 4).select(0, 1).mul_(2)
    return x


def expanded(x: Tensor):
    x.expand(3, 4).mul_(2)
    return x


def filled(x: Tensor):
    v = x.expand(3, 4)
    v[0] = 1
    return x, v


def masked(x: Tensor):
    v = x.expand(2, 4)
    v.masked_fill_(torch.tensor([[True, False, False, False], [False, True, False, False]]), 9.0)
    return x


def triangles(x: Tensor):
    """Some of the elements that one memory shows are zeroed, others stay."""
    rows, more = x[None].expand(3, x.size(0)), x.as_strided([3, 2], [1, 1])
    rows.triu_(1)
    more.tril_()
    return x, rows


def clipped(x: Tensor):
    v = torch.nn.functional.threshold(x[None].expand(3, x.size(0)), 0.1, 0.05, inplace=True)
    return x, v.tril_(-1)


def shifted(x: Tensor):
    x[1:].copy_(x[:-1])
    return x


def added_to_neighbours(x: Tensor):
    x[1:].add_(x[:-1])
    return x


def halves(x: Tensor):
    x[:2].add_(x[2:]), x[3].mul_(x[0])
    return x


def itself(x: Tensor):
    x.add_(x)
    return x


def scattered_into_itself(x: Tensor):
    x.scatter_(0, torch.tensor([1, 0]), x)
    return x


def columns(x: Tensor):
    m = x.view(2, 2)
    m[:, 1:].add_(m[:, :1])
    return x


def transposed(x: Tensor):
    m = x.view(2, 2)
    m.add_(m.t())
    return x


def viewed_after_a_write(x: Tensor):
    m = x.view(2, 2)[:, :1]
    m += m
    m.view(-1).add_(1)
    return x


def viewed_argument(y: Tensor):
    y += y
    y.view(-1).add_(1)
    return y


def trained(y: Tensor, w: Tensor):
    y += y
    y.view(-1).add_(1)
    return y * w


def one() -> Tensor:
    return torch.arange(4.0)


def rows_apart() -> Tensor:
    return torch.arange(12.0).reshape(6, 2)[::2]


PROGRAMS: list[tuple[Callable[..., Any], Callable[[], tuple[Tensor, ...]]]] = [
    *[(f, lambda: (one(),)) for f in (part_of_expanded, expanded, filled, masked, triangles, clipped, shifted, added_to_neighbours, halves, itself)],
    *[(f, lambda: (one(),)) for f in (scattered_into_itself, columns, transposed, viewed_after_a_write)],
    (itself, lambda: (one().expand(2, 4),)),
    (viewed_argument, lambda: (rows_apart(),)),
    (viewed_argument, lambda: (one().view(2, 2).t(),)),
    (trained, lambda: (rows_apart(), torch.ones(2, requires_grad=True))),
]
WAYS: list[dict[str, Any]] = [{}, {"speculate": "bailout"}, {"executor": "specializing"}, {"optimize": False}]


def outcome(f: Callable[..., Any], arguments: tuple[Tensor, ...]) -> Any:
    try:
        found = f(*arguments)
    except Exception as e:
        return type(e)
    results = found if isinstance(found, tuple) else (found,)
    return [(t.tolist(), t.stride()) for t in (*results, *arguments)]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize(("program", "make"), drawn("written memory", PROGRAMS, 12, lambda case: case[0].__name__))
def test_what_is_written_and_what_is_refused_is_as_in_eager_in_every_call(
    program: Callable[..., Any], make: Callable[[], tuple[Tensor, ...]], way: dict[str, Any]
) -> None:
    f = tierup.torch.from_torchscript(torch.jit.script(program), **way)
    expected = outcome(program, make())
    assert [outcome(f, make()) for _ in range(3)] == [expected] * 3


def test_parts_that_are_surely_apart_stay_native() -> None:
    f = tierup.torch.from_torchscript(torch.jit.script(halves))
    for _ in range(3):
        assert f(one()).tolist() == halves(one()).tolist()
    assert f.stats().hits == 2
