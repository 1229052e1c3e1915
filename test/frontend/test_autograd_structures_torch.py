"""Dicts, lists, tuples and what may be None, among arguments and results under PyTorch's autograd: no gradient gets lost in them."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tierup.runtime.base.errors import NotDifferentiable  # noqa: E402
from tierup.torch import from_torchscript  # noqa: E402 - it may be missing

pytestmark = pytest.mark.torch


def lists(x, w):
    return [x * w, x + w, x.sum()], x


def a_dict(x, w):
    d = {"a": x * w, "b": x.exp()}
    return d, d["a"] + len(d)


def a_dict_that_is_written(x, w):
    d: dict[str, torch.Tensor] = {}
    d["a"] = x * w
    d["b"] = d["a"].exp()
    return d


def a_dict_that_is_gone_through(x, w):
    d = {"a": x, "b": w}
    s = x * 0
    for v in d.values():
        s = s + v * v
    return s


def a_dict_by_a_key_of_the_run(x, w):
    d = {0: x * w, 1: w}
    return d[int(x.sum() < -1000)]


def maybe(x, w):
    y: torch.Tensor | None = None
    if bool(x.sum() > -1000):
        y = x * w
    return y


def certainly(x, w):
    y: torch.Tensor | None = x * w
    return y, (w, None)


def tuples_in_a_list(x, w):
    t = [(x, 1), (w, 2)]
    s = x * 0
    for v, n in t:
        s = s + v * n
    return s, t


def tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (dict, list, tuple)):
        for item in value.values() if isinstance(value, dict) else value:
            yield from tensors(item)


@pytest.mark.parametrize(
    ("program", "by_ours"),
    [
        (lists, True), (a_dict, None), (certainly, True), (a_dict_that_is_written, True), (a_dict_that_is_gone_through, True),
        (maybe, False), (tuples_in_a_list, True), (a_dict_by_a_key_of_the_run, False),
    ],
    ids=lambda p: getattr(p, "__name__", ""),
)  # fmt: skip
def test_gradients_are_those_of_eager_and_it_is_said_whose_programs_made_them(program, by_ours):
    scripted = torch.jit.script(program)
    ours = from_torchscript(scripted)
    for _ in range(2):
        x, w = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
        mine, theirs = ours(x, w), scripted(x, w)
        assert type(mine) is type(theirs)
        mine, theirs = list(tensors(mine)), list(tensors(theirs))
        assert [t.requires_grad for t in mine] == [t.requires_grad for t in theirs]
        torch.testing.assert_close(mine, theirs)
        found = [torch.autograd.grad(sum((t * t).sum() for t in each), (x, w)) for each in (mine, theirs)]
        torch.testing.assert_close(*found)
    if by_ours is not None:
        assert (", 0 by the original" in ours.explain(), ", 2 by the original" in ours.explain()) == (by_ours, not by_ours)


def test_a_gradient_that_would_be_lost_in_a_dict_is_an_error_by_option():
    ours = from_torchscript(torch.jit.script(a_dict_by_a_key_of_the_run), gradients="error")
    with pytest.raises(TypeError, match="aten.__getitem__.Dict_int"):
        ours(torch.ones(2, requires_grad=True), torch.ones(2))


def test_a_list_that_a_loop_makes_stays_a_list_with_gradients():
    def program(x, n: int):
        made: list[torch.Tensor] = []
        for i in range(n):
            made.append(x * (i + 1))
        return x * 2, made

    ours = from_torchscript(torch.jit.script(program))
    for n in (2, 2, 0, 3, 5, 6, 6):  # graphs for four numbers of rounds, and one for all others
        x = torch.randn(2, requires_grad=True)
        y, made = ours(x, n)
        assert type(made) is list and len(made) == n
        (y.sum() + sum(v.sum() for v in made)).backward()
        torch.testing.assert_close(x.grad, torch.full((2,), 2.0 + n * (n + 1) / 2))
    assert "return tensors, tuples, and lists of a known length" in " ".join(ours.explain().split())


def test_lists_of_no_items_and_of_several_beside_a_written_argument():
    def program(x, y):
        none: list[torch.Tensor] = []
        y.add_(x.detach())
        return x * 2, none, [x, y * 3, x * y], 3

    ours = from_torchscript(torch.jit.script(program), gradients="error")
    for _ in range(3):
        x, y = torch.ones(2, requires_grad=True), torch.ones(2)
        doubled, none, (same, tripled, product), number = ours(x, y)
        assert none == [] and number == 3 and y.tolist() == [2, 2] and tripled.tolist() == [6, 6]
        (doubled + same + product).sum().backward()
        assert x.grad.tolist() == [5, 5]


def saved_in_an_arm(x, y):
    v = x * 1.0
    v[torch.tensor([0, 2])] = y[1:3]
    w = torch.maximum(x, x)
    u = torch.where(-x > -x, v, x)
    if float(u.sum()) > 0.0:
        w = torch.matmul(torch.maximum(torch.sigmoid(x), u), x.t())
    return w


def perhaps_none(x, y):
    found: torch.Tensor | None = None
    if float(x.sum()) > 0.0:
        found = x * y
    return found


def test_second_derivatives_go_through_an_arm_that_saves_what_its_gradient_needs():
    ours = from_torchscript(torch.jit.script(saved_in_an_arm), gradients="error")
    for seed in range(3):
        found = []
        for program in (ours, saved_in_an_arm):
            x, y = (torch.rand(4, 4, generator=torch.Generator().manual_seed(seed + k)).requires_grad_() for k in range(2))
            first = torch.autograd.grad(program(x, y).sum(), [x, y], create_graph=True, allow_unused=True)
            found.append(torch.autograd.grad(sum((g * g).sum() for g in first if g is not None), x)[0])
        torch.testing.assert_close(*found)


def test_a_result_that_may_be_none_is_refused_with_the_user_s_line():
    ours = from_torchscript(torch.jit.script(perhaps_none), gradients="error")
    with pytest.raises(NotDifferentiable, match=r"prim.If gives a .*optional.* as result 0.*\(at .*: if float\(x.sum\(\)\) > 0.0:\)"):
        ours(torch.ones(3, requires_grad=True), torch.ones(3))


def chunks(x):
    a, b = torch.chunk(x * x, 2)
    return a * b * x[:2]


def splits_of_a_size(x):
    a, b = torch.split(x * x, 2)
    return a * b * a


def splits_of_sizes(x):
    a, b = torch.split(x * x, [1, 3])
    return a * b * b


def unbound(x):
    a, b, c, d = torch.unbind(torch.tanh(x))
    return a * b * c + d


def an_item_of_a_list_of_parts(x):
    parts = torch.tensor_split(x * x, 3)
    return parts[0] * parts[1]


@pytest.mark.parametrize("f", [chunks, splits_of_a_size, splits_of_sizes, unbound, an_item_of_a_list_of_parts], ids=lambda f: f.__name__)
def test_parts_of_a_computed_value_have_third_derivatives(f):
    ours = from_torchscript(torch.jit.script(f), gradients="error")
    for _ in range(2):
        found = []
        for g in (ours, f):
            x = torch.arange(0.1, 0.85, 0.1, dtype=torch.float64).reshape(4, 2).requires_grad_()
            (first,) = torch.autograd.grad(g(x).sum(), x, create_graph=True)
            (second,) = torch.autograd.grad((first * first).sum(), x, create_graph=True)
            found.append([first, second, *torch.autograd.grad((second * x).sum(), x)])
        torch.testing.assert_close(*found)


def with_a_default(x, y: torch.Tensor | None):
    if y is None:
        y = torch.ones_like(x)
    else:
        y = y * 2
    return x * y


def scaled_by(x: torch.Tensor, scale: torch.Tensor | None) -> torch.Tensor:
    return x if scale is None else x * scale


def handed_on(x, y: torch.Tensor | None):
    return scaled_by(scaled_by(x.exp(), y), None)


@pytest.mark.parametrize("f", [with_a_default, handed_on], ids=lambda f: f.__name__)
def test_whether_an_argument_is_none_is_known_when_a_gradient_is_made(f):
    ours = from_torchscript(torch.jit.script(f), gradients="error")
    for _ in range(3):
        for y in (torch.randn(3, requires_grad=True), None, torch.randn(3)):
            x = torch.randn(3, requires_grad=True)
            wanted = [v for v in (x, y) if v is not None and v.requires_grad]
            found = [torch.autograd.grad(g(x, y).square().sum(), wanted) for g in (ours, f)]
            torch.testing.assert_close(*found)
