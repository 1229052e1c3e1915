"""Generated code that makes a table's flat arguments of what a call brings: parameters by position, by name or by default, trees that are
taken apart, and what is read from outside.

Slots own their references: what was read may be replaced while the call runs, by other threads or by what a kernel calls.
"""

from __future__ import annotations

import ctypes

from llvmlite import ir

from tierup.lowering.entry import layout
from tierup.lowering.entry.generated import lists
from tierup.lowering.entry.generated.ir import F64, I1, I32, I64, NO, NULL, PTR, YES, Emitter, function
from tierup.lowering.entry.generated.python import api, exception, incref, new_array, new_reference, the, type_of
from tierup.lowering.entry.layout import Step, StepKind, Table
from tierup.lowering.entry.records import SlowCause

_GOOD, _RAISED = -1, -2  # of functions that give a SlowCause
_EQ = 2  # Py_EQ


@function(I1, PTR, PTR)
def same(f: Emitter, now: ir.Value, wanted: ir.Value) -> None:
    """i1 same(object, wanted): the same object, or a string, an int or a float of the same type and value. Runs no Python code."""
    f.return_if(f.equal(now, wanted), YES, likely=True)
    kind = type_of(f, now)
    f.return_if(f.differ(kind, type_of(f, wanted)), NO)
    with f.when(f.equal(kind, the(f, "PyFloat_Type"))):  # by their bits: 0.0 is not -0.0, and NaN is itself
        f.b.ret(f.equal(*(f.b.bitcast(f.load(value, layout.FLOAT_VALUE, F64), I64) for value in (now, wanted))))
    with f.when(f.b.or_(f.equal(kind, the(f, "PyUnicode_Type")), f.equal(kind, the(f, "PyLong_Type")))):
        f.b.ret(f.equal(api(f, "PyObject_RichCompareBool", now, wanted, I32(_EQ)), I32(1)))
    f.b.ret(NO)


@function(I64, PTR, PTR, I64)
def parameter(f: Emitter, table: ir.Value, name: ir.Value, first: ir.Value) -> None:
    """i64 parameter(table, name, first): which one has this name, which is one object as a rule, looked for from `first` on; or -1."""
    names, count = f.get(table, Table, "names"), f.get(table, Table, "n_parameters")
    with f.loop(count) as i:
        at = f.b.add(first, i)
        at = f.b.select(f.less(at, count), at, f.b.sub(at, count))
        f.return_if(f.equal(f.load(f.item(names, at), 0, PTR), name), at)
    f.b.ret(I64(-1))


@function(I64, PTR, PTR, I64)
def slot_by_text(f: Emitter, table: ir.Value, name: ir.Value, taken: ir.Value) -> None:
    """i64 slot_by_text(table, name, taken): the slot for a keyword, by what its name says, or -1. `taken`: how many `**options` has."""
    names, count = f.get(table, Table, "names"), f.get(table, Table, "n_parameters")
    with f.loop(count) as i:
        f.return_if(f.call(same, name, f.load(f.item(names, i), 0, PTR)), i)
    with f.when(f.less(taken, f.get(table, Table, "n_extra"))):
        with f.when(f.call(same, name, f.load(f.item(f.get(table, Table, "extra"), taken), 0, PTR))):
            f.b.ret(f.b.add(f.b.add(count, f.get(table, Table, "n_star")), taken))
    f.b.ret(I64(-1))


@function(I64, PTR, PTR, I64, PTR, PTR)
def bind(f: Emitter, table: ir.Value, args: ir.Value, given: ir.Value, kwnames: ir.Value, slots: ir.Value) -> None:
    """i64 bind(table, args, given, kwnames, slots): -1, or a SlowCause. All slots are null before."""
    n_parameters, n_star, n_extra = (f.get(table, Table, n) for n in ("n_parameters", "n_star", "n_extra"))
    n_positional = f.get(table, Table, "n_positional")
    beyond = f.b.sub(given, n_positional)
    star = f.b.select(f.less(beyond, I64(0)), I64(0), beyond)
    f.return_if(f.differ(star, n_star), I64(SlowCause.COUNT))
    direct = f.b.sub(given, star)
    with f.loop(direct) as i:
        f.store(new_reference(f, f.load(f.item(args, i), 0, PTR)), f.item(slots, i))
    with f.loop(star) as i:
        obj = new_reference(f, f.load(f.item(args, f.b.add(direct, i)), 0, PTR))
        f.store(obj, f.item(slots, f.b.add(n_parameters, i)))
    bound, extra, at = f.variable(I64, direct), f.variable(I64, I64(0)), f.variable(I64, I64(-1))
    with f.when(f.b.not_(f.is_null(kwnames))):
        following = f.variable(I64, direct)
        with f.loop(f.load(kwnames, layout.OB_SIZE)) as k:
            name = f.load(f.item(f.at(kwnames, layout.TUPLE_ITEMS), k), 0, PTR)
            start = f.load(following)
            f.store(f.call(parameter, table, name, f.b.select(f.less(start, n_parameters), start, I64(0))), at)
            with f.when(f.less(f.load(at), I64(0))):
                f.store(f.call(slot_by_text, table, name, f.load(extra)), at)
                f.return_if(f.less(f.load(at), I64(0)), I64(SlowCause.KEYWORDS))
            slot = f.item(slots, f.load(at))
            f.return_if(f.b.not_(f.is_null(f.load(slot, 0, PTR))), I64(SlowCause.KEYWORDS))  # given twice
            f.store(new_reference(f, f.load(f.item(args, f.b.add(given, k)), 0, PTR)), slot)
            is_parameter = f.less(f.load(at), n_parameters)
            counted = f.b.select(is_parameter, bound, extra)
            f.store(f.b.add(f.load(counted), I64(1)), counted)
            f.store(f.b.add(f.load(at), I64(1)), following)
    f.return_if(f.differ(f.load(extra), n_extra), I64(SlowCause.KEYWORDS))
    f.return_if(f.less(f.load(bound), n_parameters), lambda: f.call(take_defaults, table, slots))
    f.b.ret(I64(_GOOD))


@function(I64, PTR, PTR)
def take_defaults(f: Emitter, table: ir.Value, slots: ir.Value) -> None:
    """i64 take_defaults(table, slots): the function's defaults of this moment for parameters whose slots are null; -1, or a SlowCause."""
    of, n_positional = f.get(table, Table, "function"), f.get(table, Table, "n_positional")
    f.return_if(f.is_null(of), I64(SlowCause.COUNT))
    defaults, count = api(f, "PyFunction_GetDefaults", of), f.variable(I64, I64(0))
    with f.when(f.b.not_(f.is_null(defaults))):
        f.store(f.load(defaults, layout.OB_SIZE), count)
    with f.loop(n_positional) as i:
        with f.when(f.is_null(f.load(f.item(slots, i), 0, PTR))):
            at = f.b.add(f.b.sub(i, n_positional), f.load(count))
            f.return_if(f.less(at, I64(0)), I64(SlowCause.COUNT))
            f.store(new_reference(f, f.load(f.item(f.at(defaults, layout.TUPLE_ITEMS), at), 0, PTR)), f.item(slots, i))
    by_name, names = api(f, "PyFunction_GetKwDefaults", of), f.get(table, Table, "names")
    with f.loop(f.get(table, Table, "n_parameters"), start=n_positional) as i:
        with f.when(f.is_null(f.load(f.item(slots, i), 0, PTR))):
            f.return_if(f.is_null(by_name), I64(SlowCause.COUNT))
            value = api(f, "PyDict_GetItemWithError", by_name, f.load(f.item(names, i), 0, PTR))
            with f.when(f.is_null(value)):
                api(f, "PyErr_Clear")
                f.b.ret(I64(SlowCause.COUNT))
            f.store(new_reference(f, value), f.item(slots, i))
    f.b.ret(I64(_GOOD))


@function(I64, rare=True)
def not_there(f: Emitter) -> None:
    """i64 not_there(): what reading nothing means: a SlowCause, or -2 with the exception that it raised."""
    with f.when(f.b.not_(f.is_null(api(f, "PyErr_Occurred")))):
        for kind in ("PyExc_AttributeError", "PyExc_LookupError", "PyExc_ValueError"):  # the last of an empty cell of a closure
            with f.when(f.differ(api(f, "PyErr_ExceptionMatches", exception(f, kind)), I32(0))):
                api(f, "PyErr_Clear")
                f.b.ret(I64(SlowCause.HIDDEN))
        f.b.ret(I64(_RAISED))
    f.b.ret(I64(SlowCause.HIDDEN))


@function(I64, PTR, PTR)
def read(f: Emitter, table: ir.Value, slots: ir.Value) -> None:
    """i64 read(table, slots): take the steps; -1, or a SlowCause, or -2 with an exception set."""
    steps = f.get(table, Table, "steps")
    place, key, value = f.variable(I64, I64(0)), f.variable(PTR, NULL), f.variable(PTR, NULL)
    length = f.variable(I64, I64(0))
    with f.loop(f.get(table, Table, "n_steps")) as i:
        step = f.item(steps, i, ctypes.sizeof(Step))
        obj, name, to, count = (f.get(step, Step, n) for n in ("object", "name", "to", "count"))
        subject = f.load(f.item(slots, f.get(step, Step, "slot")), 0, PTR)

        def put(found: ir.Value, to: ir.Value = to) -> None:
            f.return_if(f.is_null(found), lambda: f.call(not_there))
            f.store(found, f.item(slots, to))

        def unless(fits: ir.Value, cause: SlowCause = SlowCause.STRUCTURE) -> None:
            f.return_if(f.b.not_(fits), I64(cause))

        def items(is_list: bool, subject: ir.Value = subject, to: ir.Value = to, n: ir.Value = count) -> None:
            unless(f.equal(type_of(f, subject), the(f, "PyList_Type" if is_list else "PyTuple_Type")))
            unless(f.equal(f.load(subject, layout.OB_SIZE), n))
            start = f.load(subject, layout.LIST_ITEMS, PTR) if is_list else f.at(subject, layout.TUPLE_ITEMS)
            with f.loop(n) as j:
                f.store(new_reference(f, f.load(f.item(start, j), 0, PTR)), f.item(slots, f.b.add(to, j)))

        def size_of_list(subject: ir.Value = subject) -> ir.Value:
            unless(f.equal(type_of(f, subject), the(f, "PyList_Type")))
            return f.load(subject, layout.OB_SIZE)

        def any_of(count: ir.Value) -> None:
            unless(f.b.icmp_signed(">", count, I64(0)))

        def made(column: ir.Value, size: ir.Value, obj: ir.Value = obj, to: ir.Value = to) -> ir.Value:
            """The array of a column, yet to be written, in its slot."""
            f.store(size, length)
            array = new_array(f, f.load(f.item(obj, column, 16), 8, PTR), I32(1), length, NULL, NULL, I32(0))
            put(array, f.b.add(to, column))
            return array

        with f.cases(f.get(step, Step, "kind")) as case:
            case(StepKind.APART)
            apart = f.call(lists.are_apart, slots, obj, count)
            f.return_if(f.less(apart, I64(0)), I64(_RAISED))
            unless(f.differ(apart, I64(0)))
            case(StepKind.GLOBAL)
            borrowed = api(f, "PyDict_GetItemWithError", obj, name)
            put(borrowed)
            incref(f, borrowed)
            case(StepKind.CELL)
            put(api(f, "PyCell_Get", obj))
            case(StepKind.ATTRIBUTE)
            put(api(f, "PyObject_GetAttr", subject, name))
            case(StepKind.SUBSCRIPT)
            put(api(f, "PyObject_GetItem", subject, name))
            case(StepKind.SCALAR)
            unless(f.differ(api(f, "PyType_IsSubtype", type_of(f, subject), the(f, "PyGenericArrType_Type")), I32(0)))
            put(api(f, "PyArray_FromScalar", subject, NULL))
            case(StepKind.NUMBERS)
            size = size_of_list()
            any_of(size)
            unless(f.call(lists.all_are, subject, obj, count))
            with f.loop(count) as j:
                made(j, size)
            f.call(lists.put_all, subject, obj, count, f.item(slots, to), I64(0))
            case(StepKind.ROWS)
            size, inner = size_of_list(), f.b.sub(count, I64(1))
            kinds = f.item(obj, I64(1), 16)
            total = f.call(lists.count_in_rows, subject, kinds, inner)
            any_of(total)
            made(I64(0), f.b.add(size, I64(1)))
            with f.loop(inner) as j:
                made(f.b.add(j, I64(1)), total)
            f.call(lists.put_rows, subject, kinds, inner, f.item(slots, to))
            case(StepKind.PLACES)
            size = size_of_list()
            any_of(size)
            unless(f.call(lists.are_tuples, subject, obj, count))
            with f.loop(count) as j:
                f.call(lists.put_places, subject, lists.kind_of(f, obj, j), j, made(j, size))
            case(StepKind.TUPLE)
            items(is_list=False)
            case(StepKind.LIST)
            items(is_list=True)
            case(StepKind.DICT)
            unless(f.equal(type_of(f, subject), the(f, "PyDict_Type")))
            unless(f.equal(api(f, "PyDict_Size", subject), count))
            f.store(I64(0), place)
            with f.loop(count) as j:
                api(f, "PyDict_Next", subject, place, key, value)  # as often as its size says, in its order
                unless(f.call(same, f.load(key, 0, PTR), f.load(f.item(obj, j), 0, PTR)))
                f.store(new_reference(f, f.load(value, 0, PTR)), f.item(slots, f.b.add(to, j)))
            case(StepKind.TYPE)
            unless(f.equal(type_of(f, subject), obj))
            case(StepKind.EQUAL)
            unless(f.call(same, subject, obj), SlowCause.CONSTANT)
            case(StepKind.ABSENT)
            f.return_if(f.differ(api(f, "PyDict_Contains", obj, name), I32(0)), lambda: f.call(not_there))
            case(StepKind.SAME)
            unless(f.equal(subject, f.load(f.item(slots, to), 0, PTR)), SlowCause.CONSTANT)
    f.b.ret(I64(_GOOD))
