"""Results as TorchScript gives them: named tuples and devices, where programs here give tuples and strings; dicts item by item."""

from __future__ import annotations

import re
from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any

from tierup.dialect.ir.structure import maker
from tierup.dialect.ir.walking import torch_name
from tierup.dialect.mlir import ir
from tierup.dialect.rewriting.core import int_of, str_of

Finish = Callable[[Any], Any]
_READERS = ("aten.__getitem__.Dict", "aten.__contains__", "aten.len.Dict")
_FIELD = re.compile(r"(?:NamedTuple\(|, )([A-Za-z_]\w*) : ")


def finisher(type_: Any) -> Finish | None:
    """What makes a result of a TorchScript type of what a program gives; None where that is the result already."""
    kind = type_.kind()
    if kind == "DeviceObjType":
        return _device
    if kind == "TupleType":
        return _of_tuple(type_)
    if kind not in ("OptionalType", "ListType", "DictType"):
        return None
    item = finisher(type_.getValueType() if kind == "DictType" else type_.getElementType())
    if item is None:
        return None
    if kind == "OptionalType":
        return lambda value: None if value is None else item(value)
    if kind == "ListType":
        return lambda values: [item(v) for v in values]
    return lambda values: {k: item(v) for k, v in values.items()}


def _device(text: str) -> Any:
    import torch  # here: an optional package, and a second to import

    return torch.device(text)


def _of_tuple(type_: Any) -> Finish | None:
    elements = list(type_.elements())
    items = [finisher(t) for t in elements]
    make = _named(type_, len(elements))
    if make is None and not any(items):
        return None

    def finish(values: Any) -> Any:
        made = tuple(v if item is None else item(v) for v, item in zip(values, items, strict=True))
        return made if make is None else make(*made)

    return finish


def _named(type_: Any, length: int) -> Any:
    """The class of a named tuple; None for a plain one, and for an operator's, which has no name: TorchScript returns these as plain ones.
    A type says its fields in its text alone."""
    text, name = type_.str(), type_.annotation_str.rpartition(".")[2]
    if not text.startswith("NamedTuple(") or not name.isidentifier():
        return None
    names = _outermost(text)
    return _class(name, tuple(names)) if len(names) == length else None


def _outermost(text: str) -> list[str]:
    """The fields' names, without those of named tuples in it."""
    depth, found = 0, []
    for i, c in enumerate(text):
        if c in "([":
            depth += 1
        if c in ")]":
            depth -= 1
        field = _FIELD.match(text, i - len("NamedTuple") if c == "(" else i) if depth == 1 and c in "(," else None
        if field is not None:
            found.append(field[1])
    return found


@cache
def _class(name: str, fields: tuple[str, ...]) -> Any:
    return namedtuple(name, fields)


def items_of(value: ir.Value) -> dict[Any, ir.Value] | None:
    """The items of a dict that is written down, with keys that are known, and only read afterwards; None for another."""
    made = maker(value, "torch.prim.DictConstruct")
    if made is None or not all(_only_reads(use.owner.operation) for use in value.uses):
        return None
    operands, count = list(made.operands), len(made.operands) // 2  # keys, then values
    keys = [str_of(key) if str_of(key) is not None else int_of(key) for key in operands[:count]]
    return None if None in keys or len(set(keys)) < len(keys) else dict(zip(keys, operands[count:], strict=True))


def _only_reads(op: ir.Operation) -> bool:
    """Whether an op looks at a dict and keeps nothing of it: a tuple that nothing looks at is a result."""
    if op.name == "torch.prim.TupleConstruct":
        return not any(True for _ in op.results[0].uses)
    name = torch_name(op)
    return name.startswith(_READERS)
