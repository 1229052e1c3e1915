"""tierup-lower-pointwise: pointwise ops of the torch dialect become loops over the scalar formulas of lowering/ops/pointwise.

    %2 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[?,4],ui8>, !torch.vtensor<[4],f16> -> !torch.vtensor<[?,4],f16>
becomes
    linalg.generic { extended to f32, multiplied, rounded to f16 } on builtin tensors

torch-mlir lowers most of these ops too, but not for all dtypes, and not always to torch's values (unsigned division, float16
rounded at every step, softshrink, gelu's constant, ...). Here each element type means what tier 0 means by it. Dynamic sizes are
taken to be equal where they meet, and at least 2 where they meet a static one: the `specialized` contract says so.
"""

from __future__ import annotations

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass
from tierup.dialect.registry import Pass, register
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar
from tierup.lowering.ops import pointwise
from tierup.lowering.ops.pointwise.context import (
    Context,
    Known,
    NotHandled,
    builtin_tensor,
    builtin_type,
    candidate,
    load_casts,
    parameter,
    tensor_type,
)


@register
@dataclass(frozen=True)
class LowerPointwise(Pass):
    """Lower pointwise torch ops to linalg with tier 0's semantics for every dtype."""

    name = "tierup-lower-pointwise"

    def run_on_function(self, function: ir.Operation) -> None:
        load_casts(function.context)
        for op in b.walk_unfused(function):
            name = torch_name(op)
            if op.name.startswith("torch.") and PROMOTION not in op.attributes and pointwise.handles(name):
                try:
                    with op.location, ir.InsertionPoint(op):
                        replacement = _lower(op, name)
                except NotHandled:
                    continue  # types not known, or a number of unknown kind: torch-mlir may still do it
                op.results[0].replace_all_uses_with(replacement)
                op.erase()


def _lower(op: ir.Operation, name: str) -> ir.Value:
    operands = list(op.operands)
    tensors = {i: v for i, v in enumerate(operands) if torch_types.is_tensor(v.type) and pointwise.reads(name, i)}
    recipe = pointwise.recipe(name, tuple(candidate(v) if _counts(v) else None for v in operands))
    parameters = {i: parameter(v) for i, v in enumerate(operands) if not torch_types.is_tensor(v.type)}
    known = {i: tensor_type(v.type) for i, v in tensors.items()}
    result = tensor_type(op.results[0].type)
    if any(len(t.sizes) > len(result.sizes) for t in known.values()):
        raise NotHandled  # no broadcast gives this rank: the types are wrong, and a map of them would crash MLIR's verifier
    inputs = {i: builtin_tensor(v) for i, v in tensors.items()}
    out = b.value("tensor.empty", _dynamic_sizes(result, known, inputs), builtin_type(result))
    maps = [b.broadcast_map([-1 if s is None else s for s in known[i].sizes], len(result.sizes)) for i in tensors]

    rank_0 = [i for i, t in known.items() if not t.sizes]

    def body(elements: list[ir.Value]) -> ir.Value:
        scalars = {i: Scalar(v, known[i].dtype) for i, v in zip(tensors, elements, strict=True)}
        return recipe(Context(scalars, parameters, result.dtype, rank_0)).cast(result.dtype)

    made = b.generic(list(inputs.values()), maps, out, body)
    return b.value("torch_c.from_builtin_tensor", [made], op.results[0].type)


def _counts(value: ir.Value) -> bool:
    """Whether an operand can have a part in promotion at all."""
    return torch_types.is_tensor(value.type) or str(value.type) in ("!torch.int", "!torch.float", "!torch.bool")


def _dynamic_sizes(result: Known, known: dict[int, Known], inputs: dict[int, ir.Value]) -> list[ir.Value]:
    """The sizes of the result's dynamic axes, each read from an operand that has it."""
    sizes = []
    for axis, size in enumerate(result.sizes):
        if size is None:
            sizes.append(_source(axis - len(result.sizes), known, inputs))
    return sizes


def _source(from_end: int, known: dict[int, Known], inputs: dict[int, ir.Value]) -> ir.Value:
    for i, operand in known.items():
        if len(operand.sizes) >= -from_end and operand.sizes[from_end] is None:
            return b.dim(inputs[i], len(operand.sizes) + from_end)
    raise NotHandled  # the result's type knows less than its operands': inference has more to say first
