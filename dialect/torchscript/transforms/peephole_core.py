"""tierup-peephole-core: what types already say of tensors, and pairs of ops that undo each other.

    %0 = torch.aten.t %x : !torch.vtensor<[2,3],f32> -> !torch.vtensor<[3,2],f32>
    %1 = torch.aten.t %0 : !torch.vtensor<[3,2],f32> -> !torch.vtensor<[2,3],f32>
    %2 = torch.aten.size.int %1, %int-1 : !torch.vtensor<[2,3],f32>, !torch.int -> !torch.int

becomes

    %2 = torch.constant.int 3           and two transpositions that nobody uses: `tierup-dce` removes them

* sizes: `size`, `size.int` (a negative dim counts from the end; one out of range stays, with its exception), an item of `size`,
  `len`, `dim`, `numel`; dtypes: `prim.dtype`, `is_floating_point`. They need a type that says it; `disable-shape` leaves them alone,
  for when types are not to be trusted.
* `t` of `t`; `expand` to the tensor's own sizes; `type_as` of a tensor with the dtype that it has (there is one device); the number
  in `NumToTensor`; `_grad_sum_to_size` to None, or again.

A view is replaced by the tensor only where nobody can tell: no write, no result of the function that was a view of an argument and
would be the argument. MLIR's `canonicalize` knows some of these as well, but drops `tierup.promotion`, and unused ops with their
exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod

from tierup.dialect.analysis.lazy_aliases import LazyAliases
from tierup.dialect.base.dtypes import DType
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import maker
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import normalise_dim
from tierup.dialect.passes.autodiff.autograd_zero import SUM_TO_SIZE
from tierup.dialect.passes.registry import register
from tierup.dialect.rewriting.core import LocalRewrites, Rule, create, int_of, ints_of, is_none, number, numbers, says_as_much, under_casts

_NUMBER = "torch.prim.NumToTensor.Scalar"


@register
class PeepholeCore(LocalRewrites):
    disable_shape: bool = False  # types are not to be trusted: fold no size, no rank, no dtype

    def rules(self, func: ir.Operation) -> Mapping[str, Rule]:
        core = _Core(LazyAliases(func))
        always: dict[str, Rule] = {"aten.t": core.t, SUM_TO_SIZE: core.sum_to_size, **dict.fromkeys(_KINDS, core.number_of)}
        by_types: dict[str, Rule] = {
            "aten.expand": core.expand, "aten.type_as": core.type_as, "aten.size": core.size,
            "aten.__getitem__.t": core.item_of_size, "aten.len.t": core.len_of_size,
            **dict.fromkeys(_OF_SIZES, core.of_sizes), **dict.fromkeys(_OF_DTYPE, core.of_dtype),
        }  # fmt: skip
        return always if self.disable_shape else {**always, **by_types}


# The number in a rank-0 tensor, and the static type that it must have to be the result as it is.
_KINDS = {
    "aten.Int.Tensor": "!torch.int", "aten.IntImplicit": "!torch.int", "aten.Float.Tensor": "!torch.float",
    "aten.FloatImplicit": "!torch.float", "aten.Bool.Tensor": "!torch.bool", "aten.item": None, "aten.ScalarImplicit": None,
}  # fmt: skip
_NUMBERS = frozenset({"!torch.int", "!torch.float", "!torch.bool"})

Sizes = tuple[int | None, ...]


def _at(sizes: Sizes, dim: int | None) -> int | None:
    return None if dim is None or not -len(sizes) <= dim < len(sizes) else sizes[dim]


def _count(sizes: Sizes) -> int | None:
    return None if None in sizes else prod(size or 0 for size in sizes)


# What sizes and dtypes say of a tensor, None where they do not.
_OF_SIZES: dict[str, Callable[[Sizes, ir.Operation], int | None]] = {
    "aten.dim": lambda sizes, op: len(sizes),
    "aten.numel": lambda sizes, op: _count(sizes),
    "aten.len.Tensor": lambda sizes, op: _at(sizes, 0),
    "aten.size.int": lambda sizes, op: _at(sizes, int_of(op.operands[1])),
}
_OF_DTYPE: dict[str, Callable[[DType], int]] = {
    "prim.dtype": lambda dtype: dtype.code,
    "aten.is_floating_point": lambda dtype: dtype.is_float,
}


class _Core:
    def __init__(self, aliases: LazyAliases) -> None:
        self.aliases = aliases

    # --- ops that undo each other ---

    def t(self, op: ir.Operation) -> ir.Value | None:
        inner = maker(op.operands[0], "torch.aten.t")
        if inner is None:
            return None
        x = inner.operands[0]
        sizes, _ = torch_types.parse_tensor(str(x.type))
        if sizes is None or len(sizes) > 2:
            return None  # of rank 3, t raises
        return self._base(op, x)

    def expand(self, op: ir.Operation) -> ir.Value | None:
        x, wanted = op.operands[0], ints_of(op.operands[1])
        sizes = self._sizes(x)
        if wanted is None or sizes is None or len(wanted) != len(sizes) or self.aliases.is_written(op.operands[1]):
            return None
        if any(want not in (-1, have) for want, have in zip(wanted, sizes, strict=True)):
            return None
        return self._base(op, x)

    def _base(self, op: ir.Operation, x: ir.Value) -> ir.Value | None:
        """The tensor that a view shows as it is."""
        result = op.results[0]
        return x if says_as_much(x.type, result.type) and self.aliases.may_become(result, x) else None

    def type_as(self, op: ir.Operation) -> ir.Value | None:
        x, other = op.operands
        (_, dtype), (_, wanted) = (torch_types.parse_tensor(str(v.type)) for v in (x, other))
        if dtype is None or dtype != wanted or not says_as_much(x.type, op.results[0].type):
            return None
        self.aliases.forget()
        return x  # the op gives x itself, under NumPy's rules as under torch's

    def number_of(self, op: ir.Operation) -> ir.Value | None:
        made = maker(op.operands[0], _NUMBER)
        if made is None or self.aliases.are_written([op.operands[0]]):
            return None
        value = under_casts(made.operands[0])
        wanted, given = _KINDS[torch_name(op)], str(value.type)
        if given not in _NUMBERS or wanted not in (None, given) or str(op.results[0].type) not in (given, "!torch.number"):
            return None  # the op converts
        return value

    def sum_to_size(self, op: ir.Operation) -> ir.Value | None:
        """The sum that undoes broadcasting: to no sizes it is the tensor; twice, the last sizes count."""
        x, sizes = op.operands
        if is_none(sizes) and torch_types.is_value_tensor(x.type) and says_as_much(x.type, op.results[0].type):
            return None if self.aliases.now.returned(op.results[0]) else x  # a value tensor, which nobody writes
        inner = maker(x)
        if inner is None or torch_name(inner) != SUM_TO_SIZE or is_none(sizes):
            return None
        if not torch_types.is_value_tensor(inner.operands[0].type):
            return None
        self.aliases.forget()
        made = ir.Operation.create(
            "torch.operator", [op.results[0].type], [inner.operands[0], sizes], {"name": op.attributes["name"]},
            loc=op.location, ip=ir.InsertionPoint(op),
        )  # fmt: skip
        return made.operation.results[0]

    # --- what types say ---

    def _sizes(self, x: ir.Value) -> Sizes | None:
        if not torch_types.is_tensor(x.type):
            return None
        sizes, _ = torch_types.parse_tensor(str(x.type))
        if sizes is None or (not torch_types.is_value_tensor(x.type) and self.aliases.may_change_size(x)):
            return None
        return sizes

    def size(self, op: ir.Operation) -> ir.Value | None:
        sizes = self._sizes(op.operands[0])
        if sizes is None or None in sizes:
            return None
        self.aliases.forget()
        return numbers(op, [s for s in sizes if s is not None])

    def of_sizes(self, op: ir.Operation) -> ir.Value | None:
        sizes = self._sizes(op.operands[0])
        said = None if sizes is None else _OF_SIZES[torch_name(op)](sizes, op)
        return None if said is None else number(op, said)

    def of_dtype(self, op: ir.Operation) -> ir.Value | None:
        _, dtype = torch_types.parse_tensor(str(op.operands[0].type))
        return None if dtype is None else number(op, _OF_DTYPE[torch_name(op)](dtype))

    def item_of_size(self, op: ir.Operation) -> ir.Value | None:
        made, dim = maker(op.operands[0], "torch.aten.size"), int_of(op.operands[1])
        if made is None or dim is None or self.aliases.is_written(op.operands[0]):
            return None
        x = made.operands[0]
        sizes = self._sizes(x)
        if not sizes or not -len(sizes) <= dim < len(sizes):
            return None
        if (size := sizes[dim]) is not None:
            return number(op, size)
        return create(op, "torch.aten.size.int", [x, number(op, normalise_dim(dim, len(sizes)))], op.results[0].type)

    def len_of_size(self, op: ir.Operation) -> ir.Value | None:
        made = maker(op.operands[0], "torch.aten.size")
        if made is None or self.aliases.is_written(op.operands[0]):
            return None
        sizes = self._sizes(made.operands[0])
        if sizes is not None:
            return number(op, len(sizes))
        return create(op, "torch.aten.dim", [made.operands[0]], op.results[0].type)
