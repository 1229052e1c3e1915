"""Types that say what is known of a value, casts between the types of one value and who may see which, and constants of known value."""

from __future__ import annotations

from typing import Any

from tierup.dialect.facts.dims import symbol
from tierup.dialect.facts.inference.infer import InferenceError
from tierup.dialect.facts.profiled import Fact, ProfiledScalar
from tierup.dialect.facts.values import Bool, Float, Int, NoneValue, Str, Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import TYPES, constant
from tierup.dialect.language.contracts import STRUCTURE
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of


def refined_type(op: ir.Operation, type_: ir.Type, value: Value) -> ir.Type:
    """`type_` with what `value` adds. Raises InferenceError at `op` where the two contradict each other."""
    text = str(type_)
    if isinstance(value, Tensor) and torch_types.is_value_tensor(type_):
        return _tensor_type(op, type_, value)
    if text == "!torch.number" and isinstance(value, (Int, Float)):  # a truth value has no type that is a number's
        return ir.Type.parse(TYPES[int if isinstance(value, Int) else float], type_.context)
    if text.startswith("!torch.optional<"):
        if isinstance(value, NoneValue):
            return ir.Type.parse(TYPES[type(None)], type_.context)
        if isinstance(value, (Tensor, Int, Float, Bool)):
            return refined_type(op, ir.Type.parse(torch_types.elements(text)[0], type_.context), value)
    return type_


def _tensor_type(op: ir.Operation, type_: ir.Type, value: Tensor) -> ir.Type:
    sizes, dtype = torch_types.parse_tensor(str(type_))
    shape = value.shape
    if sizes is not None and shape is not None and len(sizes) == len(shape) and dtype is not None and value.dtype in (None, dtype):
        if all(a is None if not isinstance(b, int) else a == b for a, b in zip(sizes, shape, strict=True)):
            return type_  # most types say it already
    if sizes is not None and shape is not None:
        clash = len(sizes) != len(shape) or any(isinstance(b, int) and a not in (None, b) for a, b in zip(sizes, shape, strict=True))
        if clash or (dtype is not None and value.dtype not in (None, dtype)):
            raise InferenceError(op, f"has a value of type {torch_types.tensor_type(value)} where its type says {type_}")
        shape = tuple(b if a is None else a for a, b in zip(sizes, shape, strict=True))
    elif dtype is not None and value.dtype not in (None, dtype):
        raise InferenceError(op, f"has a value of type {torch_types.tensor_type(value)} where its type says {type_}")
    elif sizes is not None:
        shape = tuple(symbol("unknown", 0) if size is None else size for size in sizes)  # spelled ? in the type
    return torch_types.tensor_type(Tensor(dtype or value.dtype, shape), context=type_.context)


def under_derefine(value: ir.Value) -> ir.Value:
    """What an optional was made of, where that is seen; else the value itself."""
    while not isinstance(value.owner, ir.Block) and value.owner.name == "torch.derefine":
        value = value.owner.operands[0]
    return value


def cast(value: ir.Value, type_: ir.Type, ip: ir.InsertionPoint) -> ir.Value:
    """`value` as a `type_`, which knows more or less of the same thing."""
    if value.type == type_:
        return value
    if torch_types.is_tensor(type_) and (inner := under_derefine(value)) != value:
        return cast(inner, type_, ip)  # which an unchecked cast takes only where it knows less
    owner = value.owner
    if torch_types.is_tensor(value.type) and torch_types.is_tensor(type_):
        name = "torch.tensor_static_info_cast"
    elif str(type_) == "!torch.number" or str(type_).startswith("!torch.optional<"):
        name = "torch.derefine"
    else:
        name = "torch.prim.unchecked_cast"
    location = ir.Location.unknown(value.context) if isinstance(owner, ir.Block) else owner.location
    return ir.Operation.create(name, results=[type_], operands=[value], loc=location, ip=ip).result


def known_constant(value: Value, ip: ir.InsertionPoint) -> ir.Value | None:
    """A constant for a scalar whose value is known, else None."""
    if isinstance(value, NoneValue):
        return constant(None, ip)
    known = value.value if isinstance(value, (Bool, Int, Float, Str)) else None
    return constant(known, ip) if isinstance(known, (bool, int, float, str)) else None


def value_of_fact(fact: Fact | None) -> Value | None:
    """The abstract value that fits a fact; None when there is nothing to know."""
    if fact is None:
        return None
    if isinstance(fact, ProfiledScalar):
        value: Any = fact.value  # as its kind says
        kinds: dict[str | None, Value] = {"int": Int(value), "float": Float(value), "bool": Bool(value)}
        return kinds.get(fact.kind)
    if fact.defined is False:
        return None  # an undefined tensor: no guard lets None through
    if fact.sizes is None:
        return Tensor(fact.dtype)
    # a size that is not known is spelled ? in the type, and bound to nothing
    return Tensor(fact.dtype, tuple(symbol("unknown", 0) if s is None else symbol(s) if isinstance(s, str) else s for s in fact.sizes))


_TAKE_ANY = frozenset({"tierup.bailout", "tierup.check", "tierup.check_shapes", "tierup.guard", "tierup.profile"})


def takes_any_refinement(op: ir.Operation) -> bool:
    """Whether an op may have operands of more refined types than it was built with: rows of the op table, guards. MLIR wants the
    types along edges of control flow, of calls and of containers to be equal."""
    return op.name in _TAKE_ANY or (op.name not in STRUCTURE and row_of(op) is not None)


def replace_uses(old: ir.Value, new: ir.Value, type_: ir.Type) -> None:
    """Users of `old`, but for the op that makes `new`, see `new`; those that need the type they had, `type_`, see it through a cast."""
    for use in list(old.uses):
        user = use.owner.operation
        if isinstance(new, ir.OpResult) and user == new.owner.operation:
            continue
        seen = new if new.type == type_ or takes_any_refinement(user) else cast(new, type_, ir.InsertionPoint(user))
        user.operands[use.operand_number] = seen
