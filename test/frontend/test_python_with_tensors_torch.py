"""Calls with PyTorch's tensors where Python answers, all of a function or in part: the text means there what it means in native code."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tierup  # noqa: E402 - as above

pytestmark = pytest.mark.torch

X = torch.arange(1, 5)


def halves(x: Any) -> Any:
    return x / (x + x)


def in_part(x: Any) -> Any:
    y = x / (x + x)
    io.StringIO("no program opens files").read()
    return y * 2


def sums(x: Any) -> Any:
    io.StringIO().read()
    return np.sum(np.exp(x), axis=0), x.dtype == np.int64, x.mean()


@pytest.mark.parametrize("function", [in_part, sums])
def test_dtypes_are_numpys_whoever_answers(function: Callable[[Any], Any]) -> None:
    """Regions, statements between them and the Python function: which of them answers is decided by the clock."""
    jitted, wanted = tierup.jit(function), function(X.numpy())
    for _ in range(20):
        found = jitted(X)
        for one, other in zip(found if type(found) is tuple else (found,), wanted if type(wanted) is tuple else (wanted,), strict=True):
            assert type(one) is (torch.Tensor if isinstance(other, (np.ndarray, np.generic)) else type(other))
            torch.testing.assert_close(one, torch.as_tensor(other) if type(one) is torch.Tensor else other)
        jitted(X.numpy())
    assert "region" in jitted.explain() or "plain Python" in jitted.explain()


def test_arrays_alone_go_straight_to_the_python_function() -> None:
    jitted = tierup.jit(halves)
    for _ in range(4):
        jitted(X)
    jitted.leave_to(tierup.runtime.functions.elsewhere.PlainPython(halves, "as a test has it"))
    for _ in range(3):
        assert type(jitted(X.numpy())) is np.ndarray and jitted(X).dtype is torch.float64
    assert jitted._by_forward is not None and jitted.times.python.calls + jitted._passed == 3  # arrays; tensors were looked at


def test_what_is_one_object_stays_one_and_lists_that_are_written_are_the_callers() -> None:
    @tierup.jit
    def gives(x: Any, items: list[Any], names: dict[str, Any]) -> Any:
        io.StringIO().read()
        items.append(x + 1)
        items[0] = x
        names["last"] = items[-1]
        x[0] = 7
        return x, items, items[1]

    for _ in range(5):
        x, y = torch.arange(1.0, 4), torch.zeros(2)
        items, names = [y, y], {"first": y}
        one, same, two = gives(x, items, names)
        assert one is x and same is items and two is y and items[0] is x and list(names) == ["first", "last"] and names["first"] is y
        assert x.tolist() == [7, 2, 3] and items[2].tolist() == [2, 3, 4] and type(names["last"]) is torch.Tensor


def test_items_of_a_generator_are_tensors() -> None:
    @tierup.jit
    def parts(x: Any) -> Iterator[Any]:
        for i in range(2):
            yield x / (i + 1)

    assert [type(part) for part in parts(X)] == [torch.Tensor, torch.Tensor]


def test_a_text_that_names_pytorch_means_what_it_meant_before() -> None:
    layer = torch.nn.Linear(4, 4)

    def helper(x: Any) -> Any:
        return layer(x)

    class Holder:
        def __init__(self) -> None:
            self.layer = layer

        @tierup.jit
        def call(self, x: Any) -> Any:
            return self.layer(x) * 2

    texts = [tierup.jit(lambda x: torch.relu(x) / 2), tierup.jit(lambda x: helper(x) + 1), Holder().call]
    x = torch.randn(4, requires_grad=True)
    for jitted, plain in zip(texts, (lambda x: torch.relu(x) / 2, lambda x: helper(x) + 1, lambda x: layer(x) * 2), strict=True):
        for _ in range(5):
            torch.testing.assert_close(jitted(x), plain(x))
            assert jitted(x).requires_grad
    assert texts[0](X).dtype is torch.float32


def test_no_gradient_goes_through_python_and_is_refused_not_lost() -> None:
    jitted = tierup.jit(in_part)
    for _ in range(5):
        with pytest.raises(tierup.NotDifferentiable, match="where Python answers"):
            jitted(torch.ones(3, requires_grad=True))
        with torch.no_grad():
            assert jitted(torch.ones(3, requires_grad=True)).tolist() == [1, 1, 1]


def test_a_list_or_an_object_among_the_arguments_goes_the_short_way() -> None:
    class Named:
        name = "x"

    @tierup.jit
    def words(parts: list[int], named: Any) -> str:
        return named.name + repr(parts)

    for _ in range(40):
        assert words([1, 2], Named()) == "x[1, 2]"
    before = words._by_forward.calls
    for _ in range(50):
        words([1, 2], Named())
    assert words._by_forward.calls >= before + 40  # those that are timed go another way, how many hangs on the clock
