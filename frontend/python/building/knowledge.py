"""What is known of an array while its graph is being built: by the rules of the ops that made it, from the dtypes of the inputs.

NumPy's own Python functions ask an array for its dtype and choose by it. A graph is for arrays of any dtype until something asks.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from itertools import chain

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Tensor, joined
from tierup.dialect.facts.values import Value as Fact
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.ir.constants import READERS
from tierup.dialect.ir.structure import last_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import REFUSALS, Promotion
from tierup.dialect.optable.operands import lifted
from tierup.dialect.optable.rows import row_of
from tierup.frontend.python.building.frame import Frame, NeedsDtypes
from tierup.frontend.python.building.values import Array, Mapping_, OneOf, Sequence, Value, parts_of


def dtype_of(frame: Frame, node: ast.AST | None, x: Array, what: str = "a dtype") -> np.dtype:
    """The dtype of an array. Raises NeedsDtypes where a graph for the dtypes of its inputs would know it, else UnsupportedSyntax."""
    found = settled(frame, x)
    assert isinstance(found, Array)
    if found.dtype is not None:
        return found.dtype
    if frame.outside.knows_dtypes in ("no", "indices"):
        raise NeedsDtypes
    raise frame.error(node, f"{what} known only at run time", "convert the array before: x.astype(np.float64)")


def settled(frame: Frame, value: Value) -> Value:
    """A value with what the ops that made its arrays say of their dtypes and ranks."""
    if isinstance(value, Sequence):
        return replace(value, items=[settled(frame, v) for v in value.items])
    if isinstance(value, Mapping_):
        return replace(value, items={k: settled(frame, v) for k, v in value.items.items()})
    if isinstance(value, OneOf):
        return replace(value, alternatives=tuple(settled(frame, v) for v in value.alternatives))
    if not isinstance(value, Array) or value.dtype is not None and value.rank is not None:
        return value
    fact = _fact(frame, value.ssa)
    if not isinstance(fact, Tensor):
        return value
    dtype = value.dtype if fact.dtype is None else fact.dtype.numpy
    rank = value.rank if fact.shape is None else len(fact.shape)
    return replace(value, dtype=dtype, rank=rank)


def with_certain_dtypes(frame: Frame, value: Value) -> Value:
    """A value with the dtypes of its arrays. Raises NeedsDtypes where a graph for the dtypes of its inputs would know more of them."""
    value = settled(frame, value)
    if isinstance(value, (Sequence, Mapping_, OneOf)):
        for item in parts_of(value):
            with_certain_dtypes(frame, item)
    elif isinstance(value, Array) and value.dtype is None and frame.outside.knows_dtypes in ("no", "indices"):
        raise NeedsDtypes
    return value


def with_dtypes(frame: Frame, value: Value) -> Value:
    """A value as loops carry it: in graphs with complex numbers with the dtypes of its arrays."""
    return settled(frame, value) if frame.outside.has_complex else value


def _fact(frame: Frame, value: ir.Value) -> Fact:
    """What is known of an SSA value: memory first, else of all that it is made of, operands before results."""
    facts = frame.em.facts
    pending = [value]
    while pending:
        at = pending[-1]
        op = None if isinstance(at.owner, ir.Block) else at.owner.operation
        if at in facts or op is None:
            facts.setdefault(at, torch_types.value_of(at.type))
            pending.pop()
            continue
        missing = [v for v in _read(op) if v not in facts]
        if missing:
            pending += missing
            continue
        for result, known in zip(op.results, _of_results(frame, op), strict=True):
            facts[result] = known
    return facts[value]


def _read(op: ir.Operation) -> list[ir.Value]:
    if op.name == "torch.prim.If":
        return list(chain.from_iterable(last_of(region.blocks[0]).operands for region in op.regions))
    return list(op.operands)


def _of_results(frame: Frame, op: ir.Operation) -> list[Fact]:
    facts, row = frame.em.facts, row_of(op)
    declared = [torch_types.value_of(r.type) for r in op.results]
    if op.name == "torch.prim.If":
        arms = [[facts[v] for v in last_of(region.blocks[0]).operands] for region in op.regions]
        return [joined(a, b) for a, b in zip(*arms, strict=True)]
    if op.name in _SAME:
        return [facts[op.operands[0]]]
    if op.name in READERS:
        return [lifted(READERS[op.name](op))]
    if row is None:
        return declared
    rules = frame.em.rules
    rules.promotion = Promotion.NUMPY if PROMOTION in op.attributes else Promotion.TORCH
    rules.given = op.operands
    try:
        found = row.infer(rules, [facts[v] for v in op.operands])
    except REFUSALS:
        return declared  # it raises in the run
    results = list(found) if isinstance(found, tuple) else [found]
    return results if len(results) == len(declared) else declared


_SAME = ("torch.tensor_static_info_cast", "torch.copy.to_tensor", "torch.copy.to_vtensor", "torch.derefine", "torch.prim.unchecked_cast")


def noted(frame: Frame, value: Value) -> Value:
    """A value, of which is taken down what is said of its arrays, where no op makes them: parameters."""
    if isinstance(value, (Sequence, Mapping_, OneOf)):
        for item in parts_of(value):
            noted(frame, item)
    elif isinstance(value, Array) and (value.dtype is not None or value.rank is not None):
        sizes = None if value.rank is None else tuple(frame.em.rules.fresh() for _ in range(value.rank))
        frame.em.facts[value.ssa] = Tensor(None if value.dtype is None else dtypes.from_numpy(value.dtype), sizes)
    return value
