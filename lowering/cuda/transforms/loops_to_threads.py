"""tierup-loops-to-threads: loops over single elements become kernels, their independent iterations threads.

    scf.for %i = %c0 to %rows step %c1 {                       // of a running sum: rows know nothing of one another
      scf.for %j = %c0 to %c9 step %c1 iter_args(%sum = %zero) {
        ... memref.load %x[%i, %j] ... memref.store %next, %y[%i, %j] ...
      }
    }
becomes
    gpu.launch blocks(%b) in (...) threads(%t) in (256) {
      scf.if %i < %rows { scf.for %j ... }
    }

Scatters, running sums and sorts arrive as such loops. A loop of the nest is parallel when each buffer that the nest writes is touched, by
every access, at one same axis by that loop's index itself: then a thread keeps to elements of its own, and runs the other loops of the nest
in their order. Where no loop is, the kernel has one thread, and its location says why: explain() tells it.

So that the host need not wait for the device, single elements go along: a branch on elements, a store of one computed from others (checks
of indices). What a loop gives the host (a number carried through it) it leaves in memory. Loops that hold launches stay the host's.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import is_used, move_out, users
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.aliasing import base, may_alias
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import Scalar, of
from tierup.lowering.building.loops import when
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.rows.blocks import positions

_THREADS = 256
_LOOPS = ("scf.for", "scf.while")
_BRANCH, _LOAD, _STORE = "scf.if", "memref.load", "memref.store"
_VIEWS = ("memref.dim", "memref.cast", "memref.subview", "memref.collapse_shape", "memref.expand_shape")
_ENDS = ("scf.yield", "scf.condition")


@register
class LoopsToThreads(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        for block in function.regions[0].blocks:  # none, where exits are declared
            self._block(block)

    def _block(self, block: ir.Block) -> None:
        for op in [view.operation for view in block.operations]:
            if op.name in _LOOPS and _is_elements(op) and b.first(op, lambda inner: inner.name in (_LOAD, _STORE)) is not None:
                with op.location, ir.InsertionPoint(op):
                    _launch(_results_in_memory(op), [])
            elif op.name in (_BRANCH, _STORE) and not len(op.results) and _is_elements(op):
                taken = _what_it_takes(op)
                if any(o.name == _LOAD for o in [*taken, *b.walk(op)]):
                    with op.location, ir.InsertionPoint(op):
                        _launch(op, taken)
            elif op.name.startswith("scf."):
                for region in op.regions:
                    for inner in region.blocks:
                        self._block(inner)


def _is_pure(op: ir.Operation) -> bool:
    return op.name.startswith(("arith.", "math.")) or op.name in _VIEWS


def _is_elements(op: ir.Operation) -> bool:
    """Whether an op and all in it touch memory element by element."""
    known = (*_LOOPS, *_ENDS, _BRANCH, _LOAD, _STORE)
    return b.first(op, lambda inner: inner.name not in known and not _is_pure(inner)) is None


def _what_it_takes(op: ir.Operation) -> list[ir.Operation]:
    """The ops before `op` in its block that compute for it alone, in their order: arithmetic, and loads of what nobody writes since."""
    taken = [op]
    for other in reversed(b.around(op)[0]):
        if not _is_pure(other) and other.name != _LOAD and other.name not in ("memref.alloc", "memref.alloca"):
            break  # it may write
        if other.name != "arith.constant" and (other.name == _LOAD or _is_pure(other)) and _serves_only(other, taken):
            taken.insert(0, other)
    return taken[:-1]


def _serves_only(op: ir.Operation, ops: list[ir.Operation]) -> bool:
    found = [user for result in op.results for user in users(result)]
    return bool(found) and all(any(b.is_within(user, each) for each in ops) for user in found)


def _results_in_memory(loop: ir.Operation) -> ir.Operation:
    """The loop, in a branch always taken that stores what is used of the loop's results; whoever used them loads. The loop itself
    where nobody uses them."""
    used = list(filter(is_used, loop.results))
    if not used:
        return loop
    places = [b.alloc(ir.MemRefType.get([], result.type)) for result in used]
    branch = b.op(_BRANCH, [b.integer(1, 1)], regions=2)
    for result, place in zip(used, places, strict=True):
        result.replace_all_uses_with(b.value(_LOAD, [place], result.type))
    body = branch.regions[0].blocks.append()
    with ir.InsertionPoint(body):
        for result, place in zip(used, places, strict=True):
            b.op(_STORE, [result, place])
        b.op("scf.yield")
    loop.move_before(list(body.operations)[0].operation)
    return branch


def _launch(op: ir.Operation, taken: list[ir.Operation]) -> None:
    """Move `op` and what it takes into a kernel that stands where `op` does."""
    nest = _nest(op)
    parallel = [loop for loop in nest if _is_parallel(loop, nest)]
    if not parallel:
        why = _why_alone(op, nest)
        with gpu.alone(why) if why else op.location, ir.InsertionPoint(op), gpu.launch([b.index(1)], [b.index(1)]):
            b.take([*taken, op])
        return
    with ir.InsertionPoint(op):
        counts = [_count(loop) for loop in parallel]
        total = gpu.product(counts)
        blocks = gpu.ceil_div(total, _THREADS)
    with ir.InsertionPoint(op), gpu.launch([blocks], [b.index(_THREADS)]) as here:
        point = here.position()
        with when(point < total):
            mine = [_value(loop, p) for loop, p in zip(parallel, positions(point, counts), strict=True)]
            b.take([op])
    for loop, value in zip(parallel, mine, strict=True):
        move_out(loop.regions[0].blocks[0], loop, [value])
        loop.erase()


def _why_alone(op: ir.Operation, nest: list[ir.Operation]) -> str:
    """Why the loops of an op without a parallel one are one thread's; "" where there are none."""
    loop = next((inner for inner in (op, *b.walk(op)) if inner.name in _LOOPS), None)
    if loop is None:
        return ""
    if loop.name == "scf.while":
        return "a loop ends when a condition on elements says so"
    if not nest:
        return "each iteration of a loop takes what the one before it found"
    return "two iterations of a loop may touch one element"


def _nest(op: ir.Operation) -> list[ir.Operation]:
    """The loops that carry nothing, each the only op but arithmetic of the one before it, outermost first; their bounds stand outside."""
    found: list[ir.Operation] = []
    while op.name == "scf.for" and not len(op.results):
        if found and any(_is_inside(v, found[0]) for v in op.operands):
            break
        found.append(op)
        inside = [view.operation for view in op.regions[0].blocks[0].operations]
        others = [o for o in inside[:-1] if not _is_pure(o)]
        if len(others) != 1:
            break
        op = others[0]
    return found


def _is_inside(value: ir.Value, loop: ir.Operation) -> bool:
    made = b.defining_op(value)
    owner = value.owner.owner.operation if made is None else made.parent.operation
    return b.is_within(owner, loop)


def _is_parallel(loop: ir.Operation, nest: list[ir.Operation]) -> bool:
    """Whether what each iteration touches of memory that the nest writes lies at this loop's index, at one axis of the buffer."""
    index = loop.regions[0].blocks[0].arguments[0]
    accesses = [op for op in b.walk(nest[0]) if op.name in (_LOAD, _STORE)]
    written = dict.fromkeys(_buffer(op) for op in accesses if op.name == _STORE)
    for buffer in written:
        if _is_inside(buffer, nest[0]) or not ir.ShapedType(buffer.type).rank:
            return False
        touching = [op for op in accesses if may_alias(base(buffer), base(_buffer(op)))]
        if any(_buffer(op) != buffer for op in touching):
            return False
        axes = [{axis for axis, place in enumerate(_places(op)) if place == index} for op in touching]
        if not set.intersection(*axes):
            return False
    return bool(written)


def _buffer(op: ir.Operation) -> ir.Value:
    return op.operands[0 if op.name == _LOAD else 1]


def _places(op: ir.Operation) -> list[ir.Value]:
    return list(op.operands)[1 if op.name == _LOAD else 2 :]


def _count(loop: ir.Operation) -> Scalar:
    """How many iterations a loop has."""
    start, stop, step = map(of, loop.operands)
    return gpu.ceil_div((stop - start).call("arith.maxsi", 0), step)


def _value(loop: ir.Operation, number: Scalar) -> Scalar:
    """A loop's index in its iteration of this number."""
    start, _, step = map(of, loop.operands)
    return start + number * step
