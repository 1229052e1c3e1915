"""What every rule emits is native code, and gives what tier 0 gives: gradients of many ops at once, one compile for each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from gradient_cases import CASES
from gradient_harness import Case, array, differentiated, program, runner

import tierup
from tierup.dialect import optable
from tierup.dialect.contracts import walk
from tierup.dialect.ir_text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind

SIZE = 24
NOT_NATIVE = {
    "aten._grad_sum_to_size": "tierup-expand-sum-to-size makes it a sum",
}
"""Ops that are no native code, of those that rules of native ops emit, and what becomes of them."""

TIER_0 = {
    "aten.masked_select": "as many results as the mask says",
}  # fmt: skip
"""Ops whose case, or its gradient, is no native code."""


def _one_per_op() -> list[Case]:
    """The first case of each op that has native code and takes no list, but one with arrays that are broadcast where there is one."""
    found: dict[str, Case] = {}
    for given in CASES:
        row = optable.lookup(given.op)
        assert row is not None
        lists = any(isinstance(v, list) and v and isinstance(v[0], np.ndarray) for v in given.operands)
        if given.numpy or lists or not row.native or row.results != 1 or given.op in TIER_0 or not any(a.dtype.kind == "f" for a in given.arrays):
            continue
        old = found.get(given.op)
        if old is None or (_broadcasts(given) and not _broadcasts(old)):
            found[given.op] = given
    return [given for _, given in sorted(found.items())]


def _broadcasts(given: Case) -> bool:
    return all(a.size for a in given.arrays) and len({a.shape for a in given.arrays}) > 1


def _batches() -> Iterator[list[Case]]:
    cases = _one_per_op()
    return (cases[i : i + SIZE] for i in range(0, len(cases), SIZE))


def _name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["name"]).value if op.name == "torch.operator" else op.name


def _emits_what_is_not_native(given: Case) -> set[str]:
    module = parse_module(differentiated(program(given), [i for i, a in enumerate(given.arrays) if a.dtype.kind == "f"]))
    rows = [optable.lookup(_name(op)) for op in walk(module.operation)]
    return {row.name for row in rows if row is not None and not row.native and row.kind is not Kind.SCALAR}


def test_what_rules_of_native_ops_emit_is_native_but_for_a_few() -> None:
    cases = {given.op: given for given in CASES if given.op in TIER_0} | {given.op: given for given in _one_per_op()}
    emitted = {op: _emits_what_is_not_native(given) for op, given in cases.items()}
    assert not {op: names for op, names in emitted.items() if names - set(NOT_NATIVE)}


@pytest.mark.parametrize("cases", list(_batches()), ids=lambda cases: f"{cases[0].op}-{cases[-1].op}")
def test_native_gradients_of_rules_are_tier_0s(cases: list[Case], tmp_path: Path) -> None:
    arrays = [a for given in cases for a in given.arrays]
    text = program(*cases)
    values = runner(text)(*arrays)
    seeded = [k for k, v in enumerate(values) if v.dtype.kind == "f"]
    backward = differentiated(text, [i for i, a in enumerate(arrays) if a.dtype.kind == "f"], seeded)
    arguments = [*arrays, *(array(*values[k].shape, low=-1, high=1.5, seed=k) for k in seeded)]
    (tmp_path / "f.mlir").write_text(backward)
    f, tier0 = tierup.load(tmp_path / "f.mlir"), runner(backward)
    for _ in range(3):
        for got, want in zip(f(*arguments), tier0(*arguments), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert f.stats().hits and "in tier 0: aten" not in f.explain(), f.explain()


STATIC = {
    "aten.constant_pad_nd", "aten.pad",  # padded by the negative
    "aten.group_norm", "aten.native_group_norm", "aten.cumprod",
    "aten.chunk", "aten.tensor_split.sections",  # parts of sizes that only the run knows, which a cotangent must have
}  # fmt: skip
"""Ops whose gradient is native code only where sizes are known when it is compiled; so are those of convolutions, by a cotangent."""


def _grown(a: np.ndarray, times: int) -> np.ndarray:
    """The array repeated along each dim that is not 1, so that what is broadcast still is."""
    return np.tile(a, [times if size != 1 else 1 for size in a.shape])


def _grows(given: Case) -> bool:
    """Whether the op takes its arrays grown, and has a gradient: one of sizes that are written down does not."""
    arrays = given.arrays
    if given.op in STATIC or "conv" in given.op or not all(a.size for a in arrays) or not any(a.ndim for a in arrays):
        return False
    forward = runner(program(given))
    try:
        return all(forward(*[_grown(a, times) for a in arrays])[0].dtype.kind == "f" for times in (1, 2, 3))
    except (ValueError, IndexError):
        return False


def _growing() -> list[list[Case]]:
    cases = [given for given in _one_per_op() if _grows(given)]
    return [cases[i : i + SIZE] for i in range(0, len(cases), SIZE)]


@pytest.mark.parametrize("cases", _growing(), ids=lambda cases: f"{cases[0].op}-{cases[-1].op}")
def test_native_gradients_are_tier_0s_at_sizes_that_only_the_run_knows(cases: list[Case], tmp_path: Path) -> None:
    arrays = [a for given in cases for a in given.arrays]
    text = program(*cases)
    seeded = [k for k, v in enumerate(runner(text)(*arrays)) if v.dtype.kind == "f"]
    backward = differentiated(text, [i for i, a in enumerate(arrays) if a.dtype.kind == "f"], seeded)
    (tmp_path / "f.mlir").write_text(backward)
    f, forward, tier0 = tierup.load(tmp_path / "f.mlir", fusion_strategy=[("dynamic", 1)], level=0), runner(text), runner(backward)
    for times in (1, 2, 2, 3, 4):
        grown = [_grown(a, times) for a in arrays]
        values = forward(*grown)
        arguments = [*grown, *(array(*values[k].shape, low=-1, high=1.5, seed=k) for k in seeded)]
        for got, want in zip(f(*arguments), tier0(*arguments), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert f.stats().hits >= 2 and "in tier 0: aten" not in f.explain(), f.explain()
    assert any(v.bet.kind != "static" for v in f.versions)
