"""The lists of ops in contracts.py agree with the parts that run and infer them."""

from __future__ import annotations

from tierup.dialect import optable
from tierup.dialect.facts.inference.structure import RULES
from tierup.dialect.ir.structure import LIST_WRITERS, TERMINATORS
from tierup.dialect.language import contracts
from tierup.dialect.language.ops import DEFINITIONS
from tierup.runtime.interpreter import structural, tierup_ops

_TERMINATORS = {"func.func", "func.return", "torch.prim.If.yield", "torch.prim.Loop.condition"}
_DECLARATIONS = {"torch.symbolic_int", "torch.bind_symbolic_shape"}


def test_structure_is_what_tier_0_runs_beside_rows() -> None:
    runs = {name for name in structural.HANDLERS if optable.lookup(name) is None or name in contracts.STRUCTURE}
    declared = contracts.STRUCTURE - _TERMINATORS - _DECLARATIONS
    assert declared == runs - {"torch.operator"} - _DECLARATIONS


def test_inference_knows_all_of_structure() -> None:
    known = set(RULES) | set(TERMINATORS) | {f"torch.{name}" for name in optable.table()}
    assert contracts.STRUCTURE - known - {"func.func"} - LIST_WRITERS <= {"torch.prim.Uninitialized", "torch.runtime.assert"}


def test_every_op_of_the_dialect_runs_in_tier_0() -> None:
    in_lowering = {"tierup.held_product", "tierup.library_fits", "tierup.library_product"}  # of MLIR's tensors and buffers
    in_specialise = {"tierup.hidden", "tierup.kept"}  # gone once MLIR's canonicaliser is through
    assert set(DEFINITIONS) - {"tierup.yield"} - in_lowering - in_specialise == set(tierup_ops.HANDLERS)


def test_value_ops_are_ops_of_the_dialect() -> None:
    assert set(DEFINITIONS) > contracts.VALUES
