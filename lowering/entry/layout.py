"""The memory that the dispatcher reads: its own records, and the fields of CPython's and NumPy's objects.

The records are ctypes structures, filled by `plan.py` and read by generated code through `offset(Structure, "field")`: there
is one description of each. The offsets of foreign objects hold for 64-bit builds with the GIL of CPython's `RELEASES`, and
are checked by `entry_probe` before the first use.
"""

from __future__ import annotations

import ctypes
import sys
from ctypes import c_int32, c_int64, c_void_p
from enum import IntEnum
from typing import NamedTuple


class Release(NamedTuple):
    """What of CPython's objects differs between its releases."""

    count_bits: int  # of a reference count; 32: a negative one is an immortal object's
    tuple_items: int
    tagged_ints: bool  # an int has a tag (digits << 3 | flag << 2 | sign: 0 + 1 zero 2 -), not a size with a sign


# Another release is a row here, and a classifier in pyproject.toml: the probe and `make test` say whether it holds.
RELEASES = {(3, 11): Release(64, 24, False), (3, 12): Release(32, 24, True), (3, 13): Release(32, 24, True), (3, 14): Release(32, 32, True)}
RELEASE = RELEASES.get(sys.version_info[:2], RELEASES[max(RELEASES)])

# PyObject, PyVarObject, PyTypeObject
OB_REFCNT, OB_TYPE, OB_SIZE = 0, 8, 16
TYPE_BASICSIZE, TYPE_VECTORCALL_OFFSET = 32, 56
# PyFloatObject, PyTupleObject, PyListObject, PyLongObject
FLOAT_VALUE = 16
TUPLE_ITEMS = RELEASE.tuple_items
LIST_ITEMS = 24  # a pointer to the items
LONG_TAG, LONG_DIGITS = 16, 24  # the tag, or the size
# PyArrayObject, PyArray_Descr
ARRAY_DATA, ARRAY_ND, ARRAY_DIMS, ARRAY_STRIDES, ARRAY_DESCR, ARRAY_FLAGS = 16, 24, 32, 40, 56, 64
DESCR_BYTEORDER, DESCR_TYPE_NUM = 26, 28

CONTIGUOUS, COLUMNS, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400  # NPY_ARRAY_*
CARRAY = CONTIGUOUS | ALIGNED | WRITEABLE
VECTORCALL_OFFSET_FLAG = 1 << 63  # PY_VECTORCALL_ARGUMENTS_OFFSET


class Kind(IntEnum):
    """`Guard.kind`."""

    ARRAY = 0
    INT = 1
    FLOAT = 2
    BOOL = 3


class Guard(ctypes.Structure):
    """The guards of one argument. `sizes[d]`: a size of at least 0, or -1 - 2*symbol, minus 1 more where the symbol is bound first.
    An int that is a symbol has one; other numbers have none."""

    _fields_ = [
        ("kind", c_int32),
        ("rank", c_int32),
        ("descr", c_void_p),  # the dtype's singleton; other descriptors are compared by the type numbers
        ("type_num", c_int32),
        ("alias_type_num", c_int32),  # NumPy has two numbers for the same 64-bit (or 32-bit) integers
        ("flags", c_int32),  # flag bits that must be set
        ("has_value", c_int32),
        ("stride_mask", c_int64),  # itemsize - 1; -1: strides are not looked at
        ("itemsize", c_int64),
        ("sizes", c_void_p),
        ("value", c_int64),
    ]


class Returned(IntEnum):
    """`ResultRecord.kind`. The three kinds of scalar stand apart; SCRATCH is abi's ARGUMENT."""

    BUFFER = 0
    SCRATCH = 1
    ALLOCATED = 2
    ALIAS = 3
    VIEW = 4
    INT = 5
    FLOAT = 6
    BOOL = 7
    NONE = 8


class ResultRecord(ctypes.Structure):
    """How one result is made. Sizes, strides and offset are numbers of at least 0 or -1 - register."""

    _fields_ = [
        ("kind", c_int32),
        ("rank", c_int32),
        ("descr", c_void_p),
        ("sizes", c_void_p),  # int64[rank]
        ("strides", c_void_p),  # int64[rank], in elements, VIEW and a BUFFER that is not row-major
        ("offset", c_int64),  # VIEW: in elements
        ("itemsize", c_int64),
        ("argument", c_int64),
        ("as_scalar", c_int64),  # rank 0: hand over a NumPy scalar
        ("flags", c_int64),  # what stays of the array's flags: all of them, or all but WRITEABLE
        ("dims_at", c_int64),  # where in the frame its int64[2 * rank] stands
    ]


class Op(IntEnum):
    """`Instruction.op`; registers are the version's symbols, then what instructions compute."""

    END = 0
    CONSTANT = 1  # r[to] = a
    STRIDE = 2  # r[to] = byte stride of dim b of argument a
    ADD = 3
    MUL = 4
    FLOORDIV = 5
    MOD = 6
    MAX = 7
    MIN = 8
    CHECK_SIZE = 9  # the version does not fit when r[a] < 0


class Instruction(ctypes.Structure):
    """One step in the code for a size: `to` becomes what `op` makes of values `a` and `b`."""

    _fields_ = [("op", c_int64), ("to", c_int64), ("a", c_int64), ("b", c_int64)]


class NodeKind(IntEnum):
    """What the user gets is put together on a stack: a node puts an object there, or takes `count` and puts one made of them there."""

    NEXT = 0  # the program's next result
    OBJECT = 1
    TUPLE = 2
    LIST = 3
    DICT = 4  # object: PyObject*[count], its keys
    AGAIN = 5  # result number `count`, which was put there before
    COMPLEX = 7  # of two floats
    UNION = 6  # of `count`, the first is an int that says which of the others it is
    CALL = 8  # what `object` gives for them as arguments
    GIVEN = 10  # what stands at `count` among the flat arguments and the lists behind them
    ONLY = 9  # the next CALL gives None unless result number `count` is the int `object`: a node that puts nothing there


class Node(ctypes.Structure):
    """One of them."""

    _fields_ = [("kind", c_int64), ("count", c_int64), ("object", c_void_p)]


class RowStruct(ctypes.Structure):
    """One version, as the dispatcher reads it. `*_at` are offsets into the call's frame, which starts with the abi Arguments."""

    _fields_ = [
        ("kernel", c_void_p),
        ("guards", c_void_p),
        ("n_arguments", c_int64),
        ("program", c_void_p),  # Instructions up to END, or null
        ("written", c_void_p),  # int64[n_written]
        ("n_written", c_int64),
        ("results", c_void_p),
        ("n_results", c_int64),
        ("n_user_results", c_int64),
        ("nodes", c_void_p),  # Node[n_nodes], or null where the only result is what the user gets
        ("n_nodes", c_int64),
        ("work", c_int64),  # encoded like a size: from RELEASE_WORK on, the kernel is called by `run_released`
        ("polls", c_int64),  # whether the kernel may give up the GIL itself
        ("known_work", c_int64),  # the operations, as far as the arguments tell: from RELEASE_WORK on, it is called without the GIL
        ("token", c_void_p),  # the VersionRecord, for `failed`
        ("hits", c_int64),
        ("failures", c_int64),
        ("in_flight", c_int64),  # calls that use this memory and the kernel's code
        ("registers_at", c_int64),
        ("results_at", c_int64),
        ("live_at", c_int64),  # the live words, right behind the results
        ("objects_at", c_int64),
        ("copies_at", c_int64),  # sizes and strides of the arguments, while the GIL is released
        ("serial", c_int64),  # what `entry_last` notes
        ("takes_tensors", c_int64),  # whether calls with PyTorch's tensors may run it: see `tensors.py`
    ]


class HashSlot(ctypes.Structure):
    """A place in the table of versions by signature."""

    _fields_ = [("key", c_int64), ("version", c_void_p)]


class Chain(ctypes.Structure):
    """The versions in force: immutable, swapped as a whole. First `n_front` are tried in order, then those found by hash, then the rest."""

    _fields_ = [
        ("frame", c_int64),  # bytes that any of the versions needs
        ("n_front", c_int64),
        ("n_linear", c_int64),  # front and rest together
        ("versions", c_void_p),  # RowStruct*[n_linear]
        ("hash_mask", c_int64),  # slots - 1; -1: no hash
        ("slots", c_void_p),
        ("keyed", c_void_p),  # int64[n_arguments]: whether the argument takes part in the key
        ("n_arguments", c_int64),
    ]


class StepKind(IntEnum):
    """What is read before the guards of versions, into the slots from `to` on, or must hold."""

    GLOBAL = 0  # `name` in the dict `object`
    CELL = 1  # the contents of `object`
    ATTRIBUTE = 2  # `name` of what slot `slot` holds
    SCALAR = 3  # the slot's NumPy scalar, as an array
    TUPLE = 4  # the `count` items of the slot's tuple
    LIST = 5
    DICT = 6  # the slot's dict must have the keys `object`, a PyObject*[count], in this order
    TYPE = 7  # the slot holds an instance of exactly `object`
    EQUAL = 8  # the slot holds `object`, or the same number or string
    SAME = 9  # the slot holds what slot `to` does
    SUBSCRIPT = 10  # `name`, any object, between brackets behind what the slot holds
    ABSENT = 11  # the dict `object` has no `name`
    # of the slot's list, as new arrays in `count` slots, a number at least; `object`: the type of the numbers of each, and its dtype
    NUMBERS = 12  # its items; where there are several arrays of which kind each is, and the numbers of each kind
    ROWS = 13  # where the lists in it begin, and the last one ends; their items
    PLACES = 14  # of the tuples in it, place by place
    APART = 15  # no two of `count` lists, and of the lists in them, are one; `object`: (slot, whether it has lists)[count]


class Step(ctypes.Structure):
    """One of them."""

    _fields_ = [("kind", c_int64), ("slot", c_int64), ("to", c_int64), ("count", c_int64), ("object", c_void_p), ("name", c_void_p)]


class ListRecord(ctypes.Structure):
    """A list that came in as arrays, and that a program changes or gives back. `kind`: the step that reads it; READ_ONLY: it stays."""

    _fields_ = [
        ("kind", c_int64),
        ("first", c_int64),  # which flat argument is its first array
        ("places", c_int64),  # how many there are
        ("types", c_void_p),  # as a step's `object`
    ]


READ_ONLY = -1
N_CAUSES = 8


class Table(ctypes.Structure):
    """One dispatch table. A slot holds an object of the call: parameters that take one argument, those of `*args`, those of `**options`;
    then what steps read."""

    _fields_ = [
        ("chain", c_void_p),
        ("n_exact", c_int64),  # so many arguments by position, and no keyword, are the first slots as they are; -1: never
        ("n_positional", c_int64),  # parameters that may be given by position
        ("n_parameters", c_int64),
        ("n_star", c_int64),
        ("n_extra", c_int64),
        ("n_slots", c_int64),
        ("n_steps", c_int64),
        ("n_flat", c_int64),
        ("n_own", c_int64),  # flat arguments that are the call's, in front of those from outside
        ("names", c_void_p),  # PyObject*[n_parameters], no string where one cannot be given by name
        ("extra", c_void_p),  # PyObject*[n_extra]
        ("function", c_void_p),  # whose defaults hold, or null
        ("steps", c_void_p),
        ("flat", c_void_p),  # int64[n_flat + n_lists]: slots; null: the first slots
        ("n_lists", c_int64),  # behind the flat arguments
        ("lists", c_void_p),  # ListRecord[n_lists]
        ("slow", c_void_p),
        ("failed", c_void_p),
        ("owner", c_void_p),  # the Python object to which this belongs
        ("calls_left", c_int64),  # before `due` answers one; less than 1: never
        ("due", c_void_p),  # a callable
        ("next", c_void_p),  # the Table that is tried when this one has no answer, or null
        ("slow_calls", c_int64 * N_CAUSES),
        ("tensors", c_void_p),  # a Tensors, or null when the arguments are not looked at for tensors
        ("gives_tensors", c_int64),  # also to calls without tensors
    ]


OTHERS = ("other_0", "other_1", "other_2", "other_3")  # arguments of one call rarely have more classes of their own


class Forward(ctypes.Structure):
    """A Python function that answers in a table's place."""

    _fields_ = [
        ("answer", c_void_p),
        ("otherwise", c_void_p),  # a callable for calls beyond `most`, and for those that may have PyTorch's tensors
        ("modules", c_void_p),  # sys.modules
        ("library", c_void_p),  # the name in it without which there are no tensors
        ("calls", c_int64),  # that `answer` took
        ("most", c_int64),
        *((name, c_void_p) for name in OTHERS),  # types whose instances are no tensors, nor hold any that count
    ]


# DLTensor, DLManagedTensorVersioned (dlpack.h 1.x)
DL_DATA, DL_DEVICE, DL_NDIM, DL_DTYPE, DL_SHAPE, DL_STRIDES, DL_OFFSET, DL_SIZE = 0, 8, 16, 20, 24, 32, 40, 48
MANAGED_CONTEXT, MANAGED_DELETER, MANAGED_TENSOR = 8, 16, 32
MAX_TENSOR_RANK = 16


class TensorDType(ctypes.Structure):
    """A dtype as DLPack has it (code, bits and lanes in one word), and NumPy's singleton."""

    _fields_ = [("word", c_int64), ("descr", c_void_p)]


class Tensors(ctypes.Structure):
    """How PyTorch's tensors are read and made. One per process, filled by `tensor_probe.py`."""

    _fields_ = [
        ("tensor_type", c_void_p),
        ("parameter_type", c_void_p),
        ("impl_at", c_int64),  # in the Python object: a TensorImpl*
        ("keys_at", c_int64),  # in the TensorImpl: its dispatch keys
        ("keys", c_int64),  # of a plain tensor in the CPU's memory
        ("inference_keys", c_int64),  # of one that was made in inference mode
        ("dtypes", c_void_p),  # TensorDType[n_made]
        ("n_dtypes", c_int64),  # the first of them, which arguments may have
        ("n_made", c_int64),  # those that results may have: complex ones too
        ("export", c_void_p),  # i32 (object, DLTensor*): of DLPack's exchange API
        ("allocate", c_void_p),  # i32 (DLTensor* prototype, DLManagedTensorVersioned**, void*, error function): of the same
        ("wrap", c_void_p),  # object (Tensor*)
        ("requires_grad", c_void_p),  # bool (TensorImpl*)
        ("grad_enabled", c_void_p),  # bool ()
        ("tangent", c_void_p),  # Tensor* (TensorImpl*, level, Tensor*): for forward-mode differentiation
        ("undefined", c_void_p),  # the TensorImpl of no tensor
        ("thread_local", c_void_p),  # void* (TLS index)
        ("modes_index", c_void_p),  # the TLS index of the thread's dispatch modes: two words, 0 when there is none
        ("inference_modes", c_int64 * 2),  # these words in inference mode
    ]


def offset(structure: type[ctypes.Structure], field: str) -> int:
    """Of a field, in bytes from the start of its structure."""
    return int(getattr(structure, field).offset)


HASH_FACTOR = 0x9E3779B97F4A7C15  # 2**64 / golden ratio (Knuth, TAOCP 3, 6.4)
HASH_SEED = 0x2545F4914F6CDD1D


def mix(key: int, value: int) -> int:
    """One step of the signature hash: what generated code computes, on 64 bits."""
    mixed = ((key ^ value) * HASH_FACTOR) & (1 << 64) - 1
    return mixed ^ (mixed >> 32)
