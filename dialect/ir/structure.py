"""How a program hangs together: ops and the blocks in them, who makes and who reads a value, and how blocks come into other ops."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from tierup.dialect.ir.walking import ops_of, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import refuse_several_blocks

YIELD = "torch.prim.If.yield"
UNSET = "torch.prim.Uninitialized"  # stands where there is no value yet, or nobody reads it any more
TERMINATORS = frozenset({"func.return", "torch.prim.If.yield", "torch.prim.Loop.condition", "tierup.yield"})
LIST_WRITERS = frozenset({"torch.aten.append.t", "torch.aten.insert.t", "torch.aten._set_item.t"})
CASTS = frozenset({"torch.derefine", "torch.prim.unchecked_cast", "torch.tensor_static_info_cast"})
"""Ops that give operand 0 itself, under another type."""
COPIES = frozenset({"torch.copy.to_tensor", "torch.copy.to_vtensor"})
CHECKS = frozenset({"tierup.check", "tierup.check_requires_grad"})
"""Ops whose result i is operand i; the last one is the answer."""
HANDED_ON = CASTS | COPIES | CHECKS | {"tierup.profile", "tierup.guard"}
"""Ops whose result i has the value of operand i."""


def blocks(op: ir.Operation) -> Iterator[ir.Block]:
    """The blocks of all regions of an op, in order."""
    for region in op.regions:
        yield from region.blocks


def arguments_of(op: ir.Operation) -> list[ir.Value]:
    """The arguments of an op's blocks, in order."""
    return [argument for block in blocks(op) for argument in block.arguments]


def values_of(op: ir.Operation) -> list[ir.Value]:
    """The results of an op and the arguments of its blocks."""
    return [*op.results, *arguments_of(op)]


def values_inside(op: ir.Operation) -> set[ir.Value]:
    """All values that are defined in an op's blocks, at any depth."""
    return {*arguments_of(op), *(v for inner in walk(op) for v in values_of(inner))}


def captured(op: ir.Operation) -> Iterator[ir.Value]:
    """What the ops in an op read from outside of it, in order, as often as they do."""
    inside = values_inside(op) if len(op.regions) else ()
    yield from (v for inner in walk(op) for v in inner.operands if v not in inside)


def external_operands(op: ir.Operation) -> Iterator[ir.Value]:
    """What an op reads from around it: its operands, and what the ops in it read."""
    yield from op.operands
    yield from captured(op)


def maker(value: ir.Value, name: str | None = None) -> ir.Operation | None:
    """The op that makes a value, if it has that name (with `torch.`); None for a block argument."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        return None
    op: ir.Operation = owner.operation
    return op if name is None or op.name == name else None


def under(value: ir.Value, names: Container[str]) -> ir.Value:
    """The value below ops of these names, which hand their first operand on."""
    while (op := maker(value)) is not None and op.name in names:
        value = op.operands[0]
    return value


def unprofiled(value: ir.Value) -> ir.Value:
    """What a chain of profiles watches."""
    return under(value, ("tierup.profile",))


def is_used(value: ir.Value) -> bool:
    """Whether an op takes the value."""
    return any(True for _ in value.uses)


def users(value: ir.Value) -> list[ir.Operation]:
    """The ops that take a value, once for each operand."""
    return [use.owner.operation for use in value.uses]


def read_others(ops: Iterable[ir.Operation], values: Mapping[ir.Value, ir.Value]) -> None:
    """Let ops, and the ops in them, read other values."""
    for op in ops:
        for inner in (op, *walk(op)):
            for i, value in enumerate(inner.operands):
                if value in values:
                    inner.operands[i] = values[value]


def last_of(block: ir.Block) -> ir.Operation:
    """The op that ends a block."""
    return block.operations[len(block.operations) - 1].operation


def handed_over(block: ir.Block) -> list[ir.Value]:
    """What a block's terminator hands to the op around it."""
    return list(last_of(block).operands)


def hand_over(block: ir.Block, values: Iterable[ir.Value]) -> None:
    """Let a block's terminator hand over these values."""
    last = last_of(block)
    ir.Operation.create(last.name, [], list(values), attributes_of(last), loc=last.location, ip=ir.InsertionPoint(last))
    last.erase()


def attributes_of(op: ir.Operation) -> dict[str, ir.Attribute]:
    """The attributes of an op by name."""
    return {name: op.attributes[name] for name in op.attributes}


def made_again(
    op: ir.Operation, operands: Iterable[ir.Value], types: Iterable[ir.Type], attributes: dict[str, ir.Attribute] | None = None
) -> ir.Operation:
    """An op like this one before it, of these operands, result types and attributes (its own if not given), with its blocks, which are
    moved. The op itself is for the caller to replace and to erase."""
    made: ir.Operation = ir.Operation.create(
        op.name, list(types), list(operands), attributes_of(op) if attributes is None else attributes,
        regions=len(op.regions), loc=op.location, ip=ir.InsertionPoint(op),
    ).operation  # fmt: skip
    for old, new in zip(op.regions, made.regions, strict=True):
        for block in list(old.blocks):
            block.append_to(new)
    return made


def with_more(op: ir.Operation, operands: Iterable[ir.Value], types: Iterable[ir.Type] = ()) -> ir.Operation:
    """The op again with these operands, and further results of these types behind its own, in its place."""
    made = made_again(op, operands, [*(r.type for r in op.results), *types])
    take_place(op, list(made.results)[: len(op.results)])
    return made


def take_place(op: ir.Operation, values: Iterable[ir.Value]) -> None:
    """Values in the place of an op's results, one each; the op goes."""
    for result, value in zip(op.results, values, strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def move_into(old: ir.Block, new: ir.Block) -> None:
    """Move the ops of a block to the end of another, whose first arguments stand for its own."""
    for argument, stand_in in zip(old.arguments, new.arguments, strict=False):
        argument.replace_all_uses_with(stand_in)
    for op in ops_of(old):
        new.append(op)


def move_out(block: ir.Block, before: ir.Operation, arguments: Sequence[ir.Value] = ()) -> list[ir.Value]:
    """Move the ops of a block before an op, all but its terminator; what that hands over. `arguments`: what stands for the block's."""
    for argument, value in zip(block.arguments, arguments, strict=False):
        argument.replace_all_uses_with(value)
    *inner, last = [view.operation for view in block.operations]
    for op in inner:
        op.move_before(before)
    return list(last.operands)


def if_(condition: ir.Value, types: Sequence[ir.Type], loc: ir.Location, ip: ir.InsertionPoint) -> tuple[ir.Operation, ir.Block, ir.Block]:
    """A torch.prim.If with two empty blocks, each to be ended by `yield_`."""
    made = ir.Operation.create("torch.prim.If", list(types), [condition], regions=2, loc=loc, ip=ip).operation
    then, otherwise = (region.blocks.append() for region in made.regions)
    return made, then, otherwise


def yield_(block: ir.Block, values: Iterable[ir.Value] = ()) -> None:
    """End an arm of a torch.prim.If."""
    ir.Operation.create(YIELD, [], list(values), loc=block.owner.operation.location, ip=ir.InsertionPoint(block))


def module_of(op: ir.Operation) -> ir.Operation:
    """The module around an op."""
    while op.name != "builtin.module":
        op = op.parent.operation
    return op


def signature(func: ir.Operation) -> ir.FunctionType:
    """What a function says that it takes and gives."""
    return ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value)


def set_signature(func: ir.Operation, results: Sequence[ir.Type] | None = None, *, kept: int | None = None) -> None:
    """Make a function's type that of its arguments, and of what it returns if `results` does not say; with empty attributes for further
    arguments and results. `kept`: the first results that are what they were, all if not given. Raises PassFailure for several blocks."""
    refuse_several_blocks(func)
    block = func.regions[0].blocks[0]
    inputs = [a.type for a in block.arguments]
    given = [v.type for v in handed_over(block)] if results is None else list(results)
    with func.context:
        func.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, given))
        for name, count, old in (("arg_attrs", len(inputs), None), ("res_attrs", len(given), kept)):
            if name in func.attributes:
                known = list(ir.ArrayAttr(func.attributes[name]))[:old]
                func.attributes[name] = ir.ArrayAttr.get([*known, *[ir.DictAttr.get({})] * (count - len(known))])


def forget_results(func: ir.Operation, *names: str) -> None:
    """Drop what a function's attributes say of the memory of its results, and the attributes of these names."""
    for name in ("tierup.result_aliases", "tierup.read_only", "tierup.perhaps_read_only", *names):
        if name in func.attributes:
            del func.attributes[name]
