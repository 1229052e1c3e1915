"""tierup-explicit-promotion: NumPy's dtype rules said in torch ops with explicit casts.

An op with `tierup.promotion = "numpy"` whose operands' dtypes are known becomes torch ops that give NumPy's dtype, shape and
value. Where that cannot be had the op stays as it is, and has no native code. Branches that are never taken go first. Python's ints get
a check where they may go beyond 64 bits (rewriting/numpy_rules/ints.py).

    %0 = torch.aten.add.Tensor %i, %x, %int1 {tierup.promotion = "numpy"} : !torch.vtensor<[4],si32>, !torch.vtensor<[4],f32>, ...

becomes, since np.int32 + np.float32 is np.float64,

    %1 = torch.aten.to.dtype %i, %int7, %false, %false, %none : !torch.vtensor<[4],si32>, ... -> !torch.vtensor<[4],f64>
    %2 = torch.aten.to.dtype %x, %int7, %false, %false, %none : !torch.vtensor<[4],f32>, ... -> !torch.vtensor<[4],f64>
    %0 = torch.aten.add.Tensor %1, %2, %int1 : !torch.vtensor<[4],f64>, !torch.vtensor<[4],f64>, ... -> !torch.vtensor<[4],f64>
"""

from __future__ import annotations

from tierup.dialect.analysis.ints.positions import Positions
from tierup.dialect.facts.inference.infer import Inference, InferenceError, infer_function
from tierup.dialect.facts.inference.refine import is_called, match_edges, splice
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir.attributes import PROMOTION, UNREAD
from tierup.dialect.ir.structure import set_signature
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, PassFailure, register
from tierup.dialect.rewriting.numpy_rules.ints import drop_proven
from tierup.dialect.rewriting.numpy_rules.rewrites import rewrite_of
from tierup.dialect.rewriting.site import Keep, Site


@register
class ExplicitPromotion(Pass):
    groups_only: bool = False  # leave what is outside fusion groups, where types are not known

    def run_on_function(self, func: ir.Operation) -> None:
        marked = self._marked(func)
        if not marked:
            return
        try:
            inference = infer_function(func)
        except InferenceError as e:
            raise PassFailure(e.op, f"cannot run on operands of these types: {e}") from e
        if not self.groups_only:  # groups have lost theirs when their checks were inserted
            splice(func.regions[0].blocks[0], inference)
        marked, positions = self._marked(func), Positions(inference)
        for op in [op for op in marked if positions.fits(op)]:
            del op.attributes[PROMOTION]
        drop_proven(func, self._marked(func), inference)
        for op in self._marked(func):
            _rewrite(op, inference)
        match_edges(list(walk(func)))  # what was put in may say more of its type than what it replaces
        if not is_called(func):
            set_signature(func)

    def _marked(self, func: ir.Operation) -> list[ir.Operation]:
        roots = [op for op in walk(func) if op.name == "tierup.fusion_group"] if self.groups_only else [func]
        return [op for root in roots for op in walk(root) if PROMOTION in op.attributes]


def _rewrite(op: ir.Operation, inference: Inference) -> None:
    row = row_of(op)
    if row is None or not row.has_native_complex and _meets_complex(op, inference):
        return
    if row.numpy is None or UNREAD in op.attributes:  # one kernel serves both rules; whose dtype is said
        del op.attributes[PROMOTION]
        return
    rewrite = rewrite_of(row)
    if rewrite is None or any(v not in inference.values for v in (*op.operands, *op.results)):
        return
    site = Site(op, inference)
    try:
        site.accept(rewrite(site))
    except Keep:
        site.undo()


def _meets_complex(op: ir.Operation, inference: Inference) -> bool:
    known = (inference.values.get(v) for v in (*op.operands, *op.results))
    return any(isinstance(k, Tensor) and k.dtype is not None and k.dtype.is_complex for k in known)
