"""What a kernel still writes once it has left at an exit.

Control flow is structured: after the call of the exit the scopes around it go on to their ends, with nothing to do but deallocations. The
walk here follows that one path, with the truth values that are known on it (whether control left, whether a loop goes on), and says
what it finds written or given to the caller. Where a condition is not known it takes both arms, and a loop that may go on whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.aliasing import ALLOCATIONS, VIEWS, base
from tierup.lowering.building import builders as b
from tierup.lowering.building.generics import inputs_of

_IF, _LOOPS = "scf.if", ("scf.while", "scf.for")
_WRITTEN = {"memref.store": 1, "memref.copy": 1}  # the operand that is written
_HARMLESS = ("arith.", "math.", "index.", "affine.apply", "memref.load", "memref.dim", "memref.dealloc", "memref.extract_",
             "memref.get_global", *VIEWS)  # fmt: skip


class _Unknown(Exception):
    """An op whose effects are not known here."""


def written_after(call: ir.Operation) -> list[ir.Value] | None:
    """The buffers (bases, see aliasing.py) of a kernel's own that are written or returned after `call`; None for any. Memory that is
    allocated after it, and what the caller passed, is not among them."""
    try:
        return _Path(call).found
    except _Unknown:
        return None


class _Path:
    def __init__(self, call: ir.Operation) -> None:
        self.found: list[ir.Value] = []
        self._known: dict[ir.Value, bool] = Notes()
        self._fresh: set[ir.Value] = set()
        self._assume_conditions(call)
        at = call
        while True:
            *rest, last = b.around(at)[1]
            self._run(rest)
            parent = at.block.owner.operation
            if parent.name == "func.func":
                for value in last.operands:
                    self._write(value)
                return
            if parent.name == _IF:
                self._bind(parent.results, last.operands)
            elif parent.name != "scf.while" or last.name != "scf.yield" or not self._ends(parent, last.operands):
                self._anything(parent)
            at = parent

    def _assume_conditions(self, op: ir.Operation) -> None:
        block = op.block
        while (parent := block.owner.operation).name != "func.func":
            if parent.name == _IF:
                self._known[parent.operands[0]] = parent.regions[0].blocks[0] == block
            block = parent.block

    def _truth(self, value: ir.Value) -> bool | None:
        if value in self._known:
            return self._known[value]
        made = b.defining_op(value)
        if made is None or str(value.type) != "i1":
            return None
        if made.name == "arith.constant":
            return bool(ir.BoolAttr(made.attributes["value"]).value)
        if made.name not in ("arith.andi", "arith.ori", "arith.xori", "arith.select"):
            return None
        first, *others = (self._truth(operand) for operand in made.operands)
        if made.name == "arith.select":
            yes, no = others
            return (yes if yes is no else None) if first is None else yes if first else no
        (second,) = others
        if made.name == "arith.xori":
            return None if first is None or second is None else first is not second
        decides = made.name == "arith.ori"
        if first is decides or second is decides:
            return decides
        return None if first is None or second is None else not decides

    def _bind(self, results: Iterable[ir.Value], values: Iterable[ir.Value]) -> None:
        for result, truth in [(r, self._truth(v)) for r, v in zip(results, values, strict=True)]:
            if truth is not None:
                self._known[result] = truth
            else:
                self._known.pop(result, None)

    def _ends(self, loop: ir.Operation, operands: Iterable[ir.Value]) -> bool:
        """Whether a scf.while ends when its condition is asked next."""
        before = loop.regions[0].blocks[0]
        self._bind(before.arguments, operands)
        *ops, condition = (view.operation for view in before.operations)
        self._run(ops)
        if self._truth(condition.operands[0]) is not False:
            return False
        self._bind(loop.results, list(condition.operands)[1:])
        return True

    def _anything(self, op: ir.Operation) -> None:
        """All that an op may do, whatever is known."""
        self._known.clear()
        for region in op.regions:
            for block in region.blocks:
                self._run([view.operation for view in block.operations][:-1])

    def _run(self, ops: Sequence[ir.Operation]) -> None:
        for op in ops:
            if op.name == _IF:
                self._branch(op)
            elif op.name in _LOOPS:
                if op.name != "scf.while" or not self._ends(op, op.operands):
                    self._anything(op)
            else:
                self._step(op)

    def _branch(self, op: ir.Operation) -> None:
        truth = self._truth(op.operands[0])
        if truth is None:
            for region in op.regions:
                for block in region.blocks:
                    self._run([view.operation for view in block.operations][:-1])
            return
        blocks = list(op.regions[0 if truth else 1].blocks)
        if blocks:
            *ops, last = (view.operation for view in blocks[0].operations)
            self._run(ops)
            self._bind(op.results, last.operands)

    def _step(self, op: ir.Operation) -> None:
        if op.name in ALLOCATIONS:
            self._fresh.add(op.results[0])
        elif op.name in _WRITTEN:
            self._write(op.operands[_WRITTEN[op.name]])
        elif op.name.startswith("linalg.") and "operandSegmentSizes" in op.attributes:
            for out in list(op.operands)[inputs_of(op) :]:
                self._write(out)
        elif not op.name.startswith(_HARMLESS):
            raise _Unknown

    def _write(self, value: ir.Value) -> None:
        if not isinstance(value.type, ir.MemRefType):
            return
        root = base(value)
        made = b.defining_op(root)
        callers = made is None and root.owner.owner.operation.name == "func.func"
        if not callers and root not in self._fresh:
            self.found.append(root)
