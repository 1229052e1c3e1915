"""What is true of an op stands in its definition: a pass that has to know it asks for a field of the op's row, and keeps no list of names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import tierup
from tierup.dialect import optable
from tierup.dialect.optable.core import Kind

ROOT = Path(tierup.__file__).parent.parent

# Collections of names that may be: of each why it is no field.
_OPERANDS = "says which operand is what: that of a slice or a split at which its dim, its step or its sizes stand"
_TWO = "two spellings of one op"
_CODE = "a piece of code for each op, which is this pass"
ALLOWED = {
    "dialect/analysis/contiguity.py:_OUTERMOST": _OPERANDS,
    "dialect/analysis/contiguity.py:_PARTS": _OPERANDS,
    "dialect/analysis/contiguity.py:_DROPPING": _OPERANDS,
    "dialect/analysis/contiguity.py:_SAME": _TWO,
    "dialect/analysis/raising.py:_ASSIGNMENTS": _TWO,
    "dialect/passes/autodiff/reverse/parts.py:_TAKES": _CODE,
    "dialect/passes/functional/views.py:_READ_ONLY": "views that NumPy locks; others are locked by who makes them",
    "dialect/passes/functional/views.py:_MAY_COPY": "of the views that NumPy's Python has those that may copy",
    "dialect/passes/functional/views.py:_INVERSES": _CODE,
    "dialect/passes/fusion/policies.py:_EXPRESSIONS": "what TorchScript's fuser took into a group: its choice, not a fact of the ops",
    "dialect/ops/gradients/formulas.py:_SPECIAL": _CODE,
    "dialect/rewriting/numpy_rules/pointwise.py:_OF_TENSORS": "the same op on a tensor, which a rewriting of this file makes of one on a number",
    "dialect/passes/pipelines/mlir_crashes.py:_LOOKED_AT": "what torch-mlir crashes for",
    "dialect/torchscript/transforms/decompose_ops.py:RULES": _CODE,
    "dialect/torchscript/transforms/peephole_alias_sensitive.py:_CONVOLUTIONS": "what TorchScript's pass looks at",
    "dialect/transforms/expose_statistics.py:RULES": _CODE,
    "lowering/analysis/views.py:_PARTS": _CODE,
    "lowering/analysis/views.py:_VIEWS": _CODE,
    "lowering/transforms/insert_bounds_checks.py:_DIVISIONS": _CODE,
    "lowering/transforms/hide_from_folding.py:_FOLDED_BY": "what torch-mlir folds otherwise than tier 0",
    "lowering/transforms/insert_bounds_checks.py:_READS": _CODE,
    "lowering/transforms/insert_bounds_checks.py:_HANDLERS": _CODE,
    "lowering/transforms/insert_size_checks.py:_OTHERS": _CODE,
    "lowering/transforms/unpack_lists.py:_COUNTS": _CODE,
    "lowering/transforms/unpack_lists.py:_PIECES": _CODE,
}


def _is_tensor_op(name: str) -> bool:
    row = optable.lookup(name)
    return row is not None and row.kind is not Kind.SCALAR and not name.endswith(".literal")


def _lists(source: str) -> Iterator[str]:
    """The names of a module's collections that name two ops on tensors or more."""
    for node in ast.parse(source).body:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target if isinstance(node, ast.AnnAssign) else None
        if isinstance(target, ast.Name) and node.value is not None:
            texts = {c.value for c in ast.walk(node.value) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
            if len({text.removeprefix("torch.") for text in texts if _is_tensor_op(text)}) > 1:
                yield target.id


# beside definitions and the recipes for native code, which name ops
_NOT_DEFINITIONS = ("dialect/ops/gradients/", "dialect/optable/formulas/", "dialect/optable/kernels/")


def _places() -> Iterator[str]:
    for folder in ("dialect", "lowering", "runtime"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name.startswith(_NOT_DEFINITIONS) or not name.startswith(("dialect/ops/", "dialect/optable/", "lowering/ops/")):
                yield from (f"{name}:{found}" for found in _lists(path.read_text()))


def test_no_pass_keeps_a_list_of_ops_that_should_be_a_field_of_their_definitions() -> None:
    found = set(_places())
    assert not found - set(ALLOWED), "say it of the ops in dialect/optable (a field of core.Op with a default), or here why that cannot be"
    assert not set(ALLOWED) - found, "allowed, and gone"


def test_a_list_of_ops_is_found() -> None:
    assert list(_lists('_A = frozenset({"torch.aten.cumsum", "aten.erf"})\n_B: tuple[str, ...] = ("aten.mm", "torch.aten.bmm")')) == ["_A", "_B"]
    assert not list(_lists('_STRUCTURE = ("torch.prim.If", "torch.prim.Loop", "torch.aten.erf")\nx = {"torch.aten.erf"}'))
