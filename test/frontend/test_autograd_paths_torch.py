"""Under PyTorch's autograd a parameter that a call's path did not use has no gradient (None), which is something else than one of zeros."""

from __future__ import annotations

import copy

import pytest
from sampling import drawn

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing
from torch_generator import Features, differences, leaves, program, shown  # noqa: E402

import tierup  # noqa: E402
from tierup.runtime.base.errors import NotDifferentiable  # noqa: E402
from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, n: int):
        y = self.a(x) if bool(x.sum() > 0) else self.b(x)
        for _ in range(n):
            y = torch.tanh(self.c(y))
        return y


def test_a_model_with_an_untaken_branch_is_trained_as_by_eager_with_weight_decay():
    torch.manual_seed(0)
    model = Chosen()
    twin = copy.deepcopy(model)
    f = from_torchscript(torch.jit.script(model), gradients="error")
    for module, call in ((model, f), (twin, twin)):
        optimiser = torch.optim.AdamW(module.parameters(), lr=0.05, weight_decay=0.5)
        for step in range(8):
            optimiser.zero_grad()
            call(torch.ones(3, 2) * (-1 if step % 3 == 2 else 1), 0 if step < 4 else 2).square().sum().backward()
            optimiser.step()
    torch.testing.assert_close(list(model.parameters()), list(twin.parameters()))
    (pair,) = f.variants[0].executor.gradients.pairs
    assert pair.forward.stats().hits > 0


def in_a_loop_that_ends_by_its_condition(x, w, n: int):
    i = 0
    while bool(x.sum() < 10) and i < n:
        x = x * w
        i += 1
    return x, w


def changes_in_an_iteration(x, w, n: int):
    y = x.detach()
    for i in range(n):
        y = y * w if i > 0 else y + 1
    return y, x * 2


def swaps(x, w, n: int):
    a, b = x * 1, w * 1
    for _ in range(n):
        a, b = b, a
    return a, b


def resets(x, w, n: int):
    y = x * w
    for i in range(n):
        if i == 1:
            y = torch.zeros_like(x)
    return y, x * 1


def raises(x, w, n: int):
    if n > 5:
        raise ValueError("many")
    y = x
    if n > 1:
        y = w
    return y, y * 2


def an_early_return(x, w, n: int):
    if n == 0:
        return x, x + 1
    if n == 1:
        return x * w, x.detach()
    return w, w * 2


def seen(f, n):
    x, w = (torch.full((2,), v, requires_grad=True) for v in (1.5, 2.5))
    results = f(x, w, n)
    found = [r.requires_grad for r in results]
    for r in results:
        if r.requires_grad:
            found.append(torch.autograd.grad(r.sum(), [x, w], allow_unused=True, retain_graph=True))
            first = torch.autograd.grad((r * r).sum(), [x, w], allow_unused=True, create_graph=True)
            if any(g is not None and g.requires_grad for g in first):
                second = sum((g * g).sum() for g in first if g is not None)
                found.append(torch.autograd.grad(second, [x, w], allow_unused=True, retain_graph=True))
    return found


@pytest.mark.parametrize(
    "f",
    [in_a_loop_that_ends_by_its_condition, changes_in_an_iteration, swaps, resets, raises, an_early_return],
    ids=lambda f: f.__name__,
)
def test_which_gradients_there_are_is_as_in_eager(f):
    ours = from_torchscript(torch.jit.script(f), gradients="error")
    for n in (2, 2, 0, 1, 3, 2):
        torch.testing.assert_close(seen(ours, n), seen(f, n))


def test_what_decides_costs_a_branch_no_more_than_a_result_for_all_that_one_arm_uses():
    f = from_torchscript(torch.jit.script(Chosen()), gradients="error")
    f(torch.ones(1, 2), 1)
    (pair,) = f.variants[0].executor.gradients.pairs
    assert len(pair.flows.flags) == 3  # the first arm, the second, the loop: of two parameters each
    plain = from_torchscript(torch.jit.script(nn.Linear(2, 2)), gradients="error")
    plain(torch.ones(1, 2))
    assert plain.variants[0].executor.gradients.pairs[0].flows is None


TYPED = """
func.func @main(%x: !torch.vtensor<[3],f32>, %w: !torch.vtensor<[3],f32>, %n: !torch.int) -> (!torch.vtensor<[3],f32>) {
  %true = torch.constant.bool true
  %zero = torch.constant.int 0
  %some = torch.aten.gt.int %n, %zero : !torch.int, !torch.int -> !torch.bool
  %z = torch.prim.If %some -> (!torch.vtensor<[3],f32>) {
    torch.prim.If.yield %w : !torch.vtensor<[3],f32>
  } else {
    torch.prim.If.yield %x : !torch.vtensor<[3],f32>
  }
  %r = torch.prim.Loop %n, %true, init(%x) {
  ^bb0(%i: !torch.int, %a: !torch.vtensor<[3],f32>):
    %b = torch.aten.mul.Tensor %a, %z : !torch.vtensor<[3],f32>, !torch.vtensor<[3],f32> -> !torch.vtensor<[3],f32>
    torch.prim.Loop.condition %true, iter(%b : !torch.vtensor<[3],f32>)
  } : (!torch.int, !torch.bool, !torch.vtensor<[3],f32>) -> !torch.vtensor<[3],f32>
  return %r : !torch.vtensor<[3],f32>
}
"""


def test_a_typed_program_with_a_loop_and_a_branch_has_gradients(tmp_path):
    (tmp_path / "typed.mlir").write_text(TYPED)
    f = tierup.load(tmp_path / "typed.mlir")
    for n, wanted in ((2, (9, 12)), (2, (9, 12)), (0, (1, None)), (1, (3, 2))):
        x, w = (torch.full((3,), v, requires_grad=True) for v in (2.0, 3.0))
        found = torch.autograd.grad(f(x, w, n).sum(), [x, w], allow_unused=True)
        assert [None if g is None else g.tolist() for g in found] == [None if v is None else [v] * 3 for v in wanted]


def overwritten(x, w):
    x = x * 1
    x.copy_(w)
    return x, w * 2


def constant_between_jumps(x, w):
    return torch.floor(x) * 2, torch.sign(x) + w


@pytest.mark.parametrize("f", [overwritten, constant_between_jumps], ids=lambda f: f.__name__)
@pytest.mark.parametrize("create_graph", [False, True])
def test_what_is_used_but_does_not_count_has_a_gradient_of_zeros(f, create_graph):
    ours = from_torchscript(torch.jit.script(f), gradients="error")
    for chosen in ((0,), (1,), (0, 1)):
        found = []
        for g in (ours, f):
            x, w = (torch.full((2,), v, requires_grad=True) for v in (1.5, 2.5))
            results = g(x, w)
            total = sum((results[k] * results[k]).sum() for k in chosen)
            found.append(torch.autograd.grad(total, [x, w], allow_unused=True, create_graph=create_graph))
        torch.testing.assert_close(*found)


CALLS = ((2, (0,)), (2, (0, 1, 2)), (0, (1,)), (3, (2, 0)))
FEATURES = {"paths": Features(), "views": Features(views=True), "writes": Features(views=True, writes=True, arguments=True)}


@pytest.mark.parametrize(("kind", "seed"), drawn("programs under autograd", [(k, s) for k in FEATURES for s in range(150)], 40, lambda r: r[0]))
def test_random_programs_show_under_autograd_what_eager_shows(kind, seed):
    f, text = program(seed, FEATURES[kind])
    ours, own = from_torchscript(torch.jit.script(f), gradients="error"), kind == "writes"
    for call, (n, chosen) in enumerate(CALLS):
        given, _ = leaves(seed * 10 + call)
        try:
            wanted = shown(f, given, n, chosen, own=own)
        except RuntimeError:  # a write to what requires a gradient
            continue
        try:
            found = shown(ours, given, n, chosen, own=own)
        except NotDifferentiable:  # a write to what only the run can tell
            assert kind == "writes"
            break
        assert not differences(found, wanted, but=("strides",)), text
