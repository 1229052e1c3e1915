"""What crashes MLIR's own passes, or lets them make another program: refused or mended before they run. A process that compiles must live
on, whatever the module."""

from __future__ import annotations

import re

from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.rewriting.core import int_of

_INLINE = re.compile(r"(?<![\w-])inline(?![\w-])")
_CANONICALIZE = re.compile(r"canonicalize|torch-")
# Ops whose lists of numbers canonicalization writes out for each spatial dim, and takes what lies behind an empty list for its items
_POOLING = frozenset(f"torch.aten.{name}" for n in (1, 2, 3) for name in (f"max_pool{n}d", f"max_pool{n}d_with_indices", f"avg_pool{n}d"))
_SLICE = "torch.aten.slice.t"
_DIVISIONS = frozenset({"torch.aten.floordiv.int", "torch.aten.remainder.int"})  # folded also where the divisor is 0: SIGFPE
_REMAINDER = "torch.aten.remainder.int"  # folded as C has it: -7 % 3 is -1
_NEVER_NEGATIVE = frozenset({"torch.aten.size.int", "torch.aten.dim", "torch.aten.numel", "torch.aten.len.t"})
_LOOKED_AT = _POOLING | _DIVISIONS | {"torch.aten.convolution", "torch.aten._convolution", _SLICE}


def mend(text: str, op: ir.Operation) -> bool:
    """Before canonicalization reads a stride from elsewhere, give each pooling op in `op` that has no stride its kernel size for one;
    before it walks out of a list, backwards or without end, give each slice by a step that may not be positive, and each of a list that may
    be empty, a copy of the list, through which it does not look; before it folds a remainder as C has it, say by floor division what may be
    negative. Whether the MLIR passes of `text` asked for that. Raises PassFailure for a convolution with an empty list, which has no
    meaning to write out, and for a division of ints by the constant 0."""
    if _CANONICALIZE.search(text) is None:
        return False
    found: list[tuple[ir.Operation, str]] = []
    slices: list[ir.Operation] = []
    remainders: list[ir.Operation] = []

    def look(inner: ir.Operation) -> ir.WalkResult:
        name = inner.name
        if name not in _LOOKED_AT:
            return ir.WalkResult.ADVANCE
        if name in _POOLING:
            if _is_empty(inner.operands[2]):
                inner.operands[2] = inner.operands[1]
        elif name == _SLICE:
            slices.append(inner.operation)
        elif name in _DIVISIONS:
            if int_of(inner.operands[1]) == 0:
                found.append((inner.operation, "divides by the constant 0, which MLIR's canonicalization does not survive"))
                return ir.WalkResult.INTERRUPT
            if name == _REMAINDER and not all(map(_is_never_negative, inner.operands)):
                remainders.append(inner.operation)
        elif any(_is_empty(inner.operands[i]) for i in (3, 4, 5)):
            found.append((inner.operation, "has an empty list for stride, padding or dilation"))
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    op.walk(look, ir.WalkOrder.PRE_ORDER)
    if found:
        raise PassFailure(*found[0])
    for made in slices:
        _hide_list(made)
    for made in remainders:
        _by_floor_division(made)
    return True


def _is_never_negative(value: ir.Value) -> bool:
    if isinstance(value.owner, ir.Block):
        return bool(value.owner.owner.name == "torch.prim.Loop" and ir.BlockArgument(value).arg_number == 0)
    number = int_of(value)
    return _name_of(value) in _NEVER_NEGATIVE if number is None else number >= 0


def _by_floor_division(made: ir.Operation) -> None:
    """a % b as a - a // b * b."""
    a, b = made.operands
    with made.location, ir.InsertionPoint(made):
        whole = ir.Operation.create("torch.aten.floordiv.int", [a.type], [a, b]).results[0]
        taken = ir.Operation.create("torch.aten.mul.int", [a.type], [whole, b]).results[0]
        made.results[0].replace_all_uses_with(ir.Operation.create("torch.aten.sub.int", [a.type], [a, taken]).results[0])
    made.erase()


def _hide_list(made: ir.Operation) -> None:
    """Put a copy between a list and its slice, unless the step is a positive constant and the list has items."""
    if _name_of(made.operands[0]) == "torch.aten.list.t":
        return
    step = made.operands[3]
    if (int_of(step) or 0) > 0 and _has_items(made.operands[0]):
        return
    with made.location, ir.InsertionPoint(made):
        items = made.operands[0]
        made.operands[0] = ir.Operation.create("torch.aten.list.t", [items.type], [items]).results[0]


def _name_of(value: ir.Value) -> str:
    """The op that gives the value; "" for a block's argument."""
    return "" if isinstance(value.owner, ir.Block) else value.owner.operation.name


def _has_items(value: ir.Value) -> bool:
    """Whether canonicalization sees items: of any other list it may find out on its way that it is empty."""
    return _name_of(value) == "torch.prim.ListConstruct" and len(value.owner.operation.operands) > 0


def _is_empty(value: ir.Value) -> bool:
    if isinstance(value.owner, ir.Block):
        return False
    made = value.owner.operation
    return made.name == "torch.prim.ListConstruct" and not len(made.operands)


def refuse(text: str, op: ir.Operation) -> None:
    """Raise PassFailure for what the MLIR passes of `text` would crash on in `op`.

    `inline` asks who uses a function, and takes "unknown" for an answer that cannot be: it is one for an op of no registered dialect with
    a body, which might be a symbol table.
    """
    if _INLINE.search(text) is None:
        return
    found: list[ir.Operation] = []

    def look(inner: ir.Operation) -> ir.WalkResult:
        # ours are defined in IRDL, which the context does not count as registered
        if len(inner.regions) and not (inner.name.startswith("tierup.") or inner.context.is_registered_operation(inner.name)):
            found.append(inner.operation)
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    op.walk(look, ir.WalkOrder.PRE_ORDER)
    if found:
        raise PassFailure(found[0], "is of no registered dialect and has a body: whether that names functions nobody knows")
