"""tierup-lower-control-flow: torch.prim.If and torch.prim.Loop become scf.if, scf.for and scf.while.

    %r = torch.prim.Loop %n, %go, init(%x) { ^bb0(%i, %v): ... torch.prim.Loop.condition %more, iter(%w) }
becomes
    scf.while (%i = 0, %go, %v = %x) { condition: %i < %n and %go } do { ... yield %i + 1, %more, %w }

or an scf.for when it goes on for sure and no tensor that it carries changes its sizes on the way: MLIR's canonicalize gives what an scf.for
carries the static sizes that it begins with, as if a round could not change them (ForOpTensorCastFolder). `tierup.steady` says that none
does; without it a loop that carries sizes which only the run knows is an scf.while. Tensors and numbers are carried as builtin values, with
casts of torch_c where the bodies use them. (torch-mlir's own conversion takes a loop with a trip count for one that nothing else ends.)
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect import dtypes
from tierup.dialect.ir import torch_types
from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.dialect.rewriting.core import bool_of
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import INDEX, of
from tierup.lowering.ops.pointwise.context import NotHandled, builtin_tensor, builtin_type, load_casts, tensor_type

STEADY = "tierup.steady"  # on loops that carry tensors of the same sizes from round to round
_SCALARS = {"!torch.int": ("i64", 64), "!torch.float": ("f64", 0), "!torch.bool": ("i1", 1)}


@register
@dataclass(frozen=True)
class LowerControlFlow(Pass):
    """Lower torch.prim.If and torch.prim.Loop to scf."""

    name = "tierup-lower-control-flow"

    def run_on_function(self, function: ir.Operation) -> None:
        load_casts(function.context)
        for op in reversed(b.walk_unfused(function)):  # inner ones first: their bodies move
            if op.name not in ("torch.prim.If", "torch.prim.Loop"):
                continue
            with op.location:
                try:
                    made = _if(op) if op.name == "torch.prim.If" else _loop(op)
                except NotHandled:
                    continue  # a list or another value is carried: named by tierup-verify-lowered
            for result, replacement in zip(op.results, made, strict=True):
                result.replace_all_uses_with(replacement)
            op.erase()


def to_builtin(value: ir.Value) -> ir.Value:
    """Raises NotHandled for a type that has no builtin counterpart."""
    type_ = str(value.type)
    if type_ in _SCALARS:
        name, bits = _SCALARS[type_]
        made = b.defining_op(value, f"torch_c.from_{name}")
        if made is not None:
            return made.operands[0]
        return b.value(f"torch_c.to_{name}", [value], b.integer_type(bits) if bits else ir.F64Type.get())
    if torch_types.is_value_tensor(value.type):
        return builtin_tensor(value)
    raise NotHandled


def to_torch(value: ir.Value, type_: ir.Type) -> ir.Value:
    """A builtin value as one of a type of the torch dialect."""
    name = f"from_{_SCALARS[str(type_)][0]}" if str(type_) in _SCALARS else "from_builtin_tensor"
    return b.value(f"torch_c.{name}", [value], type_)


def _check(types: Sequence[ir.Type]) -> None:
    for type_ in types:
        if str(type_) not in _SCALARS and not torch_types.is_value_tensor(type_):
            raise NotHandled


def _move(source: ir.Block, target: ir.Block) -> ir.Operation:
    """Move all ops but the terminator, which is returned."""
    operations = [view.operation for view in source.operations]
    for op in operations[:-1]:
        op.detach_from_parent()
        target.append(op)
    return operations[-1]


def _if(op: ir.Operation) -> list[ir.Value]:
    types = [r.type for r in op.results]
    _check(types)
    with ir.InsertionPoint(op):
        condition = to_builtin(op.operands[0])
        builtin = [_builtin_type(t) for t in types]
        made = b.op("scf.if", [condition], builtin, regions=2)
    for old, new in zip(op.regions, made.regions, strict=True):
        block = new.blocks.append()
        terminator = _move(old.blocks[0], block)
        with ir.InsertionPoint(block):
            b.op("scf.yield", [to_builtin(v) for v in terminator.operands])
    with ir.InsertionPoint(op):
        return [to_torch(r, t) for r, t in zip(made.results, types, strict=True)]


def _builtin_type(type_: ir.Type) -> ir.Type:
    from_torch = {"!torch.int": b.integer_type(64), "!torch.float": ir.F64Type.get(), "!torch.bool": b.integer_type(1)}
    if str(type_) in from_torch:
        return from_torch[str(type_)]
    return builtin_type(tensor_type(type_))


def _has_unknown_size(type_: ir.Type) -> bool:
    return torch_types.is_tensor(type_) and None in (torch_types.parse_tensor(str(type_))[0] or ())


def _loop(op: ir.Operation) -> list[ir.Value]:
    body = op.regions[0].blocks[0]
    types = [r.type for r in op.results]
    _check(types)
    condition = list(body.operations)[-1].operation.operands[0]
    counted = bool_of(op.operands[1]) and bool_of(condition) and (STEADY in op.attributes or not any(map(_has_unknown_size, types)))
    with ir.InsertionPoint(op):
        trip = to_builtin(op.operands[0])
        carried = [to_builtin(v) for v in list(op.operands)[2:]]
        results = _for(body, trip, carried) if counted else _while(body, trip, to_builtin(op.operands[1]), carried)
        return [to_torch(r, t) for r, t in zip(results, types, strict=True)]


def _bind(body: ir.Block, counter: ir.Value, carried: Sequence[ir.Value]) -> None:
    """Let the body use the new block's values for its arguments."""
    for argument, value in zip(body.arguments, [counter, *carried], strict=True):
        argument.replace_all_uses_with(to_torch(value, argument.type))


def _for(body: ir.Block, trip: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
    made = b.op("scf.for", [b.index(0), of(trip).cast(INDEX), b.index(1), *carried], [v.type for v in carried], regions=1)
    types = [b.index_type(), *(v.type for v in carried)]
    block = made.regions[0].blocks.append(*types, arg_locs=[ir.Location.unknown()] * len(types))
    with ir.InsertionPoint(block):
        arguments = list(block.arguments)
        _bind(body, of(arguments[0]).cast(dtypes.i64), arguments[1:])
    terminator = _move(body, block)
    with ir.InsertionPoint(block):
        b.op("scf.yield", [to_builtin(v) for v in list(terminator.operands)[1:]])
    return list(made.results)


def _while(body: ir.Block, trip: ir.Value, go: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
    state = [b.integer(0, 64), go, *carried]
    types = [v.type for v in state]
    unknown = [ir.Location.unknown()] * len(types)
    made = b.op("scf.while", state, types, regions=2)
    before = made.regions[0].blocks.append(*types, arg_locs=unknown)
    with ir.InsertionPoint(before):
        counter, more = before.arguments[0], before.arguments[1]
        b.op("scf.condition", [(of(counter) < trip) & more, *before.arguments])
    after = made.regions[1].blocks.append(*types, arg_locs=unknown)
    with ir.InsertionPoint(after):
        arguments = list(after.arguments)
        _bind(body, arguments[0], arguments[2:])
    terminator = _move(body, after)
    with ir.InsertionPoint(after):
        b.op("scf.yield", [of(arguments[0]) + 1, *(to_builtin(v) for v in terminator.operands)])
    return list(made.results)[2:]
