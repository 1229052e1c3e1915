"""Requests as JSON: what a dump's `request.json` and a reproducer say of a compile beside the program's text. Free of MLIR."""

from __future__ import annotations

import json
import math
from typing import Any

from tierup.dialect.base import dtypes
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout, Request

_PLAIN = ("entry", "level", "fast_math", "threads", "target", "force", "tf32")


def to_dict(request: Request) -> dict[str, Any]:
    """All of a request but its program. `json.dumps` takes it; floats are spelled as `float.hex` where JSON has no such number."""
    return {"arguments": [spec_to_dict(spec) for spec in request.arguments], **{name: getattr(request, name) for name in _PLAIN}}


def spec_to_dict(spec: ArgumentSpec) -> dict[str, Any]:
    """A guard. Of an array: dtype, sizes (a string is a symbol), layout; of a scalar: the value that was assumed, if one was, of an int
    perhaps a symbol."""
    if spec.kind is ArgumentKind.ARRAY:
        return {"kind": "array", "dtype": spec.dtype, "sizes": list(spec.sizes), "layout": spec.layout.value}
    value = spec.value
    exact = value.hex() if isinstance(value, float) and not math.isfinite(value) else value
    return {"kind": spec.kind.value} | ({} if value is None else {"value": exact})


def from_json(text: str, program: str) -> Request:
    """The request that `to_dict` gave for a program. Raises ValueError for a text that is none."""
    try:
        found = json.loads(text)
        arguments = tuple(spec_of(spec) for spec in found["arguments"])
        return Request(program, arguments=arguments, **{name: found[name] for name in _PLAIN})
    except (KeyError, TypeError) as e:
        raise ValueError(f"not a request: {type(e).__name__}: {e}") from e


def spec_of(found: dict[str, Any]) -> ArgumentSpec:
    """What `spec_to_dict` described. Raises KeyError, TypeError or ValueError for what it did not."""
    kind = ArgumentKind(found["kind"])
    if kind is ArgumentKind.ARRAY:
        sizes = tuple(size if isinstance(size, str) else int(size) for size in found["sizes"])
        return ArgumentSpec(kind, dtypes.BY_NAME[found["dtype"]].name, sizes, Layout(found["layout"]))
    value = found.get("value")
    return ArgumentSpec(kind, value=float.fromhex(value) if kind is ArgumentKind.FLOAT and isinstance(value, str) else value)
