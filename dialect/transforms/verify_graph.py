"""tierup-verify-graph: the contract of the pristine graph, which tier 0 runs and every other stage starts from.

* A module of functions with bodies; calls name functions of the module.
* Every op is a row of the op table, or one of structure (constants, control flow, calls), or a computing op of the tierup
  dialect; no profile, guard, check, bailout, fusion_group or fallback.
* What is written is `!torch.tensor`: no in-place op on a `!torch.vtensor`, no `!torch.vtensor` that is a view of a `!torch.tensor`.

    torch.aten.add_.Tensor %x, %y, %one : !torch.vtensor, ...
    error: 'torch.aten.add_.Tensor' op breaks the contract 'graph': writes a value of type !torch.vtensor; ...
"""

from __future__ import annotations

from dataclasses import dataclass

from tierup.dialect.contracts import Contract, check_graph
from tierup.dialect.mlir import ir
from tierup.dialect.registry import Pass, register


@register
@dataclass(frozen=True)
class VerifyGraph(Pass):
    """Check the contract `graph`: ops that tierup knows, writes to written tensors only, no speculation."""

    name = "tierup-verify-graph"

    def run(self, module: ir.Module) -> None:
        contract = Contract("graph")
        check_graph(module, contract)
        contract.raise_if_broken()
