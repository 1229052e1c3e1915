"""tierup-stack-lists: a list that a loop makes longer by one tensor in each iteration becomes one tensor with a row for each.

    %l = torch.prim.ListConstruct : () -> !torch.list<vtensor>
    %r:2 = torch.prim.Loop %n, %true, init(%x, %l) {
    ^bb0(%i: !torch.int, %a: !torch.vtensor<[3],f32>, %m: !torch.list<vtensor>):
      %one = torch.prim.ListConstruct %a : (!torch.vtensor<[3],f32>) -> !torch.list<vtensor>
      %more = torch.aten.add.t %m, %one : ...
      ...
      torch.prim.Loop.condition %true, iter(%b, %more : ...)
    } : ...
    %0 = torch.aten.__getitem__.t %r#1, %k : !torch.list<vtensor>, !torch.int -> !torch.vtensor

becomes

    %l = torch.aten.zeros [max(%n, 0), 3], ...
    %r:2 = torch.prim.Loop %n, %true, init(%x, %l) {
    ^bb0(%i: !torch.int, %a: !torch.vtensor<[3],f32>, %m: !torch.vtensor):
      %more = torch.aten.select_scatter %m, %a, %int0, %i : ...
      ...
      torch.prim.Loop.condition %true, iter(%b, %more : ...)
    } : ...
    %0 = torch.aten.select.int %r#1, %int0, %k : ...

So gradients save what a loop carries (dialect/reverse_loops.py), and so it has native code. The number of iterations must be known before
the loop, the tensor's dtype and sizes the same in each (`tierup-infer-types` first), and nothing else may be done with the list than to
take items of it; else the list stays. Sizes that are symbols are those of a tensor that the loop carries, and are asked of it before.
"""

from __future__ import annotations

from collections.abc import Mapping

from tierup.dialect.contracts import function_names, walk
from tierup.dialect.gradients.emitter import Emitter
from tierup.dialect.infer import Inference
from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, functions, register
from tierup.dialect.rewriting import bool_of, drop_unused, items_of, maker
from tierup.dialect.typed_rewriting import infer_or_remark

_APPEND, _TAKE, _LIST = "torch.aten.add.t", "torch.aten.__getitem__.t", "!torch.list<vtensor"


@register
@dataclass(frozen=True)
class StackLists(Pass):
    """Make lists that grow in loops tensors."""

    name = "tierup-stack-lists"

    def run(self, module: ir.Module) -> None:
        callees = function_names(module)
        for func in functions(module.operation):
            stack_lists(func, callees)


def stack_lists(func: ir.Operation, callees: Mapping[str, ir.Operation]) -> None:
    """Make lists that grow in the loops of a function tensors."""
    for loop in _loops(func):
        for k, result in enumerate(loop.results):
            if str(result.type).startswith(_LIST) and _is_record(loop, k):
                inference = infer_or_remark(func, callees)  # anew: of items of a list that became a tensor more is known
                if inference is None:
                    return
                _stack(loop, k, inference)


def grows_lists(func: ir.Operation) -> bool:
    """Whether there is a loop that carries a list of tensors."""
    return bool(_loops(func))


def _loops(func: ir.Operation) -> list[ir.Operation]:
    return [op for op in walk(func) if op.name == "torch.prim.Loop" and any(str(r.type).startswith(_LIST) for r in op.results)]


def _is_record(loop: ir.Operation, k: int) -> bool:
    """Whether the list that a loop carries as its k-th value gets one item in each of a known number of iterations, and no more is done
    with it than that items are taken."""
    body = loop.regions[0].blocks[0]
    last = list(body.operations)[-1].operation
    grown = maker(last.operands[1 + k], _APPEND)
    if bool_of(loop.operands[1]) is not True or bool_of(last.operands[0]) is not True or grown is None:
        return False
    argument, result = body.arguments[1 + k], loop.results[k]
    added = items_of(grown.operands[1])
    if items_of(loop.operands[2 + k]) != [] or added is None or len(added) != 1 or grown.operands[0] != argument:
        return False
    if _uses(argument) != [grown] or _uses(grown.results[0]) != [last]:
        return False
    return all(op.name == _TAKE and op.operands[0] == result for op in _uses(result))


def _stack(loop: ir.Operation, k: int, inference: Inference) -> None:
    body = loop.regions[0].blocks[0]
    last = list(body.operations)[-1].operation
    argument, result, start = body.arguments[1 + k], loop.results[k], loop.operands[2 + k]
    grown = last.operands[1 + k].owner.operation
    added = (items_of(grown.operands[1]) or [])[0]  # _is_record saw one
    takers = _uses(result)
    e = Emitter(ir.InsertionPoint(loop), loop.location, inference)
    sizes = _sizes(e, loop, added)
    if sizes is None:
        return
    dtype = e.tensor(added).dtype
    assert dtype is not None  # else there were no sizes
    rows = e.call("prim.max.int", loop.operands[0], 0, type_="!torch.int")
    loop.operands[2 + k] = e.call("aten.zeros", [rows, *sizes], dtype.code, None, None, None)
    for value in (argument, result):
        value.set_type(e.tensor_type)
        inference.values.pop(value)
    with e.before(grown):
        last.operands[1 + k] = e.call("aten.select_scatter", argument, added, 0, body.arguments[0])
    items = grown.operands[1]
    grown.erase()
    drop_unused([items, start])
    for op in takers:
        with e.before(op):
            e.location = op.location
            item = e.call("aten.select.int", result, 0, op.operands[1])
            item.set_type(op.results[0].type)
        op.results[0].replace_all_uses_with(item)
        op.erase()


def _sizes(e: Emitter, loop: ir.Operation, value: ir.Value) -> list[int | ir.Value] | None:
    """The sizes of a tensor that has the same in each iteration, as they are known before the loop; None where they are not."""
    known = e.tensor(value)
    if known.dtype is None or known.shape is None:
        return None
    arguments = list(loop.regions[0].blocks[0].arguments)
    under = value
    while (cast := maker(under, "torch.tensor_static_info_cast")) is not None:
        under = cast.operands[0]
    init = loop.operands[1 + arguments.index(under)] if under in arguments[1:] else None
    if init is not None and not e.same_shape(init, value):
        init = None
    if not all(isinstance(d, int) for d in known.shape) and init is None:
        return None
    return [d if isinstance(d, int) else e.size_of(init, i) for i, d in enumerate(known.shape)]


def _uses(value: ir.Value) -> list[ir.Operation]:
    return [use.owner.operation for use in value.uses]
