"""tierup-match-sizes: sizes that only the run knows, and that an op needs equal, are checked before it.

    %2 = torch.aten.mul.Tensor %0, %1 : !torch.vtensor<[?],f32>, !torch.vtensor<[?],f32> -> ...     // as many as two masks have

becomes

    %ok = torch.aten.eq.int (size of %0), (size of %1)
    torch.runtime.assert %ok, "two sizes that only the run knows differ"
    %3 = torch.prim.If %ok -> %1, else zeros of the size of %0             // the program goes on: nothing outside is read
    %2 = torch.aten.mul.Tensor %0, %3 {tierup.matched} : ...

Where the check fails tier 0 answers, which broadcasts or raises as NumPy does. Sizes that are made of arguments' sizes the kernel checks
first of all (`tierup-decide-results`), which refuses a program with others that no operand has.
"""

from __future__ import annotations

from collections.abc import Mapping

from tierup.dialect.facts import dims
from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.signature import inference_of, symbols_of
from tierup.lowering.analysis.stated import ENTRY, guards
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t

MATCHED = "tierup.matched"  # on ops before which all such sizes are checked
_LIST = "torch.prim.ListConstruct"


@register
class MatchSizes(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        if ENTRY not in function.attributes:
            return
        inference, known = inference_of(function), symbols_of(guards(function))
        wanted: dict[ir.Operation, dict[tuple[Dim, Dim], None]] = Notes()
        for tie in inference.ties:
            if tie.site is None or MATCHED in tie.site.attributes:
                continue
            if any(s.name not in known for side in (tie.left, tie.right) for s in dims.symbols(side)):
                wanted.setdefault(tie.site, {})[tie.of or (tie.left, tie.right)] = None
        for site, pairs in wanted.items():
            with site.location, ir.InsertionPoint(site):
                shapes: dict[ir.Value, list[Dim]] = {}
                matched = [_match(site, *pair, shapes, inference) for pair in pairs]
                if all(matched):
                    site.attributes[MATCHED] = ir.UnitAttr.get(site.context)


def _match(site: ir.Operation, left: Dim, right: Dim, shapes: dict[ir.Value, list[Dim]], inference: Inference) -> bool:
    """Have an operand with the size `right` have the size `left`; whether there is one, and one that tells `left`. `shapes`: of operands
    that were made here."""
    if isinstance(right, int):
        left, right = right, left
    at, like = _found(site, right, shapes, inference), None if isinstance(left, int) else _found(site, left, shapes, inference)
    if at is None or like is None and not isinstance(left, int):
        return False
    tensor, axis = at
    known = t.sizes_of(tensor)
    if known is None:
        return False
    size = t.integer(left) if isinstance(left, int) else t.size(*like)  # type: ignore[misc]  # it was found
    ok = t.size(tensor, axis).equals(size)
    t.check(ok, "two sizes that only the run knows differ")

    def zeros() -> ir.Value:
        none = t.none()
        sizes = [size if i == axis else t.size(tensor, i) for i in range(len(known[0]))]
        return b.value("torch.aten.zeros", [t.ints(sizes), t.integer(known[1].code), none, none, none], tensor.type)

    made: ir.Value = t.either(ok, lambda: tensor, zeros, tensor.type)
    shapes[made] = [left if i == axis else size for i, size in enumerate(_shape(tensor, shapes, inference) or ())]
    _replace(site, tensor, made)
    return True


def _found(site: ir.Operation, size: Dim, shapes: Mapping[ir.Value, list[Dim]], inference: Inference) -> tuple[ir.Value, int] | None:
    """A tensor that an op takes, by itself or in a list, and its axis of that size."""
    for operand in site.operands:
        for tensor in operand.owner.operands if _is_list(operand) else [operand]:
            shape = _shape(tensor, shapes, inference)
            if shape is not None and size in shape:
                return tensor, shape.index(size)
    return None


def _shape(tensor: ir.Value, shapes: Mapping[ir.Value, list[Dim]], inference: Inference) -> list[Dim] | None:
    known = inference.values.get(tensor)
    made = shapes.get(tensor)
    return made if made is not None or not isinstance(known, Tensor) or known.shape is None else list(known.shape)


def _is_list(value: ir.Value) -> bool:
    return not isinstance(value.owner, ir.Block) and value.owner.name == _LIST


def _replace(site: ir.Operation, old: ir.Value, new: ir.Value) -> None:
    """Let an op take another value, which may be in a list: that may have other users."""
    for i, operand in enumerate(site.operands):
        if operand == old:
            site.operands[i] = new
        elif _is_list(operand) and old in list(operand.owner.operands):
            items = [new if item == old else item for item in operand.owner.operands]
            site.operands[i] = b.value(_LIST, items, operand.type)
