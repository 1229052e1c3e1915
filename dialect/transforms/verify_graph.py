"""tierup-verify-graph: the contract of the pristine graph, which tier 0 runs and every other stage starts from.

* A module of functions with bodies; calls name functions of the module.
* Every op is a row of the op table, or one of structure (constants, control flow, calls), or a computing op of the tierup
  dialect; no profile, guard, check, bailout, fusion_group or fallback.
* What may be written is `!torch.tensor`: no `!torch.vtensor` is a view of one. (That no in-place op writes a `!torch.vtensor` is
  verified by MLIR with the op.)
* `tierup.promotion` is "numpy" where an op has it, `tierup.requires_grad` true or false where an argument has it.

    %0 = torch.aten.t %x : !torch.tensor -> !torch.vtensor
    error: 'torch.aten.t' op breaks the contract 'graph': gives !torch.vtensor, a view of memory that may be written; ...
"""

from __future__ import annotations

from tierup.dialect.language.contracts import Contract, check_graph
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register


@register
class VerifyGraph(Pass):
    def run(self, module: ir.Module) -> None:
        contract = Contract("graph")
        check_graph(module, contract)
        contract.raise_if_broken()
