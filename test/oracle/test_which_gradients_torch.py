"""Of each tensor among the operands of PyTorch's samples: is its gradient a value, zeros, None, or an error, as in eager mode?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")  # which PyTorch's samples import

import oracle_cases
from oracle_cases import Case, cases, dtypes_of
from oracle_table import drawn
from sampling import IS_EXHAUSTIVE
from sampling import drawn as drawn_of

from tierup.torch import from_torchscript

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

ALWAYS = (
    "expand_as", "floor_divide", "heaviside", "lu_unpack", "nn.functional.batch_norm", "nn.functional.binary_cross_entropy_with_logits",
    "nn.functional.cosine_embedding_loss", "nn.functional.cross_entropy", "nn.functional.hinge_embedding_loss", "nn.functional.nll_loss",
    "nn.functional.soft_margin_loss", "searchsorted", "sign", "special.airy_ai", "special.hermite_polynomial_h",
)  # fmt: skip
OTHERWISE = {
    "as_strided.partial_views": "reads beyond its argument",
    "logspace.tensor_overload": "eager's Python reads its tensors as numbers, the trace does not",
    "masked.norm": "PyTorch leaves out the gradient of a norm of order 0",
    "nanquantile": "how it interpolates decides whether q has a part in it",
    "quantile": "how it interpolates decides whether q has a part in it",
    "ormqr": "PyTorch leaves out gradients of no elements",
    "to_sparse": "sparse",
    **dict.fromkeys(("allclose", "equal", "item"), "a trace of no tensors"),
    **dict.fromkeys(("_batch_norm_with_update", "_native_batch_norm_legit", "native_batch_norm", "native_layer_norm"),
                    "the statistics have gradients, which second derivatives go through"),
}  # fmt: skip


def outcome(program: Callable[..., Any], case: Case, wrt: Sequence[int]) -> tuple[Any, list[Any]]:
    """What can be compared at once, and the gradients."""
    tensors = case.tensors()
    for i in wrt:
        tensors[i].requires_grad_()
    torch.manual_seed(42)  # as PyTorch does within the samples that draw
    try:
        found = program(*tensors)
        results = list(found) if isinstance(found, (list, tuple)) else [found]
        flags = [t.requires_grad for t in results]
        joined = [t for t in results if t.requires_grad]
        if not joined:
            return (flags, "none"), []
        made = torch.autograd.grad(joined, [tensors[i] for i in wrt], [torch.linspace(-1, 2, t.numel()).view(t.shape).to(t) for t in joined], allow_unused=True)
    except RuntimeError:
        return "raises", []
    return (flags, [g is None for g in made]), [g for g in made if g is not None]


def _entries() -> list[str]:
    everything = [n for n in oracle_cases.entries() if n not in OTHERWISE and "f64" in dtypes_of(n) and "dropout" not in n]
    return everything if IS_EXHAUSTIVE else sorted({*ALWAYS, *drawn_of("which gradients", everything, 24)})


@pytest.mark.parametrize("entry", _entries())
def test_an_operand_has_a_gradient_where_eager_gives_it_one(entry: str) -> None:
    for case in drawn(cases(entry, "f64"), 2, f"which {entry}"):
        try:
            program = case.traced()
        except Exception:  # whatever PyTorch raises: there is nothing to compare
            continue
        if any(t.is_complex() for t in case(*case.tensors())) or not all(t.numel() for t in case.tensors()):
            continue
        floats = [i for i, t in enumerate(case.tensors()) if t.is_floating_point()][:4]
        ours = from_torchscript(program, optimize=False)
        for wrt in [*([i] for i in floats), *([floats] if len(floats) > 1 else [])]:
            (want, expected), (got, found) = outcome(case, case, wrt), outcome(ours, case, wrt)
            assert got == want, f"{case.name}, gradients of {wrt}: {got}, not {want}"
            torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-7, equal_nan=True)
