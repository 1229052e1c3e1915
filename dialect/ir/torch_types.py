"""Between MLIR's torch types and the abstract values that inference computes with (values.py)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Bool, Float, Int, List, NoneValue, Number, Opaque, Str, Tensor, Tuple, Value
from tierup.dialect.mlir import ir

_TENSOR = re.compile(r"!torch\.(?P<kind>v?tensor)(?:<(?P<sizes>\*|\[[^\]]*\]|unk),(?P<dtype>complex<\w+>|[^,>]+).*>)?$")


def is_tensor(type_: ir.Type) -> bool:
    """Whether a type is !torch.vtensor or !torch.tensor."""
    return str(type_).startswith(("!torch.vtensor", "!torch.tensor"))


def is_value_tensor(type_: ir.Type) -> bool:
    """Whether the type is `!torch.vtensor`: no op writes through a value of it."""
    return str(type_).startswith("!torch.vtensor")


def value_of(type_: ir.Type) -> Value:
    """What a type alone says. A `?` size is None in no shape: the whole shape is then unknown to algebra, so the caller
    that wants symbols for it uses `refined`."""
    return _value_of(str(type_))


@cache
def _value_of(text: str) -> Value:
    scalars: dict[str, Value] = {
        "!torch.int": Int(), "!torch.float": Float(), "!torch.bool": Bool(), "!torch.number": Number(),
        "!torch.str": Str(), "!torch.none": NoneValue(),
    }  # fmt: skip
    if text in scalars:
        return scalars[text]
    match = _TENSOR.match(text)
    if match:
        sizes, dtype = parse_tensor(text)
        known = sizes is not None and all(d is not None for d in sizes)
        return Tensor(dtype, tuple(d for d in sizes if d is not None) if known and sizes is not None else None)
    if text.startswith("!torch.list<"):
        return List(None, _value_of(_qualified(text[len("!torch.list<") : -1])))
    if text.startswith("!torch.tuple<"):
        return Tuple(tuple(_value_of(_qualified(t)) for t in _split(text[len("!torch.tuple<") : -1])))
    return Opaque()


def elements(text: str) -> list[str]:
    """The types between the brackets of a list, tuple or optional type's text, each spelled in full."""
    return [_qualified(t) for t in _split(text[text.index("<") + 1 : -1])]


def _qualified(text: str) -> str:
    return text if text.startswith("!") else f"!torch.{text}"


def _split(text: str) -> list[str]:
    """The comma-separated parts at bracket depth 0."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "<[(") - (c in ">])")
        if c == "," and depth == 0:
            parts.append(text[start:i].strip())
            start = i + 1
    tail = text[start:].strip()
    return [*parts, tail] if tail else parts


@cache
def parse_tensor(text: str) -> tuple[tuple[int | None, ...] | None, dtypes.DType | None]:
    """Sizes (None for `?`; None in all for unknown rank) and dtype of a tensor type's text."""
    match = _TENSOR.match(text)
    if not match:
        raise ValueError(f"not a torch tensor type: {text}")
    sizes_text, dtype_text = match["sizes"], match["dtype"]
    dtype = dtypes.BY_MLIR.get(dtype_text) if dtype_text and dtype_text != "unk" else None
    if sizes_text is None or not sizes_text.startswith("["):
        return None, dtype
    inner = sizes_text[1:-1].strip()
    return tuple(None if s.strip() == "?" else int(s) for s in inner.split(",")) if inner else (), dtype


def tensor_type(tensor: Tensor, *, value_semantics: bool = True, context: ir.Context | None = None) -> ir.Type:
    """`!torch.vtensor<[?,4],f32>` for a tensor of dtype f32 and shape (s0, 4); as much as is known."""
    kind = "vtensor" if value_semantics else "tensor"
    if tensor.dtype is None and tensor.shape is None:
        text = f"!torch.{kind}"
    else:
        sizes = "*" if tensor.shape is None else "[" + ",".join(str(d) if isinstance(d, int) else "?" for d in tensor.shape) + "]"
        text = f"!torch.{kind}<{sizes},{tensor.dtype.mlir if tensor.dtype else 'unk'}>"
    return ir.Type.parse(text, context)


def same_but(type_: ir.Type, *, value_semantics: bool) -> ir.Type:
    """The tensor type of the same dtype and sizes, written by nobody or by anybody."""
    sizes, dtype = parse_tensor(str(type_))
    return tensor_type(Tensor(dtype, sizes), value_semantics=value_semantics, context=type_.context)  # type: ignore[arg-type]  # a size may be None


def refined(value: Value, type_: ir.Type) -> Value:
    """`value`, with what a (guarded) type adds to it."""
    if not isinstance(value, Tensor) or not is_tensor(type_):
        return value
    sizes, dtype = parse_tensor(str(type_))
    shape = value.shape
    if shape is None and sizes is not None and all(d is not None for d in sizes):
        shape = tuple(d for d in sizes if d is not None)
    elif shape is not None and sizes is not None and len(shape) == len(sizes):
        pairs = zip(shape, sizes, strict=True)
        shape = tuple(known if isinstance(known, int) or size is None else size for known, size in pairs)
    return Tensor(value.dtype or dtype, shape)


def spelled(context: ir.Context, name: str, attributes: Mapping[str, ir.Attribute] | None = None) -> tuple[str, dict[str, ir.Attribute]]:
    """An op of the table in MLIR, its name and attributes: `torch.NAME`, or a `torch.operator` of that name where torch-mlir has none.
    `attributes` may be those of another op of the table, whose name stays behind."""
    marks = {key: value for key, value in (attributes or {}).items() if key != "name"}
    if context.is_registered_operation(f"torch.{name}"):
        return f"torch.{name}", marks
    return "torch.operator", {"name": ir.StringAttr.get(name, context), **marks}


def follows(type_: ir.Type, proven: Tensor) -> bool:
    """Whether a type states nothing that is not proven."""
    sizes, dtype = parse_tensor(str(type_))
    if dtype is not None and dtype != proven.dtype:
        return False
    if sizes is None:
        return True
    if proven.shape is None or len(proven.shape) != len(sizes):
        return False
    return all(stated is None or stated == known for stated, known in zip(sizes, proven.shape, strict=True))
