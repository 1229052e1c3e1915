"""Making torch ops. Knows MLIR and nothing of Python's syntax.

Ops are made by name (`ir.Operation.create`): the generated op classes of the bindings cost 100 ms to import.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Value as Fact
from tierup.dialect.ir import literals, torch_types
from tierup.dialect.ir.attributes import IN_NO_GRAD, PROMOTION, UNREAD, Scalar, constant
from tierup.dialect.ir.nesting import MAX_REGIONS
from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Infer
from tierup.dialect.optable.written import INPLACE
from tierup.dialect.passes import diagnostics
from tierup.frontend.errors import UnsupportedSyntax

RANKS = "tierup.ranks"


class Types:
    """The torch types that graphs use, made once a context."""

    def __init__(self, context: ir.Context, mutable: bool) -> None:
        def parse(text: str) -> ir.Type:
            return ir.Type.parse(text, context)

        tensor = "tensor" if mutable else "vtensor"
        self.tensor = parse(f"!torch.{tensor}")
        self.int, self.float, self.bool = parse("!torch.int"), parse("!torch.float"), parse("!torch.bool")
        self.str, self.none = parse("!torch.str"), parse("!torch.none")
        self.int_list = parse("!torch.list<int>")
        self.tensor_list = parse(f"!torch.list<{tensor}>")
        self.optional_tensor_list = parse(f"!torch.list<optional<{tensor}>>")
        self.scalars = {"int": self.int, "float": self.float, "bool": self.bool}
        self.i64, self.f64, self.i1 = (
            ir.IntegerType.get_signless(64, context),
            ir.F64Type.get(context),
            ir.IntegerType.get_signless(1, context),
        )


class Emitter:
    """Where the next op goes, and the constants of the function at hand."""

    def __init__(self, context: ir.Context, mutable: bool) -> None:
        self.context = context
        self.mutable = mutable
        self.types = Types(context, mutable)
        self.unknown = ir.Location.unknown(context)
        self.location = self.unknown
        self.numpy_attribute = {PROMOTION: ir.StringAttr.get("numpy", context)}
        self.ip: ir.InsertionPoint = None  # set by enter_function
        self.rules, self.facts = Infer(), Notes[ir.Value, Fact]()  # what is known of values so far, as far as somebody asked
        self._anchor: ir.Operation = None
        self._constants: dict[tuple[type, str], ir.Value] = {}
        self._made: list[ir.Operation] = []
        self._types: dict[str, ir.Type] = {}
        self.node: ast.AST | None = None  # of the user's function, for which the next op is made
        self.nodes = Notes[ir.Value, ast.AST | None]()  # first results of ops of the table: for which node they were made
        self.has_gradients = True  # False: what ops give has none (tierup.no_grad)
        self.made = 0  # ops so far, also of what was given up again
        self.depth = 0  # branches and loops around the next op
        self.writes = 0  # of arrays so far; a loop may come back to one, and begins with one more
        self.copied_at: builtins.int | None = None  # `writes` when the expression at hand first read a copy where NumPy has a view
        self.region = 0  # counts regions entered: a list may grow only in the one that made it
        self._next_region = 0

    # --- functions and regions ---------------------------------------------------------------------------------------

    @contextmanager
    def function(self, block: ir.Block) -> Iterator[None]:
        """Emit into the entry block of a function; constants gather at its top and go when nothing uses them."""
        saved = self.ip, self._anchor, self._constants, self._made, self.location, self.region, self.has_gradients, self.depth
        self.ip, self.has_gradients, self.depth = ir.InsertionPoint(block), True, 0
        self._anchor = ir.Operation.create("torch.constant.none", results=[self.types.none], loc=self.unknown, ip=self.ip)
        self._constants, self._made = {}, []
        self._enter_region()
        try:
            yield
            for op in reversed(self._made):
                if not any(True for _ in op.results[0].uses):
                    op.erase()
            self._anchor.erase()
        finally:
            self.ip, self._anchor, self._constants, self._made, self.location, self.region, self.has_gradients, self.depth = saved

    @contextmanager
    def at_end(self, block: ir.Block, *, region: int | None = None) -> Iterator[None]:
        """Emit at the end of a block without terminator. `region`: come back to that region; None: a new one."""
        if self.depth == MAX_REGIONS:
            place = diagnostics.place_of(self.location)
            raise UnsupportedSyntax(
                f"more than {MAX_REGIONS} branches and loops in one another",
                "put the inner ones into a function",
                filename=place.file,
                lineno=place.line,
            )
        saved = self.ip, self.region, self.depth
        self.ip, self.depth = ir.InsertionPoint(block), self.depth + 1
        if region is None:
            self._enter_region()
        else:
            self.region = region
        try:
            yield
        finally:
            self.ip, self.region, self.depth = saved

    def _enter_region(self) -> None:
        self._next_region += 1
        self.region = self._next_region

    # --- ops ---------------------------------------------------------------------------------------------------------

    def raise_now(self, kind: str, message: str) -> None:
        """Raise an exception of a kind ("ValueError") in the run, wherever it gets here."""
        self.create("torch.prim.RaiseException", [self.str(message), self.str(kind)], [])

    def raise_unless(self, condition: ir.Value, kind: str, message: str) -> None:
        """Raise an exception of a kind ("ValueError") in the run, where the condition does not hold."""
        then, orelse = self.create("torch.prim.If", [condition], [], regions=2).regions
        with self.at_end(then.blocks.append()):
            self.create("torch.prim.If.yield", [], [])
        with self.at_end(orelse.blocks.append()):
            self.raise_now(kind, message)
            self.create("torch.prim.If.yield", [], [])

    def create(
        self,
        name: str,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type],
        attributes: dict[str, ir.Attribute] | None = None,
        regions: int = 0,
    ) -> ir.Operation:
        """An op of this name, at the place and with the location of the moment. `regions`: how many empty ones it has."""
        self.made += 1
        return ir.Operation.create(
            name, results=results, operands=operands, attributes=attributes, regions=regions, loc=self.location, ip=self.ip
        )

    def op(
        self, name: str, operands: Sequence[ir.Value], results: Sequence[ir.Type], attributes: dict[str, ir.Attribute] | None = None
    ) -> Sequence[ir.Value]:
        """An op of the table."""
        made, attributes = torch_types.spelled(self.context, name, attributes)
        found: Sequence[ir.Value] = self.create(made, operands, results, attributes).results
        return found

    def to_undo(self) -> Callable[[], None]:
        """What erases all that is built from now on in the block at hand."""
        block = self.ip.block
        kept = [view.operation for view in block.operations][-1:]  # constants come in at the top

        def undo() -> None:
            for op in reversed([view.operation for view in block.operations]):
                if op in kept:
                    break
                op.erase()

        return undo

    def scalar(self, name: str, operands: Sequence[ir.Value], result: ir.Type) -> ir.Value:
        """An op of Python scalars or lists: no promotion rule."""
        op, attributes = torch_types.spelled(self.context, name)
        made = self.create(op, operands, [result], attributes).results[0]
        self.nodes[made] = self.node
        return made

    def numpy(
        self, name: str, operands: Sequence[ir.Value], result: ir.Type | None = None, ranks: Sequence[builtins.int | None] = (None,)
    ) -> ir.Value:
        """An op under NumPy's rules; a tensor unless `result` says otherwise. `ranks`: of the operands, for shorter gradients."""
        results = [self.types.tensor if result is None else result]
        attributes = self.numpy_attribute
        if None not in ranks:
            attributes = {**attributes, RANKS: ir.DenseI64ArrayAttr.get(list(ranks), self.context)}
        return self._compute(name, operands, results, attributes)[0]

    def room(self, sizes: ir.Value, code: ir.Value) -> ir.Value:
        """An array of which nobody reads an element before it was written."""
        operands = [sizes, code, self.none, self.none, self.none, self.none]
        attributes = {**self.numpy_attribute, UNREAD: ir.UnitAttr.get(self.context)}
        return self._compute("aten.empty.memory_format", operands, [self.types.tensor], attributes)[0]

    def write_output(self, target: ir.Value, result: ir.Value) -> None:
        """Write a ufunc's result into the tensor that it was given for it."""
        attributes = {**self.numpy_attribute, INPLACE: ir.StringAttr.get("out", self.context)}
        self._compute("aten.copy_", [target, result, self.bool(False)], [self.types.tensor], attributes)

    def torch(
        self,
        name: str,
        operands: Sequence[ir.Value],
        results: Sequence[ir.Type] | None = None,
        ranks: Sequence[builtins.int | None] = (None,),
    ) -> Sequence[ir.Value]:
        """An op under torch's rules (tierup.ops)."""
        attributes = None if None in ranks else {RANKS: ir.DenseI64ArrayAttr.get(list(ranks), self.context)}
        return self._compute(name, operands, [self.types.tensor] if results is None else results, attributes)

    def _compute(
        self, name: str, operands: Sequence[ir.Value], results: Sequence[ir.Type], attributes: dict[str, ir.Attribute] | None = None
    ) -> Sequence[ir.Value]:
        row = None if self.has_gradients and not self.mutable else optable.lookup(name)
        writes = row is not None and row.writes
        self.writes += writes
        keeps = writes and not self.has_gradients  # what is written keeps the gradient that it had
        if keeps:
            operands = [operands[0], *self.given(operands[1:])]
        elif self.types.tensor not in results:  # a number made of a tensor
            operands = self.given(operands)
        made = self.op(name, operands, results, attributes)
        if made:
            self.nodes[made[0]] = self.node
        return made if keeps else self.given(made)

    def given(self, values: Sequence[ir.Value]) -> Sequence[ir.Value]:
        """What ops or calls here give: tensors without a gradient where there is to be none."""
        if self.has_gradients:
            return values
        tensor, mark = self.types.tensor, {IN_NO_GRAD: ir.UnitAttr.get(self.context)}
        return [self.create("torch.aten.detach", [v], [tensor], mark).results[0] if v.type == tensor else v for v in values]

    def derefined(self, value: ir.Value, type_: ir.Type) -> ir.Value:
        """A value where one of a wider type is expected."""
        return value if value.type == type_ else self.create("torch.derefine", [value], [type_]).results[0]

    def type(self, text: builtins.str) -> ir.Type:
        """A type by its text behind `!torch.`; tensors are values where the graph writes none."""
        if text not in self._types:
            own = text if self.mutable else re.sub(r"\btensor\b", "vtensor", text)
            self._types[text] = ir.Type.parse(f"!torch.{own}", self.context)
        return self._types[text]

    def leaf_type(self, kind: builtins.str) -> ir.Type:
        """The type of an argument whose leaf is of this kind."""
        return self.types.tensor if kind in ("array", "scalar", "numbers") else self.type(kind)

    # --- constants ---------------------------------------------------------------------------------------------------

    def constant(self, value: Scalar) -> ir.Value:
        """A number, a string or None."""
        key = (type(value), repr(value))  # repr: 0.0 and -0.0 are two constants, NaN is one
        if key not in self._constants:
            self._constants[key] = made = constant(value, ir.InsertionPoint(self._anchor), self.unknown)
            self._made.append(made.owner.operation)
        return self._constants[key]

    def int(self, value: int) -> ir.Value:
        """A Python int as a constant."""
        return self.constant(builtins.int(value))

    def float(self, value: float) -> ir.Value:
        """A Python float as a constant."""
        return self.constant(builtins.float(value))

    def bool(self, value: bool) -> ir.Value:
        """A Python bool as a constant."""
        return self.constant(builtins.bool(value))

    def str(self, value: str) -> ir.Value:
        """A Python string as a constant."""
        return self.constant(builtins.str(value))

    @property
    def none(self) -> ir.Value:
        """None as a constant."""
        return self.constant(None)

    def device(self, name: builtins.str) -> ir.Value:
        """A device as a constant, by its name ("cpu")."""
        return self.create("torch.constant.device", [], [self.type("Device")], {"value": ir.StringAttr.get(name, self.context)}).results[0]

    def int_list(self, items: Sequence[ir.Value]) -> ir.Value:
        """A list of ints that are values."""
        return self.scalar("prim.ListConstruct", items, self.types.int_list)

    def ints(self, *values: builtins.int) -> ir.Value:
        """A list of ints that are known."""
        return self.int_list([self.int(v) for v in values])

    def tensor_list(self, items: Sequence[ir.Value]) -> ir.Value:
        """A list of tensors."""
        return self.scalar("prim.ListConstruct", items, self.types.tensor_list)

    def array_at_top(self, numbers: Sequence[ir.Value], kind: builtins.str, dtype: dtypes.DType) -> ir.Value:
        """An array that nobody writes, of Python numbers that are constants or the function's arguments: made where constants are."""
        saved, self.ip = self.ip, ir.InsertionPoint(self._anchor)
        code, none, requires_grad = self.int(dtype.code), self.none, self.bool(False)
        listed = self.create("torch.prim.ListConstruct", numbers, [self.type(f"list<{kind}>")])
        made = self.create("torch.aten.tensor", [listed.results[0], code, none, requires_grad], [self.types.tensor], self.numpy_attribute)
        self.ip = saved
        self._made += [listed, made]
        return made.results[0]

    def literal(self, array: np.ndarray, dtype: dtypes.DType) -> ir.Value:
        """A small constant array, fresh each time: whoever gets it may write it."""
        if array.ndim == 0 and dtype.is_complex:
            exact = complex(array)
            zero = self.literal(np.zeros((), dtype.part.numpy), dtype.part)
            return self.numpy("tierup.weak_complex", [zero, self.float(exact.real), self.float(exact.imag)])
        value: Any = array[()] if array.ndim == 0 else None
        if value is not None and (dtype is not dtypes.u64 or value < 1 << 63):  # a larger one is no int of the program's
            number = (
                self.bool(bool(value)) if dtype is dtypes.bool_ else self.float(float(value)) if dtype.is_float else self.int(int(value))
            )
            if dtype is dtypes.bool_:
                number = self.scalar("aten.Int.bool", [number], self.types.int)
            return self.numpy("aten.full", [self.int_list([]), number, self.int(dtype.code), self.none, self.none, self.none])
        text = f"!torch.vtensor<[{','.join(map(str, array.shape))}],{dtype.mlir}>"
        type_ = ir.Type.parse(text, self.context)
        op = self.create("torch.vtensor.literal", [], [type_], {"value": literals.encode(array, dtype, self.context)})
        made = op.results[0]
        if self.mutable:
            sized = ir.Type.parse(text.replace("vtensor", "tensor"), self.context)
            made = self.create("torch.copy.to_tensor", [made], [sized]).results[0]
        made = self.create("torch.tensor_static_info_cast", [made], [self.types.tensor]).results[0]
        return self.numpy("aten.clone", [made, self.none])
