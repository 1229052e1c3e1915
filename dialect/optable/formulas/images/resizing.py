"""Images made larger or smaller: dim after dim, each position from the nearest of the input, or from two or four with weights.

Where a position lies in the input is computed as ATen/native/UpSample.h does it, in float32 unless the image is of float64.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.optable.core import ShapeError
from tierup.dialect.optable.formulas.core import INT, Ops, T, formula

_FLOAT, _BOOL = "!torch.float", "!torch.bool"
_CUBIC = -0.75  # the A of Keys' cubic convolution


class _Dim:
    """One dim that is resized: `size` and `count` are ints, or values of ints; `scale` the factor that was given, None where sizes were."""

    def __init__(self, o: Ops[Any], x: Any, dim: int, count: Any, scale: float | None) -> None:
        known = (o.known(x).shape or ())[dim]
        self.dim, self.size, self.scale = dim, known if isinstance(known, int) else o.size(x, dim), scale or None
        self.are_known = isinstance(known, int) and (count is None or isinstance(count, int))
        self.count = _times(o, self.size, scale) if count is None else count
        self.dtype = dtypes.f64 if o.known(x).dtype is dtypes.f64 else dtypes.f32
        self.rest = o.rank(x) - dim - 1

    def stays(self) -> bool:
        """Whether it is known that all positions are those of the input."""
        return self.are_known and bool(self.size == self.count)

    def ratio(self, o: Ops[Any], align: bool = False, *, stays: bool = True) -> Any:
        """How far apart in the input two neighbours are. `stays`: 1 where all positions are those of the input, whatever factor was
        given."""
        if align:
            if self.are_known:
                return (self.size - 1) / max(self.count - 1, 1)
            gaps = o.call("prim.max.int", o.call("aten.sub.int", self.count, 1, type_=INT), 1, type_=INT)
            return o.call("aten.div.int", self.last(o), gaps, type_=_FLOAT)
        if self.scale is None or self.scale <= 0:
            return self.size / self.count if self.are_known else o.call("aten.div.int", self.size, self.count, type_=_FLOAT)
        if self.are_known or self.scale == int(self.scale) or not stays:
            return 1.0 / self.scale
        same = o.call("aten.Int.bool", o.call("aten.eq.int", self.size, self.count, type_=_BOOL), type_=INT)
        other = o.call("aten.mul.float_int", 1.0 / self.scale, o.call("aten.sub.int", 1, same, type_=INT), type_=_FLOAT)
        return o.call("aten.add.float_int", other, same, type_=_FLOAT)

    def places(self, o: Ops[T]) -> T:
        """0, 1, 2, ... as numbers with a point."""
        return o.call("aten.arange", self.count, self.dtype.code, None, None, None)

    def last(self, o: Ops[Any]) -> Any:
        """The last position of the input."""
        return self.size - 1 if isinstance(self.size, int) else o.call("aten.sub.int", self.size, 1, type_=INT)

    def picked(self, o: Ops[T], x: T, places: T) -> T:
        """What is at positions of the input."""
        return o.call("aten.index_select", x, self.dim, places)

    def weight(self, o: Ops[T], each: T) -> T:
        """A number for each position, for all of the dims behind."""
        return o.call("aten.reshape", each, [-1, *[1] * self.rest])


def _times(o: Ops[Any], size: Any, scale: float | None) -> Any:
    assert scale is not None
    if isinstance(size, int):
        return int(size * scale)
    if scale == int(scale):
        return o.call("aten.mul.int", size, int(scale), type_=INT)
    return o.call("aten.Int.float", o.call("aten.mul.int_float", size, scale, type_=_FLOAT), type_=INT)


def _whole(o: Ops[T], x: T) -> T:
    return o.call("aten.to.dtype", x, dtypes.i64.code, False, False, None)


# --- how a dim is resized ------------------------------------------------------------------------------------------------


def _nearest(o: Ops[T], x: T, dim: _Dim, align: bool, before: float = 0.0) -> T:
    """What is at floor((i + before) * ratio)."""
    if dim.stays() and dim.scale is None:
        return x
    at = dim.places(o)
    at = o.mul(at if before == 0 else o.add(at, before), dim.ratio(o, stays=False))
    return dim.picked(o, x, o.call("aten.clamp_max", _whole(o, o.call("aten.floor", at)), dim.last(o)))


def _source(o: Ops[T], dim: _Dim, align: bool) -> T:
    at = dim.places(o)
    return o.mul(at, dim.ratio(o, align)) if align else o.sub(o.mul(o.add(at, 0.5), dim.ratio(o)), 0.5)


def _linear(o: Ops[T], x: T, dim: _Dim, align: bool) -> T:
    """Between the two nearest."""
    if dim.stays():
        return x
    at = o.call("aten.clamp_min", _source(o, dim, align), 0)
    first = o.call("aten.clamp_max", _whole(o, at), dim.last(o))
    second = o.call("aten.clamp_max", o.add(first, 1), dim.last(o))
    share = dim.weight(o, o.call("aten.clamp", o.sub(at, first), 0, 1))
    return o.add(o.mul(dim.picked(o, x, first), o.rsub(1, share)), o.mul(dim.picked(o, x, second), share))


def _cubic(o: Ops[T], x: T, dim: _Dim, align: bool) -> T:
    """Cubic convolution of the four nearest, of which those beyond an end are the last there."""
    at = _source(o, dim, align)
    first = o.call("aten.clamp_max", o.call("aten.floor", at), dim.last(o))
    weights = cubic_weights(o, o.call("aten.clamp", o.sub(at, first), 0, 1))
    middle, total = _whole(o, first), None
    for i, each in enumerate(weights, start=-1):
        part = o.mul(dim.picked(o, x, o.call("aten.clamp", o.add(middle, i), 0, dim.last(o))), dim.weight(o, each))
        total = part if total is None else o.add(total, part)
    assert total is not None
    return total


def cubic_weights(o: Ops[T], share: T) -> list[T]:
    """Of the four nearest of what lies between the second and the third, `share` behind the second."""
    rest = o.rsub(1, share)
    return [_far(o, o.add(share, 1)), _near(o, share), _near(o, rest), _far(o, o.add(rest, 1))]


def _near(o: Ops[T], x: T) -> T:
    """Of what is at most 1 away: ((A + 2) x - (A + 3)) x^2 + 1."""
    return o.add(o.mul(o.mul(o.sub(o.mul(x, _CUBIC + 2), _CUBIC + 3), x), x), 1)


def _far(o: Ops[T], x: T) -> T:
    """Of what is 1 to 2 away: ((A x - 5 A) x + 8 A) x - 4 A."""
    found = o.sub(o.mul(x, _CUBIC), 5 * _CUBIC)
    return o.sub(o.mul(o.add(o.mul(found, x), 8 * _CUBIC), x), 4 * _CUBIC)


# --- the ops -------------------------------------------------------------------------------------------------------------


def _resized(
    o: Ops[T], op: str, spatial: int, how: Callable[[Ops[T], T, _Dim, bool], T],
    x: T, sizes: Sequence[Any] | None, align: bool, scales: Sequence[float | None] | None,
) -> T:  # fmt: skip
    """Of (N, C, *spatial). In 16 bits it is computed in 32, as PyTorch does it."""
    dtype, shape = o.known(x).dtype, o.known(x).shape
    if dtype is None or shape is None:
        raise o.unknown()
    if not dtype.is_float and not (how in _COPIES and dtype is dtypes.u8):
        raise TypeError(f"{op} is not implemented for {dtype}")
    if sizes is None and (scales is None or None in scales):
        raise ShapeError(f"{op}: Must specify exactly one of output_size and scale_factors")
    counts, factors = sizes or [None] * spatial, scales or [None] * spatial
    if len(shape) != spatial + 2 or len(counts) != spatial or len(factors) != spatial:
        raise ShapeError(f"{op}: expected {spatial} sizes for a tensor of rank {spatial + 2}, but got {len(counts)} for rank {len(shape)}")
    dims = [_Dim(o, x, i, count, factor) for i, count, factor in zip(range(2, spatial + 2), counts, factors, strict=True)]
    for size in (*(d.size for d in dims), *(d.count for d in dims), shape[1]):
        if isinstance(size, int) and size < 1:
            raise ShapeError(f"{op}: Input and output sizes should be greater than 0, and the input not empty but for its batch")
    is_short = dtype.is_float and dtype not in (dtypes.f32, dtypes.f64)
    found = o.call("aten.to.dtype", x, dtypes.f32.code, False, False, None) if is_short else x
    for dim in reversed(dims):
        found = how(o, found, dim, align)
    if is_short:
        return o.call("aten.to.dtype", found, dtype.code, False, False, None)
    return o.call("aten.clone", x, None) if found is x else found


_EXACT = partial(_nearest, before=0.5)
_COPIES = (_nearest, _EXACT)


def _without_corners(name: str, spatial: int, how: Any) -> None:
    """The ops that know no corners to be aligned: by sizes, with factors beside them, and by either."""
    formula(f"{name}(self; output_size, {_SCALES[spatial]})")(
        lambda o, x, sizes, *scales: _resized(o, name, spatial, how, x, sizes, False, scales or None)
    )
    formula(f"{name}.vec(input; output_size, scale_factors)")(
        lambda o, x, sizes, scales: _resized(o, name, spatial, how, x, sizes, False, scales)
    )


def _with_corners(name: str, spatial: int, how: Any) -> None:
    formula(f"{name}(self; output_size, align_corners, {_SCALES[spatial]})")(
        lambda o, x, sizes, align, *scales: _resized(o, name, spatial, how, x, sizes, align, scales or None)
    )
    formula(f"{name}.vec(input; output_size, align_corners, scale_factors)")(
        lambda o, x, sizes, align, scales: _resized(o, name, spatial, how, x, sizes, align, scales)
    )


_SCALES = {1: "scales", 2: "scales_h, scales_w", 3: "scales_d, scales_h, scales_w"}
for _spatial in (1, 3):  # those of two dims have kernels of their own
    _without_corners(f"upsample_nearest{_spatial}d", _spatial, _nearest)
for _spatial in (1, 2, 3):
    _without_corners(f"_upsample_nearest_exact{_spatial}d", _spatial, _EXACT)
_with_corners("upsample_linear1d", 1, _linear)
_with_corners("upsample_bilinear2d", 2, _linear)
_with_corners("upsample_trilinear3d", 3, _linear)
_with_corners("upsample_bicubic2d", 2, _cubic)
