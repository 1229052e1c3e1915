"""tierup-explicit-promotion: tier 0 gives the same before and after it, for every op that it rewrites, over all dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pointwise_samples import OPS, dtype_pairs, full_range
from promotion_cases import Case, described, differences, runs
from sampling import drawn

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.language.text import parse_module
from tierup.dialect.optable.core import Kind
from tierup.dialect.passes.registry import parse
from tierup.runtime.interpreter.translate import translate

# What stays under NumPy's rules, and why it must.
LEFT = {
    "aten.round.decimals": "NumPy scales, rounds and scales back; torch rounds another way",
    "aten.isclose": "torch refuses operands of two dtypes and computes the bound in another",
}
TIES = {"aten.maximum", "aten.minimum", "aten.fmax", "aten.fmin", "aten.clamp", "aten.clamp.Tensor", "aten.clamp_min.Tensor", "aten.clamp_max.Tensor"}
POINTWISE = [n for n, row in optable.table().items() if row.numpy and row.kind is Kind.POINTWISE and n in OPS and n not in LEFT]
SECOND = (dtypes.u8, dtypes.i64, dtypes.f16, dtypes.f32)  # beside every first operand's dtype itself
COMMON = (dtypes.i32, dtypes.i64, dtypes.f32, dtypes.f64)


def _pointwise_cases(op: str, kinds: tuple[DType, ...]) -> list[Case]:
    """Without Python bools, which the torch dialect has no overloads for, and with alpha 1, which is all that NumPy has."""
    alpha = {"aten.add.Tensor": 2, "aten.sub.Tensor": 2, "aten.add.Scalar": 2, "aten.sub.Scalar": 2, "aten.rsub.Scalar": 2}.get(op)
    cases = [c for c in full_range(op, kinds) if not any(isinstance(v, bool) for v in c)]
    if op == "aten.fill.Scalar":
        cases = [c for c in cases if c[1] == c[1] or c[0].dtype.kind not in "biu"]  # NumPy raises for NaN
    if alpha is None:
        return cases
    return list({repr(c[1:alpha]): (*c[:alpha], 1) for c in cases}.values())


def _zero(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, np.zeros((), x.dtype), x) if x.dtype.kind not in "biu" else x


def _common(case: Case) -> bool:
    arrays = [v for part in case for v in (part if isinstance(part, list) else [part]) if isinstance(v, np.ndarray)]
    return all(dtypes.from_numpy(a.dtype) in COMMON for a in arrays)


def _may_stay(op: str, case: Case) -> bool:
    """Of the common dtypes: powers of integers, 1/x of integers, and what torch refuses."""
    if op.startswith("aten.pow"):
        return case[0].dtype.kind != "f" or (isinstance(case[1], float) and case[1] == -0.5)
    return op == "aten.reciprocal" or case[1:] == (None, None)


@pytest.mark.parametrize("op", POINTWISE)
def test_pointwise_ops_keep_dtype_and_value(op: str) -> None:
    pairs = [k for k in dtype_pairs(OPS[op].tensors) if len(k) == 1 or k[1] in (k[0], *SECOND)]
    cases = [case for kinds in drawn(op, pairs, 6) for case in _pointwise_cases(op, kinds)]
    if op in TIES:  # which zero is the larger is an accident of NumPy's loops
        cases = [tuple(_zero(v) if isinstance(v, np.ndarray) else v for v in case) for case in cases]
    outcome = differences(op, cases)
    assert not outcome.wrong, "\n".join(outcome.wrong[:5])
    kept = [c for c in outcome.kept if _common(c) and not _may_stay(op, c)]
    assert not kept, f"{op} stays for {[described(c) for c in kept[:5]]}"


SHAPES = ((), (1,), (5,), (2, 3), (2, 3, 4))


def array(shape: tuple[int, ...], dtype: DType, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng([seed, *shape])
    low = 0 if dtype.name in ("u8", "bool") else -7
    x = np.asarray(random.integers(low, 2 if dtype.name == "bool" else 8, shape))
    return np.asarray(x / 4 if dtype.is_float else x).astype(dtype.numpy)


def _over(shapes: tuple, *rest: tuple) -> list[Case]:
    return [(array(s, d), *r) for d in dtypes.ALL for s in shapes for r in rest]


def _pairs(shapes: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> list[Case]:
    return [(array(a, x, 1), array(b, y, 2)) for x in dtypes.ALL for y in {x, *SECOND} for a, b in shapes]


NONE4 = (None, None, None)
I64 = np.array([[0, -1], [1, 0]])
OTHERS: dict[str, list[Case]] = {
    **{f"aten.{n}": _over(SHAPES, (None,), (dtypes.f64.code,)) for n in ("sum", "prod", "mean")},
    **{f"aten.{n}": _over(SHAPES[1:], ([0], True, None), ([-1], False, None)) for n in ("sum.dim_IntList", "mean.dim")},
    "aten.prod.dim_int": _over(SHAPES[1:], (0, False, None), (-1, True, None)),
    **{f"aten.{n}": _over(SHAPES[1:], (0, None), (-1, dtypes.f32.code)) for n in ("cumsum", "cumprod")},
    **{f"aten.{n}": _over(SHAPES, ()) for n in ("any", "all", "max", "min")},
    **{f"aten.{n}": _over(SHAPES[1:], (0, False), (-1, True)) for n in ("any.dim", "all.dim")},
    **{f"aten.{n}": _over(SHAPES[1:], ([0], False), ([], True)) for n in ("amax", "amin")},
    **{f"aten.{n}": _over(SHAPES[1:], (0, False), (None, False)) for n in ("argmax", "argmin", "aminmax")},
    **{f"aten.{n}": _over(SHAPES[1:], (0, False), (-1, True)) for n in ("max.dim", "min.dim")},
    "aten.any.dims": _over(SHAPES[1:], ([0], False), ([-1], True)),
    "aten.squeeze": _over(((1, 3), (2, 3)), ()),
    "aten.movedim.int": _over(((2, 3),), (0, -1)),
    "aten.expand": _over(((1, 3),), ([2, 3], False)),
    "aten.column_stack": [([a, b],) for a, b in _pairs([((2, 3), (2, 3)), ((3,), (3,))])],
    "aten.constant_pad_nd": _over(((2, 3),), ([1, 0], 2), ([0, 0, 1, 1], 0.5)),
    **{f"aten.{n}": _over(SHAPES[2:], (None, None, False), ([0], 1, True), ([-1], 0, False)) for n in ("var.correction", "std.correction")},
    "aten.count_nonzero": _over(SHAPES[1:], (None,), (0,)),
    "aten.linalg_vector_norm": _over(SHAPES[1:4], (2.0, None, False, None), (2, [0], True, None), (1, [0], False, None)),
    "aten.trace": _over(((3, 4),), ()),
    "aten.mm": _pairs([((2, 3), (3, 4))]),
    "aten.bmm": _pairs([((2, 2, 3), (2, 3, 4)), ((1, 2, 3), (2, 3, 4))]),
    "aten.mv": _pairs([((2, 3), (3,))]),
    "aten.matmul": _pairs([((3,), (3,)), ((2, 3), (3,)), ((4, 2, 3), (3, 2))]),
    "aten.dot": _pairs([((3,), (3,)), ((), (3,)), ((2, 3), (3,)), ((3,), (3, 2)), ((2, 3), (3, 2)), ((4, 2, 3), (3, 2)), ((2, 3), (4, 3, 2))]),
    "aten.outer": _pairs([((3,), (2,))]),
    **{f"aten.{n}": [([2, 3], d, *NONE4) for d in (None, dtypes.i32.code)] for n in ("zeros", "ones")},
    "aten.full": [([2], v, d, *NONE4) for v in (1, 2.5, 300) for d in (None, dtypes.i8.code, dtypes.f16.code)],
    "aten.full_like": [(x, v, None, *NONE4, None) for x in (array((3,), d) for d in dtypes.ALL) for v in (1, 2.5, 0.1)],
    "aten.arange": [(v, None, *NONE4) for v in (5, 4.5)],
    "aten.arange.start": [(a, b, None, *NONE4) for a, b in ((1, 5), (0, 5.5), (0.5, 3.0))],
    "aten.arange.start_step": [(a, b, s, None, *NONE4) for a, b, s in ((1, 9, 3), (9, 1, -2), (0.0, 1.0, 0.1), (0, 4.0, 1))],
    "aten.eye": [(3, d, *NONE4) for d in (None, dtypes.i64.code)],
    "aten.reshape": _over(((2, 3),), ([3, 2],), ([-1],)),
    "aten.squeeze.dim": _over(((2, 1),), (1,), (-1,)),
    "aten.unsqueeze": _over(((2, 3),), (0,), (-1,)),
    "aten.transpose.int": _over(((2, 3),), (0, 1)),
    "aten.permute": _over(((2, 3, 4),), ([2, 0, 1],)),
    "aten.select.int": _over(((2, 3),), (1, -1), (0, 1)),
    "aten.slice.Tensor": _over(((2, 3),), (1, 1, None, 1), (1, None, None, 2), (0, -5, 9, 1), (1, None, None, -1)),
    "aten.broadcast_to": _over(((3,),), ([2, 3],)),
    "aten.diagonal": _over(((3, 4),), (1, 0, 1)),
    **{f"aten.{n}": [([a, b, a], *r) for a, b in _pairs([((2, 3), (2, 3))])] for n, r in (("cat", (1,)), ("stack", (0,)), ("hstack", ()))},
    "aten.tile": _over(((2, 3),), ([2],), ([2, 1, 2],)),
    "aten.repeat_interleave.self_int": _over(((2, 3),), (2, None, None), (2, 1, None)),
    "aten.roll": _over(((2, 3),), ([1], []), ([1, -1], [0, 1])),
    "aten.flip": _over(((2, 3),), ([0],), ([0, 1],)),
    **{f"aten.{n}": _over(((3, 3), (3,)), (0,), (-1,)) for n in ("tril", "triu")},
    "aten.index_select": [(array((2, 3), d), k, np.array([0, -1, 1], i)) for d in dtypes.ALL for k in (0, 1) for i in ("i2", "i4", "i8")],
    "aten.embedding": [(array((2, 3), d), I64, -1, False, False) for d in dtypes.ALL],
    "aten.gather": [(array((2, 3), d), 1, I64, False) for d in dtypes.ALL],
    "aten.index.Tensor": [(array((2, 3), d), [None, np.array([0, -1], i)]) for d in dtypes.ALL for i in ("i2", "i8")],
    "aten.index.Tensor_hacked_twin": [(array((2, 3), d), [np.array([0, 1, 1], i)]) for d in dtypes.ALL for i in ("u1", "i2", "i8")]
    + [(array((3,), d), [np.array([True, False, True])]) for d in dtypes.ALL],
    "aten.index_put.hacked_twin": [
        (array((2, 3), x), [np.array([1, 0], i)], array((2, 3), y), False) for x in dtypes.ALL for y in SECOND for i in ("u1", "i8")
    ],
}  # fmt: skip


# Cases of the common dtypes that stay under NumPy's rules, by what they are after their first operand.
STAY: dict[str, set[str]] = {
    "aten.dot": {f"{d}[4, 3, 2]" for d in COMMON},  # neither torch's dot nor its matmul
    "aten.arange.start": {"3.0, None, None, None, None"},  # NumPy and torch round differently
    "aten.arange.start_step": {"1.0, 0.1, None, None, None, None"},
    "aten.slice.Tensor": {"1, None, None, -1"},  # torch has no negative steps
    **{f"aten.{n}": {"0", "-1"} for n in ("tril", "triu")},  # of a vector NumPy makes a matrix
}


@pytest.mark.parametrize("op", drawn("others", list(OTHERS), 2))
def test_other_ops_keep_dtype_and_value(op: str) -> None:
    outcome = differences(op, OTHERS[op], optable.lookup(op).results)
    assert not outcome.wrong, "\n".join(outcome.wrong[:5])
    assert any(_common(c) and runs(op, c) for c in OTHERS[op]), f"NumPy runs {op} for none of these"
    kept = {described(c).partition("], " if isinstance(c[0], np.ndarray) else ", ")[2] for c in outcome.kept if _common(c)}
    assert kept == STAY.get(op, set())


@pytest.mark.parametrize(
    ("op", "rest", "types", "function"),
    [
        ("triu", "%one", "!torch.int", lambda x: np.triu(x, 1)),
        ("tril", "%zero", "!torch.int", np.tril),
        ("transpose.int", "%zero, %minus", "!torch.int, !torch.int", lambda x: np.swapaxes(x, 0, -1)),
        ("squeeze.dim", "%zero", "!torch.int", lambda x: np.squeeze(x, 0)),
        ("flip", "%axes", "!torch.list<int>", lambda x: np.flip(x, (0,))),
    ],
)
def test_of_unknown_rank_an_op_stays_numpys(op: str, rest: str, types: str, function: Callable[..., Any]) -> None:
    module = parse_module(f"""func.func @f(%x: !torch.vtensor) -> !torch.vtensor {{
      %zero = torch.constant.int 0
      %one = torch.constant.int 1
      %minus = torch.constant.int -1
      %axes = torch.prim.ListConstruct %zero : (!torch.int) -> !torch.list<int>
      %0 = "torch.aten.{op}"(%x, {rest}) {{tierup.promotion = "numpy"}} : (!torch.vtensor, {types}) -> !torch.vtensor
      return %0 : !torch.vtensor
    }}""")
    parse("tierup-explicit-promotion").run(module)
    tier0 = translate(module, "f")
    for x in (np.array(2.0), np.arange(3.0), np.arange(3.0)[None], np.arange(6.0).reshape(2, 3)):
        try:
            want = function(x)
        except (TypeError, ValueError) as e:  # np.exceptions.AxisError is one of the last
            with pytest.raises(type(e)):
                tier0(x)
        else:
            np.testing.assert_array_equal(tier0(x), want)
