"""Local rewrites of the graph: rules by op name, applied in program order until none applies.

Plain Python rather than MLIR's pattern driver: that one also folds constants away, and erases unused ops and with them the
exceptions that they may raise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION, READERS, constant
from tierup.dialect.ir.structure import blocks, is_used, maker, under
from tierup.dialect.ir.walking import ops_of, torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import Pass

T = TypeVar("T")
Rule = Callable[[ir.Operation], "ir.Value | Sequence[ir.Value] | None"]
"""What the op's result (or results) may be replaced by, or None. A rule makes new ops before the op and erases nothing."""

_CONTAINERS = frozenset({"torch.prim.ListConstruct", "torch.prim.TupleConstruct", "torch.prim.DictConstruct"})
_CASTS = frozenset({"torch.derefine", "torch.prim.unchecked_cast"})


def rewrite(func: ir.Operation, rules: Mapping[str, Rule]) -> bool:
    """Apply `rules`, by the names of ops in the op table, to all ops inside `func` until none applies; whether one did. The replaced op
    goes, so a rule for an op that may raise must know that it does not."""
    changed = False
    while _round(func, rules):
        changed = True
    return changed


class LocalRewrites(Pass):
    """Base of passes that are rules for single ops."""

    def rules(self, func: ir.Operation) -> Mapping[str, Rule]:
        """The rules, by the names of ops in the op table."""
        raise NotImplementedError

    def apply(self, func: ir.Operation) -> bool:
        """Rewrite; whether anything changed."""
        return rewrite(func, self.rules(func))

    def run_on_function(self, func: ir.Operation) -> None:
        """Apply the rules to a function, in place."""
        self.apply(func)


def _round(op: ir.Operation, rules: Mapping[str, Rule]) -> bool:
    changed = False
    for block in blocks(op):
        for inner in ops_of(block):
            changed |= _round(inner, rules)
            rule = rules.get(torch_name(inner))
            found = rule(inner) if rule is not None else None
            if found is not None:
                replace(inner, [found] if isinstance(found, ir.Value) else found)
                changed = True
    return changed


def replace(op: ir.Operation, values: Sequence[ir.Value]) -> None:
    """`values` in place of the op's results, under the results' types; the op goes, and what served only it."""
    for result, value in zip(op.results, values, strict=True):
        if is_used(result):
            result.replace_all_uses_with(cast(value, result.type, ir.InsertionPoint(op)))
    erase(op)


def erase(op: ir.Operation) -> None:
    """Erase an op that nobody uses, and what served only it."""
    operands = list(op.operands)
    op.erase()
    drop_unused(operands)


def _is_plain(op: ir.Operation) -> bool:
    return op.name in READERS or op.name in _CONTAINERS or op.name in _CASTS


def drop_unused(values: Iterable[ir.Value], may_go: Callable[[ir.Operation], bool] = _is_plain) -> None:
    """Erase the makers of `values` that nobody uses and that may go (constants, lists, tuples, dicts), and what only they used."""
    pending = dict.fromkeys(values)
    while pending:
        value = next(iter(pending))
        del pending[value]
        owner = value.owner
        if isinstance(owner, ir.Block) or is_used(value):
            continue
        op = owner.operation
        if may_go(op):
            operands = list(op.operands)
            for result in op.results:
                pending.pop(result, None)
            op.erase()
            pending.update(dict.fromkeys(operands))


def under_casts(value: ir.Value) -> ir.Value:
    """The value itself, without `torch.derefine` and `torch.prim.unchecked_cast`, which say only what it is called."""
    return under(value, _CASTS)


def int_of(value: ir.Value) -> int | None:
    """The number of a `torch.constant.int`; None for anything else."""
    return _held(value, int)


def float_of(value: ir.Value) -> float | None:
    """The number that a torch.constant.float holds; None for any other value."""
    return _held(value, float)


def bool_of(value: ir.Value) -> bool | None:
    """The truth value that a torch.constant.bool holds; None for any other value."""
    return _held(value, bool)


def str_of(value: ir.Value) -> str | None:
    """The text that a torch.constant.str holds; None for any other value."""
    return _held(value, str)


def _held(value: ir.Value, kind: type[T]) -> T | None:
    op = maker(value, f"torch.constant.{kind.__name__}")
    return None if op is None else READERS[op.name](op)


def is_none(value: ir.Value) -> bool:
    """Whether a value is None, seen through casts."""
    return str(under_casts(value).type) == "!torch.none"


def items_of(value: ir.Value) -> list[ir.Value] | None:
    """The operands of the `torch.prim.ListConstruct` that makes a list; None for another list."""
    op = maker(value, "torch.prim.ListConstruct")
    return None if op is None else list(op.operands)


def ints_of(value: ir.Value) -> list[int] | None:
    """The numbers of a list made of constant ints."""
    items = items_of(value)
    numbers = None if items is None else [int_of(v) for v in items]
    return None if numbers is None or None in numbers else [n for n in numbers if n is not None]


def number(op: ir.Operation, value: int | float | bool | None) -> ir.Value:
    """A constant before `op`."""
    return constant(value, ir.InsertionPoint(op))


def numbers(op: ir.Operation, values: Iterable[int]) -> ir.Value:
    """A fresh list of constant ints before `op`."""
    type_ = ir.Type.parse("!torch.list<int>", op.context)
    return create(op, "torch.prim.ListConstruct", [number(op, v) for v in values], type_)


def create(op: ir.Operation, name: str, operands: Iterable[ir.Value], type_: ir.Type, like: ir.Operation | None = None) -> ir.Value:
    """A new op of one result before `op`, at its place in the user's source; with the promotion mark of `like`."""
    marks = {PROMOTION: like.attributes[PROMOTION]} if like is not None and PROMOTION in like.attributes else {}
    made = ir.Operation.create(name, [type_], list(operands), marks, loc=op.location, ip=ir.InsertionPoint(op))
    return made.operation.results[0]


def says_as_much(type_: ir.Type, wanted: ir.Type) -> bool:
    """Whether a tensor type is of the same kind as `wanted` and states all that it states: a cast to `wanted` is no claim."""
    if type_ == wanted:
        return True
    if not torch_types.is_tensor(type_) or torch_types.is_value_tensor(type_) is not torch_types.is_value_tensor(wanted):
        return False
    (sizes, dtype), (wanted_sizes, wanted_dtype) = (torch_types.parse_tensor(str(t)) for t in (type_, wanted))
    if wanted_dtype is not None and dtype != wanted_dtype:
        return False
    if wanted_sizes is None:
        return True
    return sizes is not None and len(sizes) == len(wanted_sizes) and all(w in (None, s) for s, w in zip(sizes, wanted_sizes, strict=True))


