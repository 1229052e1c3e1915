"""Generated code that CPython calls where a Python function answers, because it is quicker than native code.

    PyObject *forward(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)

A line of Python in front of each such call would take a third of a microsecond, which is what many NumPy functions take.
"""

from __future__ import annotations

from llvmlite import ir

from tierup.lowering.entry import layout
from tierup.lowering.entry.generated.ir import I1, I64, NULL, PTR, Emitter, function
from tierup.lowering.entry.generated.python import answer_by_record, api, the, type_of
from tierup.lowering.entry.layout import Forward

_KNOWN = ("PyArray_Type", "PyFloat_Type", "PyLong_Type", "PyBool_Type", "PyUnicode_Type")
_DEPTH = 8  # of containers that are looked into here


@function(I1, PTR, inline=True)
def is_known(f: Emitter, obj: ir.Value) -> None:
    """i1 is_known(object): an array, a number, a string or None: nothing that may be, or hold, one of PyTorch's tensors."""
    f.return_if(f.equal(obj, the(f, "_Py_NoneStruct")), I1(1))
    kind = type_of(f, obj)
    for name in _KNOWN:
        f.return_if(f.equal(kind, the(f, name)), I1(1))
    f.b.ret(I1(0))


@function(I1, PTR, PTR, I64)
def is_harmless(f: Emitter, obj: ir.Value, record: ir.Value, depth: ir.Value) -> None:
    """i1 is_harmless(object, Forward, depth): what is known, or of a type of the record's, or a list, tuple or dict of what is harmless, as
    far down as `depth` says."""
    kind = type_of(f, obj)
    f.return_if(f.call(is_known, obj), I1(1))
    for other in layout.OTHERS:
        f.return_if(f.equal(kind, f.get(record, Forward, other)), I1(1))
    f.return_if(f.equal(depth, I64(0)), I1(0))
    below = f.b.sub(depth, I64(1))
    with f.when(f.equal(kind, the(f, "PyDict_Type"))):
        place, key, value = f.variable(I64, I64(0)), f.variable(PTR, NULL), f.variable(PTR, NULL)
        with f.loop(api(f, "PyDict_Size", obj)):
            api(f, "PyDict_Next", obj, place, key, value)  # nothing runs that could change the dict
            f.return_if(f.b.not_(f.call(is_harmless, f.load(value, 0, PTR), record, below)), I1(0))
        f.b.ret(I1(1))
    is_list, is_tuple = f.equal(kind, the(f, "PyList_Type")), f.equal(kind, the(f, "PyTuple_Type"))
    f.return_if(f.b.not_(f.b.or_(is_list, is_tuple)), I1(0))
    items = f.variable(PTR, f.at(obj, layout.TUPLE_ITEMS))
    with f.when(is_list):
        f.store(f.load(obj, layout.LIST_ITEMS, PTR), items)
    with f.loop(f.load(obj, layout.OB_SIZE)) as i:
        f.return_if(f.b.not_(f.call(is_harmless, f.load(f.item(f.load(items, 0, PTR), i), 0, PTR), record, below)), I1(0))
    f.b.ret(I1(1))


@function(PTR, PTR, PTR, I64, PTR, exported=True)
def forward(f: Emitter, callable_: ir.Value, args: ir.Value, nargsf: ir.Value, kwnames: ir.Value) -> None:
    """The vectorcall function: `answer` as long as calls are left, and there is no PyTorch or arguments are harmless; else `otherwise`."""
    count = f.variable(I64, f.b.and_(nargsf, I64(layout.VECTORCALL_OFFSET_FLAG - 1)))
    with f.when(f.b.not_(f.is_null(kwnames)), likely=False):
        f.store(f.b.add(f.load(count), f.load(kwnames, layout.OB_SIZE)), count)

    def answer(record: ir.Value) -> ir.Value:
        known = f.variable(I1, I1(1))
        library = api(f, "PyDict_GetItemWithError", f.get(record, Forward, "modules"), f.get(record, Forward, "library"))
        with f.when(f.b.not_(f.is_null(library))), f.loop(f.load(count)) as i:
            here = f.call(is_harmless, f.load(f.item(args, i), 0, PTR), record, I64(_DEPTH))
            f.store(f.b.and_(f.load(known, 0, I1), here), known)
        number = f.b.add(f.get(record, Forward, "calls"), I64(1))
        here = f.b.and_(f.load(known, 0, I1), f.b.icmp_signed("<=", number, f.get(record, Forward, "most")))
        with f.when(here, likely=True):
            f.put(number, record, Forward, "calls")
        called = f.b.select(here, f.get(record, Forward, "answer"), f.get(record, Forward, "otherwise"))
        return api(f, "PyObject_Vectorcall", called, args, nargsf, kwnames)

    answer_by_record(f, callable_, answer)
