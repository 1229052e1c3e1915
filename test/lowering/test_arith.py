"""Values with operators (lowering/building/arith.py): which op an operator builds, what becomes a constant, and that nothing else builds arithmetic."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import tierup
from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.lowering.building import arith
from tierup.lowering.building.arith import INDEX, SIGNED_INDEX, CmpF, CmpI, Scalar, constant, maximum, minimum, select
from tierup.lowering.math.constants import Constants

LOWERING = Path(tierup.__file__).parent / "lowering"


@pytest.fixture
def block() -> Iterator[ir.Block]:
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        with ir.InsertionPoint(module.body):
            yield module.body


def built(block: ir.Block) -> list[str]:
    """The names of the ops but constants, comparisons with their predicates."""
    names = []
    for op in (view.operation for view in block.operations):
        kinds = {"arith.cmpi": CmpI, "arith.cmpf": CmpF}
        if op.name in kinds:
            names.append(f"{op.name} {kinds[op.name](ir.IntegerAttr(op.attributes['predicate']).value).name.lower()}")
        elif op.name != "arith.constant":
            names.append(op.name)
    return names


SIGNED, UNSIGNED, BOOL, FLOAT = dtypes.i8, dtypes.u8, dtypes.bool_, dtypes.f32


@pytest.mark.parametrize(
    ("build", "dtype", "expected"),
    [
        (operator.add, SIGNED, "arith.addi"),
        (operator.add, FLOAT, "arith.addf"),
        (operator.add, BOOL, "arith.ori"),
        (operator.mul, BOOL, "arith.andi"),
        (operator.lt, SIGNED, "arith.cmpi slt"),
        (operator.lt, UNSIGNED, "arith.cmpi ult"),
        (operator.ge, BOOL, "arith.cmpi uge"),
        (operator.le, FLOAT, "arith.cmpf ole"),
        (Scalar.differs, FLOAT, "arith.cmpf une"),
        (operator.rshift, SIGNED, "arith.shrsi"),
        (operator.rshift, UNSIGNED, "arith.shrui"),
        (operator.floordiv, UNSIGNED, "arith.divui"),
        (operator.mod, dtypes.u32, "arith.remui"),
        (maximum, SIGNED, "arith.maxsi"),
        (maximum, UNSIGNED, "arith.maxui"),
        (minimum, FLOAT, "arith.minimumf"),
    ],
)
def test_an_operator_builds_the_op_of_its_dtype(
    block: ir.Block, build: Callable[[Scalar, Scalar], Scalar], dtype: dtypes.DType, expected: str
) -> None:
    build(constant(1, dtype), constant(0, dtype))
    assert built(block) == [expected]


def test_floor_division_of_signed_integers_is_refused(block: ir.Block) -> None:
    with pytest.raises(TypeError, match="not negative"):
        constant(7, dtypes.i64) // 2


def test_positions_compare_as_numbers_without_a_sign_unless_asked(block: ir.Block) -> None:
    at = constant(3, INDEX)
    assert (at < 5).dtype is dtypes.bool_
    assert (arith.of(at, SIGNED_INDEX) < 0).dtype is dtypes.bool_
    assert built(block) == ["arith.cmpi ult", "arith.cmpi slt"]


def test_adding_nothing_to_a_position_is_no_op(block: ir.Block) -> None:
    at = constant(3, INDEX)
    assert at + 0 is at
    assert 0 + at is at
    assert at * 1 is at
    assert built(block) == []


def test_a_number_takes_the_dtype_and_shape_of_what_it_meets(block: ir.Block) -> None:
    four = constant(2.0, dtypes.f32, ir.VectorType.get([4], ir.F32Type.get()))
    chosen = select(four < 1, four, 0)
    assert str(chosen.type) == "vector<4xf32>"
    assert str((four < 1).type) == "vector<4xi1>"
    assert str((1 - constant(3, dtypes.u8)).type) == "i8"


def test_values_are_the_values_that_they_wrap(block: ir.Block) -> None:
    made = constant(1, dtypes.i64)
    raw = made.owner.results[0]
    assert made == raw
    assert {raw: 1}[made] == 1
    assert arith.known(made) == 1


def test_a_home_makes_each_constant_once(block: ir.Block) -> None:
    home = Constants(block)
    x = Scalar(constant(1.5, dtypes.f32), dtypes.f32, home)
    y = (x + 0.1) * 0.1 + (x - 0.10000000001)  # the same float32
    assert (y + -0.0).home is home
    made = [str(view.operation) for view in block.operations if view.operation.name == "arith.constant"]
    assert len(made) == 3  # 1.5, 0.1, -0.0


def test_predicates_are_those_of_mlir() -> None:
    with ir.Context():
        for kind, type_, predicates in (("cmpi", "i32", CmpI), ("cmpf", "f32", CmpF)):
            for predicate in predicates:
                name = predicate.name.lower()
                module = ir.Module.parse(f"func.func @f(%x: {type_}) -> i1 {{\n%r = arith.{kind} {name}, %x, %x : {type_}\nreturn %r : i1\n}}")
                op = module.body.operations[0].operation.regions[0].blocks[0].operations[0].operation
                assert ir.IntegerAttr(op.attributes["predicate"]).value == predicate, name


def _calls(path: Path) -> Iterator[ast.Call]:
    return (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))


def test_nothing_else_in_lowering_builds_arithmetic_or_numbers_predicates() -> None:
    """A pass that needs arithmetic writes it with operators; ops that have none are `x.call("arith.divsi", y)`."""
    wrong = []
    for path in sorted(LOWERING.rglob("*.py")):
        if path == LOWERING / "building" / "arith.py":
            continue
        for call in _calls(path):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            first = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
            if name in ("op", "value", "create") and isinstance(first, str) and first.startswith("arith."):
                wrong.append(f"{path.relative_to(LOWERING)}:{call.lineno} {first}")
            if any(keyword.arg == "predicate" for keyword in call.keywords):
                wrong.append(f"{path.relative_to(LOWERING)}:{call.lineno} predicate=")
    assert wrong == []
