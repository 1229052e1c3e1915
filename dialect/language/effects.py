"""Memory effects for the torch ops, from the op table's rows, so that MLIR's CSE, DCE and LICM treat them as what they are.

The torch dialect states none, which MLIR takes for unknown effects: nothing is ever merged or removed. Here

* a row that is random, may raise for some tensor values, writes, or has no result keeps its unknown effects: it stays;
* an op over value tensors and scalars has no effect: equal ones merge, unused ones go;
* an op that reads a `!torch.tensor`, or a list that somebody may append to, reads memory: it merges only when no write stands between;
* an op that makes a `!torch.tensor`, or a list that somebody may append to, allocates: it never merges, since a later write
  to one must not be seen in the other, but goes when unused. A view makes nothing.

An op of a wrong shape raises as well, and an unused one goes with its exception: infer types (and hold their ties by guards)
before removing dead code from a program whose errors matter.
"""

from __future__ import annotations

import re
from functools import cache

from tierup.dialect import optable
from tierup.dialect.mlir import ir, register_torch_dialect
from tierup.dialect.optable.core import Aliasing, Op
from tierup.dialect.optable.rows import row_of

# Pure in C++ already. A second interface on one op corrupts memory; a test probes that this list is whole.
NATIVE = frozenset({"torch.vtensor.literal", "torch.prim.ListConstruct", "torch.prim.TupleConstruct"})


_CONTAINERS = frozenset({"torch.prim.ListConstruct", "torch.prim.TupleConstruct"})


def attach(context: ir.Context) -> None:
    """Attach the effects of all rows to `context`: some 2 us a row."""
    for name, row in optable.table().items():
        mlir_name = f"torch.{name}"
        if mlir_name not in NATIVE and has_known_effects(row) and context.is_registered_operation(mlir_name):
            _MODELS[row.aliasing is Aliasing.VIEW].attach(mlir_name, context=context)


def has_known_effects(row: Op) -> bool:
    """Whether an op of this row does nothing but compute its results."""
    return not (row.random or row.raises or row.writes or row.acts) and row.results != 0


@cache
def _type_ids() -> tuple[ir.TypeID, ...]:
    """The C++ identities of !torch.tensor, !torch.list and !torch.tuple: the same in every context, and quick to compare."""
    scratch = ir.Context(load_on_create_dialects=[])
    register_torch_dialect(scratch)
    return tuple(ir.Type.parse(t, scratch).typeid for t in ("!torch.tensor", "!torch.list<int>", "!torch.tuple<int>"))


def _is_memory(type_: ir.Type) -> bool:
    """Whether values of the type hold memory that ops write: a mutable tensor, or a container of one."""
    tensor, list_, tuple_ = _type_ids()
    found = type_.typeid
    return found == tensor or (found in (list_, tuple_) and re.search(r"(?<!v)tensor", str(type_)) is not None)


def _may_grow(value: ir.Value) -> bool:
    """Whether a list may be appended to: someone other than a plain op of the table uses it, or puts it into another container."""
    if value.type.typeid != _type_ids()[1]:
        return False
    users = [use.owner.operation for use in value.uses]
    rows = map(row_of, users)
    return not all(row is not None and not (row.writes or row.acts) for row in rows) or any(user.name in _CONTAINERS for user in users)


class _Computes(ir.MemoryEffectsOpInterface):  # type: ignore[misc]  # the bindings say no types
    """Reads what its operands hold and makes its results."""

    @staticmethod
    def get_effects(op: ir.Operation, effects: ir.MemoryEffectInstancesList) -> None:
        if any(_is_memory(v.type) or _may_grow(v) for v in op.operands):
            effects.append(ir.MemoryEffect.Read)
        for result in op.results:
            if _is_memory(result.type) or _may_grow(result):
                effects.append(ir.MemoryEffect.Allocate, result)


class _Views(ir.MemoryEffectsOpInterface):  # type: ignore[misc]  # the bindings say no types
    """Looks at sizes and strides alone, which nothing changes."""

    @staticmethod
    def get_effects(op: ir.Operation, effects: ir.MemoryEffectInstancesList) -> None:
        pass


_MODELS: dict[bool, type[ir.MemoryEffectsOpInterface]] = {False: _Computes, True: _Views}
