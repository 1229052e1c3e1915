"""What may stand in a fusion group, by policy: all that has native code, or what one of TorchScript's fusers took.

The older fuser took pointwise ops whose other operands are constants; chunks where a group begins, so that each piece is read in place, and
concatenations where it ends, so that each part is written in place. It lacked all else: reductions, normalisations, products, views,
factories, gathers, numbers that the run computes, branches and loops.

The tensor-expression fuser took concatenations and chunks anywhere, and slices and unsqueezes; as it was shipped no more than that.
"""

from __future__ import annotations

from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.fusion.nativeness import Nativeness, is_copied

_CHUNK, _UNPACK, _CAT = "torch.aten.chunk", "torch.prim.ListUnpack", "torch.aten.cat"
_LEGACY = frozenset({_CHUNK, _CAT})
_EXPRESSIONS = _LEGACY | {"torch.aten.slice.Tensor", "torch.aten.unsqueeze"}


class NativePolicy(Nativeness):
    """All that has native code. `symbolic`: also on tensors with sizes that only the run knows."""

    def __init__(self, inference: Inference, *, symbolic: bool = True) -> None:
        super().__init__(inference)
        self.symbolic = symbolic

    def _is_typed(self, value: ir.Value) -> bool:
        return super()._is_typed(value) and (self.symbolic or _is_static(self.inference[value]))


class LegacyPolicy(NativePolicy):
    """What the older graph fuser took."""

    has_edges = True

    def _is_native(self, op: ir.Operation) -> bool:
        return _is_pointwise_or(_LEGACY, op) and super()._is_native(op)

    def separates(self, made_by: ir.Operation, user: ir.Operation) -> bool:
        """Nothing in a group comes before a chunk, or after a concatenation."""
        return bool(made_by.name == _CAT or user.name == _CHUNK)


class TensorExpressionPolicy(NativePolicy):
    """What the tensor-expression fuser took."""

    def _is_native(self, op: ir.Operation) -> bool:
        return _is_pointwise_or(_EXPRESSIONS, op) and super()._is_native(op)


POLICIES: dict[str, type[NativePolicy]] = {
    "native": NativePolicy,
    "legacy": LegacyPolicy,
    "tensor-expressions": TensorExpressionPolicy,
}


def _is_static(known: object) -> bool:
    return not isinstance(known, Tensor) or (known.shape is not None and all(isinstance(d, int) for d in known.shape))


def _is_pointwise_or(others: frozenset[str], op: ir.Operation) -> bool:
    """Whether an op is pointwise or one of `others`, on tensors and constants."""
    if op.name == "torch.tensor_static_info_cast":
        return True
    if op.name == _UNPACK:
        chunk = maker(op.operands[0], _CHUNK)
        return chunk is not None and _is_pointwise_or(others, chunk)
    row = row_of(op)
    if row is None or (row.kind is not Kind.POINTWISE and op.name not in others):
        return False
    return all(torch_types.is_tensor(v.type) or _is_constant(v) or (op.name == _CAT and _are_parts(v)) for v in op.operands)


def _is_constant(value: ir.Value) -> bool:
    """Whether a value is a literal, or made of literals alone."""
    op = maker(value)
    return op is not None and is_copied(op) and all(map(_is_constant, op.operands))


def _are_parts(value: ir.Value) -> bool:
    """Whether the tensors that a concatenation takes are known one by one."""
    return maker(value, "torch.prim.ListConstruct") is not None
