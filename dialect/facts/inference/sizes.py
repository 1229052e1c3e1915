"""Sizes that inference knows as sums and products of the arguments' sizes, computed in the program."""

from __future__ import annotations

from functools import reduce

from tierup.dialect.facts.dims import Atom, Dim, Expr, Symbol
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import Int, Tensor
from tierup.dialect.ir.attributes import constant
from tierup.dialect.mlir import ir


class Sizes:
    """What a function or region is given that has a symbol for its value: a dim of a tensor (its number), or an int (None)."""

    def __init__(self, owner: ir.Operation, inference: Inference) -> None:
        self._sources: dict[Atom, tuple[ir.Value, int | None]] = {}
        for argument in owner.regions[0].blocks[0].arguments:
            known = inference.values.get(argument)
            if isinstance(known, Int):
                self._add(known.value, argument, None)
            for axis, dim in enumerate(known.shape or () if isinstance(known, Tensor) else ()):
                self._add(dim, argument, axis)

    def _add(self, dim: Dim | None, argument: ir.Value, axis: int | None) -> None:
        if isinstance(dim, Expr) and len(dim.terms) == 1:
            ((mono, coefficient),) = dim.terms
            if coefficient == 1 and len(mono) == 1 and mono[0][2] == 1 and isinstance(mono[0][1], Symbol):
                self._sources.setdefault(mono[0][1], (argument, axis))

    def has(self, dim: Dim) -> bool:
        """Whether a size can be computed."""
        return isinstance(dim, int) or all(a in self._sources for mono, _ in dim.terms for _, a, _ in mono)

    def value(self, dim: Dim, before: ir.Operation) -> ir.Value:
        """A size that can be computed, as a !torch.int made before an op."""
        ip = ir.InsertionPoint(before)

        def made(name: str, *operands: ir.Value) -> ir.Value:
            type_ = ir.Type.parse("!torch.int", before.context)
            return ir.Operation.create(f"torch.aten.{name}.int", [type_], list(operands), loc=before.location, ip=ip).result

        def size(atom: Atom) -> ir.Value:
            argument, axis = self._sources[atom]
            return argument if axis is None else made("size", argument, constant(axis, ip))

        if isinstance(dim, int):
            return constant(dim, ip)
        terms = []
        for mono, coefficient in dim.terms:
            factors = [size(atom) for _, atom, power in mono for _ in range(power)]
            if coefficient != 1 or not factors:
                factors.append(constant(coefficient, ip))
            terms.append(reduce(lambda a, b: made("mul", a, b), factors))
        return reduce(lambda a, b: made("add", a, b), terms)
