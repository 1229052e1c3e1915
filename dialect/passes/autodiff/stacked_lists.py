"""Lists that loops make longer by one tensor in each iteration, as one tensor with a row for each: see tierup-stack-lists."""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.ir.structure import last_of, maker
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.autodiff.counting_loops import count_first, only_computes
from tierup.dialect.passes.autodiff.reverse.records import records
from tierup.dialect.rewriting.core import drop_unused, int_of, is_none, items_of
from tierup.dialect.rewriting.loops import is_counted
from tierup.dialect.rewriting.typed import infer_or_remark

_TAKE, _LENGTH, _LIST = "torch.aten.__getitem__.t", "torch.aten.len.t", "!torch.list<vtensor"
_SLICE = "torch.aten.slice.t"
_STACK, _CAT = "torch.aten.stack", "torch.aten.cat"


def stack_lists(func: ir.Operation, *, guarded: bool = False) -> bool:
    """Make lists that grow in the loops of a function tensors; whether there was one. `guarded`: sizes that the program needs equal are
    seen to be."""
    changed = False
    for loop in _loops(func):
        found = _records(loop, guarded)
        if found and not is_counted(loop):
            inference = infer_or_remark(func, unset_has_sizes=True)
            if inference is None:
                return changed
            if not _count(loop, found, _emitter(loop, inference, guarded)):
                continue
            changed = True
        for k in found:
            if k in _records(loop, guarded):
                inference = infer_or_remark(func, unset_has_sizes=True)  # anew: of items of a list that became a tensor more is known
                if inference is None:
                    return changed
                changed |= _stack(loop, k, _emitter(loop, inference, guarded))
    return changed


def _emitter(loop: ir.Operation, inference: Inference, guarded: bool) -> Emitter:
    return Emitter(ir.InsertionPoint(loop), loop.location, Inference(inference.values) if guarded else inference)


def grows_lists(func: ir.Operation) -> bool:
    """Whether there is a loop that carries a list of tensors."""
    return bool(_loops(func))


def _loops(func: ir.Operation) -> list[ir.Operation]:
    return [op for op in walk(func) if op.name == "torch.prim.Loop" and any(str(r.type).startswith(_LIST) for r in op.results)]


def _records(loop: ir.Operation, guarded: bool) -> list[int]:
    """Which of what a loop carries are lists of tensors that begin empty and get one item in each iteration, and of which no more is done
    with than that items are taken, counted or joined. Where results are not `guarded`, no item of one that is counted or cut is handed
    out: as a row it would be a copy of the tensor that was added."""
    return [
        k
        for k, record in records(loop).items()
        if record.count == 1
        and str(loop.results[k].type).startswith(_LIST)
        and items_of(loop.operands[2 + k]) == []
        and _is_stackable(loop.results[k])
        and (guarded or all(op.name == _TAKE or _joins(op) or _keeps(loop.results[k]) for op in _uses(loop.results[k])))
    ]


def _is_stackable(items: ir.Value) -> bool:
    """Whether all that is done with a list, and with parts of it, has a form for a tensor."""
    return all(
        op.operands[0] == items and (op.name in (_TAKE, _LENGTH) or _joins(op) or (_cuts(op) and _is_stackable(op.results[0])))
        for op in _uses(items)
    )


def _keeps(value: ir.Value) -> bool:
    """Whether no tensor of a list, and no view of it, is handed on, to results, branches or loops: all that is made of it is new."""
    for op in _uses(value):
        row = row_of(op)
        if row is None or any(True for _ in op.regions):
            return False
        shares = op.name in (_TAKE, _SLICE) or row.aliasing is not Aliasing.FRESH or bool(row.may_be_operand)
        if shares and any("tensor" in str(r.type) and not _keeps(r) for r in op.results):
            return False
    return True


def _cuts(op: ir.Operation) -> bool:
    """Whether an op gives a part of a list, in its order, or all of it backwards."""
    if op.name != _SLICE:
        return False
    _, start, end, step = op.operands
    return int_of(step) == 1 or int_of(step) == -1 and is_none(start) and is_none(end)


def _joins(op: ir.Operation) -> bool:
    return op.name in (_STACK, _CAT) and int_of(op.operands[1]) is not None


def _count(loop: ir.Operation, found: Sequence[int], e: Emitter) -> bool:
    """Count the iterations of a loop that ends by its condition first, if all it saves can be stacked then; whether they are counted."""
    body = loop.regions[0].blocks[0]
    last = last_of(body)
    grown = [last.operands[1 + k].owner.operation for k in found]
    still = all(_stands_still(e, loop, (items_of(op.operands[1]) or [])[0]) for op in grown)
    lists = [k for k, r in enumerate(loop.results) if str(r.type).startswith(_LIST)]
    return still and lists == list(found) and only_computes(loop) and count_first(e, loop, found, grown)


def _stack(loop: ir.Operation, k: int, e: Emitter) -> bool:
    body = loop.regions[0].blocks[0]
    last = last_of(body)
    argument, result, start = body.arguments[1 + k], loop.results[k], loop.operands[2 + k]
    grown = last.operands[1 + k].owner.operation
    added = (items_of(grown.operands[1]) or [])[0]  # _records saw one
    sizes = _sizes(e, loop, added)
    if sizes is None:
        return False
    dtype = e.tensor(added).dtype
    assert dtype is not None  # else there were no sizes
    rows = e.call("prim.max.int", loop.operands[0], 0, type_="!torch.int")
    loop.operands[2 + k] = e.call("aten.zeros", [rows, *sizes], dtype.code, None, None, None)
    for value in (argument, result):
        value.set_type(e.tensor_type)
        e.inference.values.pop(value)
    with e.before(grown):
        last.operands[1 + k] = e.call("aten.select_scatter", argument, added, 0, body.arguments[0])
    items = grown.operands[1]
    grown.erase()
    drop_unused([items, start])
    _read(e, result, result, rows, len(sizes))
    return True


def _read(e: Emitter, items: ir.Value, rows: ir.Value, count: ir.Value, rank: int) -> None:
    """Let those who read a list read a tensor with these rows."""
    for op in _uses(items):
        with e.before(op):
            e.location = op.location
            if op.name == _LENGTH:
                found = count
            elif op.name == _TAKE:
                found = e.call("aten.select.int", rows, 0, op.operands[1])
            elif op.name == _SLICE:
                backwards = int_of(op.operands[3]) == -1
                part = e.call("aten.flip", rows, [0]) if backwards else e.call("aten.slice.Tensor", rows, 0, *list(op.operands)[1:])
                _read(e, op.results[0], part, e.size_of(part, 0), rank)
            else:
                found = _joined(e, op, rows, count, rank)
        if op.name != _SLICE:
            if op.name != _LENGTH:
                found.set_type(op.results[0].type)
            op.results[0].replace_all_uses_with(found)
        op.erase()


def _joined(e: Emitter, op: ir.Operation, rows: ir.Value, count: ir.Value, rank: int) -> ir.Value:
    """What `aten.stack` or `aten.cat` of the list is: the tensor with its rows, of that rank each, at the dim, for `cat` in it."""
    some = e.call("aten.gt.int", count, 0, type_="!torch.bool")
    message = {"message": ir.StringAttr.get("expected a non-empty list of tensors", op.context)}
    ir.Operation.create("torch.runtime.assert", [], [some], message, loc=op.location, ip=ir.InsertionPoint(op))
    dim = int_of(op.operands[1]) or 0
    dim += (rank + (op.name == _STACK)) * (dim < 0)
    order = [*range(1, dim + 1), 0, *range(dim + 1, rank + 1)]
    moved = e.call("aten.permute", rows, order) if dim else rows
    return moved if op.name == _STACK else e.call("aten.flatten.using_ints", moved, dim, dim + 1)


def _sizes(e: Emitter, loop: ir.Operation, value: ir.Value) -> list[int | ir.Value] | None:
    """The sizes of a tensor that has the same in each iteration, as they are known before the loop; None where they are not."""
    shape = e.tensor(value).shape
    if shape is None or not _stands_still(e, loop, value):
        return None
    found = [_place(e, loop, value, axis) for axis in range(len(shape))]
    return [e.size_of(*place) if place is not None else d for d, place in zip(shape, found, strict=True)]


def _stands_still(e: Emitter, loop: ir.Operation, value: ir.Value) -> bool:
    """Whether dtype and sizes of a tensor in a loop are known before."""
    known = e.tensor(value)
    if known.dtype is None or known.shape is None:
        return False
    return all(isinstance(d, int) or _place(e, loop, value, axis) is not None for axis, d in enumerate(known.shape))


def _place(e: Emitter, loop: ir.Operation, value: ir.Value, axis: int) -> tuple[ir.Value, int] | None:
    """A tensor before the loop, and its dim that has the size of a dim of a tensor in it; None for a known size, or when there is none:
    what the loop carries as this tensor, or else anything that it carries, or an argument of the function."""
    shape = e.tensor(value).shape
    if shape is None or isinstance(shape[axis], int):
        return None
    arguments = list(loop.regions[0].blocks[0].arguments)
    under = value
    while (cast := maker(under, "torch.tensor_static_info_cast")) is not None:
        under = cast.operands[0]
    init = loop.operands[1 + arguments.index(under)] if under in arguments[1:] else None
    if init is not None and e.same_shape(init, under):
        return init, axis
    func = loop.parent
    while func is not None and func.operation.name != "func.func":
        func = func.operation.parent
    outer = [] if func is None else list(func.operation.regions[0].blocks[0].arguments)
    for source in (*list(loop.operands)[2:], *outer):
        for k, d in enumerate(e.tensor(source).shape or ()):
            if d == shape[axis] and e.is_certain((d,)):
                return source, k
    return None


def _uses(value: ir.Value) -> list[ir.Operation]:
    return [use.owner.operation for use in value.uses]
