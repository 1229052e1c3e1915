"""Factories, views, movement and indexing under NumPy's rules as torch ops with explicit dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.dtypes import Category
from tierup.dialect.facts.dims import at_least
from tierup.dialect.facts.values import Bool, Float, Int, NoneValue
from tierup.dialect.ir.attributes import LOCKED
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Op
from tierup.dialect.rewriting.numpy_rules.pointwise import Rewrite, of_known_rank
from tierup.dialect.rewriting.site import Keep, Site

# --- factories ----------------------------------------------------------------------------------------------------------


def factory(at: int, fill: int | None = None) -> Rewrite:
    """The dtype as operand `at`; the value of operand `fill`, as NumPy converts it."""

    def rewrite(site: Site) -> list[ir.Value]:
        operands: list[Any] = list(site.operands)
        operands[at] = site.dtype.code
        if fill is not None:
            if site.is_tensor(fill):
                raise Keep("a tensor as fill value")
            operands[fill] = site.number(fill, site.dtype)
        return site.again(operands)

    return rewrite


def arange(numbers: int) -> Rewrite:
    """Ranges of integers; NumPy and torch round others differently, but for those that count from 0 by 1."""

    def rewrite(site: Site) -> list[ir.Value]:
        values = site.values[:numbers]
        from_zero = numbers == 1 or values[0] in (Int(0), Float(0.0))
        by_one = numbers < 3 or values[2] in (Int(1), Float(1.0))
        if site.dtype.is_float and not (from_zero and by_one and site.dtype in (dtypes.f32, dtypes.f64)):
            raise Keep("a range of floats")
        if not site.dtype.is_float and not all(isinstance(v, Int) for v in values):
            raise Keep("a range of integers with floats for bounds")
        operands: list[Any] = list(site.operands)
        operands[numbers] = site.dtype.code
        _end_in_reach(site, operands, numbers)
        return site.again(operands)

    return rewrite


def _end_in_reach(site: Site, operands: list[Any], numbers: int) -> None:
    """A range whose end only the run knows may be the wrong way round: empty in NumPy, an error in torch. Its end is then its start."""
    at = min(numbers - 1, 1)
    start, end = site.values[0] if numbers > 1 else Int(0), site.values[at]
    step = site.values[2] if numbers == 3 else Int(1)
    known = all(isinstance(v, (Int, Float)) and isinstance(v.value, (int, float)) for v in (start, end, step))
    counts = start in (Int(0), Float(0.0)) and isinstance(end, Int) and end.value is not None and at_least(end.value, 0)
    if known or (counts and step in (Int(1), Float(1.0))):
        return  # torch refuses it now, or never
    if not (isinstance(start, Int) and isinstance(end, Int) and isinstance(step, Int) and isinstance(step.value, int) and step.value):
        raise Keep("a range that may be the wrong way round")
    integer = ir.Type.parse("!torch.int", site.op.context)
    if operands[at].type != integer or (numbers > 1 and operands[0].type != integer):
        raise Keep("a range of numbers of unknown kind")
    first: Any = operands[0] if numbers > 1 else 0
    operands[at] = site.one(f"prim.{'max' if step.value > 0 else 'min'}.int", operands[at], first, type_="!torch.int")


# --- views, movement, indexing ------------------------------------------------------------------------------------------


def slice_(site: Site) -> list[ir.Value]:
    """A slice that goes forwards: torch has no other."""
    step = site.values[4]
    if not isinstance(step, Int) or not isinstance(step.value, int) or step.value < 1:
        raise Keep("a slice whose step is not known to be positive")
    return site.again()


def padded(site: Site) -> list[ir.Value]:
    """np.pad: the value as the dtype has it."""
    known, dtype = site.values[2], site.dtype
    if isinstance(known, (Int, Float)) and isinstance(known.value, (int, float)):
        with np.errstate(all="ignore"):
            element = np.asarray(known.value).astype(dtype.numpy)  # what is refused was, by inference
        value: Any = float(element) if dtype.is_float else int(element)
    else:
        value = site.number(2, dtype)
    return site.again([*site.operands[:2], value])


def squeezed(site: Site) -> list[ir.Value]:
    """squeeze: where no size is 1 NumPy gives the very array, torch another."""
    sizes = site.shape_of(site.operands[0])
    if any(size == 1 for size in sizes):
        return site.again()
    if not all(size == 0 or at_least(size, 2) for size in sizes):
        raise Keep("a size that may be 1")
    return [site.operands[0]]


def squeezed_dim(site: Site) -> list[ir.Value]:
    """squeeze of a dim: NumPy refuses one whose size is not 1, torch leaves it."""
    x, dim = site.operands
    shape, axis = site.shape_of(x), site.values[1]
    if not isinstance(axis, Int) or not isinstance(axis.value, int):
        raise Keep("np.squeeze of a dim that is not known")
    if shape and shape[axis.value] != 1:
        size = site.one("aten.size.int", x, dim, type_="!torch.int")
        wrong = site.one("aten.ne.int", size, 1, type_="!torch.bool")
        site.raise_if(wrong, "ValueError", "cannot select an axis to squeeze out which has size not equal to one")
    return site.again()


def joined(site: Site) -> list[ir.Value]:
    """cat and stack: all parts in the dtype of the result."""
    parts = [site.cast(v, site.dtype) for v in site.items(0)]
    return site.again([parts, *site.operands[1:]])


def _indices(site: Site, index: ir.Value) -> ir.Value:
    """An index in int64, since uint8 is a mask to torch; a mask as it is."""
    return index if site.dtype_of(index) is dtypes.bool_ else site.cast(index, dtypes.i64)


def _index_list(site: Site, at: int) -> list[ir.Value]:
    return [v if isinstance(site.known(v), NoneValue) else _indices(site, v) for v in site.items(at)]


def index(site: Site) -> list[ir.Value]:
    """x[i, j, ...]: as torch's, with indices of the dtypes that it takes."""
    return [site.one(_by_list(site, "aten.index.Tensor", 1), site.operands[0], _index_list(site, 1))]


def _by_list(site: Site, name: str, at: int) -> str:
    """The overload for a list of tensors (`hacked_twin`), or that for one with None in it."""
    if any(isinstance(site.known(v), NoneValue) for v in site.items(at)):
        return name
    return {"aten.index.Tensor": "aten.index.Tensor_hacked_twin", "aten.index_put": "aten.index_put.hacked_twin"}[name]


def index_put(site: Site) -> list[ir.Value]:
    """Assignment converts to the dtype of what is written. np.add.at adds in the dtype that both have in common, and converts each sum."""
    x, values = site.operands[0], site.operands[2]
    if len(site.values) > 3 and site.values[3] != Bool(False):
        dtype = site.dtype_of(x)
        common = dtypes.from_numpy(np.result_type(dtype.numpy, site.dtype_of(values).numpy))
        if common is not dtype and not (common is not None and common.category is dtype.category is Category.INT):
            raise Keep("sums that are converted one by one")
    name = _by_list(site, "aten.index_put", 1)
    return [site.one(name, x, _index_list(site, 1), site.cast(values, site.dtype_of(x)), *site.operands[3:])]


def take(dim: int | None) -> Rewrite:
    """np.take along an axis (operand 1 when `dim` is None): indices may be negative, which index_select refuses. Where an axis before it
    has no elements NumPy looks at no index; x[..., i] does."""

    def rewrite(site: Site) -> list[ir.Value]:
        axis = site.values[1] if dim is None else Int(dim)
        picks = _indices(site, site.operands[2 if dim is None else 1])
        if not isinstance(axis, Int) or not isinstance(axis.value, int) or site.dtype_of(picks) is dtypes.bool_:
            raise Keep("np.take along an axis that is not known")
        shape = site.shape_of(site.operands[0])
        at = axis.value % max(len(shape), 1)
        if 0 in shape[:at]:
            raise Keep("np.take of no elements")
        for axis_before in (i for i, size in enumerate(shape[:at]) if not at_least(size, 1)):
            size = site.one("aten.size.int", site.operands[0], axis_before, type_="!torch.int")
            some = site.one("aten.gt.int", size, 0, type_="!torch.bool")
            picks = site.one("aten.mul.Scalar", picks, site.one("aten.Int.bool", some, type_="!torch.int"))
        items: list[Any] = [*[None] * at, picks]
        name = "aten.index.Tensor" if len(items) > 1 else "aten.index.Tensor_hacked_twin"
        return [site.one(name, site.operands[0], items)]

    return rewrite


def gather(site: Site) -> list[ir.Value]:
    """np.take_along_axis without broadcasting; negative indices count from the end."""
    x, picks = site.operands[0], _indices(site, site.operands[2])
    axis, shape, taken = site.values[1], site.shape_of(x), site.shape_of(picks)
    if not isinstance(axis, Int) or not isinstance(axis.value, int) or len(shape) != len(taken) or not shape:
        raise Keep("np.take_along_axis along an axis that is not known")
    dim = axis.value % len(shape)
    size = shape[dim]
    if not isinstance(size, int) or any(a != b for i, (a, b) in enumerate(zip(shape, taken, strict=True)) if i != dim):
        raise Keep("np.take_along_axis that broadcasts, or along a size that is not known")
    negative = site.one("aten.lt.Scalar", picks, 0)
    positive = site.one("aten.where.self", negative, site.one("aten.add.Scalar", picks, size, 1), picks)
    return site.again([x, site.operands[1], positive, *site.operands[3:]])


def locked(site: Site) -> list[ir.Value]:
    """broadcast_to, diagonal: torch's op, which then says itself that nobody may write what it gives."""
    found = site.again()
    found[0].owner.operation.attributes[LOCKED] = ir.UnitAttr.get(site.op.context)
    return found


_FILLS = ("fill_value", "s")  # what factories call the number that they fill with

FORMS: dict[str, Callable[[Op], Rewrite]] = {
    "of_known_rank": lambda op: of_known_rank,
    "locked": lambda op: locked,
    "slice_": lambda op: slice_,
    "padded": lambda op: padded,
    "joined": lambda op: joined,
    "squeezed": lambda op: squeezed,
    "squeezed_dim": lambda op: squeezed_dim,
    "factory": lambda op: factory(op.operands.index("dtype"), next((i for i, name in enumerate(op.operands) if name in _FILLS), None)),
    "arange": lambda op: arange(op.operands.index("dtype")),
    "take": lambda op: take(None if "dim" in op.operands else 0),
    "gather": lambda op: gather,
    "index": lambda op: index,
    "index_put": lambda op: index_put,
}
"""By what an op's definition calls it."""
