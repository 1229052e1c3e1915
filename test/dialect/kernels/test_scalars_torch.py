"""Ops on numbers, lists and sizes against PyTorch's, and their rules against the kernels."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import EXPECTED, SHAPES, abstract, array, kernel, run, to_torch  # noqa: E402

from tierup.dialect import optable
from tierup.dialect.base import dtypes  # noqa: E402
from tierup.dialect.facts.values import Bool, Float, Int, List, Number, Str  # noqa: E402
from tierup.dialect.optable.core import Infer  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]
INTS = [0, 1, -1, 2, -7, 13, 2**40, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 1.0, -2.5, 0.1, 1e300, math.inf, -math.inf, math.nan]
BOOLS = [True, False]


def same(a: object, b: object) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return type(a) is type(b) and a == b


def check(op: str, operands: tuple) -> None:
    namespace, name = op.split(".", 1)
    name, _, overload = name.partition(".")
    function = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    expected, failure = run(function, *map(to_torch, operands))
    actual, raised = run(kernel(op), *operands)
    inferred, refused = run(optable.lookup(op).infer, Infer(), [abstract(o) for o in operands])
    if failure is not None or raised is not None:
        assert raised is not None, f"{op}{operands}: PyTorch raises {failure!r}, tier 0 gives {actual!r}"
        assert failure is not None, f"{op}{operands}: tier 0 raises {raised!r}, PyTorch gives {expected!r}"
        assert isinstance(failure, EXPECTED[type(raised)])
        return
    assert same(actual, list(expected) if isinstance(expected, torch.Size) else expected), f"{op}{operands}: {actual!r}, not {expected!r}"
    assert refused is None, f"{op}{operands}: the rule raises {refused!r}"
    agrees(inferred, actual)


def agrees(inferred: object, actual: object) -> None:
    """Whether an abstract value describes a run-time one."""
    if isinstance(inferred, Number):
        assert isinstance(actual, (int, float))
    elif isinstance(inferred, List):
        assert isinstance(actual, list)
        for i, a in zip(inferred.items or (), actual, strict=True):
            agrees(i, a)
    else:
        kinds = {Int: int, Float: float, Bool: bool, Str: str}
        assert type(actual) is kinds[type(inferred)], f"{inferred} for {actual!r}"
        assert inferred.value is None or same(inferred.value, actual), f"{inferred} for {actual!r}"


KINDS = {"int": INTS, "float": FLOATS, "bool": BOOLS, "str": ["", "a", "b"]}
BINARY = {
    "int": ["add", "sub", "mul", "div", "floordiv", "remainder", "eq", "ne", "lt", "le", "gt", "ge"],
    "float": ["add", "sub", "mul", "div", "eq", "lt", "gt", "ge"],
    "bool": ["eq", "ne", "__and__", "__or__"],
    "str": ["eq", "ne"],
}


@pytest.mark.parametrize("op, kind", [(op, kind) for kind, ops in BINARY.items() for op in ops])
def test_two_numbers(op: str, kind: str) -> None:
    for a, b in itertools.product(KINDS[kind], repeat=2):
        if op in ("floordiv", "remainder") and (b == 0 or (a, b) == (-(2**63), -1) or abs(b) >= 2**63 - 1):
            continue  # PyTorch's remainder traps or overflows: see the next test
        check(f"aten.{op}.{kind}", (a, b))


@pytest.mark.parametrize("op", ["floordiv", "remainder"])
def test_division_of_ints_by_zero_raises(op: str) -> None:
    with pytest.raises(ZeroDivisionError):
        kernel(f"aten.{op}.int")(1, 0)
    with pytest.raises(ZeroDivisionError):
        optable.lookup(f"aten.{op}.int").infer(Infer(), [Int(1), Int(0)])


def test_floordiv_wraps() -> None:
    assert kernel("aten.floordiv.int")(-(2**63), -1) == -(2**63)


@pytest.mark.parametrize("op", ["add.float_int", "mul.float_int", "ne.float_int", "lt.float_int", "gt.float_int", "ge.float_int"])
def test_a_float_and_an_int(op: str) -> None:
    for a, b in itertools.product(FLOATS, [0, 3, -7, 2**40]):
        check(f"aten.{op}", (a, b))


def test_an_int_and_a_float() -> None:
    for a, b in itertools.product([0, 3, -7, 2**40], FLOATS):
        check("aten.mul.int_float", (a, b))
        check("aten.pow.int_float", (a, b))


@pytest.mark.parametrize("op", ["aten.atan2", "aten.fmod", "aten.copysign", "aten.pow", "prim.max", "prim.min"])
def test_functions_of_two_numbers_are_those_of_c(op: str) -> None:
    for a, b in itertools.product([*FLOATS, -0.0], repeat=2):
        if op != "aten.pow" or a or not b < 0:  # 0.0 to a negative power raises, here as in Python
            check(f"{op}.float", (a, b))


@pytest.mark.parametrize("op", ["ceil", "floor"])
def test_a_float_that_is_no_int_of_64_bits_raises_when_it_is_rounded(op: str) -> None:
    for a in (math.nan, math.inf, -math.inf, 1e300, 2.0**63, -1e19):
        with pytest.raises(RuntimeError, match="Cannot convert float"):
            kernel(f"aten.{op}.float")(a)
    assert kernel(f"aten.{op}.float")(-(2.0**63)) == -(2**63)


@pytest.mark.parametrize("op", ["add", "sub", "mul", "div"])
def test_numbers_of_either_kind(op: str) -> None:
    """PyTorch's own binding gives a tensor here: Python's numbers are the oracle."""
    for a, b in itertools.product([1, -7, 2.5], [2, 0.5]):
        expected = {"add": a + b, "sub": a - b, "mul": a * b, "div": a / b}[op]
        assert same(kernel(f"aten.{op}")(a, b), expected)
        agrees(optable.lookup(f"aten.{op}").infer(Infer(), [abstract(a), abstract(b)]), expected)


UNARY = {
    "aten.neg.int": INTS, "aten.neg.float": FLOATS, "aten.sqrt.int": INTS, "aten.log.int": INTS, "aten.Int.float": FLOATS,
    "aten.sqrt.float": FLOATS, "aten.log.float": FLOATS,
    "aten.Int.Scalar": [2, 2.7, -2.7, True], "aten.Int.bool": BOOLS, "aten.Float.Scalar": [2, 2.5], "aten.Bool.int": INTS,
    "aten.Bool.float": FLOATS, "aten.ceil.float": [2.1, -2.1, 3.0], "aten.__not__": BOOLS, "prim.abs.Scalar": [-2, 2.5, -2.5],
    "aten.Float.str": ["1.5"], "aten.len.str": ["", "ab"],
    **{f"aten.{name}.{kind}": KINDS[kind] for name in ("acos", "asin", "atan", "cos", "sin", "tan", "cosh", "sinh", "tanh", "acosh", "asinh",
       "atanh", "exp", "expm1", "log", "log1p", "log10", "erf", "erfc", "fabs", "degrees", "radians") for kind in ("int", "float")},
    **{f"aten.{name}.float": FLOATS for name in ("isnan", "isinf", "isfinite")}, "prim.abs.float": FLOATS, "prim.abs.int": INTS,
}  # fmt: skip


@pytest.mark.parametrize("op", UNARY)
def test_one_number(op: str) -> None:
    for a in UNARY[op]:
        check(op, (a,))


@pytest.mark.parametrize("op", ["size", "dim", "numel", "len.Tensor", "is_floating_point"])
def test_what_tensors_say_of_themselves(op: str) -> None:
    for shape in SHAPES:
        for dtype in (dtypes.f32, dtypes.bf16, dtypes.bool_, dtypes.i8):
            check(f"aten.{op}", (array(shape, dtype),))


def test_size_of_one_dim() -> None:
    for shape in SHAPES:
        for dim in range(-4, 4):
            check("aten.size.int", (array(shape, dtypes.f32), dim))


def test_dtype_is_torchs_number() -> None:
    for dtype in dtypes.OF_TORCH:
        assert kernel("prim.dtype")(array((1,), dtype)) == dtype.code == torch.ops.prim.dtype(to_torch(array((1,), dtype)))


def test_dtype_of_what_no_program_computes_in_is_torchs_number_too() -> None:
    for name in ("uint16", "uint32", "uint64", "complex64", "complex128"):
        assert kernel("prim.dtype")(np.zeros(1, name)) == torch.ops.prim.dtype(torch.zeros(1, dtype=getattr(torch, name)))
    with pytest.raises(TypeError, match="object"):
        kernel("prim.dtype")(np.zeros(1, object))


@pytest.mark.parametrize("op", ["item", "Int.Tensor", "Float.Tensor", "Bool.Tensor", "IntImplicit", "FloatImplicit", "ScalarImplicit"])
def test_the_only_element(op: str) -> None:
    for dtype in dtypes.OF_TORCH:
        if op == "IntImplicit" and dtype.name == "bool":
            continue  # refused here: a bool is no int
        for shape in ((), (1,), (1, 1), (2,), (0,), (3, 1)):
            check(f"aten.{op}", (array(shape, dtype),))


def test_lists() -> None:
    for items, index in itertools.product(([], [1], [4, 5, 6]), range(-4, 4)):
        expected, failure = run(lambda: items[index])
        actual, raised = run(lambda: kernel("aten.__getitem__.t")(items, index))
        assert (actual, type(raised)) == (expected, type(failure))
        inferred, refused = run(lambda: optable.lookup("aten.__getitem__.t").infer(Infer(), [abstract(items), Int(index)]))
        assert (inferred, type(refused)) == (None if failure else Int(expected), type(failure))
    assert kernel("prim.ListConstruct")(1, 2) == [1, 2]
    assert kernel("prim.TupleConstruct")(1, 2) == (1, 2)
    assert kernel("prim.ListUnpack")([1, 2]) == (1, 2)
    assert kernel("prim.TupleUnpack")((1, 2)) == (1, 2)
    assert kernel("prim.TupleIndex")((1, 2), -1) == 2
    assert kernel("aten.add.t")([1], [2]) == [1, 2]
    assert kernel("aten.mul.left_t")([1, 2], 2) == [1, 2, 1, 2]
    assert kernel("aten.list.t")([1, 2]) == [1, 2]


@pytest.mark.parametrize("start, end, step", [*itertools.product([None, 0, 1, -2, 9], [None, 0, 3, -1], [1, 2])])
def test_list_slices(start: int | None, end: int | None, step: int) -> None:
    items = [1, 2, 3, 4]
    assert kernel("aten.slice.t")(items, start, end, step) == items[start:end:step]
    assert optable.lookup("aten.slice.t").infer(Infer(), [abstract(v) for v in (items, start, end, step)]) == abstract(items[start:end:step])


@pytest.mark.parametrize("op", ["aten.eq.int_list", "aten.ne.int_list"])
def test_lists_are_compared_by_items(op: str) -> None:
    for a, b in itertools.product(([], [1], [1, 2], [2, 1]), repeat=2):
        check(op, (a, b))


def test_membership_and_truth_of_lists() -> None:
    for item in (1, 5):
        check("aten.__contains__.int_list", ([1, 2], item))
    assert kernel("aten.__contains__.str_list")(["a"], "a")
    for items in ([], [True], [True, False], [False]):
        check("aten.any.bool", (items,))
        check("aten.all.bool", (items,))
    for kind, lists in (("int", ([], [0], [0, 3], [2, -1])), ("float", ([], [0.0], [-0.0, 0.5], [float("nan")]))):
        for items in lists:
            check(f"aten.any.{kind}", (items,))
            check(f"aten.all.{kind}", (items,))
    for items in ([], [""], ["", "a"]):
        check("aten.any.str", (items,))


@pytest.mark.parametrize("op", ["max", "min"])
def test_extremes_of_ints(op: str) -> None:
    for a, b in itertools.product([1, -3, 7], repeat=2):
        check(f"prim.{op}.int", (a, b))
    for items in ([3, 1, 2], [5], []):
        check(f"prim.{op}.self_int", (items,))


def test_ranges() -> None:
    for low, high, step in itertools.product([0, 3, -2], [0, 5, -7], [1, 2, -1, -3]):
        check("aten.__range_length", (low, high, step))
        check("aten.__derive_index", (2, low, step))
    with pytest.raises(ValueError):
        kernel("aten.__range_length")(0, 5, 0)


def test_none_is_none() -> None:
    x = np.ones(2)
    assert kernel("aten.__is__")(None, None) and not kernel("aten.__is__")(x, None)
    assert kernel("aten.__isnot__")(x, None) and not kernel("aten.__isnot__")(None, None)
    infer = optable.lookup("aten.__is__").infer
    assert infer(Infer(), [abstract(None), abstract(None)]) == Bool(True)
    assert infer(Infer(), [abstract(x), abstract(None)]) == Bool(False)


def test_exceptions_of_programs() -> None:
    with pytest.raises(ValueError, match="no"):
        kernel("prim.RaiseException")("no", "builtins.ValueError")
    with pytest.raises(RuntimeError, match="no"):
        kernel("prim.RaiseException")("no", "my.Error")
    with pytest.raises(AssertionError, match="no"):
        kernel("runtime.assert")(False, "no")
    kernel("runtime.assert")(True, "no")
