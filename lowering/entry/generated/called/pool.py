"""Generated code that shares loops among threads: see `lowering/externals/sharing.py`.

Threads of the C library's, started when a loop is first shared and kept, wait for the next one: they look for it for about a millisecond,
then sleep. To wake one takes some 50 us, and a processor that was idle is slow at first. So a loop that comes after a pause is begun by its
own thread alone: its first part tells how long it takes, and only a long one wakes others. One that comes soon after it is shared at once.

One loop is shared at a time. What it has left stands in one word, out of which a thread takes a part by one atomic step:

    bits 63..32  which loop, a counter     bits 31..24  the threads that may help     bits 23..0  parts that nobody has taken

So a thread that comes late, when another loop has begun, takes a part of that or nothing: what belongs to a loop is read after a part of it
was taken, and stays until its last part is done. Nothing here knows Python: no thread but the caller's ever holds its lock.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from llvmlite import ir

from tierup.lowering.entry.generated.called.clocks import FINE, nanoseconds
from tierup.lowering.entry.generated.ir import I32, I64, NULL, PTR, VOID, Emitter, external, function
from tierup.lowering.entry.generated.python import api
from tierup.lowering.externals import sharing

# The fields of the pool, in bytes, on cache lines of their own where several threads write.
_WORD, _DONE = 0, 64
_PART, _CONTEXT, _COUNT = 128, 136, 144
_BUSY, _LAST = 192, 200  # when a loop that could be shared last ended, in nanoseconds
_LEAVES, _STARTED = 256, 264
_HELPER, _EACH = 320, 64  # for each thread: whether it sleeps, its pthread_t, and a sem_t, which has 32 bytes
_ASLEEP, _THREAD, _READY = 0, 8, 16
_SIZE = _HELPER + _EACH * sharing.MOST_THREADS

_PART_TYPE = ir.FunctionType(VOID, [PTR, I64, I64]).as_pointer()
_LEFT, _HELPERS, _LOOP = (1 << 24) - 1, 24, 32
_LOOKS = 25_000  # of a thread for the next loop before it sleeps: about a millisecond
_SOON = 1_000_000  # nanoseconds after a loop in which the threads still look for the next one
_LONG = 300_000  # nanoseconds on one thread from which on a loop is worth waking others
_PATIENCE = 2000  # looks for the last part before the processor is left to whoever has it
_SETMASK = 2  # Linux


def _pool(f: Emitter) -> ir.Value:
    known = f.module.globals.get("pool")
    if known is None:
        type_ = ir.ArrayType(I64, _SIZE // 8)
        known = ir.GlobalVariable(f.module, type_, "pool")
        known.linkage, known.initializer, known.align = "internal", ir.Constant(type_, None), 64
        known.type = PTR
    return known


def _helper(f: Emitter, number: ir.Value) -> ir.Value:
    return f.item(f.at(_pool(f), _HELPER), number, _EACH)


def _get(f: Emitter, field: int, ordering: str = "seq_cst", of: ir.Value | None = None) -> ir.Value:
    return f.b.load_atomic(f.at(_pool(f) if of is None else of, field), ordering, 8, typ=I64)


def _put(f: Emitter, value: ir.Value, field: int, of: ir.Value | None = None) -> None:
    f.b.atomic_rmw("xchg", f.at(_pool(f) if of is None else of, field), value, "seq_cst")


def _add(f: Emitter, amount: int, field: int) -> None:
    f.b.atomic_rmw("add", f.at(_pool(f), field), I64(amount), "seq_cst")


def _call_part(f: Emitter, part: ir.Value, context: ir.Value, number: ir.Value, count: ir.Value) -> None:
    f.b.call(f.load(f.variable(PTR, part), 0, _PART_TYPE), [context, number, count])


def _minimum(f: Emitter, x: ir.Value, y: ir.Value) -> ir.Value:
    return f.b.select(f.less(x, y), x, y)


def _pause(f: Emitter) -> None:
    """Tell the processor that this thread waits."""
    if f.module.triple.startswith("x86_64"):
        f.call(external(f.module, "llvm.x86.sse2.pause", VOID))
    elif f.module.triple.startswith("aarch64"):
        f.call(external(f.module, "llvm.aarch64.hint", VOID, I32), I32(1))


@contextmanager
def _forever(f: Emitter) -> Iterator[ir.Block]:
    """A loop that is left by a return, or a branch to the block that is given."""
    body, after = (f.function.append_basic_block(name) for name in ("body", "after"))
    f.b.branch(body)
    f.b.position_at_end(body)
    yield after
    if not f.b.block.is_terminated:
        f.b.branch(body)
    f.b.position_at_end(after)


@function(I64, I64, I64)
def run_parts(f: Emitter, helper: ir.Value, anyway: ir.Value) -> None:
    """i64 run_parts(helper, anyway): take parts of the loop that is shared while there are some; how many. Nothing where this is a helper
    that may not help: its number, from 0, is not below the loop's, unless `anyway`."""
    pool, taken = _pool(f), f.variable(I64, I64(0))
    with _forever(f) as end:
        word = _get(f, _WORD, "acquire")
        left = f.b.and_(word, I64(_LEFT))
        helpers = f.b.and_(f.b.lshr(word, I64(_HELPERS)), I64(0xFF))
        may = f.b.or_(f.less(helper, helpers), f.differ(anyway, I64(0)))
        with f.when(f.b.not_(f.b.and_(may, f.differ(left, I64(0))))):
            f.b.branch(end)
        got = f.b.extract_value(f.b.cmpxchg(f.at(pool, _WORD), word, f.b.sub(word, I64(1)), "acq_rel", "monotonic"), 1)
        with f.when(got):
            count = f.load(pool, _COUNT)
            _call_part(f, f.load(pool, _PART, PTR), f.load(pool, _CONTEXT, PTR), f.b.sub(count, left), count)
            _add(f, 1, _DONE)
            f.add_to(1, taken, 0)
    f.b.ret(f.load(taken))


@function(PTR, PTR, outline=True)
def help_(f: Emitter, number: ir.Value) -> None:
    """void *help(number): what a thread of the pool does, until it is to leave."""
    helper, looks = f.b.ptrtoint(number, I64), f.variable(I64, I64(0))
    mine = _helper(f, helper)
    with _forever(f):
        with f.when(f.differ(f.call(run_parts, helper, I64(0)), I64(0))):
            f.store(I64(0), looks)
        f.return_if(f.differ(_get(f, _LEAVES), I64(0)), NULL)
        _pause(f)
        f.add_to(1, looks, 0)
        with f.when(f.b.icmp_signed(">=", f.load(looks), I64(_LOOKS)), likely=False):
            f.store(I64(0), looks)
            _put(f, I64(1), _ASLEEP, of=mine)  # who shares a loop from here on wakes this thread; one that was shared before is seen now
            left = f.b.and_(_get(f, _WORD), I64(_LEFT))
            with f.when(f.b.and_(f.equal(left, I64(0)), f.equal(_get(f, _LEAVES), I64(0)))):
                api(f, "sem_wait", f.at(mine, _READY))  # a signal, or a call too many, ends it: then it looks again
            _put(f, I64(0), _ASLEEP, of=mine)
    f.b.unreachable()


@function(VOID, I64)
def wake(f: Emitter, helpers: ir.Value) -> None:
    """void wake(helpers): wake those of the first `helpers` threads that sleep."""
    with f.loop(helpers) as i:
        helper = _helper(f, i)
        with f.when(f.differ(_get(f, _ASLEEP, of=helper), I64(0)), likely=False):
            api(f, "sem_post", f.at(helper, _READY))
    f.b.ret_void()


@function(VOID, I64, rare=True)
def start(f: Emitter, wanted: ir.Value) -> None:
    """void start(wanted): start threads until there are so many, or the system allows no more. They take no signals: those are Python's."""
    ended = f.function.append_basic_block("ended")
    all_, before = f.stack(I64(128)), f.stack(I64(128))
    api(f, "sigfillset", all_)
    api(f, "pthread_sigmask", I32(_SETMASK), all_, before)
    with f.loop(wanted, start=_get(f, _STARTED)) as i:
        helper = _helper(f, i)
        api(f, "sem_init", f.at(helper, _READY), I32(0), I32(0))
        _put(f, I64(0), _ASLEEP, of=helper)
        made = api(f, "pthread_create", f.at(helper, _THREAD), NULL, help_.of(f.module), f.b.inttoptr(i, PTR))
        with f.when(f.differ(made, I32(0))):
            f.b.branch(ended)
        _add(f, 1, _STARTED)
    f.b.branch(ended)
    f.b.position_at_end(ended)
    api(f, "pthread_sigmask", I32(_SETMASK), before, NULL)
    f.b.ret_void()


@function(VOID, PTR, PTR, I64, I64)
def run_alone(f: Emitter, part: ir.Value, context: ir.Value, first: ir.Value, count: ir.Value) -> None:
    """void run_alone(part, context, first, count): the parts from `first` on, in this thread."""
    with f.loop(count, start=first) as i:
        _call_part(f, part, context, i, count)
    f.b.ret_void()


@function(VOID, PTR, PTR, I64, I64, I64)
def run_shared(f: Emitter, part: ir.Value, context: ir.Value, first: ir.Value, count: ir.Value, threads: ir.Value) -> None:
    """void run_shared(part, context, first, count, threads): the parts from `first` on, in this thread and others."""
    pool = _pool(f)
    helpers = f.b.sub(_minimum(f, threads, f.b.sub(count, first)), I64(1))
    with f.when(f.less(_get(f, _STARTED), helpers), likely=False):
        f.call(start, helpers)
    f.store(part, pool, _PART)
    f.store(context, pool, _CONTEXT)
    f.store(count, pool, _COUNT)
    _put(f, first, _DONE)
    loop = f.b.add(f.b.lshr(_get(f, _WORD), I64(_LOOP)), I64(1))
    belongs = f.b.or_(f.b.shl(loop, I64(_LOOP)), f.b.shl(helpers, I64(_HELPERS)))
    _put(f, f.b.or_(belongs, f.b.sub(count, first)), _WORD)
    f.call(wake, _minimum(f, helpers, _get(f, _STARTED)))
    f.call(run_parts, I64(0), I64(1))
    looks = f.variable(I64, I64(0))
    with _forever(f) as end:
        with f.when(f.equal(_get(f, _DONE, "acquire"), count)):
            f.b.branch(end)
        _pause(f)
        f.add_to(1, looks, 0)
        with f.when(f.b.icmp_signed(">", f.load(looks), I64(_PATIENCE)), likely=False):
            api(f, "sched_yield")
    f.b.ret_void()


@function(VOID, PTR, PTR, I64, I64, exported=True, outline=True, name=sharing.SHARE)
def share(f: Emitter, part: ir.Value, context: ir.Value, count: ir.Value, threads: ir.Value) -> None:
    """void share(part, context, count, threads)."""
    alone = f.b.or_(f.less(_minimum(f, count, threads), I64(2)), f.b.icmp_signed(">", count, I64(_LEFT)))
    taken = f.variable(I64, I64(1))
    with f.when(f.b.not_(alone), likely=True):
        f.store(f.b.atomic_rmw("xchg", f.at(_pool(f), _BUSY), I64(1), "acquire"), taken)
    with f.when(f.differ(f.load(taken), I64(0)), likely=False):
        f.call(run_alone, part, context, I64(0), count)
        f.b.ret_void()
    begin, first = f.call(nanoseconds, FINE), f.variable(I64, I64(0))
    with f.when(f.less(I64(_SOON), f.b.sub(begin, f.load(_pool(f), _LAST)))):
        _call_part(f, part, context, I64(0), count)
        f.store(I64(1), first)
        whole = f.b.mul(f.b.sub(f.call(nanoseconds, FINE), begin), count)
        with f.when(f.less(whole, I64(_LONG))):
            f.call(run_alone, part, context, I64(1), count)
            f.store(count, first)
    with f.when(f.less(f.load(first), count)):
        f.call(run_shared, part, context, f.load(first), count, threads)
    f.store(f.call(nanoseconds, FINE), _pool(f), _LAST)
    _put(f, I64(0), _BUSY)
    f.b.ret_void()


@function(VOID, exported=True, outline=True)
def pool_leaves(f: Emitter) -> None:
    """void pool_leaves(): end the threads, when the loop that is shared has ended, and let none be shared until `pool_comes_back`."""
    with _forever(f) as end:
        with f.when(f.equal(f.b.atomic_rmw("xchg", f.at(_pool(f), _BUSY), I64(1), "acquire"), I64(0))):
            f.b.branch(end)
        api(f, "sched_yield")
    _put(f, I64(1), _LEAVES)
    f.call(wake, _get(f, _STARTED))
    with f.loop(_get(f, _STARTED)) as i:
        api(f, "pthread_join", f.load(_helper(f, i), _THREAD), NULL)
    _put(f, I64(0), _STARTED)
    _put(f, I64(0), _LEAVES)
    f.b.ret_void()


@function(VOID, exported=True, outline=True)
def pool_comes_back(f: Emitter) -> None:
    """void pool_comes_back(): loops may be shared again; the next one starts threads."""
    _put(f, I64(0), _BUSY)
    f.b.ret_void()
