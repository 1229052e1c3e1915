"""An op of a program has its row by `row_of(op)`: one that torch-mlir has no class for is a `torch.operator`, and its name is in an attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from sources import trees

NO_OPS = {"row", "step"}  # their names are those of the op table, or of views, which are ops of the torch dialect


def _is_name_of_an_op(node: ast.expr) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "name" and ast.unparse(node.value).rpartition(".")[2] not in NO_OPS


def _is_lookup(call: ast.Call) -> bool:
    found = call.func
    if isinstance(found, ast.Attribute):
        return found.attr == "lookup" and isinstance(found.value, ast.Name) and found.value.id == "optable"
    return isinstance(found, ast.Name) and found.id == "lookup"


def _misses(source: ast.Module) -> Iterator[int]:
    """The lines at which the op table is asked by what MLIR calls an op, or the prefix is taken off that."""
    for function in ast.walk(source):
        if not isinstance(function, ast.FunctionDef):
            continue
        assigned = [n for n in ast.walk(function) if isinstance(n, ast.Assign) and _is_name_of_an_op(n.value)]
        names = {target.id for n in assigned for target in n.targets if isinstance(target, ast.Name)}
        for call in (n for n in ast.walk(function) if isinstance(n, ast.Call)):
            if _is_lookup(call) and (_is_name_of_an_op(call.args[0]) or (isinstance(call.args[0], ast.Name) and call.args[0].id in names)):
                yield call.lineno
            of = call.func
            if isinstance(of, ast.Attribute) and of.attr == "removeprefix" and _is_name_of_an_op(of.value) and "torch." in map(_text, call.args):
                yield call.lineno


def _text(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else None


def test_misses_are_found() -> None:
    misses = lambda text: list(_misses(ast.parse(text)))
    assert misses("def f(op):\n    optable.lookup(op.name)") == [2]
    assert misses("def f(op):\n    name = op.name\n    lookup(name)") == [3]
    assert misses("def f(use):\n    return use.owner.operation.name.removeprefix('torch.') in NAMES") == [2]
    assert not misses("def f(op, name, row):\n    optable.lookup(name), gradients.lookup(row.name), op.name.removeprefix('tierup.')")


def test_rows_are_asked_for_by_op() -> None:
    home = "dialect/ir/walking.py"  # torch_name
    found = trees(r"\blookup\(|\.name\.removeprefix\(")
    assert [f"{name}:{line}" for name, tree in found if name != home for line in _misses(tree)] == []
