"""tierup-narrow-slices: a slice whose length only the run knows, where the program can go on with one length alone, is a window of it.

    %0 = torch.aten.slice.Tensor %x, %int0, %k, %end, %int1 : !torch.vtensor<[9],f32>, ... -> !torch.vtensor<[?],f32>
    %1 = torch.aten.mul.Tensor %0, %w : !torch.vtensor<[?],f32>, !torch.vtensor<[3],f32> -> !torch.vtensor<[3],f32>

becomes

    %ok = %end is %k + 3, and %k is 0 to 6
    torch.runtime.assert %ok, "a slice is not as long as what it meets"
    %at = torch.operator "tierup.within"(%k, %int7)
    %to = %at + 3
    %0 = torch.aten.slice.Tensor %x, %int0, %at, %to, %int1 : !torch.vtensor<[9],f32>, ... -> !torch.vtensor<[3],f32>
    %1 = torch.aten.mul.Tensor %0, %w : ...

and so does the slice that is written (`aten.slice_scatter`). A slice that is cut off at an end of the array, or counts from it, fails the
check: tier 0 answers, which raises or broadcasts as NumPy does. Of an array that may be shorter than the window, zeros are taken, and
nothing is written, where the check fails. Types are inferred again (`tierup-infer-types{stale-only=true}`).
"""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import Dim, at_least, symbols
from tierup.dialect.facts.inference.refine import STALE
from tierup.dialect.facts.inference.sizes import Sizes
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir.torch_types import spelled
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Tie
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.signature import inference_of, symbols_of
from tierup.lowering.analysis.stated import ENTRY, guards
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t

_SLICE = "aten.slice.Tensor"
_SLICES = {_SLICE: 1, "aten.slice_scatter": 2}  # the operand that says along which axis; the bounds and the step follow


@register
class NarrowSlices(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        found = [op for op in b.walk(function) if torch_name(op) in _SLICES]
        if ENTRY not in function.attributes or not any(map(_is_open, found)):
            return
        inference, names = inference_of(function), symbols_of(guards(function))
        sizes = Sizes(function, inference)
        lengths = _lengths(inference.ties, names)
        windows = {}
        for op in found:
            known, window = inference.values.get(op.results[0]), _window(op)
            if torch_name(op) == _SLICE and window is not None and isinstance(known, Tensor) and known.shape is not None:
                if (length := lengths.get(known.shape[window.axis])) is not None and sizes.has(length):
                    windows[window.start, window.end] = length
        for op in found:
            window = _window(op)
            if window is not None and (window.start, window.end) in windows:
                length, whole = windows[window.start, window.end], inference.values.get(window.of)
                fits = isinstance(whole, Tensor) and whole.shape is not None and at_least(whole.shape[window.axis] - length, 0)
                with op.location, ir.InsertionPoint(op):
                    _narrow(op, window, t.Number(sizes.value(length, op)), fits)
                function.attributes[STALE] = ir.UnitAttr.get(function.context)


def _lengths(ties: Iterable[Tie], names: AbstractSet[str]) -> dict[Dim, Dim]:
    """The sizes that only the run knows and that must be another, which is made of symbols of these names, with that."""
    found: dict[Dim, set[Dim]] = {}
    for tie in ties:
        for size, wanted in ((tie.left, tie.right), (tie.right, tie.left)):
            if at_least(wanted, 2) and {s.name for s in symbols(wanted)} <= names and not {s.name for s in symbols(size)} <= names:
                found.setdefault(size, set()).add(wanted)
    return {size: wanted.pop() for size, wanted in found.items() if len(wanted) == 1}


@dataclass(frozen=True)
class _Window:
    """What a slice by steps of 1 is of: a tensor of known rank, an axis, the operand that is the start, and its bounds."""

    of: ir.Value
    axis: int
    first: int
    start: ir.Value
    end: ir.Value


def _is_open(op: ir.Operation) -> bool:
    """Whether a slice's type leaves its length open."""
    window, known = _window(op), t.sizes_of(op.results[0])
    return torch_name(op) == _SLICE and window is not None and known is not None and known[0][window.axis] is None


def _window(op: ir.Operation) -> _Window | None:
    at = _SLICES[torch_name(op)]
    axis, first = t.known_int(op.operands[at]), at + 1
    known = t.sizes_of(op.operands[0])
    if known is None or axis is None or t.known_int(op.operands[first + 2]) != 1:
        return None
    return _Window(op.operands[0], axis % len(known[0]), first, op.operands[first], op.operands[first + 1])


def _narrow(op: ir.Operation, window: _Window, length: t.Number, is_inside: bool) -> None:
    """Let a slice have that length, under a check. `is_inside`: whether the array is surely as long."""
    size = t.size(window.of, window.axis)
    low = t.integer(0) if str(window.start.type) == "!torch.none" else t.Number(window.start)
    high = size if str(window.end.type) == "!torch.none" else t.Number(window.end)
    count = size - (length - 1)
    fits = high.equals(low + length) & (low >= 0) & (low < count)
    t.check(fits, "a slice is not as long as what it meets")
    if not is_inside:
        _only_where(fits, op, window, length)
    with ir.InsertionPoint(op):
        name, attributes = spelled(op.context, "tierup.within")
        at = t.Number(ir.Operation.create(name, [t.int_type()], [low, count], attributes).result)
        op.operands[window.first], op.operands[window.first + 1] = at, at + length


def _only_where(fits: ir.Value, op: ir.Operation, window: _Window, length: t.Number) -> None:
    """Take or write a slice where the condition holds; else take zeros, or leave the array as it is."""
    known = t.sizes_of(op.results[0])
    assert known is not None  # of what is sliced they are known
    sizes = [length if i == window.axis else t.size(window.of, i) for i in range(len(known[0]))]
    made = b.op("torch.prim.If", [fits], [op.results[0].type], regions=2)
    op.results[0].replace_all_uses_with(made.results[0])
    yes, no = (region.blocks.append() for region in made.regions)
    op.detach_from_parent()
    yes.append(op)
    with ir.InsertionPoint(yes):
        b.op("torch.prim.If.yield", [op.results[0]])
    with ir.InsertionPoint(no):
        other = window.of
        if torch_name(op) == _SLICE:
            none = t.none()
            other = b.value("torch.aten.zeros", [t.ints(sizes), t.integer(known[1].code), none, none, none], op.results[0].type)
        b.op("torch.prim.If.yield", [other])
