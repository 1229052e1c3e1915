"""tierup-peephole-alias-sensitive: arithmetic that changes nothing.

    %1 = torch.aten.mul.Scalar %x, %int1 : !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[4],f32>
    %2 = torch.aten.tanh %1 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>

becomes

    %2 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>

x * 1, x / 1, x - 0, and x + 0, where the result has x's dtype under the op's promotion rules, torch's or NumPy's: an integer divided
by 1 is a float, a bool times 1 is none. For floats x + 0 is not x, since -0.0 + 0 is 0.0; x + -0.0 is.

The op makes a new tensor, x is an old one: they are exchanged only where nobody can tell (no writes to either, x does not become
a result that the caller also has by another name, or that is a view).

The rank of a convolution is its input's, when its type says it (a batch may be missing), unless something resizes the result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from tierup.dialect.analysis.lazy_aliases import LazyAliases
from tierup.dialect.facts.inference.infer import promotion
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import maker
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.operands import lifted
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import register
from tierup.dialect.rewriting.core import LocalRewrites, Rule, float_of, int_of, number, says_as_much, under_casts

_CONVOLUTIONS = frozenset({"torch.aten.convolution", "torch.aten.conv1d", "torch.aten.conv2d", "torch.aten.conv3d"})


@register
class PeepholeAliasSensitive(LocalRewrites):
    disable_shape: bool = False  # types are not to be trusted: fold no dtype, no rank

    def rules(self, func: ir.Operation) -> Mapping[str, Rule]:
        if self.disable_shape:
            return {}  # each of them asks a type
        rewrites = _Rewrites(LazyAliases(func))
        neutral = {f"aten.{name}.Scalar": rewrites.neutral for name in ("add", "sub", "mul", "div")}
        return {**neutral, "aten.dim": rewrites.rank_of_convolution}


class _Rewrites:
    def __init__(self, aliases: LazyAliases) -> None:
        self.aliases = aliases

    def neutral(self, op: ir.Operation) -> ir.Value | None:
        x, result = op.operands[0], op.results[0]
        known = _number(op.operands[1])
        if known is None or not says_as_much(x.type, result.type) or not _keeps_dtype(op, known):
            return None
        if not _is_neutral(op, known) or (self.aliases.now.returned(result) and not _is_made_whole(x)):
            return None
        return x if self.aliases.may_become(result, x) else None

    def rank_of_convolution(self, op: ir.Operation) -> ir.Value | None:
        made = maker(op.operands[0])
        if made is None or made.name not in _CONVOLUTIONS:
            return None
        tensors = (op.operands[0], made.operands[0])
        if any(not torch_types.is_value_tensor(t.type) and self.aliases.may_change_size(t) for t in tensors):
            return None
        sizes, _ = torch_types.parse_tensor(str(made.operands[0].type))
        return None if sizes is None else number(op, len(sizes))


def _number(value: ir.Value) -> int | float | None:
    value = under_casts(value)
    known = int_of(value)
    return float_of(value) if known is None else known


def _keeps_dtype(op: ir.Operation, known: int | float) -> bool:
    """Whether the result has operand 0's dtype, by the row's own rule."""
    row = row_of(op)
    _, dtype = torch_types.parse_tensor(str(op.operands[0].type))
    if row is None or dtype is None:
        return False
    answer = row.answer([Tensor(dtype), lifted(known)], promotion(op))  # alpha has no say in the dtype
    return answer is not None and isinstance(given := answer[0][0], Tensor) and given.dtype == dtype


def _is_neutral(op: ir.Operation, known: int | float) -> bool:
    name = op.name.removeprefix("torch.aten.").removesuffix(".Scalar")
    if name in ("mul", "div"):
        return known == 1
    if known != 0 or int_of(under_casts(op.operands[2])) != 1:
        return False
    negative = math.copysign(1.0, known) == -1.0
    if name == "sub":
        return not negative
    _, dtype = torch_types.parse_tensor(str(op.operands[0].type))
    return negative or (dtype is not None and not dtype.is_float)


def _is_made_whole(value: ir.Value) -> bool:
    """Whether an op made the tensor as memory of its own: the caller may write all of it, as it may a new one."""
    op = maker(value)
    row = None if op is None else row_of(op)
    return op is not None and row is not None and row.aliasing is Aliasing.FRESH and not op.name.endswith(".literal")
