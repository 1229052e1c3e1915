"""Objects of scripted classes that a program makes: the scripted program is the oracle, in results, in gradients and where objects have two names."""

from __future__ import annotations

from typing import List, Optional  # noqa: UP035 - what torch.jit.script reads

import pytest

torch = pytest.importorskip("torch")

from tierup.torch import from_torchscript  # noqa: E402 - it may be missing

pytestmark = pytest.mark.torch


@torch.jit.script
class Pair:
    def __init__(self, a: torch.Tensor, n: int):
        self.a = a
        self.n = n

    def __add__(self, other: Pair) -> Pair:
        return Pair(self.a + other.a, self.n + other.n)

    def grow(self, by: torch.Tensor) -> torch.Tensor:
        self.a = self.a * 2 + by
        self.n += 1
        return self.a


@torch.jit.script
class Last:
    def __init__(self):
        self.last = torch.jit.annotate(Optional[torch.Tensor], None)  # noqa: UP045

    def put(self, x: torch.Tensor):
        self.last = x


@torch.jit.script
class Holder:
    def __init__(self, pair: Pair):
        self.pair = pair
        self.seen = torch.jit.annotate(List[int], [])  # noqa: UP006


def methods(x):
    p = Pair(x, 1)
    y = p.grow(x) + p.grow(x)
    kept = Last()
    kept.put(y)
    last = kept.last
    assert last is not None
    return y * last, p.a, p.n


def goes_round_a_loop(x):
    p = Pair(x, 0)
    for i in range(4):
        p = p + Pair(x, i)
    return p.a, p.n


def set_in_a_loop(x):
    p = Pair(x, 0)
    for i in range(4):
        p.a = p.a * 1.5
        p.n += i
    return p.a, p.n


def set_in_a_branch(x):
    p = Pair(x, 1)
    if bool(x.sum() > 0):
        p.a = x + 100
    else:
        p.n = 50
    return p.a * 2, p.n


def leaves_a_branch(x):
    p = Pair(x, 1)
    if bool(x.sum() > 0):
        p = p + p
    return p.a * 2, p.n


def has_two_names(x):
    p = Pair(x, 1)
    q = p
    p.a = x + 5
    q.n = 7
    return q.a + p.a, p.n


def in_another(x):
    p = Pair(x, 1)
    h = Holder(p)
    h.pair.grow(x)
    p.n += 10
    h.seen.append(p.n)
    return h.pair.a + p.a, h.pair.n, h.seen


def in_another_set_in_a_loop(x):
    h = Holder(Pair(x, 1))
    for _ in range(3):
        h.pair.a = h.pair.a * 2
    return h.pair.a


def one_of_two_is_set(x):
    p, q = Pair(x, 1), Pair(x * 3, 2)
    r = p
    if bool(x.sum() > 0):
        r = q
    r.a = r.a + 1
    return p.a, q.a, r.a


def one_of_two_is_set_by_its_old_name(x):
    p, q = Pair(x, 1), Pair(x * 3, 2)
    r = p
    if bool(x.sum() > 0):
        r = q
    q.a = q.a + 1
    return p.a, q.a, r.a


def set_before_it_goes_round(x):
    p = Pair(x, 1)
    q = p
    for _ in range(2):
        q.a = q.a + 1
        p = p + q
    return p.a, q.a


def set_on_one_path(x):
    kept = Last()
    for i in range(3):
        if i == 1:
            kept.put(x * i)
    last = kept.last
    return x if last is None else last


def in_a_list(x):
    s = x
    for p in [Pair(x, 1), Pair(x * 2, 2)]:
        s = s + p.grow(x) * p.n
    return s


NATIVE = (methods, goes_round_a_loop, set_in_a_loop, set_in_a_branch, leaves_a_branch, has_two_names)
OTHERS = (
    in_another, in_another_set_in_a_loop, one_of_two_is_set, one_of_two_is_set_by_its_old_name, set_before_it_goes_round, set_on_one_path, in_a_list,
)  # fmt: skip


@pytest.mark.parametrize("program", (*NATIVE, *OTHERS), ids=lambda p: p.__name__)
def test_objects_are_what_they_are_in_torchscript(program):
    scripted = torch.jit.script(program)
    ours = from_torchscript(scripted)
    for sign in (1.0, 1.0, 1.0, -1.0, -1.0, -1.0):
        x = torch.full((3,), sign)
        torch.testing.assert_close(ours(x), scripted(x))
    if program in NATIVE:
        assert ours.stats().hits >= 4, ours.explain()


@pytest.mark.parametrize("program", [methods, goes_round_a_loop, set_in_a_branch], ids=lambda p: p.__name__)
def test_gradients_go_through_fields(program):
    scripted = torch.jit.script(program)
    ours = from_torchscript(scripted)
    for _ in range(3):
        x, y = (torch.linspace(0.1, 1, 3).requires_grad_() for _ in range(2))
        (ours(x)[0] ** 2).sum().backward()
        (scripted(y)[0] ** 2).sum().backward()
        torch.testing.assert_close(x.grad, y.grad)
    assert "3 calls by tierup's forward and backward programs" in ours.explain()
