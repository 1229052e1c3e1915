"""One op at a time: tier 0's kernel against PyTorch's, and the shape rule against the kernel.

A `Sample` is an op's operands as tier 0 gets them. `check` runs kernel, PyTorch and shape rule (static and with symbols for
all sizes of 2 and more) on it and compares dtype, shape, values, sharing of memory and exceptions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import Expr, evaluate, symbol
from tierup.dialect.facts.values import Bool, Float, Int, List, NoneValue, Str, Tensor
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import Aliasing, Infer

TORCH_DTYPES = {
    "bool": torch.bool, "u8": torch.uint8, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "i64": torch.int64,
    "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64,
    "u16": torch.uint16, "u32": torch.uint32, "u64": torch.uint64,
}  # fmt: skip
EPSILON = {"f16": 2.0**-11, "bf16": 2.0**-8, "f32": 2.0**-24, "f64": 2.0**-53}


@dataclass
class Sample:
    op: str
    operands: tuple
    ulp: float = 4.0  # how far floats may be from PyTorch's, in units of the result dtype's epsilon, relative to the largest
    terms: float = 0.0  # how large are the numbers that results are differences of: they are as inexact as these are
    unknown: bool = False  # the rule may leave sizes open
    numpy_layout: bool = False  # strides differ from PyTorch's, so that whether it is a view may too

    def __repr__(self) -> str:
        return f"{self.op}({', '.join(map(_show, self.operands))})"


def _show(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{dtypes.from_numpy(value.dtype)}{list(value.shape)}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_show, value)) + "]"
    return repr(value)


def kernel(op: str, numpy: bool = False):
    row = optable.lookup(op)
    assert row is not None, op
    path = (row.numpy or row.kernel) if numpy else row.kernel
    return kernels.resolve(path)


def to_torch(value: object) -> object:
    if isinstance(value, np.ndarray):
        if any(s < 0 for s in value.strides) or not value.flags.writeable:
            value = value.copy()
        if value.dtype == dtypes.bf16.numpy:
            return torch.from_numpy(value.view(np.int16)).view(torch.bfloat16)
        return torch.from_numpy(value)
    if isinstance(value, list):
        return [to_torch(v) for v in value]
    return value


def from_torch(value: object) -> object:
    if isinstance(value, torch.Tensor):
        if value.dtype == torch.bfloat16:
            return value.contiguous().view(torch.int16).numpy().view(dtypes.bf16.numpy)
        return value.numpy()
    if isinstance(value, (list, tuple)):
        return [from_torch(v) for v in value]
    return value


def run_torch(op: str, operands: tuple) -> object:
    name, _, overload = op.removeprefix("aten.").partition(".")
    packet = getattr(getattr(torch.ops.aten, name), overload or "default")
    arguments, keywords = [], {}
    for argument, value in zip(packet._schema.arguments, operands, strict=False):
        value = to_torch(value)
        if "ScalarType" in str(argument.type) or argument.name in ("dtype", "out_dtype"):
            value = value if value is None else TORCH_DTYPES[dtypes.BY_CODE[value].name]
        if argument.kwarg_only:
            keywords[argument.name] = value
        else:
            arguments.append(value)
    return packet(*arguments, **keywords)


def abstract(value: object, symbolic: dict | None = None) -> object:
    """What inference knows of a run-time operand. With `symbolic`, sizes of at least 2 become symbols, recorded there."""
    if isinstance(value, np.ndarray):
        if symbolic is None:
            return Tensor(dtypes.from_numpy(value.dtype), tuple(value.shape))
        sizes = []
        for d in value.shape:
            if d >= 2:
                name = f"s{len(symbolic)}"
                symbolic[name] = d
                sizes.append(symbol(name))
            else:
                sizes.append(d)
        return Tensor(dtypes.from_numpy(value.dtype), tuple(sizes))
    if isinstance(value, bool):
        return Bool(value)
    if isinstance(value, int):
        return Int(value)
    if isinstance(value, float):
        return Float(value)
    if isinstance(value, str):
        return Str(value)
    if value is None:
        return NoneValue()
    return List(tuple(abstract(v, symbolic) for v in value))


EXPECTED = {
    IndexError: (IndexError, RuntimeError),  # RuntimeError only for an index out of bounds: see check
    ValueError: (ValueError, RuntimeError),
    TypeError: (RuntimeError, TypeError, NotImplementedError, ValueError),
    ZeroDivisionError: (RuntimeError,),
}


_OUT_OF_RANGE = (" bounds", "indexing axis dim should be positive")  # in RuntimeErrors about an index


def run(function, *arguments):
    """(result, None) or (None, exception)."""
    try:
        return function(*arguments), None
    except (IndexError, ValueError, TypeError, ZeroDivisionError, RuntimeError) as e:
        return None, e


def flat(result: object) -> list:
    return list(itertools.chain.from_iterable(map(flat, result))) if isinstance(result, (list, tuple)) else [result]


def check(sample: Sample) -> None:
    """Kernel == PyTorch and rule == kernel, on one sample. Operands are not to be written by the op."""
    with np.errstate(all="ignore"):
        expected, failure = run(run_torch, sample.op, sample.operands)
    before = [o.copy() if isinstance(o, np.ndarray) else o for o in sample.operands]
    with np.errstate(all="raise"):
        actual, raised = run(kernel(sample.op), *sample.operands)
    for a, b in zip(sample.operands, before, strict=True):
        if isinstance(a, np.ndarray):
            np.testing.assert_array_equal(_bits(a), _bits(b), err_msg=f"{sample!r} changed an operand")
    if failure is not None or raised is not None:
        assert raised is not None, f"{sample!r}: PyTorch raises {failure!r}, tier 0 gives {actual!r}"
        assert failure is not None, f"{sample!r}: tier 0 raises {raised!r}, PyTorch gives {expected!r}"
        assert isinstance(failure, EXPECTED[type(raised)]), f"{sample!r}: {raised!r} for PyTorch's {failure!r}"
        if isinstance(raised, IndexError):
            assert isinstance(failure, IndexError) or any(t in str(failure) for t in _OUT_OF_RANGE), (
                f"{sample!r}: {raised!r} for PyTorch's {failure!r}"
            )
        if type(failure) is IndexError:
            assert isinstance(raised, IndexError), f"{sample!r}: {raised!r} for PyTorch's {failure!r}"
    else:
        compare(actual, from_torch(expected), sample)
        sharing(sample, actual, expected)
    check_rule(sample, actual, raised)


def _bits(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)


def compare(actual: object, expected: object, sample: Sample) -> None:
    ours, theirs = flat(actual), flat(expected)
    assert isinstance(actual, (list, tuple)) == isinstance(expected, (list, tuple)), f"{sample!r}: {type(actual)}"
    assert len(ours) == len(theirs), f"{sample!r}: {len(ours)} results, not {len(theirs)}"
    for a, b in zip(ours, theirs, strict=True):
        if not isinstance(b, np.ndarray):
            assert a == b, sample
            continue
        assert isinstance(a, np.ndarray), f"{sample!r}: {type(a)} is no array"
        assert a.dtype == b.dtype, f"{sample!r}: dtype {a.dtype}, not {b.dtype}"
        assert a.shape == b.shape, f"{sample!r}: shape {a.shape}, not {b.shape}"
        close(a, b, sample.ulp, repr(sample), sample.terms)


def close(a: np.ndarray, b: np.ndarray, ulp: float, what: str, terms: float = 0.0) -> None:
    dtype = dtypes.from_numpy(a.dtype)
    if dtype is None or not dtype.is_float or ulp == 0:
        exact = np.float64 if dtype is not None and dtype.is_float else a.dtype  # bfloat16's NaN is unknown to NumPy's comparison
        np.testing.assert_array_equal(a.astype(exact), b.astype(exact), err_msg=what)
        return
    wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
    finite = np.isfinite(wide_b) & np.isfinite(wide_a)
    np.testing.assert_array_equal(wide_a[~finite], wide_b[~finite], err_msg=what)
    scale = np.max(np.abs(wide_b[finite]), initial=0.0)
    tiny = float(np.finfo(np.float32 if dtype.name == "bf16" else dtype.numpy).tiny)
    bound = ulp * 2 * EPSILON[dtype.name] * (np.maximum(np.abs(wide_b), terms) + 0.1 * scale) + ulp * tiny * EPSILON[dtype.name]
    wrong = finite & ~(np.abs(wide_a - wide_b) <= bound)
    assert not wrong.any(), f"{what}: {a[wrong][:5]} is not {b[wrong][:5]}"


def sharing(sample: Sample, actual: object, expected: object) -> None:
    """Whether results share operand 0's memory: as the row says, and as PyTorch's do."""
    row = optable.lookup(sample.op)
    operand = sample.operands[0]
    if not isinstance(operand, np.ndarray):
        return
    for a in flat(actual):
        if not isinstance(a, np.ndarray) or a.size == 0:
            continue
        shares = np.shares_memory(a, operand)
        if row.aliasing is Aliasing.FRESH:
            arrays = [o for o in flat(list(sample.operands)) if isinstance(o, np.ndarray)]
            assert not any(np.shares_memory(a, o) for o in arrays), f"{sample!r} shares memory"
        elif row.aliasing is Aliasing.VIEW:
            assert shares, f"{sample!r} is no view"
        elif row.aliasing is Aliasing.MAY_VIEW and not sample.numpy_layout:
            theirs = to_torch(operand)
            again = run_torch(sample.op, (theirs, *sample.operands[1:]))
            assert shares == (again.untyped_storage().data_ptr() == theirs.untyped_storage().data_ptr()), f"{sample!r}: shares {shares}"


def check_rule(sample: Sample, actual: object, raised: Exception | None) -> None:
    row = optable.lookup(sample.op)
    rule = row.infer
    static, error = run(rule, Infer(), [abstract(o) for o in sample.operands])
    if raised is not None:
        by_value = row.raises or sample.unknown
        assert error is not None or by_value, f"{sample!r}: tier 0 raises {raised!r}, the rule gives {static}"
        return
    assert error is None, f"{sample!r}: the rule raises {error!r}"
    match(sample, static, actual, {})
    values: dict[str, int] = {}
    ctx = Infer()
    symbolic, error = run(rule, ctx, [abstract(o, values) for o in sample.operands])
    assert error is None, f"{sample!r}: the rule raises {error!r} on symbols"
    match(sample, symbolic, actual, values)
    for tie in ctx.ties:
        assert evaluate(tie.left, values) == evaluate(tie.right, values), f"{sample!r}: {tie} does not hold"
    for operands in less_known([abstract(o) for o in sample.operands]):
        found, error = run(rule, Infer(), operands)
        assert error is None, f"{sample!r}: the rule raises {error!r} where this is known: {operands}"
        assert agrees(found, static), f"{sample!r}: the rule gives {found} where this is known: {operands}, and {static} where all is"


def less_known(operands: list) -> Iterator[list]:
    """Operands of which less is known: one tensor, list, int or bool, or all tensors."""
    for i, operand in enumerate(operands):
        for weaker in _less_known(operand):
            yield [*operands[:i], weaker, *operands[i + 1 :]]
    yield [Tensor() if isinstance(v, Tensor) else v for v in operands]
    yield [Tensor(v.dtype) if isinstance(v, Tensor) else v for v in operands]


def _less_known(value: object) -> Iterator[object]:
    if isinstance(value, Tensor):
        yield from (Tensor(), Tensor(value.dtype), Tensor(None, value.shape))
    elif isinstance(value, List) and value.items:
        yield List(None, Tensor() if isinstance(value.items[0], Tensor) else Int() if isinstance(value.items[0], Int) else None)
        for i, item in enumerate(value.items):
            yield from (List((*value.items[:i], weaker, *value.items[i + 1 :])) for weaker in _less_known(item))
    elif isinstance(value, (Int, Bool)):
        yield type(value)()


def agrees(less: object, more: object) -> bool:
    """Whether what a rule says where it knows less holds where it knows more."""
    if isinstance(less, Tensor):
        dtype_differs = isinstance(more, Tensor) and None not in (less.dtype, more.dtype) and less.dtype is not more.dtype
        if not isinstance(more, Tensor) or dtype_differs or None in (less.shape, more.shape):
            return isinstance(more, Tensor) and not dtype_differs
        sizes = zip(less.shape, more.shape, strict=False)
        return less.rank == more.rank and all(a == b for a, b in sizes if isinstance(a, int) and isinstance(b, int))
    less, more = ([x.items] if isinstance(x, List) else x for x in (less, more))
    if isinstance(less, (list, tuple)) and isinstance(more, (list, tuple)):
        return len(less) == len(more) and all(map(agrees, less, more))
    return less is None or more is None or not isinstance(less, (list, tuple))


def match(sample: Sample, inferred: object, actual: object, values: dict[str, int]) -> None:
    if isinstance(actual, list):
        assert isinstance(inferred, List), f"{sample!r}: {inferred}"
        if inferred.items is None:
            assert sample.unknown, f"{sample!r}: length not inferred"
            return
        found, results = inferred.items, actual
    elif isinstance(actual, tuple):
        assert isinstance(inferred, tuple), f"{sample!r}: {inferred}"
        found, results = inferred, actual
    else:
        found, results = (inferred,), (actual,)
    assert len(found) == len(results), f"{sample!r}: {len(found)} results inferred, not {len(results)}"
    for tensor, array in zip(found, results, strict=True):
        if not isinstance(array, np.ndarray):
            continue
        assert isinstance(tensor, Tensor), f"{sample!r}: {tensor}"
        assert tensor.dtype is dtypes.from_numpy(array.dtype), f"{sample!r}: inferred {tensor.dtype}, is {array.dtype}"
        if tensor.shape is None:
            assert sample.unknown, f"{sample!r}: shape not inferred"
            continue
        assert len(tensor.shape) == array.ndim, f"{sample!r}: inferred {tensor.shape}, is {array.shape}"
        for size, dim in zip(tensor.shape, array.shape, strict=True):
            if isinstance(size, Expr) and any(s.name.startswith("u") for s in size.symbols()):
                assert sample.unknown, f"{sample!r}: size {size} is left open"
            else:
                assert evaluate(size, values) == dim, f"{sample!r}: inferred {tensor.shape}, is {array.shape} for {values}"


# --- arrays to try -----------------------------------------------------------------------------------------------------

SHAPES = ((), (0,), (1,), (5,), (2, 3), (3, 1), (0, 3), (2, 3, 4), (2, 1, 3, 2))


def array(shape: tuple[int, ...], dtype: dtypes.DType, *, seed: int = 0, special: bool = False) -> np.ndarray:
    """Small numbers with repetitions (so that there are ties); `special` puts NaN, infinities and -0.0 among them."""
    random = np.random.default_rng([seed, *shape])
    if dtype.is_float:
        x = np.asarray(random.integers(-8, 9, shape) / 4)
        if special and x.size:
            where = random.integers(0, x.size, 3)
            x.reshape(-1)[where] = random.choice([np.nan, np.inf, -np.inf, -0.0], 3)
        return x.astype(dtype.numpy)
    if dtype.name == "bool":
        return np.asarray(random.integers(0, 2, shape)).astype(np.bool_)
    low = 0 if dtype.name == "u8" else -7
    return np.asarray(random.integers(low, 8, shape)).astype(dtype.numpy)


def strided(x: np.ndarray) -> list[np.ndarray]:
    """The same values in other layouts: transposed, every second element, an offset into a larger array."""
    out = []
    if x.ndim >= 2:
        out.append(np.asfortranarray(x))
    if x.ndim >= 1 and x.size:
        wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1] + 1), x.dtype)
        wide[..., 1::2] = x
        out.append(wide[..., 1::2])
    return out
