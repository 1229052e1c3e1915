"""Generated code around the kernel: fresh arrays and views before it, Python objects and write-backs after it."""

from __future__ import annotations

import ctypes
from functools import partial

from llvmlite import ir

from tierup.lowering.base import abi
from tierup.lowering.entry import layout
from tierup.lowering.entry.generated.guards import ARGUMENT_SIZE
from tierup.lowering.entry.generated.ir import F64, I1, I32, I64, NO, NULL, PTR, VOID, YES, Emitter, Function, function
from tierup.lowering.entry.generated.python import api, decref, incref, new_array, new_reference, the
from tierup.lowering.entry.layout import Node, NodeKind, ResultRecord, Returned, RowStruct

RECORD_SIZE, RESULT_SIZE = ctypes.sizeof(ResultRecord), ctypes.sizeof(abi.Result)
_DATA, _DIMS = abi.Result.data.offset, abi.Result.dims.offset


def decode(f: Emitter, code: ir.Value, registers: ir.Value) -> ir.Value:
    """A size, stride or offset: a number of at least 0 as it is, else -1 - register."""
    value = f.variable(I64, code)
    with f.when(f.less(code, I64(0))):
        f.store(f.load(f.item(registers, f.b.not_(code))), value)
    return f.load(value)


def _kept_flags(f: Emitter, flags: ir.Value, record: ir.Value) -> ir.Value:
    return f.b.and_(flags, f.b.trunc(f.get(record, ResultRecord, "flags"), I32))


@function(PTR, PTR, PTR, PTR, inline=True)
def fresh(f: Emitter, record: ir.Value, sizes: ir.Value, result: ir.Value) -> None:
    """ptr fresh(record, sizes, result): a new array, which the result then points to; null with an exception set. It is C-contiguous, but
    where the record has strides: these then stand behind the sizes."""
    rank = f.get(record, ResultRecord, "rank")
    given = f.item(sizes, f.b.zext(rank, I64))
    strides = f.b.select(f.is_null(f.get(record, ResultRecord, "strides")), NULL, given)
    array = new_array(f, f.get(record, ResultRecord, "descr"), rank, sizes, strides, NULL, I32(0))
    f.return_if(f.is_null(array), NULL)
    f.store(f.load(array, layout.ARRAY_DATA, PTR), result, _DATA)
    f.store(f.load(array, layout.ARRAY_DIMS, PTR), result, _DIMS)
    f.store(_kept_flags(f, f.load(array, layout.ARRAY_FLAGS, I32), record), array, layout.ARRAY_FLAGS)
    f.b.ret(array)


def _decode_strides(f: Emitter, record: ir.Value, sizes: ir.Value, registers: ir.Value) -> ir.Value:
    """Where a record's strides stand, in bytes: behind the sizes."""
    rank, itemsize = f.b.zext(f.get(record, ResultRecord, "rank"), I64), f.get(record, ResultRecord, "itemsize")
    codes, strides = f.get(record, ResultRecord, "strides"), f.item(sizes, rank)
    with f.loop(rank) as d:
        f.store(f.b.mul(decode(f, f.load(f.item(codes, d)), registers), itemsize), f.item(strides, d))
    return strides


@function(PTR, PTR, PTR, PTR, PTR, PTR)
def view(f: Emitter, record: ir.Value, base: ir.Value, argument: ir.Value, sizes: ir.Value, registers: ir.Value) -> None:
    """ptr view(record, argument object, abi argument, sizes, registers): an array over the argument's memory that keeps it alive."""
    rank32 = f.get(record, ResultRecord, "rank")
    itemsize = f.get(record, ResultRecord, "itemsize")
    strides = _decode_strides(f, record, sizes, registers)
    start = f.b.mul(decode(f, f.get(record, ResultRecord, "offset"), registers), itemsize)
    data = f.at(f.load(argument, 0, PTR), start)
    writeable = f.b.and_(f.load(base, layout.ARRAY_FLAGS, I32), I32(layout.WRITEABLE))
    array = new_array(f, f.load(base, layout.ARRAY_DESCR, PTR), rank32, sizes, strides, data, _kept_flags(f, writeable, record))
    f.return_if(f.is_null(array), NULL)
    incref(f, base)
    failed = f.less(api(f, "PyArray_SetBaseObject", array, base), I32(0))
    with f.when(failed):
        f.call(decref, array)
        f.b.ret(NULL)
    f.b.ret(array)


def preparing(name: str, fresh: Function, view: Function | None) -> Function:
    """A function `prepare` by these functions; there are no views of tensors."""
    return function(I1, PTR, PTR, PTR, inline=True, name=name)(partial(_prepare, fresh, view))


def _prepare(fresh: Function, view: Function | None, f: Emitter, version: ir.Value, flat: ir.Value, frame: ir.Value) -> None:
    """i1 prepare(version, flat, frame): fill the result table; false, with everything given up, when an allocation failed."""
    count = f.get(version, RowStruct, "n_results")
    records = f.get(version, RowStruct, "results")
    registers = f.at(frame, f.get(version, RowStruct, "registers_at"))
    results = f.at(frame, f.get(version, RowStruct, "results_at"))
    objects = f.at(frame, f.get(version, RowStruct, "objects_at"))
    with f.loop(count) as i:
        result = f.item(results, i, RESULT_SIZE)
        f.store(NULL, result, _DATA)
        f.store(NULL, result, _DIMS)
        f.store(NULL, f.item(objects, i))
    with f.loop(count) as i:
        record, result, target = f.item(records, i, RECORD_SIZE), f.item(results, i, RESULT_SIZE), f.item(objects, i)
        kind = f.get(record, ResultRecord, "kind")
        sizes = f.at(frame, f.get(record, ResultRecord, "dims_at"))
        argument = f.get(record, ResultRecord, "argument")

        def decode_sizes(record: ir.Value = record, sizes: ir.Value = sizes) -> None:
            codes = f.get(record, ResultRecord, "sizes")
            with f.loop(f.b.zext(f.get(record, ResultRecord, "rank"), I64)) as d:
                f.store(decode(f, f.load(f.item(codes, d)), registers), f.item(sizes, d))

        with f.cases(kind) as case:
            case(Returned.BUFFER, Returned.SCRATCH)
            decode_sizes()
            if view is not None:  # tensors are row-major
                with f.when(f.b.not_(f.is_null(f.get(record, ResultRecord, "strides"))), likely=False):
                    _decode_strides(f, record, sizes, registers)
            array = f.call(fresh, record, sizes, result)
            f.return_if(f.is_null(array), NO)
            f.store(array, target)
            case(Returned.ALLOCATED)
            f.store(sizes, result, _DIMS)
            case(Returned.ALIAS)
            f.store(new_reference(f, f.load(f.item(flat, argument), 0, PTR)), target)
            if view is not None:
                case(Returned.VIEW)
                decode_sizes()
                base = f.load(f.item(flat, argument), 0, PTR)
                array = f.call(view, record, base, f.item(frame, argument, ARGUMENT_SIZE), sizes, registers)
                f.return_if(f.is_null(array), NO)
                f.store(array, target)
            case(Returned.NONE)
            f.store(new_reference(f, the(f, "_Py_NoneStruct")), target)
    f.b.ret(YES)


prepare = preparing("prepare", fresh, view)


@function(VOID, PTR, PTR, rare=True)
def discard(f: Emitter, version: ir.Value, frame: ir.Value) -> None:
    """void discard(version, frame): drop every object and what the kernel allocated."""
    records = f.get(version, RowStruct, "results")
    results = f.at(frame, f.get(version, RowStruct, "results_at"))
    objects = f.at(frame, f.get(version, RowStruct, "objects_at"))
    with f.loop(f.get(version, RowStruct, "n_results")) as i:
        f.call(decref, f.load(f.item(objects, i), 0, PTR))
        with f.when(f.equal(f.get(f.item(records, i, RECORD_SIZE), ResultRecord, "kind"), I32(Returned.ALLOCATED))):
            api(f, "free", f.load(f.item(results, i, RESULT_SIZE), _DATA, PTR))
    f.b.ret_void()


@function(VOID, PTR, rare=True)
def free_capsule(f: Emitter, capsule: ir.Value) -> None:
    """void free_capsule(capsule): the destructor of memory that a kernel allocated."""
    api(f, "free", api(f, "PyCapsule_GetPointer", capsule, NULL))
    f.b.ret_void()


@function(PTR, PTR, PTR, rare=True)
def allocated(f: Emitter, record: ir.Value, result: ir.Value) -> None:
    """ptr allocated(record, result): an array over memory that the kernel allocated, which a capsule as its base owns.

    The result's data is null afterwards if the memory is taken care of. A null pointer is an array without elements.
    """
    data, sizes = f.load(result, _DATA, PTR), f.load(result, _DIMS, PTR)
    with f.when(f.is_null(data)):
        empty = f.call(fresh, record, sizes, result)
        f.store(NULL, result, _DATA)
        f.b.ret(empty)
    capsule = api(f, "PyCapsule_New", data, NULL, free_capsule.of(f.module))
    f.return_if(f.is_null(capsule), NULL)
    f.store(NULL, result, _DATA)
    descr, rank = f.get(record, ResultRecord, "descr"), f.get(record, ResultRecord, "rank")
    array = new_array(f, descr, rank, sizes, NULL, data, _kept_flags(f, I32(layout.CARRAY), record))
    with f.when(f.is_null(array)):
        f.call(decref, capsule)
        f.b.ret(NULL)
    with f.when(f.less(api(f, "PyArray_SetBaseObject", array, capsule), I32(0))):
        f.call(decref, array)
        f.b.ret(NULL)
    f.b.ret(array)


def finishing(name: str, allocated: Function, *, decays: bool = True) -> Function:
    """A function `finish` by this function. `decays`: rank 0 becomes NumPy's scalar."""
    return function(I1, PTR, PTR, inline=True, name=name)(partial(_finish, allocated, decays))


def _finish(allocated: Function, decays: bool, f: Emitter, version: ir.Value, frame: ir.Value) -> None:
    """i1 finish(version, frame): make the objects that wait for the kernel's answer."""
    records = f.get(version, RowStruct, "results")
    results = f.at(frame, f.get(version, RowStruct, "results_at"))
    objects = f.at(frame, f.get(version, RowStruct, "objects_at"))
    with f.loop(f.get(version, RowStruct, "n_results")) as i:
        record, result, target = f.item(records, i, RECORD_SIZE), f.item(results, i, RESULT_SIZE), f.item(objects, i)
        with f.cases(f.get(record, ResultRecord, "kind")) as case:
            case(Returned.ALLOCATED)
            f.store(f.call(allocated, record, result), target)
            case(Returned.INT)
            f.store(api(f, "PyLong_FromLongLong", f.load(result, _DATA)), target)
            case(Returned.FLOAT)
            f.store(api(f, "PyFloat_FromDouble", f.b.bitcast(f.load(result, _DATA), F64)), target)
            case(Returned.BOOL)
            is_false = f.equal(f.load(result, _DATA), I64(0))
            f.store(new_reference(f, f.b.select(is_false, the(f, "_Py_FalseStruct"), the(f, "_Py_TrueStruct"))), target)
        f.return_if(f.is_null(f.load(target, 0, PTR)), NO)
        if decays:
            with f.when(f.differ(f.get(record, ResultRecord, "as_scalar"), I64(0))):
                scalar = api(f, "PyArray_Return", f.load(target, 0, PTR))  # takes over the array, gives back its element
                f.store(scalar, target)
                f.return_if(f.is_null(scalar), NO)
    f.b.ret(YES)


finish = finishing("finish", allocated)


@function(PTR, PTR, PTR)
def collect(f: Emitter, node: ir.Value, items: ir.Value) -> None:
    """ptr collect(node, items): a tuple, list or dict of as many items as the node says, which it takes over; or null."""
    count, keys = f.get(node, Node, "count"), f.get(node, Node, "object")
    made, good = f.variable(PTR, NULL), f.variable(I1, YES)
    with f.cases(f.get(node, Node, "kind")) as case:
        case(NodeKind.TUPLE)
        f.store(api(f, "PyTuple_New", count), made)
        case(NodeKind.LIST)
        f.store(api(f, "PyList_New", count), made)
        case(NodeKind.DICT)
        f.store(api(f, "PyDict_New"), made)
    target = f.load(made, 0, PTR)
    f.store(f.b.not_(f.is_null(target)), good)
    with f.loop(count) as i:
        obj = f.load(f.item(items, i), 0, PTR)
        with f.b.if_else(f.load(good, 0, I1), likely=True) as (there, failed):
            with there, f.cases(f.get(node, Node, "kind")) as case:
                case(NodeKind.TUPLE)
                f.store(obj, f.item(f.at(target, layout.TUPLE_ITEMS), i))
                case(NodeKind.LIST)
                f.store(obj, f.item(f.load(target, layout.LIST_ITEMS, PTR), i))
                case(NodeKind.DICT)
                f.store(f.equal(api(f, "PyDict_SetItem", target, f.load(f.item(keys, i), 0, PTR), obj), I32(0)), good)
                f.call(decref, obj)
            with failed:
                f.call(decref, obj)
    f.return_if(f.load(good, 0, I1), target, likely=True)
    f.call(decref, target)
    f.b.ret(NULL)


@function(PTR, PTR, PTR)
def choose(f: Emitter, node: ir.Value, items: ir.Value) -> None:
    """ptr choose(node, items): the item that the first says, counted from the second; it takes over all, and gives back the others."""
    place = f.b.add(api(f, "PyLong_AsLongLong", f.load(items, 0, PTR)), I64(1))
    with f.loop(f.get(node, Node, "count")) as i, f.when(f.differ(i, place)):
        f.call(decref, f.load(f.item(items, i), 0, PTR))
    f.b.ret(f.load(f.item(items, place), 0, PTR))


@function(PTR, PTR)
def join_parts(f: Emitter, items: ir.Value) -> None:
    """ptr join_parts(items): the complex number of two floats, which it takes over; or null."""
    parts = [f.load(f.item(items, I64(i)), 0, PTR) for i in range(2)]
    made = api(f, "PyComplex_FromDoubles", *(api(f, "PyFloat_AsDouble", part) for part in parts))
    for part in parts:
        f.call(decref, part)
    f.b.ret(made)


@function(PTR, PTR, PTR, I1)
def give_over(f: Emitter, node: ir.Value, items: ir.Value, skipped: ir.Value) -> None:
    """ptr give_over(node, items, skipped): what the node's object gives for the items, which it takes over; None if skipped; or null."""
    count, made = f.get(node, Node, "count"), f.variable(PTR, the(f, "_Py_NoneStruct"))
    with f.b.if_else(skipped, likely=False) as (no, yes):
        with no:
            incref(f, f.load(made, 0, PTR))
        with yes:
            f.store(api(f, "PyObject_Vectorcall", f.get(node, Node, "object"), items, count, NULL), made)
    with f.loop(count) as i:
        f.call(decref, f.load(f.item(items, i), 0, PTR))
    f.b.ret(f.load(made, 0, PTR))


@function(PTR, PTR, PTR, PTR)
def put_together(f: Emitter, version: ir.Value, flat: ir.Value, frame: ir.Value) -> None:
    """ptr put_together(version, flat, frame): what the user gets, where that is not one object as it is; null with an exception set, user
    results given up."""
    objects, n_nodes = f.at(frame, f.get(version, RowStruct, "objects_at")), f.get(version, RowStruct, "n_nodes")
    stack = f.stack(f.b.mul(n_nodes, I64(8)))
    height, taken, made = f.variable(I64, I64(0)), f.variable(I64, I64(0)), f.variable(PTR, NULL)
    skipped = f.variable(I1, NO)

    def drop_rest() -> None:
        with f.loop(f.get(version, RowStruct, "n_user_results"), start=f.load(taken)) as k:
            f.call(decref, f.load(f.item(objects, k), 0, PTR))

    with f.loop(n_nodes) as i:
        node = f.item(f.get(version, RowStruct, "nodes"), i, ctypes.sizeof(Node))
        with f.cases(f.get(node, Node, "kind")) as case:
            case(NodeKind.NEXT)
            f.store(f.load(f.item(objects, f.load(taken)), 0, PTR), made)
            f.store(f.b.add(f.load(taken), I64(1)), taken)
            case(NodeKind.OBJECT)
            f.store(new_reference(f, f.get(node, Node, "object")), made)
            case(NodeKind.AGAIN)  # what it was put into is on the stack still
            f.store(new_reference(f, f.load(f.item(objects, f.get(node, Node, "count")), 0, PTR)), made)
            case(NodeKind.GIVEN)
            f.store(new_reference(f, f.load(f.item(flat, f.get(node, Node, "count")), 0, PTR)), made)
            case(NodeKind.TUPLE, NodeKind.LIST, NodeKind.DICT)
            f.store(f.b.sub(f.load(height), f.get(node, Node, "count")), height)
            f.store(f.call(collect, node, f.item(stack, f.load(height))), made)
            case(NodeKind.COMPLEX)
            f.store(f.b.sub(f.load(height), I64(2)), height)
            f.store(f.call(join_parts, f.item(stack, f.load(height))), made)
            case(NodeKind.CALL)
            f.store(f.b.sub(f.load(height), f.get(node, Node, "count")), height)
            f.store(f.call(give_over, node, f.item(stack, f.load(height)), f.load(skipped, 0, I1)), made)
            f.store(NO, skipped)
            case(NodeKind.ONLY)  # the int is on the stack still
            found = api(f, "PyLong_AsLongLong", f.load(f.item(objects, f.get(node, Node, "count")), 0, PTR))
            is_other = f.differ(found, f.b.ptrtoint(f.get(node, Node, "object"), I64))
            f.store(f.b.or_(f.load(skipped, 0, I1), is_other), skipped)
            case(NodeKind.UNION)
            f.store(f.b.sub(f.load(height), f.get(node, Node, "count")), height)
            f.store(f.call(choose, node, f.item(stack, f.load(height))), made)
        with f.when(f.differ(f.get(node, Node, "kind"), I64(NodeKind.ONLY)), likely=True):
            with f.when(f.is_null(f.load(made, 0, PTR)), likely=False):
                with f.loop(f.load(height)) as k:
                    f.call(decref, f.load(f.item(stack, k), 0, PTR))
                drop_rest()
                f.b.ret(NULL)
            f.store(f.load(made, 0, PTR), f.item(stack, f.load(height)))
            f.store(f.b.add(f.load(height), I64(1)), height)
    drop_rest()
    f.b.ret(f.load(stack, 0, PTR))


@function(PTR, PTR, PTR, PTR, inline=True)
def assemble(f: Emitter, version: ir.Value, flat: ir.Value, frame: ir.Value) -> None:
    """ptr assemble(version, flat, frame): `put_together`, which is nothing for a single result."""
    objects = f.at(frame, f.get(version, RowStruct, "objects_at"))
    f.return_if(f.is_null(f.get(version, RowStruct, "nodes")), lambda: f.load(objects, 0, PTR), likely=True)
    f.b.ret(f.call(put_together, version, flat, frame))


@function(I1, PTR, PTR, PTR, I1)
def publish(f: Emitter, version: ir.Value, flat: ir.Value, frame: ir.Value, exclusive: ir.Value) -> None:
    """i1 publish(version, flat, frame, exclusive): copy new contents over the arguments that the kernel did not write itself; false with
    an exception set.

    Not exclusive: the GIL was released meanwhile and another thread may have given an argument another shape, so NumPy copies.
    """
    records = f.get(version, RowStruct, "results")
    objects = f.at(frame, f.get(version, RowStruct, "objects_at"))
    good = f.variable(I1, YES)
    count = f.get(version, RowStruct, "n_results")
    with f.loop(count, start=f.get(version, RowStruct, "n_user_results")) as i:
        record = f.item(records, i, RECORD_SIZE)
        scratch = f.load(f.item(objects, i), 0, PTR)
        target = f.load(f.item(flat, f.get(record, ResultRecord, "argument")), 0, PTR)
        contiguous = f.differ(f.b.and_(f.load(target, layout.ARRAY_FLAGS, I32), I32(layout.CONTIGUOUS)), I32(0))
        with f.when(f.differ(target, scratch)), f.b.if_else(f.b.and_(exclusive, contiguous)) as (plain, strided):
            with plain:
                size = f.variable(I64, f.get(record, ResultRecord, "itemsize"))
                sizes = f.load(scratch, layout.ARRAY_DIMS, PTR)
                with f.loop(f.b.zext(f.get(record, ResultRecord, "rank"), I64)) as d:
                    f.store(f.b.mul(f.load(size), f.load(f.item(sizes, d))), size)
                api(f, "memcpy", f.load(target, layout.ARRAY_DATA, PTR), f.load(scratch, layout.ARRAY_DATA, PTR), f.load(size))
            with strided:
                with f.when(f.less(api(f, "PyArray_CopyInto", target, scratch), I32(0))):
                    f.store(NO, good)
        f.call(decref, scratch)
    f.b.ret(f.load(good, 0, I1))
