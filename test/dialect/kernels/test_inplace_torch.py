"""In-place ops against PyTorch: what is written, through views too, what is refused, and that a refusal writes nothing."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch_oracle import EXPECTED, abstract, array, close, from_torch, kernel, run, to_torch

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.ops import inplace
from tierup.dialect.optable.core import Aliasing, Infer

pytestmark = pytest.mark.torch

# operands after the first, by op; a string names a dtype for a tensor that broadcasts
UNARY_EXTRA = {
    "celu": (1.0,), "clamp": (-1, 1), "clamp_max": (1,), "clamp_min": (-1,), "elu": (1.0, 1.0, 1.0), "hardtanh": (-1.0, 1.0),
    "leaky_relu": (0.01,), "logit": (0.1,), "threshold": (0.5, 2), "round.decimals": (0,), "tril": (0,), "triu": (0,),
}  # fmt: skip
PRODUCTS = {"addbmm": ((5, 2, 4), (5, 4, 3)), "addmm": ((2, 4), (4, 3)), "addmv": ((2, 4), (4,)), "addr": ((2,), (3,))}  # the shapes of operands
SCALARS = (2, 0.5, True)
TENSORS = ("f32", "f64", "i32", "bool", "bf16")
REFUSED = {"doesn't match the broadcast shape": ValueError, "can't be cast to the desired output type": TypeError}  # the first that PyTorch finds


def operands_of(name: str) -> list[tuple]:
    """The operands after the first to try an op with, operand 0 being of shape (2, 3)."""
    functional = inplace.functional_name(name).removeprefix("aten.")
    if functional in UNARY_EXTRA:
        return [UNARY_EXTRA[functional]]
    shapes = ((2, 3), (3,), (), (2, 1), (4,), (5, 2, 3))
    tensors = [array(s, dtypes.BY_NAME[d], seed=5) for s, d in itertools.product(shapes, TENSORS)]
    base, _, overload = functional.partition(".")
    if base in ("masked_fill", "masked_scatter"):
        mask = np.array([[True, False, True]])
        values = {"Scalar": [2, 0.5, 300], "Tensor": [np.asarray(np.float32(2)), np.asarray(np.int64(3))]}
        return [(mask, v) for v in values.get(overload, [array((6,), dtypes.f32)])]
    if base in ("addcmul", "addcdiv"):
        return [(array((2, 3), d, seed=5), array((3,), d, seed=6) + d.numpy.type(2), 1) for d in (dtypes.f32, dtypes.f64)]
    if base == "lerp":
        weight = 0.5 if overload == "Scalar" else array((3,), dtypes.f32, seed=7)
        return [(array((2, 3), dtypes.f32, seed=5), weight), (array((5, 2, 3), dtypes.f32, seed=5), weight)]
    if base in PRODUCTS or base in ("cumprod", "cumsum"):
        return [tuple(array(shape, dtypes.f32, seed=5) for shape in PRODUCTS[base])] if base in PRODUCTS else [(1,), (-2,), (5,)]
    if base in ("index_add", "index_copy", "index_fill", "scatter", "scatter_reduce"):
        return list(placed(base, dtypes.f32)) + list(placed(base, dtypes.i32))
    if base == "baddbmm":
        return [(array((1, 2, 4), dtypes.f32, seed=5), array((1, 4, 3), dtypes.f32, seed=6))]
    if overload.endswith("Tensor") or functional == "floor_divide" or base in ("atan2", "heaviside", "hypot", "logical_and", "logical_or", "logical_xor"):
        return [(t,) for t in tensors] + ([(np.float32(2).reshape(1), 3)] if base in ("add", "sub") else [])
    if overload.endswith("Scalar"):
        return [(s,) for s in SCALARS]
    if overload.endswith("_mode"):
        others = SCALARS if overload.startswith("Scalar") else [np.asarray(t + t.dtype.type(2)) for t in tensors[:10] if t.dtype != bool]
        return [(o, m) for o in others for m in (None, "floor", "trunc")]
    return [()]


def placed(base: str, dtype: dtypes.DType) -> Iterator[tuple]:
    """What goes to some places of operand 0: by rows, or by an index of all sizes."""
    reductions = {"scatter": ("add", "multiply"), "scatter_reduce": ("sum", "prod", "mean", "amax", "amin")}.get(base)
    if reductions is None:
        for rows in (np.array([1, 0]), np.array([1]), np.array([2])):
            yield 0, rows, 3 if base == "index_fill" else array((len(rows), 3), dtype, seed=5)
        return
    for index, each in itertools.product((np.array([[1, 0, 1], [1, 1, 0]]), np.array([[2, 0, 1]])), reductions):
        yield 0, index, array(index.shape, dtype, seed=5), each


PARTIAL = ("index_put_", "index_put_.hacked_twin", "scatter_.src", "scatter_.value", "scatter_add_")
NAMES = [name for op in inplace.ROWS if hasattr(torch.ops.aten, (name := op.name.removeprefix("aten.")).partition(".")[0])]


def compare(name: str, x: np.ndarray, rest: tuple) -> None:
    """Run kernel and PyTorch on copies of x, then compare what became of them."""
    op, what = f"aten.{name}", f"{name} on {x.dtype}{list(x.shape)} with {rest}"
    base = np.zeros((x.shape[0], *(2 * n for n in x.shape[1:])), x.dtype) if x.ndim else x.copy()
    ours = base[(slice(None), *(slice(None, None, 2) for _ in x.shape[1:]))] if x.ndim else base
    ours[...] = x
    theirs = to_torch(x.copy())
    with np.errstate(all="ignore"):
        expected, failure = run(run_torch_inplace, op, theirs, rest)
    with np.errstate(all="raise"):
        actual, raised = run(kernel(op), ours, *rest)
    if failure is not None or raised is not None:
        assert raised is not None, f"{what}: PyTorch raises {failure!r}, tier 0 gives {actual}"
        assert failure is not None, f"{what}: tier 0 raises {raised!r}, PyTorch gives {expected}"
        assert isinstance(failure, EXPECTED[type(raised)]), f"{what}: {raised!r} for PyTorch's {failure!r}"
        of_twin = run(kernel(inplace.functional_name(name)), x, *rest)[1]  # which comes before what is said of its result
        refused = next((kind for words, kind in REFUSED.items() if of_twin is None and words in str(failure)), Exception)
        assert isinstance(raised, refused), f"{what}: {raised!r} for PyTorch's {failure!r}"
        np.testing.assert_array_equal(ours.astype(np.float64), x.astype(np.float64), err_msg=f"{what} wrote before it raised")
    else:
        assert actual is ours, f"{what} does not return operand 0"
        close(ours, from_torch(theirs), 8.0, what)
        skipped = base[:, 1::2] if x.ndim > 1 else np.zeros(0)
        assert not skipped.astype(bool).any(), f"{what} wrote beside operand 0"
    row = optable.lookup(op)
    inferred, error = run(row.infer, Infer(), [abstract(o) for o in (x, *rest)])
    if raised is None:
        assert error is None, f"{what}: the rule raises {error!r}"
        assert inferred.dtype is dtypes.from_numpy(x.dtype) and inferred.shape == x.shape, f"{what}: inferred {inferred}"
    else:
        assert error is not None or row.raises, f"{what}: tier 0 raises {raised!r}, the rule gives {inferred}"
        assert error is None or isinstance(error, refused), f"{what}: the rule raises {error!r} for PyTorch's {failure!r}"


def run_torch_inplace(op: str, x: torch.Tensor, rest: tuple) -> object:
    name, _, overload = op.removeprefix("aten.").partition(".")
    packet = getattr(getattr(torch.ops.aten, name), overload or "default")
    arguments, keywords = [], {}
    for argument, value in zip(packet._schema.arguments[1:], rest, strict=False):
        if argument.kwarg_only:
            keywords[argument.name] = to_torch(value)
        else:
            arguments.append(to_torch(value))
    return packet(x, *arguments, **keywords)


@pytest.mark.parametrize("name", [n for n in NAMES if n not in PARTIAL and not n.startswith(("copy_", "fill_", "zero_"))])
def test_in_place_ops_agree_with_torch(name: str) -> None:
    for dtype, rest in itertools.product((dtypes.f32, dtypes.f16, dtypes.i32, dtypes.u8, dtypes.bool_), operands_of(name)):
        x = array((2, 3), dtype)
        if name.startswith("baddbmm"):
            x = x[None]
        if name.startswith("addmv"):
            x = x[:, 0]
        if name.startswith(("acosh", "log", "sqrt", "rsqrt")):
            x = np.abs(x) + dtype.numpy.type(1) if dtype is not dtypes.bool_ else x
        compare(name, x, rest)


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
def test_copy_converts_to_any_dtype(dtype: dtypes.DType) -> None:
    for other, shape in itertools.product(dtypes.OF_TORCH, ((2, 3), (3,), (), (2, 1), (1, 1, 3), (4,), (1, 2, 3))):
        if dtype.category is dtypes.Category.INT and other.is_float and dtype is dtypes.u8:
            compare("copy_", array((2, 3), dtype), (np.asarray(np.abs(array(shape, other))),))
        else:
            compare("copy_", array((2, 3), dtype), (array(shape, other),))


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
def test_fill_and_zero_agree_with_torch(dtype: dtypes.DType) -> None:
    for value in (0, 3, 2.5, True, 300, -1, -1.0, float("nan"), float("inf"), 1e6):
        compare("fill_.Scalar", array((2, 3), dtype), (value,))
    for value in (np.float32(2.5), np.int64(3), np.bool_(True)):
        compare("fill_.Tensor", array((2, 3), dtype), (np.asarray(value),))
    compare("fill_.Tensor", array((2, 3), dtype), (np.ones(1, np.float32),))
    for shape in ((), (2, 3), (0, 2)):
        compare("zero_", array(shape, dtype), ())


@pytest.mark.parametrize("name", ["scatter_.src", "scatter_add_"])
def test_scatter_writes_where_it_is_told(name: str) -> None:
    for index in ([[0, 1, 1]], [[1, 0, 5]], [[0], [1]], [[-1]]):
        for dtype in (dtypes.f32, dtypes.f64):
            compare(name, array((2, 3), dtypes.f32), (0, np.array(index), array(np.array(index).shape, dtype, seed=1)))


def test_scattered_numbers_are_written() -> None:
    for value in (2, 0.5, 300):
        compare("scatter_.value", array((2, 3), dtypes.f32), (0, np.array([[0, 1, 1]]), value))
        compare("scatter_.value", array((2, 3), dtypes.u8), (0, np.array([[0, 1, 1]]), value))


@pytest.mark.parametrize("accumulate", [False, True])
def test_index_put_writes_where_it_is_told(accumulate: bool) -> None:
    for indices in (
        [np.array([0, 1, 1]), np.array([2, 0, 0])],
        [np.array([-1])],
        [None, np.array([0, 2])],
        [np.array([7])],
        [np.array([True, False])],
    ):
        for values in ((), (3,), (1,)):
            compare("index_put_", array((2, 3), dtypes.f32), (indices, array(values, dtypes.f32, seed=1), accumulate))
    compare("index_put_", array((2, 3), dtypes.f32), ([np.array([0])], array((), dtypes.f64), accumulate))


@pytest.mark.parametrize("name", ["add_.Tensor", "copy_", "mul_.Tensor"])
def test_an_operand_that_overlaps_the_target_is_refused_as_torch_does_or_read_before_it_is_written(name: str) -> None:
    ours, theirs = np.arange(6.0), torch.arange(6.0).double()
    with pytest.raises(RuntimeError, match="single memory location"):
        getattr(torch.Tensor, name.partition(".")[0])(theirs[1:], theirs[:-1])
    with pytest.raises(ValueError, match="single memory location"):
        kernel(f"aten.{name}")(ours[1:], ours[:-1])
    kernel(f"aten.{name}")(ours[2::2], ours[:-2:2])  # steps: nobody looks
    expected = theirs.clone()
    x, y = theirs[2::2], theirs[:-2:2]
    expected[2::2] = {"copy_": y, "add_.Tensor": x + y, "mul_.Tensor": x * y}[name]
    np.testing.assert_array_equal(ours, expected.numpy())


def test_a_read_only_array_is_refused() -> None:
    x = np.zeros(3, np.float32)
    x.flags.writeable = False
    for name, rest in (
        ("add_.Scalar", (1,)),
        ("relu_", ()),
        ("zero_", ()),
        ("copy_", (np.ones(3),)),
        ("index_put_", ([np.array([0])], np.ones(1, np.float32))),
    ):
        with pytest.raises(ValueError, match="read-only"):
            kernel(f"aten.{name}")(x, *rest)


def test_every_in_place_row_has_a_functional_twin_in_the_table() -> None:
    for row in inplace.ROWS:
        assert row.aliasing is Aliasing.SELF and row.functional is not None
        assert optable.lookup(row.functional) is not None, row.functional


def test_a_copy_of_a_tensor_to_itself_is_left_as_it_is_even_where_elements_share_memory() -> None:
    expanded = torch.ones(1, 3).expand(4, 3)
    expanded.copy_(expanded)  # PyTorch refuses every other write of it
    x = np.lib.stride_tricks.as_strided(np.ones(3), (4, 3), (0, 8))
    copy_ = inplace.copy_
    assert copy_(x, x) is x
    with pytest.raises(ValueError, match="single memory location"):
        copy_(x, np.ones((4, 3)))


def test_what_shows_elements_more_than_once_is_refused_where_torch_refuses_it() -> None:
    index = np.array([[0, 1, 1]])
    written = {
        "fill_.Tensor": (np.asarray(np.float32(2)),), "fill_.Scalar": (2,), "copy_": (array((2, 3), dtypes.f32),),
        "index_put_": ([np.array([0])], array((), dtypes.f32)), "scatter_.src": (0, index, array((1, 3), dtypes.f32)),
        "scatter_.value": (0, index, 2), "scatter_add_": (0, index, array((1, 3), dtypes.f32)),
    }  # fmt: skip
    differ = set()
    for name in NAMES:
        for rest in [written[name]] if name in written else operands_of(name)[:3]:
            row = array((3,), dtypes.i32 if name.startswith("bitwise") else dtypes.f32)
            shape = (1, 2, 3) if name.startswith("baddbmm") else (2, 3)
            theirs = to_torch(row.copy())
            _, failure = run(run_torch_inplace, f"aten.{name}", theirs.expand(shape), rest)
            _, raised = run(kernel(f"aten.{name}"), np.lib.stride_tricks.as_strided(row, shape, (0,) * (len(shape) - 1) + (row.itemsize,)), *rest)
            if (failure is None) != (raised is None):
                differ.add(name)
            elif failure is None:
                np.testing.assert_array_equal(row, theirs.numpy(), err_msg=name)
    assert differ == {"baddbmm_"}  # which PyTorch writes without looking, in an order of its own
