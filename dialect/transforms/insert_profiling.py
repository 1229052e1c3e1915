"""tierup-insert-profiling: let runs record what inference cannot know.

Every tensor and number among the arguments is profiled, and every op result whose type does not follow from the arguments' types:
that of an op without a row or without native code, and that of a factory, a view or a movement whose sizes were read from tensors.
With the option `all`, every tensor. Slots count from 0 in the order of the text, and each run is counted once, right before the return.

With `uses`, as TorchScript's profiling executor does it: every tensor, right before each use by an op whose native code depends on its
type, and every tensor that a block hands over. A use that never ran is then known by its empty slot.

    func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
      %0 = torch.aten.argsort %x, ...
      return %0 : !torch.vtensor
    }

becomes

    func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
      %0 = "tierup.profile"(%x) {slot = 0 : i64} : (!torch.vtensor) -> !torch.vtensor
      %1 = torch.aten.argsort %0, ...
      %2 = "tierup.profile"(%1) {slot = 1 : i64} : (!torch.vtensor) -> !torch.vtensor
      "tierup.count_run"() : () -> ()
      return %2 : !torch.vtensor
    }

and with `uses`

      %0 = torch.aten.argsort %x, ...                     it has no native code: its operand is not watched
      %1 = "tierup.profile"(%0) {slot = 0 : i64} ...
      "tierup.count_run"() : () -> ()
      return %1 : !torch.vtensor

With `assumptions`, what a guard in mid-program would gain by: arguments and tensors as without it, but of the numbers only ints read from
tensors that a size hangs on, and the condition of every branch that gives a value, where there are at most sixteen

      %n = torch.aten.Int.Tensor %x ...
      %0 = "tierup.profile"(%n) {slot = 1 : i64} : (!torch.int) -> !torch.int
      %1 = torch.prim.ListConstruct %0 ...
      %2 = torch.aten.zeros %1, ...

A value, or a use, that is profiled already is left alone.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.analysis.sizing import SIZED_BY_OPERANDS, sizing
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import UNSET, last_of, maker
from tierup.dialect.ir.walking import walk
from tierup.dialect.language import ops
from tierup.dialect.language.contracts import STRUCTURE, VALUES
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.registry import Pass, PassFailure, register

_MOST_BRANCHES = 16  # of a program: that all of more go the same way again is no good guess, and each is a bailout around all that follows
_NUMBERS = frozenset({"!torch.int", "!torch.float", "!torch.bool", "!torch.number"})
_HAND_OVER = frozenset({"func.return", "torch.prim.If.yield", "torch.prim.Loop.condition", "tierup.yield"})
_NEVER_PROFILED = frozenset({"tierup.profile", UNSET})  # what is recorded, and what nobody reads
_GRADIENTS = VALUES - {"tierup.differentiable", "tierup.grad_of", "tierup.yield"}  # definedness decides what becomes of them


@register
class InsertProfiling(Pass):
    all: bool = False
    uses: bool = False  # tensors at each use and at the end of each block, instead of arguments and results
    assumptions: bool = False  # also conditions of branches; of numbers inside, only those that sizes hang on

    def run_on_function(self, func: ir.Operation) -> None:
        block = func.regions[0].blocks[0]
        inside = list(walk(func))
        slots = [ir.IntegerAttr(op.attributes["slot"]).value for op in inside if op.name == "tierup.profile"]
        slot = max(slots, default=-1) + 1
        counted = any(op.name == "tierup.count_run" for op in inside)
        if self.uses:
            for op in inside:
                slot = _profile_uses(op, slot)
            _count_run(func, block, counted)
            return
        for argument, at in _argument_places(block):
            slot = _profile(argument, slot, at)
        read = _numbers_read_from_tensors(func)
        sizes = _read_for_sizes(inside, read) if self.assumptions else set()
        branches = [op for op in inside if op.name == "torch.prim.If" and len(op.results)] if self.assumptions else []
        for op in inside:
            if op in branches and len(branches) <= _MOST_BRANCHES:
                slot = _profile_condition(op, slot)
            if op.name.startswith("tierup.") or (op.name in STRUCTURE and not self.all) or op.name in _NEVER_PROFILED:
                continue
            for result in op.results:
                if self.all:
                    wanted = torch_types.is_tensor(result.type)
                elif self.assumptions and not torch_types.is_tensor(result.type):
                    wanted = result in sizes
                else:
                    wanted = _unknown(op, read) and _recordable(result)
                if wanted:
                    slot = _profile(result, slot, ir.InsertionPoint.after(op))
        _count_run(func, block, counted)


def _profile_uses(op: ir.Operation, slot: int) -> int:
    """Profile the tensors that `op` reads, each on its own, where its type decides how `op` is compiled; the next free slot."""
    if op.name not in _HAND_OVER and not _is_compiled_by_type(op):
        return slot
    for i, value in enumerate(op.operands):
        made = maker(value)
        if torch_types.is_tensor(value.type) and (made is None or made.name not in _NEVER_PROFILED):
            op.operands[i] = ops.profile(value, slot, loc=op.location, ip=ir.InsertionPoint(op))
            slot += 1
    return slot


def _is_compiled_by_type(op: ir.Operation) -> bool:
    row = row_of(op)
    return op.name in _GRADIENTS if row is None else row.native


def _argument_places(block: ir.Block) -> list[tuple[ir.Value, ir.InsertionPoint]]:
    """The arguments to profile; all before the first op, in order."""
    first = ir.InsertionPoint.at_block_begin(block)
    return [(argument, first) for argument in block.arguments if _recordable(argument)]


def _recordable(value: ir.Value) -> bool:
    return torch_types.is_tensor(value.type) or str(value.type) in _NUMBERS


def _profile(value: ir.Value, slot: int, ip: ir.InsertionPoint) -> int:
    """Profile `value`, all its uses reading the profile; the next free slot."""
    if any(use.owner.operation.name == "tierup.profile" for use in value.uses):
        return slot
    owner = value.owner
    location = ir.Location.unknown(value.context) if isinstance(owner, ir.Block) else owner.location
    made = ops.profile(value, slot, loc=location, ip=ip)
    value.replace_all_uses_except(made, made.owner.operation)
    return slot + 1


def _unknown(op: ir.Operation, read: set[ir.Value]) -> bool:
    """Whether the types of the results do not follow from those of the operands."""
    row = row_of(op)
    if row is None or not row.native:
        return True
    return row.kind in SIZED_BY_OPERANDS and any(v in read for v in op.operands)


def _profile_condition(branch: ir.Operation, slot: int) -> int:
    """Profile what decides a branch, there, unless it is a constant; the next free slot."""
    condition = branch.operands[0]
    made = maker(condition)
    if made is not None and (made.name == "tierup.profile" or made.name.startswith("torch.constant.")):
        return slot
    branch.operands[0] = ops.profile(condition, slot, loc=branch.location, ip=ir.InsertionPoint(branch))
    return slot + 1


def _read_for_sizes(inside: Sequence[ir.Operation], read: set[ir.Value]) -> set[ir.Value]:
    """The ints of `read` that come straight from a tensor and that the size of another hangs on."""
    found: set[ir.Value] = set()
    seen: set[ir.Value] = set()
    pending = [v for op in inside for v in sizing(op) if v in read]
    while pending:
        value = pending.pop()
        if value in seen:
            continue
        seen.add(value)
        maker = value.owner.operation
        if str(value.type) == "!torch.int" and any(torch_types.is_tensor(v.type) for v in maker.operands):
            found.add(value)
        pending += [v for v in maker.operands if v in read]
    return found


def _numbers_read_from_tensors(func: ir.Operation) -> set[ir.Value]:
    """Ints, and lists of them, that follow from elements of tensors, not from sizes."""
    found: set[ir.Value] = set()
    for op in walk(func):
        row = row_of(op)
        if row is not None and row.kind is not Kind.SCALAR:
            continue
        reads = row is not None and not row.asks and any(torch_types.is_tensor(v.type) for v in op.operands)
        if reads or any(v in found for v in op.operands):
            found.update(r for r in op.results if not torch_types.is_tensor(r.type))
    return found


def _count_run(func: ir.Operation, block: ir.Block, counted: bool) -> None:
    last = last_of(block)
    if last.name != "func.return":
        raise PassFailure(func, f"ends with {last.name}: only a function that returns at its end counts its runs")
    if not counted:
        ops.create("count_run", [], [], loc=last.location, ip=ir.InsertionPoint(last))
