"""tierup-reduce's edits of functions and of what is written beside ops: arguments, results, attributes, sizes in types.

See `values.py` for what an edit offers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import functions

Site = Callable[[], None]


def whole(module: ir.Module) -> list[Site]:
    """Whole functions, and whatever else stands in the module."""
    return [view.operation.erase for view in module.body.operations]


def results(module: ir.Module) -> list[Site]:
    """Single results of functions."""
    found: list[Site] = []
    for func in functions(module.operation):
        returned = list(func.regions[0].blocks[0].operations)[-1]
        if len(func.regions[0].blocks) == 1 and returned.operation.name == "func.return":
            found += [partial(_drop_result, func, i) for i in range(len(returned.operation.operands))]
    return found


def _drop_result(func: ir.Operation, i: int) -> None:
    shorten(list(func.regions[0].blocks[0].operations)[-1].operation, i)
    _drop_attribute(func, "res_attrs", i)
    retype(func)


def shorten(end: ir.Operation, i: int) -> None:
    """Drop operand `i` of what ends a block."""
    kept = [v for j, v in enumerate(end.operands) if j != i]
    ir.Operation.create(end.name, operands=kept, loc=end.location, ip=ir.InsertionPoint(end))
    end.erase()


def arguments(module: ir.Module) -> list[Site]:
    """Arguments of functions that nobody reads."""
    return [
        partial(_drop_argument, func, i)
        for func in functions(module.operation)
        for i, argument in enumerate(func.regions[0].blocks[0].arguments)
        if next(iter(argument.uses), None) is None
    ]


def _drop_argument(func: ir.Operation, i: int) -> None:
    func.regions[0].blocks[0].erase_argument(i)
    _drop_attribute(func, "arg_attrs", i)
    retype(func)


def add_argument(op: ir.Operation, type_: ir.Type) -> ir.Value | None:
    """A new last argument for the function around an op."""
    func = op
    while func.name != "func.func":
        if func.parent is None:
            return None
        func = func.parent.operation
    made = func.regions[0].blocks[0].add_argument(type_, op.location)
    if "arg_attrs" in func.attributes:
        func.attributes["arg_attrs"] = ir.ArrayAttr.get([*ir.ArrayAttr(func.attributes["arg_attrs"]), ir.DictAttr.get({}, func.context)])
    retype(func)
    return made


def retype(func: ir.Operation) -> None:
    """Make a function's type what its arguments and its return say."""
    block = func.regions[0].blocks[0]
    returned = list(block.operations)[-1].operation
    type_ = ir.FunctionType.get([a.type for a in block.arguments], [v.type for v in returned.operands], func.context)
    func.attributes["function_type"] = ir.TypeAttr.get(type_)


def _drop_attribute(func: ir.Operation, name: str, i: int) -> None:
    if name in func.attributes:
        kept = [a for j, a in enumerate(ir.ArrayAttr(func.attributes[name])) if j != i]
        func.attributes[name] = ir.ArrayAttr.get(kept, func.context)


def attributes(module: ir.Module) -> list[Site]:
    """Attributes, those that ops cannot do without included: the verifier says so."""
    found: list[Site] = []
    for op in (module.operation, *walk(module.operation)):
        for named in list(op.attributes):
            name = named if isinstance(named, str) else named.name
            if name in ("arg_attrs", "res_attrs"):
                found += [partial(_empty, op, name, i) for i, a in enumerate(ir.ArrayAttr(op.attributes[name])) if len(ir.DictAttr(a))]
            elif name not in _NEEDED:
                found.append(partial(op.attributes.__delitem__, name))
    return found


def _empty(func: ir.Operation, which: str, i: int) -> None:
    kept = list(ir.ArrayAttr(func.attributes[which]))
    kept[i] = ir.DictAttr.get({}, func.context)
    func.attributes[which] = ir.ArrayAttr.get(kept)


_NEEDED = frozenset({"sym_name", "function_type", "callee", "value"})
_SIZE = re.compile(r"(?<=[\[<x,])(\d+)(?=[\],x])")  # of !torch.vtensor<[2,3],f32> as of tensor<2x3xf32>


def sizes(module: ir.Module) -> list[Site]:
    """Static sizes, each halved wherever it stands in a type."""
    return [partial(_halve, module, size, False) for size in _sizes(module)]


def sizes_and_constants(module: ir.Module) -> list[Site]:
    """Static sizes, each halved wherever it stands in a type or as a constant."""
    return [partial(_halve, module, size, True) for size in _sizes(module)]


def _sizes(module: ir.Module) -> list[int]:
    found = {int(size) for value in _values(module) for size in _SIZE.findall(str(value.type))}
    return sorted(size for size in found if size > 1)


def _values(module: ir.Module) -> Iterator[ir.Value]:
    for op in walk(module.operation):
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.arguments


def _halve(module: ir.Module, size: int, constants: bool) -> None:
    for value in list(_values(module)):
        before = str(value.type)
        after = _SIZE.sub(lambda m: str(size // 2) if int(m[1]) == size else m[1], before)
        if after != before:
            value.set_type(ir.Type.parse(after, module.context))
    for func in functions(module.operation):
        retype(func)
    for op in walk(module.operation) if constants else ():
        if op.name == "torch.constant.int" and ir.IntegerAttr(op.attributes["value"]).value == size:
            op.attributes["value"] = ir.IntegerAttr.get(ir.IntegerAttr(op.attributes["value"]).type, size // 2)
