"""TorchScript's ops on dicts, lists and strings that the op table has no rows for: tier 0 runs Python's, `kernels/script.py`."""

from __future__ import annotations

from typing import Any

from tierup.dialect import optable
from tierup.dialect.optable.core import Kind, Op, declared
from tierup.dialect.optable.kernels import script

# By the name without its overload. Rows of the table come first: aten.__getitem__.t is one.
_FUNCTIONS = {
    "aten.Delete": "delete",
    "aten.__contains__": "contains",
    "aten.__getitem__": "getitem",
    "aten._set_item": "set_item",
    "aten.add_": "extended",
    "aten.clear": "clear",
    "aten.copy": "copy",
    "aten.count": "count",
    "aten.dict": "dict_",
    "aten.eq": "equal",
    "aten.extend": "extend",
    "aten.format": "format_",
    "aten.get": "get",
    "aten.index": "index",
    "aten.items": "items",
    "aten.join": "join",
    "aten.keys": "keys",
    "aten.len": "length",
    "aten.list": "list_",
    "aten.mul": "repeat",
    "aten.mul_": "repeated",
    "aten.ne": "unequal",
    "aten.percentFormat": "percent_format",
    "aten.pop": "pop",
    "aten.popitem": "popitem",
    "aten.remove": "remove",
    "aten.reverse": "reverse",
    "aten.setdefault": "setdefault",
    "aten.sort": "sort",
    "aten.sorted": "sorted_",
    "aten.str": "text",
    "aten.update": "update",
    "aten.values": "values",
    "aten.warn": "warn",
    "prim.DictConstruct": "dict_construct",
    "prim.Print": "print_",
    "prim.StringIndex": "getitem",
    "prim.rangelist": "range_",
    "prim.tolist": "to_list",
}
_OF_TENSORS = frozenset({"aten.str", "prim.tolist"})
_PLAIN = frozenset({  # their results hold no tensors; those of the others may, and what goes through them has no gradient but PyTorch's
    "contains", "count", "delete", "equal", "format_", "index", "join", "keys", "length", "percent_format", "print_", "text", "unequal",
    "warn",
})  # fmt: skip
_OUTSIDE = frozenset({"aten.warn", "prim.Print"})  # what everybody sees


def known(name: str, schema: Any) -> bool:
    """Whether the op is one of these; it has a row then."""
    base = ".".join(name.split(".")[:2])
    function = _FUNCTIONS.get(base)
    takes_tensors = schema is not None and any(a.type.kind() == "TensorType" for a in schema.arguments)
    if function is None or (takes_tensors and base not in _OF_TENSORS):  # aten::add_.Tensor has the name of an op on lists
        return False
    writes = schema is not None and any(a.alias_info is not None and a.alias_info.is_write for a in schema.arguments)
    results = 1 if schema is None or base == "aten.format" or base == "aten.percentFormat" else len(schema.returns)
    if base in _OUTSIDE:
        results = 0
    optable.add_foreign(
        Op(
            name,
            Kind.SCALAR,
            f"script.{getattr(script, function).__name__}",
            declared,
            results=results,
            native=False,
            raises=True,
            acts=writes or base in _OUTSIDE,
            random=writes or base in _OUTSIDE,
            differentiable=function not in _PLAIN,
            note="TorchScript's: Python's own",
        )
    )
    return True
