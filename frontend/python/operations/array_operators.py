"""Operators on arrays and NumPy scalars, in place too, and their truth."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.branch import select
from tierup.frontend.python.building.frame import Frame, NeedsMutation, WillRaise
from tierup.frontend.python.building.values import (
    Array,
    Complex,
    Const,
    Grows,
    Scalar,
    Sequence,
    ShapeOf,
    Value,
    describe,
    is_array_like,
    is_complex_number,
    is_number,
    is_numpy_scalar,
    number_kind,
)
from tierup.frontend.python.operations import complex_scalars, growing
from tierup.frontend.python.operations.arrays import KIND_DTYPES, as_array, beside, is_one, is_scalar, one_like, weak
from tierup.frontend.python.operations.complex_arrays import refuse_complex
from tierup.frontend.python.operations.scalars import SYMBOLS, number, python_says, raise_if, to_bool, to_float

UFUNCS: dict[type, np.ufunc] = {
    ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply, ast.Div: np.true_divide, ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder, ast.Pow: np.power, ast.BitAnd: np.bitwise_and, ast.BitOr: np.bitwise_or, ast.BitXor: np.bitwise_xor,
    ast.LShift: np.left_shift, ast.RShift: np.right_shift,
    ast.Eq: np.equal, ast.NotEq: np.not_equal, ast.Lt: np.less, ast.LtE: np.less_equal, ast.Gt: np.greater, ast.GtE: np.greater_equal,
    ast.USub: np.negative, ast.Invert: np.invert, ast.UAdd: np.positive,
}  # fmt: skip

# op -> (tensor op tensor, tensor op number, number op tensor); None: the number becomes a rank-0 tensor first.
# "swap": the second form with operands exchanged.
_FORMS: dict[type, tuple[str, str | None, str | None]] = {
    ast.Add: ("aten.add.Tensor", "aten.add.Scalar", "swap"),
    ast.Sub: ("aten.sub.Tensor", "aten.sub.Scalar", "aten.rsub.Scalar"),
    ast.Mult: ("aten.mul.Tensor", "aten.mul.Scalar", "swap"),
    ast.Div: ("aten.div.Tensor", "aten.div.Scalar", None),
    ast.FloorDiv: ("aten.floor_divide", "aten.floor_divide.Scalar", None),
    ast.Mod: ("aten.remainder.Tensor", "aten.remainder.Scalar", None),
    ast.Pow: ("aten.pow.Tensor_Tensor", "aten.pow.Tensor_Scalar", "aten.pow.Scalar"),
    ast.BitAnd: ("aten.bitwise_and.Tensor", "aten.bitwise_and.Scalar", "swap"),
    ast.BitOr: ("aten.bitwise_or.Tensor", None, None),
    ast.BitXor: ("aten.bitwise_xor.Tensor", None, None),
    ast.LShift: ("aten.bitwise_left_shift.Tensor", None, None),
    ast.RShift: ("aten.bitwise_right_shift.Tensor", None, None),
    ast.Eq: ("aten.eq.Tensor", "aten.eq.Scalar", "swap"),
    ast.NotEq: ("aten.ne.Tensor", "aten.ne.Scalar", "swap"),
    ast.Lt: ("aten.lt.Tensor", "aten.lt.Scalar", "aten.gt.Scalar"),
    ast.LtE: ("aten.le.Tensor", "aten.le.Scalar", "aten.ge.Scalar"),
    ast.Gt: ("aten.gt.Tensor", "aten.gt.Scalar", "aten.lt.Scalar"),
    ast.GtE: ("aten.ge.Tensor", "aten.ge.Scalar", "aten.le.Scalar"),
    ast.MatMult: ("aten.matmul", None, None),
}
_WITH_ALPHA = {"aten.add.Tensor", "aten.add.Scalar", "aten.sub.Tensor", "aten.sub.Scalar", "aten.rsub.Scalar"}
IN_PLACE_UFUNCS = {UFUNCS[op]: op for op in _FORMS if op in UFUNCS and not issubclass(op, (ast.Pow, ast.cmpop))}  # `**=` differs from `**`


def broadcast_rank(*arrays: Array) -> tuple[int | None, int]:
    """Rank and least rank of a broadcast."""
    ranks = [a.rank for a in arrays]
    least = max((a.at_least for a in arrays), default=0)
    return (None if None in ranks else max(ranks, default=0)), least  # type: ignore[type-var]  # no None in it


@cache
def _gives_bools(ufunc: np.ufunc) -> bool:
    return all(form.endswith("->?") for form in ufunc.types if "O" not in form)


def ufunc_dtype(ufunc: np.ufunc, *operands: Value) -> np.dtype | None:
    """The result's dtype when all operands' are known: NumPy's own resolution. Comparisons give bools of whatever they compare."""
    if _gives_bools(ufunc):
        return np.dtype(bool)
    types = list(map(_type_of, operands))
    try:
        return None if any(t is None for t in types) else ufunc.resolve_dtypes((*types, *[None] * ufunc.nout))[-1]
    except TypeError:
        return None  # NumPy refuses it; so will the op when it runs


def _type_of(value: Value) -> Any:
    """What a ufunc chooses its loop by: a dtype, or the class of a Python number; None where it is not known."""
    if isinstance(value, Array):
        return value.dtype
    if isinstance(value, Const) and isinstance(value.value, np.generic):
        return value.value.dtype
    kind = number_kind(value)
    return KIND_DTYPES["bool"] if kind == "bool" else {"int": int, "float": float, "complex": complex}[kind]


def check_output(ufunc: np.ufunc, operands: Iterable[Value], out: Value, casting: Any) -> bool:
    """Raises WillRaise as a ufunc does that may not convert what it is given, or what it gives to the dtype of `out`; whether that is
    known, by the dtypes of all of them."""
    types = [_type_of(v) if isinstance(v, Array) or is_number(v) or is_numpy_scalar(v) else None for v in (*operands, out)]
    if any(t is None for t in types):
        return False
    try:
        ufunc.resolve_dtypes(tuple(types), casting=casting)
    except TypeError as e:
        raise WillRaise(e) from e
    return True


def binary(frame: Frame, node: ast.AST, op: type, a: Value, b: Value) -> Array:
    """`a op b` where one is an array, the other an array, a number, or a list of them."""
    if op is ast.MatMult:
        if not is_number(a) and not is_number(b):
            a, b = as_array(frame, node, a), as_array(frame, node, b)
            if a.may_be_scalar and b.may_be_scalar:  # NumPy's scalars have no such operator
                both = frame.em.scalar("aten.__and__.bool", [is_scalar(frame, a), is_scalar(frame, b)], frame.em.types.bool)
                raise_if(frame, both, "TypeUnanswerable", "unsupported operand type(s) for @: two NumPy scalars")
        return matmul(frame, node, a, b)
    a, b = (beside(frame, node, v, other) for v, other in ((a, b), (b, a)))
    a = a if is_number(a) else as_array(frame, node, a)
    b = b if is_number(b) else as_array(frame, node, b)
    for one in (a, b) if op in (ast.FloorDiv, ast.Mod) else ():
        if isinstance(one, Array) and one.may_be_scalar:  # of arrays the ufunc says why it cannot, of scalars the operator does
            refuse_complex(frame, node, one, f"`{SYMBOLS[op]}`")
    if op is ast.Pow and isinstance(a, Array) and a.rank == 0 and a.decays:
        a = without_bools(frame, a, b)
    name, operands = _form(frame, op, _FORMS[op], a, b)
    arrays = [v for v in (a, b) if isinstance(v, Array)]
    rank, least = broadcast_rank(*arrays)
    return Array(frame.em.numpy(name, operands), rank, least, ufunc_dtype(UFUNCS[op], a, b))


REPEATED, USE = "repeated a number of times known only at run time", "use np.full or np.tile"


def refuse_repeats(frame: Frame, node: ast.AST, op: type, a: Value, b: Value) -> None:
    """Raises where `*` is no array's: a NumPy scalar repeats a list or tuple as a Python number does, which only ints can."""
    for sequence, by in ((a, b), (b, a)):
        if op is not ast.Mult or not isinstance(sequence, (Sequence, ShapeOf)) or not isinstance(by, Array) or not by.may_be_scalar:
            continue
        certain = by.rank == 0 and by.decays is True
        if by.dtype is not None and by.dtype.kind not in "iu":
            message = f"can't multiply sequence by non-int of type 'numpy.{by.dtype.type.__name__}'"
            if certain:
                raise WillRaise(TypeError(message))
            raise_if(frame, is_scalar(frame, by), "TypeError", message)
        elif certain:
            raise frame.error(node, f"{describe(sequence)} {REPEATED}", f"{USE}, or np.multiply for products")
        else:
            raise_if(frame, is_scalar(frame, by), "TypeUnanswerable", f"a sequence {REPEATED}")


def without_bools(frame: Frame, base: Array, exponent: Value) -> Array:
    """The base of a power with an int, which is int64 where it was bool: of whole arrays alone NumPy's `**` squares bools as int8."""
    if not is_number(exponent) or number_kind(exponent) != "int" or base.dtype is not None and base.dtype.kind != "b":
        return base
    dtype = None if base.dtype is None else np.dtype(np.int64)
    return replace(base, ssa=frame.em.numpy("aten.mul.Scalar", [base.ssa, frame.em.int(1)]), dtype=dtype)


def _form(frame: Frame, op: type, forms: tuple[str, str | None, str | None], a: Value, b: Value) -> tuple[str, list[ir.Value]]:
    tensor, scalar_right, scalar_left = forms
    if isinstance(a, Array) and isinstance(b, Array):
        name, operands = tensor, [a.ssa, b.ssa]
    elif isinstance(a, Array):
        if scalar_right is not None and number_kind(b) != "bool":
            name, operands = scalar_right, [a.ssa, number(frame, b)]
        else:
            name, operands = tensor, [a.ssa, weak(frame, b, a).ssa]
    else:
        assert isinstance(b, Array)
        if op is ast.Div and number_kind(a) == "int" and not is_one(a):
            a = Const(float(a.value)) if isinstance(a, Const) else Scalar(to_float(frame, a), "float")  # weak, and no int that may not fit
        if scalar_left is None or number_kind(a) == "bool":
            name, operands = tensor, [(one_like(frame, b) if op is ast.Div and is_one(a) else weak(frame, a, b)).ssa, b.ssa]
        elif scalar_left == "aten.pow.Scalar":
            name, operands = scalar_left, [number(frame, a), b.ssa]
        else:
            name = scalar_right if scalar_left == "swap" else scalar_left  # type: ignore[assignment]  # swap needs a second form
            operands = [b.ssa, number(frame, a)]
    if name in _WITH_ALPHA:
        operands.append(frame.em.int(1))
    return name, operands


def matmul(frame: Frame, node: ast.AST | None, a: Value, b: Value, function: Callable[..., Any] = np.matmul) -> Array:
    """numpy.matmul, or numpy.dot of operands of ranks 1 and 2."""
    if is_number(a) or is_number(b):
        raise frame.error(node, "a Python number in a matrix product", "use `*`")
    x, y = as_array(frame, node, a), as_array(frame, node, b)
    rank: int | None = None
    if x.rank is not None and y.rank is not None:
        rank = max(x.rank, y.rank, 2) - (x.rank == 1) - (y.rank == 1)
    dtype = None if x.dtype is None or y.dtype is None else function(np.ones((1, 1), x.dtype), np.ones((1, 1), y.dtype)).dtype
    return Array(frame.em.numpy(f"aten.{function.__name__}", [x.ssa, y.ssa], ranks=(x.rank, y.rank)), rank, 0, dtype)


def unary(frame: Frame, node: ast.AST, op: type, a: Array) -> Array:
    """`+a`, `-a` or `~a`, always another array."""
    if op is ast.UAdd:
        if a.dtype is None or a.dtype.kind == "b":
            code = frame.em.scalar("prim.dtype", [a.ssa], frame.em.types.int)
            is_bool = frame.em.scalar("aten.eq.int", [code, frame.em.int(dtypes.bool_.code)], frame.em.types.bool)
            raise_if(frame, is_bool, "UFuncTypeError", python_says(lambda: +np.ones(1, bool)))
        if a.dtype is not None and a.dtype.kind not in "bc":
            return replace(a, ssa=frame.em.numpy("aten.mul.Scalar", [a.ssa, frame.em.int(1)]), decays=True, detached=False, loads=())
        return unary(frame, node, ast.USub, unary(frame, node, ast.USub, a))  # raises for bools
    if op is ast.USub:
        return replace(a, ssa=frame.em.numpy("aten.neg", [a.ssa]), decays=True, detached=False, loads=())
    return replace(a, ssa=frame.em.numpy("aten.bitwise_not", [a.ssa]), decays=True, detached=False, loads=())


def truth(frame: Frame, node: ast.AST | None, value: Value) -> ir.Value:
    """bool(value) as !torch.bool; an array of more than one element raises NumPy's ValueError when it runs."""
    if isinstance(value, Array):
        return frame.em.numpy("aten.Bool.Tensor", [value.ssa], frame.em.types.bool)
    if isinstance(value, Const):
        return frame.em.bool(bool(value.value))
    if isinstance(value, Scalar):
        return to_bool(frame, value)
    if isinstance(value, Grows):
        return to_bool(frame, growing.length(frame, value))
    if isinstance(value, Complex):
        return complex_scalars.truth(frame, node, value)
    raise frame.error(node, f"the truth of {describe(value)}")


# --- writing in place ----------------------------------------------------------------------------------------------------


def require_mutation(frame: Frame) -> None:
    """Raises NeedsMutation where arrays are built as values."""
    if not frame.em.mutable:
        raise NeedsMutation


def update(frame: Frame, node: ast.AST, op: type, target: Array, value: Value) -> Array:
    """`target op= value`: writes an array, and gives a new value when NumPy has a scalar there. Returns what the name is then."""
    require_mutation(frame)
    refuse_repeats(frame, node, op, target, value)
    value = beside(frame, node, value, target)
    if not is_number(value):
        value = as_array(frame, node, value)
    if target.rank == 0 and target.decays is True:
        return binary(frame, node, op, target, value)
    if not target.may_be_scalar:
        return _write(frame, node, op, target, value)
    new, written = partial(binary, frame, node, op, target, value), partial(_write, frame, node, op, target, value)
    result = select(frame, node, is_scalar(frame, target), new, written)
    assert isinstance(result, Array)
    return result


def _write(frame: Frame, node: ast.AST, op: type, target: Array, value: Value) -> Array:
    if target.detached:
        raise frame.error(node, "writing through a reversed view", "write to the array itself, or to a .copy()")
    name, operands = _form(frame, op, (*_FORMS[op][:2], None), target, value)
    frame.em.numpy(_in_place(name), operands)
    return target


@cache
def _in_place(name: str) -> str:
    """The op that writes what another one gives."""
    return next(op.name for op in optable.table().values() if op.functional == name)


def is_operand(value: Value) -> bool:
    """What an array operator takes on its other side."""
    return is_array_like(value) or is_number(value) or is_complex_number(value) or isinstance(value, (Sequence, ShapeOf, Grows))
