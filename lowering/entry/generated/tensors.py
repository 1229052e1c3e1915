"""Generated code that takes PyTorch's tensors and makes them: guards that arrays do not need, and memory from PyTorch's allocator.

A tensor that passes becomes, for the length of a call, what looks like the fields of an ndarray: the guards of versions then read it as any
other array. Sizes, strides and memory are asked of DLPack's exchange API, which says nothing of what else a tensor may be, so that comes
first: a subclass, memory elsewhere or in no strides, values that are to be conjugated or negated, a gradient or a tangent that is wanted;
and of the thread, whether somebody wants to see every operation (tracing, `vmap`, autocast, a dispatch mode). All these go to Python.
See `Tensors` in `layout.py` for what is read, and `tensor_probe.py` for how it is found.
"""

from __future__ import annotations

import ctypes

from llvmlite import ir

from tierup.lowering.base import abi
from tierup.lowering.entry import layout
from tierup.lowering.entry.generated.ir import I1, I8, I32, I64, NO, NULL, PTR, VOID, YES, Emitter, function
from tierup.lowering.entry.generated.python import api, exception, string, the, type_of
from tierup.lowering.entry.layout import ResultRecord, TensorDType, Tensors

GLOBAL = "tensors"  # a pointer to the Tensors of the process
DTYPE_SIZE = ctypes.sizeof(TensorDType)
_STRIDES_AT = 80  # behind what looks like an ndarray
ARRAY_SIZE = _STRIDES_AT + 8 * layout.MAX_TENSOR_RANK
_DATA, _DIMS = abi.Result.data.offset, abi.Result.dims.offset


def _of_process(f: Emitter) -> ir.Value:
    """The Tensors of the process, by a pointer that is null before PyTorch is loaded."""
    pointer = f.module.globals.get(GLOBAL)
    if pointer is None:
        pointer = ir.GlobalVariable(f.module, PTR, GLOBAL)
        pointer.initializer = NULL
        pointer.type = PTR  # as in `external_data`
    return f.load(pointer, 0, PTR)


@function(I1, PTR, PTR, inline=True)
def is_tensor(f: Emitter, tensors: ir.Value, obj: ir.Value) -> None:
    """i1 is_tensor(tensors, object): by its class, which is exactly torch.Tensor or Parameter."""
    kind = type_of(f, obj)
    f.b.ret(f.b.or_(f.equal(kind, f.get(tensors, Tensors, "tensor_type")), f.equal(kind, f.get(tensors, Tensors, "parameter_type"))))


@function(I1, PTR)
def no_modes(f: Emitter, tensors: ir.Value) -> None:
    """i1 no_modes(tensors): whether this thread's dispatch modes are none, or inference mode alone."""
    words = f.call_field(tensors, Tensors, "thread_local", PTR, f.get(tensors, Tensors, "modes_index"))
    included, excluded = f.load(words), f.load(words, 8)
    f.return_if(f.equal(f.b.or_(included, excluded), I64(0)), YES, likely=True)
    at = layout.offset(Tensors, "inference_modes")
    f.b.ret(f.b.and_(f.equal(included, f.load(tensors, at)), f.equal(excluded, f.load(tensors, at + 8))))


@function(I1, PTR, PTR, PTR)
def read_tensor(f: Emitter, tensors: ir.Value, obj: ir.Value, array: ir.Value) -> None:
    """i1 read_tensor(tensors, object, array)."""
    handle = f.at(obj, f.get(tensors, Tensors, "impl_at"))
    impl = f.load(handle, 0, PTR)
    keys = f.load(impl, f.get(tensors, Tensors, "keys_at"))
    plain = f.b.or_(f.equal(keys, f.get(tensors, Tensors, "keys")), f.equal(keys, f.get(tensors, Tensors, "inference_keys")))
    f.return_if(f.b.not_(plain), NO)
    with f.when(f.differ(f.call_field(tensors, Tensors, "requires_grad", I8, impl), I8(0)), likely=False):
        f.return_if(f.differ(f.call_field(tensors, Tensors, "grad_enabled", I8), I8(0)), NO)
    tangent = f.call_field(tensors, Tensors, "tangent", PTR, impl, I64(0), handle)
    f.return_if(f.differ(f.load(tangent, 0, PTR), f.get(tensors, Tensors, "undefined")), NO)

    view = _dl_tensor(f)
    with f.when(f.differ(f.call_field(tensors, Tensors, "export", I32, obj, view), I32(0)), likely=False):
        api(f, "PyErr_Clear")
        f.b.ret(NO)
    rank32 = f.load(view, layout.DL_NDIM, I32)
    rank = f.b.zext(rank32, I64)
    f.return_if(f.less(I64(layout.MAX_TENSOR_RANK), rank), NO)
    word = f.b.zext(f.load(view, layout.DL_DTYPE, I32), I64)
    descr = f.variable(PTR, NULL)
    dtypes = f.get(tensors, Tensors, "dtypes")
    with f.loop(f.get(tensors, Tensors, "n_dtypes")) as i:
        entry = f.item(dtypes, i, DTYPE_SIZE)
        with f.when(f.equal(f.get(entry, TensorDType, "word"), word)):
            f.store(f.get(entry, TensorDType, "descr"), descr)
    found = f.load(descr, 0, PTR)
    f.return_if(f.is_null(found), NO)

    itemsize = f.b.and_(f.b.lshr(word, I64(11)), I64(31))  # bits / 8
    sizes, steps, strides = f.load(view, layout.DL_SHAPE, PTR), f.load(view, layout.DL_STRIDES, PTR), f.at(array, _STRIDES_AT)
    data = f.b.add(f.load(view, layout.DL_DATA), f.load(view, layout.DL_OFFSET))
    flags = f.variable(I32, I32(layout.WRITEABLE))
    for flag in (layout.CONTIGUOUS, layout.COLUMNS):
        dense, fits = f.variable(I64, I64(1)), f.variable(I1, YES)
        empty = f.variable(I1, NO)
        with f.loop(rank) as i:
            d = f.b.sub(f.b.sub(rank, I64(1)), i) if flag == layout.CONTIGUOUS else i
            size, step = f.load(f.item(sizes, d)), f.load(f.item(steps, d))
            f.store(f.b.mul(step, itemsize), f.item(strides, d))
            f.store(f.b.or_(f.load(empty, 0, I1), f.equal(size, I64(0))), empty)
            f.store(f.b.and_(f.load(fits, 0, I1), f.b.or_(f.equal(size, I64(1)), f.equal(step, f.load(dense)))), fits)
            f.store(f.b.mul(f.load(dense), size), dense)
        with f.when(f.b.or_(f.load(fits, 0, I1), f.load(empty, 0, I1))):
            f.store(f.b.or_(f.load(flags, 0, I32), I32(flag)), flags)
    with f.when(f.equal(f.b.and_(data, f.b.sub(itemsize, I64(1))), I64(0)), likely=True):
        f.store(f.b.or_(f.load(flags, 0, I32), I32(layout.ALIGNED)), flags)
    f.store(the(f, "PyArray_Type"), array, layout.OB_TYPE)
    f.store(data, array, layout.ARRAY_DATA)
    f.store(rank32, array, layout.ARRAY_ND)
    f.store(sizes, array, layout.ARRAY_DIMS)
    f.store(strides, array, layout.ARRAY_STRIDES)
    f.store(found, array, layout.ARRAY_DESCR)
    f.store(f.load(flags, 0, I32), array, layout.ARRAY_FLAGS)
    f.b.ret(YES)


def _dl_tensor(f: Emitter) -> ir.Value:
    words = ir.ArrayType(I64, layout.DL_SIZE // 8)
    return f.variable(words, ir.Constant(words, [0] * (layout.DL_SIZE // 8)))


@function(VOID, PTR, PTR, PTR, rare=True)
def refused(f: Emitter, context: ir.Value, kind: ir.Value, message: ir.Value) -> None:
    """void refused(context, kind, message): what DLPack's allocator calls."""
    api(f, "PyErr_SetString", exception(f, "PyExc_RuntimeError"), message)
    f.b.ret_void()


@function(PTR, PTR, PTR, PTR)
def fresh_tensor(f: Emitter, record: ir.Value, sizes: ir.Value, result: ir.Value) -> None:
    """ptr fresh_tensor(record, sizes, result): an uninitialised contiguous tensor, which the result then points to; null with an exception
    set.

    DLPack's allocator hands over a tensor inside of its own structure (ATen's DLConvertor), which is what becomes the object: one that is
    made of the memory alone could not be resized.
    """
    tensors = _of_process(f)
    wanted, word = f.get(record, ResultRecord, "descr"), f.variable(I64, I64(0))
    dtypes = f.get(tensors, Tensors, "dtypes")
    with f.loop(f.get(tensors, Tensors, "n_made")) as i:
        entry = f.item(dtypes, i, DTYPE_SIZE)
        with f.when(f.equal(f.get(entry, TensorDType, "descr"), wanted)):
            f.store(f.get(entry, TensorDType, "word"), word)
    with f.when(f.equal(f.load(word), I64(0)), likely=False):
        api(f, "PyErr_SetString", exception(f, "PyExc_RuntimeError"), string(f.module, "no_dtype", "PyTorch has no such dtype"))
        f.b.ret(NULL)
    like = _dl_tensor(f)
    f.store(I32(1), like, layout.DL_DEVICE)  # kDLCPU
    f.store(f.get(record, ResultRecord, "rank"), like, layout.DL_NDIM)
    f.store(f.b.trunc(f.load(word), I32), like, layout.DL_DTYPE)
    f.store(sizes, like, layout.DL_SHAPE)
    managed = f.variable(PTR, NULL)
    failed = f.differ(f.call_field(tensors, Tensors, "allocate", I32, like, managed, NULL, refused.of(f.module)), I32(0))
    f.return_if(failed, NULL)
    made = f.load(managed, 0, PTR)
    obj = f.call_field(tensors, Tensors, "wrap", PTR, f.load(made, layout.MANAGED_CONTEXT, PTR))
    f.store(f.load(made, layout.MANAGED_TENSOR + layout.DL_DATA, PTR), result, _DATA)
    f.store(sizes, result, _DIMS)
    deleter = f.load(made, layout.MANAGED_DELETER, ir.FunctionType(VOID, [PTR]).as_pointer())
    f.b.call(deleter, [made])
    f.b.ret(obj)


@function(PTR, PTR, PTR, rare=True)
def allocated_tensor(f: Emitter, record: ir.Value, result: ir.Value) -> None:
    """ptr allocated_tensor(record, result): a tensor with what the kernel allocated, copied into memory of PyTorch's.

    The result's data is null afterwards if the memory is taken care of.
    """
    data, sizes = f.load(result, _DATA, PTR), f.load(result, _DIMS, PTR)
    memory = f.variable(ir.ArrayType(I64, 2), ir.Constant(ir.ArrayType(I64, 2), [0, 0]))  # an abi.Result of its own
    obj = f.call(fresh_tensor, record, sizes, memory)
    f.return_if(f.is_null(obj), NULL)
    count = f.variable(I64, f.get(record, ResultRecord, "itemsize"))
    with f.loop(f.b.zext(f.get(record, ResultRecord, "rank"), I64)) as d:
        f.store(f.b.mul(f.load(count), f.load(f.item(sizes, d))), count)
    with f.when(f.b.not_(f.is_null(data))):
        api(f, "memcpy", f.load(memory, _DATA, PTR), data, f.load(count))
        api(f, "free", data)
    f.store(NULL, result, _DATA)
    f.b.ret(obj)
