"""TorchScript programs that act, under every way to run them: what they print, set and give is eager's, once a call."""

import copy

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing

from tierup.torch import from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch

MODES = {
    "default": {},
    "bailouts": {"speculate": "bailout"},
    "specializing": {"executor": "specializing"},
    "simple": {"bailout_depth": 0},
    "not optimised": {"optimize": False},
    "background": {"compile": "background"},
}


class Always(nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.h, self.fixed = 0, torch.zeros(2), {"a": torch.ones(2)}

    def forward(self, x, k: int, d: dict[str, torch.Tensor]):
        y = x.tanh() * k + self.fixed["a"]
        if k > 2:
            print("large", k)
            self.n += 1
        a = [1, 2]
        a.extend([3])
        b = a.copy()
        a.pop()
        made = {"a": y}
        made["b"] = x
        made["b"] = y * 2
        grown = [x]
        for i in range(k):
            grown.append(y * i)
            if i == 1:
                d["z"] = y
        z = d.get("z")
        if z is not None:
            y = y + z
        print("same", len(a), len(b))
        print("same", len(a), len(b))
        self.h = self.h + y
        return y.exp(), made, len(a), len(b), self.h, torch.stack(grown), d


class Sometimes(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0

    def forward(self, x, k: int, d: dict[str, torch.Tensor]):
        y = x.tanh() * k + d["q"]
        for i in range(k):
            if bool(y.sum() > 6 + i):
                print("large", i)
                self.n += 1
            y = y * 1.5
        return y.exp() + y[k - 9 if k > 8 else 0]


@pytest.mark.parametrize("program", [Always, Sometimes])
@pytest.mark.parametrize("mode", MODES)
def test_what_acts_does_so_once_a_call(capsys, program, mode):
    eager = program()
    scripted = torch.jit.script(copy.deepcopy(eager))
    ours = from_torchscript(scripted, **MODES[mode])
    with torch.no_grad():
        for k in (1, 1, 1, 3, 1, 3, 12, 2, 3):
            x = torch.ones(2)
            found = []
            for function in (eager, ours):
                try:
                    result = function(x, k, {"q": x})
                except IndexError:
                    result = torch.tensor([])
                found.append((result, capsys.readouterr().out))
            (wanted, printed), (got, ours_printed) = found
            assert ours_printed == printed and scripted.n == eager.n
            torch.testing.assert_close(got, wanted)
    if program is Sometimes and mode in ("default", "bailouts", "specializing"):
        assert ours.stats().hits > 0


@pytest.mark.parametrize("mode", MODES)
def test_an_exception_leaves_the_generator_where_eager_leaves_it(mode):
    @torch.jit.script
    def program(x, i: int):
        y = torch.dropout(torch.tanh(x) * 2 + 1, 0.5, True)
        return (torch.exp(y) + 1)[i] * 2 + 1

    ours, x = from_torchscript(program, **MODES[mode]), torch.ones(6)
    for i in (1, 1, 1, 9, 1, 9, 2):
        found = []
        for function in (program, ours):
            torch.manual_seed(0)
            if i == 9:
                with pytest.raises((IndexError, RuntimeError)):
                    function(x, i)
                found.append(torch.rand(1))
            else:
                found.append(torch.stack([function(x, i), torch.rand(1)[0]]))
        torch.testing.assert_close(*found)
    if mode == "default":
        assert ours.versions


class Overloaded(nn.Module):
    """A method for each kind of argument; what a tuple of alike items is, a list's would take, too."""

    @torch.jit._overload_method
    def forward(self, x: torch.Tensor, k: int = 2) -> torch.Tensor: ...

    @torch.jit._overload_method
    def forward(self, x: list[torch.Tensor], k: int = 2) -> torch.Tensor: ...  # noqa: F811

    @torch.jit._overload_method
    def forward(self, x: dict[str, torch.Tensor], k: int = 2) -> torch.Tensor: ...  # noqa: F811

    @torch.jit._overload_method
    def forward(self, x: tuple[torch.Tensor, int], k: int = 2) -> torch.Tensor: ...  # noqa: F811

    @torch.jit._overload_method
    def forward(self, x: float, k: int = 2) -> torch.Tensor: ...  # noqa: F811

    def forward(self, x, k=2):  # noqa: F811
        if isinstance(x, torch.Tensor):
            return x * k
        elif torch.jit.isinstance(x, list[torch.Tensor]):
            return x[0] + k
        elif torch.jit.isinstance(x, dict[str, torch.Tensor]):
            return x["a"] - k
        elif torch.jit.isinstance(x, tuple[torch.Tensor, int]):
            return x[0] * x[1] + k
        else:
            return torch.ones(2) * x * k


def test_overloads_are_chosen_by_keyword_and_by_what_is_in_a_container():
    eager, ours = Overloaded(), from_torchscript(torch.jit.script(Overloaded()))
    x = torch.randn(2)
    for args, kwargs in (((x,), {}), ((), {"x": x, "k": 4}), (([x, x],), {"k": 7}), (((x, 3),), {}), (({"a": x},), {}), ((2.5, 3), {})):
        torch.testing.assert_close(ours(*args, **kwargs), eager(*args, **kwargs))
    assert repr(ours).startswith("<one of 5, by the arguments: <tierup function Overloaded")
    for args, kwargs in (((x, 3, 4), {}), ((x,), {"q": 1}), ((True,), {}), (([1.0],), {})):
        with pytest.raises(TypeError, match="no signature takes these arguments; there are forward__0"):
            ours(*args, **kwargs)
