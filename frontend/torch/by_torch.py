"""Ops that no row of the op table knows, and PyTorch does: tier 0 calls them through it, on the same memory."""

from __future__ import annotations

from typing import Any

from tierup.dialect import optable
from tierup.dialect.ir.values import Bool, Float, Int, List, Opaque, Tensor, Value
from tierup.dialect.kernels.by_torch import spelled
from tierup.dialect.optable.core import Aliasing, Infer, Kind, Op


def schema_of(node: Any) -> Any:
    """The schema that a node was matched with, None where it has none."""
    import torch

    text = node.schema()
    return None if text == "(no schema)" else torch._C.parse_schema(text)


def name_of(node: Any, schema: Any) -> str:
    """As the op table spells it: aten.add.Tensor."""
    name = node.kind().replace("::", ".")
    return f"{name}.{schema.overload_name}" if schema is not None and schema.overload_name else name


def known(name: str, schema: Any, foreign: str) -> bool:
    """Whether an op that has no row is left to PyTorch; it has a row then."""
    if foreign != "torch" or schema is None or not name.startswith("aten."):
        return False
    row = _row(name, schema)
    if row is not None:
        optable.add_foreign(row)
    return row is not None


def _row(name: str, schema: Any) -> Op | None:
    """None for an op that writes to anything but what it returns: no part of tierup would see it."""
    written = [a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
    viewed = any(a.alias_info is not None for a in schema.arguments)
    if written:
        return None
    results = [_kind(r.type) for r in schema.returns]

    def infer(q: Infer, args: Any) -> Value | tuple[Value, ...]:
        return results[0] if len(results) == 1 else tuple(results)

    return Op(
        name,
        Kind.OTHER,
        f"by_torch.{spelled(name)}",
        infer,
        results=len(results),
        aliasing=Aliasing.MAY_VIEW if viewed else Aliasing.FRESH,
        native=False,
        raises=True,
        note="called through PyTorch",
    )


def _kind(type_: Any) -> Value:
    kind = type_.kind()
    if kind == "TensorType":
        return Tensor()
    if kind == "ListType":
        return List(None, _kind(type_.getElementType()))
    return {"IntType": Int(), "FloatType": Float(), "BoolType": Bool()}.get(kind, Opaque())
