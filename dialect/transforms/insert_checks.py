"""tierup-insert-checks: run a fusion group only on values that fit its types, and its unspecialised twin on others.

    %0 = "tierup.fusion_group"(%x) ({
    ^bb0(%a: !torch.vtensor<[4],f32>):
      ...
    }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>

becomes

    %v, %ok = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : ... -> (!torch.vtensor<[4],f32>, !torch.bool)
    %0 = torch.prim.If %ok -> (!torch.vtensor) {
      %1 = "tierup.fusion_group"(%v) ({ ... }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
      %2 = torch.tensor_static_info_cast %1 : !torch.vtensor<[4],f32> to !torch.vtensor
      torch.prim.If.yield %2 : !torch.vtensor
    } else {
      %1 = "tierup.fallback"(%x) ({
      ^bb0(%a: !torch.vtensor):
        ...                                        the same ops without dtypes and sizes
      }, {}) : (!torch.vtensor) -> !torch.vtensor
      torch.prim.If.yield %1 : !torch.vtensor
    }

All tensors that a group takes are checked, also those whose types an earlier group's success would ensure; what a cast only claims
of a value is checked of the value. A symbol is one size in all facts of a check; two symbols that the group needs equal become
one. A group that needs of sizes what no facts can say is undone. A group without tensors to check, or with checked ones, is left.
Branches that a group's types decide go, after the twin is taken. Types outside that followed from assumptions alone are forgotten.
"""

from __future__ import annotations

from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.inference.infer import InferenceError, infer_function
from tierup.dialect.facts.inference.refine import splice
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.ops import check
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.registry import Pass, PassFailure, register
from tierup.dialect.rewriting import regions
from tierup.dialect.speculation.two_versions import branch, fact_of, is_checked, source, tie_arguments


@register
class InsertChecks(Pass):
    def run_on_function(self, func: ir.Operation) -> None:
        groups = [op for op in walk(func) if op.name == "tierup.fusion_group"]
        try:
            tie_arguments(func)
            for group in groups:
                _guard(group)
            regions.forget_unproven(func)
        except InferenceError as e:
            raise PassFailure(e.op, f"cannot run on operands of these types: {e}") from e


def _guard(group: ir.Operation) -> None:
    regions.forget_unproven_in(group)  # a type outside, of a loop's rounds say, may have proven more than the check of the operands will
    wanted = [i for i, v in enumerate(group.operands) if torch_types.is_tensor(v.type) and not is_checked(group, i)]
    if not wanted:
        return
    body = group.regions[0].blocks[0]
    if not symbols.unify(body, lambda: infer_function(group).ties):
        diagnostics.remark(group, "needs equal sizes that no check can ask for, and is undone")
        regions.inline(group)
        return
    twin = group.clone(ir.InsertionPoint(group)).operation
    splice(body, infer_function(group))

    known = symbols.argument_values(group)
    facts = [fact_of(known[i]) for i in wanted]
    sources = [source(group.operands[i]) for i in wanted]
    refined, ok = check(sources, facts, [body.arguments[i].type for i in wanted], loc=group.location, ip=ir.InsertionPoint(group))
    branch(group, twin, ok, wanted, lambda ip: refined)
