"""Types into the IR: what inference knows of every value becomes its type, and branches that are never taken go.

    func.func @f(%x: !torch.vtensor) -> !torch.vtensor {              func.func @f(%x: !torch.vtensor<[2,4],f32>) -> ...<[2,4],f32> {
      %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor  =>    %0 = torch.aten.tanh %x : ...<[2,4],f32> -> ...<[2,4],f32>

Types only gain knowledge. Where MLIR wants types equal along an edge of control flow (what a prim.If yields, what a prim.Loop
carries, what a call passes) casts stand between: `torch.tensor_static_info_cast` for tensors, `torch.derefine` and
`torch.prim.unchecked_cast` for what is a number or an optional to its user.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from tierup.dialect.facts.dims import Expr, Symbol, symbol
from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.inference.infer import Inference, infer_function
from tierup.dialect.facts.inference.refined_types import cast, known_constant, refined_type, under_derefine
from tierup.dialect.facts.inference.symbols import argument_values
from tierup.dialect.facts.inference.unset import give_sizes
from tierup.dialect.facts.values import Bool, Int, Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import (
    UNSET,
    blocks,
    handed_over,
    is_used,
    last_of,
    maker,
    move_out,
    set_signature,
    signature,
    take_place,
    values_of,
)
from tierup.dialect.ir.walking import callee_name, callee_of, ops_of, symbol_of, unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Tie

STALE = "tierup.stale_types"  # the unit attribute of a function in which a pass left values without the types that inference gives
# Their result has the type of something else: it stays, and a cast behind it says the rest.
_PINNED = frozenset({"func.call", "torch.copy.to_vtensor"})
_COPIES = frozenset({"torch.copy.to_tensor", "torch.copy.to_vtensor"})
_KEEP_NUMBERS = frozenset({"tierup.bailout", "tierup.check", "tierup.guard", "tierup.profile"})  # of a number; of a tensor they refine it


def specialise(
    func: ir.Operation,
    arguments: Sequence[Value] | None = None,
    *,
    keep_branches: bool = False,
    tolerant: bool = False,
) -> list[Tie]:
    """Type `func` for `arguments` (one value each), in place; the ties are sizes that a guard must hold equal.

    Arguments of a known number become constants; symbols in their shapes are declared and bound. Callees are not typed. `keep_branches`:
    branches that are never taken stay, untyped, for who takes a twin of the program from it that knows nothing of these arguments. A
    function that others call keeps its result types. Raises InferenceError for an op that raises on such operands, unless `tolerant`: its
    results then keep their types; and for a type in the IR that is wrong: the function is then in an unspecified state.
    """
    block, given = func.regions[0].blocks[0], argument_values(func) if arguments is None else arguments
    known = [_merged(func, argument, value) for argument, value in zip(block.arguments, given, strict=True)]
    for argument, value in zip(block.arguments, known, strict=True):
        fix(argument, value)
    inference = infer_function(func, known, tolerant=tolerant)
    if not keep_branches:
        splice(block, inference)
    ops = list(walk(func))  # before casts are made: what inference says is looked up for these only
    for argument, value in zip(block.arguments, known, strict=True):
        type_argument(func, argument, value)
    for op in ops:
        _type_results(op, inference)
    match_edges(_without_identities(func))
    give_sizes(func, inference)
    bind(block, known)
    set_signature(func)
    return [tie for tie in inference.ties if tie.left != tie.right]


def _without_identities(func: ir.Operation) -> list[ir.Operation]:
    """The ops of a function, of which no cast says what its operand's type says: such a cast was made when less was known."""
    kept = []
    for op in unerased(walk(func)):
        if op.name == "torch.tensor_static_info_cast" and op.operands[0].type == op.results[0].type:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()
        else:
            kept.append(op)
    return kept


def specialise_region(owner: ir.Operation, arguments: Sequence[Value]) -> list[Tie]:
    """Type the first region of `owner`, a fusion group, for values of its block's arguments, in place; and its results. Its ties.

    Raises InferenceError as `specialise`.
    """
    block = owner.regions[0].blocks[0]
    inference = infer_function(owner, arguments)
    ops = list(walk(owner))
    for argument, value in zip(block.arguments, arguments, strict=True):
        argument.set_type(refined_type(owner, argument.type, value))
    for op in ops:
        _type_results(op, inference)
    for result, value in zip(owner.results, inference.results, strict=True):
        result.set_type(refined_type(owner, result.type, value))
    match_edges(ops)
    give_sizes(owner, inference)
    bind(block, arguments)
    return [tie for tie in inference.ties if tie.left != tie.right]


def _merged(func: ir.Operation, argument: ir.Value, value: Value) -> Value:
    """What is known of an argument: what the caller says, and what its type says."""
    if isinstance(value, Tensor) and torch_types.is_tensor(argument.type):
        refined_type(func, argument.type, value)  # the two must agree
        return torch_types.refined(value, argument.type)
    return value


def fix(argument: ir.Value, value: Value) -> None:
    """Uses of an argument whose value is known see a constant."""
    made = known_constant(value, ir.InsertionPoint.at_block_begin(argument.owner))
    if made is not None and argument.type == made.type:
        argument.replace_all_uses_with(made)
    elif made is not None:
        argument.replace_all_uses_with(cast(made, argument.type, _after(made)))


def splice(block: ir.Block, inference: Inference) -> None:
    """Replace every prim.If whose condition is known by the arm that is taken, and every prim.Loop that runs no round by what it begins
    with. `inference` forgets the values that go."""
    for op in ops_of(block):
        if op.name == "torch.prim.Loop" and _runs_no_round(op, inference):
            _forget([*op.results, *op.regions[0].blocks[0].arguments], op.regions[0], inference)
            take_place(op, list(op.operands)[2:])
            continue
        condition = inference.values.get(op.operands[0]) if op.name == "torch.prim.If" else None
        if isinstance(condition, Bool) and condition.value is not None:
            taken = 0 if condition.value else 1
            arm = op.regions[taken].blocks[0]
            splice(arm, inference)
            _forget(op.results, op.regions[1 - taken], inference)
            pairs = zip(op.results, move_out(arm, op), strict=True)
            take_place(op, [_as_tensor(value, result.type, ir.InsertionPoint(op)) for result, value in pairs])
            continue
        for inner_block in blocks(op):
            splice(inner_block, inference)


def _as_tensor(value: ir.Value, type_: ir.Type, ip: ir.InsertionPoint) -> ir.Value:
    """A value that is known to be a tensor where one is wanted: an optional, under the type of the tensor."""
    return cast(value, type_, ip) if torch_types.is_tensor(type_) and not torch_types.is_tensor(value.type) else value


def _runs_no_round(op: ir.Operation, inference: Inference) -> bool:
    trip, condition = (inference.values.get(value) for value in list(op.operands)[:2])
    never = condition == Bool(False) or (isinstance(trip, Int) and isinstance(trip.value, int) and trip.value <= 0)
    return never and all(result.type == value.type for result, value in zip(op.results, list(op.operands)[2:], strict=True))


def _forget(values: Iterable[ir.Value], region: ir.Region, inference: Inference) -> None:
    """Forget values that go, and those of a region that goes: one made later may take its address."""
    for value in values:
        inference.values.pop(value, None)
    for dead in _ops_of(region):
        for value in values_of(dead):
            inference.values.pop(value, None)


def _ops_of(region: ir.Region) -> Iterator[ir.Operation]:
    for block in region.blocks:
        for view in block.operations:
            yield view.operation
            yield from walk(view.operation)


# --- types ---------------------------------------------------------------------------------------------------------------


def type_argument(func: ir.Operation, argument: ir.Value, value: Value) -> None:
    """An argument's type; who took a number or an optional still does."""
    old, new = argument.type, refined_type(func, argument.type, value)
    argument.set_type(new)
    if new != old and not torch_types.is_tensor(old) and is_used(argument):
        _recast(argument, old, ir.InsertionPoint.at_block_begin(argument.owner))


def _type_results(op: ir.Operation, inference: Inference) -> None:
    if op.name == "torch.prim.Loop":
        _type_loop(op, inference)
        return
    if op.name in ("tierup.fusion_group", "tierup.fallback", "tierup.differentiable"):
        for argument in op.regions[0].blocks[0].arguments:
            _settle(op, argument, inference)
    if op.name == "tierup.differentiable":
        _type_backward(op, inference)
    for result in op.results:
        if op.name in _PINNED or (op.name in _KEEP_NUMBERS and not torch_types.is_tensor(result.type)):
            _pin(op, result, result.type, inference)
        elif op.name != "torch.derefine" or torch_types.is_tensor(result.type):
            _settle(op, result, inference)


def _type_backward(op: ir.Operation, inference: Inference) -> None:
    """What backward takes has the types of the forward values that it is."""
    forward, backward = (region.blocks[0] for region in op.regions)
    outputs, inputs = handed_over(forward), list(op.operands)
    taken = (("vjp_outputs", outputs), ("captured_inputs", inputs), ("captured_outputs", outputs))
    sources = [values[i] for name, values in taken for i in ir.DenseI64ArrayAttr(op.attributes[name])]
    for argument, source in zip(backward.arguments, sources, strict=True):
        if source in inference.values:
            argument.set_type(refined_type(op, argument.type, inference[source]))


def _settle(op: ir.Operation, value: ir.Value, inference: Inference) -> None:
    if value in inference.values:
        new = refined_type(op, value.type, inference[value])
        if new != value.type:
            value.set_type(new)


def _type_loop(op: ir.Operation, inference: Inference) -> None:
    """One type for each carried value: what holds in every round, the first and the last."""
    body = op.regions[0].blocks[0]
    for argument, result in zip(list(body.arguments)[1:], op.results, strict=True):
        if argument not in inference.values:
            continue
        type_ = refined_type(op, result.type, both(inference[argument], inference[result]))
        for value in (argument, result):
            _pin(op, value, type_, inference)


def both(a: Value, b: Value) -> Value:
    """What holds of a value that is one of two."""
    if a == b or not (isinstance(a, Tensor) and isinstance(b, Tensor)):
        return a if type(a) is type(b) else Tensor()
    shape = None
    if a.shape is not None and b.shape is not None and len(a.shape) == len(b.shape):
        shape = tuple(x if x == y else symbol("unknown", 0) for x, y in zip(a.shape, b.shape, strict=True))
    return Tensor(a.dtype if a.dtype == b.dtype else None, shape)


def _pin(op: ir.Operation, value: ir.Value, type_: ir.Type, inference: Inference) -> None:
    """Give `value` this type, and its users a cast to all that is known of it."""
    value.set_type(type_)
    if value not in inference.values:
        return
    full = refined_type(op, type_, inference[value])
    if full != type_ and is_used(value):
        _recast(value, full, _after(value))


def _after(value: ir.Value) -> ir.InsertionPoint:
    if isinstance(value.owner, ir.Block):
        return ir.InsertionPoint.at_block_begin(value.owner)
    return ir.InsertionPoint.after(value.owner)


def _recast(value: ir.Value, type_: ir.Type, ip: ir.InsertionPoint) -> None:
    made = cast(value, type_, ip)
    value.replace_all_uses_except(made, made.owner.operation)


def match_edges(ops: Iterable[ir.Operation]) -> None:
    """Casts where MLIR wants the types of an edge equal."""
    for op in ops:
        _match_edge(op)


def _match_edge(op: ir.Operation) -> None:
    if op.name == "torch.prim.If":
        _widen_results(op)
    elif op.name == "torch.prim.If.yield":
        _match(op, 0, [r.type for r in op.parent.operation.results])
    elif op.name == "torch.prim.Loop.condition":
        _match(op, 1, [r.type for r in op.parent.operation.results])
    elif op.name == "torch.prim.Loop":
        _match(op, 2, [r.type for r in op.results])
    elif op.name == "tierup.yield" and op.block.region == op.parent.operation.regions[0]:  # not the yield of a backward region
        _match(op, 0, [r.type for r in op.parent.operation.results])
    elif op.name in ("tierup.fusion_group", "tierup.fallback", "tierup.differentiable"):
        _match(op, 0, [a.type for a in op.regions[0].blocks[0].arguments])
    elif op.name == "func.call":
        callee = callee_of(op)
        if callee is not None:
            _match(op, 0, list(signature(callee).inputs))
    elif op.name in _COPIES:
        _match(op, 0, [torch_types.same_but(op.results[0].type, value_semantics=op.name == "torch.copy.to_tensor")])
    elif op.name == "torch.overwrite.tensor.contents":
        _match(op, 0, [torch_types.same_but(op.operands[1].type, value_semantics=True)])
    elif op.name == "func.return" and (is_called(op.parent.operation) or _may_leave(op.parent.operation)):
        _match(op, 0, list(signature(op.parent.operation).results))


def _widen_results(op: ir.Operation) -> None:
    """Give results of a prim.If that are typed by the arm that is taken a type of what the other yields, too, and their users a cast."""
    yields = [last_of(region.blocks[0]) for region in op.regions]
    for result, *each in zip(op.results, *(y.operands for y in yields), strict=True):
        yielded = [v for v in map(under_derefine, each) if torch_types.is_tensor(v.type)]  # of another optional any tensor is made
        if not torch_types.is_tensor(result.type) or not any(_clash(result.type, v.type) for v in yielded):
            continue
        full, values = result.type, [torch_types.refined(Tensor(), v.type) for v in (result, *yielded)]
        common = reduce(both, values)
        assert isinstance(common, Tensor)
        result.set_type(torch_types.tensor_type(common, value_semantics=torch_types.is_value_tensor(full), context=op.context))
        if is_used(result):
            _recast(result, full, _after(result))


def _clash(a: ir.Type, b: ir.Type) -> bool:
    """Whether no tensor is of both types."""
    (sizes, dtype), (others, other) = torch_types.parse_tensor(str(a)), torch_types.parse_tensor(str(b))
    if sizes is not None and others is not None:
        if len(sizes) != len(others) or any(x is not None and y is not None and x != y for x, y in zip(sizes, others, strict=True)):
            return True
    return dtype is not None and other is not None and dtype != other


def _match(op: ir.Operation, start: int, types: Sequence[ir.Type]) -> None:
    for i, type_ in enumerate(types, start):
        value, ip = op.operands[i], ir.InsertionPoint(place_of_casts(op))
        if value.type != type_:
            unset = maker(value, UNSET)  # no value of one type is as good as none of another
            op.operands[i] = ir.Operation.create(UNSET, [type_], loc=unset.location, ip=ip).result if unset else cast(value, type_, ip)


def place_of_casts(op: ir.Operation) -> ir.Operation:
    """The op before which casts of an op's operands stand: a run is counted right before the return."""
    ops = list(op.block.operations)[-2:] if op.name == "func.return" else []
    return ops[0].operation if len(ops) == 2 and ops[0].operation.name == "tierup.count_run" else op


def is_called(func: ir.Operation) -> bool:
    """Whether a call in its module names the function."""
    name = symbol_of(func)
    module = func.parent
    if module is None:
        return False
    found = (op for op in walk(module.operation) if op.name == "func.call")
    return any(callee_name(op) == name for op in found)


def _may_leave(func: ir.Operation) -> bool:
    """Whether a continuation may give the function's results, of which its guards say nothing."""
    return any(op.name == "tierup.bailout" for op in walk(func))


def bind(block: ir.Block, known: Sequence[Value]) -> None:
    """Declare and bind the symbols of argument shapes that the IR does not state yet."""
    stated = symbols.bound_shapes(block)
    shapes: dict[ir.Value, Sequence[int | str]] = {}
    for argument, value in zip(block.arguments, known, strict=True):
        if argument in stated or not isinstance(value, Tensor) or value.shape is None:
            continue
        sizes = [d if isinstance(d, int) else _name(d) for d in value.shape]
        named = [s for s in sizes if s is not None]
        if len(named) == len(sizes):
            shapes[argument] = named
    symbols.bind(block, shapes)


def _name(dim: Expr) -> str | None:
    """The name of a size that is one symbol, at least 2 as all declared ones are."""
    found = dim.symbols()
    if len(found) == 1:
        (only,) = found
        if only.low == 2 and dim == symbol(only.name, only.low) and isinstance(only, Symbol):
            return only.name
    return None
