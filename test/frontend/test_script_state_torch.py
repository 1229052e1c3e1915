"""TorchScript programs that change their module, call Python, or hold values that no array stands for."""

import copy
import enum
import pickle
from typing import Union  # noqa: UP035 - what torch.jit.script reads

import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402 - it may be missing

from tierup.torch import UnsupportedProgram, from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Stateful(nn.Module):
    seen: torch.Tensor | None

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("mean", torch.zeros(3))
        self.seen, self.count, self.rate, self.odd, self.name = None, 0, 0.5, False, "a"

    def forward(self, x, limit: int):
        self.count += 1
        seen = self.seen
        self.seen = x if seen is None else torch.cat([seen, x])
        self.mean = self.mean * self.rate + self.linear(x).sum(0)
        self.mean.add_(1)
        self.odd = not self.odd
        self.name = self.name + "b"
        if self.count > limit:
            raise ValueError("too many")
        self.rate = self.rate / 2
        return self.mean, self.seen


def state(module):
    names = ("mean", "seen", "count", "rate", "odd")
    return {name: getattr(module, name) for name in names}, [ord(c) for c in module.name]


def test_attributes_are_set_as_in_pytorch_also_before_an_exception():
    module = Stateful()
    eager, scripted = copy.deepcopy(module), torch.jit.script(module)
    ours = from_torchscript(scripted)
    with torch.no_grad():
        for limit in (9, 9, 1, 9, 2):
            x = torch.randn(2, 3)
            if eager.count + 1 > limit:
                for function in (eager, ours):
                    with pytest.raises(ValueError, match="too many"):
                        function(x, limit)
            else:
                torch.testing.assert_close(ours(x, limit), eager(x, limit))
            torch.testing.assert_close(state(scripted), state(eager))
    assert "changes a list, a dict or its module" in ours.explain() and "test_script_state_torch.py" in ours.explain()
    assert ours.stats().hits == 0


class Sometimes(nn.Module):
    def __init__(self):
        super().__init__()
        self.largest = 0.0

    def forward(self, x, n: int):
        y = torch.tanh(x) * n
        if n > 2:
            self.largest = float(n)
        return y.exp() + 1


def test_an_attribute_that_is_set_in_a_branch_leaves_the_rest_native():
    scripted = torch.jit.script(Sometimes())
    ours, x = from_torchscript(scripted), torch.ones(3)
    for n, largest in ((1, 0.0), (1, 0.0), (3, 3.0), (1, 3.0), (5, 5.0)):
        torch.testing.assert_close(ours(x, n), (torch.tanh(x) * n).exp() + 1)
        assert scripted.largest == largest
    assert (ours.stats().hits, ours.stats().misses) == (2, 2)  # tier 0 has the calls that set it


def test_a_list_of_the_module_that_is_changed_in_place_is_left_to_pytorch_or_refused_with_the_line():
    class Program(nn.Module):
        items: list[torch.Tensor]

        def __init__(self):
            super().__init__()
            self.items = [torch.ones(2)]

        def forward(self, x):
            self.items.append(x)
            return self.items[-1]

    scripted = torch.jit.script(Program())
    ours = from_torchscript(scripted)
    for i in range(3):
        assert ours(torch.full((2,), i)).tolist() == [i, i]
    assert len(scripted.items) == 4
    with pytest.raises(UnsupportedProgram, match=r"test_script_state_torch\.py:\d+: the program changes 'items' of the module in place"):
        from_torchscript(scripted, foreign="error")(torch.ones(2))


class Held(nn.Module):
    def __init__(self):
        super().__init__()
        self.items, self.named, self.pair = [torch.ones(2)], {"a": torch.ones(1)}, (1, 2.5)
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        self.table = nn.ModuleDict({"p": nn.Linear(2, 2)})

    def forward(self, x):
        for _, layer in self.table.items():
            x = layer(x)
        for i, layer in enumerate(self.layers):
            x = layer(x) * (i + 1)
        return self.items[0] + x, self.named["a"] * self.pair[1], self.pair, self.items


def test_lists_dicts_and_tuples_of_the_module_are_read():
    module = Held()
    ours, x = from_torchscript(torch.jit.script(module)), torch.randn(3, 2)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(ours(x), module(x))
    assert ours.stats().hits > 0


@torch.jit.ignore
def outside(x: torch.Tensor) -> torch.Tensor:
    return x * len(calls.append(1) or calls)


calls: list[int] = []


def test_a_python_function_is_called_once_a_call_or_refused():
    @torch.jit.script
    def program(x):
        return outside(x.tanh() + 1) * 2 + 1

    ours, x = from_torchscript(program), torch.zeros(2)
    for i in range(4):
        assert ours(x).tolist() == [2 * (i + 1) + 1] * 2
    assert len(calls) == 4
    with pytest.raises(UnsupportedProgram, match="Python function"):
        from_torchscript(program, foreign="error")(x)


def test_tasks_run_where_they_are_started():
    @torch.jit.script
    def program(x):
        y = x * 3
        task = torch.jit.fork(torch.relu, x)
        return torch.jit.wait(task) + y

    ours, x = from_torchscript(program), torch.randn(4)
    for _ in range(2):
        torch.testing.assert_close(ours(x), torch.relu(x) + x * 3)
    assert ours.stats().hits == 1


def test_a_task_may_be_a_method_and_change_the_module():
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.n, self.w = 0, nn.Parameter(torch.ones(2))

        def task(self, x, items: list[torch.Tensor]):
            self.n += 1
            items.append(x)
            return x * self.w + self.n

        def forward(self, x):
            items = [x]
            task = torch.jit.fork(self.task, x, items)
            y = torch.jit.wait(task)
            return y + len(items), self.n

    scripted = torch.jit.script(Program())
    ours, x = from_torchscript(scripted), torch.zeros(2)
    with torch.no_grad():
        for n in (1, 2, 3):
            y, seen = ours(x)
            assert (y.tolist(), seen, scripted.n) == ([n + 2] * 2, n, n)


def test_what_a_task_appends_is_in_the_list():
    def task(items: list[int]):
        items.append(2)
        return len(items)

    @torch.jit.script
    def program(x):
        items = [1]
        n = torch.jit.wait(torch.jit.fork(task, items))
        return x + n, len(items), items

    y, length, items = from_torchscript(program)(torch.zeros(1))
    assert (y.item(), length, items) == (2, 2, [1, 2])


def test_the_type_of_a_value_is_known_from_the_call():
    @torch.jit.script
    def program(x, by: Union[int, float]):
        return x + by if isinstance(by, int) else x - 1

    ours, x = from_torchscript(program), torch.zeros(2)
    assert [ours(x, by).tolist() for by in (3, 0.5, 2)] == [[3, 3], [-1, -1], [2, 2]]


def test_an_optional_that_must_be_something():
    @torch.jit.script
    def program(x, o: torch.Tensor | None):
        y = torch.jit._unwrap_optional(o)
        y.add_(1)
        return x + y

    ours, o = from_torchscript(program), torch.zeros(2)
    assert ours(torch.ones(2), o).tolist() == [2, 2]
    assert o.tolist() == [1, 1]
    with pytest.raises(AssertionError, match="null optional"):
        ours(torch.ones(2), None)


def test_enumerations_are_compared_when_the_graph_is_built():
    @torch.jit.script
    def program(x):
        return x + 1 if Color.RED == Color.GREEN else x - 1

    assert from_torchscript(program)(torch.zeros(1)).item() == -1


def test_nested_containers():
    @torch.jit.script
    def program(x, d: dict[str, list[tuple[torch.Tensor, int]]], o: list[torch.Tensor | None]):
        found: dict[str, list[torch.Tensor]] = {}
        for k, items in d.items():
            found[k] = []
            for t, i in items:
                found[k].append(t * i + x)
        missing = 0
        for t in o:
            if t is not None:
                x = x + t
            else:
                missing += 1
        part = (x, missing, 3.0)[0:2]
        return found, part, x.tolist() if False else list(range(missing))

    ours, x = from_torchscript(program), torch.randn(2)
    for _ in range(3):
        found, (y, missing), numbers = ours(x, {"a": [(x, 1), (x, 2)], "b": []}, [x, None])
        torch.testing.assert_close(found, {"a": [x * 2, x * 3], "b": []})
        torch.testing.assert_close(y, x * 2)
        assert (missing, numbers) == (1, [0])


@pytest.mark.parametrize(
    "text",
    [
        "torch.complex(x, x).abs()",
        "torch.fft.irfft(torch.fft.rfft(x) * 1j)",
        "x.to(torch.complex64)",
        "x.to_sparse()",
        "torch.quantize_per_tensor(x, 0.1, 0, torch.qint8)",
        "torch.dequantize(torch._make_per_tensor_quantized_tensor(x.to(torch.int8), 0.1, 3))",
        "torch.zeros(2, dtype=torch.float8_e5m2).to(torch.float32) + x.to(torch.float8_e4m3fn).to(torch.float32)",
        "torch.empty(2, device='meta')",
        "x.to('meta')",
    ],
)
def test_programs_that_make_what_no_array_stands_for_are_left_to_pytorch_or_refused(text):
    program = torch.jit.CompilationUnit(f"def program(x):\n    return {text}\n").program
    ours, x = from_torchscript(program), torch.ones(2, requires_grad=True)
    for _ in range(2):
        torch.testing.assert_close(ours(x), program(x))
    with pytest.raises(UnsupportedProgram):
        from_torchscript(program, foreign="error")(x)


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.zeros(()))

    def forward(self, x):
        self.steps += 1
        return x * self.steps


def test_a_buffer_counted_in_inference_mode_stays_the_tensor_that_it_is() -> None:
    module = Counting()
    f = from_torchscript(torch.jit.script(module))
    buffer = f._source.module.steps
    for n in range(1, 7):
        with torch.inference_mode(n % 2 == 0):
            assert f(torch.ones(2)).tolist() == [n, n]
        now = f._source.module.steps
        assert now.data_ptr() == buffer.data_ptr() and not now.is_inference()


def before(self, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
    return (given[0] + 1,)


class Doubling(nn.Module):
    def forward(self, x):
        return x * 2


def test_hooks_of_submodules_are_part_of_the_program_and_those_of_the_module_are_refused():
    hooked = Doubling()
    hooked.register_forward_pre_hook(before)
    ours = from_torchscript(torch.jit.script(nn.Sequential(hooked)))
    assert [ours(torch.ones(2)).tolist() for _ in range(3)] == [[4, 4]] * 3 and ours.stats().hits == 2
    with pytest.raises(UnsupportedProgram, match="Doubling has hooks"):
        from_torchscript(torch.jit.script(hooked))


def test_what_is_the_modules_is_asked_of_the_module():
    ours = from_torchscript(torch.jit.script(Doubling()))
    with pytest.raises(AttributeError, match="Doubling.* has no parameters: .* of the program that it was made of"):
        ours.parameters()
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="Doubling.* is neither copied nor pickled"):
            copied(ours)


@torch.jit.ignore
def sparse(x: torch.Tensor) -> torch.Tensor:
    return (x * (x > 0)).to_sparse()


@torch.jit.ignore
def listed(x: torch.Tensor) -> list[torch.Tensor]:
    return [x, torch.complex(x, x)]


@torch.jit.script
def given_back(x: torch.Tensor):
    return sparse(torch.tanh(x) * 2)


@torch.jit.script
def multiplied(x: torch.Tensor):
    made = sparse(torch.tanh(x) * 2)
    return torch.mm(made, x) + 1, made.is_sparse


@torch.jit.script
def in_a_list(x: torch.Tensor):
    return listed(x * 2)[1].abs()


class Remembers(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x):
        self.count += 1
        return sparse(x)


@pytest.mark.parametrize("program", [given_back, multiplied, in_a_list], ids=lambda p: p.name)
def test_a_program_that_a_python_function_gives_a_tensor_that_no_array_stands_for_is_pytorchs(program):
    ours, x = from_torchscript(program), torch.tensor([[0.5, -1.0], [0.0, 2.0]])
    for _ in range(3):
        torch.testing.assert_close(ours(x), program(x))
    assert ours.stats().python == 3 and "no array can stand for" in ours.explain(), ours.explain()


def test_what_a_module_has_set_by_then_is_not_set_twice():
    scripted = torch.jit.script(Remembers())
    with pytest.raises(RuntimeError, match=r"layout torch\.sparse_coo"):
        from_torchscript(scripted)(torch.ones(2))
    assert scripted.count == 1
