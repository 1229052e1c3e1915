"""Einstein's sums, whose equation the text says, as products of matrices.

    %y = aten::einsum("bij,bjk->bik", [%a, %b], %none)

becomes, of two operands, what is summed in one of them alone, then a product: the dims of both that stay are those of the batch, the dims
of both that go are summed, and the rest are rows and columns. Without a dim that is summed it is a product of elements. Of more operands
the first two come first. A size of 1 broadcasts, as in PyTorch.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from textwrap import indent
from typing import Any

from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import is_none, str_of
from tierup.frontend.torch.script.builder import Builder
from tierup.frontend.torch.script.composites.recurrent import compiled

_EINSUM = "aten.einsum"


def is_apart(builder: Builder, name: str, operands: Sequence[ir.Value]) -> bool:
    """Whether this is the op, and the graph says what decides it: no ellipsis, no diagonal, and operands of the ranks that are written."""
    if name != _EINSUM or str_of(operands[0]) is None or not is_none(operands[2]):
        return False
    given, parsed = builder.items_of(operands[1]), _parsed(str_of(operands[0]) or "")
    if given is None or parsed is None or len(given) != len(parsed[0]):
        return False
    ranks = [getattr(builder.fact(v), "rank", None) for v in given]
    return all(rank == len(labels) for rank, labels in zip(ranks, parsed[0], strict=True))


def apart(builder: Builder, node: Any, operands: Sequence[ir.Value]) -> list[ir.Value]:
    """Its result by other ops."""
    return builder.inlined(_graph(str_of(operands[0]) or ""), list(node.inputs()), here=True)


def _parsed(equation: str) -> tuple[list[str], str] | None:
    """The labels of each operand, and of the result; None for one that is PyTorch's to take or to refuse."""
    left, arrow, result = equation.replace(" ", "").partition("->")
    operands = left.split(",")
    if not arrow:
        result = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    each = [*operands, result]
    if any(not all(c.isascii() and c.isalpha() for c in labels) or len(set(labels)) < len(labels) for labels in each):
        return None
    return (operands, result) if set(result) <= set(left) else None


@cache
def _graph(equation: str) -> Any:
    parsed = _parsed(equation)
    assert parsed is not None  # is_apart saw it
    operands, result = parsed
    names = [f"x{i}" for i in range(len(operands))]
    lines = [f"{', '.join(names)}{',' if len(names) == 1 else ''} = tensors"]
    name, labels = names[0], operands[0]
    for k in range(1, len(operands)):
        wanted = {*result, *"".join(operands[k + 1 :])}
        labels = _product(lines, name, labels, names[k], operands[k], wanted)
    labels = _summed(lines, name, labels, set(result))
    lines.append(f"return {name}.permute({_places(labels, result)})")
    return compiled(f"def run(equation: str, tensors: List[Tensor], path: Optional[List[int]]):\n{indent(chr(10).join(lines), '    ')}\n")


def _summed(lines: list[str], name: str, labels: str, wanted: set[str]) -> str:
    """Sum over the dims that nobody wants; the labels that are left."""
    gone = [i for i, c in enumerate(labels) if c not in wanted]
    if gone:
        lines.append(f"{name} = {name}.sum({gone})")
    return "".join(c for c in labels if c in wanted)


def _product(lines: list[str], a: str, of_a: str, b: str, of_b: str, wanted: set[str]) -> str:
    """The product of two tensors, in the place of the first, and its labels."""
    of_a, of_b = _summed(lines, a, of_a, wanted | {*of_b}), _summed(lines, b, of_b, wanted | {*of_a})
    shared = [c for c in of_a if c in of_b]
    for c in of_a + of_b:
        own = f"{a}.size({of_a.index(c)})" if c in of_a else f"{b}.size({of_b.index(c)})"
        lines.append(f"size_{c} = {b}.size({of_b.index(c)}) if {own} == 1 else {own}" if c in shared else f"size_{c} = {own}")
    if shared:
        lines += [f"{x} = {x}.expand({_sizes(labels)})" for x, labels in ((a, of_a), (b, of_b))]
    batch, summed = [c for c in shared if c in wanted], [c for c in shared if c not in wanted]
    rows, columns = [c for c in of_a if c not in shared], [c for c in of_b if c not in shared]
    found = "".join([*batch, *rows, *columns])
    moved_a = f"{a}.permute({_places(of_a, [*batch, *rows, *summed])})"
    if not summed:
        moved_b = f"{b}.permute({_places(of_b, [*batch, *columns])})"
        ones = f"{moved_a}.reshape({_sizes([*batch, *rows, *[''] * len(columns)])})" if columns else moved_a
        others = f"{moved_b}.reshape({_sizes([*batch, *[''] * len(rows), *columns])})" if rows else moved_b
        lines.append(f"{a} = {ones} * {others}")
        return found
    moved_b = f"{b}.permute({_places(of_b, [*batch, *summed, *columns])})"
    first, last = ([_times(batch)], "bmm") if batch else ([], "mm")
    left = f"{moved_a}.reshape([{', '.join([*first, _times(rows), _times(summed)])}])"
    right = f"{moved_b}.reshape([{', '.join([*first, _times(summed), _times(columns)])}])"
    lines.append(f"{a} = torch.{last}({left}, {right}).reshape({_sizes(found)})")
    return found


def _sizes(labels: Sequence[str]) -> str:
    return f"[{', '.join(f'size_{c}' if c else '1' for c in labels)}]" if labels else "torch.jit.annotate(List[int], [])"


def _places(labels: str, wanted: Sequence[str]) -> str:
    return str([labels.index(c) for c in wanted]) if wanted else "torch.jit.annotate(List[int], [])"


def _times(labels: Sequence[str]) -> str:
    return " * ".join(f"size_{c}" for c in labels) or "1"
