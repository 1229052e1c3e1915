"""Where no path of a call leads to a value it has no gradient, which is not one of zeros: zero times an infinite derivative is NaN."""

from __future__ import annotations

import pytest
from sampling import drawn

torch = pytest.importorskip("torch")

import tierup  # noqa: E402

pytestmark = pytest.mark.torch

PROGRAMS = {
    "a branch": """
        v, y = x.sqrt(), x * 2
        if n > 1:
            y = v
        return y""",
    "branches of which one leads to two": """
        v, y = x.sqrt(), x * 2
        w = v.sqrt()
        if n > 1:
            y = y + v
        if n > 2:
            y = y + w
        if n == 1:
            y = y * v
        return y""",
    "branches in branches": """
        v, y = x.sqrt(), x * 2
        if n > 0:
            if n == 2:
                y = v * 2
            elif n == 3:
                y = v + y
        return y * y.cos()""",
    "no iteration": """
        v, y = x.sqrt(), x * 2
        for i in range(n):
            y = y + v
        return y""",
    "the last iteration": """
        y = x * 2
        for i in range(n):
            y = (x * i).sqrt()
        return y""",
    "an iteration of some": """
        v, y = x.sqrt(), x * 2
        for i in range(n):
            y = y + v if i == 2 else y * 2
        return y""",
    "what an iteration hands to the next": """
        a, b = x.sqrt(), x * 3
        for i in range(n):
            b = b + a
            a = x * i
        return b""",
    "values that change places": """
        a, b = x.sqrt(), x * 3
        for i in range(n):
            a, b = b, a
        return b""",
    "loops in loops": """
        a, y = x.sqrt(), x
        for i in range(n):
            for j in range(i):
                y = y * 2 + (a if j == 1 else x)
        return y * y""",
    "a loop that ends by its condition": """
        v, y = x.sqrt(), x * 2
        i = 0
        while i < n and bool(y.sum() < 12):
            y = y + v
            i += 1
        return y""",
    "an item of a list": """
        ws, y = [x.sqrt(), x * 2, x * 3], x
        for i in range(n):
            y = y + ws[2 - i]
        return y""",
    "a rounding": """
        y = x.sqrt().floor() + x.sqrt().sign() * x
        for i in range(n):
            y = y * x
        return y""",
    "a list that is cut": """
        a, b = x.sqrt().split([1, 2])
        y = x[:2]
        if n > 1:
            y = b
        return y""",
}


@pytest.mark.parametrize("which", drawn("programs with paths", list(PROGRAMS), 4))
def test_gradients_of_both_orders_where_a_path_has_an_infinite_derivative(which, tmp_path):
    source = f"import torch\nfrom typing import List\n\ndef f(x, n: int):{PROGRAMS[which]}\n"
    path = tmp_path / "program.py"
    path.write_text(source)
    names = {"__name__": "program"}
    exec(compile(source, str(path), "exec"), names)
    eager = names["f"]
    f = tierup.torch.from_torchscript(torch.jit.script(eager))
    for n in [0, 1, 2, 3, 0, 3, 1]:
        (value, *want), (got, *gradients) = _both_orders(eager, n), _both_orders(f, n)
        torch.testing.assert_close(got, value)
        for mine, theirs in zip(gradients, want, strict=True):
            theirs = torch.zeros(3) if theirs is None else theirs
            torch.testing.assert_close(torch.zeros(3) if mine is None else mine, theirs, equal_nan=True)
    assert f.stats().hits > 0


def _both_orders(f, n):
    x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
    y = f(x, n)
    (first,) = torch.autograd.grad((y * 1.5).sum(), x, create_graph=True)
    second = torch.autograd.grad(first[1:].sum(), x, allow_unused=True)[0] if first.requires_grad else None
    return y.detach(), first.detach(), second


def test_a_size_of_a_dim_that_the_path_did_not_give_is_not_asked_for():
    def f(x, n: int):
        w = x[1]
        for i in range(n):
            w = w * x
        return torch.nn.functional.linear(torch.ones(3), w)

    made = tierup.torch.from_torchscript(torch.jit.script(f))
    for n in [1, 2, 3, 3, 1]:
        x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
        (want,) = torch.autograd.grad(f(x, n).sum(), x)
        (got,) = torch.autograd.grad(made(x, n).sum(), x)
        torch.testing.assert_close(got, want)
    assert "5 calls by tierup's forward and backward programs" in made.explain()
