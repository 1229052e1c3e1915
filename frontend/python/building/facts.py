"""What is known of a value while its graph is being built: by the rules of the ops that made it, from what is known of the inputs."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping
from itertools import chain

from tierup.dialect.facts.values import Tensor, joined
from tierup.dialect.facts.values import Value as Fact
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION, READERS
from tierup.dialect.ir.structure import last_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import REFUSALS, Promotion
from tierup.dialect.optable.operands import lifted
from tierup.dialect.optable.rows import row_of
from tierup.frontend.python.building.emit import Emitter

Facts = MutableMapping[ir.Value, Fact]


def declared(value: ir.Value) -> Fact:
    """What a value's type says."""
    return torch_types.value_of(value.type)


def fact_of(em: Emitter, value: ir.Value, facts: Facts, of_input: Callable[[ir.Value], Fact] = declared) -> Fact:
    """What is known of an SSA value: what `facts` has, which grows, else by all that it is made of, operands before results. `of_input`: of
    what no op makes."""
    pending = [value]
    while pending:
        at = pending[-1]
        op = None if isinstance(at.owner, ir.Block) else at.owner.operation
        if at in facts or op is None:
            if at not in facts:
                facts[at] = of_input(at)
            pending.pop()
            continue
        missing = [v for v in _read(op) if v not in facts]
        if missing:
            pending += missing
            continue
        for result, known in zip(op.results, _of_results(em, op, facts), strict=True):
            facts[result] = known
    return facts[value]


def _read(op: ir.Operation) -> list[ir.Value]:
    if op.name == "torch.prim.If":
        return list(chain.from_iterable(last_of(region.blocks[0]).operands for region in op.regions))
    return list(op.operands)


def _of_results(em: Emitter, op: ir.Operation, facts: Facts) -> list[Fact]:
    row, unknown = row_of(op), [declared(r) for r in op.results]
    if op.name == "torch.prim.If":
        arms = [[facts[v] for v in last_of(region.blocks[0]).operands] for region in op.regions]
        return [_either(em, a, b) for a, b in zip(*arms, strict=True)]
    if op.name in _SAME:
        return [facts[op.operands[0]]]
    if op.name in READERS:
        return [lifted(READERS[op.name](op))]
    if row is None:
        return unknown
    rules = em.rules
    rules.promotion = Promotion.NUMPY if PROMOTION in op.attributes else Promotion.TORCH
    rules.given = op.operands
    try:
        found = row.infer(rules, [facts[v] for v in op.operands])
    except REFUSALS:
        return unknown  # it raises in the run
    results = list(found) if isinstance(found, tuple) else [found]
    return results if len(results) == len(unknown) else unknown


def _either(em: Emitter, a: Fact, b: Fact) -> Fact:
    """What holds of both; of tensors of one rank their sizes are new ones where they may differ."""
    found = joined(a, b)
    if not isinstance(a, Tensor) or not isinstance(b, Tensor) or a.rank != b.rank or a.shape is None or a.shape == b.shape:
        return found
    return Tensor(a.dtype if a.dtype == b.dtype else None, tuple(em.rules.fresh() for _ in a.shape))


_SAME = ("torch.tensor_static_info_cast", "torch.copy.to_tensor", "torch.copy.to_vtensor", "torch.derefine", "torch.prim.unchecked_cast")
