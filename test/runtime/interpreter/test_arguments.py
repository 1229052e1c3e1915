"""What a call accepts, and what it says of what it does not."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest
from interpreter_programs import main

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def identity(type_: str):
    return main(f'(%x: {type_} {{tierup.name = "x"}}) -> {type_}', f"return %x : {type_}")


def three():
    return main('(%x: !t {tierup.name = "x"}, %w: !t {tierup.name = "w"}, %b: !i {tierup.name = "b"}) -> !t', "return %x : !t")


@pytest.mark.parametrize(("leaves", "message"), [
    ((X, X), "main() takes 3 arguments (x, w, b) but 2 were given"),
    ((X,), "main() takes 3 arguments (x, w, b) but 1 was given"),
    ((), "main() takes 3 arguments (x, w, b) but 0 were given"),
    ((X, X, 1, 1), "main() takes 3 arguments (x, w, b) but 4 were given"),
])  # fmt: skip
def test_wrong_number_of_arguments_is_counted(leaves: tuple[object, ...], message: str) -> None:
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        three()(*leaves)


def test_function_without_arguments_counts_too() -> None:
    with pytest.raises(TypeError, match=r"^main\(\) takes 0 arguments but 1 was given$"):
        main("() -> !n", "return %none : !n")(1)


@pytest.mark.parametrize(("type_", "value", "message"), [
    ("!t", [1.0], "argument x: expected a tensor, got list"),
    ("!t", 1.0, "argument x: expected a tensor, got float"),
    ("!t", None, "argument x: expected a tensor, got NoneType"),
    ("!t", "abc", "argument x: expected a tensor, got str"),
    ("!t", np.ma.masked_array([1.0]), "argument x: expected a tensor, got MaskedArray"),
    ("!t", np.array([object()]), "argument x: dtype object is not supported; programs take bool, uint8"),
    ("!t", np.array([1j]), "argument x: dtype complex128 is not supported"),
    ("!t", np.array(["a"]), "argument x: dtype <U1 is not supported"),
    ("!t", np.array([1], np.longdouble), "argument x: dtype float128 is not supported"),
    ("!t", np.array([1], np.longdouble), "argument x: dtype .* is not supported"),
    ("!t", np.array(["2020-01-01"], "datetime64[D]"), "is not supported"),
    ("!t", np.zeros(2, [("a", "f4")]), "is not supported"),
    ("!torch.vtensor<[?,3],f32>", X.astype(np.float64), "argument x: expected dtype float32, got float64"),
    ("!i", 1.0, "argument x: expected an int, got float"),
    ("!i", True, "argument x: expected an int, got bool"),
    ("!i", np.array(1), "argument x: expected an int, got ndarray"),
    ("!f", "1", "argument x: expected a float, got str"),
    ("!f", True, "argument x: expected a float, got bool"),
    ("!b", 1, "argument x: expected a bool, got int"),
    ("!s", 1, "argument x: expected a str, got int"),
    ("!n", 1, "argument x: expected None, got int"),
    ("!torch.number", "1", "argument x: expected a number, got str"),
    ("!li", 3, "argument x: expected a list of int, got int"),
    ("!li", [1, 2.0], r"argument x\[1\]: expected an int, got float"),
    ("!lt", [X, None], r"argument x\[1\]: expected a tensor, got NoneType"),
    ("!torch.tuple<vtensor, int>", (X,), "argument x: expected 2 items, got 1"),
    ("!torch.tuple<vtensor, int>", [X, 1], r"argument x: expected a tuple \(tensor, int\), got list"),
    ("!torch.optional<int>", 1.5, "argument x: expected an int, got float"),
])  # fmt: skip
def test_wrong_kind_or_dtype_is_a_type_error_that_names_the_argument(type_: str, value: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        identity(type_)(value)


@pytest.mark.parametrize(("type_", "shape", "message"), [
    ("!torch.vtensor<[?,4],f32>", (3, 5), "argument x: expected shape (?, 4), got (3, 5)"),
    ("!torch.vtensor<[?,4],f32>", (4,), "argument x: expected shape (?, 4), got (4,)"),
    ("!torch.vtensor<[2],f32>", (3,), "argument x: expected shape (2,), got (3,)"),
    ("!torch.vtensor<[],f32>", (1,), "argument x: expected shape (), got (1,)"),
    ("!torch.vtensor<[0,2],f32>", (1, 2), "argument x: expected shape (0, 2), got (1, 2)"),
])  # fmt: skip
def test_wrong_shape_is_a_value_error_that_names_the_argument(type_: str, shape: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        identity(type_)(np.zeros(shape, np.float32))


def test_type_bound_is_checked_like_a_type() -> None:
    f = main('(%x: !m {torch.type_bound = !torch.vtensor<[?,3],f32>, tierup.name = "x"}) -> !m', "return %x : !m")
    assert f(X) is X
    with pytest.raises(ValueError, match=r"argument x: expected shape \(\?, 3\), got \(3,\)"):
        f(X[0])


def test_function_goes_on_working_after_a_wrong_call() -> None:
    f = three()
    with pytest.raises(TypeError):
        f(X, 1, 1)
    assert f(X, X, 1) is X


def test_fitting_arrays_are_passed_as_they_are() -> None:
    strided = np.zeros((4, 8), np.float32)[::2, ::-3]
    empty = np.zeros((0, 3), np.float32)
    for array in (X, strided, empty, np.zeros((), bool), np.zeros(3, ml_dtypes.bfloat16)):
        assert identity("!t")(array) is array
    assert identity("!torch.vtensor<[?,3],f32>")(X) is X
    assert identity("!torch.vtensor<*,f32>")(X) is X
    assert identity("!torch.vtensor<[2,3],unk>")(X) is X


def test_equal_dtype_objects_that_are_not_identical_fit() -> None:
    other = np.zeros(3, np.dtype(np.float32, metadata={"unit": "m"}))
    assert identity("!torch.vtensor<[3],f32>")(other) is other


def test_foreign_byte_order_is_converted() -> None:
    for type_ in ("!t", "!torch.vtensor<[2,3],f32>"):
        got = identity(type_)(X.astype(">f4"))
        assert got.dtype == np.float32 and got.dtype.isnative
        np.testing.assert_array_equal(got, X)


def test_misaligned_arrays_are_computed_with() -> None:
    memory = np.zeros(25, np.uint8)
    misaligned = memory[1:].view(np.float32)[:6].reshape(2, 3)
    misaligned[:] = X
    assert not misaligned.flags.aligned
    f = main("(%x: !t) -> !t", "%y = torch.aten.add.Tensor %x, %x, %c1 : !t, !t, !i -> !t\n return %y : !t")
    np.testing.assert_array_equal(f(misaligned), X + X)


def test_array_subclasses_count_as_their_memory(tmp_path) -> None:
    np.save(tmp_path / "x.npy", X)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    got = identity("!t")(mapped)
    assert type(got) is np.ndarray and np.shares_memory(got, mapped)


@pytest.mark.parametrize(("type_", "value", "expected"), [
    ("!i", np.int32(3), 3),
    ("!f", 3, 3.0),
    ("!f", np.float32(0.5), 0.5),
    ("!b", np.bool_(True), True),
    ("!torch.number", np.int64(3), 3),
    ("!torch.number", 2.5, 2.5),
    ("!li", (1, np.int8(2)), [1, 2]),
    ("!torch.optional<float>", 1, 1.0),
    ("!torch.optional<float>", None, None),
    ("!torch.list<optional<int>>", [1, None], [1, None]),
    ("!torch.tuple<int, list<float>>", (1, [2]), (1, [2.0])),
    ("!torch.Device", "cpu", "cpu"),
    ("!torch.any", 3j, 3j),
])  # fmt: skip
def test_near_enough_values_are_made_to_fit(type_: str, value: object, expected: object) -> None:
    got = identity(type_)(value)
    if type_.startswith(("!torch.optional", "!torch.tuple", "!torch.any")):
        (got,) = got  # what may be a tuple or None itself
    assert got == expected and type(got) is type(expected)


def test_numpy_scalar_is_a_rank_0_tensor() -> None:
    got = identity("!t")(np.float32(2.5))
    assert type(got) is np.ndarray and got.shape == () and got.dtype == np.float32


def test_huge_python_ints_pass_unchanged() -> None:
    assert identity("!i")(1 << 70) == 1 << 70
