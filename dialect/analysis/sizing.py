"""Which numbers the sizes of arrays and of slices hang on: what an op says by the names of its operands, and what follows backwards."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tierup.dialect.ir.structure import blocks, handed_over
from tierup.dialect.ir.torch_types import is_tensor
from tierup.dialect.ir.walking import callee_name, symbol_of, walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.rows import row_of

SIZED_BY_OPERANDS = (Kind.FACTORY, Kind.VIEW, Kind.MOVEMENT)  # their int operands decide sizes, or which elements there are
# PyTorch's names of operands that say how many there are; others say which (an index, a dim), or are filled in
_SIZES = frozenset({"size", "sizes", "shape", "output_size", "split_size", "split_sizes", "sections", "chunks", "start", "end", "step",
                    "length", "steps", "n", "m", "repeats", "pad", "num_classes"})  # fmt: skip
_SUM_TO_SIZE = "aten._grad_sum_to_size"  # which dims it sums over hangs on them, too


def sizing(op: ir.Operation) -> list[ir.Value]:
    """The operands that a size of a result hangs on: numbers and lists of them."""
    row = row_of(op)
    if row is None or row.kind not in SIZED_BY_OPERANDS and row.name != _SUM_TO_SIZE:
        return []
    return [v for name, v in zip(row.operands, op.operands, strict=False) if name in _SIZES and not is_tensor(v.type)]


def sizing_arguments(functions: Mapping[str, ir.Operation], entry: str) -> frozenset[int]:
    """The int arguments of an entry on which sizes hang, by number: also through arithmetic, lists, branches, loops and calls."""
    arguments = list(functions[entry].regions[0].blocks[0].arguments)
    wanted = {i for i, argument in enumerate(arguments) if str(argument.type) == "!torch.int"}
    if not wanted:
        return frozenset()
    calls: dict[str, list[ir.Operation]] = {}
    pending: list[ir.Value] = []
    for function in functions.values():
        for op in walk(function):
            pending += sizing(op)
            if op.name == "func.call":
                calls.setdefault(callee_name(op), []).append(op)
    seen: set[ir.Value] = set()
    while pending:
        value = pending.pop()
        if value not in seen and not is_tensor(value.type):
            seen.add(value)
            pending += _made_of(value, functions, calls)
    return frozenset(i for i in wanted if arguments[i] in seen)


def _made_of(value: ir.Value, functions: Mapping[str, ir.Operation], calls: Mapping[str, list[ir.Operation]]) -> Iterator[ir.Value]:
    """The values that a number, or a list, is made of, one step back."""
    owner = value.owner
    if isinstance(owner, ir.Block):
        at, op = list(owner.arguments).index(value), owner.owner.operation
        if op.name == "func.func":
            yield from (call.operands[at] for call in calls.get(symbol_of(op), ()))
        elif op.name == "torch.prim.Loop" and at:  # the first counts
            yield from (op.operands[at + 1], handed_over(owner)[at])
        return
    op = owner.operation
    at = list(op.results).index(value)
    of = functions.get(callee_name(op)) if op.name == "func.call" else op if op.name in ("torch.prim.If", "torch.prim.Loop") else None
    for block in blocks(of) if of is not None else ():
        handed = handed_over(block)
        yield handed[at + len(handed) - len(op.results)]  # a loop's go behind its condition
    if op.name == "torch.prim.Loop":
        yield op.operands[at + 2]
    elif of is None and not any(is_tensor(v.type) for v in op.operands):
        yield from op.operands
