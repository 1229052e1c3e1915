"""Whether strides decide if a program raises: `aten.view` takes some tensors of a shape and refuses others, by how they lie in memory.

    %t = torch.aten.t %x
    %v = torch.aten.view %t, %size      raises in PyTorch and in tier 0, though as values it could be computed

Native code has values, all of them row-major, so it may have a view only of what is row-major in PyTorch too. That is followed forwards:
arguments say how they lie; an op gives such a tensor when its operands are (PyTorch's results lie as their operands do), but for views
that permute, skip or repeat; `contiguous`, layer norms and products always do; what is written to in parts stays as it lies. A part
along a dim (a slice, a piece of a split) is row-major but for a gap before that dim: it has the views that leave the dims before it as
they are, and what ops on elements and joins make of such parts has no gaps. A view that only splits dims there always is.

So it is with `aten.ravel` and its kin, which give a view or a copy, where that decides which results of NumPy's Python share memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import pairwise

from tierup.dialect.analysis.showing import reached
from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.values import Shape
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import blocks, handed_over, last_of, maker
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing, Kind, Layout, Op
from tierup.dialect.optable.rows import row_of
from tierup.dialect.rewriting.core import int_of, ints_of
from tierup.dialect.rewriting.float_constants import is_from_python

# Parts that are row-major in dim 0; and which operand is the step, that must be 1
_OUTERMOST = {"torch.aten.select.int": None, "torch.aten.narrow": None, "torch.aten.slice.Tensor": 4}
# Parts along a dim, which is this operand: row-major but for a gap before it. Some are without the dim; a list of them holds such
_PARTS = {
    **dict.fromkeys(_OUTERMOST, 1), "torch.aten.unbind.int": 1, "torch.aten.split.Tensor": 2, "torch.aten.split.sizes": 2,
    "torch.aten.split_with_sizes": 2, "torch.aten.chunk": 2, "torch.aten.tensor_split.sections": 2,
}  # fmt: skip
_DROPPING = frozenset({"torch.aten.select.int", "torch.aten.unbind.int"})
_TAKING = frozenset({"torch.prim.ListUnpack", "torch.aten.__getitem__.t"})
_SAME = frozenset({"torch.aten.detach", "torch.aten.alias", "torch.tensor_static_info_cast"})


Breaks = frozenset[int]  # dims between which and those before lies a gap; all else is row-major
Loose = dict[ir.Value, "Breaks | None"]  # what need not be row-major: with gaps at these dims only, or None for anything


class Known:
    """What is known of a program's values: here nothing."""

    def shape(self, tensor: ir.Value) -> Shape | None:
        """The sizes of a tensor; without them a part of one has no views."""
        return None

    def is_true(self, condition: ir.Value) -> bool | None:
        """Which arm of a branch on it is taken."""
        return None


def doubtful_view(func: ir.Operation, strided: Collection[int] = (), known: Known | None = None) -> ir.Operation | None:
    """A view of a functionalised program that may raise for strides, None when there is none. `strided`: arguments that are not known to be
    row-major, by position."""
    block = func.regions[0].blocks[0]
    loose: Loose = {block.arguments[i]: None for i in strided}
    return next(_doubtful(block, loose, known or Known(), _deciding(func)), None)


def is_strided(op: ir.Operation) -> bool:
    """Whether an op is a view that raises where strides allow none."""
    row = row_of(op)
    return row is not None and row.strided


def _deciding(func: ir.Operation) -> set[ir.Operation]:
    """Ops that give a view or a copy, which decides whether results of NumPy's Python share memory with each other."""
    if not is_from_python(func):
        return set()
    aliases = func.attributes["tierup.result_aliases"] if "tierup.result_aliases" in func.attributes else ()
    if not any("may_result:" in str(alias) for alias in aliases):
        return set()
    returned = last_of(func.regions[0].blocks[0]).operands
    makers = (maker(value) for value in reached(returned))
    return {op for op in makers if op is not None and (row := row_of(op)) is not None and row.aliasing is Aliasing.MAY_VIEW}


def _doubtful(block: ir.Block, loose: Loose, known: Known, deciding: Collection[ir.Operation]) -> Iterator[ir.Operation]:
    """Views of what is in `loose`; what the block makes that need not be row-major is added."""
    for view in block.operations:
        op = view.operation
        if (is_strided(op) or op in deciding) and op.operands[0] in loose:
            breaks, old, new = loose[op.operands[0]], known.shape(op.operands[0]), known.shape(op.results[0])
            if breaks is None or not _fits(old, new, breaks):
                breaks = None
                if not _splits(old, new):
                    yield op
            loose[op.results[0]] = breaks
        elif op.name in ("torch.prim.If", "torch.prim.Loop") or (len(op.regions) and not op.name.startswith("func.")):
            yield from _inside(op, loose, known, deciding)
        elif _may_be_loose(op, loose) and not _is_copied(op, loose, known):
            breaks = _breaks(op, loose, known)
            for result in op.results:
                if _holds_tensors(result):
                    loose[result] = breaks


def _fits(old: Shape | None, new: Shape | None, breaks: Breaks) -> bool:
    """Whether a view leaves the dims before each gap as they are: then it merges nothing over one, and splits what it likes."""
    last = max(breaks, default=0)
    return last == 0 or (old is not None and new is not None and old[:last] == new[:last] and len(new) >= last)


def _splits(old: Shape | None, new: Shape | None) -> bool:
    """Whether a view makes each dim several, or leaves it as it is."""
    if old is None or new is None:
        return False
    rest = list(new)
    for dim in old:
        made: Dim = 1
        while made != dim and rest:
            made = made * rest.pop(0)
        if made != dim:
            return False
    return all(dim == 1 for dim in rest)


def _breaks(op: ir.Operation, loose: Loose, known: Known) -> Breaks | None:
    """The gaps in the parts of a tensor, or of what a list of parts holds; None for what else is not row-major."""
    source = op.operands[0]
    held = loose.get(source, Breaks())
    if op.name == "torch.prim.ListConstruct":
        return _gaps(op, loose)
    if op.name in _TAKING or op.name in _SAME:
        return held if source in loose else None
    slot = _PARTS.get(op.name)
    shape = known.shape(source)
    if slot is None or held is None or shape is None or any(v in loose for v in list(op.operands)[1:]):
        return None
    dim = int_of(op.operands[slot])
    step = _OUTERMOST.get(op.name)
    if dim is None or not -len(shape) <= dim < len(shape) or (step is not None and int_of(op.operands[step]) != 1):
        return None
    dim %= len(shape)
    if op.name in _DROPPING:
        held = Breaks(p - (p > dim) for p in held)
    return held | {dim} if dim else held


def _gaps(op: ir.Operation, loose: Loose) -> Breaks | None:
    """Where the operands of an op may have gaps; None where one need not be row-major otherwise."""
    found = [loose[v] for v in op.operands if v in loose]
    return None if any(breaks is None for breaks in found) else Breaks().union(*filter(None, found))


def _inside(op: ir.Operation, loose: Loose, known: Known, deciding: Collection[ir.Operation]) -> Iterator[ir.Operation]:
    carried = op.name == "torch.prim.Loop"
    taken = known.is_true(op.operands[0]) if op.name == "torch.prim.If" else None
    run = [block for i, block in enumerate(blocks(op)) if taken is None or i == (0 if taken else 1)]
    grown = True
    while grown:
        before = dict(loose)
        for block in run:
            arguments = list(block.arguments)[1:] if carried else list(block.arguments)
            entering = list(op.operands)[2:] if carried else list(op.operands)
            _flow(entering, arguments, loose)
            yield from _doubtful(block, loose, known, deciding)
            yielded = handed_over(block)
            _flow(yielded[1:] if carried else yielded, list(op.results), loose)
            if carried:
                _flow(yielded[1:], arguments, loose)
        grown = len(loose) > len(before)


def _flow(values: list[ir.Value], to: list[ir.Value], loose: Loose) -> None:
    """Where paths meet, and from one iteration to the next, gaps are not followed."""
    loose.update({target: None for value, target in zip(values, to, strict=False) if value in loose})


def _may_be_loose(op: ir.Operation, loose: Loose) -> bool:
    row = row_of(op)
    if row is not None and (row.layout is Layout.ROWS or row.kind is Kind.PRODUCT):
        return False
    if row is not None and row.layout is Layout.COLUMNS:
        return True
    if row is not None and _is_dense(row) and _gaps(op, loose) is not None:
        return False
    written_into = op.name.endswith("_scatter")  # a functionalised write to a part gives the whole, which lies as it did
    if any(v in loose for v in (list(op.operands)[:1] if written_into else op.operands)):
        return True
    if row is None or row.kind is not Kind.VIEW or row.layout is Layout.KEPT:
        return False
    if op.name in _OUTERMOST:
        step = _OUTERMOST[op.name]
        return int_of(op.operands[1]) != 0 or (step is not None and int_of(op.operands[step]) != 1)
    return True


def _is_copied(op: ir.Operation, loose: Loose, known: Known) -> bool:
    """Whether a reshape of what was permuted is row-major: of which strides allow no view, so that PyTorch copies."""
    row = row_of(op)
    moved = maker(op.operands[0], "torch.aten.permute") if row is not None and row.aliasing is Aliasing.MAY_VIEW else None
    order = None if moved is None else ints_of(moved.operands[1])
    if moved is None or order is None or moved.operands[0] in loose:
        return False
    of, new = known.shape(moved.operands[0]), known.shape(op.results[0])
    if of is None or new is None or not all(isinstance(d, int) and d > 1 for d in (*of, *new)) or len(order) != len(of):
        return False
    kept = [d % len(of) for d in order]
    runs = [1 + (b == a + 1) for a, b in pairwise(kept)]  # dims that lie as before can be one
    merged: list[Dim] = [of[kept[0]]]
    for d, run in zip(kept[1:], runs, strict=True):
        if run == 2:
            merged[-1] = merged[-1] * of[d]
        else:
            merged.append(of[d])
    return not _splits(tuple(merged), new)


def _is_dense(row: Op) -> bool:
    return row.layout is Layout.DENSE or (row.layout is None and row.kind is Kind.POINTWISE and row.aliasing is Aliasing.FRESH)


def _holds_tensors(value: ir.Value) -> bool:
    return torch_types.is_tensor(value.type) or "tensor" in str(value.type)
