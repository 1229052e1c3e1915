"""Losses of places that belong to classes: negative log likelihood and cross entropy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import ShapeError
from tierup.dialect.optable.formulas.core import FLOAT, INT, SIZES, Ops, T, formula, reduced

ANOTHER_BATCH = "expected input batch_size to match target batch_size"  # of which PyTorch, too, says ValueError


def _class_dim(o: Ops[T], x: T, op: str, ranks: Sequence[int] = ()) -> int:
    rank = o.rank(x)
    if rank == 0 or (ranks and rank not in ranks):
        raise ShapeError(f"{op}: an input of rank {rank} is none of places and classes")
    return 0 if rank == 1 else 1


def _check_classes(o: Ops[T], op: str, x: T, target: T, weight: T | None, dim: int) -> None:
    """What an input, target indices and weights of classes must be."""
    dtype, of = o.known(target).dtype, o.known(x).dtype
    if o.is_float(x) is False:
        raise TypeError(f"{op} is not implemented for integers")
    if dtype is not None and dtype not in (dtypes.i64, dtypes.u8):
        raise TypeError(f"expected target dtype to be Long or Byte, but got {dtype}")
    what = f"{op}: the target's sizes are not those of the input without its classes"
    if o.rank(target) and o.rank(x) > 1:
        o.equal(x, 0, target, 0, f"{op}: {ANOTHER_BATCH}")
    if o.rank(target) != o.rank(x) - 1:
        raise ShapeError(what)
    for i in range(o.rank(target)):
        o.equal(x, i if i < dim else i + 1, target, i, what)
    if weight is not None:
        if of is not None and o.known(weight).dtype not in (None, of):
            raise TypeError(f"{op}: expected a weight of the input's dtype {of}, but got {o.known(weight).dtype}")
        what = f"{op}: weight tensor should be defined either for all classes or no classes"
        if o.rank(weight) != 1:
            raise ShapeError(what)
        o.equal(x, dim, weight, 0, what)


def likelihood(o: Ops[T], x: T, target: T, weight: T | None, reduction: int, ignored: int, dim: int) -> tuple[T, T]:
    """Minus the input at the target's classes, weighted, and the sum of the weights, of which places that are ignored have none.
    IndexError for a class that there is not."""
    valid = o.call("aten.ne.Scalar", target, ignored)
    index = o.call("aten.to.dtype", o.where(valid, target, 0), dtypes.i64.code, False, False, None)
    picked = o.call("aten.squeeze.dim", o.call("aten.gather", x, dim, o.call("aten.unsqueeze", index, dim), False), dim)
    if weight is None:
        total = o.call("aten.sum", valid, None)
    else:
        o.no_gradient_of(weight, "weight")
        taken = o.call("aten.index_select", weight, 0, o.call("aten.reshape", index, [-1]))
        weights = o.call("aten.reshape", taken, o.call("aten.size", index, type_=SIZES))
        picked = o.mul(picked, weights)
        total = o.call("aten.sum", o.where(valid, weights, 0.0), None)
    each = o.where(valid, o.neg(picked), 0.0)
    if reduction == 1:
        return o.div(o.call("aten.sum", each, None), total), total
    return reduced(o, each, reduction), total


def _nll(o: Ops[T], op: str, x: T, target: T, weight: T | None, reduction: int, ignored: int, ranks: Sequence[int]) -> tuple[T, T]:
    dim = _class_dim(o, x, op, ranks)
    _check_classes(o, op, x, target, weight, dim)
    return likelihood(o, x, target, weight, reduction, ignored, dim)


@formula("nll_loss(self, target, weight; reduction, ignore_index)", raises=True)
def nll_loss(o: Ops[T], x: T, target: T, weight: T | None = None, reduction: int = 1, ignored: int = -100) -> T:
    return _nll(o, "nll_loss", x, target, weight, reduction, ignored, (1, 2))[0]


@formula("nll_loss_nd(self, target, weight; reduction, ignore_index)", raises=True)
def nll_loss_nd(o: Ops[T], x: T, target: T, weight: T | None = None, reduction: int = 1, ignored: int = -100) -> T:
    return _nll(o, "nll_loss_nd", x, target, weight, reduction, ignored, ())[0]


@formula("nll_loss2d(self, target, weight; reduction, ignore_index)", raises=True)
def nll_loss2d(o: Ops[T], x: T, target: T, weight: T | None = None, reduction: int = 1, ignored: int = -100) -> T:
    return _nll(o, "nll_loss2d", x, target, weight, reduction, ignored, (4,))[0]


def _forward(o: Ops[T], op: str, x: T, target: T, weight: T | None, reduction: int, ignored: int, ranks: Sequence[int]) -> tuple[T, T]:
    found, total = _nll(o, op, x, target, weight, reduction, ignored, ranks)
    if reduction == 0 and o.rank(x) > 1:  # PyTorch has no total there
        return found, o.call("aten.new_zeros", x, [], None, None, None, None)
    return found, o.call("aten.type_as", total, x)


@formula("nll_loss_forward(self, target, weight; reduction, ignore_index)", results=2, raises=True)
def nll_loss_forward(o: Ops[T], x: T, target: T, weight: T | None, reduction: int, ignored: int) -> tuple[T, T]:
    return _forward(o, "nll_loss_forward", x, target, weight, reduction, ignored, (1, 2))


@formula("nll_loss2d_forward(self, target, weight; reduction, ignore_index)", results=2, raises=True)
def nll_loss2d_forward(o: Ops[T], x: T, target: T, weight: T | None, reduction: int, ignored: int) -> tuple[T, T]:
    return _forward(o, "nll_loss2d_forward", x, target, weight, reduction, ignored, (4,))


@formula("cross_entropy_loss(self, target, weight; reduction, ignore_index, label_smoothing)", raises=True)
def cross_entropy_loss(
    o: Ops[T], x: T, target: T, weight: T | None = None, reduction: int = 1, ignored: int = -100, smoothing: float = 0.0
) -> T:
    """Of target classes, or of target probabilities where it has the input's rank."""
    op = "cross_entropy_loss"
    if not 0 <= smoothing <= 1:
        raise ShapeError(f"label_smoothing must be between 0.0 and 1.0. Got: {smoothing}")
    dim = _class_dim(o, x, op)
    trailing = o.rank(x) - 1 - dim
    if o.rank(target) != o.rank(x):
        _check_classes(o, op, x, target, weight, dim)
        return of_classes(o, x, target, weight, reduction, ignored, smoothing, dim, trailing)
    if o.is_float(target) is False:
        raise TypeError("Expected floating point type for target with class probabilities")
    o.same_sizes(x, target, f"{op}: the target's sizes are not the input's")
    return of_probabilities(o, x, target, weight, reduction, smoothing, dim, trailing)


def _for_classes(o: Ops[T], weight: T, trailing: int) -> T:
    """Weights of classes, so that they broadcast."""
    for _ in range(trailing):
        weight = o.call("aten.unsqueeze", weight, -1)
    return weight


def of_classes(o: Ops[T], x: T, target: T, weight: T | None, reduction: int, ignored: int, smoothing: float, dim: int, trailing: int) -> T:
    """`trailing`: how many dims stand behind that of the classes."""
    logs = o.call("aten.log_softmax.int", x, dim, None)
    found, total = likelihood(o, logs, target, weight, reduction, ignored, dim)
    if smoothing == 0:
        return found
    summed = o.call("aten.sum.dim_IntList", logs if weight is None else o.mul(logs, _for_classes(o, weight, trailing)), [dim], False, None)
    smooth = o.where(o.call("aten.ne.Scalar", target, ignored), o.neg(summed), 0.0)
    smooth = o.div(o.call("aten.sum", smooth, None), total) if reduction == 1 else reduced(o, smooth, reduction)
    return o.add(o.div(o.mul(smooth, smoothing), o.size(x, dim)), o.mul(found, 1 - smoothing))


def of_probabilities(o: Ops[T], x: T, target: T, weight: T | None, reduction: int, smoothing: float, dim: int, trailing: int) -> T:
    """The mean is that of places."""
    if smoothing > 0:
        classes = o.call("aten.Float.Scalar", o.size(x, dim), type_=FLOAT)
        target = o.add(o.mul(target, 1 - smoothing), o.call("aten.div.float", smoothing, classes, type_=FLOAT))
    each = o.mul(o.call("aten.log_softmax.int", x, dim, None), target)
    if weight is not None:
        each = o.mul(each, _for_classes(o, weight, trailing))
    if reduction == 0:
        return o.neg(o.call("aten.sum.dim_IntList", each, [dim], False, None))
    total = o.neg(reduced(o, each, 2))
    if reduction == 2:
        return total
    places = o.call("aten.floordiv.int", o.call("aten.numel", x, type_=INT), o.size(x, dim), type_=INT)
    return o.div(total, places)


# --- margins -----------------------------------------------------------------------------------------------------------


def _rows(o: Ops[T], op: str, x: T, target: T, ranks: Sequence[int]) -> None:
    if o.is_float(x) is False:
        raise TypeError(f"{op} is not implemented for integers")
    if o.known(target).dtype not in (None, dtypes.i64):
        raise TypeError(f"{op}: expected target dtype to be Long, but got {o.known(target).dtype}")
    if o.rank(x) not in (0, 1, 2) or o.rank(target) not in ranks or 0 in (o.known(x).shape or ())[-1:]:
        raise ShapeError(f"{op}: expected a vector or matrix of places and classes that is not empty, and a target for each place")


def _mean(o: Ops[T], each: T) -> T:
    return o.call("aten.mean.dim", each, [-1], False, None)


@formula("multi_margin_loss(self, target, =p, =margin, weight; reduction)", raises=True)
def multi_margin_loss(o: Ops[T], x: T, target: T, p: Any = 1, margin: Any = 1, weight: T | None = None, reduction: int = 1) -> T:
    """By how much other classes come nearer than the margin to the target's, to the power of p, over the number of classes."""
    _rows(o, "multi_margin_loss", x, target, (0, 1) if o.rank(x) < 2 else (1,))
    x = x if o.rank(x) else o.call("aten.reshape", x, [1])
    if p not in (1, 2):
        raise ShapeError("multi_margin_loss: Invalid p, expected 1 or 2")
    index = o.call("aten.reshape", target, [-1, 1]) if o.rank(x) == 2 else o.call("aten.reshape", target, [1])
    if o.rank(x) == 2:
        o.equal(x, 0, target, 0, "multi_margin_loss: inconsistent target size")
    in_range = o.call("aten.logical_and", o.call("aten.ge.Scalar", target, 0), o.call("aten.lt.Scalar", target, o.size(x, -1)))
    o.check(in_range, "multi_margin_loss: target out of range")
    over = o.call("aten.clamp_min", o.add(o.sub(x, o.call("aten.gather", x, -1, index, False)), margin), 0)
    over = over if p == 1 else o.mul(over, over)
    if weight is not None:
        o.no_gradient_of(weight, "weight")
        if o.rank(weight) != 1:
            raise ShapeError("multi_margin_loss: inconsistent weight size")
        o.equal(x, o.rank(x) - 1, weight, 0, "multi_margin_loss: inconsistent weight size")
        taken = o.call("aten.index_select", weight, 0, o.call("aten.reshape", index, [-1]))
        over = o.mul(over, o.call("aten.reshape", taken, [-1, 1]) if o.rank(x) == 2 else taken)
    classes = o.call("aten.arange", o.size(x, -1), None, None, None, None)
    each = _mean(o, o.where(o.call("aten.eq.Tensor", classes, index), 0.0, over))
    return reduced(o, o.call("aten.reshape", each, [1]) if o.rank(target) > o.rank(each) else each, reduction)
