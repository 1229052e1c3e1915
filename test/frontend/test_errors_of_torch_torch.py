"""What a program from TorchScript raises is of eager mode's class in every call, whoever runs it: tier 0, native code, or PyTorch."""

from collections.abc import Callable
from typing import Any

import pytest
from sampling import drawn

torch = pytest.importorskip("torch")
import tierup  # noqa: E402 - behind the test for PyTorch
from tierup.dialect.base.exceptions import exception  # noqa: E402
from tierup.frontend.torch.errors import through_torch  # noqa: E402

pytestmark = pytest.mark.torch
Tensor = torch.Tensor


class Recurrent(torch.nn.Module):  # raises in its own text, and is handed to PyTorch with a gradient
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.LSTM(5, 7)

    def forward(self, x: Tensor):
        return self.inner(x[None])[0]


def popped(x: Tensor, names: list[int]):
    names.pop()
    return x


def removed(x: Tensor, names: list[int]):
    names.append(1)
    names.remove(9)
    return x


def looked_up(x: Tensor, names: dict[str, Tensor]):
    return x * names["k"]


def emptied(x: Tensor, names: dict[str, Tensor]):
    return names.popitem()


def asserted(x: Tensor):
    assert x.size(0) == 4, "hm"
    return x


def raised(x: Tensor):
    if bool(x.sum() > -1):
        raise NotImplementedError("no: RuntimeError: a\nb")
    return x


class OwnError(LookupError):
    pass


class PairError(ValueError):
    def __init__(self, text: str, place: int) -> None:
        super().__init__(text, place)


def raised_of_its_own(x: Tensor):
    if x.size(0) == 3:
        raise OwnError("no three")
    return x


def divided(x: Tensor):
    return x * (1 // (x.size(0) - 3))


def converted(x: Tensor):
    return x * float("zz")


def selected(x: Tensor):
    return x[7]


def indexed(x: Tensor):
    return x[torch.tensor([9])]


def gathered(x: Tensor):
    return x.gather(0, torch.tensor([9]))


def taken_along(x: Tensor):
    return torch.take_along_dim(x, torch.tensor([[0]]), 0)


def added_at(x: Tensor):
    return torch.index_add(x.view(3, 1), 0, torch.tensor([7]), x[:1].view(1, 1))


def read(x: Tensor):
    return x.item()


def asked(x: Tensor):
    return x + 1 if x else x


def asked_of_none(x: Tensor):
    return bool(x[3:])


def pooled(x: Tensor):
    return torch.nn.functional.avg_pool2d(x[None], 2)


def summed(x: Tensor):
    return x.sum(4)


def multiplied(x: Tensor):
    return x @ x[:2]


def itemised(x: Tensor, names: list[int]):
    return x * names[5]


PROGRAMS: list[tuple[Any, tuple[Any, ...]]] = [
    *[(f, ()) for f in (Recurrent(), asserted, raised, raised_of_its_own, divided, converted, selected, indexed, gathered, taken_along, added_at, read)],
    *[(f, ()) for f in (asked, asked_of_none, pooled, summed, multiplied)],
    *[(f, ([],)) for f in (popped, removed, itemised)], (looked_up, ({},)), (emptied, ({},)),
]  # fmt: skip
_TEXT_ALONE = (gathered, added_at)  # "index 9 is out of bounds" is all that PyTorch says of it, as of what it calls an IndexError


def raised_by(f: Callable[..., Any], *arguments: Any) -> tuple[type[Exception], str]:
    with pytest.raises(Exception) as e:  # noqa: PT011 - which, the test asks
        f(*arguments)
    return type(e.value), str(e.value)


@pytest.mark.parametrize("gradient", [False, True])
@pytest.mark.parametrize(("program", "rest"), drawn("errors of torch", PROGRAMS, 12, lambda case: getattr(case[0], "__name__", "Recurrent")))
def test_the_class_is_that_of_eager_mode(program: Any, rest: tuple[Any, ...], gradient: bool) -> None:
    def x() -> Tensor:
        return torch.arange(3.0, requires_grad=gradient)

    expected, _ = raised_by(program, x(), *rest)
    scripted = torch.jit.script(program)
    f = tierup.torch.from_torchscript(scripted)
    assert [raised_by(f, x(), *rest)[0] for _ in range(3)] == [expected] * 3
    if program not in _TEXT_ALONE:
        assert raised_by(lambda *a: through_torch(scripted, a, {}), x(), *rest)[0] is expected


def test_the_message_of_what_pytorch_runs_is_the_programs_own() -> None:
    _, text = raised_by(lambda: through_torch(torch.jit.script(raised), (torch.ones(3),), {}))
    assert text == "no: RuntimeError: a\nb"


def test_a_class_that_a_text_alone_does_not_make_is_its_closest_built_in_one() -> None:
    made = exception(f"{__name__}.PairError", "no")
    assert (type(made), str(made)) == (ValueError, "no")
    assert type(exception("nowhere.AnyError", "no")) is RuntimeError


def test_what_is_raised_outside_of_the_interpreter_is_left_alone() -> None:
    error = RuntimeError("IndexError: a hook's")

    def hook(*_: Any) -> None:
        raise error

    with pytest.raises(RuntimeError) as e:
        through_torch(hook, (), {})
    assert e.value is error


def gathers(x: Tensor, i: Tensor, source: Tensor):
    return torch.gather(x * 2, 1, i) + 1


def scatters(x: Tensor, i: Tensor, source: Tensor):
    return torch.scatter(x * 2, 0, i, source) + 1


def fills(x: Tensor, i: Tensor, source: Tensor):
    return torch.scatter(x * 2, 0, i, 2.0) + 1


def adds(x: Tensor, i: Tensor, source: Tensor):
    return torch.scatter_add(x * 2, 1, i, source) + 1


@pytest.mark.parametrize("program", drawn("indices of a tensor's rank", [gathers, scatters, fills, adds], 2, lambda f: f.__name__ == "gathers"))
def test_an_index_larger_than_its_tensor_raises_where_versions_take_any_sizes(program: Callable[..., Any]) -> None:
    ours, sizes = tierup.torch.from_torchscript(torch.jit.script(program)), torch.Generator().manual_seed(0)
    for _ in range(30):
        shapes = torch.randint(2, 6, (3, 2), generator=sizes).tolist()
        given = torch.randn(shapes[0]), torch.randint(0, 2, shapes[1]), torch.randn(shapes[2])
        try:
            expected = program(*given)
        except RuntimeError:
            with pytest.raises(RuntimeError, match="no larger|Index tensor"):
                ours(*given)
        else:
            torch.testing.assert_close(ours(*given), expected)
    assert ours.stats().hits > 10
