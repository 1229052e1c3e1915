"""Generated code that runs a version's kernel, with the GIL or without, and notes what a thread ran last."""

from __future__ import annotations

from dataclasses import dataclass

from llvmlite import ir

from tierup.lowering.abi import Argument
from tierup.lowering.entry import allocations, layout
from tierup.lowering.entry import last as entry_last
from tierup.lowering.entry import results as entry_results
from tierup.lowering.entry.guards import ARGUMENT_SIZE, GUARD_SIZE
from tierup.lowering.entry.ir import I32, I64, PTR, VOID, Emitter, external, external_data
from tierup.lowering.entry.layout import Guard, RowStruct
from tierup.lowering.entry.python import api
from tierup.lowering.entry.records import RELEASE_WORK


@dataclass(frozen=True)
class Runners:
    """How kernels are run, whatever calls them."""

    released: ir.Function
    note_first: ir.Function

    def run(self, f: Emitter, version: ir.Value, frame: ir.Value) -> tuple[ir.Value, ir.Value]:
        """The kernel's status, and whether it ran without the GIL."""
        work = entry_results.decode(f, f.get(version, RowStruct, "work"), f.at(frame, f.get(version, RowStruct, "registers_at")))
        large = f.b.icmp_signed(">=", work, I64(RELEASE_WORK))
        status = f.variable(I32, I32(0))
        with f.b.if_else(large, likely=False) as (released, held):
            with released:
                f.store(f.call(self.released, version, frame), status)
            with held:
                f.store(allocations.call_kernel(f, version, frame), status)
        return f.load(status, 0, I32), large

    def note(self, f: Emitter, serial: ir.Value) -> None:
        """Remember the version as the one that this thread ran last."""
        memory = api(f, "pthread_getspecific", f.load(external_data(f.module, entry_last.KEY), 0, I32))
        with f.b.if_else(f.is_null(memory), likely=False) as (first, again):
            with first:
                f.call(self.note_first, serial)
            with again:
                f.store(serial, memory)


def define(module: ir.Module) -> Runners:
    """Put into the module what runs a version without the interpreter's lock, and what is called at its first run."""
    return Runners(_define_run_released(module), _define_note_first(module))


def _define_run_released(module: ir.Module) -> ir.Function:
    """i32 run_released(version, frame): the kernel on copies of the arguments' sizes and strides, and without the GIL, where it has much
    work; one that polls gives that up itself."""
    guarded = allocations.define(module)
    f = Emitter(module, "run_released", I32, [PTR, PTR], rare=True)
    version, frame = f.parameters
    memcpy = external(module, "memcpy", PTR, PTR, PTR, I64)
    known = entry_results.decode(f, f.get(version, RowStruct, "known_work"), f.at(frame, f.get(version, RowStruct, "registers_at")))
    with f.when(f.b.and_(f.less(known, I64(RELEASE_WORK)), f.equal(f.get(version, RowStruct, "polls"), I64(0)))):
        f.b.ret(f.call(guarded, version, frame, I32(1)))
    copies = f.variable(PTR, f.at(frame, f.get(version, RowStruct, "copies_at")))
    guards = f.get(version, RowStruct, "guards")
    with f.loop(f.get(version, RowStruct, "n_arguments")) as i:
        guard, argument = f.item(guards, i, GUARD_SIZE), f.item(frame, i, ARGUMENT_SIZE)
        with f.when(f.equal(f.get(guard, Guard, "kind"), I32(layout.Kind.ARRAY))):
            size = f.b.mul(f.b.zext(f.get(guard, Guard, "rank"), I64), I64(8))
            for field in ("dims", "strides"):
                copy = f.load(copies, 0, PTR)
                f.call(memcpy, copy, f.get(argument, Argument, field), size)
                f.put(copy, argument, Argument, field)
                f.store(f.at(copy, size), copies)
    with f.when(f.less(known, I64(RELEASE_WORK))):
        f.b.ret(f.call(guarded, version, frame, I32(1)))
    thread = api(f, "PyEval_SaveThread")
    status = f.call(guarded, version, frame, I32(0))
    api(f, "PyEval_RestoreThread", thread)
    f.b.ret(status)
    return f.function


def _define_note_first(module: ir.Module) -> ir.Function:
    """void note_first(serial): `Runners.note` for a thread that has no memory for it yet. Without memory nothing is noted."""
    f = Emitter(module, "note_first", VOID, [I64], rare=True)
    (serial,) = f.parameters
    memory = api(f, "calloc", I64(1), I64(8))
    with f.when(f.is_null(memory)):
        f.b.ret_void()
    f.store(serial, memory)
    with f.when(f.differ(api(f, "pthread_setspecific", f.load(external_data(f.module, entry_last.KEY), 0, I32), memory), I32(0))):
        api(f, "free", memory)
    f.b.ret_void()
    return f.function
