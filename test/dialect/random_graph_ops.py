"""What a statement of a random graph may be: families of ops, each with a way to choose operands that mostly fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pointwise_samples import OPS
from random_graph_builder import Bits, Builder, forgotten
from random_graphs import Memory, Node, Val, sizes_of

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Int, List, Tensor, Tuple
from tierup.dialect.optable.core import Aliasing

DTYPES = (dtypes.f32, dtypes.f64, dtypes.i64, dtypes.bool_, dtypes.i32, dtypes.u8, dtypes.i8, dtypes.i16)
_NUMBERS = (0, 1, -1, 2, 0.0, -0.0, 1.0, 0.5, -2.5, math.inf, math.nan)
_PLAIN = tuple(name for name in ("aten.tanh", "aten.neg", "aten.relu", "aten.exp", "aten.abs", "aten.sigmoid", "aten.logical_not", "aten.isnan"))
_RESTS = {name: [r for r in op.rest if not any(v is True for v in r[:1])] for name, op in OPS.items()}
_UNARY = tuple(name for name, op in OPS.items() if op.tensors == 1 and _RESTS[name])
_BINARY = tuple(name for name, op in OPS.items() if op.tensors == 2 and _RESTS[name])
_TERNARY = tuple(name for name, op in OPS.items() if op.tensors == 3 and _RESTS[name])
_INPLACE = tuple(
    (row.name, row.functional) for row in optable.table().values() if row.aliasing is Aliasing.SELF and row.functional in OPS and _RESTS[row.functional or ""]
)
_SCALAR_ARITHMETIC = ("aten.add.Scalar", "aten.sub.Scalar", "aten.rsub.Scalar")


def tensor(b: Builder, bits: Bits, where: Callable[[Tensor], bool] = lambda t: True) -> Val | None:
    return b.find(bits, "tensor", where=lambda v: isinstance(v.known, Tensor) and where(v.known))


def _sizes(v: Val) -> tuple[int, ...]:
    """A tensor's sizes; a guess where they are not known."""
    sizes = sizes_of(v.known)
    return (2, 2) if sizes is None else sizes


def _rank(v: Val) -> int:
    return len(_sizes(v))


def _dim(bits: Bits, v: Val) -> int:
    rank = max(_rank(v), 1)
    return (*range(rank), *range(-rank, 0))[bits.below(2 * rank)]


def _with(b: Builder, bits: Bits, name: str, first: Val, *rest: Any) -> None:
    b.op(bits, name, [first, *rest])


# --- pointwise -------------------------------------------------------------------------------------------------------------


def pointwise(b: Builder, bits: Bits) -> None:
    count = bits.below(6)
    name = bits.pick(_PLAIN if count < 2 else _UNARY if count == 2 else _BINARY if count < 5 else _TERNARY)
    operands = [tensor(b, bits) for _ in range(OPS[name].tensors)]
    if all(v is not None for v in operands):
        b.op(bits, name, [*operands, *bits.pick(_RESTS[name])])


def arithmetic(b: Builder, bits: Bits) -> None:
    """Sums and products of tensors and numbers, those that change nothing among them."""
    x = tensor(b, bits)
    name = bits.pick(("aten.add", "aten.mul", "aten.sub", "aten.div"))
    alpha = () if name in ("aten.mul", "aten.div") else (bits.pick((1, 1, 2)),)
    if x is None:
        return
    if bits.below(2):
        y = tensor(b, bits)
        if y is not None:
            b.op(bits, f"{name}.Tensor", [x, y, *alpha])
        return
    number = b.find(bits, "int", "float", "number") if bits.one_in(3) else None
    b.op(bits, f"{name}.Scalar", [x, number or bits.pick(_NUMBERS), *alpha])


def write(b: Builder, bits: Bits) -> None:
    """An op that writes a tensor: one that the program made, an argument, or a view of either."""
    x = tensor(b, bits)
    if x is None:
        return
    how = bits.below(6)
    if how == 0:
        b.op(bits, "aten.zero_", [x])
    elif how == 1:
        b.op(bits, "aten.add_.Scalar", [x, bits.pick(_NUMBERS), 1])
    elif how == 2:
        b.op(bits, "aten.fill_.Scalar", [x, bits.pick(_NUMBERS)])
    elif how == 3:
        other = tensor(b, bits)
        b.op(bits, "aten.copy_", [x, other, False])
    elif how == 4:
        name, twin = bits.pick(_INPLACE)
        b.op(bits, name, [x, *[tensor(b, bits) for _ in range(OPS[twin or ""].tensors - 1)], *bits.pick(_RESTS[twin or ""])])
    else:
        other = tensor(b, bits)
        b.op(bits, "aten.add_.Tensor", [x, other, 1])


def local_write(b: Builder, bits: Bits) -> None:
    """A tensor that the program makes of constants, writes, mostly by a part of it, and reads again: it is no constant, though all that
    makes it is."""
    sizes, how = bits.pick(([2, 3], [3], [2], [])), bits.below(6)
    made: list[Val] | None
    if how == 0:
        made = [literal(b, [1] * sizes[0], DTYPES[0], bits) if sizes else literal(b, [1], DTYPES[0], bits, ())]
    elif how == 1:  # as np.array([1, 1]) comes from Python
        constant = literal(b, [1, 1], bits.pick(DTYPES[:3]), bits)
        made = [b.value(constant.known, Memory(), literal=True)]
        made[0].memory.write()  # type: ignore[union-attr]
        b.node("torch.copy.to_tensor", [constant], made)
    elif how == 2:
        made = b.op(bits, "aten.full", [sizes, bits.pick(_NUMBERS), bits.pick((6, 7)), None, None, None])
    else:
        made = b.op(bits, ("aten.zeros", "aten.ones", "aten.empty.memory_format")[how - 3], [sizes, bits.pick((6, 7)), None, None, None, *[None] * (how == 5)])
        if how == 5 and made:
            b.op(bits, "aten.fill_.Scalar", [made[0], 1])
    if not made:
        return
    b.bind(made[0])
    target, where = made[0], bits.below(4)
    if where and _rank(target):
        viewed = b.op(bits, "aten.select.int", [target, 0, b.number(bits, -1, 1)]) if where == 1 else b.op(bits, "aten.slice.Tensor", [target, 0, 0, 1, 1])
        target = viewed[0] if viewed else target
    number = b.find(bits, "int", "float") if bits.below(4) else None
    what = bits.below(4)
    if what == 0:
        b.op(bits, "aten.fill_.Scalar", [target, number or bits.pick(_NUMBERS)])
    elif what == 1:
        b.op(bits, "aten.copy_", [target, tensor(b, bits), False])
    else:
        b.op(bits, "aten.add_.Scalar", [target, number or bits.pick(_NUMBERS), 1])
    b.op(bits, "aten.mul.Scalar", [made[0], 2])
    b.bind(made[0])


# --- what reads, moves and views elements ----------------------------------------------------------------------------------


def reduction(b: Builder, bits: Bits) -> None:
    x = tensor(b, bits)
    if x is None:
        return
    keep, dim = bool(bits.below(2)), _dim(bits, x)
    name, *rest = bits.pick((
        ("sum", None), ("amax", [dim], keep), ("sum.dim_IntList", [dim], keep, None), ("mean.dim", [dim], keep, None), ("max.dim", dim, keep),
        ("argmax", dim, keep), ("any",), ("all.dim", dim, keep), ("cumsum", dim, None), ("softmax.int", dim, None), ("prod.dim_int", dim, keep, None),
        ("logsumexp", [dim], keep), ("var.correction", [dim], 1, keep), ("log_softmax.int", dim, None), ("sort", dim, keep), ("amin", [], keep),
        ("count_nonzero", None), ("mean", None),
    ))  # fmt: skip
    _with(b, bits, f"aten.{name}", x, *rest)


def view(b: Builder, bits: Bits) -> None:
    x = tensor(b, bits)
    if x is None:
        return
    sizes, dim = _sizes(x), _dim(bits, x)
    rank, total = len(sizes), math.prod(sizes)
    index = b.number(bits, -1, 2)
    name, *rest = bits.pick((
        ("detach",), ("select.int", dim, index), ("slice.Tensor", dim, bits.pick((None, 0, 1, -1)), bits.pick((None, 1, -1, 9)), bits.pick((1, 1, 2))),
        ("t",), ("transpose.int", 0, -1), ("unsqueeze", bits.pick((0, -1))), ("squeeze",), ("squeeze.dim", dim), ("view", [-1]), ("view", [total]),
        ("reshape", [-1]), ("reshape", [1, *sizes]), ("flatten.using_ints", 0, -1), ("expand", [2, *sizes], False), ("expand", list(sizes), False),
        ("permute", list(range(rank))[::-1]), ("narrow", dim, 0, 1), ("diagonal", 0, 0, 1), ("alias",), ("contiguous", 0), ("numpy_T",),
        ("unflatten.int", dim, [1, -1]), ("movedim.int", 0, -1), ("broadcast_to", list(sizes)),
    ))  # fmt: skip
    _with(b, bits, f"aten.{name}", x, *rest)


def movement(b: Builder, bits: Bits) -> None:
    x = tensor(b, bits)
    if x is None:
        return
    rank, dim = _rank(x), _dim(bits, x)
    name, *rest = bits.pick((
        ("clone", None), ("flip", [dim]), ("roll", [1], [dim]), ("tril", 0), ("triu", bits.pick((0, 1, -1))), ("repeat", [2, *[1] * rank]),
        ("constant_pad_nd", [1, 0], bits.pick((0, 2.5))), ("repeat_interleave.self_int", 2, dim, None), ("nonzero",), ("diagonal_copy", 0, 0, 1),
        ("expand_copy", [2, *_sizes(x)], False), ("lift_fresh_copy",), ("unsqueeze_copy", 0),
    ))  # fmt: skip
    _with(b, bits, f"aten.{name}", x, *rest)


def join(b: Builder, bits: Bits) -> None:
    """Concatenations and stacks of tensors in a list, and the pieces that a tensor is cut into."""
    x = tensor(b, bits)
    if x is None:
        return
    how, dim = bits.below(5), _dim(bits, x)
    if how < 2:
        parts = [x, *(tensor(b, bits, lambda t: t.dtype == x.known.dtype) or x for _ in range(bits.below(3)))]  # type: ignore[union-attr]
        items = listed(b, parts, grows=False)
        b.op(bits, "aten.cat" if how == 0 else "aten.stack", [items, dim])
        return
    cuts: Sequence[tuple[Any, ...]] = (("chunk", bits.pick((1, 2, 3)), dim), ("split.Tensor", bits.pick((1, 2)), dim), ("unbind.int", dim))
    name, *rest = cuts[how - 2]
    made = b.op(bits, f"aten.{name}", [x, *rest])
    if made and isinstance(made[0].known, List) and made[0].known.items and bits.below(2):
        if bits.one_in(8):  # the list has another number of items
            wrong = [b.value(Tensor(), made[0].memory) for _ in range(len(made[0].known.items) + 1)]
            b.node("torch.prim.ListUnpack", made, wrong)
            b.bind(*wrong[:1])
            return
        b.op(bits, "prim.ListUnpack", made)


def product(b: Builder, bits: Bits) -> None:
    name = bits.pick(("mm", "matmul", "addmm", "linear", "mv", "dot", "bmm", "outer"))
    wanted: dict[str, tuple[int | None, ...]] = {"mm": (2, 2), "addmm": (None, 2, 2), "linear": (2, 2), "mv": (2, 1), "dot": (1, 1), "bmm": (3, 3), "outer": (1, 1), "matmul": (None, None)}
    operands: list[Any] = []
    for rank in wanted[name]:
        x = tensor(b, bits, lambda t, r=rank: r is None or t.shape is None or len(t.shape) == r)  # type: ignore[misc]
        if x is None:
            return
        if operands and rank == 2 and name in ("mm", "addmm") and sizes_of(operands[-1].known) == sizes_of(x.known):
            made = b.op(bits, "aten.t", [x])  # mostly the sizes fit then
            x = made[0] if made else x
        operands.append(x)
    b.op(bits, f"aten.{name}", [*operands, *((None,) if name == "linear" else (1, bits.pick((1, 2))) if name == "addmm" else ())])


def index(b: Builder, bits: Bits) -> None:
    """Gathers and scatters by indices that mostly are in range."""
    x = tensor(b, bits)
    if x is None:
        return
    how, dim = bits.below(8), _dim(bits, x)
    sizes = _sizes(x)
    length = sizes[dim] if sizes else 1
    at = tensor(b, bits, lambda t: t.dtype == dtypes.i64) if bits.one_in(4) else None
    at = at or literal(b, [v if bits.one_in(12) else v % max(length, 1) for v in (bits.below(4), bits.below(4))][: 2 if length else 0], dtypes.i64, bits)
    if how < 2:
        b.op(bits, "aten.index_select", [x, dim, at])
    elif how == 2:
        b.op(bits, "aten.index.Tensor_hacked_twin", [x, listed(b, [at], grows=False)])
    elif how == 3:
        b.op(bits, "aten.gather", [x, dim, at, False])
    elif how == 4:
        b.op(bits, "aten.scatter.value", [x, dim, at, 1])
    elif how == 5:
        mask = tensor(b, bits, lambda t: t.dtype == dtypes.bool_)
        if mask is not None:
            b.op(bits, bits.pick(("aten.masked_fill.Scalar", "aten.masked_fill_.Scalar")), [x, mask, bits.pick((0, 2.5))])
    elif how == 6:
        value = tensor(b, bits)
        name = bits.pick(("aten.index_put.hacked_twin", "aten.index_put_.hacked_twin"))
        b.op(bits, name, [x, listed(b, [at], grows=False), value, bool(bits.below(2))])
    else:
        condition, other = tensor(b, bits, lambda t: t.dtype == dtypes.bool_), tensor(b, bits)
        if condition is not None:
            b.op(bits, "aten.where.self", [condition, x, other])


# --- tensors from numbers, numbers from tensors ----------------------------------------------------------------------------


def literal(b: Builder, values: Sequence[Any], of: dtypes.DType, bits: Bits, sizes: tuple[int, ...] | None = None) -> Val:
    sizes = (len(values),) if sizes is None else sizes
    spelled = ", ".join(str(bool(v)).lower() if of.name == "bool" else str(float(v) if of.is_float else int(v) & 0xFF if of.name == "u8" else int(v)) for v in values)
    contents = "" if not values else spelled if not sizes else f"[{spelled}]"
    made = b.value(Tensor(of, sizes), Memory(), literal=True)
    b.node("torch.vtensor.literal", [], [made], f"value = dense<{contents}> : tensor<{''.join(f'{s}x' for s in sizes)}{of.mlir}>")
    return made


def factory(b: Builder, bits: Bits) -> None:
    how = bits.below(6)
    if how < 2:
        of = bits.pick(DTYPES)
        if how == 0:
            b.bind(literal(b, [bits.below(5) - 2 for _ in range(bits.below(4))], of, bits))
        else:
            b.bind(literal(b, [bits.pick((0, 1, 2))], of, bits, ()))
        return
    x = tensor(b, bits)
    if how == 2:
        b.op(bits, "aten.zeros", [bits.pick(([2], [2, 3], [], [0])), bits.pick((6, 7, 4, 3, 1)), None, None, None])
    elif how == 3:
        b.op(bits, "aten.arange", [b.number(bits, 0, 4), bits.pick((4, 6, 2)), None, None, None])
    elif how == 4 and x is not None:
        b.op(bits, bits.pick(("aten.zeros_like", "aten.ones_like")), [x, None, None, None, None, None])
    elif x is not None:
        number = b.find(bits, "int", "float")
        if number is not None:
            b.op(bits, "prim.NumToTensor.Scalar", [number])


def cast(b: Builder, bits: Bits) -> None:
    x = tensor(b, bits)
    if x is None:
        return
    if bits.one_in(4):
        b.op(bits, "aten.type_as", [x, tensor(b, bits)])
    else:
        b.op(bits, "aten.to.dtype", [x, bits.pick((6, 7, 4, 11, 0, 1, 2, 3, 5, 15)), False, bool(bits.below(2)), None])


def size(b: Builder, bits: Bits) -> None:
    x = tensor(b, bits)
    if x is None:
        return
    how = bits.below(8)
    if how < 3:
        b.op(bits, "aten.size.int", [x, _dim(bits, x)])
    elif how < 5:
        b.op(bits, ("aten.dim", "aten.numel")[how - 3], [x])
    elif how == 5:
        b.op(bits, "aten.size", [x])
    else:
        one = tensor(b, bits, lambda t: t.shape is not None and math.prod(d if isinstance(d, int) else 2 for d in t.shape) == 1)
        if one is not None:
            name = "aten.item" if how == 6 else bits.pick(("aten.Bool.Tensor", "aten.Int.Tensor", "aten.Float.Tensor"))
            b.op(bits, name, [one], number=name == "aten.item")


# --- numbers ---------------------------------------------------------------------------------------------------------------


def integers(b: Builder, bits: Bits) -> None:
    names = ["add", "sub", "floordiv", "remainder", "max", "min", "neg"] + ["mul"] * (b.loops == 0)
    name, x, y = bits.pick(names), b.number(bits, -2, 3), b.number(bits, -2, 3)
    name = {"max": "prim.max", "min": "prim.min"}.get(name, f"aten.{name}")
    b.op(bits, f"{name}.int", [x] if name == "aten.neg" else [x, y])


def floats(b: Builder, bits: Bits) -> None:
    x = b.find(bits, "float") or b.constant(bits.pick((0.5, -0.0, 2.0)))
    how = bits.below(5)
    if how == 0:
        b.op(bits, "aten.mul.float", [x, b.find(bits, "float") or x])
    elif how == 1:
        b.op(bits, "aten.add.float_int", [x, b.number(bits, -2, 3)])
    elif how == 2:
        b.op(bits, "aten.div.float", [x, b.find(bits, "float") or x])
    elif how == 3:
        b.op(bits, "aten.neg.float", [x])
    else:
        b.op(bits, "aten.sub.float", [x, bits.pick((0.5, -0.0, 2.0))])


def truths(b: Builder, bits: Bits) -> None:
    how, p = bits.below(6), b.find(bits, "bool")
    if how < 3:
        x, y = b.number(bits, -2, 3), b.number(bits, -2, 3)
        b.op(bits, f"aten.{('lt', 'eq', 'ge')[how]}.int", [x, y])
    elif how == 3 and p is not None:
        b.op(bits, "aten.__not__", [p])
    elif how == 4 and p is not None:
        b.op(bits, bits.pick(("aten.__and__.bool", "aten.__or__.bool")), [p, b.find(bits, "bool")])
    else:
        x = b.find(bits, "float")
        if x is not None:
            b.op(bits, "aten.gt.float", [x, bits.pick((0.0, 1.5))])


# --- lists and tuples ------------------------------------------------------------------------------------------------------


def listed(b: Builder, items: Sequence[Val], *, grows: bool) -> Val:
    """A list of tensors or ints; of one that may grow nobody knows the items."""
    ints = items[0].kind == "int"
    element = Int() if ints else forgotten(items[0].known)
    if not ints and any(v.known != items[0].known for v in items):
        element = Tensor()
    memory = None if ints else Memory()
    for v in items:
        if memory is not None and v.memory is not None:
            memory.join(v.memory)
    made = b.value(List(None if grows else tuple(v.known for v in items), element), memory)
    b.node("torch.prim.ListConstruct", items, [made])
    return made


def make_list(b: Builder, bits: Bits) -> None:
    first: Val | None = b.number(bits, 0, 3) if bits.below(2) else tensor(b, bits)
    if first is None:
        return
    kind, items = first.kind, [first]
    for _ in range(bits.below(3)):
        other = b.find(bits, kind, where=lambda v: kind == "int" or v.known == first.known)
        items.append(other or first)
    b.bind(listed(b, items, grows=bool(bits.below(3))))


def use_list(b: Builder, bits: Bits) -> None:
    items = b.find(bits, "list", "ints")
    if items is None or not isinstance(items.known, List):
        make_list(b, bits)
        return
    ints, known, how = items.kind == "ints", items.known, bits.below(8)
    grows = known.items is None
    if how < 3 and grows:
        new = b.number(bits, 0, 3) if ints else tensor(b, bits, lambda t: t == known.element)
        if new is None:
            return
        if items.memory is not None and new.memory is not None:
            items.memory.join(new.memory)
        if how < 2:
            made = b.value(known, items.memory)
            b.node("torch.aten.append.t", [items, new], [made])
            b.bind(made)
        else:
            made = b.value(known, items.memory)
            b.node("torch.aten._set_item.t", [items, b.number(bits, 0, 1), new], [made])
            b.bind(made)
    elif how < 5:
        element = known.element if isinstance(known.element, (Int, Tensor)) else Tensor()
        b.unproven |= isinstance(element, Tensor) and element.dtype is not None
        made = b.value(forgotten(element), items.memory)
        b.node("torch.aten.__getitem__.t", [items, b.number(bits, -1, 2)], [made])
        b.bind(made)
    elif how == 5:
        b.op(bits, "aten.len.t", [items])
    elif how == 6:
        b.op(bits, "aten.slice.t", [items, bits.pick((None, 1)), bits.pick((None, -1)), 1])
    elif not ints:
        b.op(bits, bits.pick(("aten.stack", "aten.cat")), [items, 0])
    else:
        b.op(bits, "aten.add.t", [items, items])


def tuples(b: Builder, bits: Bits) -> None:
    pair = b.find(bits, "tuple") if bits.below(2) else None
    if pair is None:
        parts = [v for v in (b.find(bits, "tensor", "int", "bool", "float") for _ in range(bits.below(2) + 1)) if v is not None]
        if not parts:
            return
        memory = Memory()
        for v in parts:
            if v.memory is not None:
                memory.join(v.memory)
        made = b.value(Tuple(tuple(v.known for v in parts)), memory if any(v.kind == "tensor" for v in parts) else None)
        plain = [b.value(Tensor(), v.memory) if v.kind == "tensor" else None for v in parts]
        b.node("torch.prim.TupleConstruct", parts, [made], targets=plain)
        b.bind(made)
        return
    assert isinstance(pair.known, Tuple)
    count = len(pair.known.items)
    if bits.below(2):
        at = bits.below(count)
        item = pair.known.items[at]
        made = b.value(Tensor() if isinstance(item, Tensor) else forgotten(item), pair.memory)
        b.node("torch.prim.TupleIndex", [pair, b.constant(at)], [made])
        b.bind(made)
    else:
        results = [b.value(Tensor() if isinstance(v, Tensor) else forgotten(v), pair.memory) for v in pair.known.items]
        b.node("torch.prim.TupleUnpack", [pair], results)
        b.bind(*results)


def again(b: Builder, bits: Bits) -> None:
    """An op that this body has had already, once more."""
    old = [n for n in reversed(b.body.nodes) if not n.bodies and n.results and n.name.startswith(("torch.aten.", "torch.constant."))]
    if old:
        node: Node = bits.pick(old)
        results = [b.value(v.known, v.memory if optable.lookup(node.name) is None or v.memory is None else _same(node, v), number=v.number) for v in node.results]
        b.node(node.name, node.operands, results, node.attributes)
        b.bind(*results)


def _same(node: Node, result: Val) -> Memory | None:
    """The memory of a second result like this one: its own, where the op makes new memory each time."""
    row = optable.lookup(node.name)
    return Memory() if row is not None and row.aliasing is Aliasing.FRESH and isinstance(result.known, Tensor) else result.memory


def call(b: Builder, bits: Bits) -> None:
    b.call(bits)


# how many first bytes of 256 each family has, in the order from simple to odd; what follows is control flow
FAMILIES: tuple[tuple[Callable[[Builder, Bits], None], int], ...] = (
    (arithmetic, 20), (pointwise, 18), (integers, 12), (write, 16), (view, 18), (reduction, 8), (use_list, 16), (make_list, 5),
    (truths, 10), (size, 9), (factory, 8), (join, 7), (cast, 5), (movement, 5), (product, 5), (index, 7), (floats, 4), (tuples, 6),
    (again, 7), (call, 4), (local_write, 10),
)  # fmt: skip
NOTHING = 4  # first bytes of a chunk that stands for no statement
_START = NOTHING + sum(count for _, count in FAMILIES)
CODES = {"loop": _START, "if": _START + 12, "else": _START + 28, "end": _START + 36}


def make(b: Builder, code: int, bits: Bits) -> None:
    """The statement of a first byte."""
    code -= NOTHING
    for family, count in FAMILIES:
        if 0 <= code < count:
            family(b, bits)
            return
        code -= count
