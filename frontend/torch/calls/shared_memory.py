"""Results of a program that lie in the memory of another tensor: PyTorch has to know which they are views of.

An array says of itself where it lies. One that shares memory with an argument, or with another result, becomes a view of that tensor, made
by PyTorch under its autograd: then writes through either are seen by both, and gradients go through the view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.lib.array_utils import byte_bounds

from tierup.dialect.optable.kernels import torch_tensors
from tierup.runtime.arguments.guards import overlaps_itself
from tierup.runtime.arguments.nearby import Nearby, lie_apart, root_of
from tierup.runtime.interpreter.parameters import Parameter

Array = np.ndarray[Any, Any]


def owner_of(result: Array, arrays: Sequence[Any]) -> int | None:
    """Which of some arrays a result lies in: the only one whose memory it is in. None for memory of its own, and where several may be."""
    if result.flags.owndata:
        return next((i for i, array in enumerate(arrays) if array is result), None)
    found = [i for i, array in enumerate(arrays) if array is result or (isinstance(array, np.ndarray) and result.base is array)]
    if not found:
        found = [i for i, array in enumerate(arrays) if isinstance(array, np.ndarray) and np.may_share_memory(result, array)]
    return found[0] if found and all(_is_same(arrays[found[0]], arrays[i]) for i in found) else None


def overlap(parameters: Sequence[Parameter], names: Sequence[str], flat: Sequence[Any]) -> str:
    """Which written argument has elements in one memory with one another, or with another argument; "" for none."""
    if not any(parameter.written for parameter in parameters):
        return ""
    furthest = furthest_written = 0, -1  # where the memory of those before ends, and whose ends there
    for low, high, i in sorted((*byte_bounds(a), i) for i, a in enumerate(flat) if isinstance(a, np.ndarray) and a.size):
        written = parameters[i].written
        if written and overlaps_itself(flat[i]):
            return f"elements of {names[i]}, which it writes, share memory with one another"
        end, other = furthest if written else furthest_written
        if low < end:
            w, other = (i, other) if written else (other, i)
            return f"{names[w]}, which it writes, shares memory with {names[other]}"
        furthest = max(furthest, (high, i))
        furthest_written = max(furthest_written, (high, i)) if written else furthest_written
    return ""


def shares(result: Array, arrays: Sequence[Any]) -> bool:
    """Whether a result may lie in the memory of one of these."""
    return any(isinstance(array, np.ndarray) and np.may_share_memory(result, array) for array in arrays)


def has_views(array: Array, result: Array) -> bool:
    """Whether a result in an array's memory is made of its elements: it is all of them, or the array fills its memory, or has them all."""
    if _is_same(array, result):
        return True
    (start, end), (first, last) = byte_bounds(array), byte_bounds(result)
    if not (start <= first and last <= end):
        return False
    return array.flags.c_contiguous or array.flags.f_contiguous or _corners(_merged(array, array.strides)[0], result) is not None


def as_tensors(found: Sequence[Any], leaves: Sequence[Any], tensors: Sequence[Any], detached: Sequence[int] = ()) -> tuple[Any, ...]:
    """Results, in trees, as tensors: an argument is the very tensor, what lies in the memory of one or of another result is a view of it.
    `tensors`: of whose memory the leaves are made, as in `autograd.joined`; `detached`: the results that are."""
    arrays = sorted(_arrays(found), key=priority)
    roots = [root_of(a) for a in arrays]
    parts = Counter(map(id, roots))
    if all(a.flags.owndata for a in arrays) or (len(parts) == len(arrays) and lie_apart(arrays, _arrays(leaves))):
        return tuple([torch_tensors.to_tensors(value) for value in found])
    known = Known()  # arrays that are tensors already
    for leaf, given in zip(leaves, tensors, strict=True):
        for array, tensor in zip(leaf, given, strict=True) if isinstance(given, (list, tuple)) else ((leaf, given),):
            if isinstance(tensor, torch.Tensor):
                known.add(array, tensor)
    for array, root in zip(arrays, roots, strict=True):
        tensor = known.tensor_of(array)
        if tensor is None and root is not array and parts[id(root)] > 1:  # they are parts of what is no result
            known.add(root, torch_tensors.tensor(root))
            tensor = known.tensor_of(array)
        tensor = torch_tensors.tensor(array) if tensor is None else tensor
        known.add(array, tensor.detach() if any(found[i] is array for i in detached) else tensor)
    return tuple([torch_tensors.to_tensors(value, known.latest) for value in found])


class Known:
    """Arrays, and the tensors on the same memory."""

    def __init__(self, pairs: Iterable[tuple[Any, Any]] = ()) -> None:
        self._first: dict[int, Any] = {}  # by the arrays' ids, as the rest
        self.latest: dict[int, Any] = {}
        self._of_root: dict[int, list[tuple[Array, torch.Tensor]]] = {}
        self._nearby = Nearby[tuple[Array, torch.Tensor]]()
        self._held: list[Any] = []  # an id is an array's as long as it lives
        for array, tensor in pairs:
            self.add(array, tensor)

    def add(self, array: Any, tensor: Any) -> None:
        """An array and its tensor; other values that stand for themselves."""
        self._first.setdefault(id(array), tensor)
        self.latest[id(array)] = tensor
        self._held.append(array)
        if isinstance(tensor, torch.Tensor):
            self._of_root.setdefault(id(root_of(array)), []).append((array, tensor))
            self._nearby.add(array, (array, tensor))

    def tensor_of(self, array: Array) -> torch.Tensor | None:
        """The tensor of an array, or the view of one that the array is. None where it lies in none of these."""
        if id(array) in self._first:
            found: torch.Tensor | None = self._first[id(array)]
            return found
        root = root_of(array)
        owners = self._of_root.get(id(root), [])
        if not owners and not root.flags.owndata:
            owners = self._nearby.of(array)
        return next((part for a, t in owners if (part := part_of(t, a, array)) is not None), None)


def _arrays(tree: Any) -> Iterator[Array]:
    if isinstance(tree, np.ndarray):
        yield tree
    elif isinstance(tree, (list, tuple, dict)):
        for item in tree.values() if isinstance(tree, dict) else tree:
            yield from _arrays(item)


def priority(value: Any) -> tuple[bool, int]:
    """Of results, those first that others may be views of."""
    return (not value.flags.owndata, -value.nbytes) if isinstance(value, np.ndarray) else (True, 0)


def part_of(tensor: torch.Tensor, array: Array, result: Array) -> torch.Tensor | None:
    """`result` as a view of the `tensor` that has the memory of `array`, or of its bits as another dtype, which has no gradient; None
    where it does not lie there, or as no tensor does."""
    storage, size = tensor.untyped_storage(), result.itemsize
    away = _address(result) - storage.data_ptr()
    strides = [s if n > 1 else max(s, 0) for n, s in zip(result.shape, result.strides, strict=True)]
    end = away + (size + sum([(n - 1) * s for n, s in zip(result.shape, strides, strict=True)]) if result.size else 0)
    if not 0 <= away <= end <= storage.nbytes() or min(strides, default=0) < 0 or any(s % size for s in (away, *strides)):
        return None
    if result.dtype != array.dtype:
        dtype = torch_tensors.tensor(np.empty(0, result.dtype)).dtype
        wide = max(size, tensor.itemsize)
        tensor = tensor.detach().as_strided((storage.nbytes() // wide * wide // tensor.itemsize,), (1,), 0).view(dtype)
    return tensor.as_strided(result.shape, [s // size for s in strides], away // size)


def view(tensor: torch.Tensor, array: Array, result: Array) -> torch.Tensor:
    """`result`, which lies in the memory of `array`, as a view of the `tensor` of its values; the tensor itself where it is the array."""
    if array is result:
        return tensor
    part = part_of(tensor, array, result)
    if part is not None:
        return part
    if result.dtype != array.dtype:
        return torch_tensors.tensor(result)
    placed = _placed(tensor, array, result)
    assert placed is not None  # see `has_view`
    strides, offset = placed
    return tensor.as_strided(result.shape, strides, tensor.storage_offset() + offset)


def has_view(tensor: torch.Tensor, array: Array, result: Array) -> bool:
    """Whether a tensor of the values of `array`, perhaps of another layout, has a view of the values that `result` is in `array`: all of a
    matrix that lies across memory is no one row."""
    return result.dtype != array.dtype or _placed(tensor, array, result) is not None


def _placed(tensor: torch.Tensor, array: Array, result: Array) -> tuple[list[int], int] | None:
    """The strides of that view and where it begins in the tensor, in elements; None where there is none."""
    size = result.itemsize
    away, strides = (_address(result) - _address(array)) // size, [s // size for s in result.strides]
    if 0 in result.shape or all(n == 1 or s == t * size for n, s, t in zip(array.shape, array.strides, tensor.stride(), strict=True)):
        return strides, away
    array, there = _merged(array, tensor.stride())
    corners = _corners(array, result)
    if corners is None:
        return None
    first, steps = corners
    found = [sum(s * t for s, t in zip(step, there, strict=True)) for step in steps]
    return found, sum(i * t for i, t in zip(first, there, strict=True))


def _merged(array: Array, there: Sequence[int]) -> tuple[Array, list[int]]:
    """The array with dims that are one row in its memory and in the tensor's as one dim, and the strides of the tensor's dims then."""
    dims: list[tuple[int, int, int]] = []  # length, stride in the array, stride in the tensor; from the widest
    for n, s, t in sorted(zip(array.shape, array.strides, there, strict=True), key=lambda dim: (-dim[1], -dim[0])):
        if dims and dims[-1][1] == n * s and dims[-1][2] == n * t:
            dims[-1] = dims[-1][0] * n, s, t
        elif n != 1:
            dims.append((n, s, t))
    shape, strides, left = zip(*dims, strict=True) if dims else ((), (), ())
    return np.lib.stride_tricks.as_strided(array, shape, strides), list(left)


def _corners(array: Array, result: Array) -> tuple[list[int], list[list[int]]] | None:
    """Where in an array a result's first element is, and how far from there the next one is along each dim; None for a result that is not
    made of the array's elements, in even steps."""
    away, strides = (_address(result) - _address(array)) // result.itemsize, [s // result.itemsize for s in result.strides]
    first = _index(array, away)
    if first is None:
        return None
    steps = []
    for length, stride in zip(result.shape, strides, strict=True):
        after = _index(array, away + stride if length > 1 else stride)
        if after is None and length > 1:
            return None
        step = [0] * array.ndim if after is None else [b - a for a, b in zip(first, after, strict=True)] if length > 1 else after
        last = [a + (length - 1) * s for a, s in zip(first, step, strict=True)]
        if not all(0 <= i < n for i, n in zip(last, array.shape, strict=True)):
            return None
        steps.append(step)
    return first, steps


def _index(array: Array, offset: int) -> list[int] | None:
    """Where in an array the element is that lies so many elements behind the first; None for a gap between them."""
    index = [0] * array.ndim
    for d in sorted(range(array.ndim), key=lambda d: -array.strides[d]):
        if array.shape[d] > 1 and array.strides[d]:
            index[d], offset = divmod(offset, array.strides[d] // array.itemsize)
    return index if offset == 0 else None


def _is_same(a: Array, b: Array) -> bool:
    return a is b or (_address(a) == _address(b) and a.shape == b.shape and a.strides == b.strides and a.dtype == b.dtype)


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]  # type: ignore[no-any-return]  # NumPy's interface is untyped
