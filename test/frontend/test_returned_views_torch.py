"""Results in the memory of an argument, of another result or of what is kept for backward: to PyTorch they are what eager's are. Chains of
views are drawn; each is one in the eyes of autograd, and whoever writes to one of two tensors in one memory is noticed by the other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import drawn

torch = pytest.importorskip("torch")

import tierup  # noqa: E402
from tierup.torch import from_export, from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch

VIEWS = ("{}[1:]", "{}[::2]", "{}.t()", "{}.unsqueeze(0)[0]", "{}.expand(2, -1, -1)[1]", "{}.unfold(0, 4, 1)[0]", "{}[..., 1:]", "{}.movedim(0, 1)",
         "{}.narrow(1, 1, 2)", "{}[1:].chunk(2)[0]", "{}.diagonal()[:, None]", "{}[:3].view(-1, 3).t()")  # fmt: skip
CHAINS = st.lists(st.sampled_from(VIEWS), min_size=1, max_size=2)


def eager_of(text):
    made = {"torch": torch, "__name__": __name__}
    exec(text, made)
    return made["f"]


def told(f, base, mode):
    """What PyTorch is told of the results of a call: where they lie, whose views they are, and what a write does to a gradient."""
    x = base.clone()
    with mode():
        found = f(x)
    memory = [t.untyped_storage().data_ptr() for t in (x, *found)]
    said = [(t._base is x, t._is_view(), t.storage_offset(), memory.index(t.untyped_storage().data_ptr())) for t in found if t is not x]
    strides = [[s for n, s in zip(t.shape, t.stride(), strict=True) if n > 1] for t in found]
    late = [t.clone() for t in found]
    written = "inference" if x.is_inference() or found[0].is_inference() else _written_late(x, found)
    return said, strides, late, written


def _written_late(x, found):
    factor = torch.ones(1, requires_grad=True)
    loss = sum((factor * t).sum() for t in found)
    x.mul_(2)
    versions = [t._version for t in found]
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
    return versions, [t.clone() for t in found]


@settings(max_examples=8, deadline=None)
@given(chain=CHAINS, other=CHAINS)
def test_results_in_an_argument_s_memory_are_views_of_it_where_no_gradient_is_wanted(chain, other):
    lines = ["def f(x):", "    y = x[:6]", "    z = x[1:]", *[f"    y = {v.format('y')}" for v in chain], *[f"    z = {v.format('z')}" for v in other]]
    base = torch.randn(9, 9)
    try:
        eager_of("\n".join([*lines, "    return y, z, x"]))(base)
    except (RuntimeError, IndexError):
        return  # such a tensor has no such view
    text = "\n".join([*lines, "    return y, z\n"])
    eager, ours = eager_of(text), from_torchscript(torch.jit.CompilationUnit(text).f)
    for mode in (torch.enable_grad, torch.no_grad, torch.inference_mode):
        torch.testing.assert_close(told(ours, base, mode), told(eager, base, mode))


def test_results_of_functions_of_arrays_are_views_of_tensors_too():
    @tierup.jit
    def f(x):
        return x[1:], x.T, x[::-1], np.diagonal(x), x

    for n in (3, 3, 3, 4):
        x = torch.rand(n, n)
        rows, turned, backwards, diagonal, same = f(x)
        assert rows._base is x and turned._base is x and diagonal._base is x and same is x
        x.add_(1)
        assert [t._version for t in (rows, turned, diagonal)] == [1, 1, 1] and torch.equal(turned, x.t())
        assert torch.allclose(backwards + 1, x.flip(0))  # no tensor lies so: a copy


@pytest.mark.parametrize("given", ["view", "expanded", "bits"])
def test_parts_of_results_and_of_arguments_that_are_parts_themselves_are_views(given):
    texts = {
        "view": "def f(x):\n    y = x * 2\n    return y[1:], x[1:], y, x[0]",
        "expanded": "def f(x):\n    y = x.expand(2, 3, 4)\n    return y, y[1:]",
        "bits": "def f(x):\n    return x.view(torch.int32)[1:], x.view(torch.int16)",
    }
    eager = eager_of(texts[given])
    module = type("M", (torch.nn.Module,), {"forward": lambda self, x: eager(x)})()
    whole = torch.randn(5, 4)
    ours = from_export(torch.export.export(module, (whole[1:4],)))
    for _ in range(4):
        found = []
        for f in (ours, eager):
            base = whole.clone()
            results = f(base[1:4])
            base.add_(1)
            found.append([(t._version, t.storage_offset(), t._base is base, t.clone()) for t in results])
        assert [t[1] for t in found[0]] == [t[1] for t in found[1]]
        torch.testing.assert_close(*found)


def powers(x):
    y = torch.exp(x)
    return y * y, y[1:]


def of_pytorch(x):
    y = torch.linalg.matrix_exp(x)
    return y * y, y[1:]


def corners(x):
    y = torch.tanh(x)
    return torch.sin(y), y[1:], y[:1]


def dropped(x):
    y = torch.exp(torch.nn.functional.dropout(x, 0.5))
    return y * y, y[1:], y[:1]


CASES = [(powers, False), (of_pytorch, False), (corners, False), (of_pytorch, True), (dropped, True)]


@pytest.mark.parametrize(("program", "exported"), CASES, ids=lambda v: getattr(v, "__name__", "export" if v else "script"))
def test_a_part_of_what_is_kept_for_backward_is_a_result_and_writes_to_it_are_found(program, exported):
    module = type("M", (torch.nn.Module,), {"forward": lambda self, x: program(x)})()
    ours = from_export(torch.export.export(module, (torch.eye(3),))) if exported else from_torchscript(torch.jit.script(program))
    for call in range(3):
        x = (torch.eye(3) * 2 + torch.rand(3, 3)).requires_grad_()
        found = []
        for f in (ours, program):
            torch.manual_seed(call)
            results = f(x)
            found.append([*results, *torch.autograd.grad(sum((r * r).sum() for r in results), x)])
            for part in range(1, len(results)):
                results = f(x)
                with torch.no_grad():
                    results[part].mul_(2)
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    torch.autograd.grad(results[0].sum(), x)
        torch.testing.assert_close(*found)


WRITES = ("x.mul_(2)", "x[:, 0] = 2.0", "x[1:].add_(x[0].clone())", "x.permute(1, 0).clamp_(-1, 1)")
ROWS = ("x.reshape(-1)", "x.view(-1)[1:]", "x.reshape(2, 2, 4)[:, 1]", "x.reshape(-1, 2)")
CASES = list(itertools.product(WRITES, ROWS, ("stepped", "plain"), ("profiling", "specializing")))


@pytest.mark.parametrize(("write", "view", "given", "executor"), drawn("views behind writes", CASES, 12))
def test_all_of_an_argument_in_one_row_is_a_view_of_it_behind_a_write(write, view, given, executor):
    text = f"def f(x):\n    {write}\n    return {view}\n"
    eager, ours = eager_of(text), from_torchscript(torch.jit.CompilationUnit(text).f, executor=executor)
    for _ in range(3):
        leaf = torch.randn(4, 4, requires_grad=True)
        found = []
        for f in (eager, ours):
            x = leaf.repeat_interleave(2, -1)[..., ::2] if given == "stepped" else leaf * 1
            y = f(x)
            found.append((y.detach(), y.stride(), y.data_ptr() - x.data_ptr(), *torch.autograd.grad(y.square().sum(), leaf)))
        torch.testing.assert_close(found[1], found[0])


WRITES = ("x.zero_()", "x.fill_(2.0)", "x.copy_(x * 2)", "x.mul_(2)", "x.clamp_(min=0.5)", "x.masked_fill_(x > 0, 3.0)", "x[torch.tensor([0])] = 7.0",
          "x.index_put_([torch.tensor([1])], torch.tensor(3.0))", "x.scatter_(0, torch.tensor([0]), 5.0)", "x[0] = 1.0",
          "x.unsqueeze(0).fill_(2.0)", "x.unsqueeze(1).squeeze().zero_()", "x.unsqueeze(0).masked_fill_(x > 0, 3.0)")  # fmt: skip
LAID = {"plain": lambda x: x * 1, "stepped": lambda x: x.repeat_interleave(2)[::2], "behind": lambda x: torch.cat([x[:2], x])[2:]}


ASKED = ("x.contiguous()", "x.flatten()", "x.reshape(-1)", "x.unsqueeze(0).contiguous()")


@pytest.mark.parametrize(
    ("write", "result", "speculate"),
    drawn("memory behind writes", list(itertools.product(WRITES, ASKED, ("versioned", "bailout"))), 8, lambda row: row[0]),
)
def test_what_was_written_in_place_lies_as_before_where_a_view_of_it_hangs_on_that(write, result, speculate):
    text = f"def f(x):\n    {write}\n    return {result}\n"
    eager, ours = eager_of(text), from_torchscript(torch.jit.CompilationUnit(text).f, speculate=speculate)
    for number, (grad, how) in enumerate(itertools.product((True, False), ("plain", "plain", "stepped", "stepped", "behind", "plain", "stepped"))):
        found = []
        for f in (ours, eager):
            x = LAID[how](torch.ones(3 + number % 3).requires_grad_(grad))
            y = f(x)
            strides = [s for n, s in zip(y.shape, y.stride(), strict=True) if n > 1]
            found.append((y.data_ptr() == x.data_ptr(), strides, y.detach(), x.detach()))
        torch.testing.assert_close(*found)


@pytest.mark.parametrize("results", ["(v[1:], v.detach())", "(v.detach(), v[1:], v[0])", "(v.detach()[1:], v[1:])", "(v.t(), v.detach(), v.detach()[0])"])
def test_a_view_with_a_gradient_lies_in_the_memory_of_a_detached_result(results):
    eager = eager_of(f"def f(x):\n    v = x.abs()\n    return {results}")
    ours = from_torchscript(torch.jit.trace(eager, torch.randn(3, 3)))
    for n in (3, 3, 3, 2, 4):
        found = []
        for f in (eager, ours):
            x = torch.arange(1.0, n * n + 1).view(n, n).requires_grad_()
            made = f(x)
            torch.stack([t.square().sum() for t in made if t.requires_grad]).sum().backward()
            with torch.no_grad():
                next(t for t in made if not t.requires_grad).mul_(10)
            memory = {t.untyped_storage().data_ptr() for t in made}
            found.append([x.grad, len(memory), *((t.detach(), t.requires_grad, t._version, t.stride()) for t in made)])
        torch.testing.assert_close(found[1], found[0])
