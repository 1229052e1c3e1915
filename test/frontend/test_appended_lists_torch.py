"""Lists that loops append to: one native program, whatever the number of iterations; what raises, and what stays a list."""

from __future__ import annotations

import pytest
from graveyard import graveyard

torch = pytest.importorskip("torch")

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch




def stacked_first(x):
    out: list[torch.Tensor] = []
    for t in range(x.size(0)):
        out.append(x[t] * t)
    return torch.stack(out)


def stacked_last(x):
    out: list[torch.Tensor] = []
    for t in range(x.size(0)):
        out.append(x[t] * t)
    return torch.stack(out, -1)


def extended(x):
    out: list[torch.Tensor] = []
    for t in range(x.size(0)):
        out += [x[t] * t]
    return torch.stack(out)


def joined_inside(x):
    out: list[torch.Tensor] = []
    others: list[torch.Tensor] = []
    for t in range(x.size(0)):
        out.append(x[t] * t)
        others.append(x[t].sum(1))
    return torch.cat(out, 1), torch.cat(others), torch.stack(others, 1)


def last_item(x):
    out = [x[0]]
    for t in range(x.size(0)):
        out.append(out[-1] * x[t])
    return out[-1], torch.stack(out).sum(0)


def cut(x):
    out: list[torch.Tensor] = []
    for t in range(x.size(0)):
        out.append(x[t] * t)
    backwards = out[::-1]
    rest = out[1:][:-1]
    return torch.stack(backwards) + backwards[0], torch.cat(rest) if len(rest) > 0 else x[0], out[-1]


def without_a_gradient(x):
    out: list[torch.Tensor] = []
    others: list[torch.Tensor] = []
    for t in range(x.size(0)):
        out.append(x[t].detach() * t)
        others.append(x[t].detach() + t)
    return out[-1], torch.stack(others), x * 2


@pytest.mark.parametrize("program", [joined_inside, last_item, without_a_gradient], ids=lambda f: f.__name__)
def test_gradients_of_results_made_of_appended_lists_read_no_erased_op(program, monkeypatch):
    monkeypatch.setenv("TIERUP_CACHE", "0")
    ours, x = from_torchscript(torch.jit.script(program), worker=False), torch.randn(3, 2, 4, requires_grad=True)
    with graveyard() as dead:
        (got,) = torch.autograd.grad(sum(r.square().sum() for r in ours(x)), x)
    (want,) = torch.autograd.grad(sum(r.square().sum() for r in program(x)), x)
    torch.testing.assert_close(got, want)
    assert dead.erased and not dead.found, "\n".join(dead.found)


@pytest.mark.parametrize("program", [stacked_first, stacked_last, extended, joined_inside, cut], ids=lambda f: f.__name__)
def test_lists_of_a_loop_are_native_for_any_number_of_iterations(program):
    ours = from_torchscript(torch.jit.script(program))
    for n in (3, 3, 4, 5, 5, 1, 8):
        x = torch.randn(n, 2, n + 1)
        torch.testing.assert_close(ours(x), program(x), rtol=1e-6, atol=1e-6)
    assert [v.speculation.kind for v in ours.versions][:2] == ["static", "dynamic"] and ours.stats().hits >= 4, ours.explain()


def test_a_stack_of_nothing_raises_as_in_pytorch_and_later_calls_are_native():
    ours = from_torchscript(torch.jit.script(stacked_first))
    for n in (3, 3, 4, 5):
        ours(torch.ones(n, 2))
    with pytest.raises(RuntimeError, match="non-empty"):
        stacked_first(torch.ones(0, 2))
    with pytest.raises((RuntimeError, ValueError)):
        ours(torch.ones(0, 2))
    hits = ours.stats().hits
    ours(torch.ones(7, 2))
    assert ours.stats().hits == hits + 1


def test_a_list_whose_items_grow_stays_a_list():
    def program(x):
        out: list[torch.Tensor] = []
        for t in range(x.size(0)):
            out.append(x[: t + 1] * t)
        return torch.cat(out)

    ours = from_torchscript(torch.jit.script(program))
    for n in (3, 3, 3, 5, 4):
        x = torch.randn(n, 2)
        torch.testing.assert_close(ours(x), program(x))


def densely_connected(x):
    features = [x]
    features.append(torch.cat(features, 1).sum(1, True).tanh())
    features.append(torch.cat(features, 1).sum(1, True).tanh() * 2)
    features[0] = features[1] + len(features)
    last = features[-1]
    features.insert(1, x * last)
    return torch.cat(features, 1), last + 1


def test_lists_that_are_read_between_appends_are_native():
    ours = from_torchscript(torch.jit.script(densely_connected))
    for sizes in [(2, 3)] * 3 + [(4, 3)] * 2:
        x = torch.randn(sizes, requires_grad=True)
        with torch.no_grad():
            torch.testing.assert_close(ours(x), densely_connected(x))
        found = [torch.autograd.grad(sum(y.square().sum() for y in f(x)), x)[0] for f in (ours, densely_connected)]
        torch.testing.assert_close(*found)
    assert "not compiled" not in ours.explain(), ours.explain()


def test_gradients_go_through_the_list():
    ours, x = from_torchscript(torch.jit.script(stacked_last)), torch.randn(4, 3, requires_grad=True)
    for _ in range(3):
        got, = torch.autograd.grad(ours(x).square().sum(), x)
        want, = torch.autograd.grad(stacked_last(x).square().sum(), x)
        torch.testing.assert_close(got, want)


def test_a_list_that_plus_equals_extends_is_the_list_that_it_was():
    def function(x, n: int):
        numbers: list[int] = [1]
        same = numbers
        numbers += [n, n + 1]
        tensors: list[torch.Tensor] = [x]
        added: list[torch.Tensor] = []
        tensors += added
        tensors += tensors
        return len(same), same[1], x * numbers[-1], len(tensors)

    script = torch.jit.script(function)
    ours = from_torchscript(script)
    for n in (2, 2, 3, 1):
        torch.testing.assert_close(ours(torch.ones(3), n), script(torch.ones(3), n))


def written_after_it_was_appended(x):
    out: list[torch.Tensor] = []
    y = torch.zeros_like(x[0])
    for i in range(x.size(0)):
        y += x[i]
        out.append(y)
    return torch.stack(out)


def carried_and_written(x):
    out: list[torch.Tensor] = []
    y = x[0] * 1
    for i in range(x.size(0)):
        y.add_(x[i])
        out.append(y)
        if i == 1:
            y = x[i] * 2
    return torch.stack(out)


def written_before_it_is_appended(x):
    out: list[torch.Tensor] = []
    for i in range(x.size(0)):
        y = x[i] * 2
        y += 1
        out.append(y)
    return torch.stack(out)


@pytest.mark.parametrize("program", [written_after_it_was_appended, carried_and_written, written_before_it_is_appended], ids=lambda f: f.__name__)
def test_items_that_are_written_show_it(program):
    """The list has the tensor itself, as often as it was appended."""
    ours = from_torchscript(torch.jit.script(program))
    with torch.no_grad():
        for n in (3, 3, 3, 4, 5):
            x = torch.randn(n, 2)
            torch.testing.assert_close(ours(x), program(x))
    assert (ours.stats().hits > 0) == (program is written_before_it_is_appended), ours.explain()
    x = torch.randn(4, 2, requires_grad=True)
    got, = torch.autograd.grad(ours(x).square().sum(), x)
    want, = torch.autograd.grad(program(x).square().sum(), x)
    torch.testing.assert_close(got, want)
