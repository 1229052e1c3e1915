"""Windows without strides move on by their own size, in native code too."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tierup
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes import registry
from tierup.lowering.building import builders

T, L, B, I = "!torch.vtensor", "!torch.list<int>", "!torch.bool", "!torch.none"  # noqa: E741

POOLING = {
    **{f"max_pool{n}d": (n, f"%x, %k, %s, %p, %one, %no : {T}, {L}, {L}, {L}, {L}, {B}") for n in (1, 2, 3)},
    "avg_pool1d": (1, f"%x, %k, %s, %p, %no, %no : {T}, {L}, {L}, {L}, {B}, {B}"),
    **{f"avg_pool{n}d": (n, f"%x, %k, %s, %p, %no, %no, %none : {T}, {L}, {L}, {L}, {B}, {B}, {I}") for n in (2, 3)},
}


def program(op: str, strides: str) -> str:
    return f"""
func.func @f(%x: {T}) -> {T} {{
  %int0 = torch.constant.int 0
  %int1 = torch.constant.int 1
  %int2 = torch.constant.int 2
  %no = torch.constant.bool false
  %none = torch.constant.none
  %k = torch.prim.ListConstruct %int2 : (!torch.int) -> {L}
  %s = torch.prim.ListConstruct {strides} -> {L}
  %p = torch.prim.ListConstruct %int0 : (!torch.int) -> {L}
  %one = torch.prim.ListConstruct %int1 : (!torch.int) -> {L}
  %0 = torch.aten.{op} {POOLING[op][1]} -> {T}
  return %0 : {T}
}}"""


@pytest.mark.parametrize("op", POOLING)
def test_windows_without_strides_move_on_by_their_own_size(op: str, tmp_path: Path) -> None:
    made = []
    for name, strides in (("none", ": ()"), ("two", "%int2 : (!torch.int)")):
        (tmp_path / f"{name}.mlir").write_text(program(op, strides))
        made.append(tierup.load(tmp_path / f"{name}.mlir", fusion_strategy=[("dynamic", 1)], level=0))
    for size in (4, 6, 6, 5, 9):
        x = np.random.default_rng(size).normal(size=(2, 3, *[size] * POOLING[op][0]))
        np.testing.assert_array_equal(made[0](x), made[1](x))
    assert made[0].stats().hits >= 2 and "in tier 0: aten" not in made[0].explain(), made[0].explain()


@pytest.mark.parametrize("op", POOLING)
def test_the_canonicalizer_gets_the_strides(op: str) -> None:
    """It reads as many as the windows have dims."""
    module = parse_module(program(op, ": ()"))
    registry.parse("tierup-hide-from-folding,canonicalize,cse,tierup-restore-hidden").run(module)
    (pool,) = [o for o in builders.walk(module.operation) if o.name == f"torch.aten.{op}"]
    assert [str(v.owner.attributes["value"]) for v in pool.operands[2].owner.operands] == ["2 : i64"] * len(pool.operands[1].owner.operands)
