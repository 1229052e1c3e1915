"""tierup-expand-losses: losses become the ops that they are made of, which have native code.

    %0 = torch.aten.mse_loss %x, %y, %int1 : !torch.vtensor<[2,3],f32>, !torch.vtensor<[2,3],f32>, !torch.int -> !torch.vtensor<[],f32>

becomes

    %1 = torch.aten.sub.Tensor %x, %y, %int1_0 : ...
    %2 = torch.aten.square %1 : ...
    %0 = torch.aten.mean %2, %none : !torch.vtensor<[2,3],f32>, !torch.none -> !torch.vtensor<[],f32>

The formulas are those that tier 0 computes (dialect/losses). Only where types are known (`tierup-infer-types` first), since it is ranks and
dtypes that say what is to be computed, and the numbers among the operands. What a loss refuses is still refused: sizes that must be equal,
and are not known to be, are compared, and so are values, as binary_cross_entropy does (`torch.runtime.assert`).
"""

from __future__ import annotations

from typing import Any

from tierup.dialect import torch_types
from tierup.dialect.contracts import function_names, walk
from tierup.dialect.infer import Inference
from tierup.dialect.losses import LOSSES
from tierup.dialect.losses.core import INT, TENSOR, Ops
from tierup.dialect.mlir import ir
from tierup.dialect.numpy_site import Keep, Site, same_shape, tied
from tierup.dialect.optable.losses import lifted, operands_of
from tierup.dialect.optable.operands import Unknown
from tierup.dialect.records import dataclass
from tierup.dialect.refined_types import cast
from tierup.dialect.registry import Pass, functions, register
from tierup.dialect.rewriting import drop_unused, promotion, under_casts
from tierup.dialect.typed_rewriting import infer_or_remark
from tierup.dialect.values import List, Tensor


@register
@dataclass(frozen=True)
class ExpandLosses(Pass):
    """Rewrite losses as the ops that they are made of."""

    name = "tierup-expand-losses"

    def run(self, module: ir.Module) -> None:
        callees = function_names(module)
        for func in functions(module.operation):
            losses = [op for op in walk(func) if loss_name(op) in LOSSES and promotion(op) is None]
            inference = infer_or_remark(func, callees) if losses else None
            if inference is None:
                continue
            operands: list[ir.Value] = []
            for op in losses:
                if all(v in inference.values for v in (*op.operands, *op.results)):
                    operands += _expand(op, inference)
            drop_unused(operands)


def loss_name(op: ir.Operation) -> str:
    """What the op table would call an op."""
    return ir.StringAttr(op.attributes["name"]).value if op.name == "torch.operator" else op.name.removeprefix("torch.")


def _expand(op: ir.Operation, inference: Inference) -> list[ir.Value]:
    """Put the formula in the place of a loss; the operands of the op that went, none where it stays."""
    site, loss = Site(op, inference), LOSSES[loss_name(op)]
    try:
        made = loss.formula(_Built(site), *operands_of(loss, site.values, list(map(under_casts, site.operands))))
        results = made if isinstance(made, tuple) else (made,)
        for wanted, new in zip(site.results, results, strict=True):
            found = inference[new]
            if not (isinstance(wanted, Tensor) and isinstance(found, Tensor) and wanted.dtype is found.dtype and wanted.dtype is not None):
                raise Keep("the dtype of the result is not known")
            if wanted.shape is None or not same_shape(wanted, found, inference.ties):
                raise Keep("the sizes of the result are not known")
    except (Keep, Unknown):
        site.undo()
        return []
    operands = list(op.operands)
    for result, new, wanted in zip(op.results, results, site.results, strict=True):
        replacement = cast(new, result.type, ir.InsertionPoint(op))
        result.replace_all_uses_with(replacement)
        inference.values.pop(result)
        inference.values[replacement] = wanted
    op.erase()
    return operands


class _Built(Ops[ir.Value]):
    """Builds the ops before the loss."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def call(self, name: str, *operands: Any, type_: str = TENSOR) -> ir.Value:
        (result,) = self.site.build(name, list(map(self._value, operands)), [ir.Type.parse(type_, self.site.op.context)])
        return result

    def _value(self, operand: Any) -> ir.Value:
        if isinstance(operand, ir.Value):
            return operand
        known = lifted(operand)
        if isinstance(known, List):
            return self.site.list_of(list(map(self._value, operand)), "int")
        return self.site.constant(known)

    def known(self, x: ir.Value) -> Tensor:
        found = self.site.known(x)
        return found if isinstance(found, Tensor) else Tensor()

    def unknown(self) -> Exception:
        return Unknown()

    def is_tensor(self, x: Any) -> bool:
        return isinstance(x, ir.Value) and torch_types.is_tensor(x.type)

    def equal(self, x: ir.Value, i: int, y: ir.Value, j: int, what: str) -> None:
        """Sizes that only the program's need makes equal are compared."""
        a, b = self.site.shape_of(x)[i], self.site.shape_of(y)[j]
        if a == b:
            return
        if not tied(a, b, self.site.inference.ties):
            raise Keep("whether sizes are equal is for the run to say")
        sizes = self.call("aten.size.int", x, i, type_=INT), self.call("aten.size.int", y, j, type_=INT)
        self._assert(self.call("aten.eq.int", *sizes, type_="!torch.bool"), what)

    def check(self, condition: ir.Value, message: str) -> None:
        self._assert(self.call("aten.Bool.Tensor", self.call("aten.all", condition), type_="!torch.bool"), message)

    def _assert(self, condition: ir.Value, message: str) -> None:
        op = self.site.op
        text = {"message": ir.StringAttr.get(message, op.context)}
        made = ir.Operation.create("torch.runtime.assert", [], [condition], text, loc=op.location, ip=ir.InsertionPoint(op))
        self.site.made.append(made.operation)
