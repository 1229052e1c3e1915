"""Every op with native code, one at a time: what its kernel computes is what tier 0 computes."""

from __future__ import annotations

import numpy as np
import pytest
from native_samples import SAMPLES
from sampling import drawn
from single_op import difference, flat, native, tier0

from tierup.dialect import optable
from tierup.dialect.optable.core import Kind

# no sample can make one call of these: they are structure, or have no results, or their operands have no literal form
_NOT_SINGLE = {
    "prim.ListConstruct", "prim.ListUnpack", "prim.TupleConstruct", "prim.TupleUnpack", "prim.TupleIndex", "prim.NumToTensor.Scalar",
    "prim.RaiseException", "runtime.assert", "vtensor.literal", "aten.size", "aten.__getitem__.t", "aten.add.t", "aten.mul.left_t",
    "aten.slice.t", "aten.list.t", "aten.to.device", "aten.to.prim_Device",
    "tierup.weak_complex", "tierup.conj_physical", "tierup.real", "tierup.imag",  # test/frontend/test_complex_numbers.py
}  # fmt: skip
# how many channels a group has must be known, how many pieces there are, and whether what is cut fits
_STATIC_ONLY = {"aten.group_norm", "aten.native_group_norm", "aten.split.Tensor", "aten.chunk", "aten.tensor_split.sections", "aten.narrow"}


def _tag(sample: tuple) -> str:
    op, operands, _ = sample
    return f"{op}-{'-'.join(str(v.dtype) + str(list(v.shape)) if isinstance(v, np.ndarray) else repr(v)[:16] for v in operands[:3])}"


def _per_element(op: str) -> float:
    """Sums may be added in any order; the rows of normalised values are bounded by their largest."""
    row = optable.lookup(op)
    return row.tolerance.per_element or (1.0 if row.kind is Kind.NORMALISATION else 0.0)


def _with_sizes() -> list[tuple]:
    """The first sample of each op that has sizes which can be symbols, and that allows it."""
    first: dict[str, tuple] = {}
    for op, operands, results in SAMPLES:
        if op not in _STATIC_ONLY and any(isinstance(v, np.ndarray) and v.ndim for v in (*operands, *(operands[0] if isinstance(operands[0], list) else ()))):
            first.setdefault(op, (op, operands, results))
    return list(first.values())


@pytest.mark.parametrize("sample", drawn("native", SAMPLES, 8, kind=lambda sample: sample[0]), ids=_tag)
def test_native_code_computes_what_tier_0_computes(sample: tuple) -> None:
    _compare(sample, symbolic=False)


@pytest.mark.parametrize("sample", drawn("symbolic", _with_sizes(), 8, kind=lambda sample: optable.lookup(sample[0]).kind), ids=_tag)
def test_native_code_for_symbolic_sizes_computes_what_tier_0_computes(sample: tuple) -> None:
    _compare(sample, symbolic=True)


_ADDING = [s for s in SAMPLES if optable.lookup(s[0]).kind in (Kind.REDUCTION, Kind.SCAN, Kind.PRODUCT) and "backward" not in s[0]]


@pytest.mark.parametrize("sample", drawn("zeros", _ADDING, 8, kind=lambda sample: sample[0].split(".")[1]), ids=_tag)
def test_sums_of_negative_zeros_have_the_sign_that_tier_0_gives(sample: tuple) -> None:
    def negative(v: object) -> object:
        return np.full_like(v, -0.0) if isinstance(v, np.ndarray) and v.dtype.kind == "f" else v

    op, operands, results = sample
    _compare((op, tuple(map(negative, operands)), results), symbolic=False)


def test_every_op_with_native_code_has_a_sample() -> None:
    sampled = {op for op, _, _ in SAMPLES} | _NOT_SINGLE
    missing = [name for name, row in optable.table().items() if row.native and not row.writes and name not in sampled]
    assert missing == []


def _compare(sample: tuple, *, symbolic: bool) -> None:
    op, operands, results = sample
    actual = native(op, operands, results, symbolic=symbolic, backwards=symbolic)
    expected = flat(tier0(op, operands))
    if symbolic and not isinstance(results, str):
        expected = [np.reshape(e, -1)[::-1] for e in expected]
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        assert difference(a, e, optable.lookup(op).tolerance.ulp, _per_element(op), 100) == ""
