"""Generated code that CPython calls: find the version that fits, run it, or hand the call to Python.

    PyObject *dispatch(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)

One compiled function serves every table: tables and versions are data (`entry_layout`). The order of events matters:
what may run Python code (reading attributes, allocating) happens while the table is held by a reference and the version by
its `in_flight` count, and nothing between reading the chain and raising that count does.
"""

from __future__ import annotations

import ctypes

from llvmlite import ir

from tierup.lowering.abi import INTERRUPTED, Argument
from tierup.lowering.entry import guards as entry_guards
from tierup.lowering.entry import layout
from tierup.lowering.entry import polls as entry_polls
from tierup.lowering.entry import results as entry_results
from tierup.lowering.entry import running as entry_running
from tierup.lowering.entry import tensor_calls as entry_tensor_calls
from tierup.lowering.entry import tensors as entry_tensors
from tierup.lowering.entry.guards import ARGUMENT_SIZE
from tierup.lowering.entry.ir import I1, I32, I64, NULL, PTR, Emitter
from tierup.lowering.entry.layout import Chain, ConstantGuard, HashSlot, Load, LoadKind, RowStruct, Table, offset
from tierup.lowering.entry.python import api, define_decref, exception, incref, new_reference, string, the
from tierup.lowering.entry.records import SlowCause
from tierup.lowering.entry.running import Runners

YES, NO = I1(1), I1(0)


def build_module(triple: str) -> ir.Module:
    """The whole dispatcher: exports `dispatch`, `descr_get` and the self-probe's kernel."""
    module = ir.Module("tierup.entry")
    module.triple = triple
    decref = define_decref(module)
    guards = entry_guards.define(module)
    results = entry_results.define(module, decref)
    slow = _define_slow(module)
    find = _define_find(module, guards)
    run = entry_running.define(module)
    execute = _define_execute(module, decref, results, slow, run)
    tensors = entry_tensors.define(module)
    with_tensors = entry_tensor_calls.define(module, tensors, results, find, slow, run)
    call_flat = _define_call_flat(module, find, execute, slow, with_tensors, tensors.is_tensor)
    hidden = _define_call_with_hidden(module, decref, call_flat, slow)
    _define_dispatch(module, decref, call_flat, hidden, slow)
    _define_descr_get(module)
    _define_probe_kernel(module)
    entry_polls.define(module)
    return module


def _define_slow(module: ir.Module) -> ir.Function:
    """ptr slow(table, cause, args, nargsf, kwnames): count the cause and let Python answer."""
    f = Emitter(module, "slow", PTR, [PTR, I64, PTR, I64, PTR])
    table, cause, args, nargsf, kwnames = f.parameters
    f.add_to(1, f.item(f.at(table, offset(Table, "slow_calls")), cause), 0)
    f.b.ret(api(f, "PyObject_Vectorcall", f.get(table, Table, "slow"), args, nargsf, kwnames))
    return f.function


def _define_find(module: ir.Module, guards: entry_guards.GuardFunctions) -> ir.Function:
    """ptr find(chain, flat, frame): the first version that fits, or null."""
    f = Emitter(module, "find", PTR, [PTR, PTR, PTR], inline=True)
    chain, flat, frame = f.parameters
    versions = f.get(chain, Chain, "versions")

    # a version that fits is the rare case of the loop, but the usual case of the call
    def try_linear(start: ir.Value, end: ir.Value) -> None:
        with f.loop(end, start=start) as i:
            version = f.load(f.item(versions, i), 0, PTR)
            f.return_if(f.call(guards.matches, version, flat, frame), version)

    n_front = f.get(chain, Chain, "n_front")
    try_linear(I64(0), n_front)
    mask = f.get(chain, Chain, "hash_mask")
    with f.when(f.b.icmp_signed(">=", mask, I64(0))):
        key = f.call(guards.signature_key, f.get(chain, Chain, "keyed"), f.get(chain, Chain, "n_arguments"), flat)
        slots = f.get(chain, Chain, "slots")
        with f.loop(I64(1 << 62)) as i:  # the table is never full: an empty slot ends the search
            slot = f.item(slots, f.b.and_(f.b.add(key, i), mask), ctypes.sizeof(HashSlot))
            version = f.get(slot, HashSlot, "version")
            with f.when(f.is_null(version)):
                try_linear(n_front, f.get(chain, Chain, "n_linear"))
                f.b.ret(NULL)
            with f.when(f.equal(f.get(slot, HashSlot, "key"), key)):
                f.return_if(f.call(guards.matches, version, flat, frame), version)
    f.b.ret(NULL)
    return f.function


def _define_failed(module: ir.Module, decref: ir.Function, slow: ir.Function) -> ir.Function:
    """ptr failed(table, version, status, flat, live, args, nargsf, kwnames): failed(record, status, flat arguments, the address of the live
    words), or slow without one."""
    f = Emitter(module, "failed", PTR, [PTR, PTR, I32, PTR, PTR, PTR, I64, PTR], rare=True)
    table, version, status, flat, live, args, nargsf, kwnames = f.parameters
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
    result = f.variable(PTR, NULL)
    with f.when(f.b.not_(f.b.or_(f.is_null(number), f.is_null(address)))):
        four = f.variable(ir.ArrayType(PTR, 4), ir.Constant(ir.ArrayType(PTR, 4), [NULL] * 4))
        for i, obj in enumerate((token, number, packed, address)):
            f.store(obj, four, 8 * i)
        f.store(api(f, "PyObject_Vectorcall", handler, four, I64(4), NULL), result)
    for obj in (number, address):
        f.call(decref, obj)
    f.call(decref, packed)
    f.call(decref, token)
    f.b.ret(f.load(result, 0, PTR))
    return f.function


def _define_execute(
    module: ir.Module, decref: ir.Function, results: entry_results.ResultFunctions, slow: ir.Function, run: Runners
) -> ir.Function:
    """ptr execute(table, version, flat, frame, args, nargsf, kwnames): run a version that fits; ends its use of the version."""
    failed = _define_failed(module, decref, slow)
    f = Emitter(module, "execute", PTR, [PTR, PTR, PTR, PTR, PTR, I64, PTR], inline=True)
    table, version, flat, frame, args, nargsf, kwnames = f.parameters

    def leave() -> None:
        f.add_to(-1, version, offset(RowStruct, "in_flight"))

    def give_up() -> ir.Value:
        f.call(results.discard, version, frame)
        leave()
        return NULL

    f.return_if(f.b.not_(f.call(results.prepare, version, flat, frame)), give_up)
    left, large = run.run(f, version, frame)
    with f.when(f.differ(left, I32(0)), likely=False):
        f.call(results.discard, version, frame)
        with f.when(f.equal(left, I32(INTERRUPTED))):  # an exception is set
            leave()
            f.b.ret(NULL)
        live = f.at(frame, f.get(version, RowStruct, "live_at"))
        f.b.ret(f.call(failed, table, version, left, flat, live, args, nargsf, kwnames))
    f.return_if(f.b.not_(f.call(results.finish, version, frame)), give_up)

    user = f.call(results.assemble, version, frame)
    with f.when(f.differ(f.get(version, RowStruct, "n_written"), I64(0)), likely=False):
        with f.when(f.is_null(user)):  # the user's results are given up already, the scratch arrays are not
            objects = f.at(frame, f.get(version, RowStruct, "objects_at"))
            with f.loop(f.get(version, RowStruct, "n_results"), start=f.get(version, RowStruct, "n_user_results")) as i:
                f.call(decref, f.load(f.item(objects, i), 0, PTR))
            leave()
            f.b.ret(NULL)
        with f.when(f.b.not_(f.call(results.publish, version, flat, frame, f.b.not_(large)))):
            f.call(decref, user)
            leave()
            f.b.ret(NULL)
    run.note(f, f.get(version, RowStruct, "serial"))
    leave()
    f.b.ret(user)
    return f.function


def _define_call_flat(module: ir.Module, find: ir.Function, execute: ir.Function, slow: ir.Function, with_tensors: ir.Function,
                      is_tensor: ir.Function) -> ir.Function:  # fmt: skip
    """ptr call_flat(table, flat, args, nargsf, kwnames): the versions in force, on flat arguments."""
    f = Emitter(module, "call_flat", PTR, [PTR, PTR, PTR, I64, PTR])
    table, flat, args, nargsf, kwnames = f.parameters
    tensors = f.get(table, Table, "tensors")
    with f.when(f.b.not_(f.is_null(tensors)), likely=False):
        n_flat = f.get(table, Table, "n_flat")
        n = f.b.select(f.is_null(f.get(table, Table, "flat")), f.get(table, Table, "n_positional"), n_flat)

        def call() -> ir.Value:
            return f.call(with_tensors, table, flat, n, args, nargsf, kwnames)

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
    return f.function


def _define_read(module: ir.Module, decref: ir.Function) -> ir.Function:
    """i64 read(table, slots): read every hidden input and compare the constants; -1, or a SlowCause, or -2 with an exception set.

    Slots behind the positional arguments own their references; on failure the unread ones are null.
    """
    f = Emitter(module, "read", I64, [PTR, PTR])
    table, slots = f.parameters
    loads, n_positional = f.get(table, Table, "loads"), f.get(table, Table, "n_positional")
    hidden = f.item(slots, n_positional)
    count = f.get(table, Table, "n_loads")
    value = f.variable(PTR, NULL)
    with f.loop(count) as i:
        f.store(NULL, f.item(hidden, i))
    with f.loop(count) as i:
        load = f.item(loads, i, ctypes.sizeof(Load))
        obj, name = f.get(load, Load, "object"), f.get(load, Load, "name")
        with f.cases(f.get(load, Load, "kind")) as case:
            case(LoadKind.GLOBAL)
            borrowed = api(f, "PyDict_GetItemWithError", obj, name)
            f.store(borrowed, value)
            with f.when(f.b.not_(f.is_null(borrowed)), likely=True):
                incref(f, borrowed)
            case(LoadKind.CELL)
            f.store(api(f, "PyCell_Get", obj), value)
            case(LoadKind.ATTRIBUTE)
            owner = f.load(f.item(slots, f.get(load, Load, "slot")), 0, PTR)
            f.store(api(f, "PyObject_GetAttr", owner, name), value)
        found = f.load(value, 0, PTR)
        with f.when(f.is_null(found), likely=False):
            with f.when(f.b.not_(f.is_null(api(f, "PyErr_Occurred")))):
                missing = api(f, "PyErr_ExceptionMatches", exception(f, "PyExc_AttributeError"))
                f.return_if(f.equal(missing, I32(0)), I64(-2))
                api(f, "PyErr_Clear")
            f.b.ret(I64(SlowCause.HIDDEN))
        f.store(found, f.item(hidden, i))
    constants = f.get(table, Table, "constants")
    with f.loop(f.get(table, Table, "n_constants")) as i:
        guard = f.item(constants, i, ctypes.sizeof(ConstantGuard))
        now = f.load(f.item(slots, f.get(guard, ConstantGuard, "slot")), 0, PTR)
        other, wanted = f.get(guard, ConstantGuard, "other"), f.variable(PTR, NULL)
        f.store(f.get(guard, ConstantGuard, "object"), wanted)
        with f.when(f.b.icmp_signed(">=", other, I64(0))):
            f.store(f.load(f.item(slots, other), 0, PTR), wanted)
        f.return_if(f.differ(now, f.load(wanted, 0, PTR)), I64(SlowCause.CONSTANT))
    f.b.ret(I64(-1))
    return f.function


def _define_call_with_hidden(module: ir.Module, decref: ir.Function, call_flat: ir.Function, slow: ir.Function) -> ir.Function:
    """ptr call_with_hidden(table, args, nargsf, kwnames): collect the flat arguments, hold what was read until the call is over."""
    read = _define_read(module, decref)
    f = Emitter(module, "call_with_hidden", PTR, [PTR, PTR, I64, PTR])
    table, args, nargsf, kwnames = f.parameters
    n_positional, n_loads, n_flat = (f.get(table, Table, n) for n in ("n_positional", "n_loads", "n_flat"))
    slots = f.stack(f.b.mul(f.b.add(n_positional, n_loads), I64(8)))
    flat = f.stack(f.b.mul(n_flat, I64(8)))
    with f.loop(n_positional) as i:
        f.store(f.load(f.item(args, i), 0, PTR), f.item(slots, i))
    outcome = f.call(read, table, slots)
    result = f.variable(PTR, NULL)
    good = f.equal(outcome, I64(-1))
    with f.when(good, likely=True):
        indices = f.get(table, Table, "flat")
        with f.loop(n_flat) as i:
            f.store(f.load(f.item(slots, f.load(f.item(indices, i))), 0, PTR), f.item(flat, i))
        f.store(f.call(call_flat, table, flat, args, nargsf, kwnames), result)
    with f.when(f.b.icmp_signed(">=", outcome, I64(0)), likely=False):
        f.store(f.call(slow, table, outcome, args, nargsf, kwnames), result)
    with f.loop(n_loads) as i:
        f.call(decref, f.load(f.item(slots, f.b.add(n_positional, i)), 0, PTR))
    f.b.ret(f.load(result, 0, PTR))
    return f.function


def _define_dispatch(module: ir.Module, decref: ir.Function, call_flat: ir.Function, hidden: ir.Function, slow: ir.Function) -> None:
    """The vectorcall function of native callables. The table stands behind the fields of the callable's Python base."""
    f = Emitter(module, "dispatch", PTR, [PTR, PTR, I64, PTR], exported=True)
    callable_, args, nargsf, kwnames = f.parameters
    fields = f.at(callable_, f.load(f.load(callable_, layout.OB_TYPE, PTR), layout.TYPE_VECTORCALL_OFFSET))
    owner = f.load(fields, layout.FUNCTION_TABLE, PTR)
    with f.when(f.is_null(owner), likely=False):  # the garbage collector took the table
        message = string(module, "gone", "this function was already collected")
        api(f, "PyErr_SetString", exception(f, "PyExc_RuntimeError"), message)
        f.b.ret(NULL)
    table = f.load(fields, layout.FUNCTION_RECORD, PTR)
    incref(f, owner)  # Python code may give the callable another table while this call runs

    def leave(result: ir.Value) -> ir.Value:
        f.call(decref, owner)
        return result

    keywords = f.variable(I64, I64(0))
    with f.when(f.b.not_(f.is_null(kwnames)), likely=False):
        f.store(f.load(kwnames, layout.OB_SIZE), keywords)
    has_keywords = f.differ(f.load(keywords), I64(0))
    f.return_if(has_keywords, lambda: leave(f.call(slow, table, I64(SlowCause.KEYWORDS), args, nargsf, kwnames)))
    count = f.b.and_(nargsf, I64(layout.VECTORCALL_OFFSET_FLAG - 1))
    other = f.differ(count, f.get(table, Table, "n_positional"))
    f.return_if(other, lambda: leave(f.call(slow, table, I64(SlowCause.COUNT), args, nargsf, NULL)))
    plain = f.is_null(f.get(table, Table, "flat"))
    f.return_if(plain, lambda: leave(f.call(call_flat, table, args, args, nargsf, NULL)), likely=True)
    f.b.ret(leave(f.call(hidden, table, args, nargsf, NULL)))


def _define_descr_get(module: ir.Module) -> None:
    """ptr descr_get(callable, instance, type): a bound method, as Python functions give."""
    f = Emitter(module, "descr_get", PTR, [PTR, PTR, PTR], exported=True)
    callable_, instance, _ = f.parameters
    unbound = f.b.or_(f.is_null(instance), f.equal(instance, the(f, "_Py_NoneStruct")))
    f.return_if(unbound, lambda: new_reference(f, callable_))
    f.b.ret(api(f, "PyMethod_New", callable_, instance))


def _define_probe_kernel(module: ir.Module) -> None:
    """A kernel of the ABI for `entry_probe`: (f32 vector, int n, float x) -> (2 * vector, n + 1, x)."""
    f = Emitter(module, "probe_kernel", I32, [PTR, PTR], exported=True, rare=True)
    arguments, results = f.parameters
    vector, doubled = f.load(arguments, 0, PTR), f.load(results, 0, PTR)
    with f.loop(f.load(f.get(arguments, Argument, "dims"), 0)) as i:
        element = f.load(f.item(vector, i, 4), 0, ir.FloatType())
        f.store(f.b.fadd(element, element), f.item(doubled, i, 4))
    number, real = f.item(arguments, 1, ARGUMENT_SIZE), f.item(arguments, 2, ARGUMENT_SIZE)
    f.store(f.b.add(f.load(number), I64(1)), f.item(results, 1, entry_results.RESULT_SIZE))
    f.store(f.load(real), f.item(results, 2, entry_results.RESULT_SIZE))
    f.b.ret(I32(0))
