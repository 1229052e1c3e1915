"""Views and their inverses: what a tensor is after a write through a view of it.

Each inverse makes, from the viewed tensor `whole`, the view's operands and the view's new contents `part`, the new `whole`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tierup.dialect.analysis.showing import Shown, reached, shown
from tierup.dialect.ir.attributes import LOCKED, PROMOTION, constant
from tierup.dialect.ir.structure import CASTS, attributes_of, maker
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Promotion
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.passes.functional.memory import Entry, Ref, Step, value_type
from tierup.dialect.rewriting.core import int_of, ints_of

_READ_ONLY = ("torch.aten.broadcast_to", "torch.aten.diagonal")  # in NumPy
_MAY_COPY = ("torch.aten.reshape", "torch.aten.contiguous", "torch.aten.flatten.using_ints")


def apply(step: Step, whole: ir.Value, ip: ir.InsertionPoint) -> ir.Value:
    """The view of `whole`."""
    op = step.op
    types = [value_type(r.type) for r in op.results]
    made = ir.Operation.create(op.name, types, [whole, *step.operands], attributes_of(op), loc=op.location, ip=ip)
    return made.results[step.part]


def identity(chain: Sequence[Step]) -> bool:
    """Whether a chain shows the very tensor that it starts from."""
    return all(step.name in CASTS for step in chain)


def in_place_of_part(chain: Sequence[Step]) -> bool:
    """Whether a write through a chain goes into a part of what it starts from, which keeps the layout of the whole."""
    return any(_INVERSES.get(step.name.removeprefix("torch.")) in (None, _select, _slice, _narrow, _diagonal) for step in chain)


def may_be_operand(op: ir.Operation) -> bool:
    """Whether an op may give its operand itself, which sizes, dtypes and layouts decide."""
    row, rules = row_of(op), Promotion.NUMPY if PROMOTION in op.attributes else Promotion.TORCH
    return op.name in CASTS or (row is not None and rules in row.may_be_operand)


def is_new(entry: Entry) -> bool:
    """Whether a tensor is surely another object than those whose memory it may show."""
    return isinstance(entry, Ref) and (entry.storage.new or not all(may_be_operand(step.op) for step in entry.chain))


def is_read_only(op: ir.Operation) -> bool:
    """Whether NumPy lets nobody write what an op gives."""
    return op.name in _READ_ONLY and (PROMOTION in op.attributes or LOCKED in op.attributes)


def read_only(chain: Sequence[Step]) -> bool:
    """Whether NumPy lets nobody write through a chain: behind np.broadcast_to and np.diagonal, unless a reshape may have copied."""
    found = False
    for step in chain:
        found = is_read_only(step.op) or found and step.name not in _MAY_COPY
    return found


def in_part(one: Sequence[Step], other: Sequence[Step]) -> bool:
    """Whether two chains from one tensor may show some of the same elements, and not all: items of one dim are the same or apart."""
    for i, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            items = a.name == b.name == "torch.aten.select.int" and a.operands[0] == b.operands[0] and one[i + 1 :] == other[i + 1 :]
            return not items and not apart(one, other)
    return len(one) != len(other)


def apart(one: Sequence[Step], other: Sequence[Step]) -> bool:
    """Whether two chains from one tensor surely show different elements: where they part, one takes another index or range of a dim."""
    for a, b in zip(one, other, strict=False):
        if a == b:
            continue
        if a.part != b.part and a.name == b.name == "torch.prim.ListUnpack":
            return True
        mine, theirs = _range(a), _range(b)
        if mine is None or theirs is None or mine[0] != theirs[0] or (mine[1] < 0) != (theirs[1] < 0):
            return False
        return mine[2] <= theirs[1] or theirs[2] <= mine[1]
    return False


def _range(step: Step) -> tuple[int, int, float] | None:
    """A dim, and of which elements along it a step is a view: from the first to before the last, all from the front or all from behind."""
    if step.name not in ("torch.aten.select.int", "torch.aten.slice.Tensor"):
        return None
    dim, start = int_of(step.operands[0]), _bound(step.operands[1], 0)
    if dim is None or start is None:
        return None
    if step.name == "torch.aten.select.int":
        return dim, int(start), start + 1
    end = _bound(step.operands[2], math.inf)
    if end is None or (start < 0) != (end < 0 or (start < 0 and end == math.inf)):
        return None
    return dim, int(start), min(end, 0) if start < 0 else end


def _bound(value: ir.Value, left_out: float) -> float | None:
    return left_out if maker(value, "torch.constant.none") is not None else int_of(value)


@dataclass(frozen=True)
class _Write:
    """A write through one step, on behalf of the user's op `by`."""

    step: Step
    whole: ir.Value
    part: ir.Value
    by: ir.Operation
    ip: ir.InsertionPoint

    def make(self, name: str, operands: Sequence[ir.Value], type_: ir.Type | None = None) -> ir.Value:
        return ir.Operation.create(
            f"torch.{name}", [type_ or self.whole.type], operands, loc=self.by.location, ip=self.ip
        ).results[0]

    def int(self, value: int) -> ir.Value:
        return constant(value, self.ip, self.by.location)

    def refuse(self, why: str) -> PassFailure:
        viewed = self.step.name.removeprefix("torch.")
        return PassFailure(self.by, f"writes through {viewed}: {why}", (self.step.op, "the view is made here"))


def put(chain: Sequence[Step], whole: ir.Value, part: ir.Value, by: ir.Operation, ip: ir.InsertionPoint) -> ir.Value:
    """The new `whole` once the last step's view of it has the contents `part`. Raises PassFailure where no op says that."""
    step = chain[-1]
    write = _Write(step, whole, part, by, ip)
    inverse = _INVERSES.get(step.name.removeprefix("torch."))
    if inverse is None:
        raise write.refuse("no op gives the whole back from this view")
    return inverse(write)


def put_item(chain: Sequence[Step], whole: ir.Value, part: ir.Value, by: ir.Operation, ip: ir.InsertionPoint) -> ir.Value:
    """The new `whole` once one of the tensors that unbind gives has the contents `part`; `chain` ends in unbind and the taking of one."""
    taking = chain[-2]
    write = _Write(taking, whole, part, by, ip)
    if taking.name != "torch.aten.unbind.int" or chain[-1].name != "torch.prim.ListUnpack":
        raise write.refuse("no op gives the whole back from one of its parts")
    return write.make("aten.select_scatter", [whole, part, taking.operands[0], write.int(chain[-1].part)])


def _again(w: _Write) -> ir.Value:
    """Views that undo themselves."""
    return w.make(w.step.name.removeprefix("torch."), [w.part, *w.step.operands])


def _same(w: _Write) -> ir.Value:
    return w.part


def _cast_back(w: _Write) -> ir.Value:
    return w.part if w.part.type == w.whole.type else w.make("tensor_static_info_cast", [w.part])


def _select(w: _Write) -> ir.Value:
    return w.make("aten.select_scatter", [w.whole, w.part, *w.step.operands])


def _slice(w: _Write) -> ir.Value:
    step = int_of(w.step.operands[3])
    if PROMOTION in w.step.op.attributes and (step is None or step < 1):  # NumPy's slices may go backwards; torch's raise
        raise w.refuse("a step that is not a positive constant")
    return w.make("aten.slice_scatter", [w.whole, w.part, *w.step.operands])


def _narrow(w: _Write) -> ir.Value:
    dim, start, length = w.step.operands
    first, number = int_of(start), start.type
    if first is None or first < 0:  # from behind, where it is negative; of no elements the start is 0
        size = w.make("prim.max.int", [w.make("aten.size.int", [w.whole, dim], number), w.int(1)], number)
        start = w.make("aten.remainder.int", [start, size], number)
    return w.make("aten.slice_scatter", [w.whole, w.part, dim, start, w.make("aten.add.int", [start, length], number), w.int(1)])


def _diagonal(w: _Write) -> ir.Value:
    if PROMOTION in w.step.op.attributes:
        raise w.refuse("NumPy's diagonals are read-only")
    return w.make("aten.diagonal_scatter", [w.whole, w.part, *w.step.operands])


def _permute(w: _Write) -> ir.Value:
    dims = ints_of(w.step.operands[0])
    if dims is None:
        raise w.refuse("axes that are not constants")
    order = [d % len(dims) for d in dims]
    if len(set(order)) < len(order):
        raise w.refuse("an axis stands twice")
    list_type = ir.Type.parse("!torch.list<int>", w.by.context)
    return w.make("aten.permute", [w.part, w.make("prim.ListConstruct", [w.int(order.index(i)) for i in range(len(order))], list_type)])


def _movedim(w: _Write) -> ir.Value:
    source, destination = w.step.operands
    return w.make("aten.movedim.int", [w.part, destination, source])


def _unsqueeze(w: _Write) -> ir.Value:
    return w.make("aten.squeeze.dim", [w.part, w.step.operands[0]])


def _reshaped(w: _Write) -> ir.Value:
    """Views of the same elements in the same order: back to the whole's sizes."""
    return w.make("aten.reshape_as", [w.part, w.whole])


_INVERSES: dict[str, Callable[[_Write], ir.Value]] = {
    "tensor_static_info_cast": _cast_back,
    "aten.alias": _same,
    "aten.detach": _same,
    "prims.view_of": _same,
    "aten.transpose.int": _again,
    "aten.t": _again,
    "aten.numpy_T": _again,
    "aten.permute": _permute,
    "aten.movedim.int": _movedim,
    "aten.select.int": _select,
    "aten.slice.Tensor": _slice,
    "aten.narrow": _narrow,
    "aten.diagonal": _diagonal,
    "aten.unsqueeze": _unsqueeze,
    **{
        f"aten.{name}": _reshaped
        for name in ("squeeze", "squeeze.dim", "view", "_reshape_alias", "unflatten.int", "atleast_1d", "atleast_2d")
    },
}


# --- what NumPy lets nobody write, views by np.broadcast_to and np.diagonal ---------------------------------------------------


# the user's results that are such on all paths, and those that may be on some
READ_ONLY, PERHAPS_READ_ONLY = "tierup.read_only", "tierup.perhaps_read_only"


def perhaps_read_only(value: ir.Value, shown: Shown = shown) -> bool:
    """Whether some path makes a value read-only, or puts what is read-only into it."""
    return any(not isinstance(v.owner, ir.Block) and is_read_only(v.owner.operation) for v in reached([value], shown))
