"""Images as the columns of their patches, and back: entries picked, and added where they came from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tierup.dialect.optable.core import Kind, ShapeError
from tierup.dialect.optable.formulas.core import INT, Ops, T, formula

_MOVEMENT = Kind.MOVEMENT


def _int(o: Ops[Any], name: str, a: Any, b: Any) -> Any:
    """`a` and `b`, numbers or values of ints, by an op of ints."""
    if isinstance(a, int) and isinstance(b, int):
        return {"add": a + b, "sub": a - b, "mul": a * b, "floordiv": a // b if b else 0}[name]
    return o.call(f"aten.{name}.int", a, b, type_=INT)


def _size(o: Ops[Any], x: Any, dim: int) -> Any:
    known = (o.known(x).shape or ())[dim]
    return known if isinstance(known, int) else o.size(x, dim)


def _places(o: Ops[T], starts: Any, step: int, size: int, spacing: int) -> T:
    """starts x size: where the windows' entries are."""
    rows, columns = (o.call("aten.arange", n, None, None, None, None) for n in (starts, size))
    return o.add(o.call("aten.unsqueeze", o.mul(rows, step), 1), o.mul(columns, spacing))


class _Patches:
    """How patches lie in images: per spatial dim the size of one, how far its entries are apart, the padding, how far patches are apart."""

    def __init__(self, op: str, size: Sequence[int], spacing: Sequence[int], padding: Sequence[int], step: Sequence[int]) -> None:
        given = {"kernel_size": size, "dilation": spacing, "padding": padding, "stride": step}
        for name, each in given.items():
            least = 0 if name == "padding" else 1
            if len(each) not in (1, 2) or min(each) < least:
                raise ShapeError(f"{op}: {name} should be two numbers of at least {least}, but got {list(each)}")
        self.op = op
        self.size, self.spacing, self.padding, self.step = ([*each, *each][:2] if len(each) == 1 else list(each) for each in given.values())

    def count(self, o: Ops[Any], i: int, size: Any) -> Any:
        """How many patches there are along a spatial dim of a size."""
        reach = self.spacing[i] * (self.size[i] - 1) + 1
        room = _int(o, "sub", _int(o, "add", size, 2 * self.padding[i]), reach)
        if isinstance(room, int) and room < 0:
            raise ShapeError(f"{self.op}: the images are smaller than a patch of {self.size} at dilation {self.spacing}")
        return _int(o, "add", _int(o, "floordiv", room, self.step[i]), 1)

    def places(self, o: Ops[T], i: int, count: Any) -> T:
        """size * count: where in the padded dim the patches have each of their entries."""
        each = o.call("aten.transpose.int", _places(o, count, self.step[i], self.size[i], self.spacing[i]), 0, 1)
        return o.call("aten.reshape", each, [-1])


@formula("im2col(self; kernel_size, dilation, padding, stride)", kind=_MOVEMENT)
def im2col(o: Ops[T], x: T, size: Sequence[int], spacing: Sequence[int], padding: Sequence[int], step: Sequence[int]) -> T:
    """(N, C, H, W) to (N, C * height * width of a patch, patches), in the order of rows."""
    patches = _Patches("im2col", size, spacing, padding, step)
    if o.rank(x) not in (3, 4):
        raise ShapeError(f"im2col: expected images of rank 3 or 4, but got a tensor of rank {o.rank(x)}")
    images = o.call("aten.unsqueeze", x, 0) if o.rank(x) == 3 else x
    if 0 in (o.known(images).shape or ())[1:]:
        raise ShapeError("im2col: expected images that are not empty but for their batch")
    down, across = (patches.count(o, i, _size(o, images, 2 + i)) for i in (0, 1))
    images = o.call("aten.constant_pad_nd", images, [n for n in reversed(patches.padding) for _ in (0, 1)], 0)
    for i, count, dim in ((0, down, 2), (1, across, 4)):
        picked = o.call("aten.index_select", images, dim, patches.places(o, i, count))
        images = o.call("aten.unflatten.int", picked, dim, [patches.size[i], count])
    images = o.call("aten.permute", images, [0, 1, 2, 4, 3, 5])
    found = o.call("aten.flatten.using_ints", o.call("aten.flatten.using_ints", images, 4, 5), 1, 3)
    return o.call("aten.squeeze.dim", found, 0) if o.rank(x) == 3 else found


@formula("col2im(self; output_size, kernel_size, dilation, padding, stride)", kind=Kind.REDUCTION)
def col2im(
    o: Ops[T], x: T, sizes: Sequence[int], size: Sequence[int], spacing: Sequence[int], padding: Sequence[int], step: Sequence[int]
) -> T:
    """The sums of patches where they lie on one another: im2col's shapes, backwards."""
    patches = _Patches("col2im", size, spacing, padding, step)
    if o.rank(x) not in (2, 3) or len(sizes) != 2:
        raise ShapeError(f"col2im: expected two output sizes and columns of rank 2 or 3, but got {list(sizes)} and a rank of {o.rank(x)}")
    columns = o.call("aten.unsqueeze", x, 0) if o.rank(x) == 2 else x
    entries, found = (o.known(columns).shape or ())[1:]
    counts = [patches.count(o, i, sizes[i]) for i in (0, 1)]
    if isinstance(entries, int) and entries % (patches.size[0] * patches.size[1]) or entries == 0:
        raise ShapeError(f"col2im: expected a number of rows that a patch of {patches.size} divides, but got {entries}")
    if isinstance(found, int) and found != counts[0] * counts[1]:
        raise ShapeError(f"col2im: expected {counts[0]} * {counts[1]} patches, but got {found}")
    each = o.call("aten.unflatten.int", o.call("aten.unflatten.int", columns, 2, counts), 1, [-1, *patches.size])
    each = o.call("aten.permute", each, [0, 1, 2, 4, 3, 5])
    for i, dim in ((1, 4), (0, 2)):
        each = o.call("aten.flatten.using_ints", each, dim, dim + 1)
        room: list[Any] = [o.size(each, d) for d in range(o.rank(each))]
        room[dim] = sizes[i] + 2 * patches.padding[i]
        zeros = o.call("aten.new_zeros", each, room, None, None, None, None)
        each = o.call("aten.index_put", zeros, [*[None] * dim, patches.places(o, i, counts[i])], each, True)
        each = o.call("aten.slice.Tensor", each, dim, patches.padding[i], patches.padding[i] + sizes[i], 1)
    return o.call("aten.squeeze.dim", each, 0) if o.rank(x) == 2 else o.call("aten.clone", each, None)
