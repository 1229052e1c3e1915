"""Where a symbol of sizes is one size: in a call of a function, or as long as what a check found is relied on.

Guards and bailouts speak for the rest of the call: a symbol in one is the same size in all of them, and in the arguments' types. A check
(`tierup.check`, `tierup.check_shapes`) speaks for the branch that its answer lets run: there its symbols are held, in checks and guards
alike. What nothing around it holds a check binds anew each time that it is asked: two checks side by side, or one in a loop, are
independent of one another.
"""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.facts import dims
from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir

_GUARDS = frozenset({"tierup.guard", "tierup.bailout"})
_CHECKS = frozenset({"tierup.check", "tierup.check_shapes"})
_CONJUNCTION = "torch.aten.__and__.bool"


def names(op: ir.Operation) -> frozenset[str]:
    """The symbols in the facts of a guard or a check."""
    expected = op.attributes["expected"]
    facts = [facts_of(a) for a in expected] if isinstance(expected, ir.ArrayAttr) else [facts_of(expected)]
    return frozenset(size for fact in facts if isinstance(fact, Profiled) for size in fact.sizes or () if isinstance(size, str))


def held(op: ir.Operation) -> frozenset[str]:
    """The symbols whose sizes stand where a check is asked: those of the arguments, of guards, and of checks around it that held."""
    found: set[str] = set()
    while op.name != "func.func":
        above = op.parent.operation
        if above.name == "torch.prim.If" and op.block.region == above.regions[0]:
            found.update(*map(names, _checks(above.operands[0])))
        op = above
    for shape in symbols.bound_shapes(op.regions[0].blocks[0]).values():
        found.update(s.name for d in shape for s in dims.symbols(d))
    found.update(*(names(inner) for inner in walk(op) if inner.name in _GUARDS))
    return frozenset(found)


def _checks(answer: ir.Value) -> Iterator[ir.Operation]:
    """The checks that hold when an answer is true."""
    owner = answer.owner
    if isinstance(owner, ir.Block):
        return
    if owner.name in _CHECKS:
        yield owner.operation
    elif owner.name == _CONJUNCTION:
        for operand in owner.operands:
            yield from _checks(operand)
