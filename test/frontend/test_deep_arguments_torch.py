"""Arguments that contain themselves, or are nested without end: an exception that names them, from whatever is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import tierup  # noqa: E402 - behind the test for PyTorch

pytestmark = pytest.mark.torch
OUTSIDE: list[Any] = [np.ones(2)]
OUTSIDE.append(OUTSIDE)


@tierup.jit
def doubled(x, rest):
    return x * 2


def first(xs: list[torch.Tensor]):
    return xs[0] * 2


class Module(torch.nn.Module):
    def forward(self, x, rest):
        return x * 2


def itself(x: Any) -> list[Any]:
    found = [x]
    found.append(found)
    return found


def keyed(x: Any) -> dict[str, Any]:
    found = {"x": x}
    found["self"] = (found,)
    return found


def nested(x: Any, depth: int) -> Any:
    for _ in range(depth):
        x = [x]
    return x


X, T = np.ones(2), torch.ones(2)
EXPORTED = tierup.torch.from_export(torch.export.export(Module(), (T, [T])))
SCRIPTED = tierup.torch.from_torchscript(torch.jit.script(first))
CALLS = {
    "jit": lambda make: doubled(X, make(X)), "keyword": lambda make: doubled(x=X, rest=make(X)), "tensors": lambda make: doubled(T, make(T)),
    "vjp": lambda make: tierup.vjp(doubled, X, make(X)), "gradient": lambda make: tierup.grad(lambda x, rest: (x * 2).sum())(X, make(X)),
    "export": lambda make: EXPORTED(T, make(T)), "script": lambda make: SCRIPTED(make(T)),
    "training": lambda make: doubled(T.clone().requires_grad_(), make(T)),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("make", [itself, keyed, lambda x: nested(x, 100_000)], ids=["itself", "keyed", "deep"])
def test_what_has_no_end_is_refused_by_name(call: str, make: Any) -> None:
    for _ in range(2):
        with pytest.raises(TypeError, match=r"argument (0|1|rest|xs|primal): it is nested 100 deep, or contains itself"):
            CALLS[call](make)


def test_what_ends_in_time_is_taken_in_every_call() -> None:
    for _ in range(3):
        np.testing.assert_array_equal(doubled(X, nested(X, 99)), X * 2)
    assert doubled.stats().hits


def test_a_list_outside_that_contains_itself_is_refused_by_name() -> None:
    @tierup.jit(strict=True)
    def reads(x):
        return x * OUTSIDE[0]

    with pytest.raises(tierup.UnsupportedSyntax, match="`OUTSIDE`, which is nested 100 deep, or contains itself"):
        reads(X)
