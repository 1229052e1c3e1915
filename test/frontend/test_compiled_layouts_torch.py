"""Results of torch.compile lie in memory as eager's do, in tier 0 and in native code: what `view` and `is_contiguous` say hangs on it."""

from collections.abc import Callable
from typing import Any

import pytest
from sampling import drawn

torch = pytest.importorskip("torch")
import tierup  # noqa: E402 - behind the test for PyTorch

pytestmark = pytest.mark.torch
Tensor = torch.Tensor
IMAGE = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
WEIGHT = torch.randn(4, 3, 3, 3)

CASES: dict[str, tuple[Callable[[Tensor], Any], Tensor]] = {
    "transposed inside": (lambda x: torch.relu(x.transpose(1, 2)).exp(), torch.randn(2, 4, 8)),
    "transposed outside": (lambda x: x.exp(), torch.randn(6, 4).t()),
    "a product transposed": (lambda x: (x @ x).transpose(0, 1), torch.randn(2, 4, 4)),
    "channels last": (lambda x: torch.conv2d(x, WEIGHT).relu(), IMAGE),
    "channels last, joined": (lambda x: torch.cat([x, x], 1), IMAGE),
    "steps": (lambda x: x.exp(), torch.randn(6, 4)[::2]),
    "parts": (lambda x: ((x + 1)[1], (x + 2)[:, :2], torch.diagonal(x + 3)), torch.randn(4, 4)),
    "pieces": (lambda x: (x + 1).split(2), torch.randn(5, 4)),
    "expanded": (lambda x: (x + 1).expand(3, 2, 4), torch.randn(1, 4)),
    "sorted": (lambda x: (x.sort(0)[0], x.flip(1)), torch.randn(6, 4).t()),
    "nothing": (lambda x: x.transpose(0, 1) + 1, torch.randn(0, 1, 4)),
    "dims of one": (lambda x: (x.t() + 1).sum(0, keepdim=True), torch.randn(5, 4)),
}


def described(result: Any) -> list[Any]:
    tensors = result if isinstance(result, tuple) else (result,)
    return [(t.shape, t.stride(), t.storage_offset(), t.dtype) for t in tensors]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("name", drawn("layouts of compiled graphs", list(CASES), 8, str))
def test_strides_and_offsets_are_eagers_in_every_call(name: str, dynamic: bool | None) -> None:
    program, x = CASES[name]
    torch._dynamo.reset()
    compiled = torch.compile(program, backend="tierup", dynamic=dynamic)
    expected = program(x)
    for _ in range(3):
        found = compiled(x)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)
        assert described(found) == described(expected)
    (graph,) = tierup.torch.compiled_graphs()[-1:]
    assert graph.refused is None


def test_a_transposed_result_is_computed_natively_where_it_lies() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: torch.relu(x.transpose(1, 2)).exp(), backend="tierup")
    x = torch.randn(2, 4, 8)
    for _ in range(3):
        result = compiled(x)
    assert tierup.torch.compiled_graphs()[-1].stats().hits == 2
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        result.view(-1)
    assert result.transpose(1, 2).is_contiguous()


@torch.library.custom_op("tierup_layouts::in_memory", mutates_args=())
def in_memory(x: Tensor) -> Tensor:
    """The elements as they stand in memory, whatever the strides: PyTorch's recurrent layers read their operands so."""
    return torch.as_strided(x, (x.numel(),), (1,)).clone()


in_memory.register_fake(lambda x: x.new_empty(x.numel()))


def test_what_a_region_makes_contiguous_is_handed_to_an_op_of_pytorchs_so() -> None:
    def program(x: Tensor) -> Tensor:
        y = (x.t() + 1).contiguous()
        return in_memory(y) + in_memory(x.t().contiguous()) * 2

    torch._dynamo.reset()
    compiled, x = torch.compile(program, backend="tierup"), torch.randn(3, 4)
    for _ in range(3):
        torch.testing.assert_close(compiled(x), program(x))
    assert tierup.torch.compiled_graphs()[-1].stats().hits == 1  # by native regions


PARTS = {
    "chunk": lambda x: (x.chunk(2)[1],),
    "slice flattened": lambda x: (x[1:].flatten(),),
    "split flattened": lambda x: (torch.split(x, 2)[1].flatten(),),
    "part of another result": lambda x: (lambda y: (y, y[1:].flatten()))(x * 2),
    "narrow": lambda x: (x.narrow(0, 1, 1).flatten(),),
    "unflatten": lambda x: (x[1:].unflatten(-1, (1, -1)),),
    "written part": lambda x: (lambda y: (y[1:].flatten(), y.mul_(2)))(x + 1),
}


@pytest.mark.parametrize("grad", [False, True])
@pytest.mark.parametrize("what", PARTS)
def test_parts_of_tensors_of_changing_sizes_lie_where_eager_puts_them(what, grad):
    torch._dynamo.reset()
    compiled = torch.compile(PARTS[what], backend="tierup")
    for rows in (4, 6, 8, 8, 10):
        x, y = (torch.arange(2.0 * rows).view(rows, 2).requires_grad_(grad) for _ in range(2))
        got, want = compiled(x), PARTS[what](y)
        for g, w in zip(got, want, strict=True):
            torch.testing.assert_close(g, w)
            assert (g.stride(), g.storage_offset()) == (w.stride(), w.storage_offset())
        if grad:
            for results in (got, want):
                sum(k * r.sum() for k, r in enumerate(results, 1)).backward()
            torch.testing.assert_close(x.grad, y.grad)
