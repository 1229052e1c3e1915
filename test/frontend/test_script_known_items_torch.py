"""Lists, dicts and enums of which the items are known when a graph is built, loops over them too: the scripted program is the oracle."""

from __future__ import annotations

import copy
from collections import OrderedDict
from enum import Enum
from typing import Dict, List, Optional  # noqa: UP035 - what torch.jit.script reads

import pytest

torch = pytest.importorskip("torch")

from tierup.torch import from_torchscript  # noqa: E402 - it may be missing

pytestmark = pytest.mark.torch


class Colour(Enum):
    RED = 1
    GREEN = 2


@torch.jit.script
class Pair:
    def __init__(self, a: torch.Tensor, n: int):
        self.a = a
        self.n = n


def sorts_an_argument(x, l: List[int]):  # noqa: E741, UP006
    l.sort()
    l.reverse()
    l.extend([7, 8])
    return x[l[0] - 1] + l[2], l


def sets_an_argument(x, d: Dict[str, torch.Tensor]):  # noqa: UP006
    y = d.pop("a")
    d.update({"c": x, "b": y})
    z = d.setdefault("q", x * 3) + d.setdefault("c", x)
    return z + y, d, "a" in d


def writes_items_of_an_argument(x, l: List[torch.Tensor]):  # noqa: E741, UP006
    l[0] = l[0] + 1
    l[1].add_(2)
    l.append(x)
    return l[0] * l[1] + torch.stack(l).sum()


def goes_through_lists(x, l: List[torch.Tensor]):  # noqa: E741, UP006
    s, table = x, [[1, 2], [3, 4]]
    for i, (a, b) in enumerate(zip(l, [1, 2])):  # noqa: B905
        s = s + a.sum() * b + i
    for row in table:
        for v in row:
            s = s * v
    return s, table


def goes_through_a_dict(x, d: Dict[int, torch.Tensor]):  # noqa: UP006
    s, named = x, {"u": x, "v": x * 2}
    for k in d:
        s = s + d[k] * k
    for name, v in named.items():
        s = s * v + len(name)
    return s, len(d), 1 in d


def keeps_the_order_of_keys(x):
    d = {"a": x, "b": x * 2}
    del d["a"]
    d["c"] = x * 3
    d["a"] = x * 4
    s = torch.zeros(3)
    for i, v in enumerate(d.values()):
        s = s + v * (i + 1)
    return s


def goes_through_objects(x):
    p = Pair(x, 1)
    for q in [p, Pair(x, 2), p]:
        q.n += 1
        p.a = p.a * q.n
    return p.a, p.n


def goes_through_an_enum(x):
    s, chosen = 0, Colour.GREEN
    for c in Colour:
        s += c.value
    if chosen is not Colour.RED and chosen == Colour.GREEN:
        x = x * chosen.value + len(chosen.name)
    return x * s


def has_two_names(x):
    a = [1, 2]
    table = [a, a]
    table[0][0] = 9
    return x * table[1][0], a


def grows_an_inner_list(x):
    table: List[List[torch.Tensor]] = [[x], [x * 2]]  # noqa: UP006
    for row in table:
        row.append(x * 3)
    return torch.stack(table[0]), torch.stack(table[1])


def counts_and_sums(x, floats: List[float], ints: List[int]):  # noqa: UP006
    n = ints.count(2) + sum(ints) + max(ints)
    return x * sum(floats) + max(floats) - min(floats) + n, list(ints), "literal", {"k": "v"}.get("z", "w")


def takes_bits_apart(x):
    i = x.to(torch.int64)
    small, one = x.to(torch.int8), x[2].to(torch.int8)
    return (i ^ 5) + (i ^ (i + 1)), i & 3, i | 4, ~i, small ^ 3, one | 6, one ^ 3, (x > 1) ^ True, (x > 1) | 2, torch.bitwise_or(i, 8)


def is_made_of_pairs(x):
    d = OrderedDict([("a", x), ("b", x * 2)])
    s = torch.zeros(3)
    for v in d.values():
        s += v
    missing = d.get("c")
    if missing is None:
        s = s + 1
    return s, list(d.keys())


def leaves_the_loop(x, l: List[torch.Tensor]):  # noqa: E741, UP006
    for v in l:
        if v.size(0) == 2:
            break
        x = x + v
    return x


X, LIST = torch.arange(3.0), [torch.ones(3), torch.full((3,), 2.0)]
def gives_sizes(x):
    return x[..., 1].size(), x[1:].shape, x * 2


def keeps_the_best(x):
    best: Optional[torch.Tensor] = None  # noqa: UP045 - what torch.jit.script reads
    for i in range(x.size(0)):
        best = x[i] * 2 if best is None else torch.maximum(best, x[i])
    return x.sum() if best is None else best * 3


CASES = (
    (sorts_an_argument, (X, [3, 1, 2])),
    (sets_an_argument, (X, {"a": X + 1, "b": X})),
    (writes_items_of_an_argument, (X, LIST)),
    (goes_through_lists, (X, LIST)),
    (goes_through_a_dict, (X, {1: X, 5: X + 1})),
    (keeps_the_order_of_keys, (X,)),
    (goes_through_objects, (X,)),
    (goes_through_an_enum, (X,)),
    (grows_an_inner_list, (X,)),
    (counts_and_sums, (X, [1.5, float("nan"), 2.5], [1, 2, 2, 3])),
    (counts_and_sums, (X, [float("nan"), 2.5], [2])),
    (is_made_of_pairs, (X,)),
    (takes_bits_apart, (X,)),
    (has_two_names, (X,)),
    (leaves_the_loop, (X, [torch.ones(3), torch.ones(2)])),
    (gives_sizes, (X.expand(2, 3, 3),)),
    (keeps_the_best, (X,)),
)


def leaves(value):
    """What is in a result, with its structure."""
    if isinstance(value, dict):
        return ["{", *(x for k, v in value.items() for x in (k, *leaves(v))), "}"]
    return [type(value).__name__, *(x for v in value for x in leaves(v))] if isinstance(value, (list, tuple)) else [value]


@pytest.mark.parametrize("program, given", CASES, ids=lambda p: getattr(p, "__name__", ""))
def test_programs_of_lists_dicts_and_enums_are_right_and_most_are_native(program, given):
    scripted = torch.jit.script(program)
    ours = from_torchscript(scripted)
    for _ in range(4):
        mine, theirs = copy.deepcopy(given), copy.deepcopy(given)
        found, wanted = ours(*mine), scripted(*theirs)
        assert [str(v) for v in leaves(found)] == [str(v) for v in leaves(wanted)]
        torch.testing.assert_close(mine, theirs, equal_nan=True)
    if program not in (has_two_names, leaves_the_loop, grows_an_inner_list):
        assert ours.stats().hits == 3 and "split," not in ours.explain(), ours.explain()


@pytest.mark.parametrize("size", [3, 0, 1])
def test_what_is_none_before_the_first_round_is_a_tensor_in_the_others(size):
    x, y = (torch.linspace(-1, 1, size).requires_grad_() for _ in range(2))
    ours = from_torchscript(torch.jit.script(keeps_the_best), optimize=False)
    for function, of in ((ours, x), (keeps_the_best, y)):
        function(of).sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    assert "0 by the original program in PyTorch" in ours.explain(), ours.explain()


def test_lists_in_a_constant_are_results_of_native_code():
    def program(x):
        return x * 2, (1.5, [[1, 2], [3]], ["a"])

    scripted = torch.jit.script(program)
    torch._C._jit_pass_constant_propagation(scripted.graph)
    ours = from_torchscript(scripted)
    for _ in range(3):
        assert ours(X)[1] == program(X)[1]
    assert ours.stats().hits == 2, ours.explain()


def test_a_dict_of_the_module_is_read_where_the_loop_is_written_out():
    class Module(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.factors, self.shifts = {"a": 2, "b": 3}, {1: torch.ones(3), 2: torch.zeros(3)}
            self.colour = Colour.GREEN

        def forward(self, x):
            for _, v in self.factors.items():
                x = x * v
            for k in self.shifts:
                x = x + self.shifts[k] * k
            return x if self.colour == Colour.RED else x * self.colour.value

    scripted = torch.jit.script(Module())
    ours = from_torchscript(scripted)
    for i in range(6):
        torch.testing.assert_close(ours(X), scripted(X))
        if i == 2:
            assert ours.stats().hits == 2
            scripted.factors = {"a": 5}
