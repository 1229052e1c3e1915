"""Memory for what a loop carries before it is set, or a branch leaves unset: code that is made of the types writes it in place.

    %u = torch.prim.Uninitialized : !torch.vtensor<[?],f32>
    %r = torch.prim.Loop %n, %true, init(%u) { ... }                     what it carries is set to a tensor of the size of %x

becomes

    %s = torch.aten.size.int %x, %int0 : ...
    %u = torch.aten.empty.memory_format [%s], ... -> !torch.vtensor<[?],f32>

Sizes that cannot be computed from those of arguments stay unset; there is no native code then (`tierup-verify-native`). What is returned,
itself or a copy, and never set, since the paths that set it are gone, nobody reads: it is a number in memory of its own.
"""

from __future__ import annotations

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.inference.sizes import Sizes
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import constant
from tierup.dialect.ir.structure import UNSET, is_used, take_place, users
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir

_ANY = dtypes.f64


def give_sizes(owner: ir.Operation, inference: Inference) -> None:
    """Give what is unset in `owner`, a function or a region of it, the sizes that inference says it has once it is set."""
    sizes = Sizes(owner, inference)
    for op in [op for op in walk(owner) if op.name == UNSET]:
        for copy in [reader for reader in users(op.results[0]) if reader.name == "torch.aten.clone"]:
            take_place(copy, [op.results[0]])
        for use in list(op.results[0].uses) if is_open(op) else ():
            reader = use.owner.operation
            if reader.name == "func.return" and torch_types.parse_tensor(str(op.results[0].type)) == (None, None):
                reader.operands[use.operand_number] = _empty(sizes, (), _ANY.code, _any_type(op.context), reader)
                continue
            known = inference.values.get(given) if (given := _given(reader, use.operand_number)) is not None else None
            if isinstance(known, Tensor) and known.shape is not None and known.dtype is not None:
                if all(map(sizes.has, known.shape)):
                    reader.operands[use.operand_number] = _empty(sizes, known.shape, known.dtype.code, op.results[0].type, reader)
        if not is_used(op.results[0]):
            op.erase()


def is_open(op: ir.Operation) -> bool:
    """Whether a torch.prim.Uninitialized gives a tensor of a size that its type does not say."""
    type_ = op.results[0].type
    return torch_types.is_value_tensor(type_) and None in (torch_types.parse_tensor(str(type_))[0] or [None])


def _any_type(context: ir.Context) -> ir.Type:
    return torch_types.tensor_type(Tensor(_ANY, ()), context=context)


def _given(reader: ir.Operation, at: int) -> ir.Value | None:
    """The result of a loop or branch that is what its operand `at` may be."""
    if reader.name == "torch.prim.Loop":
        return reader.results[at - 2]
    return reader.parent.operation.results[at] if reader.name == "torch.prim.If.yield" else None


def _empty(sizes: Sizes, shape: tuple[Dim, ...], dtype: int, type_: ir.Type, before: ir.Operation) -> ir.Value:
    """A tensor of these sizes, whose elements are anything."""
    ip, ints = ir.InsertionPoint(before), ir.Type.parse("!torch.list<int>", before.context)
    list_ = ir.Operation.create("torch.prim.ListConstruct", [ints], [sizes.value(d, before) for d in shape], loc=before.location, ip=ip)
    none = constant(None, ip)
    operands = [list_.result, constant(dtype, ip), none, none, none, none]
    return ir.Operation.create("torch.aten.empty.memory_format", [type_], operands, loc=before.location, ip=ip).result
