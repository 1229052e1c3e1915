"""Whether a call's arguments are those that a program was exported for: dtypes, ranks, sizes, constants."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import sympy  # a dependency of PyTorch
import torch
from torch.export import ExportedProgram
from torch.fx import Node

from tierup.frontend.torch.errors import UnsupportedProgram

_MOST_PASSED = 1000


class InputCheck:
    """`check(leaves)` raises TypeError for another kind of value or dtype, ValueError for sizes that the program is not for.

    `inputs`: the placeholders of all leaves of the `program`. A size is a number, a symbol (equal wherever it stands, between its least
    and its largest value), or linear in one symbol. What else PyTorch took for granted as it traced (`int(n / 2) == 3`), PyTorch checks.
    """

    def __init__(self, inputs: Sequence[Node], program: ExportedProgram) -> None:
        self._leaves: list[tuple[str, Any, tuple[int | None, ...]]] = []  # name, dtype or constant, the sizes that are numbers
        self._sizes: list[tuple[int, int, Any, Any, Any]] = []  # leaf, dim (-1: the leaf itself), symbol, factor, offset
        for i, node in enumerate(inputs):
            found = node.meta.get("val")
            if isinstance(found, torch.Tensor):
                self._leaves.append((node.name, found.dtype, tuple(s if isinstance(s, int) else None for s in found.shape)))
                for dim, size in enumerate(found.shape):
                    if isinstance(size, torch.SymInt):
                        self._sizes.append((i, dim, *_linear(size.node.expr, node.name)))
            elif isinstance(found, torch.SymInt):
                self._leaves.append((node.name, int, ()))
                self._sizes.append((i, -1, *_linear(found.node.expr, node.name)))
            elif isinstance(found, (torch.SymFloat, torch.SymBool)):
                self._leaves.append((node.name, float if isinstance(found, torch.SymFloat) else bool, ()))
            else:
                self._leaves.append((node.name, _Constant(found), ()))
        self._ranges = {s: (_bound(r.lower, 0), _bound(r.upper, 2**63 - 1)) for s, r in program.range_constraints.items()}
        module = program.module() if getattr(program, "_guards_code", None) else None
        self._guards: Callable[..., None] | None = getattr(module, "_guards_fn", None)
        self._strides: list[tuple[int, str, torch.Tensor]] = [
            (i, node.name, v) for i, node in enumerate(inputs) if isinstance(v := node.meta.get("val"), torch.Tensor) and v.ndim > 1
        ]
        self._passed: set[Hashable] = set()  # sizes and numbers of which the guards held

    def laid_out_otherwise(self, leaves: Sequence[Any]) -> str | None:
        """The name of a tensor that lies in memory in another way than the example did: contiguous, or by other strides."""
        for i, name, example in self._strides:
            alike = leaves[i].is_contiguous() if example.is_contiguous() else leaves[i].stride() == example.stride()
            if not alike:
                return name
        return None

    def __call__(self, leaves: Sequence[Any]) -> None:
        """Check the flat arguments of a call; the class says what it raises."""
        for (name, kind, sizes), leaf in zip(self._leaves, leaves, strict=True):
            if isinstance(kind, torch.dtype):
                if not isinstance(leaf, torch.Tensor):
                    raise TypeError(f"argument {name}: a tensor is wanted, not {type(leaf).__name__}")
                if leaf.dtype is not kind:
                    raise TypeError(f"argument {name} is of {leaf.dtype}, the program was exported for {kind}")
                if leaf.ndim != len(sizes) or any(now != size for now, size in zip(leaf.shape, sizes, strict=True) if size is not None):
                    wanted = ", ".join("?" if size is None else str(size) for size in sizes)
                    raise ValueError(f"argument {name} is of the sizes {tuple(leaf.shape)}, the program was exported for ({wanted})")
            elif isinstance(kind, _Constant):
                if type(leaf) is not type(kind.value) or leaf != kind.value:
                    raise ValueError(f"argument {name} is {leaf!r}, the program was exported for {kind.value!r}")
            elif type(leaf) is not kind:
                raise TypeError(f"argument {name}: {kind.__name__} is wanted, not {type(leaf).__name__}")
        self._check_symbols(leaves)
        if self._guards is not None:
            self._check_guards(self._guards, leaves)

    def _check_guards(self, guards: Callable[..., None], leaves: Sequence[Any]) -> None:
        numbers = [leaf for leaf in leaves if isinstance(leaf, (int, float))]
        key = (*numbers, *[leaf.shape for leaf in leaves if isinstance(leaf, torch.Tensor)])
        if key in self._passed:
            return
        try:
            guards(*leaves)
        except AssertionError as e:
            raise ValueError(f"the program was exported for other sizes: {e}") from None
        if len(self._passed) >= _MOST_PASSED:
            self._passed.clear()
        self._passed.add(key)

    def _check_symbols(self, leaves: Sequence[Any]) -> None:
        bound: dict[Any, int] = {}
        for i, dim, symbol, factor, offset in self._sizes:
            size = leaves[i] if dim < 0 else leaves[i].shape[dim]
            where = f"argument {self._leaves[i][0]}" + (f": dim {dim}" if dim >= 0 else "")
            value, rest = divmod(size - offset, factor)
            if rest:
                raise ValueError(f"{where} is {size}, which is not {factor} * a whole number + {offset}")
            low, high = self._ranges.get(symbol, (0, 2**63 - 1))
            if not low <= value <= high:
                raise ValueError(f"{where} is {size}: {symbol} is {value}, the program was exported for {low} to {high}")
            if bound.setdefault(symbol, value) != value:
                raise ValueError(f"{where} is {size}: {symbol} is {value} here and {bound[symbol]} elsewhere")


class _Constant:
    """An argument that the program was exported with."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _linear(expr: Any, name: str) -> tuple[Any, int, int]:
    """symbol, factor, offset of a size. Raises UnsupportedProgram for one that is not linear in one symbol."""
    if expr.is_Symbol:
        return expr, 1, 0
    symbols = list(expr.free_symbols)
    if len(symbols) == 1:
        poly = sympy.Poly(expr, symbols[0]) if expr.is_polynomial(symbols[0]) else None
        if poly is not None and poly.degree() == 1:
            factor, offset = poly.all_coeffs()
            return symbols[0], int(factor), int(offset)
    raise UnsupportedProgram(f"argument {name}: a size that is {expr} is not supported")


def _bound(value: Any, infinite: int) -> int:
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError, AttributeError):  # infinity, of several kinds
        return infinite
