"""tierup-insert-bounds-checks: what tier 0 raises for a VALUE, native code notices.

    %2 = torch.aten.gather %0, %dim, %1, %false
becomes
    %ok = torch.aten.all of (%1 >= 0 and %1 < size of %0)
    torch.runtime.assert %ok, "index out of range"
    %2 = torch.aten.gather %0, %dim, %1, %false

and so for every op whose row says `raises`: indices, divisors of integers, positions of slices that the run computes. What is
proven by constants is not checked. After a failed check the program goes on (see asserts_to_status), so what is read or
divided by is made safe as well: scalars here, by clamping; elements where the op is lowered. No position is safe on an axis without
elements: ops marked `tierup.may_be_empty`, whose axes the compiler does not know to have some, read other memory there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from operator import and_, or_
from typing import Union

from tierup.dialect.analysis.ints.positions import INSIDE, NOT_NEGATIVE
from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import Category
from tierup.dialect.ir.structure import take_place
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.ops.scalars.libm import LIBM, Interval
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import items_of, under_casts
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t
from tierup.lowering.ops.scalars import POSITIVE_DIVISOR

MAY_BE_EMPTY = "tierup.may_be_empty"
_Place = tuple[ir.Block, ir.Value, Union[int, tuple[ir.Value, int]]]
FITS = "tierup.fits"  # on ops of an index tensor that is known to be no larger than what it is for
_CHECKED = "tierup.checked"  # on ops that have been looked at: a second run adds nothing


def is_checked(op: ir.Operation) -> bool:
    """Whether the pass sees to it that native code notices what an op raises for a value."""
    return torch_name(op) in _HANDLERS


def reads_positions(op: ir.Operation) -> bool:
    """Whether an op reads elements of its first operand at positions that are checked."""
    return torch_name(op) in _READS


def position_of(op: ir.Operation) -> int:
    """Which operand of an op says the one position of an axis that it is about, the axis being the operand before; 0 for none."""
    if _HANDLERS.get(torch_name(op)) is not _select:
        return 0
    return 3 if op.name.endswith("select_scatter") else 2


def bounds_of_index(op: ir.Operation) -> list[tuple[int, int]]:
    """Of an op with an index of its operand's rank: the operands, each with an axis, that the index may not be larger than along it."""
    known = t.sizes_of(op.operands[0]) if _HANDLERS.get(torch_name(op)) is _each else None
    axis = None if known is None else t.known_int(op.operands[1])
    if known is None or axis is None or not known[0]:
        return []
    rank, has_source = len(known[0]), str(op.operands[3].type).startswith("!torch.vtensor")
    return [(0, d) for d in range(rank) if d != axis % rank] + [(3, d) for d in range(rank) if has_source]


@register
class InsertBoundsChecks(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        placed: dict[_Place, ir.Value] = {}  # positions that were checked, as they are safe
        for op in b.unerased(b.walk(function)):
            handler = _HANDLERS.get(torch_name(op))
            if handler is not None and _CHECKED not in op.attributes:
                op.attributes[_CHECKED] = ir.UnitAttr.get(op.context)
                if INSIDE in op.attributes:
                    continue
                with op.location, ir.InsertionPoint(op):
                    empty = MAY_BE_EMPTY in op.attributes and reads_positions(op)
                    place, slot = _place(op), position_of(op)
                    if place in placed:
                        op.operands[slot] = placed[place]
                    else:
                        handler(op)
                    if place is not None:
                        placed[place] = op.operands[slot]
                    if empty:
                        _read_other_memory(op)


# --- tensors of indices ------------------------------------------------------------------------------------------------


def _in_range(index: ir.Value, low: ir.Value, high: ir.Value) -> None:
    at_least = t.elementwise_bool("ge.Scalar", [index, low], index)
    below = t.elementwise_bool("lt.Scalar", [index, high], index)
    t.check_all(t.elementwise_bool("logical_and", [at_least, below], index), "index out of range")


def _elements(index: ir.Value) -> int | None:
    """How many elements, 0 standing for surely none; None when not known."""
    known = t.sizes_of(index)
    if known is None:
        return None
    return 0 if 0 in known[0] else 1 if None not in known[0] else None


def _along(axis_operand: int | None, index_operand: int) -> Callable[[ir.Operation], None]:
    """Indices along one axis (None: axis 0), from 0 up."""

    def handle(op: ir.Operation) -> None:
        x, index = op.operands[0], op.operands[index_operand]
        known = t.sizes_of(x)
        axis = 0 if axis_operand is None else t.known_int(op.operands[axis_operand])
        if known is None or axis is None or _elements(index) == 0:
            return
        high = t.size(x, axis % len(known[0])) if known[0] else t.integer(1)
        _in_range(index, t.integer(0), high)

    return handle


def _each(op: ir.Operation) -> None:
    """Positions along one axis, and an index that is no larger than what it is for, or nothing is read or written."""
    _along(1, 2)(op)
    holds = []
    for i, axis in bounds_of_index(op) if FITS not in op.attributes else ():
        size, limit = t.size(op.operands[2], axis), t.size(op.operands[i], axis)
        if (number := t.known_int(size)) is None or (most := t.known_int(limit)) is None or number > most:
            holds.append(size <= limit)
    if not holds:
        return
    ok, result = reduce(and_, holds), op.results[0]
    t.check(ok, "the index is larger than the tensor")
    made = b.op("torch.prim.If", [ok], [result.type], regions=2)
    result.replace_all_uses_with(made.results[0])
    with ir.InsertionPoint(made.regions[1].blocks.append()):
        other = op.operands[0]
        if reads_positions(op):
            rank = len(bounds_of_index(op)) + 1
            sizes = [t.size(op.operands[2], axis) for axis in range(rank)]
            other = b.value("torch.aten.new_zeros", [other, t.ints(sizes), *[t.none()] * 4], result.type)
        b.op("torch.prim.If.yield", [other], [])
    with ir.InsertionPoint(made.regions[0].blocks.append()):
        op.move_before(b.op("torch.prim.If.yield", [result], []))


def _listed(op: ir.Operation) -> None:
    """index.Tensor and index_put: one optional tensor per axis; negative indices count from the end; bool masks are not indices."""
    x = op.operands[0]
    for axis, value in enumerate(items_of(op.operands[1]) or []):
        index = under_casts(value)
        known = t.sizes_of(index) if str(index.type).startswith("!torch.vtensor") else None
        if known is None or known[1].category is not Category.INT or known[1] is dtypes.u8 or _elements(index) == 0:
            continue  # torch takes uint8 for a mask
        high = t.size(x, axis)
        _in_range(index, -high, high)


def _put(op: ir.Operation) -> None:
    """index_put: its indices; and where a mask has a value for each true element, that there are as many."""
    _listed(op)
    listed, values = items_of(op.operands[1]), t.sizes_of(op.operands[2])
    if listed is None or values is None:
        return
    whole = t.sizes_of(op.operands[0])
    indices = [(axis, under_casts(v)) for axis, v in enumerate(listed) if "tensor" in str(under_casts(v).type)]
    known = t.sizes_of(indices[0][1]) if len(indices) == 1 else None
    if whole is None or known is None or not known[0] or (known[1].category is not Category.BOOL and known[1] is not dtypes.u8):
        return
    first, mask = indices[0]
    axis = len(values[0]) - (len(whole[0]) - len(known[0]) + 1) + first
    if not 0 <= axis < len(values[0]) or values[0][axis] == 1:
        return
    true = t.elementwise_bool("ne.Scalar", [mask, t.integer(0)], mask)
    count = b.value("torch.aten.sum", [true, t.none()], t.tensor_type((), dtypes.i64))
    number = b.value("torch.aten.Int.Tensor", [count], t.int_type())
    t.check(t.Number(number).equals(t.size(op.operands[2], axis)), "the mask has another number of elements")


def _read_other_memory(op: ir.Operation) -> None:
    """Where an axis is empty that positions are for, read zeros, one along it: what any position is clamped to. Not the operand is chosen,
    but what is read: the choice of a tensor is a copy of it, but of one element."""
    if ".select" in op.name and not _is_element(op.results[0]):
        op = _as_index_select(op)
    x, name = op.operands[0], torch_name(op)
    known = t.sizes_of(x)
    axes = [] if known is None else [axis for axis in _axes(op, name, len(known[0])) if known[0][axis] is None]
    if known is None or not axes:
        return
    with ir.InsertionPoint(op):
        ok = reduce(and_, [t.size(x, axis) > 0 for axis in axes])
        made = b.op("torch.prim.If", [ok], [op.results[0].type], regions=2)
    op.results[0].replace_all_uses_with(made.results[0])
    with ir.InsertionPoint(made.regions[1].blocks.append()):
        sizes = [t.integer(1) if axis in axes else t.size(x, axis) for axis in range(len(known[0]))]
        other = op.clone()
        other.operands[0] = b.value("torch.aten.new_zeros", [x, t.ints(sizes), *[t.none()] * 4], x.type)
        b.op("torch.prim.If.yield", [other.results[0]], [])
        other.move_after(other.operands[0].owner)
    with ir.InsertionPoint(made.regions[0].blocks.append()):
        op.move_before(b.op("torch.prim.If.yield", [op.results[0]], []))


def _is_element(value: ir.Value) -> bool:
    """Whether a tensor has rank 0."""
    known = t.sizes_of(value)
    return known is not None and not known[0]


def _as_index_select(op: ir.Operation) -> ir.Operation:
    """A select, whose result is a view, as an index_select, which makes a tensor; the latter."""
    x, axis, position = op.operands
    known, number = t.sizes_of(x), t.known_int(axis)
    if known is None or number is None or not known[0]:
        return op
    number %= len(known[0])
    sizes = [1 if i == number else size for i, size in enumerate(known[0])]
    place = t.Number(position) % t.greatest(t.size(x, number), 1)
    index = b.value(
        "torch.aten.full", [t.ints([t.integer(1)]), place, t.integer(dtypes.i64.code), *[t.none()] * 3], t.tensor_type((1,), dtypes.i64)
    )
    made = b.op("torch.aten.index_select", [x, t.integer(number), index], [t.tensor_type(sizes, known[1])])
    for checked in (place.owner, made):  # the position was, and the divisor is not 0
        checked.attributes[_CHECKED] = ir.UnitAttr.get(op.context)
    row = b.value("torch.aten.squeeze.dim", [made.results[0], t.integer(number)], op.results[0].type)
    take_place(op, [row])
    return made


def _axes(op: ir.Operation, name: str, rank: int) -> list[int]:
    """The axes that an op's positions are for."""
    if not name.startswith("aten.index.Tensor"):
        axis = 0 if name == "aten.embedding" else t.known_int(op.operands[1])
        return [] if axis is None or not rank else [axis % rank]
    return [axis for axis, value in enumerate(items_of(op.operands[1]) or []) if "tensor" in str(under_casts(value).type)]


# --- divisors ----------------------------------------------------------------------------------------------------------


def _divisor(op: ir.Operation) -> None:
    """Integers by integers: zero raises, when any element meets it."""
    result = t.sizes_of(op.results[0])
    if result is None or result[1].category is not Category.INT or _elements(op.results[0]) == 0:
        return
    divisor = op.operands[1]
    if str(divisor.type).startswith("!torch.vtensor"):
        t.check_all(t.elementwise_bool("ne.Scalar", [divisor, t.integer(0)], divisor), "integer division or modulo by zero")
    elif t.known_int(divisor) in (0, None) and str(divisor.type) == "!torch.int":
        t.check(t.Number(divisor).differs(0), "integer division or modulo by zero")


def _power(op: ir.Operation) -> None:
    """An integer to a negative number that the run computes."""
    result = t.sizes_of(op.results[0])
    exponent = op.operands[1]
    if result is None or result[1].category is not Category.INT or str(exponent.type) != "!torch.int" or t.known_int(exponent) is not None:
        return
    t.check(t.Number(exponent) >= 0, "Integers to negative integer powers are not allowed.")


def _scalar_divisor(op: ir.Operation) -> None:
    """Ints of the program by a zero that the run computes."""
    divisor = op.operands[1]
    if t.known_int(divisor) in (0, None) and POSITIVE_DIVISOR not in op.attributes:
        t.check(t.Number(divisor).differs(0), "integer division or modulo by zero")


def _power_of_zero(op: ir.Operation) -> None:
    """0.0 to a negative power: one of two numbers that the run computes must tell."""
    base, exponent = op.operands
    zero = b.value("torch.aten.Float.Scalar", [base], ir.Type.parse("!torch.float"))
    number, power = t.constant(0.0), b.value("torch.aten.Float.Scalar", [exponent], ir.Type.parse("!torch.float"))
    t.check(~(t.Number(zero).equals(number) & (t.Number(power) < number)), "0.0 cannot be raised to a negative power")


def _within(surely: Interval) -> Callable[[ir.Operation], None]:
    """A float of which Python may raise outside of an interval. NaN passes."""

    def handle(op: ir.Operation) -> None:
        x = t.Number(op.operands[0])
        beyond = [x < t.constant(surely[0])] if math.isfinite(surely[0]) else []
        beyond += [t.constant(surely[1]) < x] if math.isfinite(surely[1]) else []
        t.check(~reduce(or_, beyond), "a function of math may raise there")

    return handle


def _whole(op: ir.Operation) -> None:
    """A float that is rounded to an int: NaN and what 64 bits do not hold are none."""
    x = t.Number(op.operands[0])
    t.check((x >= t.constant(-(2.0**63))) & (x < t.constant(2.0**63)), "Cannot convert float to integer")


def _raise(op: ir.Operation) -> None:
    """The program raises here: tier 0 does, with the message."""
    t.check(t.constant(False), "the program raises an exception")
    op.erase()


# --- positions ---------------------------------------------------------------------------------------------------------


def _item(op: ir.Operation) -> None:
    """One item of a list that is spelled out."""
    items, position = items_of(op.operands[0]), op.operands[1]
    if items is None or t.known_int(position) is not None:
        return
    _check_position(position, len(items), "list index out of range")
    if op.results[0].type == t.int_type() and items:
        take_place(op, [_chosen(items, position)])


def _size(op: ir.Operation) -> None:
    """The size of a dim that only the run knows."""
    x, position = op.operands
    known = t.sizes_of(x)
    if known is None or not known[0] or t.known_int(position) is not None:
        return
    _check_position(position, len(known[0]), "Dimension out of range")
    take_place(op, [_chosen([t.size(x, axis) for axis in range(len(known[0]))], position)])


def _check_position(position: ir.Value, length: int, message: str) -> None:
    t.check(t.Number(position) >= -length, message)
    t.check(t.Number(position) < length, message)


def _chosen(items: list[ir.Value], position: ir.Value) -> ir.Value:
    """The item at a position that only the run knows: one after the other is compared."""
    at = t.Number(position)

    def chosen(so_far: ir.Value, i: int) -> ir.Value:
        return t.either(at.equals(i) | at.equals(i - len(items)), lambda: items[i], lambda: so_far)

    return reduce(chosen, range(1, len(items)), items[0])


def _place(op: ir.Operation) -> _Place | None:
    """What two ops have in common that are about the same position of axes of one size, in one block."""
    slot = position_of(op)
    known, axis = (t.sizes_of(op.operands[0]), t.known_int(op.operands[slot - 1])) if slot else (None, None)
    if known is None or axis is None or not known[0]:
        return None
    axis %= len(known[0])
    length = known[0][axis]
    return op.block, op.operands[slot], (op.operands[0], axis) if length is None else length


def _select(op: ir.Operation) -> None:
    """One position of an axis, negative ones from the end."""
    slot = position_of(op)
    x, position = op.operands[0], op.operands[slot]
    axis = t.known_int(op.operands[slot - 1])
    known = t.sizes_of(x)
    if known is None or axis is None or not known[0]:
        return
    axis %= len(known[0])
    number, length = t.known_int(position), known[0][axis]
    if number is not None and length is not None and -length <= number < length:
        return
    size = t.size(x, axis)
    lowest, at = t.integer(0) if NOT_NEGATIVE in op.attributes else -size, t.Number(position)
    t.check((at >= lowest) & (at < size), "index out of range")
    op.operands[slot] = t.greatest(t.least(at, size - 1), lowest)  # 0 where the axis is empty


_DIVISIONS = ("aten.floor_divide", "aten.floor_divide.Scalar",
              *(f"aten.{n}.{k}" for n in ("remainder", "fmod") for k in ("Tensor", "Scalar")),
              "aten.div.Tensor_mode", "aten.div.Scalar_mode")  # fmt: skip

_READS = (
    "aten.index_select", "aten.gather", "aten.embedding", "aten.index.Tensor", "aten.index.Tensor_hacked_twin", "aten.select.int",
    "aten.select_copy.int",
)  # fmt: skip
_HANDLERS: dict[str, Callable[[ir.Operation], None]] = {
    "aten.index_select": _along(1, 2),
    "aten.gather": _each,
    "aten.scatter.src": _each,
    "aten.scatter.value": _each,
    "aten.scatter_add": _each,
    "aten.scatter_reduce.two": _each,
    "aten.embedding": _along(None, 1),
    "aten.index.Tensor": _listed,
    "aten.index.Tensor_hacked_twin": _listed,
    "aten.index_put": _put,
    "tierup.at": _put,
    "aten.index_put.hacked_twin": _put,
    "aten._unsafe_index_put.hacked_twin": _put,
    **{name: _divisor for name in _DIVISIONS},
    "aten.pow.Tensor_Scalar": _power,
    "aten.floordiv.int": _scalar_divisor,
    "aten.remainder.int": _scalar_divisor,
    **{f"aten.pow.{kind}": _power_of_zero for kind in ("int", "float", "int_float", "float_int")},
    **{f"aten.{name}": _whole for name in ("ceil.float", "floor.float")},
    **{name: _within(found.surely) for name, found in LIBM.items() if found.surely is not None},
    "prim.RaiseException": _raise,
    "aten.__getitem__.t": _item,
    "aten.size.int": _size,
    "aten.select.int": _select,
    "aten.select_copy.int": _select,
    "aten.select_scatter": _select,
}
