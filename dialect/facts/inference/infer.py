"""Type inference over a function: every value's dtype and sizes from its arguments', by the rows of the op table.

Sizes may be symbols. Branches join; a loop is iterated until the carried types stand still, sizes that change from one
iteration to the next becoming `u<n>`: known at run time only. Nothing is written into the IR here: see
transforms/infer_types.py for that.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from tierup.dialect.facts.dims import Dim, at_least, symbols
from tierup.dialect.facts.inference.structure import RULES
from tierup.dialect.facts.inference.symbols import argument_values
from tierup.dialect.facts.inference.walker import Inference, InferenceError, Visit, Walker, can_hold, leaves_of, promotion
from tierup.dialect.facts.values import Value
from tierup.dialect.ir.structure import LIST_WRITERS
from tierup.dialect.ir.walking import names_in, with_callees
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Infer, Tie

__all__ = ["Inference", "InferenceError", "infer_function", "promotion"]


def infer_function(
    func: ir.Operation, arguments: Sequence[Value] | None = None, *, rules: Infer | None = None, tolerant: bool = False,
    visit: Visit | None = None, unset_has_sizes: bool = False,
) -> Inference:  # fmt: skip
    """Infer all values of `func` when it is called with `arguments`, those of its types if not given. `rules`: what the op table's rules
    report to, if not a plain Infer. `visit` is called with each op of the table whenever it is inferred, its row, and what is known of its
    operands and results then. A torch.prim.Uninitialized has no say in what a value is that may come from it; with `unset_has_sizes` it
    has, as for gradients, which ask all that a loop carries for its sizes, also before it is set.

    Raises InferenceError when an op cannot run on such operands; `tolerant`: its results are then what their types say, since what
    reads them is never reached.
    """
    walker = Walker(RULES, rules or Infer(items=_items), tolerant, visit, unset_has_sizes)
    walker.lists_change = not all(LIST_WRITERS.isdisjoint(names_in(f)) for f in with_callees(func))
    walker.out.results = walker.function(func, argument_values(func) if arguments is None else arguments)
    walker.nobody_reads()
    walker.out.ties = [tie for found in walker.ctx.ties for tie in _resolved(found, walker.joined_from)]
    sides = [(tie.left, tie.right) for tie in (*walker.ctx.ties, *walker.out.ties)]
    walker.out.doubtful = frozenset(s for a, b in sides if not (at_least(a, 2) and at_least(b, 2)) for d in (a, b) for s in symbols(d))
    return walker.out


def _resolved(tie: Tie, joined_from: Mapping[Dim, set[Dim]]) -> list[Tie]:
    """A tie of a size that only the run knows, but that is always one of several: each of these must be equal. Where that can never
    be (two are different numbers) the tie stays as it is."""
    sides = [leaves_of(side, joined_from, set()) for side in (tie.left, tie.right)]
    if sides == [[tie.left], [tie.right]] or not can_hold(tie, joined_from):
        return [tie]
    return [Tie(a, b, tie.site, (tie.left, tie.right)) for a in sides[0] for b in sides[1] if a != b]


def _items(value: Hashable) -> Hashable:
    """The tensors in a list that is written down, as long as nobody may write them; else something that is like nothing else."""
    assert isinstance(value, ir.Value)
    made = None if isinstance(value.owner, ir.Block) else value.owner.operation
    items = list(made.operands) if made is not None and made.name == "torch.prim.ListConstruct" else [value]
    under = []
    for item in items:
        while not isinstance(item.owner, ir.Block) and item.owner.operation.name == "torch.derefine":
            item = item.owner.operation.operands[0]
        if "vtensor" not in str(item.type) and str(item.type) != "!torch.none":
            return object()
        under.append(None if str(item.type) == "!torch.none" else item)
    return tuple(under)
