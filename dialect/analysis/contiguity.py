"""Whether strides decide if a program raises: `aten.view` takes some tensors of a shape and refuses others, by how they lie in memory.

    %t = torch.aten.t %x
    %v = torch.aten.view %t, %size      raises in PyTorch and in tier 0, though as values it could be computed

Native code has values, all of them row-major, so it may have a view only of what is row-major in PyTorch too. That is followed forwards:
arguments say how they lie; an op gives such a tensor when its operands are (PyTorch's results lie as their operands do), but for views
that permute, skip or repeat; `contiguous` and products always do.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tierup.dialect import optable
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.rewriting import int_of
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind

VIEWS = ("torch.aten.view", "torch.aten._reshape_alias")  # what raises
_ROW_MAJOR = frozenset({"torch.aten.contiguous"})
# Views that are row-major when their operand is
_FAITHFUL = frozenset({
    "torch.aten.view", "torch.aten._reshape_alias", "torch.aten._unsafe_view", "torch.aten.reshape", "torch.aten.view_as",
    "torch.aten.reshape_as", "torch.aten.flatten.using_ints", "torch.aten.unflatten.int", "torch.aten.unsqueeze", "torch.aten.squeeze",
    "torch.aten.squeeze.dim", "torch.aten.detach", "torch.aten.alias", "torch.aten.ravel",
})  # fmt: skip
# These are so in dim 0; and which operand is the step, that must be 1
_OUTERMOST = {"torch.aten.select.int": None, "torch.aten.narrow": None, "torch.aten.slice.Tensor": 4}


def doubtful_view(func: ir.Operation, strided: Collection[int] = ()) -> ir.Operation | None:
    """A view of a functionalised program that may raise for strides, None when there is none. `strided`: arguments that are not known to be
    row-major, by position."""
    block = func.regions[0].blocks[0]
    loose = {block.arguments[i] for i in strided}
    return next(_doubtful(block, loose), None)


def _doubtful(block: ir.Block, loose: set[ir.Value]) -> Iterator[ir.Operation]:
    """Views of what is in `loose`, the values that need not be row-major; those that the block makes are added."""
    for view in block.operations:
        op = view.operation
        if op.name in VIEWS and op.operands[0] in loose:
            yield op
        if op.name in ("torch.prim.If", "torch.prim.Loop") or (len(op.regions) and not op.name.startswith("func.")):
            yield from _inside(op, loose)
        elif _may_be_loose(op, loose):
            loose |= {r for r in op.results if _holds_tensors(r)}


def _inside(op: ir.Operation, loose: set[ir.Value]) -> Iterator[ir.Operation]:
    blocks = [block for region in op.regions for block in region.blocks]
    carried = op.name == "torch.prim.Loop"
    grown = True
    while grown:
        before = len(loose)
        for block in blocks:
            arguments = list(block.arguments)[1:] if carried else list(block.arguments)
            entering = list(op.operands)[2:] if carried else list(op.operands)
            _flow(entering, arguments, loose)
            yield from _doubtful(block, loose)
            yielded = list(list(block.operations)[-1].operation.operands)
            _flow(yielded[1:] if carried else yielded, list(op.results), loose)
            if carried:
                _flow(yielded[1:], arguments, loose)
        grown = len(loose) > before


def _flow(values: list[ir.Value], to: list[ir.Value], loose: set[ir.Value]) -> None:
    loose |= {target for value, target in zip(values, to, strict=False) if value in loose}


def _may_be_loose(op: ir.Operation, loose: set[ir.Value]) -> bool:
    row = optable.lookup(op.name)
    if op.name in _ROW_MAJOR or (row is not None and row.kind is Kind.PRODUCT):
        return False
    if any(v in loose for v in op.operands):
        return True
    if row is None or row.kind is not Kind.VIEW or op.name in _FAITHFUL:
        return False
    if op.name in _OUTERMOST:
        step = _OUTERMOST[op.name]
        return int_of(op.operands[1]) != 0 or (step is not None and int_of(op.operands[step]) != 1)
    return True


def _holds_tensors(value: ir.Value) -> bool:
    return torch_types.is_tensor(value.type) or "tensor" in str(value.type)
