"""tierup-dce: remove what nobody can tell is missing, through branches, loops and writes.

    %0 = torch.aten.exp %x : !torch.vtensor -> !torch.vtensor                          // unused: gone
    %r:2 = torch.prim.If %c -> (!torch.vtensor, !torch.vtensor) { ... yield %a, %b }   // %r#1 unused: one result, one yielded value
    %l:2 = torch.prim.Loop %n, %true, init(%i, %j) { ^bb0(%k, %p, %q): ... }           // %l#1 unused, %q feeds only itself: the slot
                                                                                       // goes in operand, argument, condition and result
    %t = torch.aten.tanh %x : !torch.tensor -> !torch.tensor
    torch.aten.zero_ %t                                                                // nobody reads %t: both gone

becomes

    %r = torch.prim.If %c -> (!torch.vtensor) { ... yield %a }
    %l = torch.prim.Loop %n, %true, init(%i) { ^bb0(%k, %p): ... }

Marks from what the function returns, from effects on the outside and from what may raise, to a fixpoint: an op is live when a live op
uses one of its results, or when it writes memory that a live value may be or hold. A branch or loop is live with anything in it. A
guard stays, used or not: a constant may stand for what followed from it, and an op be gone that raises where the guard fails.

An error is a result: what may raise stays (see analysis/raising.py), so give the arguments types first where there are any. The ancestor
drops all but explicit raises; `drop-errors` does so too. A dead loop goes even where it might not end. Calls stay but with `drop-errors`,
where those of functions that do nothing go: `inline` first.

MLIR's `trivial-dce` and `remove-dead-values` know no writes through views, and torch's loops and branches do not tell them what they carry.
"""

from __future__ import annotations

from tierup.dialect.analysis.liveness import eliminate_dead_code
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register


@register
class DeadCodeElimination(Pass):
    drop_errors: bool = False  # an unused op goes even if it may raise, as the ancestor has it

    def run_on_function(self, func: ir.Operation) -> None:
        eliminate_dead_code(func, drop_errors=self.drop_errors)
