"""nn.MultiheadAttention and nn.TransformerEncoderLayer from TorchScript: native whole, trained too; values, weights and gradients are eager's."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from sampling import drawn

from tierup.runtime.dispatching.version import Version
from tierup.torch import from_torchscript

pytestmark = pytest.mark.torch

X = torch.linspace(-2, 2, 2 * 5 * 16).reshape(2, 5, 16).sin()
LATER = torch.ones(5, 5, dtype=torch.bool).triu(1)
PADDING = torch.zeros(2, 5, dtype=torch.bool).index_fill(1, torch.tensor([3, 4]), True)


class Attention(torch.nn.Module):
    """Of a sequence to itself; the mask says what is not to be seen."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        return self.inner(x, x, x)


class Masked(Attention):
    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        return self.inner(x, x, x, attn_mask=mask)


class Padded(Attention):
    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        return self.inner(x, x, x, key_padding_mask=padding)


class WithoutWeights(Attention):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        return self.inner(x, x, x, need_weights=False)


class WeightsOfEachHead(Attention):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        return self.inner(x, x, x, average_attn_weights=False)


class Layer(torch.nn.Module):
    def __init__(self, activation: str, norm_first: bool) -> None:
        super().__init__()
        self.inner = torch.nn.TransformerEncoderLayer(
            16, 4, 32, dropout=0.0, activation=activation, norm_first=norm_first, batch_first=True
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


class PaddedLayer(Layer):
    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        return self.inner(x, src_key_padding_mask=padding)


class Crossed(Attention):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:
        return self.inner(x, y, y)


class Encoder(torch.nn.Module):
    """Two layers; of what is padded the fast path makes nested tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True), 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.inner(x)


class PaddedEncoder(Encoder):
    def forward(self, x: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
        return self.inner(x, src_key_padding_mask=padding)


class Decoder(torch.nn.Module):
    """Sees what came before; and a memory."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.TransformerDecoder(torch.nn.TransformerDecoderLayer(16, 4, 32, dropout=0.0, batch_first=True), 1)

    def forward(self, x: torch.Tensor, memory: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self.inner(x, memory, tgt_mask=mask, tgt_is_causal=True)


MODULES: dict[str, tuple[Any, ...]] = {
    "attention": (Attention,), "masked": (Masked, LATER), "masked by numbers": (Masked, torch.zeros(5, 5).masked_fill(LATER, -torch.inf)),
    "padded": (Padded, PADDING), "without weights": (WithoutWeights,), "weights of each head": (WeightsOfEachHead,),
    "layer": (lambda: Layer("relu", False),), "layer with norms first": (lambda: Layer("gelu", True),),
    "padded layer": (lambda: PaddedLayer("relu", False), PADDING), "crossed": (Crossed, X[:, :4] * 0.5), "encoder": (Encoder,), "padded encoder": (PaddedEncoder, PADDING),
    "decoder": (Decoder, X[:, :4] * 0.5, LATER),
}  # fmt: skip


def in_a_row(result: Any) -> list[Any]:
    return list(result) if isinstance(result, tuple) else [result]


@pytest.mark.parametrize(("name", "mode"), drawn("attention", [(name, mode) for name in MODULES for mode in ("eval", "train")], 9))
def test_results_and_gradients_are_those_of_eager_mode(name: str, mode: str) -> None:
    make, *others = MODULES[name]
    torch.manual_seed(0)
    module = make()
    getattr(module, mode)()
    ours = from_torchscript(torch.jit.script(module))
    with torch.no_grad():
        for _ in range(3):
            for found, wanted in zip(in_a_row(ours(X, *others)), in_a_row(module(X, *others)), strict=True):
                assert (found is None) is (wanted is None)
                if wanted is not None:
                    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)
    is_nested = (name, mode) == ("padded encoder", "eval")  # left to PyTorch
    assert ours.stats().hits == (0 if is_nested else 2) and all(isinstance(v, Version) for v in ours.versions), ours.explain()
    x = X.clone().requires_grad_()
    gradients = []
    for function in (ours, ours, ours, module):
        module.zero_grad()
        x.grad = None
        in_a_row(function(x, *others))[0].square().sum().backward()
        gradients.append([None if t.grad is None else t.grad.clone() for t in (x, *module.parameters())])
    for found, wanted in zip(gradients[2], gradients[3], strict=True):
        assert (found is None) is (wanted is None)
        if wanted is not None:
            torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)
    if not is_nested:
        assert all(isinstance(v, Version) for v in ours.versions), ours.explain()
        assert "under autograd: 3 calls by tierup's forward and backward programs, 0 by the original" in ours.explain()


def test_arguments_that_require_gradients_later_get_a_graph_of_their_own() -> None:
    """The fast path asks whether any does: the answer is part of the graph, as of parameters."""
    module = Attention().eval()
    for parameter in module.parameters():
        parameter.requires_grad_(False)
    ours = from_torchscript(torch.jit.script(module))
    for wants in (False, True, False, True):
        x = X.clone().requires_grad_(wants)
        result = ours(x)[0]
        assert result.requires_grad is wants
        torch.testing.assert_close(result, module(x)[0], rtol=1e-4, atol=1e-5)
        if wants:
            result.sum().backward()
            found, x.grad = x.grad, None
            module(x)[0].sum().backward()
            torch.testing.assert_close(found, x.grad, rtol=1e-3, atol=1e-4)


def test_what_is_one_tensor_and_what_is_another_is_known_when_the_graph_is_built() -> None:
    def asks(x: torch.Tensor, y: torch.Tensor) -> tuple[bool, bool, bool, bool]:
        z = x * 2
        return x is x, z is x, z is y, z is not z  # noqa: PLR0124 - that is the question

    ours = from_torchscript(torch.jit.script(asks))
    for _ in range(3):
        assert ours(X, X) == (True, False, False, False)


def test_roots_and_logarithms_of_numbers_and_any_of_lists_are_native() -> None:
    def numbers(x: torch.Tensor, a: float, n: int) -> torch.Tensor:
        scale = a**0.5 if n > 0 else a
        if any([n, 0]) and all([n, 1]):
            scale = scale + math.sqrt(a) + math.log(a)
        return x * scale + 1

    ours = from_torchscript(torch.jit.script(numbers))
    for a in (2.0, 3.5, 2.0, 9.0):
        torch.testing.assert_close(ours(X, a, 2), numbers(X, a, 2))
    assert ours.stats().hits >= 2, ours.explain()


def test_what_a_program_asks_of_ranks_and_dtypes_is_part_of_its_graph() -> None:
    def asks(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        a, b = (t.transpose(0, -1) for t in (x, y))
        if a is b or a.dtype != y.dtype or (a * b.sum()).dim() > 2:
            return a * 2
        return a + b.sum() if a.is_floating_point() else a - b.sum()

    script = torch.jit.script(asks)
    ours = from_torchscript(script)
    for _ in range(3):
        for x in (X[0], X, X[0].to(torch.int64)):
            for y in (X[0], X[0].to(torch.int64)):
                torch.testing.assert_close(ours(x, y), asks(x, y))
    assert "prim.If" not in ours.graph and ours.stats().hits >= 1, ours.explain()


def test_dtypes_of_parameters_that_were_asked_for_are_looked_at_at_every_call() -> None:
    class Asks(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(3))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.w.dtype == torch.float32:
                return x * 2 + 1
            return x - 1

    module = Asks()
    script = torch.jit.script(module)
    ours = from_torchscript(script)
    for change in (lambda m: m, lambda m: m.double(), lambda m: m.float()):
        change(script)
        for _ in range(3):
            torch.testing.assert_close(ours(X), script(X))


def test_what_is_in_a_list_that_the_program_changes_is_not_what_it_was_made_with() -> None:
    def changes(x: torch.Tensor, n: int) -> torch.Tensor:
        parts = [x, x[0]]
        parts[n] = x[0, 0]
        sizes = [x.size(0), 3]
        sizes[n] = 2
        if parts[0].dim() == 1 or len(sizes) != 2 or sizes[0] == sizes[1]:
            return x * 2
        return x + parts[0].dim()

    ours = from_torchscript(torch.jit.script(changes))
    for _ in range(3):
        for n in (0, 1, -1):
            torch.testing.assert_close(ours(X, n), changes(X, n))


def test_functions_of_math_are_those_of_torchscript_outside_of_their_domains_too() -> None:
    def numbers(x: torch.Tensor, a: float, n: int) -> tuple[torch.Tensor, float, float, float, float, int]:
        return x * 2 + 1, math.sqrt(a), math.log(a) + math.log(n), math.acos(a), math.exp(math.atan2(a, n)) * a**n, math.floor(a)

    script = torch.jit.script(numbers)
    ours = from_torchscript(script)
    for a, n in ((0.5, 2), (-0.5, 3), (-2.0, -1), (1e300, 7), (3.0, 0), (0.5, -2), (math.inf, 2), (math.nan, 2)):
        for _ in range(2):
            if math.isfinite(a) and a < 1e19:
                torch.testing.assert_close(ours(X, a, n), script(X, a, n), rtol=0, atol=0, equal_nan=True)
            else:
                with pytest.raises(RuntimeError, match="Cannot convert float"):
                    ours(X, a, n)
    assert ours.stats().hits >= 8, ours.explain()


def test_whether_two_arguments_are_one_tensor_is_part_of_the_graph() -> None:
    def doubled_or_added(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor | None = None) -> torch.Tensor:
        if x is y:
            return x * 2 + 1
        return x + y if z is None or z is not x else x - y

    ours, other = from_torchscript(torch.jit.script(doubled_or_added)), X + 1
    for _ in range(3):
        for given in ((X, X), (X, other), (X, other, X), (X, other, other), (other, other, X)):
            torch.testing.assert_close(ours(*given), doubled_or_added(*given))
        torch.testing.assert_close(ours(X, y=X), X * 2 + 1)
