"""The NumPy flavours against NumPy itself: what `@tierup.jit` code means by np.sum, @, x[i] += y, with NumPy's dtypes and exceptions.

Each case is an op, its operands, and the NumPy expression that the user wrote. Values must be equal bit for bit, dtypes and
exception types (with their text) the same, and the shape rule must foresee both.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.base.exceptions import unanswered
from tierup.dialect.facts.dims import Expr, evaluate, symbol
from tierup.dialect.facts.values import Bool, Float, Int, List, NoneValue, Tensor
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import Infer, Promotion

SHAPES = ((), (0,), (1,), (5,), (2, 3), (3, 1), (0, 3), (2, 3, 4))
Case = tuple[str, tuple, Callable[[], Any]]


def array(shape: tuple[int, ...], dtype: dtypes.DType, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng([seed, *shape])
    low = 0 if dtype.name in ("u8", "bool") else -7
    x = np.asarray(random.integers(low, 2 if dtype.name == "bool" else 8, shape))
    return np.asarray(x / 4 if dtype.is_float else x).astype(dtype.numpy)


def kernel(op: str) -> Callable[..., Any]:
    row = optable.lookup(op)
    assert row is not None and row.numpy is not None, f"{op} has no NumPy flavour"
    return kernels.resolve(row.numpy)


def abstract(value: Any, symbolic: dict[str, int] | None = None) -> Any:
    if isinstance(value, np.ndarray):
        sizes: list[Any] = list(value.shape)
        for i, d in enumerate(value.shape):
            if symbolic is not None and d >= 2:
                symbolic[f"s{len(symbolic)}"] = d
                sizes[i] = symbol(f"s{len(symbolic) - 1}")
        return Tensor(dtypes.from_numpy(value.dtype), tuple(sizes))
    if value is None:
        return NoneValue()
    if isinstance(value, (list, tuple)):
        return List(tuple(abstract(v, symbolic) for v in value))
    return {bool: Bool, int: Int, float: Float}[type(value)](value)


def attempt(function: Callable[[], Any]) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(), None
        except (ValueError, TypeError, IndexError, OverflowError) as e:
            return None, unanswered(e)


def check(op: str, operands: tuple, expected: Callable[[], Any], known: bool = True) -> None:
    """`known` False: sizes may be left open by the rule, and errors come from values."""
    what = f"{op}{tuple(o if not isinstance(o, np.ndarray) else (o.dtype, o.shape) for o in operands)}"
    wanted, failure = attempt(expected)
    actual, raised = attempt(lambda: kernel(op)(*operands))
    if failure is not None:
        assert raised is not None, f"{what}: NumPy raises {failure!r}, we give {actual!r}"
        assert type(raised) is type(failure), f"{what}: {raised!r}, not {failure!r}"
        assert str(raised) == str(failure), f"{what}: {raised}, not {failure}"
    else:
        assert raised is None, f"{what}: {raised!r}, NumPy gives {wanted!r}"
        assert isinstance(actual, np.ndarray), f"{what}: {type(actual)} is no array"
        wanted = np.asarray(wanted)
        assert actual.dtype == wanted.dtype and actual.shape == wanted.shape, f"{what}: {actual!r}, not {wanted!r}"
        assert actual.tobytes() == wanted.tobytes(), f"{what}: {actual!r}, not {wanted!r}"
    rule(op, operands, what, actual, raised, known)


def rule(op: str, operands: tuple, what: str, actual: Any, raised: Exception | None, known: bool) -> None:
    row = optable.lookup(op)
    for values in ({}, None):
        ctx = Infer()
        ctx.promotion = Promotion.NUMPY
        symbolic: dict[str, int] | None = {} if values is None else None
        inferred, error = attempt(lambda: row.infer(ctx, [abstract(o, symbolic) for o in operands]))  # noqa: B023 - called at once
        if raised is not None:
            assert error is not None or symbolic is not None or row.raises or not known, f"{what}: raises {raised!r}, inferred {inferred}"
            continue
        assert error is None, f"{what}: the rule raises {error!r}"
        assert inferred.dtype is dtypes.from_numpy(actual.dtype), f"{what}: inferred {inferred.dtype}, is {actual.dtype}"
        assert inferred.shape is not None, f"{what}: shape not inferred"
        assert len(inferred.shape) == actual.ndim, f"{what}: inferred {inferred.shape}, is {actual.shape}"
        for size, dim in zip(inferred.shape, actual.shape, strict=True):
            if isinstance(size, Expr) and any(s.name.startswith("u") for s in size.symbols()):
                assert not known, f"{what}: size {size} left open"
            else:
                assert evaluate(size, symbolic or {}) == dim, f"{what}: inferred {inferred.shape}, is {actual.shape}"


WHOLE = {
    "sum": np.sum, "prod": np.prod, "mean": np.mean, "any": np.any, "all": np.all, "max": np.max, "min": np.min, "argmax": np.argmax,
    "argmin": np.argmin, "var.correction": np.var, "std.correction": np.std, "linalg_vector_norm": np.linalg.norm,
    "count_nonzero": np.count_nonzero,
}  # fmt: skip


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("op", WHOLE)
def test_reducing_all_elements(op: str, dtype: dtypes.DType) -> None:
    for shape in SHAPES:
        x = array(shape, dtype)
        if op in ("any", "all") and dtype is dtypes.bf16:
            continue  # NumPy gives a bfloat16 for these: the ufunc of a foreign dtype
        check(f"aten.{op}", (x,), lambda: WHOLE[op](x))  # noqa: B023 - called at once


ONE_AXIS = {
    "sum.dim_IntList": np.sum, "mean.dim": np.mean, "amax": np.max, "amin": np.min, "prod.dim_int": np.prod, "argmax": np.argmax,
    "argmin": np.argmin,
    "any.dim": np.any, "all.dim": np.all, "var.correction": np.var, "std.correction": np.std,
}  # fmt: skip


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
@pytest.mark.parametrize("op", ONE_AXIS)
def test_reducing_one_axis(op: str, dtype: dtypes.DType) -> None:
    for shape, axis, keepdims in itertools.product(SHAPES, (0, -1, 2), (False, True)):
        x = array(shape, dtype)
        if op in ("any.dim", "all.dim") and dtype is dtypes.bf16:
            continue  # as above
        takes_list = op in ("sum.dim_IntList", "mean.dim", "amax", "amin", "var.correction", "std.correction")
        dims: Any = [axis] if takes_list else axis
        operands = (x, dims, 1, keepdims) if op.endswith("correction") else (x, dims, keepdims)
        ddof = {"ddof": 1} if op.endswith("correction") else {}
        check(f"aten.{op}", operands, lambda: ONE_AXIS[op](x, axis=axis, keepdims=keepdims, **ddof))  # noqa: B023 - called at once


def test_integers_widen_as_in_numpy() -> None:
    assert kernel("aten.sum")(np.ones(3, np.int32)).dtype == np.int64
    assert kernel("aten.sum")(np.ones(3, np.uint8)).dtype == np.uint64
    assert kernel("aten.mean")(np.ones(3, np.int32)).dtype == np.float64
    assert kernel("aten.mean")(np.ones(3, np.float16)).dtype == np.float16
    assert kernel("aten.var.correction")(np.array([1.0, 3.0])) == 1.0  # ddof 0


@pytest.mark.parametrize("op, of", [("cumsum", np.cumsum), ("cumprod", np.cumprod)])
def test_running_sums(op: str, of: Callable[..., Any]) -> None:
    for dtype, shape, axis in itertools.product(dtypes.ALL, SHAPES, (0, -1, 2)):
        x = array(shape, dtype)
        check(f"aten.{op}", (x, axis), lambda: of(x, axis))  # noqa: B023 - called at once


def test_logarithms_of_running_sums_are_what_logaddexp_accumulates() -> None:
    for dtype, shape, axis in itertools.product(dtypes.ALL, SHAPES, (0, -1, 2)):
        x = array(shape, dtype)
        check("aten.logcumsumexp", (x, axis), lambda: np.logaddexp.accumulate(x, axis=axis))  # noqa: B023 - called at once


def test_norms_along_axes() -> None:
    x = array((3, 4), dtypes.f32)
    for ord, axis in itertools.product((1, 2, 3.0, float("inf")), (0, 1)):
        check(
            "aten.linalg_vector_norm",
            (x, ord, [axis], True),
            lambda: np.linalg.norm(x, None if ord == 2 else ord, axis=axis, keepdims=True),
        )


PAIRS = (
    ((2, 3), (3, 4)),
    ((3,), (3,)),
    ((2, 3), (3,)),
    ((2, 2, 3), (3, 4)),
    ((), (3,)),
    ((2, 3), (2, 3)),
    ((0, 3), (3, 0)),
    ((2, 1, 2, 3), (5, 3, 2)),
)


@pytest.mark.parametrize("op, of", [("matmul", np.matmul), ("dot", np.dot), ("outer", np.outer)])
def test_products(op: str, of: Callable[..., Any]) -> None:
    for (a, b), d, e in itertools.product(
        PAIRS, (dtypes.f32, dtypes.i32, dtypes.bool_, dtypes.f16), (dtypes.f64, dtypes.i32, dtypes.u8, dtypes.bool_)
    ):
        x, y = array(a, d), array(b, e, seed=1)
        check(f"aten.{op}", (x, y), lambda: of(x, y))  # noqa: B023 - called at once


def test_slices_with_any_step() -> None:
    for shape, start, end, step in itertools.product(
        ((5,), (4, 3), (0,)), (None, 0, 2, -2, 9, -9), (None, 0, 3, -1, 9, -9), (1, 2, -1, -2, 0)
    ):
        x = array(shape, dtypes.f32)
        check("aten.slice.Tensor", (x, 0, start, end, step), lambda: x[start:end:step])  # noqa: B023 - called at once
    x = array((2, 5), dtypes.f32)
    check("aten.slice.Tensor", (x, -1, None, None, -1), lambda: x[:, ::-1])
    assert np.shares_memory(kernel("aten.slice.Tensor")(x, 1, None, None, -1), x)


def test_single_indices() -> None:
    for shape, index in itertools.product(((5,), (2, 5), ()), (0, -1, 4, 5, -6)):
        x = array(shape, dtypes.f32)
        check("aten.select.int", (x, 0, index), lambda: x[index])  # noqa: B023 - called at once
    x = array((5,), dtypes.f32)
    kernel("aten.select.int")(x, 0, 1)[...] = 9
    assert x[1] == 9


def test_shapes_are_changed_as_in_numpy() -> None:
    x = array((2, 1, 3), dtypes.f32)
    for sizes in ([6], [-1], [3, -1], [4], [-1, -1], []):
        check("aten.reshape", (x, sizes), lambda: x.reshape(sizes))  # noqa: B023 - called at once
    for axis in (0, 1, -2, 3):
        check("aten.squeeze.dim", (x, axis), lambda: np.squeeze(x, axis))  # noqa: B023
        check("aten.unsqueeze", (x, axis), lambda: np.expand_dims(x, axis))  # noqa: B023
        check("aten.transpose.int", (x, axis, 0), lambda: np.swapaxes(x, axis, 0))  # noqa: B023
        check("aten.movedim.int", (x, axis, 0), lambda: np.moveaxis(x, axis, 0))  # noqa: B023
    check("aten.squeeze", (x,), lambda: np.squeeze(x))
    for axes in ([2, 0, 1], [0, 1], [0, 0, 1], [0, 1, 5]):
        check("aten.permute", (x, axes), lambda: np.transpose(x, axes))  # noqa: B023
    for sizes in ([2, 4, 3], [5, 2, 1, 3], [2, 3], [2, -1, 3], [3, 1, 3]):
        check("aten.broadcast_to", (x, sizes), lambda: np.broadcast_to(x, sizes))  # noqa: B023
    check("aten.diagonal", (x, 1, 0, 2), lambda: np.diagonal(x, 1, 0, 2))


@pytest.mark.parametrize("op, of", [("cat", np.concatenate), ("stack", np.stack)])
def test_joining_promotes_as_numpy(op: str, of: Callable[..., Any]) -> None:
    for d, e in itertools.product(dtypes.ALL, repeat=2):
        parts = [array((2,), d), array((2,), e)]
        check(f"aten.{op}", (parts, 0), lambda: of(parts, 0))  # noqa: B023 - called at once
    for shapes, axis in itertools.product((((2, 3), (2, 3)), ((0,), (2, 3)), ((), ()), ((2,), (3,)), ((2, 3), (2, 1))), (0, 1, -1, 2)):
        parts = [array(s, dtypes.f32) for s in shapes]
        check(f"aten.{op}", (parts, axis), lambda: of(parts, axis))  # noqa: B023


def test_columns_are_joined_as_in_numpy() -> None:
    for shapes in (((2,), (2,)), ((2, 3), (2, 1)), ((2,), (2, 3)), ((), ())):
        parts = [array(s, dtypes.f32) for s in shapes]
        check("aten.hstack", (parts,), lambda: np.hstack(parts))  # noqa: B023 - called at once
        check("aten.column_stack", (parts,), lambda: np.column_stack(parts))  # noqa: B023


def test_elements_are_moved_as_in_numpy() -> None:
    for shape in ((3,), (2, 3), (0, 2)):
        x = array(shape, dtypes.f32)
        for reps in ([2], [2, 1], [0], [1, 2, 3]):
            check("aten.tile", (x, reps), lambda: np.tile(x, reps))  # noqa: B023 - called at once
        for times, axis in ((2, None), (2, 0), (0, 0), (-1, 0), (2, 5)):
            check("aten.repeat_interleave.self_int", (x, times, axis), lambda: np.repeat(x, times, axis))  # noqa: B023
        for shift, axis in (([1], []), ([1], [0]), ([-4], [0])):
            check("aten.roll", (x, shift, axis), lambda: np.roll(x, shift[0], axis[0] if axis else None))  # noqa: B023
        for k in (0, 1, -1):
            check("aten.tril", (x, k), lambda: np.tril(x, k))  # noqa: B023
            check("aten.triu", (x, k), lambda: np.triu(x, k))  # noqa: B023
        check("aten.flip", (x, [0]), lambda: np.flip(x, 0))  # noqa: B023
        check("aten.argsort", (x, -1, False), lambda: np.argsort(x))  # noqa: B023


def test_indices_of_every_kind() -> None:
    x = array((4, 3), dtypes.f32)
    i = np.array
    for key in (
        [i([1, -1])], [i(2)], [i([[0], [3]]), i([0, 2])], [None, i([0, -1])], [i([4])], [i([True, False, True, True])],
        [i([0, 1], np.uint8)],
        [i([True, False])], [i([0, 1]), i([0, 1, 2])], [i([0.5])], [i([0]), i([0]), i([0])], [x > 0],
    ):  # fmt: skip
        index = tuple(slice(None) if k is None else k for k in key)
        check("aten.index.Tensor", (x, key), lambda: x[index], known=all(k is None or k.dtype != bool for k in key))  # noqa: B023
        value = np.float64(7)

        def assign() -> np.ndarray:
            y = x.copy()
            y[index] = value  # noqa: B023 - called at once
            return y

        check("aten.index_put", (x, key, np.asarray(value), False), assign)
    for index in (i([0, -1]), i([[1, 2]]), i(1), i([5]), i([0.5])):
        check("aten.index_select", (x, 0, index), lambda: np.take(x, index, 0))  # noqa: B023
        check("aten.embedding", (x, index), lambda: np.take(x, index, 0))  # noqa: B023
    for index in (i([[0, -1]]), i([[1], [0], [0], [-3]]), i([0]), i([[9]])):
        check("aten.gather", (x, 1, index), lambda: np.take_along_axis(x, index, 1))  # noqa: B023


def inplace(op: str, x: np.ndarray, y: Any, statement: Callable[[np.ndarray], Any]) -> None:
    """The kernel on a copy of x against the statement on another."""
    ours, theirs = x.copy(), x.copy()
    _, failure = attempt(lambda: statement(theirs))
    result, raised = attempt(lambda: kernel(op)(ours, y))
    assert type(raised) is type(failure), f"{op} on {x.dtype}{x.shape} with {y!r}: {raised!r}, not {failure!r}"
    if raised is None:
        assert result is ours
    else:
        assert str(raised) == str(failure)
    assert ours.tobytes() == theirs.tobytes()
    ctx = Infer()
    ctx.promotion = Promotion.NUMPY
    inferred, error = attempt(lambda: optable.lookup(op).infer(ctx, [abstract(x), abstract(y)]))
    if raised is None:
        assert error is None, f"{op} on {x.dtype}{x.shape} with {y!r}: the rule raises {error!r}"
        assert inferred == abstract(x)
    else:
        assert error is not None, f"{op} on {x.dtype}{x.shape} with {y!r}: raises {raised!r}, inferred {inferred}"


def test_augmented_assignment_casts_as_numpy_does() -> None:
    import operator

    statements = {"add": operator.iadd, "sub": operator.isub, "mul": operator.imul, "div": operator.itruediv}
    numbers = (2, 2.5, True, 300)
    for (name, statement), dtype in itertools.product(statements.items(), dtypes.ALL):
        x = array((2, 3), dtype)
        for y in numbers:
            inplace(f"aten.{name}_.Scalar", x, y, lambda z: statement(z, y))  # noqa: B023 - called at once
        for other, shape in itertools.product(
            (dtypes.f64, dtypes.f32, dtypes.i32, dtypes.i64, dtypes.u8, dtypes.bool_), ((2, 3), (3,), (), (4,), (5, 2, 3))
        ):
            y = np.abs(array(shape, other, seed=3))
            inplace(f"aten.{name}_.Tensor", x, np.asarray(y), lambda z: statement(z, y))  # noqa: B023


def test_assignment_converts_whatever_is_lost() -> None:
    for dtype, other, shape in itertools.product(dtypes.ALL, dtypes.ALL, ((2, 3), (3,), (), (1, 1, 3), (4,))):
        y = np.abs(array(shape, other, seed=3))
        inplace("aten.copy_", array((2, 3), dtype), np.asarray(y), lambda z: z.__setitem__(..., y))  # noqa: B023 - called at once


def test_numbers_are_assigned_where_the_dtype_holds_them() -> None:
    for dtype, value in itertools.product(dtypes.ALL, (0, 3, -1, 300, 2.5, True, 2**40)):
        inplace("aten.fill_.Scalar", array((2, 3), dtype), value, lambda z: z.__setitem__(..., value))  # noqa: B023 - called at once


def test_an_update_by_index_writes_through() -> None:
    x = np.arange(6.0)
    kernel("aten.index_put_")(x, [np.array([-1, 0])], np.array([10, 20]), False)
    np.testing.assert_array_equal(x, [20, 1, 2, 3, 4, 10])
    kernel("aten.index_put_")(x, [np.array([0, 0])], np.array([1.0, 2.0]), True)
    assert x[0] == 23
