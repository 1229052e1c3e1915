"""Host programs on an engine of NumPy arrays: what the steps do, and what flattening makes of them."""

from __future__ import annotations

import struct
from collections import Counter
from typing import Any

import numpy as np
import pytest

from tierup.lowering.artifacts.host_steps import Constant, HostProgram, reads_of_assumptions
from tierup.runtime.cuda.host import elements
from tierup.runtime.cuda.host.flat import ALIGNMENT, Data, Given, Launch, Temporary, Write, flatten, free_numbers
from tierup.runtime.cuda.host.interpreter import ARITHMETIC, Left, dense, run


class NumpyEngine:
    """Memory is a NumPy array of one dim; launches are written down, and may have a function."""

    def __init__(self, **kernels: Any) -> None:
        self.kernels, self.launches, self.freed, self.allocated = kernels, [], [], []

    def allocate(self, dtype: str, count: int) -> np.ndarray:
        self.allocated.append(np.zeros(count, dtype.replace("index", "i64").replace("i1", "?").replace("i64", "i8").replace("f32", "f4")))
        return self.allocated[-1]

    def free(self, memory: np.ndarray) -> None:
        self.freed.append(memory)

    def data(self, name: str) -> str:
        return f"data {name}"

    def launch(self, kernel: str, grid: tuple, block: tuple, shared: int, parameters: tuple) -> None:
        self.launches.append((kernel, grid, block, shared, parameters))
        if kernel in self.kernels:
            self.kernels[kernel](*parameters)

    def read(self, memory: np.ndarray, element: int, dtype: str) -> Any:
        return memory[element].item()

    def write(self, value: Any, memory: np.ndarray, element: int, dtype: str) -> None:
        memory[element] = value


def program(*steps: tuple, arguments: int = 1, returns: tuple[int, ...] = (), **fields: Any) -> HostProgram:
    return HostProgram(arguments, steps, returns, (), fields.pop("constants", {}), **fields)


X = np.arange(12, dtype="f4")


def test_sizes_views_and_fields_of_descriptors_reach_the_kernel() -> None:
    engine = NumpyEngine()
    steps = (
        ("constant", 1, 1), ("size", 2, 0, 1), ("constant", 3, 2), ("mul", 4, 2, 3), ("view", 5, 0, 3, (4, 1), (2, 1)),
        ("field", 6, 5, 2), ("base", 7, 0),
        ("launch", "k", (4, 1, 1), (2, 1, 1), 3, ((5, 1), (5, 2), (5, 3), (5, 4), (5, 5), (5, 6), (6, -1), (7, 1))),
    )  # fmt: skip
    run(program(*steps), [dense(X, "f32", (3, 4))], engine)
    [(name, grid, block, shared, parameters)] = engine.launches
    assert (name, grid, block, shared) == ("k", (8, 1, 1), (4, 1, 1), 2)
    assert parameters[0] is X and parameters[7] is X
    assert parameters[1:7] == (2, 8, 1, 4, 1, 2)


def test_sizes_are_ints_also_where_they_are_made_of_bools() -> None:
    steps = (("constant", 1, 0), ("gt", 2, 0, 1), ("allocate", 3, "f32", (0, 2)))
    (made,) = run(program(*steps, returns=(3,)), [True], NumpyEngine())
    assert [type(v) for v in (*made.sizes, *made.strides)] == [int] * 4  # a layout with (True, 1) would be found for (1, 1)


def test_a_launch_of_no_blocks_is_left_out() -> None:
    engine = NumpyEngine()
    run(program(("constant", 1, 0), ("constant", 2, 1), ("launch", "k", (2, 1, 2), (2, 2, 2), -1, ())), [dense(X, "f32", (12,))], engine)
    assert not engine.launches


def test_what_is_allocated_is_freed_once_also_when_a_kernel_fails() -> None:
    def fails(*_: Any) -> None:
        raise ZeroDivisionError

    steps = (
        ("constant", 1, 4), ("allocate", 2, "f32", (1, 1)), ("allocate", 3, "f32", (1,)), ("free", 2), ("launch", "k", (1, 1, 1), (1, 1, 1), -1, ()),
    )  # fmt: skip
    engine = NumpyEngine(k=fails)
    with pytest.raises(ZeroDivisionError):
        run(program(*steps), [dense(X, "f32", (12,))], engine)
    assert [a.size for a in engine.freed] == [16, 4] and len({id(a) for a in engine.freed}) == 2


def test_loops_branches_reads_and_writes() -> None:
    steps = (
        ("constant", 1, 0), ("constant", 2, 3), ("constant", 3, 1),
        ("for", 4, 1, 2, 3, (("read", 5, 0, (4,), "f32"), ("gt", 6, 5, 3), ("if", 6, (("write", 4, 0, (4,), "f32"),), (("write", 2, 0, (4,), "f32"),)))),
        ("read", 7, 0, (3,), "f32"),
    )  # fmt: skip
    array = np.array([0.5, 1.5, 2.5, 9.0], "f4")
    assert run(program(*steps, returns=(7, 2)), [dense(array, "f32", (4,))], NumpyEngine()) == (1.0, 3)
    assert array.tolist() == [3.0, 1.0, 2.0, 9.0]


def test_an_exit_ends_the_program_with_values_whose_memory_is_the_catchers() -> None:
    engine = NumpyEngine()
    steps = (
        ("constant", 1, 4), ("allocate", 2, "f32", (1,)), ("allocate", 3, "f32", (1,)), ("view", 4, 3, 5, (1,), (1,)), ("constant", 6, 0),
        ("for", 7, 6, 1, 8, (
            ("forced", 9, 2),
            ("read", 10, 0, (7,), "f32"), ("eq", 11, 10, 1), ("or", 12, 11, 9), ("if", 12, (("exit", 2, (4, 7, 0, 2)),), ()),
            ("write", 10, 2, (7,), "f32"),
        )),
        ("launch", "k", (8, 8, 8), (8, 8, 8), -1, ()),
    )  # fmt: skip
    wrapped = program(("constant", 5, 1), ("constant", 8, 1), *steps, reads={10: "aten.Bool.Tensor at f.py:3"})
    for at, lost in ((2, (-1, 0)), (1, (2, 1)), (2, (1, 0))):
        counts: Counter[int] = Counter()
        engine.freed.clear()
        with pytest.raises(Left) as left:
            run(wrapped, [dense(np.array([0, 9, 4, 4], "f4"), "f32", (4,))], engine, lost=lost, reads=counts)
        exit_ = left.value
        view, number, given, other = exit_.values
        assert (exit_.index, number, view.offset, view.strides) == (2, at, 1, (4,)) and counts == {10: at + 1}
        assert {id(m) for m in exit_.memory} == {id(view.memory), id(other.memory)} and not engine.freed and given.memory[1] == 9
        assert other.memory.tolist() == [[0, 9][i] if i < at else 0 for i in range(4)]
    assert not engine.launches
    assert flatten(wrapped, [dense(X, "f32", (4,))]) is None and reads_of_assumptions(wrapped) == {2: frozenset({10})}


def test_a_program_is_flat_for_the_numbers_for_which_its_assumptions_are_kept() -> None:
    kept, lost = ("launch", "k", (3, 3, 3), (3, 3, 3), -1, ((0, 1),)), ("exit", 0, (0, 2))
    assumptions = program(("constant", 3, 3), ("gt", 4, 1, 3), ("if", 4, (kept,), (lost,)), arguments=3)
    x = dense(X, "f32", (12,))
    assert free_numbers(assumptions) == {2}, "what only lives on at an exit may be any number"
    assert flatten(assumptions, [x, 4, 7], free_numbers(assumptions)) is not None and flatten(assumptions, [x, 3, 7], free_numbers(assumptions)) is None
    assert reads_of_assumptions(assumptions) == {0: frozenset()}


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (0.1, "f32", float(np.float32(0.1))), (1e300, "f32", np.inf), (0.1, "bf16", 0.10009765625), (2.5, "i64", 2), (-2.5, "i64", -2),
        (np.nan, "i64", 0), (2.0**63, "i64", 0), (300, "i8", 44), (2**31, "i32", -(2**31)), (3, "i1", 1), (2, "i1", 0), (7, "f64", 7.0),
    ],
)  # fmt: skip
def test_a_cast_rounds_floats_and_cuts_ints(value: float, dtype: str, expected: float) -> None:
    assert run(program(("cast", 1, 0, dtype), returns=(1,)), [value], NumpyEngine()) == (expected,)


def test_a_loop_frees_in_each_turn_what_it_does_not_carry_on() -> None:
    grow = (
        ("allocate", 6, "f32", (2,)), ("launch", "k", (3, 3, 3), (3, 3, 3), -1, ((5, 1), (6, 1))), ("allocate", 7, "f32", (2,)), ("move", 5, 6),
    )  # fmt: skip
    start = (("constant", 1, 0), ("constant", 2, 5), ("constant", 3, 1), ("allocate", 4, "f32", (2,)), ("move", 5, 4))
    turns = (("gt", 9, 2, 1), ("sub", 2, 2, 3))
    for loop in (("for", 8, 1, 2, 3, grow), ("while", 9, turns, grow)):
        seen: list[int] = []
        engine = NumpyEngine(k=lambda *_, seen=seen: seen.append(len(engine.allocated) - len(engine.freed)))  # noqa: B023 - called in this turn
        (last,) = run(program(*start, loop, returns=(5,)), [dense(X, "f32", (12,))], engine)
        assert seen == [2, 3, 3, 3, 3]  # the argument's, what is carried, and what it becomes
        assert last.memory is engine.allocated[-2] and len(engine.allocated) == 11
        assert len({id(a) for a in engine.freed}) == len(engine.freed) == 10 and not any(a is last.memory for a in engine.freed)


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("add", ((1 << 63) - 1, 1), -(1 << 63)), ("mul", (1 << 62, 4), 0), ("sub", (-(1 << 63), 1), (1 << 63) - 1),
        ("div", (-7, 2), -3), ("floordiv", (-7, 2), -4), ("ceildiv", (7, 2), 4), ("ceildiv", (-7, 2), -3), ("rem", (-7, 2), -1), ("div", (7, 0), 0),
        ("min", (2, -1), -1), ("select", (0, 5, 6), 6), ("xor", (1, 1), 0), ("shl", (3, 63), -(1 << 63)), ("shr", (-5, 1), -3), ("mulhigh", (-(1 << 62), 8), -2),
        ("fdiv", (1.0, 0.0), float("inf")), ("fdiv", (1.0, -0.0), float("-inf")),
        ("lt", (1, 2), True), ("ge", (1, 2), False), ("fmax", (2.0, -1.0), 2.0), ("fmin", (2.0, -1.0), -1.0), ("fmax", (1.0, 3.0), 3.0),
    ],
)  # fmt: skip
def test_arithmetic_is_that_of_64_bits(name: str, given: tuple, expected: float) -> None:
    assert ARITHMETIC[name](*given) == expected


def test_the_larger_of_a_number_and_none_is_none() -> None:
    nan = float("nan")
    assert all(np.isnan(ARITHMETIC[name](*given)) for name in ("fmax", "fmin") for given in ((nan, 1.0), (1.0, nan)))


def test_an_unknown_step_and_a_wrong_number_of_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="'jump'"):
        run(program(("jump", 1)), [dense(X, "f32", (12,))], NumpyEngine())
    with pytest.raises(ValueError, match="2 arguments was given 1"):
        run(program(arguments=2), [dense(X, "f32", (12,))], NumpyEngine())


# --- elements -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (-1, "i8", b"\xff"), (255, "i8", b"\xff"), (300, "i8", b"\x2c"), (True, "i1", b"\1"), (5, "i1", b"\1"), (1 << 31, "i32", b"\0\0\0\x80"),
        (1, "i64", b"\1" + bytes(7)), (1.0, "f32", struct.pack("f", 1)), (1e300, "f32", struct.pack("f", float("inf"))), (-1e9, "f16", struct.pack("e", float("-inf"))),
        (1.0, "bf16", b"\x80\x3f"), (1 + 2**-8, "bf16", b"\x80\x3f"), (1 + 3 * 2**-8, "bf16", b"\x82\x3f"), (0xDEAD, "ptr", (0xDEAD).to_bytes(8, "little")),
        (2, "f64", struct.pack("d", 2)),
    ],
)  # fmt: skip
def test_numbers_become_elements(value: float, dtype: str, expected: bytes) -> None:
    assert elements.pack(value, dtype) == expected and elements.size(dtype) == len(expected)


def test_elements_become_numbers_and_a_nan_stays_one() -> None:
    assert elements.unpack(b"\xff", "i8") == -1 and elements.unpack(b"\7", "i1") == 1
    assert elements.unpack(elements.pack(-2.5, "bf16"), "bf16") == -2.5
    assert np.isnan(elements.unpack(elements.pack(float("nan"), "bf16"), "bf16"))
    with pytest.raises(ValueError, match="type i7"):
        elements.size("i7")


# --- flattening -----------------------------------------------------------------------------------------------------

_CHAIN = (
    ("constant", 2, 0), ("size", 3, 0, 2), ("constant", 4, 1),
    ("allocate", 5, "f32", (3,)), ("launch", "a", (3, 4, 4), (4, 4, 4), -1, ((0, 1), (5, 1))),
    ("allocate", 6, "f32", (3,)), ("launch", "b", (3, 4, 4), (4, 4, 4), -1, ((5, 1), (6, 1), (1, -1))),
    ("allocate", 7, "f32", (3,)), ("launch", "c", (3, 4, 4), (4, 4, 4), -1, ((6, 1), (7, 1))),
    ("launch", "d", (3, 4, 4), (4, 4, 4), -1, ((7, 1), (0, 1), (0, 3))),
)  # fmt: skip


def test_a_flat_program_has_sizes_in_its_launches_and_names_for_memory() -> None:
    flat = flatten(program(*_CHAIN, arguments=2), [dense(None, "f32", (100,)), 2.5])
    assert [op.kernel for op in flat.launches] == ["a", "b", "c", "d"] and flat.launches[0].grid == (100, 1, 1)
    x, first = flat.launches[0].parameters
    assert isinstance(x, Given) and x.index == 0 and isinstance(first, Temporary)
    assert flat.launches[1].parameters[2] == 2.5 and flat.launches[3].parameters[2] == 100


def test_temporaries_that_are_not_in_use_together_share_memory_and_others_do_not() -> None:
    flat = flatten(program(*_CHAIN, arguments=2), [dense(None, "f32", (100,)), 2.5])
    first, second, third = (flat.launches[i].parameters[1] for i in range(3))
    assert first.offset == third.offset != second.offset  # "a" and "c" write where the other is done
    assert all(t.offset % ALIGNMENT == 0 for t in (first, second, third))
    assert flat.bytes == 2 * 400 + 112  # two of them, the second aligned


def test_numbers_that_only_kernels_take_are_left_open() -> None:
    made = program(*_CHAIN, arguments=2)
    assert free_numbers(made) == {1}
    flat = flatten(made, [dense(None, "f32", (100,)), 2.5], free_numbers(made))
    assert isinstance(flat.launches[1].parameters[2], Given)


def test_numbers_that_the_host_looks_at_are_not_left_open() -> None:
    assert free_numbers(program(("constant", 3, 7), ("add", 4, 3, 1), arguments=3)) == {0, 2}
    assert free_numbers(program(("if", 1, (("write", 2, 0, (), "i32"),), ()), arguments=4)) == {3}


def test_a_program_that_reads_is_not_flattened_and_one_that_writes_is() -> None:
    assert flatten(program(("read", 1, 0, (), "i32")), [dense(None, "i32", ())]) is None
    flat = flatten(program(("constant", 1, 7), ("write", 1, 0, (), "i32")), [dense(None, "i32", ())])
    [write] = flat.ops
    assert isinstance(write, Write) and (write.value, write.element, write.dtype) == (7, 0, "i32") and write.memory.index == 0


def test_constants_are_named() -> None:
    flat = flatten(
        program(("data", 1, "c"), ("constant", 2, 1), ("launch", "k", (2, 2, 2), (2, 2, 2), -1, ((1, 1),)), constants={"c": Constant("f32", (2,), bytes(8))}),
        [dense(None, "f32", ())],
    )  # fmt: skip
    [op] = flat.ops
    assert isinstance(op, Launch) and isinstance(op.parameters[0], Data) and op.parameters[0].name == "c"
