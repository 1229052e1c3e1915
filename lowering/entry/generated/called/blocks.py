"""Generated code that keeps large blocks of memory for the next kernel that wants some: see `lowering/entry/kept.py`.

Any thread takes and keeps blocks, without a lock: whoever swaps an address out of its slot has the block, and the oldest gives way.
What a slot says of a block's size is a hint; what the C library says of it counts.
"""

from __future__ import annotations

from llvmlite import ir

from tierup.lowering.entry import kept
from tierup.lowering.entry.generated.ir import I32, I64, NULL, PTR, VOID, Emitter, external_data, function
from tierup.lowering.entry.generated.python import api
from tierup.lowering.entry.kept import State
from tierup.lowering.entry.layout import offset
from tierup.lowering.externals.allocating import LARGE

_HUGE, _PAGE, _MADV_HUGEPAGE = 1 << 22, 4096, 14  # NumPy asks for huge pages from 4 MiB on


def _state(f: Emitter) -> ir.Value:
    return external_data(f.module, kept.KEY)


def _slot(f: Emitter, index: ir.Value) -> ir.Value:
    return f.item(f.at(_state(f), offset(State, "slots")), index, 16)


def _swap(f: Emitter, block: ir.Value, slot: ir.Value) -> ir.Value:
    """Put a block, or NULL, into a slot; what was there."""
    return f.b.inttoptr(f.b.atomic_rmw("xchg", slot, f.b.ptrtoint(block, I64), "acq_rel"), PTR)


def _count(f: Emitter, bytes_: ir.Value) -> ir.Value:
    """Add to the bytes that are kept; how many it were."""
    return f.b.atomic_rmw("add", f.at(_state(f), offset(State, "bytes")), bytes_, "acq_rel")


def _free(f: Emitter, block: ir.Value) -> None:
    """Give a block that was kept back to the C library."""
    _count(f, f.b.neg(api(f, "malloc_usable_size", block)))
    api(f, "free", block)


@function(PTR, I64)
def take_block(f: Emitter, size: ir.Value) -> None:
    """ptr take_block(size): a kept block of at least `size` bytes, and no more than half as many again; NULL where there is none."""
    most = f.b.add(size, f.b.lshr(size, I64(1)))
    with f.loop(I64(kept.SLOTS)) as i:
        slot = _slot(f, i)
        said = f.load(slot, 8)
        with f.when(f.b.and_(f.b.icmp_unsigned(">=", said, size), f.b.icmp_unsigned("<=", said, most)), likely=False):
            block = _swap(f, NULL, slot)
            with f.when(f.b.not_(f.is_null(block))):
                known = api(f, "malloc_usable_size", block)
                with f.when(f.b.icmp_unsigned(">=", known, size), likely=True):
                    _count(f, f.b.neg(known))
                    f.b.ret(block)
                _free(f, block)  # another thread has put a smaller one there meanwhile
    f.b.ret(NULL)


@function(PTR, I64)
def fresh_block(f: Emitter, size: ir.Value) -> None:
    """ptr fresh_block(size): a large block of the C library's, in huge pages where NumPy's arrays are; NULL where there is no memory."""
    block = f.variable(PTR, api(f, "malloc", size))
    with f.when(f.is_null(f.load(block, 0, PTR)), likely=False):
        f.call(give_back)
        f.store(api(f, "malloc", size), block)
    address = f.b.ptrtoint(f.load(block, 0, PTR), I64)
    with f.when(f.b.and_(f.differ(address, I64(0)), f.b.icmp_unsigned(">=", size, I64(_HUGE)))):
        skipped = f.b.sub(I64(_PAGE), f.b.and_(address, I64(_PAGE - 1)))
        api(f, "madvise", f.at(f.load(block, 0, PTR), skipped), f.b.sub(size, skipped), I32(_MADV_HUGEPAGE))  # advice: it may be refused
    f.b.ret(f.load(block, 0, PTR))


@function(VOID, PTR)
def keep_block(f: Emitter, block: ir.Value) -> None:
    """void keep_block(block): keep a block that is not NULL, or free it where it is small, or larger than what may be kept."""
    known, bound = api(f, "malloc_usable_size", block), f.get(_state(f), State, "bound")
    with f.when(f.b.or_(f.b.icmp_unsigned("<", known, I64(LARGE)), f.b.icmp_unsigned(">", known, bound)), likely=False):
        api(f, "free", block)
        f.b.ret_void()
    _count(f, known)
    number = f.b.atomic_rmw("add", f.at(_state(f), offset(State, "given")), I64(1), "acq_rel")
    slot = _slot(f, f.b.urem(number, I64(kept.SLOTS)))
    before = _swap(f, block, slot)
    f.store(known, slot, 8)
    with f.when(f.b.not_(f.is_null(before)), likely=False):
        _free(f, before)
    with f.when(f.b.icmp_signed(">", f.get(_state(f), State, "bytes"), bound), likely=False):
        with f.loop(I64(kept.SLOTS)) as i:  # the oldest first
            with f.when(f.b.icmp_signed(">", f.get(_state(f), State, "bytes"), bound)):
                oldest = _swap(f, NULL, _slot(f, f.b.urem(f.b.add(f.b.add(number, I64(1)), i), I64(kept.SLOTS))))
                with f.when(f.b.not_(f.is_null(oldest))):
                    _free(f, oldest)
    with f.when(f.equal(f.get(_state(f), State, "watched"), I64(0)), likely=False):
        watched = f.b.atomic_rmw("xchg", f.at(_state(f), offset(State, "watched")), I64(1), "acq_rel")
        with f.when(f.equal(watched, I64(0))):
            wake = f.b.inttoptr(f.get(_state(f), State, "wake"), PTR)
            asked = f.variable(I32, I32(-1))
            with f.when(f.b.not_(f.is_null(wake))):
                f.store(api(f, "Py_AddPendingCall", wake, NULL), asked)  # needs no GIL
            with f.when(f.differ(f.load(asked, 0, I32), I32(0))):  # too many wait: a later block asks again
                f.put(I64(0), _state(f), State, "watched")
    f.b.ret_void()


@function(VOID, exported=True, outline=True)
def give_back(f: Emitter) -> None:
    """void give_back(): free all blocks that are kept."""
    with f.loop(I64(kept.SLOTS)) as i:
        block = _swap(f, NULL, _slot(f, i))
        with f.when(f.b.not_(f.is_null(block))):
            _free(f, block)
    f.b.ret_void()
