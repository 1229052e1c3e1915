"""tierup-functionalize against the graph it starts from: tier 0 of both, on programs of the Python front end."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from frontend_oracle import assert_same, graph

from tierup.dialect.facts.inference.infer import InferenceError, infer_function
from tierup.dialect.facts.values import Tensor
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.optable.operands import lifted
from tierup.dialect.passes.registry import PassFailure, functions, parse
from tierup.runtime.interpreter.translate import translate

VALUES = parse("builtin.module(inline,tierup-functionalize,tierup-verify-graph)")


def flat(result: Any, count: int) -> list[Any]:
    return [] if count == 0 else [result] if count == 1 else list(result)


class Functionalised:
    def __init__(self, text: str, entry: str) -> None:
        self.module = parse_module(text)
        VALUES.run(self.module)
        assert self.module.operation.verify()
        self.text = str(self.module)
        self.func = next(f for f in functions(self.module.operation) if ir.StringAttr(f.attributes["sym_name"]).value == entry)
        attributes = self.func.attributes
        self.written = list(ir.DenseI64ArrayAttr(attributes["tierup.writebacks"])) if "tierup.writebacks" in attributes else []
        self.aliases = [ir.StringAttr(a).value for a in ir.ArrayAttr(attributes["tierup.result_aliases"])]
        self.tier0 = translate(self.module, entry)

    def call(self, *args: Any) -> list[Any]:
        """The user's results; the arguments are written."""
        before = copy.deepcopy(args)
        results = flat(self.tier0.call(*args), len(self.aliases) + len(self.written))
        assert_same(list(args), list(before), "the values' graph writes nothing")
        for argument, contents in zip(self.written, results[len(self.aliases) :], strict=True):
            assert contents.dtype == args[argument].dtype and contents.shape == args[argument].shape
            args[argument][...] = contents
        return results[: len(self.aliases)]


def check(function: Callable[..., Any], *args: Any) -> Functionalised:
    """Both graphs give the same results and the same contents of arguments; aliases are what they are in tier 0; types are inferred."""
    built, leaves, arguments = graph(function, *args)
    text = str(built.module)
    made = Functionalised(text, built.entry)
    assert "!torch.tensor" not in made.text
    hidden = [h.read(arguments) for h in built.hidden]
    given, want_args = [[*copy.deepcopy(leaves), *hidden] for _ in range(2)]
    want = flat(translate(parse_module(text), built.entry).call(*want_args), len(made.aliases))
    got = made.call(*given)
    assert_same(got, want)
    assert_same(given, want_args, "arguments")
    for value, alias in zip(want, made.aliases, strict=True):
        check_alias(value, alias, want_args)
    inferred = infer_function(made.func, [lifted(a) for a in leaves + hidden]).results
    for value, known in zip([*want, *(want_args[i] for i in made.written)], inferred, strict=True):
        if isinstance(known, Tensor):
            assert known.dtype is None or known.dtype.numpy == value.dtype
            assert known.shape is None or not all(isinstance(d, int) for d in known.shape) or known.shape == value.shape
    return made


def check_alias(value: Any, alias: str, args: list[Any]) -> None:
    arrays = {i: a for i, a in enumerate(args) if isinstance(a, np.ndarray)}
    shared = [i for i, a in arrays.items() if isinstance(value, np.ndarray) and np.shares_memory(value, a)]
    kind, _, argument = alias.partition(":")
    if kind == "argument":
        assert value is args[int(argument)]
    elif kind == "view":
        assert shared == [int(argument)] or value.size == 0
    elif kind == "fresh":
        assert shared == []
    else:
        assert kind in ("may_be", "may_view", "result")


def square() -> np.ndarray:
    return np.arange(12.0).reshape(3, 4)


# --- programs ------------------------------------------------------------------------------------------------------------


def add_in_place(x, y):
    x += y
    return x


def add_scalar(x):
    x += 2
    x *= 3
    return x + 1


def row(x, i):
    x[i] = 7
    return x[i]


def element(x, i, j, v):
    x[i, j] = v
    return x.sum()


def element_update(x, i, j):
    x[i, j] += 2.5
    x[j, i] *= 2


def slices(x):
    x[1:, ::2] = 5
    x[:2] += x[1:]
    return x[1:]


def view_sees_write_to_base(x):
    y = x[1]
    x[1, 2] = 100
    return y * 2


def base_sees_write_through_view(x):
    y = x[1:]
    y += 1
    z = y[0]
    z[1] = -1
    return x.sum(), y, z


def transposed(x):
    y = x.T
    y[1] = 3
    y[2:, 1] += 4
    return y


def permuted(x):
    y = np.transpose(x, (2, 0, 1))
    y[0] = 3
    y[1, 1] += 1
    return y.sum()


def swapped_axes(x):
    y = np.swapaxes(x, 0, 1)
    y[0] = 9
    return x


def new_axis(x):
    y = x[:, None, :]
    y[1] = 3
    return x.sum()


def squeezed(x):
    y = np.squeeze(x[:1])
    y[1] = 4
    return x


def fresh_array(n):
    a = np.zeros(n)
    a[0] = 1
    a[1:] += 2
    return a


def copy_first(x):
    y = x.copy()
    y[0] = 0
    return y


def masked(x):
    x[x > 4] = 0
    return x


def gathered(x, i):
    x[i] += 1
    x[i, 0] = 8
    return x


def branch_writes(x, c):
    if c:
        x[0] = 1
    else:
        x += 2
    return x


def one_arm_writes(x, y, c):
    if x.sum() > c:
        x -= y
        y[0] = 1
    return x * 2


def nested_branches(x, c):
    if c > 0:
        if c > 1:
            x[1] = 10
        x[0] += 1
    return x


def loop_writes(x, n):
    for i in range(n):
        x[i] = x[i - 1] + i
    return x


def loop_over_rows(x):
    total = np.zeros(x.shape[1])
    for i in range(x.shape[0]):
        total += x[i]
        x[i] *= 2
    return total


def nested_loops(x):
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            if x[i, j] > 3:
                x[i, j] = i - j
    return x


def while_loop(x, n):
    i = 0
    while i < n and x[0, 0] < 50:
        x += i
        i += 1
    return x, i


def fresh_in_loop(x, n):
    for i in range(n):
        y = x * i
        y[0] = 1
        x = x + y
    return x


def carried_then_written_inside(x, n):
    for _ in range(n):
        x = x * 0.5
        x[0] = 3
    return x.sum()


def view_before_loop(x, n):
    y = x[1]
    for i in range(n):
        y[i] = i
        x[0] += y
    return y


def early_write_late_loop(x, n):
    x[0] = 1
    s = 0.0
    for i in range(n):
        s = s + x[i].sum()
    return s


def swap(x, y):
    t = x.copy()
    x[...] = y
    y[...] = t


def swap_rows(x, i, j):
    t = x[i].copy()
    x[i] = x[j]
    x[j] = t


def same_row_onto_itself(x):
    x[1:] = x[:-1]
    return x


def stacked_after_write(x):
    y = x[0]
    parts = [y, x[1]]
    y += 1
    return np.stack(parts)


def reshaped_and_forgotten(x):
    y = x.reshape(-1)
    s = y.sum()
    x[0] = 1
    return s


def arange_reshaped(n):
    a = np.arange(12).reshape(3, 4)
    a[0, 1] = n
    return a


def returns_argument_and_parts(x, y):
    return x, x[1], y.T, x + 1, y.reshape(-1)


def returns_old_and_new(x):
    before = x + 0
    x[0] = -1
    return before, x[0], x


def narrow_dtype(x, y):
    x += y
    x[0] = y[0]
    return x


def integer_store(x, v):
    x[0] = v
    return x


def results_share_memory(n):
    a = np.zeros((3, 4))
    a[0] = n
    return a, a[0], a.T


def helper_writes(x, v):
    _helper(x[1], v)
    return x


def _helper(row, v):
    row += v


_helper.__tierup_function__ = _helper  # type: ignore[attr-defined]  # what the front end looks for

F32 = np.float32
CASES: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    (add_in_place, (square(), np.ones(4))),
    (add_in_place, (np.arange(3), 5)),
    (add_in_place, (np.arange(3, dtype=np.int8), np.arange(3, dtype=np.int8))),
    (add_scalar, (square(),)),
    (add_scalar, (np.arange(4, dtype=np.uint8),)),
    (row, (square(), 1)),
    (row, (square(), -1)),
    (row, (np.arange(3), 2)),
    (element, (square(), 1, 2, 2.5)),
    (element, (np.zeros((2, 3), np.int32), 1, -1, 9)),
    (element_update, (square(), 1, 2)),
    (slices, (square(),)),
    (slices, (np.zeros((0, 4)),)),
    (view_sees_write_to_base, (square(),)),
    (base_sees_write_through_view, (square(),)),
    (transposed, (square(),)),
    (permuted, (np.arange(24.0).reshape(2, 3, 4),)),
    (swapped_axes, (square(),)),
    (new_axis, (square(),)),
    (squeezed, (square(),)),
    (fresh_array, (5,)),
    (copy_first, (square(),)),
    (masked, (square(),)),
    (gathered, (square(), np.array([0, 2]))),
    (branch_writes, (square(), True)),
    (branch_writes, (square(), False)),
    (one_arm_writes, (square(), np.ones(4), 3.0)),
    (one_arm_writes, (square(), np.ones(4), 3e9)),
    (nested_branches, (square(), 0)),
    (nested_branches, (square(), 1)),
    (nested_branches, (square(), 2)),
    (loop_writes, (square(), 3)),
    (loop_writes, (square(), 0)),
    (loop_over_rows, (square(),)),
    (nested_loops, (square(),)),
    (while_loop, (square(), 4)),
    (fresh_in_loop, (square(), 3)),
    (carried_then_written_inside, (square(), 3)),
    (carried_then_written_inside, (square(), 0)),
    (view_before_loop, (square(), 3)),
    (early_write_late_loop, (square(), 3)),
    (swap, (square(), -square())),
    (swap_rows, (square(), 0, 2)),
    (same_row_onto_itself, (square(),)),
    (stacked_after_write, (square(),)),
    (reshaped_and_forgotten, (square(),)),
    (arange_reshaped, (7,)),
    (returns_argument_and_parts, (square(), square())),
    (returns_old_and_new, (square(),)),
    (narrow_dtype, (square().astype(F32), np.full(4, 1.1))),
    (narrow_dtype, (np.zeros((2, 3), np.float16), np.full((2, 3), 1e-3, F32))),
    (integer_store, (np.arange(3), 2.9)),
    (integer_store, (np.zeros((2, 2), F32), True)),
    (results_share_memory, (2,)),
    (helper_writes, (square(), 3)),
]


@pytest.mark.parametrize(("function", "args"), CASES, ids=[f"{i}-{f.__name__}" for i, (f, _) in enumerate(CASES)])
def test_values_give_what_writes_give(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    check(function, *args)


def test_aliases_of_results() -> None:
    def alias(function: Callable[..., Any], *args: Any) -> list[str]:
        return check(function, *args).aliases

    assert alias(returns_argument_and_parts, square(), square()) == ["argument:0", "view:0", "view:1", "fresh", "may_view:1"]
    assert alias(returns_old_and_new, square()) == ["fresh", "view:0", "argument:0"]
    assert alias(results_share_memory, 1) == ["fresh", "result:0", "result:0"]
    assert alias(carried, square(), 2) == ["may_be:0"]
    assert alias(one_arm_gives_argument, square(), 2) == ["fresh", "fresh", "argument:0"]  # which of the two it is comes first
    assert alias(fresh_in_branch, square(), 2) == ["fresh"]


def carried(x, n):
    for _ in range(n):
        x = x * 2
    return x


def one_arm_gives_argument(x, c):
    return x * 2 if x.sum() > c else x


def fresh_in_branch(x, c):
    y = x + 1
    if x.sum() > c:
        y[0] = 3
    return y


def test_only_written_arguments_are_given_back() -> None:
    assert check(one_arm_writes, square(), np.ones(4), 1.0).written == [0, 1]
    assert check(add_in_place, square(), np.ones(4)).written == [0]
    assert check(copy_first, square()).written == []


def test_functions_that_were_done_stay_as_they_are() -> None:
    made = check(base_sees_write_through_view, square())
    parse("builtin.module(tierup-functionalize)").run(made.module)
    assert str(made.module) == made.text


# --- what the in-place op refuses, inference refuses -------------------------------------------------------------------


def divide_in_place(x, y):
    x /= y


def write_wide(x, y):
    x[0] = y


def put_many(x, i, v):
    x[i] = v


VIEWS_OF_TORCH = {
    "narrow": "narrow %x, %zero, %one, %two : !torch.tensor, !torch.int, !torch.int, !torch.int",
    "diagonal": "diagonal %x, %one, %zero, %one : !torch.tensor, !torch.int, !torch.int, !torch.int",
    "movedim": "movedim.int %x, %zero, %two : !torch.tensor, !torch.int, !torch.int",
}


@pytest.mark.parametrize("view", VIEWS_OF_TORCH)
def test_values_give_what_writes_through_views_of_torch_give(view: str) -> None:
    text = f"""
      func.func @main(%x: !torch.tensor) {{
        %zero = torch.constant.int 0
        %one = torch.constant.int 1
        %two = torch.constant.int 2
        %number = torch.constant.float 0.5
        %0 = torch.aten.{VIEWS_OF_TORCH[view]} -> !torch.tensor
        %1 = torch.aten.select.int %0, %zero, %one : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
        %2 = torch.aten.mul_.Scalar %1, %number : !torch.tensor, !torch.float -> !torch.tensor
        return
      }}"""
    want, got = (np.arange(36.0).reshape(3, 4, 3) for _ in range(2))
    translate(parse_module(text), "main").call(want)
    Functionalised(text, "main").call(got)
    assert_same(got, want)
    assert (want != np.arange(36.0).reshape(3, 4, 3)).any()


@pytest.mark.parametrize(
    ("function", "args", "error"),
    [
        (add_in_place, (np.arange(3), np.ones(3)), TypeError),
        (add_in_place, (np.zeros(3, bool), np.zeros(3, np.int8)), TypeError),
        (divide_in_place, (np.arange(3), np.arange(1, 4)), TypeError),
        (add_in_place, (np.zeros(3), np.zeros((2, 3))), ValueError),
        (add_in_place, (np.zeros((1, 3)), np.zeros((2, 3))), ValueError),
        (write_wide, (square(), np.zeros(3)), ValueError),
        (write_wide, (square(), np.zeros((2, 4))), ValueError),
        (put_many, (square(), np.array([0, 1]), np.zeros(3)), ValueError),
    ],
)
def test_a_write_that_raises_has_no_types(function: Callable[..., Any], args: tuple[Any, ...], error: type[Exception]) -> None:
    with pytest.raises(error):
        function(*copy.deepcopy(args))
    built, leaves, _ = graph(function, *args)
    made = Functionalised(str(built.module), built.entry)
    with pytest.raises(InferenceError):
        infer_function(made.func, [lifted(a) for a in leaves])


def test_same_kind_conversion_is_allowed() -> None:
    """float64 into float32, int64 into int32: NumPy allows both, torch too."""
    check(add_in_place, np.zeros(3, F32), np.full(3, 0.1))
    check(add_in_place, np.zeros(3, np.int32), np.full(3, 7))


# --- what cannot be said in values is refused ----------------------------------------------------------------------------


def write_to_maybe_copy(x):
    y = x.reshape(-1)
    y[0] = 1
    return x


def write_under_maybe_copy(x):
    y = x.reshape(-1)
    x[0] = 1
    return y


def write_after_ambiguous_loop(x, n):
    for _ in range(n):
        x = x * 2
    x[0] = 1
    return x


def write_to_one_of_two(x, y, c):
    z = x if x.sum() > c else y
    z[0] = 1


def write_diagonal(x):
    y = np.diagonal(x)
    y[0] = 3


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (write_to_maybe_copy, (square(),)),
        (write_under_maybe_copy, (square(),)),
        (write_after_ambiguous_loop, (square(), 2)),
        (write_to_one_of_two, (square(), square(), 1.0)),
        (write_diagonal, (square(),)),
    ],
)
def test_ambiguous_writes_are_refused_at_the_users_line(function: Callable[..., Any], args: tuple[Any, ...]) -> None:
    built, _, _ = graph(function, *args)
    module = parse_module(built.module.operation.get_asm(enable_debug_info=True))
    with pytest.raises(PassFailure) as caught:
        VALUES.run(module)
    first = caught.value.diagnostics[0]
    assert first.place.file.endswith("test_functionalize.py")
    assert "writes" in str(caught.value)


COLUMNS_VIEWED = """
func.func @f(%x: !torch.tensor) -> !torch.tensor {
  %one = torch.constant.int 1
  %flat = torch.constant.int -1
  %zero = torch.constant.int 0
  %0 = torch.aten.WRITE : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %last = torch.aten.select.int %x, %zero, %flat : !torch.tensor, !torch.int, !torch.int -> !torch.tensor
  %2 = torch.aten.zero_ %last : !torch.tensor -> !torch.tensor
  %sizes = torch.prim.ListConstruct %flat : (!torch.int) -> !torch.list<int>
  %3 = torch.aten.view %x, %sizes : !torch.tensor, !torch.list<int> -> !torch.tensor
  return %3 : !torch.tensor
}
"""


@pytest.mark.parametrize("write", ["add_.Scalar %x, %one, %one", "fill_.Scalar %x, %one : !torch.tensor, !torch.int -> !torch.tensor //"])
def test_what_was_written_is_laid_out_as_before(write: str) -> None:
    columns = np.asfortranarray(np.ones((2, 3), np.float32))
    text = COLUMNS_VIEWED.replace("WRITE", write)
    module = parse_module(text)
    VALUES.run(module)
    for program in (parse_module(text), module):
        assert translate(program, "f").call(np.ones((2, 3), np.float32)) is not None
        with pytest.raises(ValueError, match="view size is not compatible"):
            translate(program, "f").call(columns.copy(order="K"))


# --- random programs -------------------------------------------------------------------------------------------------------


def random_program(seed: int) -> str:
    """Straight lines, branches and loops that view and write three arrays of shape (4, 4)."""
    rng = np.random.default_rng(seed)
    lines = ["def program(a, b, n):", "    c = np.zeros((4, 4))"]
    whole, rows, indent = ["a", "b", "c"], [], "    "

    def pick(names: list[str]) -> str:
        return str(names[rng.integers(len(names))])

    for k in range(14):
        kind = rng.integers(9)
        x, y = pick(whole), pick(whole)
        if kind == 0:
            lines.append(f"{indent}v{k} = {x}.T")
            whole.append(f"v{k}")
        elif kind == 1:
            lines.append(f"{indent}r{k} = {x}[{rng.integers(-4, 4)}]")
            rows.append(f"r{k}")
        elif kind == 2 and rows:
            lines.append(f"{indent}{pick(rows)}[{rng.integers(4)}] = {k}")
        elif kind == 3 and rows:
            lines.append(f"{indent}{pick(rows)}[::2] += {pick(rows)}[1::2]")
        elif kind == 4:
            lines.append(f"{indent}{x}[{rng.integers(3)}:, 1:] -= {y}[0, 0]")
        elif kind == 5:
            lines.append(f"{indent}{x}[...] = {y} * 0.5")
        elif kind == 6:
            lines.append(f"{indent}n{k} = {x} + {y}")
            whole.append(f"n{k}")
        elif kind == 7:
            then, otherwise = f"{x}[1] = {y}[2]", f"{y}[:, 0] += 1"
            lines.append(f"{indent}if {x}[0, 1] > {y}[1, 0]:\n{indent}    {then}\n{indent}else:\n{indent}    {otherwise}")
        else:
            lines.append(f"{indent}for i in range(n):\n{indent}    {x}[i] = {y}[i - 1] + i\n{indent}    {y}[:, i] *= 0.5")
    lines.append(f"    return {pick(whole)}, {' + '.join(whole)}")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int, tmp_path: Any) -> None:
    source = tmp_path / "program.py"
    source.write_text(f"import numpy as np\n\n\n{random_program(seed)}\n")
    namespace: dict[str, Any] = {}
    exec(compile(source.read_text(), str(source), "exec"), namespace)
    a, b = np.arange(16.0).reshape(4, 4), np.linspace(-2, 2, 16).reshape(4, 4)
    check(namespace["program"], a, b, 3)


@pytest.mark.parametrize("write", [
    "torch.aten.scatter_.src %y, %zero, %i, %s : !torch.tensor, !torch.int, !torch.tensor, !torch.tensor -> !torch.tensor",
    "torch.aten.scatter_add_ %y, %zero, %i, %s : !torch.tensor, !torch.int, !torch.tensor, !torch.tensor -> !torch.tensor",
    "torch.aten.scatter_.value %y, %zero, %i, %one : !torch.tensor, !torch.int, !torch.tensor, !torch.int -> !torch.tensor",
])  # fmt: skip
def test_what_is_scattered_into_keeps_its_layout(write: str) -> None:
    """The view is one of a transposed tensor alone: of a row-major one it would raise."""
    text = f"""
    func.func @f(%x: !torch.tensor, %i: !torch.tensor, %s: !torch.tensor) -> !torch.tensor {{
      %none = torch.constant.none
      %zero = torch.constant.int 0
      %one = torch.constant.int 1
      %all = torch.constant.int -1
      %sizes = torch.prim.ListConstruct %all : (!torch.int) -> !torch.list<int>
      %t = torch.aten.t %x : !torch.tensor -> !torch.tensor
      %y = torch.aten.clone %t, %none : !torch.tensor, !torch.none -> !torch.tensor
      %0 = {write}
      %back = torch.aten.t %y : !torch.tensor -> !torch.tensor
      %1 = torch.aten.view %back, %sizes : !torch.tensor, !torch.list<int> -> !torch.tensor
      return %1 : !torch.tensor
    }}"""
    args = np.arange(6.0, dtype=np.float32).reshape(2, 3), np.zeros((1, 2), np.int64), np.full((1, 2), 9, np.float32)
    want = translate(parse_module(text), "f").call(*copy.deepcopy(args))
    (got,) = Functionalised(text, "f").call(*args)
    np.testing.assert_array_equal(got, want)
