"""What every rule emits is native code, and gives what tier 0 gives: gradients of many ops at once, one compile for each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gradient_cases import CASES
from gradient_harness import Case, array, differentiated, program, runner
from sampling import IS_EXHAUSTIVE, drawn

import tierup
from tierup.dialect import optable
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind

ONE_OF = 6  # ops, in a normal run
BATCHES = 10 if IS_EXHAUSTIVE else 2
NOT_NATIVE = {
    "aten._adaptive_avg_pool3d_backward", "aten.upsample_nearest2d_backward", "tierup.argpartition",
    "aten._grad_sum_to_size",  # but for this one, which tierup-expand-sum-to-size makes a sum
}  # fmt: skip
"""Ops that are no native code, of those that rules of native ops emit: tier 0 runs them between native regions."""

TIER_0 = {
    "aten.masked_select": "as many results as the mask says",
}  # fmt: skip
"""Ops whose case is no native code itself, though others of the op are."""

STATIC = {
    "aten.constant_pad_nd", "aten.pad",  # padded by the negative
    "aten.group_norm", "aten.native_group_norm", "aten.cumprod",
    "aten.diagonal", "aten.diagonal_copy", "aten.diagonal_scatter",
    "aten.chunk", "aten.tensor_split.sections",  # parts of sizes that only the run knows, which a cotangent must have
}  # fmt: skip
STATIC_PARTS = ("conv", "pool", "upsample")
"""Ops whose gradient is native code only where sizes are known when it is compiled."""


@cache
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


@cache
def _emits_what_is_not_native() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for given in _one_per_op():
        module = parse_module(differentiated(program(given), [i for i, a in enumerate(given.arrays) if a.dtype.kind == "f"]))
        rows = [optable.lookup(_name(op)) for op in walk(module.operation)]
        found[given.op] = {row.name for row in rows if row is not None and not row.native and row.kind is not Kind.SCALAR}
    return found


def _name(op: ir.Operation) -> str:
    return ir.StringAttr(op.attributes["name"]).value if op.name == "torch.operator" else op.name


def _native() -> list[Case]:
    """Those of which the gradient is native code too. Linear algebra raises for values: where nobody reads its results it runs apart; how many
    numbers bincount counts only the run knows."""
    emitted, apart = _emits_what_is_not_native(), ("tierup.linalg_", "tierup.bincount")
    return [c for c in _one_per_op() if not emitted[c.op] - {"aten._grad_sum_to_size"} and not c.op.startswith(apart)]


def test_what_rules_of_native_ops_emit_is_native_but_for_a_few() -> None:
    emitted = _emits_what_is_not_native()
    assert not {op: names for op, names in emitted.items() if names - NOT_NATIVE}


def _check_native(cases: list[Case], folder: Path, sizes: Sequence[int], **options: Any) -> tierup.Function:
    """Calls of the gradients of several ops, of arrays that grow by these factors, give what tier 0 does, and are native code."""
    arrays = [a for given in cases for a in given.arrays]
    text = program(*cases)
    seeded = [k for k, v in enumerate(runner(text)(*arrays)) if v.dtype.kind == "f"]
    backward = differentiated(text, [i for i, a in enumerate(arrays) if a.dtype.kind == "f"], seeded)
    (folder / "f.mlir").write_text(backward)
    f, forward, tier0 = tierup.load(folder / "f.mlir", **options), runner(text), runner(backward)
    for times in sizes:
        grown = [_grown(a, times) for a in arrays]
        values = forward(*grown)
        arguments = [*grown, *(array(*values[k].shape, low=-1, high=1.5, seed=k) for k in seeded)]
        for got, want in zip(f(*arguments), tier0(*arguments), strict=True):
            assert got.dtype == want.dtype and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    assert f.stats().hits and "in tier 0: aten" not in f.explain(), f.explain()
    return f


def _grown(a: np.ndarray, times: int) -> np.ndarray:
    """The array repeated along each dim that is not 1, so that what is broadcast still is."""
    return np.tile(a, [times if size != 1 else 1 for size in a.shape]) if times > 1 else a


@pytest.mark.parametrize("k", range(BATCHES))
def test_native_gradients_of_rules_are_tier_0s(k: int, tmp_path: Path) -> None:
    _check_native(drawn("static", _native(), ONE_OF)[k::BATCHES], tmp_path, (1, 1, 1))


def _grows(given: Case) -> bool:
    """Whether the op takes its arrays grown, and has a gradient: one of sizes that are written down does not."""
    arrays = given.arrays
    if given.op in STATIC or any(p in given.op for p in STATIC_PARTS) or not all(a.size for a in arrays) or not any(a.ndim for a in arrays):
        return False
    forward = runner(program(given))
    try:
        return all(forward(*[_grown(a, times) for a in arrays])[0].dtype.kind == "f" for times in (1, 2, 3))
    except (ValueError, IndexError):
        return False


@cache
def _growing() -> list[Case]:
    return [given for given in _native() if _grows(given)]


@pytest.mark.parametrize("k", range(BATCHES))
def test_native_gradients_are_tier_0s_at_sizes_that_only_the_run_knows(k: int, tmp_path: Path) -> None:
    f = _check_native(drawn("growing", _growing(), ONE_OF)[k::BATCHES], tmp_path, (1, 2, 2, 3, 4), fusion_strategy=[("dynamic", 1)], level=0)
    assert f.stats().hits >= 2 and any(v.speculation.kind != "static" for v in f.versions)
