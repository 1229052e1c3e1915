"""Two versions of a fusion group side by side: what is checked, the fast side and the unspecialised twin."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.facts import dims
from tierup.dialect.facts.dims import Dim, symbol
from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.inference.infer import infer_function
from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import if_, last_of, maker, move_into, yield_
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Tie
from tierup.dialect.rewriting import regions

_CASTS = ("torch.tensor_static_info_cast", "torch.prim.unchecked_cast")


def tie_arguments(func: ir.Operation) -> None:
    """Let arguments have one symbol for sizes that must be equal; forget the types of those that need what symbols cannot say."""
    block = func.regions[0].blocks[0]

    def ties() -> list[Tie]:
        return infer_function(func, tolerant=True).ties

    if symbols.unify(block, ties):
        return
    tied = frozenset().union(*(dims.symbols(d) for tie in ties() for d in (tie.left, tie.right)))
    shapes = symbols.bound_shapes(block)
    for argument, known in zip(block.arguments, symbols.argument_values(func), strict=True):
        if isinstance(known, Tensor) and any(dims.symbols(d) & tied for d in known.shape or ()):
            argument.set_type(regions.plain_type(argument.type))
            shapes.pop(argument, None)
    symbols.rebind(block, shapes)


def branch(
    group: ir.Operation,
    twin: ir.Operation,
    answer: ir.Value,
    wanted: Sequence[int],
    refined: Callable[[ir.InsertionPoint], Sequence[ir.Value]],
) -> None:
    """Run `group` where `answer` is true, and what its clone `twin` becomes without types elsewhere; both stand before their use.

    `wanted`: the operands that were checked. `refined`: gives them with the types that the group takes, on the fast side.
    """
    types = [regions.plain_type(r.type) for r in group.results]
    made, then, otherwise = if_(answer, types, group.location, ir.InsertionPoint(group))
    for result, new in zip(group.results, made.results, strict=True):
        result.replace_all_uses_with(new)

    originals = list(group.operands)
    then.append(group)
    for i, value in zip(wanted, refined(ir.InsertionPoint(group)), strict=True):
        group.operands[i] = value
    _yield(then, list(group.results), types)

    otherwise.append(twin)
    for i in wanted:
        originals[i] = source(originals[i])
    slow = _unspecialised(twin, originals)
    _yield(otherwise, list(slow.results), types)


def is_checked(group: ir.Operation, i: int) -> bool:
    """Whether operand `i` was checked: a check refined it, or the group stands where a check_shapes found that it fits."""
    value = group.operands[i]
    if maker(value, "tierup.check") is not None:
        return True
    below, inner = source(value), group
    while (outer := inner.parent.operation).name != "func.func":
        if outer.name == "torch.prim.If" and inner.block == outer.regions[0].blocks[0]:
            asks = maker(outer.operands[0], "tierup.check_shapes")
            if asks is not None and below in list(asks.operands):
                return True
        inner = outer
    return False


def source(value: ir.Value) -> ir.Value:
    """What a chain of casts says more or less of; of a tensor, what is of a tensor's type, too."""
    while (op := maker(value)) is not None and op.name in _CASTS:
        inner = op.operands[0]
        if torch_types.is_tensor(value.type) and not torch_types.is_tensor(inner.type):
            break  # an optional
        value = inner
    return value


def fact_of(value: object) -> Profiled:
    """Dtype and sizes of a tensor as a fact that a guard can check."""
    assert isinstance(value, Tensor), "a group's tensors are typed"
    sizes = None if value.shape is None else tuple(d if isinstance(d, int) else _symbol(d) for d in value.shape)
    return Profiled(dtype=value.dtype, sizes=sizes)


def _symbol(dim: Dim) -> str | None:
    """The symbol that a size is; None for a size that nobody named."""
    text = str(dim)
    return text if dim == symbol(text) else None


def _yield(block: ir.Block, values: list[ir.Value], types: list[ir.Type]) -> None:
    ip = ir.InsertionPoint(block)
    yield_(block, [cast(v, t, ip) for v, t in zip(values, types, strict=True)])


def _unspecialised(group: ir.Operation, operands: list[ir.Value]) -> ir.Operation:
    """The fallback that does what `group`, a clone, does; the clone goes."""
    ip = ir.InsertionPoint(group)
    plain = [cast(v, regions.plain_type(v.type), ip) for v in operands]
    made = as_fallback(group, plain, [regions.plain_type(r.type) for r in group.results], ip)
    regions.forget_types(made.regions[0].blocks[0])
    return made


def as_fallback(twin: ir.Operation, operands: list[ir.Value], types: list[ir.Type], ip: ir.InsertionPoint) -> ir.Operation:
    """A fallback that does what `twin` does, the clone of a group or a function, which goes; it gives the first values that this does."""
    made = ops.fallback(operands, types, loc=twin.location, ip=ip)
    block = made.regions[0].blocks[0]
    move_into(twin.regions[0].blocks[0], block)
    last = last_of(block)
    ops.yield_(list(last.operands)[: len(types)], loc=last.location, ip=ir.InsertionPoint(last))
    last.erase()
    twin.erase()
    return made
