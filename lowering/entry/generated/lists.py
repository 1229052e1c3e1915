"""Generated code that reads the numbers of lists, and lets lists have what a program made of them.

The same in Python: `runtime/arguments/lists/columns.py`, `runtime/arguments/lists/changed.py`.
"""

from __future__ import annotations

import ctypes

from llvmlite import ir

from tierup.lowering.entry import layout
from tierup.lowering.entry.generated.ir import F64, I1, I8, I64, NO, NULL, PTR, VOID, YES, Emitter, function
from tierup.lowering.entry.generated.python import api, decref, int_value, new_reference, the, type_of
from tierup.lowering.entry.layout import ListRecord, StepKind, Table


@function(I1, PTR, PTR, inline=True)
def is_number(f: Emitter, obj: ir.Value, kind: ir.Value) -> None:
    """i1 is_number(object, type): whether it is exactly of this type, float, int or bool, and fits in 64 bits."""
    f.return_if(f.differ(type_of(f, obj), kind), NO)
    f.return_if(f.differ(kind, the(f, "PyLong_Type")), YES, likely=True)
    f.b.ret(f.call(int_value, obj, f.variable(I64, I64(0))))


@function(VOID, PTR, PTR, PTR, I64, inline=True)
def put_number(f: Emitter, obj: ir.Value, kind: ir.Value, data: ir.Value, at: ir.Value) -> None:
    """void put_number(object, type, data, at): write what `is_number` holds of as element `at` of float64, int64 or bool."""
    with f.when(f.equal(kind, the(f, "PyFloat_Type")), likely=True):
        f.store(f.load(obj, layout.FLOAT_VALUE, F64), f.item(data, at))
        f.b.ret_void()
    with f.when(f.equal(kind, the(f, "PyLong_Type")), likely=True):
        f.call(int_value, obj, f.item(data, at))
        f.b.ret_void()
    f.store(f.b.zext(f.equal(obj, the(f, "_Py_TrueStruct")), I8), f.item(data, at, 1))
    f.b.ret_void()


@function(I64, PTR, PTR, I64)
def kind_among(f: Emitter, obj: ir.Value, kinds: ir.Value, count: ir.Value) -> None:
    """i64 kind_among(object, kinds, count): which of the arrays that have these types has an object: of several the first says which one;
    -1: none."""
    several = f.b.zext(f.differ(count, I64(1)), I64)
    with f.loop(f.b.sub(count, several)) as j:
        column = f.b.add(j, several)
        f.return_if(f.call(is_number, obj, kind_of(f, kinds, column)), column)
    f.b.ret(I64(-1))


def kind_of(f: Emitter, kinds: ir.Value, column: ir.Value) -> ir.Value:
    """The type of the numbers in an array."""
    return f.load(f.item(kinds, column, 16), 0, PTR)


def data_of(f: Emitter, arrays: ir.Value, column: ir.Value) -> ir.Value:
    """Where the elements of an array are."""
    return f.load(f.load(f.item(arrays, column), 0, PTR), layout.ARRAY_DATA, PTR)


@function(I1, PTR, PTR, I64)
def all_are(f: Emitter, items: ir.Value, kinds: ir.Value, count: ir.Value) -> None:
    """i1 all_are(list, kinds, count): whether all items are numbers of these types."""
    with f.when(f.equal(count, I64(1)), likely=True):
        with f.loop(f.load(items, layout.OB_SIZE)) as i:
            f.return_if(f.b.not_(f.call(is_number, item_of(f, items, i), kind_of(f, kinds, I64(0)))), NO)
        f.b.ret(YES)
    with f.loop(f.load(items, layout.OB_SIZE)) as i:
        f.return_if(f.less(f.call(kind_among, item_of(f, items, i), kinds, count), I64(0)), NO)
    f.b.ret(YES)


@function(VOID, PTR, PTR, I64, PTR, I64)
def put_all(f: Emitter, items: ir.Value, kinds: ir.Value, count: ir.Value, arrays: ir.Value, first: ir.Value) -> None:
    """void put_all(list, kinds, count, arrays, first): write all items, from element `first` on."""
    with f.when(f.equal(count, I64(1)), likely=True):
        kind, data = kind_of(f, kinds, I64(0)), data_of(f, arrays, I64(0))
        with f.loop(f.load(items, layout.OB_SIZE)) as i:
            f.call(put_number, item_of(f, items, i), kind, data, f.b.add(first, i))
        f.b.ret_void()
    with f.loop(f.load(items, layout.OB_SIZE)) as i:
        obj, at = item_of(f, items, i), f.b.add(first, i)
        mine = f.call(kind_among, obj, kinds, count)
        f.store(f.b.sub(mine, I64(1)), f.item(data_of(f, arrays, I64(0)), at))
        with f.loop(f.b.sub(count, I64(1))) as j:
            column = f.b.add(j, I64(1))
            kind, data = kind_of(f, kinds, column), data_of(f, arrays, column)
            is_mine = f.equal(column, mine)
            with f.when(is_mine):
                f.call(put_number, obj, kind, data, at)
            with f.when(f.b.not_(is_mine)):
                put_zero(f, kind, data, at)
    f.b.ret_void()


def put_zero(f: Emitter, kind: ir.Value, data: ir.Value, at: ir.Value) -> None:
    """Write the zero of a type as element `at`."""
    is_bool = f.equal(kind, the(f, "PyBool_Type"))
    with f.when(is_bool):
        f.store(I8(0), f.item(data, at, 1))
    with f.when(f.b.not_(is_bool)):
        f.store(I64(0), f.item(data, at))


@function(I64, PTR, PTR, I64)
def count_in_rows(f: Emitter, items: ir.Value, kinds: ir.Value, count: ir.Value) -> None:
    """i64 count_in_rows(list, kinds, count): how many numbers there are in a list of lists; -1 where there is something else."""
    total = f.variable(I64, I64(0))
    with f.loop(f.load(items, layout.OB_SIZE)) as i:
        row = item_of(f, items, i)
        f.return_if(f.differ(type_of(f, row), the(f, "PyList_Type")), I64(-1))
        f.return_if(f.b.not_(f.call(all_are, row, kinds, count)), I64(-1))
        f.store(f.b.add(f.load(total), f.load(row, layout.OB_SIZE)), total)
    f.b.ret(f.load(total))


@function(VOID, PTR, PTR, I64, PTR)
def put_rows(f: Emitter, items: ir.Value, kinds: ir.Value, count: ir.Value, arrays: ir.Value) -> None:
    """void put_rows(list, kinds, count, arrays): write where each list in a list begins and the last one ends, and all their items, into
    `count` arrays behind that."""
    at, starts, rows = f.variable(I64, I64(0)), data_of(f, arrays, I64(0)), f.load(items, layout.OB_SIZE)
    with f.loop(rows) as i:
        row, first = item_of(f, items, i), f.load(at)
        f.store(first, f.item(starts, i))
        f.call(put_all, row, kinds, count, f.item(arrays, I64(1)), first)
        f.store(f.b.add(first, f.load(row, layout.OB_SIZE)), at)
    f.store(f.load(at), f.item(starts, rows))
    f.b.ret_void()


@function(I1, PTR, PTR, I64)
def are_tuples(f: Emitter, items: ir.Value, kinds: ir.Value, places: ir.Value) -> None:
    """i1 are_tuples(list, kinds, places): whether all items are tuples of so many numbers, of the types that stand in `kinds`."""
    with f.loop(f.load(items, layout.OB_SIZE)) as i:
        item = item_of(f, items, i)
        f.return_if(f.differ(type_of(f, item), the(f, "PyTuple_Type")), NO)
        f.return_if(f.differ(f.load(item, layout.OB_SIZE), places), NO)
        with f.loop(places) as j:
            f.return_if(f.b.not_(f.call(is_number, place_of(f, item, j), kind_of(f, kinds, j))), NO)
    f.b.ret(YES)


@function(VOID, PTR, PTR, I64, PTR)
def put_places(f: Emitter, items: ir.Value, kind: ir.Value, place: ir.Value, array: ir.Value) -> None:
    """void put_places(list, type, place, array): write the number at one place of each tuple."""
    data = f.load(array, layout.ARRAY_DATA, PTR)
    with f.loop(f.load(items, layout.OB_SIZE)) as i:
        f.call(put_number, place_of(f, item_of(f, items, i), place), kind, data, i)
    f.b.ret_void()


def item_of(f: Emitter, items: ir.Value, i: ir.Value) -> ir.Value:
    """An item of a list, a borrowed reference."""
    return f.load(f.item(f.load(items, layout.LIST_ITEMS, PTR), i), 0, PTR)


def place_of(f: Emitter, items: ir.Value, i: ir.Value) -> ir.Value:
    """An item of a tuple, a borrowed reference."""
    return f.load(f.item(f.at(items, layout.TUPLE_ITEMS), i), 0, PTR)


@function(I64, PTR, PTR, I64)
def are_apart(f: Emitter, slots: ir.Value, which: ir.Value, count: ir.Value) -> None:
    """i64 are_apart(slots, which, count): whether no two lists, and lists in lists, are one: 1, 0, or -1 with an exception set. `which`:
    the slot of each list, and whether there are lists in it, in turn."""
    has_rows, seen, total = f.variable(I64, I64(0)), f.variable(PTR, NULL), f.variable(I64, I64(0))
    with f.loop(count) as i:
        mine = f.load(f.item(slots, f.load(f.item(which, i, 16))), 0, PTR)
        f.store(f.b.or_(f.load(has_rows), f.load(f.item(which, i, 16), 8)), has_rows)
        with f.loop(i) as j:
            f.return_if(f.equal(mine, f.load(f.item(slots, f.load(f.item(which, j, 16))), 0, PTR)), I64(0))
    f.return_if(f.equal(f.load(has_rows), I64(0)), I64(1), likely=True)
    f.store(api(f, "PySet_New", NULL), seen)
    f.return_if(f.is_null(f.load(seen, 0, PTR)), I64(-1))

    def see(one: ir.Value) -> None:
        f.store(f.b.add(f.load(total), I64(1)), total)
        with f.when(f.b.not_(f.call(put_in, f.load(seen, 0, PTR), one)), likely=False):
            f.call(decref, f.load(seen, 0, PTR))
            f.b.ret(I64(-1))

    with f.loop(count) as i:
        mine = f.load(f.item(slots, f.load(f.item(which, i, 16))), 0, PTR)
        see(mine)
        with f.when(f.differ(f.load(f.item(which, i, 16), 8), I64(0))), f.loop(f.load(mine, layout.OB_SIZE)) as k:
            see(item_of(f, mine, k))
    size = api(f, "PySet_Size", f.load(seen, 0, PTR))
    f.call(decref, f.load(seen, 0, PTR))
    f.b.ret(f.b.zext(f.equal(size, f.load(total)), I64))


@function(I1, PTR, PTR)
def put_in(f: Emitter, seen: ir.Value, one: ir.Value) -> None:
    """i1 put_in(set, object): put the object's address into a set; false with an exception set."""
    number = api(f, "PyLong_FromLongLong", f.b.ptrtoint(one, I64))
    f.return_if(f.is_null(number), NO)
    added = api(f, "PySet_Add", seen, number)
    f.call(decref, number)
    f.b.ret(f.b.icmp_signed(">=", added, added.type(0)))


@function(I1, PTR, PTR, PTR, I64, inline=True)
def is_still(f: Emitter, obj: ir.Value, kind: ir.Value, data: ir.Value, at: ir.Value) -> None:
    """i1 is_still(object, type, data, at): whether an object is what `put_number` wrote, bit by bit."""
    f.return_if(f.differ(type_of(f, obj), kind), NO, likely=False)
    with f.when(f.equal(kind, the(f, "PyFloat_Type")), likely=True):
        f.b.ret(f.equal(f.load(obj, layout.FLOAT_VALUE), f.load(f.item(data, at))))
    with f.when(f.equal(kind, the(f, "PyLong_Type")), likely=True):
        value = f.variable(I64, I64(0))
        f.b.ret(f.b.and_(f.call(int_value, obj, value), f.equal(f.load(value), f.load(f.item(data, at)))))
    f.b.ret(f.equal(obj, truth(f, data, at)))


def truth(f: Emitter, data: ir.Value, at: ir.Value) -> ir.Value:
    """Python's bool of an element, a borrowed reference."""
    is_false = f.equal(f.load(f.item(data, at, 1), 0, I8), I8(0))
    return f.b.select(is_false, the(f, "_Py_FalseStruct"), the(f, "_Py_TrueStruct"))


@function(PTR, PTR, PTR, I64)
def number_at(f: Emitter, kind: ir.Value, data: ir.Value, at: ir.Value) -> None:
    """ptr number_at(type, data, at): Python's number of an element; null with an exception set."""
    with f.when(f.equal(kind, the(f, "PyFloat_Type")), likely=True):
        f.b.ret(api(f, "PyFloat_FromDouble", f.load(f.item(data, at), 0, F64)))
    with f.when(f.equal(kind, the(f, "PyLong_Type")), likely=True):
        f.b.ret(api(f, "PyLong_FromLongLong", f.load(f.item(data, at))))
    f.b.ret(new_reference(f, truth(f, data, at)))


@function(I1, PTR, PTR, I64, PTR, I64, I64)
def give(f: Emitter, items: ir.Value, kinds: ir.Value, columns: ir.Value, arrays: ir.Value, first: ir.Value, count: ir.Value) -> None:
    """i1 give(list, kinds, columns, arrays, first, count): let as many items be the elements from `first` on, but for those that are; false
    with an exception set. Another thread may have made the list shorter, or longer, while the kernel ran without the GIL."""
    column = f.variable(I64, I64(0))
    with f.loop(count) as i:
        f.return_if(f.b.not_(f.less(i, f.load(items, layout.OB_SIZE))), YES, likely=False)
        at, was = f.b.add(first, i), item_of(f, items, i)
        with f.when(f.differ(columns, I64(1)), likely=False):
            f.store(f.b.add(f.load(f.item(data_of(f, arrays, I64(0)), at)), I64(1)), column)
        kind, data = kind_of(f, kinds, f.load(column)), data_of(f, arrays, f.load(column))
        with f.when(f.b.not_(f.call(is_still, was, kind, data, at))):
            now = f.call(number_at, kind, data, at)
            f.return_if(f.is_null(now), NO, likely=False)
            put_item(f, items, i, now)
    f.b.ret(YES)


def put_item(f: Emitter, items: ir.Value, i: ir.Value, now: ir.Value) -> None:
    """`list[i] = now`, which is taken over."""
    place = f.item(f.load(items, layout.LIST_ITEMS, PTR), i)
    was = f.load(place, 0, PTR)
    f.store(now, place)
    f.call(decref, was)


def length_of(f: Emitter, array: ir.Value) -> ir.Value:
    """How many elements an array of rank 1 has."""
    return f.load(f.load(array, layout.ARRAY_DIMS, PTR))


@function(I1, PTR, PTR, I64, PTR)
def give_rows(f: Emitter, items: ir.Value, kinds: ir.Value, columns: ir.Value, arrays: ir.Value) -> None:
    """i1 give_rows(list, kinds, columns, arrays): `give` for each list in a list, by where it begins."""
    rows, starts = f.b.sub(length_of(f, f.load(arrays, 0, PTR)), I64(1)), data_of(f, arrays, I64(0))
    with f.loop(rows) as i:
        f.return_if(f.b.not_(f.less(i, f.load(items, layout.OB_SIZE))), YES, likely=False)
        row, first = item_of(f, items, i), f.load(f.item(starts, i))
        f.return_if(f.differ(type_of(f, row), the(f, "PyList_Type")), YES, likely=False)
        count = f.b.sub(f.load(f.item(starts, f.b.add(i, I64(1)))), first)
        f.return_if(f.b.not_(f.call(give, row, kinds, columns, f.item(arrays, I64(1)), first, count)), NO)
    f.b.ret(YES)


@function(I1, PTR, PTR, I64, PTR)
def give_tuples(f: Emitter, items: ir.Value, kinds: ir.Value, places: ir.Value, arrays: ir.Value) -> None:
    """i1 give_tuples(list, kinds, places, arrays): let the items be tuples of the elements of all arrays, but for those that are."""
    differs = f.variable(I1, NO)
    with f.loop(length_of(f, f.load(arrays, 0, PTR))) as i:
        f.return_if(f.b.not_(f.less(i, f.load(items, layout.OB_SIZE))), YES, likely=False)
        was = item_of(f, items, i)
        f.return_if(f.differ(type_of(f, was), the(f, "PyTuple_Type")), YES, likely=False)
        f.return_if(f.differ(f.load(was, layout.OB_SIZE), places), YES, likely=False)
        f.store(NO, differs)
        with f.loop(places) as j:
            is_other = f.b.not_(f.call(is_still, place_of(f, was, j), kind_of(f, kinds, j), data_of(f, arrays, j), i))
            f.store(f.b.or_(f.load(differs, 0, I1), is_other), differs)
        with f.when(f.load(differs, 0, I1)):
            made = api(f, "PyTuple_New", places)
            f.return_if(f.is_null(made), NO, likely=False)
            with f.loop(places) as j:
                now = f.call(number_at, kind_of(f, kinds, j), data_of(f, arrays, j), i)
                with f.when(f.is_null(now), likely=False):
                    f.call(decref, made)
                    f.b.ret(NO)
                f.store(now, f.item(f.at(made, layout.TUPLE_ITEMS), j))
            put_item(f, items, i, made)
    f.b.ret(YES)


@function(I1, PTR, PTR)
def give_lists(f: Emitter, table: ir.Value, flat: ir.Value) -> None:
    """i1 give_lists(table, flat): let the lists that changed have what is in their arrays; false with an exception set."""
    n_flat = f.get(table, Table, "n_flat")
    with f.loop(f.get(table, Table, "n_lists")) as i:
        record = f.item(f.get(table, Table, "lists"), i, ctypes.sizeof(ListRecord))
        items, arrays = f.load(f.item(flat, f.b.add(n_flat, i)), 0, PTR), f.item(flat, f.get(record, ListRecord, "first"))
        types, columns, good = f.get(record, ListRecord, "types"), f.get(record, ListRecord, "places"), f.variable(I1, YES)
        with f.cases(f.get(record, ListRecord, "kind")) as case:
            case(StepKind.NUMBERS)
            f.store(f.call(give, items, types, columns, arrays, I64(0), length_of(f, f.load(arrays, 0, PTR))), good)
            case(StepKind.ROWS)
            f.store(f.call(give_rows, items, f.item(types, I64(1), 16), f.b.sub(columns, I64(1)), arrays), good)
            case(StepKind.PLACES)
            f.store(f.call(give_tuples, items, types, columns, arrays), good)
        f.return_if(f.b.not_(f.load(good, 0, I1)), NO, likely=False)
    f.b.ret(YES)
