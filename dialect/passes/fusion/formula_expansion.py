"""A formula in a typed program as the ops that it is made of: for tierup-expand-formulas, and for who asks whether that can be done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tierup.dialect.facts.inference.infer import Inference, promotion
from tierup.dialect.facts.values import List, Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.ops.formulas import operands_of
from tierup.dialect.optable.core import Promotion
from tierup.dialect.optable.formulas import FORMULAS
from tierup.dialect.optable.formulas.core import INT, TENSOR, Ops
from tierup.dialect.optable.operands import Unknown
from tierup.dialect.rewriting.core import under_casts
from tierup.dialect.rewriting.site import Keep, Site, same_shape, tied


def is_formula(op: ir.Operation) -> bool:
    """Whether an op is made of others, under torch's dtype rules."""
    return torch_name(op) in FORMULAS and promotion(op) is Promotion.TORCH


def build(site: Site) -> tuple[ir.Value, ...]:
    """What stands for the results of a formula, built before it. Raises Keep where types do not say what that is."""
    formula = FORMULAS[torch_name(site.op)]
    try:
        tensors = [_operand(site, i) if i not in formula.plain else None for i in range(len(site.values))]
        made = formula.compute(_Built(site), *operands_of(formula, site.values, tensors))
    except Unknown as e:
        raise Keep("the formula needs more than is known") from e
    if isinstance(made, list):
        return (_listed(site, made),)
    results = made if isinstance(made, tuple) else (made,)
    for wanted, new in zip(site.results, results, strict=True):
        found = site.inference[new]
        if not (isinstance(wanted, Tensor) and isinstance(found, Tensor) and wanted.dtype is found.dtype and wanted.dtype is not None):
            raise Keep("the dtype of the result is not known")
        if wanted.shape is None or not same_shape(wanted, found, site.inference.ties):
            raise Keep("the sizes of the result are not known")
    return results


def _operand(site: Site, i: int) -> ir.Value | list[ir.Value]:
    return _items(site, i) if isinstance(site.values[i], List) else under_casts(site.operands[i])


def _items(site: Site, i: int) -> list[ir.Value]:
    """The tensors in a list operand."""
    return [under_casts(v) for v in site.items(i)]


def _listed(site: Site, made: list[ir.Value]) -> ir.Value:
    """A list of tensors as its items. Raises Keep where inference knew more of them."""
    wanted = site.results[0]
    if not isinstance(wanted, List) or wanted.items is None or len(wanted.items) != len(made):
        raise Keep("the items of the result are not known")
    for want, new in zip(wanted.items, made, strict=True):
        found = site.inference[new]
        if not (isinstance(want, Tensor) and isinstance(found, Tensor) and want.dtype is found.dtype and want.dtype is not None):
            raise Keep("the dtype of an item is not known")
        if want.shape is None or not same_shape(want, found, site.inference.ties):
            raise Keep("the sizes of an item are not known")
    return site.value(made)


def can_build(op: ir.Operation, inference: Inference, is_native: Callable[[ir.Operation], bool]) -> bool:
    """Whether a formula can be made of ops, all of which are native. Leaves the program as it is."""
    site = Site(op, inference)
    try:
        build(site)
        return all(map(is_native, site.made))
    except Keep:
        return False
    finally:
        site.undo()


class _Built(Ops[ir.Value]):
    """Builds the ops before the formula."""

    def __init__(self, site: Site) -> None:
        self.site = site

    def call(self, name: str, *operands: Any, type_: str = TENSOR) -> ir.Value:
        return self.site.one(name, *operands, type_=type_)

    def several(self, name: str, count: int, *operands: Any) -> Sequence[ir.Value]:
        return self.site.build(name, operands, [ir.Type.parse(TENSOR, self.site.op.context)] * count)

    def known(self, x: ir.Value) -> Tensor:
        found = self.site.known(x)
        return found if isinstance(found, Tensor) else Tensor()

    def unknown(self) -> Exception:
        return Unknown()

    def _is_tensor(self, x: Any) -> bool:
        return isinstance(x, ir.Value) and torch_types.is_tensor(x.type)

    def equal(self, x: ir.Value, i: int, y: ir.Value, j: int, what: str) -> None:
        """Sizes that only the program's need makes equal are compared."""
        a, b = self.site.shape_of(x)[i], self.site.shape_of(y)[j]
        if a == b:
            return
        if not tied(a, b, self.site.inference.ties):
            raise Keep("whether sizes are equal is for the run to say")
        sizes = self.call("aten.size.int", x, i, type_=INT), self.call("aten.size.int", y, j, type_=INT)
        self.site.check(self.call("aten.eq.int", *sizes, type_="!torch.bool"), what)

    def check(self, condition: ir.Value, message: str) -> None:
        self.site.check(self.call("aten.Bool.Tensor", self.call("aten.all", condition), type_="!torch.bool"), message)
