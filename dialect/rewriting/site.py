"""One op under NumPy's dtype rules, seen by the rewrite that says the same in torch ops with explicit casts.

A rewrite builds torch ops before the op, typed by the op table's rules as it goes, and raises `Keep` where NumPy's dtype and
value cannot be had: the op then stays as it is, for tier 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import Category, DType
from tierup.dialect.facts.dims import Dim, Expr
from tierup.dialect.facts.inference.infer import Inference, InferenceError
from tierup.dialect.facts.inference.refined_types import refined_type
from tierup.dialect.facts.values import Bool, Float, Int, List, NoneValue, Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import constant
from tierup.dialect.ir.structure import if_, yield_
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import NUMPYS_STEPS, OF_RULES, Infer, Tie
from tierup.dialect.optable.operands import lifted


class Keep(Exception):
    """Why an op stays under NumPy's rules."""


class Site:
    """The op, what is known of its operands, and the ops built in its place so far.

    operands, values: SSA operands and what inference knows of each. results: what inference under NumPy's rules says.
    """

    def __init__(self, op: ir.Operation, inference: Inference) -> None:
        self.op = op
        self.name = torch_name(op)
        self.operands = list(op.operands)
        self.inference = inference
        self.values = [inference[v] for v in self.operands]
        self.results = [inference[r] for r in op.results]
        self.made: list[ir.Operation] = []
        self._ip = ir.InsertionPoint(op)

    @property
    def dtype(self) -> DType:
        """The dtype of the (first) result under NumPy's rules."""
        result = self.results[0]
        if not isinstance(result, Tensor) or result.dtype is None:
            raise Keep("the result's dtype is not known, or none that programs hold")
        return result.dtype

    def known(self, value: ir.Value) -> Value:
        """What inference knows of a value."""
        return self.inference[value]

    def tensor(self, value: ir.Value) -> Tensor:
        """What is known of a tensor, its dtype at least."""
        found = self.inference[value]
        if not isinstance(found, Tensor) or found.dtype is None:
            raise Keep("an operand's dtype is not known")
        return found

    def dtype_of(self, value: ir.Value) -> DType:
        """The dtype of a tensor. Raises Keep where it is not known."""
        found = self.tensor(value).dtype
        assert found is not None
        return found

    def shape_of(self, value: ir.Value) -> tuple[Dim, ...]:
        """The sizes of a tensor. Raises Keep where its dtype or its rank is not known."""
        shape = self.tensor(value).shape
        if shape is None:
            raise Keep("an operand's rank is not known")
        return shape

    def is_tensor(self, i: int) -> bool:
        """Whether operand i is a tensor."""
        return isinstance(self.values[i], Tensor)

    # --- building ----------------------------------------------------------------------------------------------------

    def value(self, operand: Any) -> ir.Value:
        """An operand as a value: Python's numbers and None become constants, lists are made of their items."""
        if isinstance(operand, ir.Value):
            return operand
        if not isinstance(operand, (list, tuple)):
            made = constant(operand, self._ip)
            return self._record(made.owner.operation, [lifted(operand)])[0]
        items = list(map(self.value, operand))
        kinds = {type(self.inference[v]) for v in items}
        element = "int" if Tensor not in kinds else "optional<vtensor>" if NoneValue in kinds else "vtensor"
        type_ = ir.Type.parse(f"!torch.list<{element}>", self.op.context)
        op = ir.Operation.create("torch.prim.ListConstruct", [type_], items, loc=self.op.location, ip=self._ip).operation
        return self._record(op, [List(tuple(self.inference[v] for v in items))])[0]

    def build(self, name: str, given: Sequence[Any], results: Sequence[ir.Type] | None = None) -> list[ir.Value]:
        """A torch op of the table under torch's rules, its results typed. Raises Keep where torch refuses the operands."""
        row, operands = optable.lookup(name), list(map(self.value, given))
        if row is None:
            raise Keep(f"the op table has no {name}")
        try:
            found = row.infer(Infer(), [self.inference[v] for v in operands])
        except OF_RULES as e:
            raise Keep(f"{name} refuses these operands: {e}") from e
        values = list(found) if isinstance(found, tuple) else [found]
        plain = ir.Type.parse("!torch.vtensor", self.op.context)
        try:
            types = [refined_type(self.op, t, v) for t, v in zip(results or [plain] * len(values), values, strict=True)]
        except InferenceError as e:
            raise Keep(f"torch's {name} {e}") from e
        spelled, attributes = torch_types.spelled(self.op.context, name)
        op = ir.Operation.create(spelled, types, operands, attributes, loc=self.op.location, ip=self._ip).operation
        return self._record(op, values)

    def one(self, name: str, *operands: Any, type_: str = "!torch.vtensor") -> ir.Value:
        """The result of a torch op that gives one tensor, or a `type_`."""
        (result,) = self.build(name, operands, [ir.Type.parse(type_, self.op.context)])
        return result

    def again(self, operands: Sequence[Any] | None = None) -> list[ir.Value]:
        """The same op under torch's rules, on other operands of the same number."""
        return self.build(self.name, self.operands if operands is None else operands, [r.type for r in self.op.results])

    def in_numpys_steps(self, operands: Sequence[Any]) -> list[ir.Value]:
        """`again`, of an op that is to round and overflow where NumPy does on the way: native code reads the mark."""
        results = self.again(operands)
        self.made[-1].attributes[NUMPYS_STEPS] = ir.UnitAttr.get(self.op.context)
        return results

    def check(self, condition: ir.Value, message: str) -> None:
        """Let the program raise unless a `!torch.bool` is true."""
        text = {"message": ir.StringAttr.get(message, self.op.context)}
        self.made.append(ir.Operation.create("torch.runtime.assert", [], [condition], text, loc=self.op.location, ip=self._ip).operation)

    def raise_if(self, condition: ir.Value, kind: str, message: str) -> None:
        """Raise the built-in exception `kind` when a `!torch.bool`, or a tensor of one, is true."""
        asked = self.one("aten.Bool.Tensor", condition, type_="!torch.bool") if torch_types.is_tensor(condition.type) else condition
        branch, wrong, fine = if_(asked, [], self.op.location, self._ip)
        at = ir.InsertionPoint(wrong)
        words = [constant(text, at) for text in (message, kind)]
        ir.Operation.create("torch.prim.RaiseException", [], words, loc=self.op.location, ip=at)
        yield_(wrong)
        yield_(fine)
        self._record(branch, [])

    def refuse_outside(self, value: ir.Value, dtype: DType) -> None:
        """NumPy's exceptions for an element that an integer dtype cannot hold."""
        low, high = dtype.range
        if self.dtype_of(value).is_float:
            value = self.cast(value, dtypes.f64)
            self.raise_if(self.one("aten.ne.Tensor", value, value), "ValueError", "cannot convert float NaN to integer")
            whole = self.one("aten.trunc", value)
            outside = [self.one("aten.lt.Scalar", whole, float(low)), self.one("aten.ge.Scalar", whole, high + 1.0)]
        else:
            whole = value if self.dtype_of(value) is dtypes.u64 else self.cast(value, dtypes.i64)
            least, most = self.dtype_of(whole).range
            outside = [self.one("aten.lt.Scalar", whole, low)] if low > least else []
            outside += [self.one("aten.gt.Scalar", whole, high)] if high < most else []
        if outside:
            refused = reduce(lambda a, b: self.one("aten.logical_or", a, b), outside)
            self.raise_if(refused, "OverflowError", f"the number is out of bounds for {dtype.numpy}")

    def _record(self, op: ir.Operation, values: Sequence[Value]) -> list[ir.Value]:
        self.made.append(op)
        results = list(op.results)
        for result, value in zip(results, values, strict=True):
            self.inference.values[result] = value
        return results

    def cast(self, value: ir.Value, dtype: DType) -> ir.Value:
        """A tensor in another dtype; itself when it has it."""
        if self.dtype_of(value) is dtype:
            return value
        return self.one("aten.to.dtype", value, dtype.code, False, False, None)

    def number(self, i: int, dtype: DType) -> ir.Value:
        """Operand i, a Python number, so that torch converts it to what NumPy makes of it in `dtype`."""
        known = self.values[i]
        if not isinstance(known, (Int, Float, Bool)):
            raise Keep("an operand is neither a tensor nor a number")
        if isinstance(known.value, (int, float)):
            return self.value(_converted(known.value, dtype))
        if isinstance(known, Int) and dtype.category is Category.INT:
            self.refuse_outside(self.one("aten.full", [], self.operands[i], dtypes.i64.code, None, None, None), dtype)
            return self.operands[i]
        exact = {Int: ("bool", *_FLOATING), Float: ("bool", *_FLOATING), Bool: ("bool",)}[type(known)]
        if dtype.name not in exact:
            raise Keep(f"whether a number that the run knows fits in {dtype} is for the run to say")
        return self.operands[i]

    def either(self, i: int, dtype: DType) -> ir.Value:
        """Operand i, a tensor or a number, in `dtype`; None stays None."""
        if isinstance(self.values[i], NoneValue):
            return self.operands[i]
        return self.cast(self.operands[i], dtype) if self.is_tensor(i) else self.number(i, dtype)

    def items(self, i: int) -> list[ir.Value]:
        """The SSA items of a list operand."""
        owner = self.operands[i].owner
        if isinstance(owner, ir.Block) or owner.operation.name != "torch.prim.ListConstruct":
            raise Keep("the items of a list are not known")
        return [_underived(v) for v in owner.operation.operands]

    # --- the end -----------------------------------------------------------------------------------------------------

    def accept(self, replacements: Sequence[ir.Value]) -> None:
        """Put the new values in the op's place. Raises Keep when they are not what NumPy gives."""
        for wanted, new in zip(self.results, replacements, strict=True):
            found = self.inference[new]
            if not isinstance(wanted, Tensor):
                continue
            if not (isinstance(found, Tensor) and found.dtype is wanted.dtype and same_shape(found, wanted, self.inference.ties)):
                raise Keep(f"torch gives {found} where NumPy gives {wanted}")
        for result, new in zip(self.op.results, replacements, strict=True):
            if torch_types.is_tensor(result.type):
                new.set_type(refined_type(self.op, new.type, self.inference[result]))
            self.inference.values.pop(result)
            result.replace_all_uses_with(new)
        self.op.erase()

    def undo(self) -> None:
        """Take back all that was built."""
        for op in reversed(self.made):
            op.erase()
        self.made.clear()


_FLOATING = ("f32", "f64", "c64", "c128")


def _underived(value: ir.Value) -> ir.Value:
    """What a `torch.derefine` to an optional holds."""
    owner = value.owner
    return owner.operation.operands[0] if not isinstance(owner, ir.Block) and owner.operation.name == "torch.derefine" else value


def _converted(value: Any, dtype: DType) -> int | float:
    """A number as NumPy converts it to a dtype, as a Python number that is exactly that."""
    try:
        with np.errstate(all="ignore"):
            exact = np.asarray(value, dtype.part.numpy)
    except (OverflowError, ValueError) as e:  # out of range; NaN to an integer
        raise Keep(str(e)) from e
    if dtype.part.is_float:
        return float(exact)
    return int(exact)  # of a bool too: the torch dialect's scalar operands are numbers


def same_shape(a: Tensor, b: Tensor, ties: Sequence[Tie] = ()) -> bool:
    """Whether two shapes are the same, given sizes that must be equal for the program to run; sizes that only the run knows aside."""
    if a.shape is None or b.shape is None or len(a.shape) != len(b.shape):
        return a.shape is None and b.shape is None
    return all(x == y or (_run_time(x) and _run_time(y)) or tied(x, y, ties) for x, y in zip(a.shape, b.shape, strict=True))


def tied(x: Dim, y: Dim, ties: Sequence[Tie]) -> bool:
    """Whether a chain of ties leads from x to y."""
    reached, grown = [x], True
    while grown:
        more = [d for t in ties for d, other in ((t.left, t.right), (t.right, t.left)) if other in reached and d not in reached]
        reached += more
        grown = bool(more)
    return y in reached


def _run_time(dim: Dim) -> bool:
    return isinstance(dim, Expr) and any(s.name.startswith("u") for s in dim.symbols())
