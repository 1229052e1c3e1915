"""Generated code that decides whether a version fits: argument guards, the size program, memory overlap.

`runtime/arguments/guards.py` says the same in Python, in the same order.
"""

from __future__ import annotations

import ctypes

from llvmlite import ir

from tierup.lowering.base import abi
from tierup.lowering.entry import layout
from tierup.lowering.entry.generated.ir import F64, I1, I8, I32, I64, NO, NULL, PTR, VOID, YES, Emitter, function
from tierup.lowering.entry.generated.python import int_value, the, type_of
from tierup.lowering.entry.layout import Chain, Guard, HashSlot, Instruction, Op, RowStruct

ARGUMENT_SIZE, GUARD_SIZE = ctypes.sizeof(abi.Argument), ctypes.sizeof(Guard)
_DATA, _DIMS, _STRIDES = (getattr(abi.Argument, n).offset for n in ("data", "dims", "strides"))


@function(I1, PTR, I64, PTR, PTR, PTR, inline=True)
def sizes_fit(f: Emitter, guard: ir.Value, rank: ir.Value, sizes: ir.Value, strides: ir.Value, registers: ir.Value) -> None:
    """i1 sizes_fit(guard, rank, sizes, strides, registers): each size as expected, each symbol bound once, strides of whole elements."""
    expected_sizes = f.get(guard, Guard, "sizes")
    with f.loop(rank) as d:
        size, expected = f.load(f.item(sizes, d)), f.load(f.item(expected_sizes, d))
        with f.when(f.b.or_(f.differ(size, expected), f.less(size, I64(0)))):  # an int may be what stands for a symbol
            f.return_if(f.b.icmp_signed(">=", expected, I64(0)), NO)
            code = f.b.not_(expected)  # 2 * symbol, plus 1 where it is bound
            register = f.item(registers, f.b.lshr(code, I64(1)))
            with f.b.if_else(f.equal(f.b.and_(code, I64(1)), I64(0))) as (used, bound):
                with used:
                    f.return_if(f.differ(f.load(register), size), NO)
                with bound:
                    f.return_if(f.less(size, I64(2)), NO)
                    f.store(size, register)
    mask = f.get(guard, Guard, "stride_mask")
    with f.when(f.b.icmp_signed(">", mask, I64(0))):
        with f.loop(rank) as d:
            ragged = f.differ(f.b.and_(f.load(f.item(strides, d)), mask), I64(0))
            f.return_if(f.b.and_(ragged, f.less(I64(1), f.load(f.item(sizes, d)))), NO)
    f.b.ret(YES)


@function(I1, PTR, I32, PTR, PTR, PTR)
def scalar_fits(f: Emitter, guard: ir.Value, kind: ir.Value, obj: ir.Value, argument: ir.Value, registers: ir.Value) -> None:
    """i1 scalar_fits(guard, kind, object, argument, registers): exact type, 64 bits, the value assumed or what a symbol may be; puts the 8
    bytes in the argument."""
    value = f.variable(I64, I64(0))
    type_ = type_of(f, obj)
    with f.cases(kind) as case:
        case(layout.Kind.INT)
        f.return_if(f.differ(type_, the(f, "PyLong_Type")), NO)
        f.return_if(f.b.not_(f.call(int_value, obj, value)), NO)
        case(layout.Kind.FLOAT)
        f.return_if(f.differ(type_, the(f, "PyFloat_Type")), NO)
        f.store(f.b.bitcast(f.load(obj, layout.FLOAT_VALUE, F64), I64), value)
        case(layout.Kind.BOOL)
        true = f.equal(obj, the(f, "_Py_TrueStruct"))
        f.return_if(f.b.not_(f.b.or_(true, f.equal(obj, the(f, "_Py_FalseStruct")))), NO)
        f.store(f.b.zext(true, I64), value)
    bits = f.load(value)
    wrong = f.b.and_(f.differ(f.get(guard, Guard, "has_value"), I32(0)), f.differ(bits, f.get(guard, Guard, "value")))
    f.return_if(wrong, NO)
    with f.when(f.b.not_(f.is_null(f.get(guard, Guard, "sizes")))):
        f.return_if(f.less(I64(abi.MOST_BY_NAME), bits), NO)
        f.return_if(f.b.not_(f.call(sizes_fit, guard, I64(1), value, NULL, registers)), NO)
    f.store(bits, argument, _DATA)
    f.store(NULL, argument, _DIMS)
    f.store(NULL, argument, _STRIDES)
    f.b.ret(YES)


@function(I1, PTR, PTR, PTR, PTR, inline=True)
def argument_fits(f: Emitter, guard: ir.Value, obj: ir.Value, argument: ir.Value, registers: ir.Value) -> None:
    """i1 argument_fits(guard, object, argument, registers): the guards of one argument; fills the abi Argument."""
    kind = f.get(guard, Guard, "kind")
    f.return_if(f.differ(kind, I32(layout.Kind.ARRAY)), lambda: f.call(scalar_fits, guard, kind, obj, argument, registers))
    f.return_if(f.differ(type_of(f, obj), the(f, "PyArray_Type")), NO)

    descr = f.load(obj, layout.ARRAY_DESCR, PTR)
    with f.when(f.differ(descr, f.get(guard, Guard, "descr")), likely=False):
        number = f.load(descr, layout.DESCR_TYPE_NUM, I32)
        same = f.b.or_(f.equal(number, f.get(guard, Guard, "type_num")), f.equal(number, f.get(guard, Guard, "alias_type_num")))
        f.return_if(f.b.not_(same), NO)
        f.return_if(f.equal(f.load(descr, layout.DESCR_BYTEORDER, I8), I8(ord(">"))), NO)  # only little-endian machines get here

    rank = f.load(obj, layout.ARRAY_ND, I32)
    f.return_if(f.differ(rank, f.get(guard, Guard, "rank")), NO)
    f.return_if(f.b.not_(f.has_bits(f.load(obj, layout.ARRAY_FLAGS, I32), f.get(guard, Guard, "flags"))), NO)
    sizes, strides = f.load(obj, layout.ARRAY_DIMS, PTR), f.load(obj, layout.ARRAY_STRIDES, PTR)
    f.return_if(f.b.not_(f.call(sizes_fit, guard, f.b.zext(rank, I64), sizes, strides, registers)), NO)
    f.store(f.load(obj, layout.ARRAY_DATA, PTR), argument, _DATA)
    f.store(sizes, argument, _DIMS)
    f.store(strides, argument, _STRIDES)
    f.b.ret(YES)


@function(I1, PTR, PTR, PTR)
def evaluate(f: Emitter, program: ir.Value, registers: ir.Value, arguments: ir.Value) -> None:
    """i1 evaluate(program, registers, arguments): compute sizes as Python does; false on overflow, division by 0, a negative size."""
    with f.loop(I64(1 << 62)) as n:
        instruction = f.item(program, n, ctypes.sizeof(Instruction))
        op, a, b = (f.get(instruction, Instruction, name) for name in ("op", "a", "b"))
        target = f.item(registers, f.get(instruction, Instruction, "to"))
        with f.cases(op) as case:
            case(Op.END)
            f.b.ret(YES)
            case(Op.CONSTANT)
            f.store(a, target)
            case(Op.STRIDE)
            f.store(f.load(f.item(f.load(f.item(arguments, a, ARGUMENT_SIZE), _STRIDES, PTR), b)), target)
            for number, build in ((Op.ADD, f.b.sadd_with_overflow), (Op.MUL, f.b.smul_with_overflow)):
                case(number)
                pair = build(f.load(f.item(registers, a)), f.load(f.item(registers, b)))
                f.return_if(f.b.extract_value(pair, 1), NO)
                f.store(f.b.extract_value(pair, 0), target)
            for number in (Op.FLOORDIV, Op.MOD):
                case(number)
                x, y = f.load(f.item(registers, a)), f.load(f.item(registers, b))
                f.return_if(f.equal(y, I64(0)), NO)
                f.return_if(f.b.and_(f.equal(y, I64(-1)), f.equal(x, I64(abi.INT64_MIN))), NO)
                quotient, rest = f.b.sdiv(x, y), f.b.srem(x, y)
                # C truncates, Python floors: one less where the signs differ and something is left
                down = f.b.and_(f.differ(rest, I64(0)), f.less(f.b.xor(rest, y), I64(0)))
                floored = f.b.sub(quotient, f.b.zext(down, I64)) if number is Op.FLOORDIV else f.b.select(down, f.b.add(rest, y), rest)
                f.store(floored, target)
            for number, larger in ((Op.MAX, True), (Op.MIN, False)):
                case(number)
                x, y = f.load(f.item(registers, a)), f.load(f.item(registers, b))
                f.store(f.b.select(f.less(x, y), *((y, x) if larger else (x, y))), target)
            case(Op.CHECK_SIZE)
            f.return_if(f.less(f.load(f.item(registers, a)), I64(0)), NO)
    f.b.ret(NO)


@function(VOID, PTR, PTR, PTR)
def extent(f: Emitter, guard: ir.Value, argument: ir.Value, out: ir.Value) -> None:
    """void extent(guard, argument, i64 out[2]): the addresses [low, high) of an array's elements; empty for an empty array."""
    data = f.b.ptrtoint(f.load(argument, _DATA, PTR), I64)
    sizes, strides = f.load(argument, _DIMS, PTR), f.load(argument, _STRIDES, PTR)
    f.store(data, out)
    f.store(data, out, 8)
    with f.loop(f.b.sext(f.get(guard, Guard, "rank"), I64)) as d:
        size, stride = f.load(f.item(sizes, d)), f.load(f.item(strides, d))
        with f.when(f.equal(size, I64(0))):
            f.store(I64(0), out)
            f.store(I64(0), out, 8)
            f.b.ret_void()
        reach = f.b.mul(f.b.sub(size, I64(1)), stride)
        end = f.item(out, f.b.zext(f.b.icmp_signed(">=", reach, I64(0)), I64))
        f.store(f.b.add(f.load(end), reach), end)
    f.store(f.b.add(f.load(out, 8), f.get(guard, Guard, "itemsize")), out, 8)
    f.b.ret_void()


@function(I1, PTR, PTR, rare=True)
def overlaps_itself(f: Emitter, guard: ir.Value, argument: ir.Value) -> None:
    """i1 overlaps_itself(guard, argument): whether some dim's step is shorter than what the finer dims reach."""
    sizes, strides = f.load(argument, _DIMS, PTR), f.load(argument, _STRIDES, PTR)
    rank = f.b.sext(f.get(guard, Guard, "rank"), I64)
    reach = f.variable(I64, I64(0))
    with f.loop(rank) as d:  # nothing overlaps in an empty array
        f.return_if(f.equal(f.load(f.item(sizes, d)), I64(0)), NO)

    def step(index: ir.Value) -> ir.Value:
        stride = f.load(f.item(strides, index))
        return f.b.select(f.less(stride, I64(0)), f.b.neg(stride), stride)

    with f.loop(rank) as d:
        with f.when(f.less(I64(1), f.load(f.item(sizes, d)))):
            f.store(f.get(guard, Guard, "itemsize"), reach)
            with f.loop(rank) as e:
                finer = f.b.and_(f.differ(d, e), f.b.not_(f.less(step(d), step(e))))
                with f.when(finer):
                    more = f.b.mul(f.b.sub(f.load(f.item(sizes, e)), I64(1)), step(e))
                    f.store(f.b.add(f.load(reach), more), reach)
            f.return_if(f.less(step(d), f.load(reach)), YES)
    f.b.ret(NO)


@function(I1, PTR, PTR)
def separate(f: Emitter, version: ir.Value, arguments: ir.Value) -> None:
    """i1 separate(version, arguments): no written argument shares memory with itself or another array."""
    guards, written = f.get(version, RowStruct, "guards"), f.get(version, RowStruct, "written")
    own, other = (f.variable(ir.ArrayType(I64, 2), ir.Constant(ir.ArrayType(I64, 2), [0, 0])) for _ in range(2))
    with f.loop(f.get(version, RowStruct, "n_written")) as n:
        w = f.load(f.item(written, n))
        guard, argument = f.item(guards, w, GUARD_SIZE), f.item(arguments, w, ARGUMENT_SIZE)
        f.return_if(f.call(overlaps_itself, guard, argument), NO)
        f.call(extent, guard, argument, own)
        with f.loop(f.get(version, RowStruct, "n_arguments")) as i:
            guard, argument = f.item(guards, i, GUARD_SIZE), f.item(arguments, i, ARGUMENT_SIZE)
            is_array = f.equal(f.get(guard, Guard, "kind"), I32(layout.Kind.ARRAY))
            with f.when(f.b.and_(is_array, f.differ(i, w))):
                f.call(extent, guard, argument, other)
                shared = f.b.and_(f.less(f.load(own), f.load(other, 8)), f.less(f.load(other), f.load(own, 8)))
                f.return_if(shared, NO)
    f.b.ret(YES)


@function(I1, PTR, PTR, PTR, outline=True)
def matches(f: Emitter, version: ir.Value, flat: ir.Value, frame: ir.Value) -> None:
    """i1 matches(version, flat, frame): all guards; fills the frame's Arguments and registers."""
    guards = f.get(version, RowStruct, "guards")
    registers = f.at(frame, f.get(version, RowStruct, "registers_at"))
    with f.loop(f.get(version, RowStruct, "n_arguments")) as i:
        obj = f.load(f.item(flat, i), 0, PTR)
        fits = f.call(argument_fits, f.item(guards, i, GUARD_SIZE), obj, f.item(frame, i, ARGUMENT_SIZE), registers)
        f.return_if(f.b.not_(fits), NO)
    program = f.get(version, RowStruct, "program")
    with f.when(f.b.not_(f.is_null(program))):
        f.return_if(f.b.not_(f.call(evaluate, program, registers, frame)), NO)
    with f.when(f.differ(f.get(version, RowStruct, "n_written"), I64(0))):
        f.return_if(f.b.not_(f.call(separate, version, frame)), NO)
    f.b.ret(YES)


@function(I64, PTR, I64, PTR)
def signature_key(f: Emitter, keyed: ir.Value, n: ir.Value, flat: ir.Value) -> None:
    """i64 signature_key(keyed, n, flat): `plan.signature_key` of these arguments."""
    key = f.variable(I64, I64(layout.HASH_SEED))
    value = f.variable(I64, I64(0))

    def mix(number: ir.Value) -> None:
        mixed = f.b.mul(f.b.xor(f.load(key), number), I64(layout.HASH_FACTOR))
        f.store(f.b.xor(mixed, f.b.lshr(mixed, I64(32))), key)

    with f.loop(n) as i:
        with f.when(f.differ(f.load(f.item(keyed, i)), I64(0))):
            obj = f.load(f.item(flat, i), 0, PTR)
            type_ = type_of(f, obj)
            is_array, is_float = f.equal(type_, the(f, "PyArray_Type")), f.equal(type_, the(f, "PyFloat_Type"))
            with f.when(is_array, likely=True):
                rank = f.b.zext(f.load(obj, layout.ARRAY_ND, I32), I64)
                sizes = f.load(obj, layout.ARRAY_DIMS, PTR)
                mix(rank)
                with f.loop(rank) as d:
                    mix(f.load(f.item(sizes, d)))
            with f.when(is_float):
                mix(f.b.bitcast(f.load(obj, layout.FLOAT_VALUE, F64), I64))
            with f.when(f.equal(type_, the(f, "PyLong_Type"))):
                with f.when(f.call(int_value, obj, value)):
                    mix(f.load(value))
            with f.when(f.equal(obj, the(f, "_Py_TrueStruct"))):
                mix(I64(1))
            with f.when(f.equal(obj, the(f, "_Py_FalseStruct"))):
                mix(I64(0))
    f.b.ret(f.load(key))


@function(PTR, PTR, PTR, PTR, inline=True)
def find(f: Emitter, chain: ir.Value, flat: ir.Value, frame: ir.Value) -> None:
    """ptr find(chain, flat, frame): the first version that fits, or null."""
    versions = f.get(chain, Chain, "versions")

    # a version that fits is the rare case of the loop, but the usual case of the call
    def try_linear(start: ir.Value, end: ir.Value) -> None:
        with f.loop(end, start=start) as i:
            version = f.load(f.item(versions, i), 0, PTR)
            f.return_if(f.call(matches, version, flat, frame), version)

    n_front = f.get(chain, Chain, "n_front")
    try_linear(I64(0), n_front)
    mask = f.get(chain, Chain, "hash_mask")
    with f.when(f.b.icmp_signed(">=", mask, I64(0))):
        key = f.call(signature_key, f.get(chain, Chain, "keyed"), f.get(chain, Chain, "n_arguments"), flat)
        slots = f.get(chain, Chain, "slots")
        with f.loop(I64(1 << 62)) as i:  # the table is never full: an empty slot ends the search
            slot = f.item(slots, f.b.and_(f.b.add(key, i), mask), ctypes.sizeof(HashSlot))
            version = f.get(slot, HashSlot, "version")
            with f.when(f.is_null(version)):
                try_linear(n_front, f.get(chain, Chain, "n_linear"))
                f.b.ret(NULL)
            with f.when(f.equal(f.get(slot, HashSlot, "key"), key)):
                f.return_if(f.call(matches, version, flat, frame), version)
    f.b.ret(NULL)
