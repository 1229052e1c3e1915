"""What a result is to its argument: the very tensor, a view of it, detached, or memory of its own, as in eager mode."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup
from test.sampling import drawn

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

OPS: dict[str, Callable[[Any], Any]] = {
    "squeeze": lambda x: x.squeeze(),
    "squeeze_dim": lambda x: x.squeeze(0),
    "detach": lambda x: x.detach(),
    "detached_part": lambda x: x[1:].detach(),
    "slice": lambda x: x[:],
    "view": lambda x: x.view(x.shape),
    "view_as": lambda x: x.view_as(x),
    "reshape": lambda x: x.reshape(x.shape),
    "expand_as": lambda x: x.expand_as(x),
    "contiguous": lambda x: x.contiguous(),
    "contiguous_of_view": lambda x: x.view(x.shape).contiguous(),
    "copied": lambda x: x.t().contiguous(),
    "to": lambda x: x.to(x.dtype),
    "type_as": lambda x: x.type_as(x),
    "cpu": lambda x: x.cpu(),
    "alias": lambda x: torch.ops.aten.alias(x),
    "flatten": lambda x: x.flatten(1),
    "positive": lambda x: torch.positive(x),
    "broadcast_tensors": lambda x: torch.broadcast_tensors(x, x)[0],
    "dropout": lambda x: torch.nn.functional.dropout(x, 0.5, False),
    "atleast": lambda x: torch.atleast_2d(x),
}


def facts(f: Callable[[Any], Any], x: Any) -> dict[str, Any]:
    y = f(x)
    return {
        "is x": y is x,
        "in its memory": y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(),
        "requires_grad": y.requires_grad,
        "is_leaf": y.is_leaf,
        "is_view": y._is_view(),
        "values": y.tolist(),
    }


def same_in_every_call(made: Callable[[Any], Any], f: Callable[[Any], Any]) -> None:
    for grad_mode in (True, False):
        for requires_grad in (True, False):
            x = torch.randn(4, 4).requires_grad_(requires_grad)
            with torch.set_grad_enabled(grad_mode):
                wanted = facts(f, x)
                for call in range(3):
                    assert facts(made, x) == wanted, (grad_mode, requires_grad, call)


@pytest.mark.parametrize("name", drawn("traced identities", list(OPS), 4))
def test_a_traced_program_gives_what_eager_gives(name: str) -> None:
    same_in_every_call(tierup.torch.from_torchscript(torch.jit.trace(OPS[name], torch.randn(4, 4), check_trace=False)), OPS[name])


@pytest.mark.parametrize("name", drawn("exported identities", [n for n in OPS if n != "dropout"], 12))  # PyTorch exports dropout as a copy
def test_an_exported_program_gives_what_eager_gives(name: str) -> None:
    class M(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def forward(self, x: Any) -> Any:
            return OPS[name](x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        same_in_every_call(tierup.torch.from_export(torch.export.export(M(), (torch.randn(4, 4),))), OPS[name])


def test_views_taken_before_a_write_show_it_in_an_exported_program() -> None:
    class M(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def forward(self, x: Any) -> Any:
            found = x.view_as(x), x.squeeze(), x.unfold(0, 2, 1), x.squeeze((0, 1))
            x.mul_(2)
            return (*found, x)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = tierup.torch.from_export(torch.export.export(M(), (torch.randn(4, 4),)))
    for _ in range(3):
        x = torch.randn(4, 4)
        *views, itself = made(x)
        assert itself is x
        assert all(v._base is x for v in views)


def test_every_view_of_pytorchs_is_made_again_from_its_operand() -> None:
    from tierup.frontend.torch.fx.results import _VIEWS

    known = set(torch._C._dispatch_get_all_op_names())  # the others are TorchScript's own
    others = {"_reshape_alias", "as_strided", "lift_fresh", "slice_inverse", "_fw_primal", "_make_dual"}  # no export has them
    others |= {"view_as_complex", "view_as_real", "_conj", "_neg_view"}  # complex numbers
    others |= {"_indices", "_values", "indices", "values", "ccol_indices", "col_indices", "crow_indices", "row_indices", "_sparse_broadcast_to"}
    others |= {"_nested_get_values", "_nested_view_from_buffer", "_nested_view_from_jagged", "_test_autograd_multiple_dispatch_view"}
    names = {name.removeprefix("aten::").partition(".")[0] for name in known if name.startswith("aten::")} - others
    packets = [getattr(torch.ops.aten, name) for name in sorted(names)]
    overloads = [getattr(p, o) for p in packets for o in p.overloads()]
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    views = [o for o in overloads if o.is_view and o.name() in known and not has_kernel(o.name(), "CompositeImplicitAutograd")]
    assert len(views) > 10
    assert set(views) <= set(_VIEWS)


def test_a_reshape_that_changes_nothing_is_another_array() -> None:
    @tierup.jit
    def f(x: Any) -> Any:
        return x.reshape(x.shape), x.squeeze(), x.astype(x.dtype, copy=False)

    x = np.ones((3, 4))
    for _ in range(3):
        reshaped, squeezed, cast = f(x)
        assert reshaped is not x
        assert np.shares_memory(reshaped, x)
        assert (squeezed is x) == (x.squeeze() is x)
        assert cast is x
    assert f.stats().hits


@pytest.mark.parametrize("requires_grad", [False, True])
def test_a_tensor_that_a_script_returns_twice_is_one_tensor(requires_grad: bool) -> None:
    class M(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def forward(self, x):  # type: ignore[no-untyped-def]
            y, z = x.t(), x * 2
            return y, z, y, z

    made = tierup.torch.from_torchscript(torch.jit.script(M()))
    for _ in range(3):
        x = torch.randn(2, 3).requires_grad_(requires_grad)
        found = made(x)
        assert found[0] is found[2] and found[1] is found[3] and found[0] is not found[1]
        if requires_grad:
            (gradient,) = torch.autograd.grad(found[1].sum() + found[3].sum() + found[2].sum(), [x])
            assert gradient.tolist() == [[5.0] * 3] * 2
