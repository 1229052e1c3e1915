"""Memory for what a loop carries before it is set, or a branch leaves unset: code that is made of the types writes it in place.

    %u = torch.prim.Uninitialized : !torch.vtensor<[?],f32>
    %r = torch.prim.Loop %n, %true, init(%u) { ... }                     what it carries is set to a tensor of the size of %x

becomes

    %s = torch.aten.size.int %x, %int0 : ...
    %u = torch.aten.empty.memory_format [%s], ... -> !torch.vtensor<[?],f32>

Sizes that cannot be computed from those of arguments stay unset; there is no native code then (`tierup-verify-native`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce

from tierup.dialect.facts.dims import Atom, Dim, Expr, Symbol
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.constants import constant
from tierup.dialect.ir.structure import UNSET, is_used
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir


def give_sizes(owner: ir.Operation, inference: Inference) -> None:
    """Give what is unset in `owner`, a function or a region of it, the sizes that inference says it has once it is set."""
    sources: dict[Atom, tuple[ir.Value, int]] = {}
    for argument in owner.regions[0].blocks[0].arguments:
        known = inference.values.get(argument)
        for axis, dim in enumerate(known.shape or () if isinstance(known, Tensor) else ()):
            if isinstance(dim, Expr) and isinstance(only := _only(dim), Symbol):
                sources.setdefault(only, (argument, axis))
    for op in [op for op in walk(owner) if op.name == UNSET]:
        for use in list(op.results[0].uses) if is_open(op) else ():
            reader = use.owner.operation
            known = inference.values.get(given) if (given := _given(reader, use.operand_number)) is not None else None
            if isinstance(known, Tensor) and known.shape is not None and known.dtype is not None:
                made = _Sizes(reader, sources).empty(known.shape, known.dtype.code, op.results[0].type)
                reader.operands[use.operand_number] = op.results[0] if made is None else made
        if not is_used(op.results[0]):
            op.erase()


def is_open(op: ir.Operation) -> bool:
    """Whether a torch.prim.Uninitialized gives a tensor of a size that its type does not say."""
    type_ = op.results[0].type
    return torch_types.is_value_tensor(type_) and None in (torch_types.parse_tensor(str(type_))[0] or [None])


def _only(dim: Expr) -> Atom | None:
    """The atom that is all of a size."""
    ((mono, coefficient), *more) = dim.terms
    return mono[0][1] if not more and coefficient == 1 and len(mono) == 1 and mono[0][2] == 1 else None


def _given(reader: ir.Operation, at: int) -> ir.Value | None:
    """The result of a loop or branch that is what its operand `at` may be."""
    if reader.name == "torch.prim.Loop":
        return reader.results[at - 2]
    return reader.parent.operation.results[at] if reader.name == "torch.prim.If.yield" else None


class _Sizes:
    """Makes sizes before `reader`. `sources`: the argument and its dim that has a size."""

    def __init__(self, reader: ir.Operation, sources: Mapping[Atom, tuple[ir.Value, int]]) -> None:
        self.ip, self.location, self.sources = ir.InsertionPoint(reader), reader.location, sources

    def empty(self, shape: tuple[Dim, ...], dtype: int, type_: ir.Type) -> ir.Value | None:
        """A tensor of these sizes; None where one of them is not made of arguments' sizes by sums and products."""
        atoms = [a for dim in shape if isinstance(dim, Expr) for mono, _ in dim.terms for _, a, _ in mono]
        if not all(a in self.sources for a in atoms):
            return None
        sizes = self._op("torch.prim.ListConstruct", [self.size(dim) for dim in shape], "!torch.list<int>")
        none = constant(None, self.ip)
        return self._op("torch.aten.empty.memory_format", [sizes, constant(dtype, self.ip), none, none, none, none], type_)

    def size(self, dim: Dim) -> ir.Value:
        """A size as a !torch.int."""
        if isinstance(dim, int):
            return constant(dim, self.ip)
        return reduce(lambda a, b: self._int("add", a, b), (self._term(mono, coefficient) for mono, coefficient in dim.terms))

    def _term(self, mono: tuple[tuple[str, Atom, int], ...], coefficient: int) -> ir.Value:
        factors = [self._argument_size(atom) for _, atom, power in mono for _ in range(power)]
        if coefficient != 1 or not factors:
            factors.append(constant(coefficient, self.ip))
        return reduce(lambda a, b: self._int("mul", a, b), factors)

    def _argument_size(self, atom: Atom) -> ir.Value:
        argument, axis = self.sources[atom]
        return self._op("torch.aten.size.int", [argument, constant(axis, self.ip)], "!torch.int")

    def _int(self, name: str, a: ir.Value, b: ir.Value) -> ir.Value:
        return self._op(f"torch.aten.{name}.int", [a, b], "!torch.int")

    def _op(self, name: str, operands: list[ir.Value], type_: ir.Type | str) -> ir.Value:
        result = ir.Type.parse(type_, self.location.context) if isinstance(type_, str) else type_
        return ir.Operation.create(name, [result], operands, loc=self.location, ip=self.ip).result
