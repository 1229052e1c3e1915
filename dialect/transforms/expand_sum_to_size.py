"""tierup-expand-sum-to-size: what undoes a broadcast in a gradient becomes the sum over what it repeated, and a view.

    %0 = torch.operator "aten._grad_sum_to_size"(%g, %size) : (!torch.vtensor<[2,3,4],f32>, !torch.list<int>) -> !torch.vtensor

becomes, for a size of [3, 1],

    %1 = torch.aten.sum.dim_IntList %g, [0, 2], %true, %none : ... -> !torch.vtensor<[1,3,1],f32>
    %0 = torch.aten.view %1, %size : !torch.vtensor<[1,3,1],f32>, !torch.list<int> -> !torch.vtensor<[3,1],f32>

and the gradient itself where nothing was repeated. Only where types are known (`tierup-infer-types` first) and say which dims were; a
symbolic size is at least 2, and was repeated from 1 or not at all; where two symbols meet that the program needs equal, they are compared
(`torch.runtime.assert`). An optional size of which nothing is known stays. What is made is typed by the next `tierup-infer-types`
(`tierup.stale_types`).
"""

from __future__ import annotations

from tierup.dialect.facts.inference.refine import STALE
from tierup.dialect.facts.values import Int, List, NoneValue, Tensor
from tierup.dialect.mlir import ir
from tierup.dialect.passes.autodiff.autograd_zero import SUM_TO_SIZE
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.site import Keep, Site, tied
from tierup.dialect.rewriting.typed import rewrite_typed


@register
class ExpandSumToSize(Pass):
    def run(self, module: ir.Module) -> None:
        for func in rewrite_typed(module, {SUM_TO_SIZE: _expand}):
            func.attributes[STALE] = ir.UnitAttr.get(func.context)


def _expand(site: Site) -> ir.Value:
    x, size = site.operands
    known = site.values[1]
    if isinstance(known, NoneValue):
        return x
    items = known.items if isinstance(known, List) else None
    to = [item.value if isinstance(item, Int) else None for item in items or ()]
    of = list(site.shape_of(x))
    more = len(to) - len(of)
    if more > 0 and to[:more] == [1] * more:  # which led what was stored
        for _ in range(more):
            x = site.one("aten.unsqueeze", x, 0)
        of = [*[1] * more, *of]
    leading = len(of) - len(to)
    if items is None or leading < 0:
        raise Keep("which dims were repeated is for the run to say")
    pairs = list(enumerate(zip(to, of[leading:], strict=True)))
    other = [i for i, (w, n) in pairs if w not in (1, n)]
    if not all(tied(to[i], of[leading + i], site.inference.ties) for i in other):  # type: ignore[arg-type]  # None is tied to nothing
        raise Keep("which dims were repeated is for the run to say")
    for i in other:
        _compare(site, x, leading + i, size, i)
    to = [n if i in other else w for i, (w, n) in pairs]
    if to and to == of:
        return _as_inferred(site, x, size)
    repeated = [i for i, n in enumerate(of) if i < leading or (to[i - leading] == 1 and n != 1)]
    if not repeated:  # rank 0 to rank 0, of which PyTorch makes a new tensor
        return site.one("aten.sum", x, None)
    summed = site.one("aten.sum.dim_IntList", x, repeated, True, None)
    if leading and not other:
        return site.one("aten.view", summed, size)
    return _as_inferred(site, summed, size)


def _as_inferred(site: Site, found: ir.Value, size: ir.Value) -> ir.Value:
    """A tensor that has the op's elements, in the shape that inference gave the op: of two sizes that must be equal either is named."""
    wanted = site.inference[site.op.results[0]]
    if not isinstance(wanted, Tensor) or wanted.shape is None or wanted.shape == site.shape_of(found):
        return found
    known = site.values[1]
    items = known.items if isinstance(known, List) else None
    x = site.operands[0]
    leading = len(site.shape_of(x)) - len(wanted.shape)
    dims = []
    for i, dim in enumerate(wanted.shape):
        named = items is not None and items[i] == Int(dim)
        source, at = ("aten.__getitem__.t", i) if named else ("aten.size.int", leading + i)
        dims.append(site.one(source, size if named else x, at, type_="!torch.int"))
    return site.one("aten.view", found, dims)


def _compare(site: Site, x: ir.Value, dim: int, size: ir.Value, i: int) -> None:
    """Let the program raise unless a size of x is the i-th of a list."""
    of = site.one("aten.size.int", x, dim, type_="!torch.int")
    to = site.one("aten.__getitem__.t", size, i, type_="!torch.int")
    same = site.one("aten.eq.int", of, to, type_="!torch.bool")
    site.check(same, "_grad_sum_to_size(): the size does not broadcast to the tensor's")
