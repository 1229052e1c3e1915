"""Python floats made of arrays that are differentiated: a gradient would take them for constants, unseen. In NumPy's programs that is an
error instead; in PyTorch's (`.item()`) it is the rule.

    t = float(x.sum())       a number; NumPy's user means its derivative too
    return (x * t).sum()

A float that is only compared, made an int, or returned beside the value is no error: it does not reach the gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import PassFailure

_MAKES_FLOAT = frozenset({"torch.aten.Float.Tensor", "torch.aten.item", "torch.aten.FloatImplicit"})
MESSAGE = (
    "makes a Python float of an array that is differentiated, which would be a constant for the gradient: "
    "compute with the array, without float(), or write float(tierup.stop_gradient(...)) where a constant is meant"
)


def is_from_python(func: ir.Operation) -> bool:
    """Whether a function was made of NumPy-style Python, whose rules are not always PyTorch's."""
    return "tierup.source" in func.attributes and ir.StringAttr(func.attributes["tierup.source"]).value == "jit"


def refuse_floats(func: ir.Operation, activity: Callable[[], Mapping[ir.Value, bool]]) -> None:
    """Raises PassFailure at an op that makes a float of an active value (`activity` says which), if arrays are computed with it. For
    functions from Python alone."""
    if not is_from_python(func):
        return
    makers = [op for op in walk(func) if op.name in _MAKES_FLOAT]
    if not makers:
        return
    active = activity()
    for op in makers:
        if active.get(op.operands[0], False) and _reaches_array(op.results[0]):
            raise PassFailure(op, MESSAGE)


def _reaches_array(number: ir.Value) -> bool:
    """Whether an array is computed with a float."""
    seen: list[ir.Value] = []
    pending = [number]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.append(value)
        for use in value.uses:
            op = use.owner.operation
            if any(torch_types.is_tensor(r.type) for r in op.results) and not len(op.regions):
                return True
            pending += [v for v in _follows(op, use.operand_number) if "float" in str(v.type)]
    return False


def _follows(op: ir.Operation, operand: int) -> Iterator[ir.Value]:
    """The values that an op hands an operand on to, or computes from it."""
    if op.name == "torch.prim.If.yield":
        yield op.parent.operation.results[operand]
    elif op.name == "torch.prim.Loop.condition" and operand:
        loop = op.parent.operation
        yield loop.results[operand - 1]
        yield loop.regions[0].blocks[0].arguments[operand]
    elif op.name == "torch.prim.Loop" and operand >= 2:
        yield op.results[operand - 2]
        yield op.regions[0].blocks[0].arguments[operand - 1]
    elif not len(op.regions):
        yield from op.results
