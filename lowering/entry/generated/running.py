"""Generated code that runs a version's kernel, with the GIL or without, and notes what a thread ran last."""

from __future__ import annotations

from llvmlite import ir

from tierup.lowering.base.abi import Argument
from tierup.lowering.entry import last as entry_last
from tierup.lowering.entry import layout
from tierup.lowering.entry.generated import results as entry_results
from tierup.lowering.entry.generated.called import allocations
from tierup.lowering.entry.generated.guards import ARGUMENT_SIZE, GUARD_SIZE
from tierup.lowering.entry.generated.ir import I32, I64, PTR, VOID, Emitter, external_data, function
from tierup.lowering.entry.generated.python import api, decref, new_reference
from tierup.lowering.entry.layout import Guard, RowStruct, Table, offset
from tierup.lowering.entry.records import RELEASE_WORK, SlowCause


@function(PTR, PTR, I64, PTR, I64, PTR)
def slow(f: Emitter, table: ir.Value, cause: ir.Value, args: ir.Value, nargsf: ir.Value, kwnames: ir.Value) -> None:
    """ptr slow(table, cause, args, nargsf, kwnames): let the next table answer, for calls of another kind; else count the cause, and let
    Python answer."""
    following = f.get(table, Table, "next")
    tried = f.b.or_(f.equal(cause, I64(SlowCause.FAILED)), f.equal(cause, I64(SlowCause.TENSORS)))
    with f.when(f.b.not_(f.b.or_(f.is_null(following), tried)), likely=False):
        owner = new_reference(f, f.get(following, Table, "owner"))  # the tables may be put in another order while the call runs
        result = f.call(f.module.globals["call_table"], following, args, nargsf, kwnames)
        f.call(decref, owner)
        f.b.ret(result)
    f.add_to(1, f.item(f.at(table, offset(Table, "slow_calls")), cause), 0)
    f.b.ret(api(f, "PyObject_Vectorcall", f.get(table, Table, "slow"), args, nargsf, kwnames))


def run(f: Emitter, version: ir.Value, frame: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Run a version's kernel; its status, and whether it ran without the GIL."""
    work = entry_results.decode(f, f.get(version, RowStruct, "work"), f.at(frame, f.get(version, RowStruct, "registers_at")))
    large = f.b.icmp_signed(">=", work, I64(RELEASE_WORK))
    status = f.variable(I32, I32(0))
    with f.b.if_else(large, likely=False) as (released, held):
        with released:
            f.store(f.call(run_released, version, frame), status)
        with held:
            f.store(allocations.call_kernel(f, version, frame), status)
    return f.load(status, 0, I32), large


def note(f: Emitter, serial: ir.Value) -> None:
    """Remember a version as the one that this thread ran last."""
    memory = api(f, "pthread_getspecific", f.load(external_data(f.module, entry_last.KEY), 0, I32))
    with f.b.if_else(f.is_null(memory), likely=False) as (first, again):
        with first:
            f.call(note_first, serial)
        with again:
            f.store(serial, memory)


@function(I32, PTR, PTR, rare=True)
def run_released(f: Emitter, version: ir.Value, frame: ir.Value) -> None:
    """i32 run_released(version, frame): the kernel on copies of the arguments' sizes and strides, and without the GIL, where it has much
    work; one that polls gives that up itself."""
    known = entry_results.decode(f, f.get(version, RowStruct, "known_work"), f.at(frame, f.get(version, RowStruct, "registers_at")))
    with f.when(f.b.and_(f.less(known, I64(RELEASE_WORK)), f.equal(f.get(version, RowStruct, "polls"), I64(0)))):
        f.b.ret(f.call(allocations.guarded, version, frame, I32(1)))
    copies = f.variable(PTR, f.at(frame, f.get(version, RowStruct, "copies_at")))
    guards = f.get(version, RowStruct, "guards")
    with f.loop(f.get(version, RowStruct, "n_arguments")) as i:
        guard, argument = f.item(guards, i, GUARD_SIZE), f.item(frame, i, ARGUMENT_SIZE)
        with f.when(f.equal(f.get(guard, Guard, "kind"), I32(layout.Kind.ARRAY))):
            size = f.b.mul(f.b.zext(f.get(guard, Guard, "rank"), I64), I64(8))
            for field in ("dims", "strides"):
                copy = f.load(copies, 0, PTR)
                api(f, "memcpy", copy, f.get(argument, Argument, field), size)
                f.put(copy, argument, Argument, field)
                f.store(f.at(copy, size), copies)
    with f.when(f.less(known, I64(RELEASE_WORK))):
        f.b.ret(f.call(allocations.guarded, version, frame, I32(1)))
    thread = api(f, "PyEval_SaveThread")
    status = f.call(allocations.guarded, version, frame, I32(0))
    api(f, "PyEval_RestoreThread", thread)
    f.b.ret(status)


@function(VOID, I64, rare=True)
def note_first(f: Emitter, serial: ir.Value) -> None:
    """void note_first(serial): `note` for a thread that has no memory for it yet. Without memory nothing is noted."""
    memory = api(f, "calloc", I64(1), I64(8))
    with f.when(f.is_null(memory)):
        f.b.ret_void()
    f.store(serial, memory)
    with f.when(f.differ(api(f, "pthread_setspecific", f.load(external_data(f.module, entry_last.KEY), 0, I32), memory), I32(0))):
        api(f, "free", memory)
    f.b.ret_void()
