"""Generated code that kernels call while they run for long: see `lowering/externals/polling.py`."""

from __future__ import annotations

from llvmlite import ir

from tierup.lowering.entry.generated.called import allocations
from tierup.lowering.entry.generated.called.clocks import COARSE, nanoseconds
from tierup.lowering.entry.generated.ir import I32, I64, NULL, PTR, VOID, Emitter, function
from tierup.lowering.entry.generated.python import api
from tierup.lowering.externals import polling

# The words of the state: the thread that gave up the GIL, and when to look for signals again. A thread that did not hold it is NOBODY.
_THREAD, _NEXT = 0, 8
_NOBODY = ir.Constant(I64, 1).inttoptr(PTR)
_EVERY = 40_000_000  # nanoseconds between two looks
_PATIENCE = 20  # ... and so many times what the last look took, when other threads are busy: at most a twentieth of the time


@function(I32, I64, exported=True, outline=True, name=polling.POLL)
def poll(f: Emitter, address: ir.Value) -> None:
    """i32 poll(state): look for signals where it is time to, and let other threads run."""
    state = f.b.inttoptr(address, PTR)
    thread, begun = f.load(state, _THREAD, PTR), f.call(nanoseconds, COARSE)
    with f.when(f.is_null(thread)):  # the first time
        holds = f.differ(api(f, "PyGILState_Check"), I32(0))
        with f.b.if_else(holds) as (held, released):
            with held:
                f.store(api(f, "PyEval_SaveThread"), state, _THREAD)
            with released:
                f.store(_NOBODY, state, _THREAD)
        f.store(f.b.add(begun, I64(_EVERY)), state, _NEXT)
        f.b.ret(I32(0))
    f.return_if(f.less(begun, f.load(state, _NEXT)), I32(0), likely=True)
    outside, ensured = f.equal(thread, _NOBODY), f.variable(I32, I32(0))
    with f.b.if_else(outside) as (yes, no):
        with yes:
            f.store(api(f, "PyGILState_Ensure"), ensured)
        with no:
            api(f, "PyEval_RestoreThread", thread)
    frame = allocations.frame_of_thread(f)
    allocations.set_frame(f, NULL)  # a handler's calls are others
    raised = f.differ(api(f, "PyErr_CheckSignals"), I32(0))
    allocations.set_frame(f, frame)
    with f.b.if_else(outside) as (yes, no):
        with yes:
            api(f, "PyGILState_Release", f.load(ensured, 0, I32))
        with no:
            f.store(api(f, "PyEval_SaveThread"), state, _THREAD)
    ended = f.call(nanoseconds, COARSE)
    pause = f.b.add(I64(_EVERY), f.b.mul(f.b.sub(ended, begun), I64(_PATIENCE)))
    f.store(f.b.add(ended, pause), state, _NEXT)
    f.b.ret(f.b.zext(raised, I32))


@function(VOID, I64, exported=True, outline=True, name=polling.END)
def poll_end(f: Emitter, address: ir.Value) -> None:
    """void poll_end(state): take the GIL again, if it was given up."""
    thread = f.load(f.b.inttoptr(address, PTR), _THREAD, PTR)
    with f.when(f.b.not_(f.b.or_(f.is_null(thread), f.equal(thread, _NOBODY)))):
        api(f, "PyEval_RestoreThread", thread)
    f.b.ret_void()
