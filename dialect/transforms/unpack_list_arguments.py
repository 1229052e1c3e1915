"""tierup-unpack-list-arguments: a function takes, and gives, the items of lists of tensors, one by one.

    func.func @f(%l: !torch.list<vtensor>, %y: !torch.vtensor) -> !torch.list<vtensor> {
      %int1 = torch.constant.int 1
      %0 = torch.aten.__getitem__.t %l, %int1 : !torch.list<vtensor>, !torch.int -> !torch.vtensor
      %1 = torch.prim.ListConstruct %y, %0 : (!torch.vtensor, !torch.vtensor) -> !torch.list<vtensor>
      return %1 : !torch.list<vtensor>
    }

becomes, for `{entry=f lengths=2}`,

    func.func @f(%l0: !torch.vtensor, %l1: !torch.vtensor, %y: !torch.vtensor) -> (!torch.vtensor, !torch.vtensor)
        attributes {tierup.list_results = array<i64: 2>} {
      return %y, %l1 : !torch.vtensor, !torch.vtensor
    }

`lengths`: of each list of tensors among the arguments, in order; callers ensure them. `tierup.list_results` says of each result as it
was how many it became, -1 where it is no list, or one whose items are not written down: that stays a list. The function is in value form
first (`tierup-functionalize`); lengths, items and slices of the lists are folded (`tierup-peephole-list-idioms`). So lists have gradients,
item by item.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import forget_results, hand_over, last_of, set_signature, signature
from tierup.dialect.ir.walking import function_names
from tierup.dialect.mlir import ir
from tierup.dialect.passes.pipelines.pipeline import parse
from tierup.dialect.passes.registry import Pass, PassFailure, register
from tierup.dialect.rewriting.core import drop_unused, items_of

LIST_RESULTS = "tierup.list_results"
_LIST = "!torch.list"
_FOLD = "builtin.module(func.func(tierup-peephole-list-idioms))"


@register
class UnpackListArguments(Pass):
    entry: str = "main"
    lengths: tuple[int, ...] = ()

    def run(self, module: ir.Module) -> None:
        func = function_names(module).get(self.entry)
        if func is None:
            raise PassFailure(module.operation, f"has no function @{self.entry}: entry=<name> says whose lists are unpacked")
        unpack_list_arguments(module, func, self.lengths)


def unpack_list_arguments(module: ir.Module, func: ir.Operation, lengths: Sequence[int]) -> list[int]:
    """Unpack lists of these lengths; what `tierup.list_results` then says. Raises PassFailure for lengths that are too many or too few."""
    block = func.regions[0].blocks[0]
    lists = [a for a in block.arguments if is_tensor_list(a.type)]
    if len(lists) != len(lengths):
        raise PassFailure(func, f"takes {len(lists)} lists of tensors, and {len(lengths)} lengths are given")
    if lists:
        _unpack(func, block, dict(zip(lists, lengths, strict=True)))
    parse(_FOLD).run(module)
    last = last_of(block)
    handed: list[ir.Value] = []
    counts = []
    for value in last.operands:
        items = items_of(value) if is_tensor_list(value.type) else None
        counts.append(-1 if items is None else len(items))
        handed += [value] if items is None else items
    returned = list(last.operands)
    hand_over(block, handed)
    drop_unused(returned)
    set_signature(func)
    func.attributes[LIST_RESULTS] = ir.DenseI64ArrayAttr.get(counts, func.context)
    forget_results(func, "res_attrs")
    return counts


def is_tensor_list(type_: ir.Type) -> bool:
    """Whether a type is a list of tensors."""
    return str(type_).startswith((f"{_LIST}<vtensor", f"{_LIST}<tensor"))


def _unpack(func: ir.Operation, block: ir.Block, lengths: dict[ir.Value, int]) -> None:
    """Put items in the places of lists among the arguments."""
    given = list(ir.ArrayAttr(func.attributes["arg_attrs"])) if "arg_attrs" in func.attributes else []
    types, attributes = [], []
    for i, argument in enumerate(block.arguments):
        own = ir.DictAttr(given[i]) if given else ir.DictAttr.get({}, func.context)
        if argument not in lengths:
            types.append(argument.type)
            attributes.append(own)
            continue
        with func.context:
            element = ir.Type.parse(torch_types.elements(str(argument.type))[0])
            name = ir.StringAttr(own["tierup.name"]).value if "tierup.name" in own else f"arg{i}"
            for k in range(lengths[argument]):
                types.append(element)
                attributes.append(ir.DictAttr.get({"tierup.name": ir.StringAttr.get(f"{name}[{k}]")}))
    old = list(block.arguments)
    made = iter([block.add_argument(type_, func.location) for type_ in types])
    ip = ir.InsertionPoint.at_block_begin(block)
    for argument in old:
        if argument in lengths:
            items = [next(made) for _ in range(lengths[argument])]
            new = ir.Operation.create("torch.prim.ListConstruct", [argument.type], items, loc=func.location, ip=ip).results[0]
        else:
            new = next(made)
        argument.replace_all_uses_with(new)
    for _ in old:
        block.erase_argument(0)
    with func.context:
        func.attributes["arg_attrs"] = ir.ArrayAttr.get(attributes)
    set_signature(func, signature(func).results)
