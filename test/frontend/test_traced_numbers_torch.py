"""Numbers in traced graphs, where they stand for tensors, and dropout that drops nothing."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int32, torch.bool], ids=str)
def test_numbers_in_a_traced_graph_follow_the_rules_of_numbers(dtype):
    def program(x):
        return x * 0.1, x + 3, x.int() // 2, 2 - x.int(), x.float() / 3, x > 0.5

    x = torch.tensor([0, 1, 1]).to(dtype)
    ours = from_torchscript(torch.jit.trace(program, x))
    for _ in range(3):
        for got, want in zip(ours(x), program(x), strict=True):
            torch.testing.assert_close(got, want, rtol=0, atol=0)
    assert ours.stats().hits == 2, ours.explain()


def test_dropout_that_drops_nothing_is_no_op_at_all():
    ours = from_torchscript(torch.jit.script(torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Dropout(0.5))).eval())
    x = torch.randn(2, 4)
    with torch.no_grad():
        for _ in range(3):
            ours(x)
    assert ours.stats().hits == 2 and "dropout" not in ours.explain(), ours.explain()

    @torch.jit.script
    def same(x):
        return torch.dropout(x, 0.5, False)

    assert from_torchscript(same)(x).data_ptr() == x.data_ptr()


def test_sizes_that_a_trace_computes_as_tensors_are_known_as_ints():
    def program(x):
        batch, length, width = x.shape
        halves = x.view(batch, length, 2, width // 2) + width % 2
        return halves.permute(0, 2, 1, 3).reshape(batch * 2, length, width // 2 * 1) * (length + batch - 1)

    ours = from_torchscript(torch.jit.trace(program, torch.randn(2, 3, 4)))
    for n in (2, 2, 3, 4, 5):
        x = torch.randn(n, n + 1, 6)
        torch.testing.assert_close(ours(x), program(x))
    assert [v.speculation.kind for v in ours.versions] == ["static", "dynamic"] and ours.stats().hits == 3, ours.explain()


def test_a_size_that_the_trace_writes_to_is_not_taken_for_what_it_was():
    def program(x):
        n = torch.as_tensor(x.shape[0])
        n += 1
        return x * n

    traced = torch.jit.trace(program, torch.ones(3))
    ours = from_torchscript(traced)
    for x in (torch.ones(3), torch.ones(3), torch.ones(5)):
        torch.testing.assert_close(ours(x), traced(x))


def test_arithmetic_of_ints_stays_as_it_is():
    @torch.jit.script
    def program(x, n: int):
        return x * ((n + x.size(0) - 1) * 2 % 5 // 1)

    ours = from_torchscript(program)
    for n in (3, 3, 4):
        torch.testing.assert_close(ours(torch.ones(n), n), program(torch.ones(n), n))
