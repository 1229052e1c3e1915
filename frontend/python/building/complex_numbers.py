"""Which ops of a graph meet complex numbers: those that are not made for them stay Python, where they stand in the user's function.

A row of the op table says of which complex numbers its op gives what NumPy gives (`takes_complex`). The dtypes of a graph's inputs are
known where complex numbers come up, so inference says for most ops whether they meet any; what it does not know counts as complex.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.facts.inference.infer import infer_function
from tierup.dialect.facts.values import List, Opaque, Tensor, Tuple, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Op, TakesComplex
from tierup.frontend.errors import NotDifferentiable, UnsupportedSyntax
from tierup.frontend.python.building.frame import Frame

NO_COMPLEX = "a gradient in a function with complex numbers", "take that of a function of their real and imaginary parts"


def check_complex(frame: Frame, function: ir.Operation, is_gradient: bool) -> None:
    """Raises UnsupportedSyntax, with all that is refused, for the ops of a finished graph that may meet complex numbers and do not take
    them; NotDifferentiable where the graph is of gradients."""
    em = frame.em
    if is_gradient:
        raise frame.error(None, *NO_COMPLEX, NotDifferentiable)
    refused: dict[object, UnsupportedSyntax] = {}

    def visit(op: ir.Operation, row: Op, operands: Sequence[Value], results: Sequence[Value]) -> None:
        if _takes(row.complex_operands, operands, results):
            return
        node = em.nodes.get(op.results[0]) if op.results else None
        if node not in refused:
            refused[node] = frame.error(node, f"`{row.name.removeprefix('aten.')}` where it may meet complex numbers")

    arguments = [em.facts.get(a, torch_types.value_of(a.type)) for a in function.regions[0].blocks[0].arguments]
    infer_function(function, arguments, tolerant=True, visit=visit)
    if refused:
        first, *others = refused.values()
        raise first.with_others(others)


def _takes(takes: TakesComplex, operands: Sequence[Value], results: Sequence[Value]) -> bool:
    if takes is TakesComplex.ALL:
        return True
    if all(map(_is_real, operands)) and all(map(_is_real, results)):
        return True
    stays = (t.dtype is not None and (t.dtype.is_complex or t.dtype is dtypes.bool_) for r in results for t in _tensors(r))
    return takes is TakesComplex.KEPT and all(stays)


def _is_real(value: Value) -> bool:
    return all(t.dtype is not None and not t.dtype.is_complex for t in _tensors(value))


def _tensors(value: Value | None) -> Iterator[Tensor]:
    """The tensors in a value; one of which nothing is known for what may hold any."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, Opaque):
        return
    elif isinstance(value, List) and value.items is None:
        yield from _tensors(value.element or Tensor())
    elif isinstance(value, (List, Tuple)):
        parts: Iterable[Value] = value.items or ()
        for part in parts:
            yield from _tensors(part)
