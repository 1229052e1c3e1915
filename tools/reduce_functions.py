"""tierup-reduce's edits of functions and of what is written beside ops: arguments, results, attributes, sizes in types.

See `reduce_values.py` for what an edit offers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import functions

Site = Callable[[], None]


def whole(module: ir.Module) -> list[Site]:
    """Whole functions, and whatever else stands in the module."""
    return [view.operation.erase for view in module.body.operations]


def results(module: ir.Module) -> list[Site]:
    """Single results of functions."""

    def site(func: ir.Operation, i: int) -> Site:
        def drop() -> None:
            returned = list(func.regions[0].blocks[0].operations)[-1].operation
            kept = [v for j, v in enumerate(returned.operands) if j != i]
            ir.Operation.create(returned.name, operands=kept, loc=returned.location, ip=ir.InsertionPoint(returned))
            returned.erase()
            _drop_attribute(func, "res_attrs", i)
            retype(func)

        return drop

    found = []
    for func in functions(module.operation):
        returned = list(func.regions[0].blocks[0].operations)[-1]
        if len(func.regions[0].blocks) == 1 and returned.operation.name == "func.return":
            found += [site(func, i) for i in range(len(returned.operation.operands))]
    return found


def arguments(module: ir.Module) -> list[Site]:
    """Arguments of functions that nobody reads."""

    def site(func: ir.Operation, i: int) -> Site:
        def drop() -> None:
            func.regions[0].blocks[0].erase_argument(i)
            _drop_attribute(func, "arg_attrs", i)
            retype(func)

        return drop

    return [
        site(func, i)
        for func in functions(module.operation)
        for i, argument in enumerate(func.regions[0].blocks[0].arguments)
        if next(iter(argument.uses), None) is None
    ]


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

    def site(op: ir.Operation, name: str) -> Site:
        def drop() -> None:
            del op.attributes[name]

        return drop

    def empty(func: ir.Operation, which: str, i: int) -> Site:
        def drop() -> None:
            kept = list(ir.ArrayAttr(func.attributes[which]))
            kept[i] = ir.DictAttr.get({}, func.context)
            func.attributes[which] = ir.ArrayAttr.get(kept)

        return drop

    found: list[Site] = []
    for op in (module.operation, *walk(module.operation)):
        for named in list(op.attributes):
            name = named if isinstance(named, str) else named.name
            if name in ("arg_attrs", "res_attrs"):
                found += [empty(op, name, i) for i, a in enumerate(ir.ArrayAttr(op.attributes[name])) if len(ir.DictAttr(a))]
            elif name not in _NEEDED:
                found.append(site(op, name))
    return found


_NEEDED = frozenset({"sym_name", "function_type", "callee", "value"})
_SIZE = re.compile(r"(?<=[\[<x,])(\d+)(?=[\],x])")  # of !torch.vtensor<[2,3],f32> as of tensor<2x3xf32>


def sizes(module: ir.Module) -> list[Site]:
    """Static sizes, each halved wherever it stands in a type."""
    return [_halving(module, size, False) for size in _sizes(module)]


def sizes_and_constants(module: ir.Module) -> list[Site]:
    """Static sizes, each halved wherever it stands in a type or as a constant."""
    return [_halving(module, size, True) for size in _sizes(module)]


def _sizes(module: ir.Module) -> list[int]:
    found = {int(size) for value in _values(module) for size in _SIZE.findall(str(value.type))}
    return sorted(size for size in found if size > 1)


def _values(module: ir.Module) -> Iterator[ir.Value]:
    for op in walk(module.operation):
        yield from op.results
        for region in op.regions:
            for block in region.blocks:
                yield from block.arguments


def _halving(module: ir.Module, size: int, constants: bool) -> Site:
    def halve() -> None:
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

    return halve
