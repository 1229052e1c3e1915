"""Lists of a TorchScript program of which is known what is in them once the sizes and numbers among the arguments are: parts of tensors, and what
loops and branches append."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402 - it may be missing
from torch import Tensor  # noqa: E402

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


CHANGED = {
    "removed": "l = [5, 3, 5]\n    l.remove(5)\n    return x * l[0] + len(l)",
    "removed twice": "l = [5, 3, 5]\n    l.remove(5)\n    l.remove(5)\n    return x * l[0] + len(l)",
    "cleared": "l = [x, x * 2]\n    l.clear()\n    l.append(x + 1)\n    return l[0] * len(l)",
    "copied": "l = [x, x + 1]\n    m = l.copy()\n    m.append(x * 2)\n    return torch.cat(m) * len(l)",
    "found": "l = [5, 3, 8]\n    return x * l.index(8)", "added up": "l = [1.5, 2.5]\n    return x * sum(l)",
}  # fmt: skip


@pytest.mark.parametrize("kind", CHANGED)
def test_lists_that_are_known_are_changed_and_asked_in_native_code(kind):
    program = torch.jit.CompilationUnit(f"def program(x):\n    {CHANGED[kind]}\n").program
    ours = from_torchscript(program)
    for _ in range(3):
        torch.testing.assert_close(ours(torch.ones(2)), program(torch.ones(2)))
        x = torch.ones(2, requires_grad=True)
        (found,), (expected,) = (torch.autograd.grad(p(x).sum(), x) for p in (ours, program))
        torch.testing.assert_close(found, expected)
    assert ours.stats().hits > 0 and "0 by the original program" in ours.explain()


def test_what_is_removed_from_a_list_that_only_the_run_knows_is_for_the_run_to_say():
    text = "def program(x, n: int):\n    l = [n, 3, 5]\n    l.remove(3)\n    return x * l[0] + len(l)\n"
    ours = from_torchscript(torch.jit.CompilationUnit(text).program)
    for n, expected in ((7, 9.0), (3, 5.0), (3, 5.0), (7, 9.0)):
        assert ours(torch.ones(2), n).tolist() == [expected] * 2
    gone = from_torchscript(torch.jit.CompilationUnit("def program(x):\n    l = [1, 2]\n    l.remove(3)\n    return x * len(l)\n").program)
    for _ in range(3):
        with pytest.raises(ValueError, match="remove"):
            gone(torch.ones(2))


def agree(program, *calls, native=True):
    """Each call three times, beside PyTorch's; `native`: the last of each was a hit."""
    scripted = torch.jit.script(program)
    ours = from_torchscript(scripted)
    with torch.no_grad():
        for given in calls:
            for _ in range(3):
                hits = ours.stats().hits
                theirs = [a.clone() if isinstance(a, Tensor) else a for a in given]
                got, wanted = ours(*given), scripted(*theirs)
                assert type(got) is type(wanted)
                torch.testing.assert_close((got, given), (wanted, tuple(theirs)))
            assert not native or ours.stats().hits == hits + 1, ours.explain()
    return ours


def parts(x: Tensor):
    return x.split(2, 1), torch.unbind(x, 0)


def named(x: Tensor):
    return {"chunks": x.chunk(2, 1), "rest": [x]}, x.tensor_split(2, 0)


def squares(n: int):
    return [i * i for i in range(n)]


def rows(x: Tensor):
    return [row * 2 for row in x.unbind(0)]


def multiples(x: Tensor, n: int):
    found: list[Tensor] = []
    for i in range(n):
        found.append(x * i)
    return found


def every_other(x: Tensor):
    found: list[Tensor] = []
    for i in range(x.size(0)):
        if i % 2 == 0:
            found.append(x[i] + len(found))
    return found, len(found)


def with_factors(x: Tensor):
    factors = [0.5 for _ in range(x.dim())]
    for factor in factors:
        x = x * factor
    return x + factors[-1]


def of_lists(x: Tensor):
    all_ = [x, x + 1, x * 2]
    more = all_[1:] + [x]
    more.append(x - 1)
    return more, torch.cat([x] * 2), sorted([3, 1, 2]), [1, 2][::-1]


def resized(x: Tensor):
    image = x[None, None]
    return F.interpolate(image, scale_factor=2.0), F.interpolate(image, scale_factor=[1.5, 0.7], mode="bilinear", align_corners=False)


def numbers(x: Tensor):
    nested: list[list[float]] = x.tolist()
    flat: list[int] = x[0].long().tolist()
    one: bool = (x[0, 0] > 1).tolist()
    return nested, flat, one


X = torch.arange(12.0).view(3, 4)


@pytest.mark.parametrize(
    "program, calls",
    [
        (parts, [(X,), (X[:2],), (X[:, :3].contiguous(),)]), (named, [(X,)]), (squares, [(3,), (0,), (5,)]), (rows, [(X,), (X[:1],)]),
        (multiples, [(X, 3), (X, 0), (X[:2], 2)]), (every_other, [(X,), (X.t().contiguous(),)]), (with_factors, [(X,), (X[0],)]), (of_lists, [(X,)]),
        (resized, [(X,)]), (numbers, [(X,), (X[:, :1].contiguous().double(),)]),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)  # fmt: skip
def test_lists_whose_items_are_known_are_native(program, calls):
    agree(program, *calls)


def test_parts_that_a_program_gives_are_views_of_its_argument():
    ours = from_torchscript(torch.jit.script(parts))
    for _ in range(4):
        x = X.clone()
        ours(x)[0][1].zero_()
        assert x[:, 2:].sum() == 0 and x[:, :2].sum() != 0
    assert ours.stats().hits == 3


def test_any_number_of_sizes_is_right():
    """There are graphs for some sizes, and one for all others."""
    ours = agree(rows, *((torch.rand(n, 2),) for n in range(1, 9)), native=False)
    assert 2 <= len(ours._others) + 1 <= 5
    agree(multiples, *((X, n) for n in range(8)), native=False)


def two_names(x: Tensor):
    found = x.unbind(0)
    other = found
    other.append(x[0])
    return found, other


def two_names_of_a_branch(x: Tensor, flag: bool):
    if flag:
        kept: list[float] = []
        for i in range(2):
            kept.append(float(i))
    else:
        kept = [5.0]
    other = kept
    other.append(3.0)
    return kept, x + len(kept)


def until_it_is_large(x: Tensor):
    found: list[Tensor] = []
    while bool(x.sum() < 500):
        found.append(x)
        x = x * 2 + 1
    return found


def left_early(x: Tensor, n: int):
    found: list[int] = []
    for i in range(n):
        if bool(x[i, 0] > 3):
            break
        found.append(i)
    return found, x + 1


def some_rows(x: Tensor):
    found: list[Tensor] = []
    for i in range(x.size(0)):
        if bool(x[i].sum() > 10):
            found.append(x[i] * 2)
    return found


def in_one_another(x: Tensor, n: int):
    found: list[list[Tensor]] = []
    for i in range(2):
        row: list[Tensor] = []
        for j in range(n):
            row.append(x[i] * j)
        found.append(row)
    return found


def read_while_it_grows(n: int):
    found = [1, 1]
    for i in range(n):
        found.append(found[i] + found[-1])
    return found


def too_long(x: Tensor):
    found: list[Tensor] = []
    for i in range(1000):
        found.append(x + i)
    return found[-1], len(found)


def of_another_dtype(x: Tensor):
    found: list[int] = x.tolist()
    return found


def emptied(x: Tensor, n: int):
    found: list[Tensor] = []
    for i in range(n):
        found.append(x + i)
    found.pop()
    found[0] = x
    return found


@pytest.mark.parametrize(
    "program, given",
    [
        (two_names, (X,)), (two_names_of_a_branch, (X, True)), (two_names_of_a_branch, (X, False)), (until_it_is_large, (X,)), (left_early, (X, 2)),
        (some_rows, (X,)), (in_one_another, (X, 2)), (read_while_it_grows, (4,)), (too_long, (X,)), (emptied, (X, 3)),
        (numbers, (torch.rand(20, 10),)),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)  # fmt: skip
def test_lists_that_only_the_run_knows_or_that_have_two_names_are_right(program, given):
    agree(program, given, native=False)


def test_numbers_of_another_type_than_the_program_states_are_refused():
    ours = from_torchscript(torch.jit.script(of_another_dtype))
    for given in (X[0].long(), X[0], X[0].long(), X.long()):
        if given.dtype == torch.int64 and given.dim() == 1:
            assert ours(given) == given.tolist()
        else:
            with pytest.raises(RuntimeError):
                ours(given)


def test_a_flag_decides_which_path_a_graph_is_for():
    """By the flags of the call, or their defaults: results of several ranks, or none, are native."""

    def program(x: Tensor, weighted: bool = True, averaged: bool = False):
        found = torch.softmax(x, 1)
        if not weighted and not averaged:
            return x + found, None
        return x + found, found.mean(1) if averaged else found

    ours, scripted = from_torchscript(torch.jit.script(program)), torch.jit.script(program)
    for flags in ((), (True, True), (False,), (False, True), ()):
        for _ in range(3):
            hits = ours.stats().hits
            (a, b), (c, d) = ours(X, *flags), scripted(X, *flags)
            torch.testing.assert_close(a, c)
            assert b is d is None or torch.equal(torch.isclose(b, d), torch.ones_like(d, dtype=torch.bool))
        assert ours.stats().hits == hits + 1 and ours.stats().versions == 1


def test_of_many_flags_some_graphs_are_for_what_they_are_and_one_for_all_others():
    def program(x: Tensor, a: bool, b: bool, c: bool, d: bool, e: bool):
        if a:
            x = x + 1
        if b:
            x = x * 2
        if c:
            x = x - 3
        if d:
            x = x.abs()
        if e:
            x = -x
        return x

    ours, scripted = from_torchscript(torch.jit.script(program)), torch.jit.script(program)
    every = list(itertools.product([False, True], repeat=5))
    for flags in every * 2:
        torch.testing.assert_close(ours(X, *flags), scripted(X, *flags))
    before = more_graphs(ours)
    for flags in every:
        torch.testing.assert_close(ours(X, *flags), scripted(X, *flags))
    assert before == more_graphs(ours) == 16 + 8 - 1  # for all five flags, and for the first four


def more_graphs(ours: Any) -> int:
    found = re.search(r"(\d+) graphs more, for other", ours.explain())
    assert found
    return int(found[1])


def test_attention_with_its_flags_is_native():
    torch.manual_seed(0)
    layer = torch.nn.MultiheadAttention(8, 2).eval()
    ours, x = from_torchscript(torch.jit.script(layer)), torch.randn(5, 2, 8)
    with torch.no_grad():
        for flags in ({}, {"need_weights": False}):
            for _ in range(3):
                hits = ours.stats().hits
                torch.testing.assert_close(ours(x, x, x, **flags), layer(x, x, x, **flags))
            assert ours.stats().hits == hits + 1 and "native" in ours.explain()


def test_parts_have_gradients():
    def program(x: Tensor):
        a = [row * row for row in x.unbind(0)]
        return a, x.chunk(2, 1)

    ours = from_torchscript(torch.jit.script(program))
    for _ in range(3):
        x, y = X.clone().requires_grad_(), X.clone().requires_grad_()
        for f, of in ((ours, x), (program, y)):
            rows, chunks = f(of)
            (rows[0].sum() + 3 * rows[2].sum() + (chunks[1] * 5).sum()).backward()
        torch.testing.assert_close(x.grad, y.grad)
