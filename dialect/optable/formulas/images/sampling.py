"""Images sampled at the points of a grid, and the grids of affine maps (ATen/native/GridSampler.h). Points lie between -1 and 1."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import ShapeError
from tierup.dialect.optable.formulas.core import INT, Ops, T, formula
from tierup.dialect.optable.formulas.images.resizing import cubic_weights

_LINEAR, _NEAREST, _CUBIC = range(3)
_ZEROS, _BORDER, _REFLECTION = range(3)


def _less(o: Ops[Any], size: Any) -> Any:
    """One less than a size, a number or an int of the program."""
    return size - 1 if isinstance(size, int) else o.call("aten.sub.int", size, 1, type_=INT)


def _clipped(o: Ops[T], at: T, last: Any) -> T:
    """Between 0 and `last`; none of what is at an end or beyond has a gradient."""
    return o.where(o.call("aten.gt.Scalar", at, 0), o.where(o.call("aten.lt.Scalar", at, last), at, last), 0)


def _reflected(o: Ops[T], at: T, low: float, span: Any) -> T:
    """Mirrored at `low` and `span` behind it."""
    span = max(span, 1) if isinstance(span, int) else o.call("prim.max.int", span, 1, type_=INT)  # of one place all that is left is clipped
    at = o.call("aten.abs", o.sub(at, low))
    extra, turns = o.call("aten.fmod.Scalar", at, span), o.call("aten.floor", o.div(at, span))
    is_even = o.call("aten.eq.Scalar", o.call("aten.fmod.Scalar", turns, 2), 0)
    return o.add(o.where(is_even, extra, o.rsub(span, extra)), low)


def _inside(o: Ops[T], at: T, size: Any, padding: int, align: bool) -> T:
    """A position in an image of which that may be outside, as the padding has it."""
    if padding == _REFLECTION:
        at = _reflected(o, at, 0.0, _less(o, size)) if align else _reflected(o, at, -0.5, size)
    return at if padding == _ZEROS else _clipped(o, at, _less(o, size))


def _position(o: Ops[T], point: T, size: Any, align: bool) -> T:
    at = o.add(point, 1)
    return o.mul(o.div(at, 2), _less(o, size)) if align else o.div(o.sub(o.mul(at, size), 1), 2)


def _taken(o: Ops[T], flat: T, places: Sequence[T], sizes: Sequence[Any]) -> T:
    """(N, C, *out): the elements of (N, C, all) at whole positions, (N, *out) each; 0 of those outside."""
    within, index = None, None
    for place, size in zip(places, sizes, strict=True):
        is_in = o.call("aten.logical_and", o.call("aten.ge.Scalar", place, 0), o.call("aten.lt.Scalar", place, size))
        within = is_in if within is None else o.call("aten.logical_and", within, is_in)
        whole = o.call("aten.to.dtype", o.where(is_in, place, 0), dtypes.i64.code, False, False, None)
        index = whole if index is None else o.add(o.mul(index, size), whole)
    assert within is not None and index is not None
    rows = o.call("aten.unsqueeze", o.call("aten.flatten.using_ints", index, 1, -1), 1)
    rows = o.call("aten.expand", rows, [-1, o.size(flat, 1), -1], False)
    out = [o.size(index, i) for i in range(1, o.rank(index))]
    found = o.call("aten.unflatten.int", o.call("aten.gather", flat, 2, rows, False), 2, out)
    return o.where(o.call("aten.unsqueeze", within, 1), found, 0.0)


def _summed(o: Ops[T], flat: T, taps: Sequence[Sequence[tuple[T, T]]], sizes: Sequence[Any]) -> T:
    """The elements at all combinations of places, one of each dim, times their weights."""
    total = None
    for chosen in product(*taps):
        weight = chosen[0][1]
        for _, each in chosen[1:]:
            weight = o.mul(weight, each)
        part = o.mul(_taken(o, flat, [place for place, _ in chosen], sizes), o.call("aten.unsqueeze", weight, 1))
        total = part if total is None else o.add(total, part)
    assert total is not None
    return total


@formula(*(f"grid_sampler{n}(input, grid; interpolation_mode, padding_mode, align_corners)" for n in ("", "_2d", "_3d")))
def grid_sampler(o: Ops[T], x: T, grid: T, mode: int, padding: int, align: bool) -> T:
    """(N, C, *out): of (N, C, *sizes) at the points of (N, *out, dims), of which the first is along the last dim."""
    shape, spatial = o.known(x).shape, o.rank(x) - 2
    if spatial not in (2, 3) or o.rank(grid) != o.rank(x) or (mode == _CUBIC and spatial != 2):
        raise ShapeError("grid_sampler(): expected 4D input and grid, or 5D ones without bicubic interpolation")
    sizes = [n if isinstance(n, int) else o.size(x, 2 + i) for i, n in enumerate((shape or ())[2:])]
    if 0 in sizes:
        raise ShapeError("grid_sampler(): expected input to have non-empty spatial dimensions")
    axes = o.call("aten.arange", spatial, None, None, None, None)
    o.equal(grid, o.rank(grid) - 1, axes, 0, f"grid_sampler(): expected grid to have size {spatial} in last dimension")
    if None not in (o.known(x).dtype, o.known(grid).dtype) and o.known(x).dtype is not o.known(grid).dtype:
        raise ShapeError("grid_sampler(): expected input and grid to have same dtype")
    if o.is_float(x) is False:
        raise TypeError("grid_sampler is not implemented for integers")
    o.equal(x, 0, grid, 0, "grid_sampler(): expected grid and input to have same batch size")
    points = [o.call("aten.select.int", grid, -1, spatial - 1 - i) for i in range(spatial)]
    at = [_position(o, point, size, align) for point, size in zip(points, sizes, strict=True)]
    flat = o.call("aten.flatten.using_ints", x, 2, -1)
    if mode == _CUBIC:
        return _summed(o, flat, [_cubic(o, each, size, padding, align) for each, size in zip(at, sizes, strict=True)], sizes)
    at = [_inside(o, each, size, padding, align) for each, size in zip(at, sizes, strict=True)]
    if mode == _NEAREST:
        return _taken(o, flat, [o.call("aten.round", each) for each in at], sizes)
    return _summed(o, flat, [_two(o, each) for each in at], sizes)


def _two(o: Ops[T], at: T) -> list[tuple[T, T]]:
    first = o.call("aten.floor", at)
    share = o.sub(at, first)
    return [(first, o.rsub(1, share)), (o.add(first, 1), share)]


def _cubic(o: Ops[T], at: T, size: Any, padding: int, align: bool) -> list[tuple[T, T]]:
    first = o.call("aten.floor", at)
    weights = cubic_weights(o, o.sub(at, first))
    return [(_inside(o, o.add(first, i), size, padding, align), each) for i, each in enumerate(weights, start=-1)]


@formula("affine_grid_generator(theta; size, align_corners)")
def affine_grid_generator(o: Ops[T], theta: T, size: Sequence[int], align: bool) -> T:
    """(N, *sizes, dims): where affine maps (N, dims, dims + 1) send an image's elements, whose centres (`align`) or edges are 1 away."""
    dims, dtype = len(size) - 2, o.known(theta).dtype
    if o.rank(theta) != 3 or dims not in (2, 3):
        raise ShapeError("affine_grid_generator: expected maps (N, 2, 3) or (N, 3, 4), and the sizes of 4D or 5D images")
    if dtype is None:
        raise o.unknown()
    for i, wanted in enumerate((size[0], dims, dims + 1)):
        what = f"Expected a batch of affine matrices of shape {size[0]}x{dims}x{dims + 1} for size {list(size)}."
        o.equal(theta, i, o.call("aten.arange", wanted, None, None, None, None), 0, what)
    spatial = list(size[2:])
    parts: list[Any] = []
    for i in reversed(range(dims)):
        count = spatial[i]
        line = o.call("aten.linspace", -1 if count > 1 else 0, 1 if count > 1 else 0, count, dtype.code, None, None, None)
        line = line if align else o.mul(line, (count - 1) / count)
        parts.append(o.call("aten.expand", o.call("aten.reshape", line, [-1, *[1] * (dims - 1 - i)]), spatial, False))
    parts.append(o.call("aten.ones_like", parts[0], None, None, None, None, None))
    rows = o.call("aten.flatten.using_ints", o.call("aten.stack", parts, -1), 0, -2)
    return o.call("aten.unflatten.int", o.call("aten.matmul", rows, o.call("aten.transpose.int", theta, 1, 2)), 1, spatial)
