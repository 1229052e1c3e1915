"""Programs of ops and constructs that few programs have, many to a program: what eager gives and writes, in each tier, with gradients."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402 - it may be missing

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def writes_through_views(x, y, n: int):
    a = x * 1
    a.narrow(1, 1, 2).copy_(y[:, :2])
    a.narrow(0, -1, 1).mul_(2)
    a.narrow(0, n, 1).add_(1)
    a.diagonal(1, -1, 0).add_(y[0, :2])
    a.movedim(0, 1).mul_(y.t())
    x.diagonal().fill_(0.5)
    return a, x.swapaxes(0, 1)


def writes_through_what_may_be_a_copy(x, y, n: int):
    a = x * 1
    a.to(torch.float32)[0] = y[1]
    a.to(torch.float64)[1] = 0
    a.movedim((0, 1), (1, 0))[0].sub_(1)
    a.reshape(12)[n] = 3
    a.unflatten(1, [2, 2])[:, 0].mul_(3)
    return a, a.t().reshape(12)


def written_in_no_elements(x, y, n: int):
    a = x * 1
    a[:, 1:1] = y[:, 1:1]
    a[n : n - 1] = 5
    a.diagonal(9).fill_(3)
    return a, a.narrow(0, n, 0).sum()


def ranges_of_numbers(x, y, n: int):
    parts = x.narrow(0, n, 1), x.narrow(1, -2, 2), x[n : n + 2], x[:, n::2], x.expand(n + 1, 3, 4), x.reshape(n + 1, -1)
    return *parts, x.roll(n, 0), x.rot90(4), x.rot90(-8, [1, 0]), x.rot90(n), x.roll(0)


def grids_and_pads(x, y, n: int):
    u, v = torch.meshgrid([x[0], y[:, 0]], indexing="xy")
    (w,) = torch.meshgrid([x[1]], indexing="xy")
    pads = F.pad(x[None], [2, -1], mode="replicate"), F.pad(x[None, None], [2, 1, 1, 2], mode="circular")
    return u * v, torch.meshgrid([x[0], y[0], x[0, 0]])[0] * 2, w, *pads, F.pad(x[None, None], [1, 0, 2, 1], mode="replicate")


def products(x, y, n: int):
    a, b, nothing = x.view(2, 2, 3), y.view(2, 3, 2), torch.full((2, 2, 2), float("nan"))
    scaled = torch.baddbmm(nothing, a, b, beta=0, alpha=2), torch.addr(x, x[:, 0], y[0], beta=2, alpha=3)
    s = x[0, 0]
    masks = torch.addr(x > 0, x[:, 0] > 0, y[0] > 0), torch.addr(x > 0, x[:, 0] > 0, y[0] > 0, alpha=False)
    return *scaled, *masks, torch.inner(s, y), torch.inner(x, y[0]), torch.inner(x, y), torch.kron(s, y), torch.tensordot(x[0], y[0], dims=0)


def distances(x, y, n: int):
    losses = F.triplet_margin_loss(x, y, x.flip(0), swap=True), F.triplet_margin_loss(x, y, x.flip(0), p=1.0, swap=True, reduction="none")
    return *losses, F.pairwise_distance(x, y, p=1.0, keepdim=True), torch.cdist(x, y), torch.linalg.vector_norm(x, float("inf"), 1)


def norms(x, y, n: int):
    z, mean, deviation = torch.native_group_norm(x, y[0, :2], None, 3, 2, 2, 2, 1e-5) if n > 9 else (x, x, x)
    groups = F.group_norm(x.view(3, 2, 2), 2, y[0, :2], y[1, :2]), F.group_norm(x, 4, eps=0.1), F.batch_norm(x, y[0].detach(), y[1].detach())
    return *groups, z, F.prelu(x, y[0])


def rare_values(x, y, n: int):
    whole = (x * 40).to(torch.uint8)
    odd = (y * 2).to(torch.uint8) | 1
    close = torch.isclose(x, y, 0.0, 0.0), torch.isclose(x / 0, y / 0, equal_nan=True), torch.isclose(whole, odd)
    filled = torch.nan_to_num(whole), torch.nan_to_num(x / 0, 1.0), torch.div(x, y, rounding_mode=None)
    return *close, *filled, whole**2, whole // odd, torch.div(whole, odd, rounding_mode="trunc"), (x > 0).prod(0, dtype=torch.bool)


def of_nothing(x, y, n: int):
    e, w = x[:0], x[:, :0]
    means = F.softmax(w, 1), F.log_softmax(e, 0), e.var(0), w.std(1), torch.linalg.vector_norm(e, 2.0, 0), w.norm(1.0, 0)
    return *means, e.select_scatter(e[:, 0], 1, 0), e.slice_scatter(e[:0]), w.diagonal()


PROGRAMS = [
    writes_through_views, writes_through_what_may_be_a_copy, written_in_no_elements, ranges_of_numbers, grids_and_pads, products, distances, norms, rare_values, of_nothing,
]  # fmt: skip


def containers(x, y, n: int):
    given = {"a": x, "b": y}
    last, item = {"b": y}.popitem()
    del given["b"]
    given.setdefault("a", y)
    given.setdefault("c", x + 1)
    emptied = {"a": x}
    emptied.clear()
    paired = dict([("p", x), ("q", y * 2)])  # noqa: C406 - the call
    named: dict[str, int] = dict()  # noqa: C408 - the call
    named["k"] = n
    lists = [x, y] * 2, [1, 2] * n, [0.5] * n, n * [True]
    same = [1, 2] == [1, n], [1.0] != [2.0], [last] == ["b"]
    gone = [x, y]
    gone.clear()
    one: int = (x[0] * 0).to(torch.int64)[0].tolist()
    table: list[list[float]] = x.tolist()
    truths: list[bool] = (y[0] > 0).tolist()
    spread = [x * 1] * (n + 1)
    spread[0] = y
    parted = x * 1
    left, right = parted.split(2, 1)
    left.add_(right)
    right.copy_(left * 2)
    devices = x.device == torch.device("cpu"), torch.zeros(2, device=torch.device("cpu"))
    results = parted, given, last, item, emptied, paired, named, lists, same, len(gone), one, table, truths, torch.stack(spread)
    return results, devices, list(range(n)), list("ab"), (x, n, y)[1:]


def popped(given: dict[str, torch.Tensor], n: int):
    given["z"] = given["a"] * n
    del given["a"]
    given["a"] = given["z"] + 1
    first = given.popitem()
    return first, given.popitem(), list(given.keys())


def test_popitem_takes_the_first_item_as_torchscript_does():
    script = torch.jit.script(popped)
    ours = from_torchscript(script)
    for n in range(3):
        given = [{"a": torch.ones(2) * n, "b": torch.zeros(2), "c": torch.ones(2)} for _ in range(2)]
        (mine, x), (more, y), left = ours(given[0], n)
        (theirs, z), (others, w), kept = script(given[1], n)
        assert (mine, more, left, list(given[0])) == (theirs, others, kept, list(given[1]))
        torch.testing.assert_close((x, y), (z, w))


def lists_without_gradients(x, y, n: int):
    with torch.no_grad():
        made = [x * 2, y]
        first = made[0] + 1
        left, right = torch.chunk(y * 2, 2, 1)
        rows = torch.unbind(x)
        same = first.contiguous()
    return first * x, left * x[:, :2], rows[0] * y, same * y, right + n


def called(program, x, y, n: int, with_gradients: bool):
    leaves = [x.clone().requires_grad_(with_gradients), y.clone().requires_grad_(with_gradients)]
    given = [leaf * 1 for leaf in leaves]
    results = program(*given, n)
    if not with_gradients:
        return results, given
    wanted = [r for r in (*results, *given) if r.requires_grad]
    weights = [torch.linspace(-1, 2, max(r.numel(), 1))[: r.numel()].view(r.shape) for r in wanted]
    return results, given, torch.autograd.grad(wanted, leaves, weights, allow_unused=True)


X, Y = torch.rand(3, 4, generator=torch.Generator().manual_seed(1)) + 0.1, torch.rand(3, 4, generator=torch.Generator().manual_seed(2)) + 0.5


def plain(value):
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return {k: plain(v) for k, v in value.items()} if isinstance(value, dict) else str(value) if isinstance(value, str) or value is None else value


def compare(ours, program, n: int, with_gradients: bool) -> None:
    found, wanted = (called(p, X, Y, n, with_gradients) for p in (ours, program))
    flat, flat_wanted = (torch.utils._pytree.tree_leaves(plain(v)) for v in (found, wanted))
    assert [type(v) for v in flat] == [type(v) for v in flat_wanted]
    for a, b in zip(flat, flat_wanted, strict=True):
        if isinstance(a, torch.Tensor):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5, equal_nan=True)
        else:
            assert a == b


@pytest.mark.parametrize("program", [*PROGRAMS, lists_without_gradients], ids=lambda program: program.__name__)
def test_values_and_gradients_are_those_of_eager(program):
    ours = from_torchscript(torch.jit.script(program))
    with torch.no_grad():
        for n in (1, 1, 2):
            compare(ours, program, n, False)
    assert ours.stats().hits > 0 or program in (grids_and_pads, distances, writes_through_what_may_be_a_copy), ours.explain()
    for _ in range(2):
        compare(ours, program, 1, True)


def test_containers_are_those_of_eager():
    ours = from_torchscript(torch.jit.script(containers))
    for n in (2, 2, 0, 3):
        compare(ours, containers, n, False)


def ints(a: int, b: int):
    total = a * b
    for i in range(3):
        total += a << i
    return total, a + b, a - b, -a, a & b, a ^ b, a // 3


def test_ints_wrap_as_torchscripts_do():
    script = torch.jit.script(ints)
    ours = from_torchscript(script)
    for a, b in ((3, 4), (3, 4), (2**62, 5), (2**63 - 1, 2**63 - 1), (-(2**63), -1)):
        assert tuple(ours(a, b)) == script(a, b)
    assert ours.stats().hits == 4


def test_lists_and_dicts_that_are_written_down_are_results_of_native_code():
    def gives(x, n: int):
        one = [x * 2, x]
        return one, [[n, n + 1], [2]], {"x": x + 1, "y": x}, one

    def once(x, n: int):
        return [x * 2, x], [[n, n + 1], [2]], {"x": x + 1, "y": x * n}

    script = torch.jit.script(gives)
    ours, native = from_torchscript(script), from_torchscript(torch.jit.script(once))
    for _ in range(3):
        x = torch.randn(3, requires_grad=True)
        found = ours(x, 2)
        assert found[0] is not found[3] and found[3][1] is x  # as in TorchScript
        assert found[0][1] is x and found[2]["y"] is x and found[1] == [[2, 3], [2]]
        with torch.no_grad():
            found = native(x, 2)
        assert [type(item) for item in found] == [list, list, dict] and found[0][1] is x and found[1] == [[2, 3], [2]]
        torch.testing.assert_close(list(found[2].values()), [x.detach() + 1, x.detach() * 2])
        sum(native(x, 2)[0]).sum().backward()
        assert x.grad.tolist() == [3, 3, 3]
    assert native.stats().hits == 6 and native.stats().profiled_runs == 3, native.explain()  # without gradients, forward, backward
