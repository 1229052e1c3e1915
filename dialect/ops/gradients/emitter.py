"""Emitting ops by name, with Python numbers for constants: what gradients are written with.

Tensors are `!torch.vtensor`, without dtype and sizes; what the op table's rules say of them is noted in an Inference all the same, so
that a gradient can leave out what sizes and dtypes make needless. Ops follow torch's dtype rules unless NumPy's are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Union

from tierup.dialect import optable
from tierup.dialect.facts.dims import symbols
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import List, Shape, Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION, constant
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import REFUSALS, Infer, Promotion
from tierup.dialect.optable.formulas.core import TENSOR, Arithmetic
from tierup.dialect.optable.operands import lifted

Operand = Union[ir.Value, bool, int, float, str, None, Sequence["Operand"]]


class Emitter(Arithmetic[ir.Value]):
    """Where the next op goes. `location`: the user's line that it is for."""

    def __init__(self, ip: ir.InsertionPoint, location: ir.Location, inference: Inference) -> None:
        self.ip = ip
        self.location = location
        self.inference = inference
        self.rules = Infer(first=1 << 32)  # a size that only the run knows is none of those that the program had before
        self.context = location.context
        self.tensor_type = ir.Type.parse("!torch.vtensor", self.context)
        self._constants: list[dict[str, ir.Value]] = [{}]
        self.doubtful = inference.doubtful

    @contextmanager
    def inside(self, block: ir.Block) -> Iterator[None]:
        """Emit at the end of a block inside what was emitted before."""
        saved, outer = self.ip, self._constants
        self.ip, self._constants = ir.InsertionPoint(block), [*outer, {}]
        try:
            yield
        finally:
            self.ip, self._constants = saved, outer

    @contextmanager
    def before(self, op: ir.Operation) -> Iterator[None]:
        """Emit before an op, where no constant made so far need be seen."""
        saved, outer = self.ip, self._constants
        self.ip, self._constants = ir.InsertionPoint(op), [{}]
        try:
            yield
        finally:
            self.ip, self._constants = saved, outer

    # --- ops -----------------------------------------------------------------------------------------------------------

    def call(self, name: str, *operands: Operand, type_: str = TENSOR, numpy: bool = False) -> ir.Value:
        """An op of one result, a tensor or a `type_`; `name` as in the op table. Numbers, strings and lists of them become
        constants. `numpy`: it follows NumPy's rules."""
        return self.several(name, *operands, types=[type_], numpy=numpy)[0]

    def several(self, name: str, *operands: Operand, types: Sequence[str], numpy: bool = False) -> list[ir.Value]:
        """An op of several results."""
        values = [self.value(v) for v in operands]
        results = [self.tensor_type if t == "!torch.vtensor" else ir.Type.parse(t, self.context) for t in types]
        marks: dict[str, ir.Attribute] = {PROMOTION: ir.StringAttr.get("numpy", self.context)} if numpy else {}
        spelled, marks = torch_types.spelled(self.context, name, marks)
        made = self.create(spelled, results, values, marks)
        found = list(made.results)
        for result, known in zip(found, self._infer(name, values, found, numpy), strict=True):
            self.inference.values[result] = known
        return found

    def create(
        self,
        name: str,
        results: Sequence[ir.Type],
        operands: Sequence[ir.Value],
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """An op by its full name. What is known of its results is for the caller to note."""
        return ir.Operation.create(
            name, results=results, operands=operands, attributes=attributes, regions=regions, loc=self.location, ip=self.ip
        ).operation

    def _infer(self, name: str, operands: Sequence[ir.Value], results: Sequence[ir.Value], numpy: bool) -> Sequence[Value]:
        row = optable.lookup(name)
        if row is not None:
            self.rules.promotion = Promotion.NUMPY if numpy else Promotion.TORCH
            try:
                found = row.infer(self.rules, [self.known(v) for v in operands])
            except REFUSALS:  # for the run to raise
                found = ()
            values = list(found) if isinstance(found, tuple) else [found]
            if len(values) == len(results):
                return values
        return [torch_types.value_of(r.type) for r in results]

    def value(self, operand: Operand) -> ir.Value:
        """An operand as a value: numbers, strings and None become constants, lists are made of their items."""
        if isinstance(operand, ir.Value):
            return operand
        if isinstance(operand, (list, tuple)):
            items = [self.value(v) for v in operand]
            kinds = {"vtensor" if (t := str(v.type)).startswith("!torch.vtensor") else t.removeprefix("!torch.") for v in items}
            element = "optional<vtensor>" if kinds == {"vtensor", "none"} else kinds.pop() if kinds else "int"
            made = self.create("torch.prim.ListConstruct", [ir.Type.parse(f"!torch.list<{element}>", self.context)], items)
            self.inference.values[made.results[0]] = List(tuple(self.known(v) for v in items))
            return made.results[0]
        assert operand is None or isinstance(operand, (bool, int, float, str))
        key = f"{type(operand).__name__} {operand!r}"  # 0.0 and -0.0 are two constants
        for scope in reversed(self._constants):
            if key in scope:
                return scope[key]
        self._constants[-1][key] = held = constant(operand, self.ip)
        self.inference.values[held] = lifted(operand)
        return held

    # --- what is known -------------------------------------------------------------------------------------------------

    def known(self, value: ir.Value) -> Value:
        """What is known of a value: of a tensor dtype and sizes, where they are."""
        found = self.inference.values.get(value)
        return torch_types.value_of(value.type) if found is None else found

    def tensor(self, value: ir.Value) -> Tensor:
        """What is known of a tensor; of another value a tensor of which nothing is known."""
        found = self.known(value)
        return found if isinstance(found, Tensor) else Tensor()

    def same_shape(self, a: ir.Value, b: ir.Value) -> bool:
        """Whether two tensors are known to have the same sizes."""
        shape = self.tensor(a).shape
        return shape is not None and shape == self.tensor(b).shape and (a == b or self.is_certain(shape))

    def is_certain(self, shape: Shape) -> bool:
        """Whether sizes that are equal here are equal in a run."""
        return not self.doubtful or not any(symbols(dim) & self.doubtful for dim in shape)

    def same_dtype(self, a: ir.Value, b: ir.Value) -> bool:
        """Whether two tensors are known to have the same dtype."""
        dtype = self.tensor(a).dtype
        return dtype is not None and dtype is self.tensor(b).dtype

    # --- arithmetic ----------------------------------------------------------------------------------------------------

    def _is_tensor(self, x: object) -> bool:
        return isinstance(x, ir.Value) and torch_types.is_tensor(x.type)

    def mul(self, a: ir.Value, b: Operand) -> ir.Value:
        """`a * b`, of a tensor and a tensor or number; `a` itself where `b` is the number 1."""
        return a if _is_one(b) else super().mul(a, b)

    def div(self, a: ir.Value, b: Operand) -> ir.Value:
        """`a / b`, of a tensor and a tensor or number; `a` itself where `b` is the number 1."""
        return a if _is_one(b) else super().div(a, b)

    def compare(self, relation: str, a: ir.Value, b: Operand) -> ir.Value:
        """`relation`: eq, ne, lt, le, gt or ge."""
        return self._binary(relation, a, b)

    # --- sizes and dtypes ----------------------------------------------------------------------------------------------

    def size(self, value: ir.Value) -> ir.Value:
        """All sizes, a `!torch.list<int>`."""
        return self.call("aten.size", value, type_="!torch.list<int>")

    def size_of(self, value: ir.Value, dim: Operand) -> ir.Value:
        """One size, a `!torch.int`."""
        return self.call("aten.size.int", value, dim, type_="!torch.int")

    def dtype(self, value: ir.Value) -> ir.Value:
        """The dtype's number, a `!torch.int`."""
        return self.call("prim.dtype", value, type_="!torch.int")

    def cast_like(self, value: ir.Value, like: ir.Value) -> ir.Value:
        """A tensor in another's dtype; itself where it is known to have it. Of the other only the dtype is read."""
        if self.same_dtype(value, like):
            return value
        return self.call("aten.to.dtype", value, self.dtype(like), False, False, None)

    def zeros_like(self, value: ir.Value) -> ir.Value:
        """Zeros of a tensor's sizes and dtype. Of the tensor only these are read."""
        return self.call("aten.zeros", self.size(value), self.dtype(value), None, None, None)

    def expand(self, value: ir.Value, size: ir.Value) -> ir.Value:
        """A tensor broadcast to these sizes, a `!torch.list<int>`; no element is copied."""
        return self.call("aten.expand", value, size, False)

    # --- numbers of the program ----------------------------------------------------------------------------------------

    def plus(self, a: Operand, b: Operand) -> Operand:
        """a + b of ints, each a number that is known or a `!torch.int`."""
        if a == 0 or b == 0:
            return b if a == 0 else a
        return a + b if isinstance(a, int) and isinstance(b, int) else self.call("aten.add.int", a, b, type_="!torch.int")

    def minus(self, a: Operand, b: Operand) -> Operand:
        """a - b, as `plus`."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self.call("aten.sub.int", a, b, type_="!torch.int")

    def times(self, a: Operand, b: Operand) -> Operand:
        """a * b, as `plus`."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        return b if a == 1 else a if b == 1 else self.call("aten.mul.int", a, b, type_="!torch.int")

    # --- lists ---------------------------------------------------------------------------------------------------------

    def built(self, count: ir.Value, type_: str, of: Callable[[ir.Value], ir.Value]) -> ir.Value:
        """The list of `of` each number below `count`, by a loop."""
        made_type = ir.Type.parse(type_, self.context)
        start = self.create("torch.prim.ListConstruct", [made_type], []).results[0]
        loop = self.create("torch.prim.Loop", [made_type], [count, self.value(True), start], regions=1)
        number, items = loop.regions[0].blocks.append(count.type, made_type, arg_locs=[self.location] * 2).arguments
        with self.inside(loop.regions[0].blocks[0]):
            one = self.create("torch.prim.ListConstruct", [made_type], [of(number)]).results[0]
            more = self.create("torch.aten.add.t", [made_type], [items, one]).results[0]
            self.create("torch.prim.Loop.condition", [], [self.value(True), more])
        return loop.results[0]

    def item(self, items: ir.Value | None, index: int | ir.Value) -> ir.Value:
        """One item of a list, which must be there; `index` a number that is known or a `!torch.int`."""
        assert items is not None
        type_ = ir.Type.parse("!torch." + str(items.type).removeprefix("!torch.list<").removesuffix(">"), self.context)
        made = self.create("torch.aten.__getitem__.t", [type_], [items, self.value(index)]).results[0]
        known = self.known(items)
        if isinstance(known, List):
            one = known.items[index] if known.items is not None and isinstance(index, int) else known.element
            if isinstance(one, Tensor):
                self.inference.values[made] = one
        return made

    # --- branches ------------------------------------------------------------------------------------------------------

    def choose(self, condition: ir.Value | bool, then: Callable[[], ir.Value], otherwise: Callable[[], ir.Value]) -> ir.Value:
        """A tensor from one of two arms; `condition` a `!torch.bool`, or known now: then there is no branch."""
        if isinstance(condition, bool):
            return then() if condition else otherwise()
        branch = self.create("torch.prim.If", [self.tensor_type], [condition], regions=2)
        for region, arm in zip(branch.regions, (then, otherwise), strict=True):
            with self.inside(region.blocks.append()):
                self.create("torch.prim.If.yield", [], [arm()])
        self.inference.values[branch.results[0]] = Tensor()
        return branch.results[0]


def _is_one(operand: Operand) -> bool:
    return type(operand) in (int, float) and operand == 1
