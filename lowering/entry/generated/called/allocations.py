"""Generated code that runs a kernel which may get no memory: see `lowering/externals/allocating.py`.

A thread's call of such a kernel has a Frame, on the stack of `guarded`, which the thread finds by a key of the C library:

    jmp_buf, of whatever size | count | addresses of large blocks

Blocks beyond those that it has room for are lost when memory is short.
"""

from __future__ import annotations

from llvmlite import ir

from tierup.lowering.base.abi import INTERRUPTED
from tierup.lowering.entry import last
from tierup.lowering.entry.generated.called import blocks
from tierup.lowering.entry.generated.ir import I32, I64, NULL, PTR, VOID, Emitter, external, external_data, function
from tierup.lowering.entry.generated.python import api
from tierup.lowering.entry.layout import RowStruct
from tierup.lowering.externals.allocating import LARGE

_COUNT, _BLOCKS = 512, 520  # a jmp_buf has 200 bytes on x86-64, 312 on AArch64
_ROOM = 64
_SIZE = _BLOCKS + 8 * _ROOM


def frame_of_thread(f: Emitter) -> ir.Value:
    """The frame of the call that this thread is in, or NULL."""
    return api(f, "pthread_getspecific", f.load(external_data(f.module, last.FRAME_KEY), 0, I32))


def set_frame(f: Emitter, frame: ir.Value) -> None:
    """Note the frame of the call that this thread is in."""
    api(f, "pthread_setspecific", f.load(external_data(f.module, last.FRAME_KEY), 0, I32), frame)


@function(PTR, I64, exported=True, outline=True)
def kernel_malloc(f: Emitter, size: ir.Value) -> None:
    """What kernels call for memory: large blocks are noted in the frame of the call, which ends where there is none."""
    large = f.b.icmp_unsigned(">=", size, I64(LARGE))
    found = f.variable(PTR, NULL)
    with f.b.if_else(large, likely=False) as (yes, no):
        with yes:
            f.store(f.call(blocks.take_block, size), found)
            with f.when(f.is_null(f.load(found, 0, PTR))):
                f.store(f.call(blocks.fresh_block, size), found)
        with no:
            f.store(api(f, "malloc", size), found)
    block = f.load(found, 0, PTR)
    f.return_if(f.b.not_(f.b.or_(large, f.is_null(block))), block, likely=True)
    frame = frame_of_thread(f)
    f.return_if(f.is_null(frame), block)
    with f.when(f.is_null(block), likely=False):
        f.call(external(f.module, "longjmp", VOID, PTR, I32), frame, I32(1))
        f.b.unreachable()
    count = f.load(frame, _COUNT)
    with f.when(f.less(count, I64(_ROOM))):
        f.store(block, f.item(f.at(frame, _BLOCKS), count))
        f.store(f.b.add(count, I64(1)), frame, _COUNT)
    f.b.ret(block)


@function(VOID, PTR, exported=True, outline=True)
def kernel_free(f: Emitter, block: ir.Value) -> None:
    """What kernels give memory back to."""
    frame = frame_of_thread(f)
    with f.when(f.b.not_(f.is_null(frame))):
        noted, count = f.at(frame, _BLOCKS), f.load(frame, _COUNT)
        with f.loop(count) as i:
            with f.when(f.equal(f.load(f.item(noted, i), 0, PTR), block), likely=False):
                final = f.b.sub(count, I64(1))
                f.store(f.load(f.item(noted, final), 0, PTR), f.item(noted, i))
                f.store(final, frame, _COUNT)
                f.call(blocks.keep_block, block)
                f.b.ret_void()
    with f.when(f.b.not_(f.is_null(block))):
        f.call(blocks.keep_block, block)
    f.b.ret_void()


@function(I32, PTR, PTR, I32, rare=True)  # not optimised: its variables stay in memory
def guarded(f: Emitter, *given: ir.Value) -> None:
    """i32 guarded(version, frame, held): the kernel's status; INTERRUPTED with MemoryError set where it got no memory. `held`: whether
    this is called under the GIL."""
    f.function.attributes.add("returns_twice")
    version, call, held = (f.variable(p.type, p) for p in given)
    frame = f.variable(PTR, f.stack(I64(_SIZE)))
    before = f.variable(PTR, frame_of_thread(f))
    status = f.variable(I32, I32(INTERRUPTED))
    f.store(I64(0), f.load(frame, 0, PTR), _COUNT)
    set_frame(f, f.load(frame, 0, PTR))
    setjmp = external(f.module, "_setjmp", I32, PTR)
    setjmp.attributes.add("returns_twice")
    with f.b.if_else(f.equal(f.call(setjmp, f.load(frame, 0, PTR)), I32(0))) as (first, again):
        with first:
            f.store(call_kernel(f, f.load(version, 0, PTR), f.load(call, 0, PTR)), status)
        with again:
            with f.loop(f.load(f.load(frame, 0, PTR), _COUNT)) as i:
                api(f, "free", f.load(f.item(f.at(f.load(frame, 0, PTR), _BLOCKS), i), 0, PTR))
            with f.when(f.equal(api(f, "PyGILState_Check"), I32(0))):  # given up by the caller, or by the kernel itself
                api(f, "PyEval_RestoreThread", api(f, "PyGILState_GetThisThreadState"))
            api(f, "PyErr_NoMemory")
            with f.when(f.equal(f.load(held, 0, I32), I32(0))):
                api(f, "PyEval_SaveThread")
    set_frame(f, f.load(before, 0, PTR))
    f.b.ret(f.load(status, 0, I32))


def call_kernel(f: Emitter, version: ir.Value, frame: ir.Value) -> ir.Value:
    """Run a version's kernel on a frame; its status, 0 where nothing failed (i32)."""
    results = f.at(frame, f.get(version, RowStruct, "results_at"))
    return f.call_field(version, RowStruct, "kernel", I32, frame, results)
