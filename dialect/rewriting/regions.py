"""Moving ops in and out of regions, and forgetting what was assumed of their types."""

from __future__ import annotations

import re

from tierup.dialect.facts.inference.infer import Inference, infer_function
from tierup.dialect.facts.inference.refine import both, is_called, match_edges
from tierup.dialect.facts.inference.refined_types import cast, refined_type, value_of_fact
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.ir.structure import arguments_of, blocks, is_used, last_of, move_out, set_signature, take_place
from tierup.dialect.ir.torch_types import follows
from tierup.dialect.ir.walking import ops_of, unerased, walk
from tierup.dialect.mlir import ir

_TENSOR = re.compile(r"\b(v?tensor)<[^<>]*>")
_LITERALS = frozenset({"torch.vtensor.literal", "torch.tensor.literal"})
_GUARDED = frozenset({"tierup.check", "tierup.guard", "tierup.bailout"})  # they let through what fits facts
_REFINING = _GUARDED | {"tierup.fusion_group"}
_DECLARATIONS = ("torch.bind_symbolic_shape", "torch.symbolic_int")
_INFO_CAST = "torch.tensor_static_info_cast"
_MAX_ROUNDS = 100


def top_level(op: ir.Operation, block: ir.Block) -> ir.Operation | None:
    """The op of `block` in which `op` stands, itself when it is one; None when it stands elsewhere."""
    while op.block != block:
        if op.parent is None or op.parent.operation.name == "builtin.module":
            return None
        op = op.parent.operation
    return op


def inline(op: ir.Operation) -> None:
    """Put the body of a fusion_group or a fallback in its place; declarations of sizes in it are dropped."""
    body = op.regions[0].blocks[0]
    for argument, operand in zip(body.arguments, op.operands, strict=True):
        argument.replace_all_uses_with(operand)
    drop_declarations(body)
    take_place(op, move_out(body, op))


def return_plain(func: ir.Operation, before: ir.Operation | None = None) -> None:
    """Let a function promise no dtypes and sizes of its results: it returns them under plain types, cast before an op or the return."""
    returned = last_of(func.regions[0].blocks[0])
    ip = ir.InsertionPoint(returned if before is None else before)
    for i, value in enumerate(list(returned.operands)):
        returned.operands[i] = cast(value, plain_type(value.type), ip)
    set_signature(func)


def drop_declarations(block: ir.Block) -> None:
    """Remove a block's symbols of sizes."""
    for name in _DECLARATIONS:  # uses before what they use
        for op in ops_of(block):
            if op.name == name and not any(map(is_used, op.results)):
                op.erase()


def plain_type(type_: ir.Type) -> ir.Type:
    """A type without dtypes and sizes of the tensors in it: `!torch.list<vtensor<[2],f32>>` is `!torch.list<vtensor>`."""
    text = str(type_)
    return type_ if "tensor<" not in text else ir.Type.parse(_TENSOR.sub(r"\1", text), type_.context)


def forget_types(block: ir.Block, *, everywhere: bool = False) -> None:
    """Every tensor type in a block becomes plain but those of literals, of what a check or a guard refined, and of fusion
    groups and all in them; `everywhere`: but those of literals. Casts stand where plain meets refined."""
    _forget(block, _LITERALS if everywhere else _LITERALS | _REFINING)
    _drop_casts(block)
    match_edges([op for view in block.operations for op in (view.operation, *walk(view.operation))])


def _forget(block: ir.Block, kept: frozenset[str]) -> None:
    for argument in block.arguments:
        argument.set_type(plain_type(argument.type))
    drop_declarations(block)
    for view in block.operations:
        op = view.operation
        if op.name in kept:
            if op.name in _GUARDED:
                _by_facts_alone(op)
            continue
        for result in op.results:
            result.set_type(op.operands[0].type if op.name == "tierup.profile" else plain_type(result.type))  # a literal's stays
        for inner in blocks(op):
            _forget(inner, kept)


def _by_facts_alone(op: ir.Operation) -> None:
    """What a guard or check refines has the type that its facts say: more, which its operand's type said, is forgotten with that."""
    expected = op.attributes["expected"]
    facts = [facts_of(a) for a in expected] if isinstance(expected, ir.ArrayAttr) else [facts_of(expected)]
    for result, fact in zip(op.results, facts, strict=False):
        if torch_types.is_tensor(result.type) and (said := value_of_fact(fact)) is not None:
            result.set_type(refined_type(op, plain_type(result.type), said))


def _drop_casts(block: ir.Block) -> None:
    """Casts between tensor types that have become the same, or that refined what is plain now."""
    owner = block.owner.operation
    for op in unerased(op for op in walk(owner) if op.name == _INFO_CAST):
        if op.operands[0].type == op.results[0].type:
            op.results[0].replace_all_uses_with(op.operands[0])
            op.erase()


def forget_unproven(func: ir.Operation) -> None:
    """Tensor types outside fusion groups that say more than inference can prove become what it proves."""
    for _ in range(_MAX_ROUNDS):  # a cast that said too much may have been all that proved another
        inference = infer_function(func, tolerant=True)
        if not _forget_once(func, inference):
            break
    block = func.regions[0].blocks[0]
    _drop_casts(block)
    match_edges(list(walk(func)))
    if not is_called(func):
        set_signature(func)


def forget_unproven_in(group: ir.Operation) -> None:
    """The same of the types in a fusion group, and of its results: what a number that it takes is, nothing in it says."""
    for _ in range(_MAX_ROUNDS):
        inference = infer_function(group, tolerant=True)
        if not _forget_once(group, inference, in_groups=True):
            break
    body = group.regions[0].blocks[0]
    for result, value in zip(group.results, last_of(body).operands, strict=True):
        result.set_type(value.type)
    _drop_casts(body)
    match_edges(list(walk(group)))


def _forget_once(func: ir.Operation, inference: Inference, *, in_groups: bool = False) -> bool:
    changed = False
    for op in walk(func):
        if op.name in _REFINING or op.name in _LITERALS or op.name == "func.call" or (not in_groups and _in_group(op)):
            continue  # of a call the callee's signature says it, which stays
        for value in (*op.results, *arguments_of(op)):
            known = inference.cast_from.get(value) if op.name == _INFO_CAST else inference.values.get(value)
            if torch_types.is_value_tensor(value.type) and isinstance(known, Tensor) and not follows(value.type, known):
                value.set_type(torch_types.tensor_type(known, context=value.context))
                changed = True
        if op.name == "torch.prim.Loop":
            changed |= _match_carried(op, inference)
    return changed


def _match_carried(loop: ir.Operation, inference: Inference) -> bool:
    """What a loop carries has one type inside and behind it, though of a known last round more may be proven. Whether one changed."""
    changed = False
    for argument, result in zip(list(loop.regions[0].blocks[0].arguments)[1:], loop.results, strict=True):
        if argument.type != result.type:
            known = both(inference[argument], inference[result])
            assert isinstance(known, Tensor), "only tensors' types were changed"
            for value in (argument, result):
                value.set_type(torch_types.tensor_type(known, context=value.context))
            changed = True
    return changed


def _in_group(op: ir.Operation) -> bool:
    while op.parent is not None and op.parent.operation.name != "func.func":
        op = op.parent.operation
        if op.name in ("tierup.fusion_group", "tierup.fallback"):
            return True
    return False
