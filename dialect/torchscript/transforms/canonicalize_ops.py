"""tierup-canonicalize-ops: one spelling for what has two: scalar operands, and chunks of a known number.

    %c = torch.vtensor.literal(dense<2.0> : tensor<f32>) : !torch.vtensor<[],f32>
    %0 = torch.aten.mul.Tensor %x, %c : !torch.vtensor<[4],f32>, !torch.vtensor<[],f32> -> !torch.vtensor<[4],f32>
    %l = torch.aten.chunk %x, %int2, %int0 : !torch.vtensor<[4],f32>, !torch.int, !torch.int -> !torch.list<vtensor<[2],f32>>
    %1:2 = torch.prim.ListUnpack %l : !torch.list<vtensor<[2],f32>> -> !torch.vtensor<[2],f32>, !torch.vtensor<[2],f32>

becomes

    %0 = torch.aten.mul.Scalar %x, %float2 : !torch.vtensor<[4],f32>, !torch.float -> !torch.vtensor<[4],f32>
    %1:2 = "tierup.constant_chunk"(%x) {chunks = 2 : i64, dim = 0 : i64} : ...

* add, sub, mul and div of a constant of rank 0 (a literal, or a number as a tensor): only where types prove that the dtype stays, since
  a tensor of rank 0 and a number promote differently (a float64 constant makes a float64 of integers, a number a float32), and
  where the constant is exact in that dtype. Ops under NumPy's rules stay.
* chunk by constants, of which every use unpacks all pieces or takes one at a constant position, where the size says that there are as
  many pieces as asked for, or the next op raises unless there are. `chunks=false` leaves these.
"""

from __future__ import annotations

import numpy as np

from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.facts.values import Int
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import is_used, maker
from tierup.dialect.ir.walking import unerased, walk
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, functions, register
from tierup.dialect.rewriting.core import drop_unused, erase, float_of, int_of
from tierup.dialect.rewriting.site import Keep, Site
from tierup.dialect.rewriting.typed import Rule, rewrite_typed

_LITERAL, _NUMBER = "torch.vtensor.literal", "torch.prim.NumToTensor.Scalar"


@register
class CanonicalizeOps(Pass):
    chunks: bool = True

    def run(self, module: ir.Module) -> None:
        rewrite_typed(module, {f"aten.{name}.Tensor": _scalar_overload(name) for name in ("add", "sub", "mul", "div")})
        for func in functions(module.operation):
            for op in reversed([op for op in walk(func) if op.name in (_LITERAL, _NUMBER)]):
                if not is_used(op.results[0]):
                    erase(op)
            for op in unerased(op for op in walk(func) if self.chunks and op.name == "torch.aten.chunk"):
                _chunk(op)


def _scalar_overload(name: str) -> Rule:
    def rule(site: Site) -> ir.Value:
        number = _constant(site.operands[1])
        if number is None:
            raise Keep("not a constant number")
        if len(site.operands) == 3 and site.values[2] != Int(1):
            raise Keep("scaled by alpha, which a number may not survive exactly")
        with np.errstate(all="ignore"):
            if np.asarray(number).astype(site.dtype.numpy).item() != number:
                raise Keep("not exact in the result's dtype, where either overload may round it")
        return site.one(f"aten.{name}.Scalar", site.operands[0], number, *site.operands[2:])

    return rule


def _constant(value: ir.Value) -> int | float | None:
    """The number that a constant tensor of rank 0 holds; None for anything else, a bool included."""
    made = maker(value, _NUMBER)
    if made is not None:
        number = int_of(made.operands[0])
        return float_of(made.operands[0]) if number is None else number
    made = maker(value, _LITERAL)
    if made is None:
        return None
    sizes, dtype = torch_types.parse_tensor(str(value.type))
    elements = made.attributes["value"]
    if sizes != () or dtype is None or dtype.name == "bool" or not isinstance(elements, (ir.DenseFPElementsAttr, ir.DenseIntElementsAttr)):
        return None
    element = elements.get_splat_value()
    return float(ir.FloatAttr(element).value) if dtype.is_float else int(ir.IntegerAttr(element).value)


def _chunk(op: ir.Operation) -> None:
    chunks, dim = int_of(op.operands[1]), int_of(op.operands[2])
    users = [use.owner.operation for use in op.results[0].uses]
    if chunks is None or dim is None or not users:
        return
    taken = [_taken(user, chunks) for user in users]
    known = _pieces(op, chunks, dim)
    if any(t is None for t in taken) or not (known == chunks or (known is None and _is_unpacked_at_once(op, users))):
        return
    element = ir.Type.parse(torch_types.elements(str(op.results[0].type))[0])
    types = [element] * chunks
    for user, positions in zip(users, taken, strict=True):
        for result, position in zip(user.results, positions or (), strict=True):
            types[position] = result.type
    i64 = ir.IntegerType.get_signless(64)
    attributes = {"chunks": ir.IntegerAttr.get(i64, chunks), "dim": ir.IntegerAttr.get(i64, dim)}
    made = ops.create("constant_chunk", [op.operands[0]], types, attributes, loc=op.location, ip=ir.InsertionPoint(op))
    operands = list(op.operands)
    for user, positions in zip(users, taken, strict=True):
        operands += list(user.operands)[1:]
        for result, position in zip(user.results, positions or (), strict=True):
            result.replace_all_uses_with(cast(made.results[position], result.type, ir.InsertionPoint(user)))
        user.erase()
    op.erase()
    drop_unused(operands)


def _taken(user: ir.Operation, chunks: int) -> list[int] | None:
    """Which pieces the results of a user are; None for one that does something else with the list."""
    if user.name == "torch.prim.ListUnpack":
        return list(range(chunks)) if len(user.results) == chunks else None
    if user.name != "torch.aten.__getitem__.t":
        return None
    position = int_of(user.operands[1])
    return None if position is None or not -chunks <= position < chunks else [position % chunks]


def _pieces(op: ir.Operation, chunks: int, dim: int) -> int | None:
    """How many pieces there are; None where only the run knows, or it raises."""
    sizes, _ = torch_types.parse_tensor(str(op.operands[0].type))
    size = None if sizes is None or not -len(sizes) <= dim < len(sizes) else sizes[dim]
    if size is None or chunks < 1:
        return None
    return -(-size // -(-size // chunks)) if size else chunks  # pieces of ceil(size / chunks), as torch.chunk cuts


def _is_unpacked_at_once(op: ir.Operation, users: list[ir.Operation]) -> bool:
    """Whether the next op unpacks all pieces: it then raises for another number of them, right here as the constant chunk does."""
    following = [view.operation for view in op.block.operations]
    return len(users) == 1 and users[0].name == "torch.prim.ListUnpack" and following[following.index(op) + 1] == users[0]
