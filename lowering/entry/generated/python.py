"""What generated code does with CPython's objects: reference counts, integers, and the C API by name."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import ir

from tierup.lowering.entry import layout
from tierup.lowering.entry.generated.ir import F64, I1, I8, I32, I64, NULL, PTR, VOID, Emitter, external, external_data, function
from tierup.lowering.entry.records import FUNCTION_RECORD, FUNCTION_TABLE

_COUNT = ir.IntType(layout.RELEASE.count_bits)
_API: dict[str, tuple[ir.Type, tuple[ir.Type, ...]]] = {
    "PyObject_Vectorcall": (PTR, (PTR, PTR, I64, PTR)),
    "PyObject_GetAttr": (PTR, (PTR, PTR)),
    "PyObject_GetItem": (PTR, (PTR, PTR)),
    "PyDict_Contains": (I32, (PTR, PTR)),
    "PyDict_GetItemWithError": (PTR, (PTR, PTR)),
    "PyDict_Next": (I32, (PTR, PTR, PTR, PTR)),
    "PyDict_Size": (I64, (PTR,)),
    "PyDict_New": (PTR, ()),
    "PyDict_SetItem": (I32, (PTR, PTR, PTR)),
    "PyFunction_GetDefaults": (PTR, (PTR,)),
    "PyFunction_GetKwDefaults": (PTR, (PTR,)),
    "PyObject_RichCompareBool": (I32, (PTR, PTR, I32)),
    "PyType_IsSubtype": (I32, (PTR, PTR)),
    "PyCell_Get": (PTR, (PTR,)),
    "PyErr_Occurred": (PTR, ()),
    "PyErr_Clear": (VOID, ()),
    "PyErr_ExceptionMatches": (I32, (PTR,)),
    "PyErr_SetString": (VOID, (PTR, PTR)),
    "PyLong_AsLongLong": (I64, (PTR,)),
    "PyLong_AsLongLongAndOverflow": (I64, (PTR, PTR)),
    "PyLong_FromLongLong": (PTR, (I64,)),
    "PyFloat_FromDouble": (PTR, (F64,)),
    "PyFloat_AsDouble": (F64, (PTR,)),
    "PyComplex_FromDoubles": (PTR, (F64, F64)),
    "PyTuple_New": (PTR, (I64,)),
    "PyList_New": (PTR, (I64,)),
    "PySet_New": (PTR, (PTR,)),
    "PySet_Add": (I32, (PTR, PTR)),
    "PySet_Size": (I64, (PTR,)),
    "PyEval_SaveThread": (PTR, ()),
    "PyEval_RestoreThread": (VOID, (PTR,)),
    "PyCapsule_New": (PTR, (PTR, PTR, PTR)),
    "PyCapsule_GetPointer": (PTR, (PTR, PTR)),
    "_Py_Dealloc": (VOID, (PTR,)),
    "PyGILState_Check": (I32, ()),
    "PyGILState_GetThisThreadState": (PTR, ()),
    "PyErr_NoMemory": (PTR, ()),
    "malloc": (PTR, (I64,)),
    "PyGILState_Ensure": (I32, ()),
    "PyGILState_Release": (VOID, (I32,)),
    "PyErr_CheckSignals": (I32, ()),
    "clock_gettime": (I32, (I32, PTR)),
    "free": (VOID, (PTR,)),
    "malloc_usable_size": (I64, (PTR,)),
    "madvise": (I32, (PTR, I64, I32)),
    "Py_AddPendingCall": (I32, (PTR, PTR)),
    "memcpy": (PTR, (PTR, PTR, I64)),
    "calloc": (PTR, (I64, I64)),
    "sched_yield": (I32, ()),
    "sem_init": (I32, (PTR, I32, I32)),
    "sem_wait": (I32, (PTR,)),
    "sem_post": (I32, (PTR,)),
    "sigfillset": (I32, (PTR,)),
    "pthread_sigmask": (I32, (I32, PTR, PTR)),
    "pthread_create": (I32, (PTR, PTR, PTR, PTR)),
    "pthread_join": (I32, (I64, PTR)),
    "pthread_getspecific": (PTR, (I32,)),
    "pthread_setspecific": (I32, (I32, PTR)),
    # NumPy's, by index in its table of functions: see entry_jit
    "PyArray_NewFromDescr": (PTR, (PTR, PTR, I32, PTR, PTR, PTR, I32, PTR)),
    "PyArray_Return": (PTR, (PTR,)),
    "PyArray_FromScalar": (PTR, (PTR, PTR)),
    "PyArray_SetBaseObject": (I32, (PTR, PTR)),
    "PyArray_CopyInto": (I32, (PTR, PTR)),
}


def api(f: Emitter, name: str, *args: ir.Value) -> ir.Value:
    """Call a function of the C API."""
    result, parameters = _API[name]
    return f.call(external(f.module, name, result, *parameters), *args)


def the(f: Emitter, name: str) -> ir.Value:
    """The address of a static object: a type, None, True."""
    return external_data(f.module, name)


def exception(f: Emitter, name: str) -> ir.Value:
    """The class of one of Python's exceptions: "PyExc_ValueError"."""
    return f.load(external_data(f.module, name), 0, PTR)


def type_of(f: Emitter, obj: ir.Value) -> ir.Value:
    """An object's type, a borrowed reference."""
    return f.load(obj, layout.OB_TYPE, PTR)


def incref(f: Emitter, obj: ir.Value) -> None:
    """Py_INCREF. A negative count is an immortal object's and stays."""
    count = f.load(obj, layout.OB_REFCNT, _COUNT)
    with f.when(f.b.icmp_signed(">=", count, _COUNT(0)), likely=True):
        f.store(f.b.add(count, _COUNT(1)), obj, layout.OB_REFCNT)


@function(VOID, PTR, outline=True)
def decref(f: Emitter, obj: ir.Value) -> None:
    """void decref(object): Py_XDECREF."""
    with f.when(f.is_null(obj), likely=False):
        f.b.ret_void()
    count = f.load(obj, layout.OB_REFCNT, _COUNT)
    with f.when(f.less(count, _COUNT(0))):
        f.b.ret_void()
    count = f.b.sub(count, _COUNT(1))
    f.store(count, obj, layout.OB_REFCNT)
    with f.when(f.equal(count, _COUNT(0)), likely=False):
        api(f, "_Py_Dealloc", obj)
    f.b.ret_void()


@function(I1, PTR, PTR, outline=True)
def int_value(f: Emitter, obj: ir.Value, value: ir.Value) -> None:
    """i1 int_value(object, i64 *value): an exact int's value; false beyond 64 bits."""
    tag = f.load(obj, layout.LONG_TAG)
    digit = f.b.zext(f.load(obj, layout.LONG_DIGITS, I32), I64)
    if layout.RELEASE.tagged_ints:  # compact: of one digit at most
        compact = f.b.icmp_unsigned("<", tag, I64(16))
        sign = f.b.sub(I64(1), f.b.and_(tag, I64(3)))
    else:  # the size is the sign: -1, 0 or 1 digits
        compact = f.b.icmp_unsigned("<=", f.b.add(tag, I64(1)), I64(2))
        sign = tag
    with f.when(compact, likely=True):
        f.store(f.b.mul(sign, digit), value)
        f.b.ret(I1(1))
    overflow = f.variable(I32, I32(0))
    f.store(api(f, "PyLong_AsLongLongAndOverflow", obj, overflow), value)
    f.b.ret(f.equal(f.load(overflow, 0, I32), I32(0)))


def new_reference(f: Emitter, obj: ir.Value) -> ir.Value:
    """The object, with one more reference."""
    incref(f, obj)
    return obj


def new_array(f: Emitter, descr: ir.Value, rank: ir.Value, sizes: ir.Value, strides: ir.Value, data: ir.Value, flags: ir.Value) -> ir.Value:
    """A new numpy.ndarray, or null with an exception set. PyArray_NewFromDescr takes over a reference to the descriptor."""
    incref(f, descr)
    return api(f, "PyArray_NewFromDescr", the(f, "PyArray_Type"), descr, rank, sizes, strides, data, flags, NULL)


def string(module: ir.Module, name: str, text: str) -> ir.GlobalVariable:
    """A C string constant."""
    data = bytearray(text.encode() + b"\0")
    value = ir.GlobalVariable(module, ir.ArrayType(I8, len(data)), name)
    value.linkage, value.global_constant = "internal", True
    value.initializer = ir.Constant(ir.ArrayType(I8, len(data)), data)
    value.type = PTR
    return value


def answer_by_record(f: Emitter, callable_: ir.Value, answer: Callable[[ir.Value], ir.Value]) -> None:
    """End a vectorcall function with what `answer` gives of its callable's record, which stands behind the fields of the Python base."""
    fields = f.at(callable_, f.load(f.load(callable_, layout.OB_TYPE, PTR), layout.TYPE_VECTORCALL_OFFSET))
    owner = f.load(fields, FUNCTION_TABLE, PTR)
    with f.when(f.is_null(owner), likely=False):  # the garbage collector took it
        message = string(f.module, f"{f.function.name}_gone", "this function was already collected")
        api(f, "PyErr_SetString", exception(f, "PyExc_RuntimeError"), message)
        f.b.ret(NULL)
    record = f.load(fields, FUNCTION_RECORD, PTR)
    incref(f, owner)  # Python code may give the callable another record while this call runs
    result = answer(record)
    f.call(decref, owner)
    f.b.ret(result)
