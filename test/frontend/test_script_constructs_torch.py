"""TorchScript's constructs: what eager gives, exceptions and writes included, and what happens once a call."""

from __future__ import annotations

import copy
import warnings
from typing import NamedTuple, Union  # noqa: UP035 - what torch.jit.script reads

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402 - it may be missing
from torch import nn  # noqa: E402

from tierup.runtime.dispatching.version import Version  # noqa: E402
from tierup.torch import UnsupportedProgram, from_torchscript  # noqa: E402

pytestmark = pytest.mark.torch


def agree(program, *arguments, calls=3, **options):
    """Our function of the program, called as eager is: equal results, written arguments, exceptions."""
    eager = copy.deepcopy(program) if isinstance(program, nn.Module) else program
    ours = from_torchscript(torch.jit.script(program), **options)
    with torch.no_grad():
        for given in arguments:
            for _ in range(calls):
                (wanted, left), (got, ours_left) = outcome(eager, given), outcome(ours, given)
                if isinstance(wanted, Exception):
                    assert type(got) is type(wanted), (got, wanted)
                    continue
                torch.testing.assert_close((got, ours_left), (wanted, left), rtol=1e-4, atol=1e-5)
    return ours


def outcome(function, given):
    given = copy.deepcopy(given)
    torch.manual_seed(0)
    try:
        return comparable(function(*given)), comparable(given)
    except Exception as e:  # noqa: BLE001 - it is what is compared
        return e, ()


def comparable(value):
    """`assert_close` takes no strings: as the codes of their characters."""
    if isinstance(value, (str, torch.device)):
        return [ord(c) for c in str(value)]
    if isinstance(value, dict):
        return {k: comparable(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(*map(comparable, value)) if hasattr(value, "_fields") else type(value)(map(comparable, value))
    return -1 if value is None else value


class Pair(NamedTuple):
    a: torch.Tensor
    b: int


def test_dicts():
    def program(x, d: dict[str, torch.Tensor], n: int):
        y = x + d["a"]
        made = {"u": y, "v": y * 2}
        made["w"] = y - 1
        names: list[str] = []
        for name, item in made.items():
            y = y + item
            names.append(name)
        found = d.get("q")
        if found is not None:
            y = y + found
        z = made.pop("u")
        made.update({"m": x})
        del made["m"]
        counted: dict[int, int] = {}
        for i in range(n):
            counted[i] = counted.get(i - 1, 0) + 1
        return made, [y, z], names, len(made), list(d.keys()), list(made.values()), counted, 3 in counted

    x = torch.randn(3)
    agree(program, (x, {"a": x}, 2), (x, {"a": x, "q": x + 1}, 5), (x, {"b": x}, 1))


def test_a_missing_key_is_a_key_error():
    @torch.jit.script
    def program(x, d: dict[str, torch.Tensor]):
        return x + d["a"]

    with pytest.raises(KeyError, match="a"):
        from_torchscript(program)(torch.ones(2), {"b": torch.ones(2)})


def test_lists():
    def program(x, given: list[int]):
        a = [3, 1, 2]
        a.append(5)
        a.extend([7, 8])
        a.insert(0, 9)
        last, second = a.pop(), a.pop(1)
        a.sort()
        part = a[1:3]
        part.reverse()
        ordered = sorted(a)
        a.remove(9)
        at, times = a.index(5), a.count(5)
        same, other = a == [1, 2], a != ordered
        a[0] = 100
        del a[1]
        tensors = [x, x + 1]
        tensors.append(x)
        first = tensors.pop(0)
        tensors.reverse()
        doubled = [i * 2 for i in given]
        a += [4]
        return a, last, second, part, ordered, at, times, same, other, tensors, first, doubled, max(given), min(given), sum(given), 3 in given

    ours = agree(program, (torch.randn(2), [4, 5]), calls=1)
    assert ours.stats().hits == 0


def lists_in_sight(x, n: int):
    stack = [x, x * 2]
    stack.append(x + 1)
    stack += [x - 3, x.exp()]
    last, first = stack.pop(), stack.pop(0)
    stack.insert(1, last - first)
    stack.reverse()
    numbers = [n, 3, -1, 2]
    numbers.sort()
    numbers.append(n)
    numbers[0] = numbers[-1] * 2
    del numbers[1]
    return torch.stack(stack) * numbers[0] + numbers[1], last, len(numbers), numbers


def dicts_in_sight(x, n: int):
    states = {"h": torch.zeros_like(x[0]), "c": x[0], "first": x[0] + 1}
    counted: dict[int, int] = {3: n}
    for t in range(x.size(0)):
        states["h"] = torch.tanh(states["h"] + x[t])
        if bool(x[t].sum() > 0):
            states["c"] = states["c"] * states["h"]
            counted[3] += t
    states["last"] = states["h"] + len(states)
    found = states.pop("first") * states["c"]
    return states, found * counted[3], "first" in states, "h" in states


def items_of_unbind(x, n: int):
    rows, columns = x.unbind(0), x.unbind(-1)
    kept: list[torch.Tensor] = []
    for i, (row, other) in enumerate(zip(rows, x.unbind())):
        kept.append(row * other + i + columns[-1].sum())
    return torch.stack(kept), len(rows) + n


@pytest.mark.parametrize("program", [lists_in_sight, dicts_in_sight], ids=lambda f: f.__name__)
def test_lists_and_dicts_that_are_changed_in_sight_are_native(program):
    ours = agree(program, (torch.randn(3, 2), 5))
    assert ours.stats().hits == 2 and all(isinstance(v, Version) for v in ours.versions), ours.explain()
    assert not any(op in ours.graph for op in ("aten.pop", "_set_item", "aten.reverse", "aten.append")), ours.graph
    x = torch.randn(3, 2, requires_grad=True)
    for f in (ours, program):
        x.grad = None
        (f(x, 5)[0]["last"] if program is dicts_in_sight else f(x, 5)[0]).square().sum().backward()
        gradient = x.grad if f is ours else gradient
    torch.testing.assert_close(gradient, x.grad)
    assert "0 by the original program" in ours.explain()


def test_items_of_what_unbind_gives_are_native_and_its_bounds_are_checked():
    ours = agree(items_of_unbind, (torch.randn(3, 2), 5))
    assert ours.stats().hits == 2 and all(isinstance(v, Version) for v in ours.versions), ours.explain()

    def beyond(x, n: int):
        return x.unbind(0)[n] * 2

    ours = agree(beyond, (torch.randn(3, 2), -3), (torch.randn(3, 2), 3), (torch.randn(3, 2), -4))
    assert ours.stats().hits >= 2, ours.explain()


def changed_under_two_names(x):
    d = {"a": x}
    other = d
    other["a"] = x + 1
    items = [x, x * 2]
    both = [items, items]
    items.reverse()
    return d["a"], both[0][0], items[0]


def changed_out_of_sight(x, key: str, n: int):
    d = {"a": x}
    if n > 1:
        d["new"] = x * 3
    d[key] = x + 1
    items = [x, x * 2, x * 3]
    if n > 0:
        items.reverse()
    return d, items.pop(n), items


def test_lists_and_dicts_out_of_sight_are_as_they_were():
    agree(changed_under_two_names, (torch.randn(3),), calls=1)
    agree(changed_out_of_sight, (torch.randn(3), "a", 0), (torch.randn(3), "b", 2), (torch.randn(3), "b", 5), calls=1)


def test_messages_that_are_made_before_the_check_keep_no_program_from_native_code():
    def program(x, n: int):
        torch._assert(x.size(0) == 3, f"expected 3, not {x.size(0)}")
        torch._assert(n > 0, f"{n} is not above 0, of {x.size(1)}")
        return torch.tanh(x) * n

    ours = agree(program, (torch.randn(3, 2), 2), (torch.randn(4, 2), 2), (torch.randn(3, 2), -1))
    assert ours.stats().hits >= 2 and all(isinstance(v, Version) for v in ours.versions), ours.explain()


SIZES = {"b": 2, "i": 3, "j": 4, "k": 5}
EQUATIONS = ["bij,bjk->bik", "ij,kj", "ij,ij->", "bi,bj->bij", "ij,jk,kb->ib", "ji->ij", "ij->j", "bij,kj->ibk", "ij,->ij"]


@pytest.mark.parametrize("equation", EQUATIONS)
def test_einsteins_sums_are_products(equation):
    """Also of sizes that broadcast."""
    names = [f"x{i}" for i in range(equation.count(",") + 1)]
    text = f"def run({', '.join(names)}):\n    return torch.einsum('{equation}', {', '.join(names)}) * 2\n"
    ours = from_torchscript(torch.jit.CompilationUnit(text).run)
    for of_first in (SIZES, {}):
        labels = equation.partition("->")[0].split(",")
        given = [torch.randn([(SIZES if i else of_first).get(c, 1) for c in each]) for i, each in enumerate(labels)]
        torch.testing.assert_close(ours(*given), torch.einsum(equation, *given) * 2, rtol=1e-4, atol=1e-5)
    assert "aten.einsum" not in ours.graph


def test_attention_by_einsteins_sums_is_native_and_trained_so():
    def program(x, w):
        q = torch.einsum("bij,jk->bik", x, w)
        return torch.einsum("bij,bjk->bik", torch.softmax(torch.einsum("bik,bjk->bij", q, q), -1), x)

    ours = agree(program, (torch.randn(2, 3, 4), torch.randn(4, 5)))
    assert ours.stats().hits == 2 and all(isinstance(v, Version) for v in ours.versions), ours.explain()
    x, w = torch.randn(2, 3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
    found = [torch.autograd.grad(f(x, w).square().sum(), [x, w]) for f in (ours, program)]
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-4)
    assert "0 by the original program" in ours.explain()


def test_a_missing_item_is_a_value_error():
    @torch.jit.script
    def program(x, n: int):
        items = [1, 2]
        items.remove(n)
        return x + items[0]

    with pytest.raises(ValueError, match="not in list"):
        from_torchscript(program)(torch.ones(2), 3)


def test_strings():
    def program(x, s: str, n: int, f: float):
        text = f"{n} {s}" + ",".join(["a", "b"]) + str(n) + s.upper() + "%d %s" % (n, s) + "{} {}".format(n, f)  # noqa: UP031, UP032
        tests = [s == "abc", s in ["abc", "d"], "b" in s, s < "b", s.startswith("a"), s.isdigit()]
        parts = s[0] + s[-1] + s[1:]
        return text, tests, parts, len(s), s.split(","), s.replace("a", "z"), s.find("b"), int("3"), float("2.5"), ord("a"), chr(98), x + n

    agree(program, (torch.randn(3), "abc", 2, 0.5), (torch.randn(3), "a,b", 1, 1.0))


def test_a_test_of_known_strings_leaves_one_arm():
    def program(x, mode: str):
        if mode in ["tanh", "th"]:
            return torch.tanh(x) * 2
        if mode == "exp":
            return torch.exp(x) * 3
        raise ValueError(f"unknown mode {mode}")

    ours = agree(program, (torch.randn(3), "th"), (torch.randn(3), "exp"), (torch.randn(3), "sin"))
    assert "prim.If" not in ours.graph


def test_tuples_and_named_tuples():
    def program(x, pair: Pair, plain: tuple[int, torch.Tensor], o: int | None = None):
        a, b = plain
        nested = (a, (b, x))
        made = Pair(x, 3)
        if o is not None:
            x = x * o
        return made, made.a * pair.a + pair.b, nested[1][0], nested, x, pair, o

    x = torch.randn(2)
    ours = agree(program, (x, Pair(x, 2), (1, x)), (x, Pair(x, 2), (1, x), 3))
    made, *_ = ours(x, Pair(x, 2), (1, x))
    assert (type(made).__name__, made._fields, made.b) == ("Pair", ("a", "b"), 3)


def test_a_string_in_the_place_of_a_tensor_or_a_number_is_refused():
    @torch.jit.script
    def program(x, n: int):
        return x * n

    ours = from_torchscript(program)
    for given, wanted in ((("a", 1), "Tensor"), ((torch.ones(2), "a"), "int")):
        with pytest.raises(RuntimeError, match=f"expected a value of type {wanted}, and found a str"):
            ours(*given)


def test_what_an_operator_names_is_a_plain_tuple_as_in_torchscript():
    def program(x):
        return x.max(0), [x.topk(1, 0)], {"a": x.sort(0)}, Pair(x, 3)

    scripted = torch.jit.script(program)
    ours, x = from_torchscript(scripted), torch.randn(3, 2)
    for _ in range(3):
        most, (topk,), sorted_, pair = ours(x)
        assert [type(v) for v in (most, topk, sorted_["a"])] == [tuple] * 3 and type(pair).__name__ == "Pair"
        torch.testing.assert_close([most, topk, sorted_["a"]], [*scripted(x)[0:1], scripted(x)[1][0], scripted(x)[2]["a"]])


def test_a_list_that_grows_in_a_branch_is_not_taken_for_known():
    def program(x, n: int):
        flags = [True]
        seen = [1]
        for i in range(n):
            if len(seen) > 2:
                x = x * 2
            seen.append(i)
        if n > 1:
            flags.append(False)
        known = [True, n > 1]
        known.append(True)
        return x + 1 if all(flags) else x - 1, all(known), len(seen)

    agree(program, (torch.randn(3), 0), (torch.randn(3), 4))


def test_what_is_asked_of_a_tensor_is_known():
    def program(x):
        here = x.device, x.device.type, x.is_cuda, x.layout == torch.strided, x.is_sparse, x.dtype == torch.float32, x.ndim, x.is_nested
        if x.is_cuda or x.requires_grad or x.device.type != "cpu" or torch.is_grad_enabled():
            raise ValueError("not here")
        return here, x.data + 1, x.to(x.device) * 2

    ours = agree(program, (torch.randn(2, 3),))
    assert ours.stats().hits > 0
    with torch.no_grad():
        assert ours(torch.ones(1))[0][0] == torch.device("cpu")


def test_ranks_that_are_known_are_those_of_eager():
    def program(x, w):
        ranks = [F.linear(x, w).dim(), F.linear(x, w.t()).dim(), w.t().softmax(-1).dim(), (F.linear(x, w) + w)[None].dim()]
        dims: list[int] = []
        for i in range(F.linear(x, w).dim()):
            dims.append(-1 - i)
        return F.linear(x, w).permute(dims), ranks, torch.where(x > 0, w, x).dim(), F.layer_norm(x, [3]).transpose(0, -1).dim()

    given = [(torch.randn(*sizes, 3), w) for sizes in ([], [2], [2, 4]) for w in (torch.randn(3), torch.randn(3, 3))]
    agree(program, *given)


def test_whether_gradients_are_enabled_chooses_the_graph():
    @torch.jit.script
    def program(x):
        return x + 1 if torch.is_grad_enabled() else x - 1

    ours, x = from_torchscript(program), torch.zeros(2)
    assert ours(x).tolist() == [1, 1]
    with torch.no_grad():
        assert ours(x).tolist() == [-1, -1]
    assert ours(x).tolist() == [1, 1]


def test_whether_a_parameter_requires_a_gradient_chooses_the_graph():
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))

        def forward(self, x):
            return x + self.w if self.w.requires_grad else x - self.w

    module = Program()
    ours, x = from_torchscript(torch.jit.script(module)), torch.zeros(2)
    assert ours(x).tolist() == [1, 1]
    module.w.requires_grad_(False)
    assert ours(x).tolist() == [-1, -1]


def test_what_is_computed_from_a_parameter_requires_a_gradient_while_they_are_enabled():
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(2))

        def forward(self, x):
            y = x
            for _ in range(2):
                y = y + self.w
            return y + 10 if y.requires_grad else y - 10

    ours, x = from_torchscript(torch.jit.script(Program())), torch.zeros(2)
    assert ours(x).tolist() == [12, 12]
    with torch.no_grad():
        assert ours(x).tolist() == [-8, -8]


def test_a_question_for_an_arguments_gradient_is_answered_as_by_pytorch():
    @torch.jit.script
    def program(x, ys: List[torch.Tensor]):
        z = x + 1 if x.requires_grad else x - 1
        return z * 2 if ys[1].requires_grad else z

    ours, plain = from_torchscript(program, gradients="error"), torch.zeros(1)
    wanting = torch.zeros(1, requires_grad=True)
    for _ in range(3):
        assert ours(wanting, [plain, plain]).item() == 1 and ours(plain, [plain, plain]).item() == -1
        assert ours(wanting, [plain, wanting]).item() == 2 and ours(plain, ys=[wanting, plain]).item() == -1
        with torch.no_grad():  # a leaf requires one there, too
            assert ours(wanting, [plain, wanting]).item() == 2
    assert " 0 by the original program in PyTorch" in ours.explain() or "by the original" not in ours.explain()


def test_exceptions_are_those_of_eager():
    def program(x, y, n: int):
        assert x.dim() == 2, "two dims"
        if n > 5:
            raise ValueError(f"bad {n}")
        if n > 4:
            raise IndexError("no such thing")
        if n > 3:
            raise NotImplementedError("not yet")
        return torch.mm(x, y) + 6 // n

    x, y = torch.randn(2, 3), torch.randn(3, 2)
    good = (x, y, 1)
    bad = [(x[0], y, 1), (x, y, 6), (x, y, 5), (x, y, 4), (x, x, 1), (x, y.double(), 1), (x, y, 0)]
    ours = agree(program, good, *bad, good)
    assert ours.stats().hits > 0


def test_an_assertion_has_its_message_and_the_users_line():
    @torch.jit.script
    def program(x):
        assert x.dim() == 2, "two dims"
        return x

    with pytest.raises(AssertionError, match=r"^two dims\nat test_script_constructs_torch\.py:\d+"):
        from_torchscript(program)(torch.ones(2))


def test_print_happens_once_a_call(capsys):
    @torch.jit.script
    def program(x, n: int):
        y = torch.tanh(x) * n
        print(n, "times", x, [n, 2])
        return y.exp() + 1

    ours = from_torchscript(program)
    for n in range(4):
        ours(torch.ones(2), n)
        assert capsys.readouterr().out == f"{n} times tensor([1., 1.]) [{n}, 2]\n"
    assert "acts (prim.Print)" in ours.explain()


@pytest.mark.parametrize("speculate", ["versioned", "bailout"])
def test_print_in_a_branch_happens_once_a_call_and_leaves_the_rest_native(capsys, speculate):
    @torch.jit.script
    def program(x, n: int):
        y = torch.tanh(x) * n
        if n > 2:
            print("large", n)
        return y.exp() + x[n - 4]

    ours, x = from_torchscript(program, speculate=speculate), torch.ones(4)
    for n in (1, 1, 1, 3, 1, 3):
        torch.testing.assert_close(ours(x, n), program(x, n))
        assert capsys.readouterr().out == ("large 3\n" * 2 if n > 2 else "")
    with pytest.raises(IndexError):
        ours(x, 9)
    assert capsys.readouterr().out == "large 9\n"
    assert ours.stats().hits > 2


def test_print_between_native_regions_happens_once_a_call(capsys):
    @torch.jit.script
    def program(x, y):
        d = torch.cdist(torch.tanh(x) * 2 + 1, y)
        if bool(d.sum() > 0):
            print("far")
        return torch.mm(torch.exp(d) - 1, torch.tanh(d) + 1)

    ours = from_torchscript(program)
    for x, y in ((torch.ones(2, 2), torch.zeros(2, 2)),) * 5:
        torch.testing.assert_close(ours(x, y), program(x, y))
        assert capsys.readouterr().out == "far\n" * 2
    with pytest.raises(RuntimeError):
        ours(torch.ones(2, 2), torch.zeros(3, 2))
    assert capsys.readouterr().out == "far\n"


def test_a_gradient_of_a_program_that_prints_is_pytorchs(capsys):
    class Program(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(3, 3)

        def forward(self, x, n: int):
            if n > 2:
                print("large")
            return self.linear(x) * n

    module = Program()
    ours, x = from_torchscript(torch.jit.script(module)), torch.randn(2, 3)
    for n in (1, 3, 3):
        result = ours(x, n)
        assert capsys.readouterr().out == ("large\n" if n > 2 else "")
        module.zero_grad()
        result.sum().backward()
        torch.testing.assert_close(module.linear.bias.grad, torch.full((3,), 2.0 * n))


def test_warnings_are_pythons_at_the_users_line():
    def program(x):
        if bool(x.sum() > 0):
            warnings.warn("positive")  # noqa: B028 - as users write it
        return x.tanh() * 2

    ours = from_torchscript(torch.jit.script(program))
    for x in (torch.ones(2), -torch.ones(2)) * 3:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            torch.testing.assert_close(ours(x), program(x))
        line = program.__code__.co_firstlineno + 2
        places = [(str(w.message), w.category, w.lineno, w.filename) for w in found]
        assert places == [("positive", UserWarning, line, __file__)] * (2 if x[0] > 0 else 0)
    assert ours.stats().hits > 0


@pytest.mark.parametrize("wants_gradients", [False, True])
def test_a_warning_that_is_given_once_is_no_part_of_the_graphs_after_it(wants_gradients):
    def program(x):
        warnings.warn("often")  # noqa: B028 - as users write it
        return x.tanh() * 2

    ours = from_torchscript(torch.jit.script(program))

    def counts(action):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter(action)
            for _ in range(3):
                x = torch.ones(2, requires_grad=wants_gradients)
                torch.testing.assert_close(ours(x).detach(), x.detach().tanh() * 2)
                if wants_gradients:
                    result = ours(x)
                    result.sum().backward()
                    torch.testing.assert_close(x.grad, 2 * (1 - x.detach().tanh() ** 2))
        return len(found)

    assert counts("default") == 1
    assert "programs, 0 by the original program" in ours.explain() if wants_gradients else ours.stats().hits == 1, ours.explain()
    assert counts("always") == (6 if wants_gradients else 3)
    assert counts("ignore") == 0


def test_a_branch_that_warns_costs_no_gradient_where_it_is_not_taken():
    def program(x, y):
        return F.mse_loss(torch.tanh(x), y)

    ours = from_torchscript(torch.jit.script(program))
    warned = []
    for n in (3, 3, 3, 1, 3):
        x, y = torch.linspace(-1, 1, 3, requires_grad=True), torch.full((n,), 0.5)
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            ours(x, y).backward()
        warned.append(len(found))
        (expected,) = torch.autograd.grad(((torch.tanh(x) - y) ** 2).mean(), x)
        torch.testing.assert_close(x.grad, expected)
    assert warned == [0, 0, 0, 1, 0]
    assert "programs, 1 by the original program" in ours.explain()


def test_what_a_program_drew_before_it_warned_is_drawn_again_by_pytorch():
    def program(x):
        y = x * torch.rand(3)
        if bool(x.sum() > 0):
            warnings.warn("positive")  # noqa: B028 - as users write it
        return y * 2

    ours = from_torchscript(torch.jit.script(program))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("always", message="positive")
        for sign in (-1.0, -1.0, 1.0):
            x = torch.full((3,), sign, requires_grad=True)
            torch.manual_seed(5)
            expected = program(x)
            torch.manual_seed(5)
            torch.testing.assert_close(ours(x), expected)


class Block(nn.Module):
    def __init__(self, momentum):
        super().__init__()
        self.c, self.b = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, momentum=momentum)

    def forward(self, x):
        return F.relu(self.b(self.c(x)))


@pytest.mark.parametrize("momentum", [0.1, None])
def test_batch_norm_in_training_writes_its_statistics(momentum):
    module = Block(momentum).train()
    eager, scripted = copy.deepcopy(module), torch.jit.script(module)
    ours = from_torchscript(scripted)
    with torch.no_grad():
        for i in range(5):
            x = torch.randn(2 + i % 2, 3, 5, 5)
            torch.testing.assert_close(ours(x), eager(x), rtol=1e-4, atol=1e-5)
            torch.testing.assert_close(dict(scripted.state_dict()), dict(eager.state_dict()), rtol=1e-4, atol=1e-5)
    assert ours.stats().hits > 0


def test_instance_norm_in_training_writes_its_statistics_once_a_call():
    module = nn.InstanceNorm2d(3, track_running_stats=True).train()
    eager, scripted = copy.deepcopy(module), torch.jit.script(module)
    ours, x = from_torchscript(scripted), torch.randn(2, 3, 4, 4)
    with torch.no_grad():
        for _ in range(3):
            torch.testing.assert_close(ours(x), eager(x))
    torch.testing.assert_close(dict(scripted.state_dict()), dict(eager.state_dict()))


@pytest.mark.parametrize("module", [nn.InstanceNorm2d(3, affine=True), nn.InstanceNorm2d(3, track_running_stats=True).eval()], ids=["own", "running"])
def test_instance_norm_that_writes_nothing_is_native(module):
    ours = from_torchscript(torch.jit.script(module))
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(2, 3, 4, 4)
            torch.testing.assert_close(ours(x), module(x))
    assert ours.stats().hits == 2, ours.explain()


def test_batch_norm_of_one_value_raises_as_eager():
    agree(nn.BatchNorm1d(5).train(), (torch.randn(1, 5),))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.MultiheadAttention(16, 2)

    def forward(self, x):
        return self.a(x, x, x)


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.g = nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True), nn.GRU(10, 3)
        self.c, self.d = nn.LSTMCell(3, 3), nn.GRUCell(3, 3)

    def forward(self, x):
        y, (h, c) = self.a(x)
        z, _ = self.g(y)
        hx = self.c(z[0], (z[0], z[0]))
        return self.d(hx[0], z[0]), hx, h, c


LAYER = {"batch_first": True, "dropout": 0.0}
MASK = torch.triu(torch.ones(5, 5), 1).bool()


@pytest.mark.parametrize(
    ("module", "given"),
    [
        (nn.TransformerEncoderLayer(16, 2, 32, **LAYER).eval(), ()),
        (nn.TransformerEncoderLayer(16, 2, 32, **LAYER).eval(), (MASK,)),
        (nn.TransformerEncoderLayer(16, 2, 32, **LAYER).train(), (None, MASK[:2])),
        (nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1).train(), ()),
        (Attention(), ()),
    ],
    ids=["eval", "masked", "padded", "dropout", "attention"],
)
def test_attention_layers(module, given):
    agree(module, (torch.randn(2, 5, 16), *given))


def test_a_layer_whose_parameters_require_gradients_takes_the_path_that_eager_takes():
    layer = nn.TransformerEncoderLayer(16, 2, 32, **LAYER).eval()
    ours, x = from_torchscript(torch.jit.script(layer)), torch.randn(2, 5, 16)
    torch.testing.assert_close(ours(x), layer(x).detach(), rtol=1e-4, atol=1e-5)
    assert "_transformer_encoder_layer_fwd" not in ours.graph
    with torch.no_grad():
        torch.testing.assert_close(ours(x), layer(x), rtol=1e-4, atol=1e-5)


def test_recurrent_layers_and_cells():
    ours = agree(Recurrent(), (torch.randn(3, 2, 4),))
    assert ours.stats().hits > 0


def test_the_same_seed_gives_the_same_numbers():
    def program(x):
        a, b, c = torch.rand(3) + torch.randn(3), torch.bernoulli(torch.full((3,), 0.5)), torch.rand_like(x)
        d, e, f = torch.empty(3).uniform_(), torch.randint(0, 10, (3,)), torch.randperm(5)
        x.normal_()
        return a, b, c, d, e, f, torch.normal(0.0, 1.0, (2,)), torch.multinomial(torch.ones(4), 2), F.dropout(x)

    agree(program, (torch.randn(4),))
    agree(nn.Sequential(nn.Dropout(0.3), nn.Linear(8, 8), nn.AlphaDropout(0.2), nn.ReLU(), nn.Linear(8, 8)).train(), (torch.randn(3, 8),))


def test_in_place_ops_without_a_row_write_the_argument():
    def program(x, i):
        x.index_reduce_(0, i, torch.ones(2, 3), "amax")
        x.fill_diagonal_(5.0)
        x[1:].renorm_(2.0, 0, 2.0)
        return x.t()

    x = torch.zeros(3, 3)
    agree(program, (x, torch.tensor([0, 1])))


def test_in_place_ops_whose_twins_torch_mlir_does_not_have_are_native_and_trained():
    def program(x, i):
        y = (x * 2).index_add_(0, i, torch.ones(2, 3)).addmm_(x, x, alpha=0.5)
        y[1:].index_fill_(1, i, 7.0)
        y.nan_to_num_(0.5).xlogy_(x.sigmoid())
        return y.erfc_().cumsum_(1), torch.zeros(2, 3).scatter_reduce_(0, i.view(-1, 1).expand(-1, 3), x[:2], "amax", include_self=False)

    given = torch.randn(3, 3), torch.tensor([0, 1])
    ours = agree(program, given, foreign="error")
    assert ours.stats().hits == 2 and all(isinstance(v, Version) for v in ours.versions), ours.explain()
    x, again = given[0].requires_grad_(), given[0].detach().clone().requires_grad_()
    trained = from_torchscript(torch.jit.script(program), gradients="error")
    for _ in range(2):
        sum(t.square().sum() for t in program(x, given[1])).backward()
        sum(t.square().sum() for t in trained(again, given[1])).backward()
    torch.testing.assert_close(again.grad, x.grad)


@torch.jit.script
class Holder:
    def __init__(self, held: torch.Tensor):
        self.held = held


def by_kind(x: Union[torch.Tensor, Holder]):  # noqa: UP007
    if isinstance(x, Holder):
        return x.held
    return x.exp() + 1


def test_a_tensor_is_no_object_of_a_class_that_it_might_have_been():
    def program(x):
        return by_kind(x) * 2

    ours = agree(program, (torch.randn(3),), foreign="error")
    assert ours.stats().hits == 2, ours.explain()


def test_an_op_that_changes_a_shape_in_place_is_left_to_pytorch_or_refused_with_the_line():
    @torch.jit.script
    def program(x):
        y = x * 2
        y.unsqueeze_(0)
        return y

    ours = from_torchscript(program)
    for _ in range(3):
        assert ours(torch.ones(2)).tolist() == [[2, 2]]
    assert "3 calls by the original program: the program has what is not translated" in ours.explain()
    for refuses in ({"foreign": "error"}, {"gradients": "error"}):
        with pytest.raises(UnsupportedProgram, match=r"\.py:\d+: aten.unsqueeze_ changes the shape of a tensor in place"):
            from_torchscript(program, **refuses)(torch.ones(2))


def test_kernels_by_torch_have_names_of_their_own():
    from tierup.dialect.optable.kernels import by_torch

    names = ["aten.scaled_dot_product_attention", "aten.index_add_.x", "aten.index_add._x", "aten.a_d.b", "aten.a.d.b"]
    assert len({by_torch.spelled(n) for n in names}) == len(names)
    assert [by_torch.op_of(by_torch.spelled(n)) for n in names] == names


@torch.jit.script
def chosen(x, mask: torch.Tensor | None, causal: int):
    if causal > 0:
        mask = torch.ones(3, 3).tril()
    if mask is not None:
        x = (x * mask).exp() + mask
    return torch.linalg.matrix_exp(x) + x


def test_an_optional_tensor_that_a_branch_gives_is_native_between_ops_left_to_pytorch():
    ours = from_torchscript(chosen)
    for causal in (0, 0, 0, 0, 1):
        x, mask = torch.rand(3, 3), torch.rand(3, 3)
        torch.testing.assert_close(ours(x, mask, causal), chosen(x, mask, causal))
    assert (ours.stats().profiled_runs, ours.stats().hits) == (2, 3)
    assert "aten.linalg_matrix_exp: has no native code" in ours.explain()


def test_the_order_of_a_norm_may_be_an_int_or_a_float_of_the_program_under_autograd() -> None:
    """TorchScript calls it a number once it knows that it is not None."""

    def norms(x: torch.Tensor) -> torch.Tensor:
        return torch.norm(x, 3.0, dim=0) + torch.norm(x, 1, dim=0) + torch.norm(x, 3.0)

    program = torch.jit.script(norms)
    ours = from_torchscript(program)
    for seed in range(3):
        x = torch.randn(3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        ours(a).sum().backward()
        program(b).sum().backward()
        torch.testing.assert_close(a.grad, b.grad)
    assert ours.stats().hits


@pytest.mark.parametrize("call", ["unfold(1, 2, 1).reshape(-1)", "unfold(0, 3, 2).sum(1)", "unfold(-1, 3, 1).cos()"])
def test_windows_of_sizes_that_only_the_run_knows_are_as_many_as_eagers(call):
    script = torch.jit.CompilationUnit(f"def f(x: Tensor):\n    return (x * 2).{call} * 3\n").f
    ours = from_torchscript(script, fusion_strategy=[("dynamic", 1)])
    for n in (4, 5, 3, 8, 2):
        x = torch.arange(n * (n + 1.0)).reshape(n, n + 1)
        try:
            expected = script(x)
        except RuntimeError:
            with pytest.raises(RuntimeError, match="maximum size for tensor"):
                ours(x)
            continue
        torch.testing.assert_close(ours(x), expected)
    assert ours.stats().hits >= 3 and [v.speculation.kind for v in ours.versions] == ["dynamic"]
