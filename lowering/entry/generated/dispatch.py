"""Generated code that CPython calls: find the version that fits, run it, or hand the call to Python.

    PyObject *dispatch(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)

One compiled function serves every table: tables and versions are data (`entry_layout`). The order of events matters:
what may run Python code (reading attributes, allocating) happens while the table is held by a reference and the version by
its `in_flight` count, and nothing between reading the chain and raising that count does.
"""

from __future__ import annotations

from llvmlite import ir

from tierup.lowering.base.abi import INTERRUPTED, Argument
from tierup.lowering.entry import layout
from tierup.lowering.entry.generated import lists
from tierup.lowering.entry.generated.arguments import bind, read
from tierup.lowering.entry.generated.called.allocations import kernel_free, kernel_malloc
from tierup.lowering.entry.generated.called.blocks import give_back
from tierup.lowering.entry.generated.called.polls import poll, poll_end
from tierup.lowering.entry.generated.called.pool import pool_comes_back, pool_leaves, share
from tierup.lowering.entry.generated.forwarding import forward
from tierup.lowering.entry.generated.guards import ARGUMENT_SIZE, find
from tierup.lowering.entry.generated.ir import I32, I64, NULL, PTR, Emitter, function
from tierup.lowering.entry.generated.python import answer_by_record, api, decref, new_reference
from tierup.lowering.entry.generated.results import RESULT_SIZE, assemble, discard, finish, prepare, publish
from tierup.lowering.entry.generated.running import note, run, slow
from tierup.lowering.entry.generated.tensor_calls import call_tensors
from tierup.lowering.entry.generated.tensors import is_tensor
from tierup.lowering.entry.layout import Chain, RowStruct, Table, offset
from tierup.lowering.entry.records import SlowCause


def build_module(triple: str) -> ir.Module:
    """The whole dispatcher: exports `dispatch` and `forward`, the self-probe's kernel, and what kernels call."""
    module = ir.Module("tierup.entry")
    module.triple = triple
    of_kernels = (poll, poll_end, kernel_malloc, kernel_free, give_back, share, pool_leaves, pool_comes_back)
    for exported in (dispatch, forward, probe_kernel, *of_kernels):
        exported.of(module)
    return module


@function(PTR, PTR, PTR, I32, PTR, PTR, PTR, I64, PTR, rare=True)
def failed(
    f: Emitter, table: ir.Value, version: ir.Value, status: ir.Value, flat: ir.Value, live: ir.Value, args: ir.Value, nargsf: ir.Value,
    kwnames: ir.Value,
) -> None:  # fmt: skip
    """ptr failed(table, version, status, flat, live, args, nargsf, kwnames): failed(record, status, flat arguments, the address of the live
    words, and what the call was made with where that is something else), or slow without one."""
    handler = f.get(table, Table, "failed")
    count = f.get(version, RowStruct, "n_arguments")
    token = new_reference(f, f.get(version, RowStruct, "token"))
    f.add_to(1, version, offset(RowStruct, "failures"))
    f.add_to(-1, version, offset(RowStruct, "in_flight"))  # version is not looked at from here on
    with f.when(f.is_null(handler)):
        f.call(decref, token)
        f.b.ret(f.call(slow, table, I64(SlowCause.FAILED), args, nargsf, kwnames))
    packed = api(f, "PyTuple_New", count)
    with f.when(f.is_null(packed)):
        f.call(decref, token)
        f.b.ret(NULL)
    with f.loop(count) as i:
        obj = new_reference(f, f.load(f.item(flat, i), 0, PTR))
        f.store(obj, f.item(f.at(packed, layout.TUPLE_ITEMS), i))
    number = api(f, "PyLong_FromLongLong", f.b.sext(status, I64))
    address = api(f, "PyLong_FromLongLong", f.b.ptrtoint(live, I64))
    result, n, keywords = f.variable(PTR, NULL), f.variable(I64, I64(0)), f.variable(I64, I64(0))
    with f.when(f.differ(flat, args)):  # else they are the flat arguments
        f.store(f.b.and_(nargsf, I64(layout.VECTORCALL_OFFSET_FLAG - 1)), n)
        with f.when(f.b.not_(f.is_null(kwnames))):
            f.store(f.load(kwnames, layout.OB_SIZE), keywords)
    with f.when(f.b.not_(f.b.or_(f.is_null(number), f.is_null(address)))):
        total = f.b.add(f.load(n), f.load(keywords))
        passed = f.stack(f.b.mul(f.b.add(total, I64(4)), I64(8)))
        for i, obj in enumerate((token, number, packed, address)):
            f.store(obj, passed, 8 * i)
        api(f, "memcpy", f.at(passed, 32), args, f.b.mul(total, I64(8)))
        names = f.b.select(f.equal(f.load(keywords), I64(0)), NULL, kwnames)
        f.store(api(f, "PyObject_Vectorcall", handler, passed, f.b.add(f.load(n), I64(4)), names), result)
    for obj in (number, address):
        f.call(decref, obj)
    f.call(decref, packed)
    f.call(decref, token)
    f.b.ret(f.load(result, 0, PTR))


@function(PTR, PTR, PTR, PTR, PTR, PTR, I64, PTR, inline=True)
def execute(
    f: Emitter, table: ir.Value, version: ir.Value, flat: ir.Value, frame: ir.Value, args: ir.Value, nargsf: ir.Value, kwnames: ir.Value
) -> None:
    """ptr execute(table, version, flat, frame, args, nargsf, kwnames): run a version that fits; ends its use of the version."""

    def leave() -> None:
        f.add_to(-1, version, offset(RowStruct, "in_flight"))

    def give_up() -> ir.Value:
        f.call(discard, version, frame)
        leave()
        return NULL

    f.return_if(f.b.not_(f.call(prepare, version, flat, frame)), give_up)
    left, large = run(f, version, frame)
    with f.when(f.differ(left, I32(0)), likely=False):
        f.call(discard, version, frame)
        with f.when(f.equal(left, I32(INTERRUPTED))):  # an exception is set
            leave()
            f.b.ret(NULL)
        live = f.at(frame, f.get(version, RowStruct, "live_at"))
        f.b.ret(f.call(failed, table, version, left, flat, live, args, nargsf, kwnames))
    f.return_if(f.b.not_(f.call(finish, version, frame)), give_up)

    user = f.call(assemble, version, flat, frame)
    with f.when(f.differ(f.get(version, RowStruct, "n_written"), I64(0)), likely=False):
        with f.when(f.is_null(user)):  # the user's results are given up already, the scratch arrays are not
            objects = f.at(frame, f.get(version, RowStruct, "objects_at"))
            with f.loop(f.get(version, RowStruct, "n_results"), start=f.get(version, RowStruct, "n_user_results")) as i:
                f.call(decref, f.load(f.item(objects, i), 0, PTR))
            leave()
            f.b.ret(NULL)
        with f.when(f.b.not_(f.call(publish, version, flat, frame, f.b.not_(large)))):
            f.call(decref, user)
            leave()
            f.b.ret(NULL)
        with f.when(f.differ(f.get(table, Table, "n_lists"), I64(0)), likely=False):
            with f.when(f.b.not_(f.call(lists.give_lists, table, flat))):
                f.call(decref, user)
                leave()
                f.b.ret(NULL)
    note(f, f.get(version, RowStruct, "serial"))
    leave()
    f.b.ret(user)


@function(PTR, PTR, PTR, PTR, I64, PTR)
def call_flat(f: Emitter, table: ir.Value, flat: ir.Value, args: ir.Value, nargsf: ir.Value, kwnames: ir.Value) -> None:
    """ptr call_flat(table, flat, args, nargsf, kwnames): the versions in force, on flat arguments."""
    tensors = f.get(table, Table, "tensors")
    with f.when(f.b.not_(f.is_null(tensors)), likely=False):
        n = f.get(table, Table, "n_flat")

        def call() -> ir.Value:
            return f.call(call_tensors, table, flat, n, args, nargsf, kwnames)

        f.return_if(f.differ(f.get(table, Table, "gives_tensors"), I64(0)), call)
        with f.loop(n) as i:
            f.return_if(f.call(is_tensor, tensors, f.load(f.item(flat, i), 0, PTR)), call)
    chain = f.get(table, Table, "chain")
    frame = f.stack(f.get(chain, Chain, "frame"))
    version = f.call(find, chain, flat, frame)
    f.return_if(f.is_null(version), lambda: f.call(slow, table, I64(SlowCause.MISS), args, nargsf, kwnames))
    f.add_to(1, version, offset(RowStruct, "hits"))
    f.add_to(1, version, offset(RowStruct, "in_flight"))
    f.b.ret(f.call(execute, table, version, flat, frame, args, nargsf, kwnames))


@function(PTR, PTR, PTR, I64, PTR)
def call_bound(f: Emitter, table: ir.Value, args: ir.Value, nargsf: ir.Value, kwnames: ir.Value) -> None:
    """ptr call_bound(table, args, nargsf, kwnames): collect the flat arguments, and hold them until the call is over."""
    n_slots, n_flat, indices = (f.get(table, Table, n) for n in ("n_slots", "n_flat", "flat"))
    slots = f.stack(f.b.mul(n_slots, I64(8)))
    with f.loop(n_slots) as i:
        f.store(NULL, f.item(slots, i))
    outcome = f.variable(I64, f.call(bind, table, args, f.b.and_(nargsf, I64(layout.VECTORCALL_OFFSET_FLAG - 1)), kwnames, slots))
    with f.when(f.less(f.load(outcome), I64(0)), likely=True):
        f.store(f.call(read, table, slots), outcome)
    result, flat = f.variable(PTR, NULL), f.variable(PTR, slots)
    with f.when(f.equal(f.load(outcome), I64(-1)), likely=True):
        with f.when(f.b.not_(f.is_null(indices))):
            n_all = f.b.add(n_flat, f.get(table, Table, "n_lists"))
            f.store(f.stack(f.b.mul(n_all, I64(8))), flat)
            with f.loop(n_all) as i:
                f.store(f.load(f.item(slots, f.load(f.item(indices, i))), 0, PTR), f.item(f.load(flat, 0, PTR), i))
        f.store(f.call(call_flat, table, f.load(flat, 0, PTR), args, nargsf, kwnames), result)
    with f.when(f.b.icmp_signed(">=", f.load(outcome), I64(0)), likely=False):
        f.store(f.call(slow, table, f.load(outcome), args, nargsf, kwnames), result)
    with f.loop(n_slots) as i:
        f.call(decref, f.load(f.item(slots, i), 0, PTR))
    f.b.ret(f.load(result, 0, PTR))


@function(PTR, PTR, PTR, I64, PTR)
def call_table(f: Emitter, table: ir.Value, args: ir.Value, nargsf: ir.Value, kwnames: ir.Value) -> None:
    """ptr call_table(table, args, nargsf, kwnames): by the shortest way; the call that is `due` otherwise, by Python."""
    left = f.b.sub(f.get(table, Table, "calls_left"), I64(1))
    f.put(left, table, Table, "calls_left")
    with f.when(f.equal(left, I64(0)), likely=False):
        due = new_reference(f, f.get(table, Table, "due"))  # which may give way to another in the call
        result = api(f, "PyObject_Vectorcall", due, args, nargsf, kwnames)
        f.call(decref, due)
        f.b.ret(result)
    keywords = f.variable(I64, I64(0))
    with f.when(f.b.not_(f.is_null(kwnames)), likely=False):
        f.store(f.load(kwnames, layout.OB_SIZE), keywords)
    count = f.b.and_(nargsf, I64(layout.VECTORCALL_OFFSET_FLAG - 1))
    exact = f.b.and_(f.equal(f.load(keywords), I64(0)), f.equal(count, f.get(table, Table, "n_exact")))
    plain = f.b.and_(exact, f.is_null(f.get(table, Table, "flat")))
    f.return_if(plain, lambda: f.call(call_flat, table, args, args, nargsf, NULL), likely=True)
    f.b.ret(f.call(call_bound, table, args, nargsf, kwnames))


@function(PTR, PTR, PTR, I64, PTR, exported=True)
def dispatch(f: Emitter, callable_: ir.Value, args: ir.Value, nargsf: ir.Value, kwnames: ir.Value) -> None:
    """The vectorcall function of native callables, whose record is a Table."""
    answer_by_record(f, callable_, lambda table: f.call(call_table, table, args, nargsf, kwnames))


@function(I32, PTR, PTR, exported=True, rare=True)
def probe_kernel(f: Emitter, arguments: ir.Value, results: ir.Value) -> None:
    """A kernel of the ABI for `entry_probe`: (f32 vector, int n, float x) -> (2 * vector, n + 1, x)."""
    vector, doubled = f.load(arguments, 0, PTR), f.load(results, 0, PTR)
    with f.loop(f.load(f.get(arguments, Argument, "dims"), 0)) as i:
        element = f.load(f.item(vector, i, 4), 0, ir.FloatType())
        f.store(f.b.fadd(element, element), f.item(doubled, i, 4))
    number, real = f.item(arguments, 1, ARGUMENT_SIZE), f.item(arguments, 2, ARGUMENT_SIZE)
    f.store(f.b.add(f.load(number), I64(1)), f.item(results, 1, RESULT_SIZE))
    f.store(f.load(real), f.item(results, 2, RESULT_SIZE))
    f.b.ret(I32(0))
