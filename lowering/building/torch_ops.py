"""Building ops of the torch dialect in our passes, at the insertion point, with full types."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import DType
from tierup.dialect.ir import attributes, torch_types
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import int_of
from tierup.lowering.building import builders as b

SizesOrUnknown = Sequence["int | None"]
known_int = int_of
NUMBERS = {attributes.TYPES[kind]: kind for kind in (int, float, bool)}  # by the names of their types

_PURE = (
    "torch.aten.", "torch.prims.", "torch.constant.", "torch.derefine", "torch.prim.List", "torch.prim.Tuple", "torch.prim.NumToTensor",
    "torch.vtensor.literal", "torch.tensor_static_info_cast", "torch.symbolic_int", "torch.prim.tolist", "torch.prim.dtype",
)  # fmt: skip
_PURE_OPERATORS = ("aten.__", "tierup.")


def is_pure(op: ir.Operation) -> bool:
    """Whether an op only computes: nobody misses it where nobody reads its results."""
    return op.name.startswith(_PURE) or (op.name == "torch.operator" and torch_name(op).startswith(_PURE_OPERATORS))


def tensor_type(sizes: SizesOrUnknown, dtype: DType) -> ir.Type:
    """A !torch.vtensor of that dtype; None for a size that the run knows."""
    text = ",".join("?" if size is None else str(size) for size in sizes)
    return ir.Type.parse(f"!torch.vtensor<[{text}],{dtype.mlir}>")


def int_type() -> ir.Type:
    """!torch.int, of the current context."""
    return ir.Type.parse("!torch.int")


def bool_type() -> ir.Type:
    """!torch.bool, of the current context."""
    return ir.Type.parse("!torch.bool")


def _operator(name: str) -> Callable[[Number, ir.Value | int], Number]:
    return lambda x, other: x.made(name, other, x.type)


def _truth(name: str) -> Callable[[Number, ir.Value | int], Number]:
    return lambda x, other: x.made(name, other, bool_type())


class Number(ir.Value):  # type: ignore[misc]  # the bindings say no types
    """A `!torch.int`, `!torch.float` or `!torch.bool` with operators, as arith.py has them for builtin values. A Python int
    becomes a constant. `==` stays Python's: whether two are the same value."""

    __slots__ = ()

    def made(self, name: str, other: ir.Value | int, result: ir.Type) -> Number:
        """What an op of the dialect makes of two numbers."""
        right = integer(other) if isinstance(other, int) else other
        return Number(b.value(f"torch.aten.{name}.{str(self.type).removeprefix('!torch.')}", [self, right], result))

    __add__, __sub__, __mul__ = _operator("add"), _operator("sub"), _operator("mul")
    __floordiv__, __mod__ = _operator("floordiv"), _operator("remainder")
    __lt__, __le__, __gt__, __ge__ = _truth("lt"), _truth("le"), _truth("gt"), _truth("ge")
    equals, differs = _truth("eq"), _truth("ne")
    __and__, __or__ = _truth("__and__"), _truth("__or__")

    def __neg__(self) -> Number:
        return Number(b.value("torch.aten.neg.int", [self], int_type()))

    def __invert__(self) -> Number:
        return Number(b.value("torch.aten.__not__", [self], bool_type()))


def integer(number: int) -> Number:
    """An int as a constant."""
    return constant(number)


def constant(number: float) -> Number:
    """A bool, an int or a float."""
    return Number(attributes.constant(number, ir.InsertionPoint.current, ir.Location.current))


def none() -> ir.Value:
    """None as a constant."""
    return attributes.constant(None, ir.InsertionPoint.current, ir.Location.current)


def ints(numbers: Sequence[ir.Value]) -> ir.Value:
    """A list of ints."""
    return b.value("torch.prim.ListConstruct", numbers, ir.Type.parse("!torch.list<int>"))


def least(x: ir.Value, y: ir.Value | int) -> Number:
    """The smaller of two ints."""
    return Number(b.value("torch.prim.min.int", [x, integer(y) if isinstance(y, int) else y], int_type()))


def greatest(x: ir.Value, y: ir.Value | int) -> Number:
    """The larger of two ints."""
    return Number(b.value("torch.prim.max.int", [x, integer(y) if isinstance(y, int) else y], int_type()))


def either(condition: ir.Value, yes: Callable[[], ir.Value], no: Callable[[], ir.Value], kind: ir.Type | None = None) -> Number:
    """A value, an int if not of type `kind`: built by `yes` where the condition holds, else by `no`."""
    made = b.op("torch.prim.If", [condition], [kind or int_type()], regions=2)
    for region, number in zip(made.regions, (yes, no), strict=True):
        with ir.InsertionPoint(region.blocks.append()):
            b.op("torch.prim.If.yield", [number()])
    return Number(made.results[0])


def sizes_of(tensor: ir.Value) -> tuple[tuple[int | None, ...], DType] | None:
    """Sizes and dtype of a tensor's type, None when they are not known."""
    sizes, dtype = torch_types.parse_tensor(str(tensor.type))
    return None if sizes is None or dtype is None else (sizes, dtype)


def size(tensor: ir.Value, axis: int) -> Number:
    """A size, as a constant when it is static."""
    known = sizes_of(tensor)
    if known is not None and known[0][axis] is not None:
        return integer(known[0][axis] or 0)
    return Number(b.value("torch.aten.size.int", [tensor, integer(axis)], int_type()))


def elementwise_bool(name: str, operands: Sequence[ir.Value], like: ir.Value) -> ir.Value:
    """A pointwise op that gives a bool for each element of `like`."""
    known = sizes_of(like)
    assert known is not None
    return b.value(f"torch.aten.{name}", operands, tensor_type(known[0], dtypes.bool_))


def check_all(condition: ir.Value, message: str) -> None:
    """Assert that every element of a bool tensor is true."""
    every = b.value("torch.aten.all", [condition], tensor_type((), dtypes.bool_))
    check(b.value("torch.aten.Bool.Tensor", [every], bool_type()), message)


def check(condition: ir.Value, message: str) -> None:
    """Where the condition does not hold the call goes to tier 0; `message` says why."""
    b.op("torch.runtime.assert", [condition], message=ir.StringAttr.get(message))
