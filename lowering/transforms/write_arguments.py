"""tierup-write-arguments: what a program writes to an array argument is written there, not to memory that is copied over it in the end.

    func.func @f(%x: memref<1000xf64>, %i: index, %y: memref<1000xf64>, %status: memref<i32>) attributes {
        tierup.results = [{kind = "argument", argument = 0, in_place, ...}], tierup.result_kinds = ["buffer"]} {
      (checks that may set %status)
      memref.copy %x, %y                           // %y: new contents of %x
      memref.store %v, %y[%i]
      return

becomes

    func.func @f(%x: memref<1000xf64>, %i: index, %status: memref<i32>) attributes {
        tierup.results = [{kind = "written", argument = 0, ...}], tierup.result_kinds = []} {
      (checks)
      if %status is 0 { memref.store %v, %x[%i] }
      return

Both copies take as long as the array is, however little of it is written.

Where a check fails, the argument has to be as it was: tier 0 begins anew. Where one may fail behind a write, the kernel keeps a journal of
what it writes over, and puts that back in the end where %status is not 0 (`building/journal.py`). A store is noted before it; those of an
innermost loop whose positions follow from its counter are noted before the loop, which stays what LLVM makes vectors of. An innermost
scf.while with other stores is there twice, with notes, and as it was for when nothing is noted any more. An scf.for is not: there LLVM
makes slower code of the two than of the one. Where a loop may be interrupted, and nothing else may fail, what was written by then stays,
as in Python; what comes behind such a loop, and has values of it that are not whole, is written where %status is 0.

New contents have memory of their own where the argument is read once they are written, but element by element by the op that writes them
all; where memory goes through a loop or a call; and in functions that may be left in mid-program, whose live values must be theirs to hand
over. Comes after the last pass that sets %status.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tierup.dialect.base.records import dataclass
from tierup.dialect.ir.structure import set_signature
from tierup.dialect.ir.walking import callee_name, symbol_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.aliasing import VIEWS
from tierup.lowering.analysis.stated import ERROR_SITES, RESULT_KINDS, RESULTS, attribute, records
from tierup.lowering.base.abi import ResultKind, ResultSpec
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar
from tierup.lowering.building.generics import inputs_of, is_identity, is_parallel, maps_of
from tierup.lowering.building.journal import Journal
from tierup.lowering.building.loops import when
from tierup.lowering.transforms.outline_exits import EXIT
from tierup.lowering.transforms.poll_loops import ENDS, interrupts

_COPY, _STORE, _LOOP = "memref.copy", "memref.store", "scf.for"
_LONG = ("scf.for", "scf.while", "linalg.", "memref.copy")  # what is a loop, or will be one
_TRAPS = ("arith.div", "arith.rem", "arith.ceildiv", "arith.floordiv")  # what ends the process for some operands


@register
class WriteArguments(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        attributes = function.attributes
        if RESULT_KINDS not in attributes or RESULTS not in attributes or _has_exits(function):
            return
        specs, kinds = list(records(ResultSpec, function, RESULTS)), list(b.strings(attributes[RESULT_KINDS]))
        buffers = [i for i, kind in enumerate(kinds) if kind == "buffer"]
        block = function.regions[0].blocks[0]
        first = len(block.arguments) - len(buffers) - (ERROR_SITES in attributes)
        computed = [i for i, spec in enumerate(specs) if spec.kind in _COMPUTED]
        with ir.Location.unknown(function.context):
            for number, kind in reversed(list(enumerate(buffers))):
                spec = specs[computed[kind]]
                status = block.arguments[-1] if ERROR_SITES in attributes else None
                if spec.in_place and _Argument(block.arguments[spec.argument], block.arguments[first + number], status).is_written():
                    specs[computed[kind]] = replace(spec, kind=ResultKind.WRITTEN, in_place=False)
                    del kinds[kind]
                    _drop(function, first + number)
            attributes[RESULTS] = attribute(tuple(specs))
            attributes[RESULT_KINDS] = ir.ArrayAttr.get([ir.StringAttr.get(kind) for kind in kinds])


_COMPUTED = (ResultKind.BUFFER, ResultKind.ARGUMENT, ResultKind.ALLOCATED, ResultKind.SCALAR)


def _has_exits(function: ir.Operation) -> bool:
    module = function.parent.operation
    exits = {symbol_of(op.operation) for op in module.regions[0].blocks[0].operations if EXIT in op.operation.attributes}
    return bool(exits) and any(op.name == "func.call" and callee_name(op) in exits for op in b.walk(function))


def _drop(function: ir.Operation, number: int) -> None:
    """Take an argument from a function that does not use it."""
    function.regions[0].blocks[0].erase_argument(number)
    if "arg_attrs" in function.attributes:
        kept = list(ir.ArrayAttr(function.attributes["arg_attrs"]))
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(kept[:number] + kept[number + 1 :])
    set_signature(function)


class _Unclear(Exception):
    """What happens to memory is not known."""


@dataclass(frozen=True)
class _Access:
    """`view`: of the array, or itself; what `op` reads or writes of it."""

    op: ir.Operation
    view: ir.Value
    writes: bool


class _Argument:
    """An argument, the buffer of its new contents, and the status of the kernel."""

    def __init__(self, array: ir.Value, buffer: ir.Value, status: ir.Value | None) -> None:
        self._array, self._buffer, self._status = array, buffer, status
        self._block = array.owner
        self._place = {op.operation: i for i, op in enumerate(self._block.operations)}

    def is_written(self) -> bool:
        """Write to the argument, if that can be: then nothing uses the buffer any more."""
        if self._array.type != self._buffer.type or not ir.MemRefType(self._array.type).rank:
            return False
        try:
            reads, found = list(_accesses(self._array)), list(_accesses(self._buffer))
        except _Unclear:
            return False
        writes = sorted((a for a in found if a.writes), key=lambda a: self._top(a.op))
        if not writes or any(a.writes for a in reads):
            return False
        first = writes[0].op
        copied = first.name == _COPY and list(first.operands) == [self._array, self._buffer] and self._is_top(first)
        start = self._top(first)
        late = [a for a in reads if self._top(a.op) >= start and a.op != first]
        if late or not (copied or self._spares(first, [a for a in reads if a.op == first])):
            return False
        writes = writes[copied:]
        if writes and self._fails_after(self._top(writes[0].op)):
            if not copied:
                return False
            self._write_with_journal(first, writes)
        else:
            self._replace(first if copied else None)
            for op in dict.fromkeys(map(self._outermost_to_skip, (a.op for a in writes))):
                if op is not None and self._status is not None:
                    with ir.InsertionPoint(op), when(b.load(self._status).equals(0)):
                        b.take([op])
        return True

    def _outermost_to_skip(self, write: ir.Operation) -> ir.Operation | None:
        """What is left out once the status is set: the write, or what stands around it and does not set it. None where it never is set by
        then, or a loop that ends with it has nothing in it that could."""
        setters = self._setters()
        if not setters:
            return None
        outermost = op = write
        while op.block != self._block:
            op = op.parent.operation
            inside = sum(_is_inside(other, op) for other in setters)
            if ENDS in op.attributes and inside == 1:
                return None
            if not inside and not len(op.results):
                outermost = op
        return outermost

    def _spares(self, op: ir.Operation, reads: Sequence[_Access]) -> bool:
        """Whether an op that writes the buffer, and perhaps reads the argument, may write the argument: it reads nothing of it, or each
        element where it writes it, once."""
        if not reads:
            return True
        if op.name != "linalg.generic" or not is_parallel(op) or self._is_repeated(op):
            return False
        maps, operands = maps_of(op), list(op.operands)
        ours = [i for i, v in enumerate(operands) if v in (self._array, self._buffer)]
        return len(ours) == len(reads) + 1 and all(is_identity(maps[i]) for i in ours)

    def _top(self, op: ir.Operation) -> int:
        return self._place[self._outermost(op)]

    def _outermost(self, op: ir.Operation) -> ir.Operation:
        while op.block != self._block:
            op = op.parent.operation
        return op

    def _is_repeated(self, op: ir.Operation) -> bool:
        """Whether a loop may stand around an op: another round reads what this one writes."""
        while op.block != self._block:
            op = op.parent.operation
            if op.name != "scf.if":
                return True
        return False

    def _is_top(self, op: ir.Operation) -> bool:
        return bool(op.block == self._block)

    def _fails_after(self, place: int) -> bool:
        """Whether the status may be set by an op that stands there, or behind it, for another reason than that a loop was interrupted."""
        return any(self._top(op) >= place and not interrupts(op) for op in self._setters())

    def _setters(self) -> list[ir.Operation]:
        """What may set the status."""
        users = [use.owner.operation for use in self._status.uses] if self._status is not None else []
        return [op for op in users if op.name != "memref.load"]

    def _replace(self, copy: ir.Operation | None) -> None:
        if copy is not None:
            copy.erase()
        self._buffer.replace_all_uses_with(self._array)

    def _write_with_journal(self, copy: ir.Operation, writes: Sequence[_Access]) -> None:
        assert self._status is not None
        with ir.InsertionPoint(copy):
            journal = Journal(self._array)
        loops: dict[ir.Operation, list[ir.Operation]] = {}
        for access in writes:
            loop = _loop_of(access.op) if access.op.name == _STORE and access.view == self._buffer else None
            if loop is not None:
                loops.setdefault(loop, []).append(access.op)
        others = [a for a in writes if not any(a.op in stores for stores in loops.values())]
        self._replace(copy)
        for innermost in dict.fromkeys(_innermost(a.op) for a in others if a.op.name == _STORE):
            if innermost is not None:
                journal.twice(innermost)
        for access in others:
            with ir.InsertionPoint(access.op):
                if access.op.name == _STORE and access.view == self._buffer:
                    journal.note(list(access.op.operands)[2:])
                else:
                    journal.note_view(self._array if access.view == self._buffer else access.view)
        for loop, stores in loops.items():
            with ir.InsertionPoint(loop):
                moving = [op for op in stores if _follows(op, loop)]
                fixed = [op for op in stores if op not in moving]
                if moving:
                    journal.note_loop(tuple(loop.operands)[:3], len(moving), _positions(moving, loop))
                if fixed:
                    once = b.index(0), b.index(1), b.index(1)
                    journal.note_loop(once, len(fixed), _positions(fixed, loop))
        last = list(self._block.operations)[-1]
        with ir.InsertionPoint(last):
            with when(b.load(self._status).differs(0)):
                journal.put_back()
            journal.release()


def _accesses(memory: ir.Value) -> Iterator[_Access]:
    """All that is done with an array and views of it. Raises _Unclear."""
    for use in memory.uses:
        op, at = use.owner.operation, use.operand_number
        if op.name in VIEWS:
            if at:
                raise _Unclear
            yield from _accesses(op.results[0])
        elif op.name in ("memref.load", "memref.dim"):
            yield _Access(op, memory, writes=False)
        elif op.name in (_STORE, _COPY) or op.name.startswith("linalg."):
            writes = at == 1 if op.name in (_STORE, _COPY) else at >= inputs_of(op)
            yield _Access(op, memory, writes)
        else:
            raise _Unclear


def _loop_of(store: ir.Operation) -> ir.Operation | None:
    """The innermost loop around a store, if it counts and the positions follow from what stands before it, and its counter."""
    parent = store.parent.operation
    while parent.name == "scf.if":
        parent = parent.parent.operation
    return parent if parent.name == _LOOP and all(_is_known(i, parent) for i in list(store.operands)[2:]) else None


def _innermost(op: ir.Operation) -> ir.Operation | None:
    """The scf.while around an op, where that has no other loop in it."""
    while (op := op.parent.operation).name == "scf.if":
        pass
    inside = [inner.name for inner in b.walk(op) if inner != op]
    return None if op.name != "scf.while" or any(name.startswith(_LONG) for name in inside) else op


def _is_known(value: ir.Value, loop: ir.Operation) -> bool:
    made = b.defining_op(value)
    if made is None:
        return value == loop.regions[0].blocks[0].arguments[0] or not _is_inside(value.owner.owner.operation, loop)
    if not _is_inside(made, loop):
        return True
    return made.name.startswith("arith.") and not made.name.startswith(_TRAPS) and all(_is_known(v, loop) for v in made.operands)


def _is_inside(op: ir.Operation, loop: ir.Operation) -> bool:
    while op != loop:
        if op.parent is None or op.name == "func.func":
            return False
        op = op.parent.operation
    return True


def _follows(store: ir.Operation, loop: ir.Operation) -> bool:
    """Whether a position of a store hangs on a loop's counter."""

    def hangs(value: ir.Value) -> bool:
        made = b.defining_op(value)
        if made is None:
            return bool(value == loop.regions[0].blocks[0].arguments[0])
        return _is_inside(made, loop) and any(map(hangs, made.operands))

    return any(map(hangs, list(store.operands)[2:]))


def _positions(stores: Sequence[ir.Operation], loop: ir.Operation) -> Callable[[Scalar], list[list[ir.Value]]]:
    """What builds the positions of a loop's stores, outside of it, for a value of its counter."""

    def build(counter: Scalar) -> list[list[ir.Value]]:
        known: dict[ir.Value, ir.Value] = {loop.regions[0].blocks[0].arguments[0]: counter}

        def again(value: ir.Value) -> ir.Value:
            made = b.defining_op(value)
            if value in known or made is None or not _is_inside(made, loop):
                return known.get(value, value)
            operands = [again(v) for v in made.operands]
            copy = made.clone(ip=ir.InsertionPoint.current)
            for i, operand in enumerate(operands):
                copy.operands[i] = operand
            known.update(zip(made.results, copy.results, strict=True))
            return known[value]

        return [[again(v) for v in list(store.operands)[2:]] for store in stores]

    return build
