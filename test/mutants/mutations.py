"""Small changes to a Python module that its tests should notice, one at a time."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_ARITHMETIC: dict[type[ast.operator], type[ast.operator]] = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.BitOr: ast.BitAnd, ast.BitAnd: ast.BitOr}


@dataclass(frozen=True)
class Mutant:
    """One change: where, what in words, and the module's text with it."""

    line: int
    column: int
    what: str
    source: str

    @property
    def key(self) -> str:
        return f"{self.line}:{self.column} {self.what}"


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module, from top to bottom. What no run can reach (annotations, docstrings, decorators) stays."""
    tree = ast.parse(source)
    found: dict[str, Mutant] = {}
    for place in list(_places(tree)):
        original = _at(tree, place)
        for what, changed in _changes(original):
            twin = copy.deepcopy(tree)
            _put(twin, place, changed)
            made = Mutant(original.lineno, original.col_offset, what, ast.unparse(ast.fix_missing_locations(twin)))
            found.setdefault(made.key, made)
    yield from sorted(found.values(), key=lambda m: (m.line, m.column, m.what))


Place = tuple[tuple[str, int | None], ...]  # the fields that lead from the module to a node


def _places(node: ast.AST, above: Place = ()) -> Iterator[Place]:
    for name, value in ast.iter_fields(node):
        if name in ("decorator_list", "annotation", "returns", "args") and not isinstance(node, ast.Call):
            continue
        children = [(i, v) for i, v in enumerate(value)] if isinstance(value, list) else [(None, value)]
        for i, child in children:
            if not isinstance(child, ast.AST) or _is_docstring(child) or isinstance(child, (ast.Import, ast.ImportFrom)):
                continue
            place = (*above, (name, i))
            if isinstance(child, (ast.expr, ast.stmt)):
                yield place
            yield from _places(child, place)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _at(tree: ast.AST, place: Place) -> ast.expr | ast.stmt:
    node = tree
    for name, i in place:
        node = getattr(node, name) if i is None else getattr(node, name)[i]
    assert isinstance(node, (ast.expr, ast.stmt))
    return node


def _put(tree: ast.AST, place: Place, changed: ast.AST) -> None:
    *rest, (name, i) = place
    node = tree
    for field, j in rest:
        node = getattr(node, field) if j is None else getattr(node, field)[j]
    if i is None:
        setattr(node, name, changed)
    else:
        getattr(node, name)[i] = changed


def _changes(node: ast.expr | ast.stmt) -> Iterator[tuple[str, ast.AST]]:
    """What may be put in the place of a node, each with its words."""
    if isinstance(node, (ast.If, ast.While, ast.IfExp)):
        twin = copy.deepcopy(node)
        twin.test = ast.UnaryOp(ast.Not(), twin.test)
        yield f"condition negated: {_short(node.test)}", twin
    if isinstance(node, ast.comprehension):
        return
    if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        for i, generator in enumerate(node.generators):
            for j, test in enumerate(generator.ifs):
                twin_ = copy.deepcopy(node)
                del twin_.generators[i].ifs[j]
                yield f"filter dropped: {_short(test)}", twin_
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        compare = copy.deepcopy(node)
        compare.ops = [_COMPARISONS[type(node.ops[0])]()]
        yield f"comparison: {_short(node)} -> {_short(compare)}", compare
    if isinstance(node, ast.BoolOp):
        other = copy.deepcopy(node)
        other.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
        yield f"and/or swapped: {_short(node)}", other
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield f"not dropped: {_short(node)}", copy.deepcopy(node.operand)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC and not isinstance(node.left, ast.Constant | ast.JoinedStr):
        sum_ = copy.deepcopy(node)
        sum_.op = _ARITHMETIC[type(node.op)]()
        yield f"operator: {_short(node)} -> {_short(sum_)}", sum_
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield f"{node.value} -> {not node.value}", ast.copy_location(ast.Constant(not node.value), node)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int):
        for step in (1, -1) if node.value else (1,):  # the last of one is the first
            yield f"{node.value} -> {node.value + step}", ast.copy_location(ast.Constant(node.value + step), node)
    if isinstance(node, (ast.AugAssign, ast.Delete, ast.Raise)) or (isinstance(node, ast.Expr) and isinstance(node.value, (ast.Call, ast.Yield, ast.YieldFrom))):
        yield f"dropped: {_short(node)}", ast.copy_location(ast.Pass(), node)
    if isinstance(node, (ast.Continue, ast.Break)):
        yield f"dropped: {_short(node)}", ast.copy_location(ast.Pass(), node)
    if isinstance(node, ast.FunctionDef) and not node.name.startswith("__"):
        yield from _early(node)


def _early(node: ast.FunctionDef) -> Iterator[tuple[str, ast.AST]]:
    """The function that returns at once: nothing, or each truth value."""
    returns = ast.unparse(node.returns) if node.returns is not None else ""
    values: list[ast.expr | None] = {"None": [None], "bool": [ast.Constant(True), ast.Constant(False)]}.get(returns, [])
    for value in values:
        twin = copy.deepcopy(node)
        twin.body = [ast.Return(value)]
        yield f"{node.name} returns {'at once' if value is None else ast.unparse(value)}", twin


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 70 else text[:67] + "..."
