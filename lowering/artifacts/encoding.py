"""What a compile gives as bytes, and back: plain data alone, so that reading it runs nothing.

    loads(dumps(artifact)) == artifact

8 bytes, the length of a description, which is JSON; then data that it names as [start, length]. A record is `{"r": [class, fields...]}`,
its class one of a list and no other, an enumeration `{"e": [class, value]}`, a float `{"f": hex}`, bytes `{"b": place}`, a dict
`{"d": pairs}`; tuples are JSON's lists. Entries of another version of a class are never asked for: what a file is found by says of which
sources it was made (`lowering/objects/keys.py`).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from functools import cache
from typing import Any

from tierup.dialect.facts.dims import Call, Expr, Symbol
from tierup.lowering.base import abi

_LENGTH = 8
_ENUMS: dict[str, type[Enum]] = {kind.__name__: kind for kind in (abi.ArgumentKind, abi.Layout, abi.ResultKind)}


class Undecodable(ValueError):
    """Bytes that `dumps` did not write."""


_RECORDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (abi.Artifact, abi.ArgumentSpec, abi.ResultSpec, abi.ErrorSite, abi.ExitSite, Symbol, Call, Expr)
}  # fmt: skip


@cache
def _of_devices() -> dict[str, type[Any]]:
    from tierup.lowering.artifacts import gpu as artifact
    from tierup.lowering.artifacts import host_steps  # here: most programs run on the CPU

    return {kind.__name__: kind for kind in (artifact.CudaArtifact, host_steps.HostProgram, host_steps.Constant)}


def _class(name: str) -> type[Any] | None:
    return _RECORDS.get(name) or _of_devices().get(name)


def dumps(value: object) -> bytes:
    """Raises TypeError for what is none of the above."""
    parts: list[bytes] = []
    text = json.dumps(described(value, parts), separators=(",", ":")).encode()
    return len(text).to_bytes(_LENGTH, "little") + text + b"".join(parts)


def described(value: Any, parts: list[bytes]) -> Any:
    """What JSON takes, bytes in it as places in what `parts` will be together. Raises TypeError, as `dumps`."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, tuple):
        return [described(item, parts) for item in value]
    if isinstance(value, float):
        return {"f": value.hex()}
    if isinstance(value, bytes):
        parts.append(value)
        return {"b": [sum(map(len, parts)) - len(value), len(value)]}
    if isinstance(value, dict):
        return {"d": [[described(key, parts), described(item, parts)] for key, item in value.items()]}
    name = type(value).__name__
    if _ENUMS.get(name) is type(value):
        return {"e": [name, value.value]}
    if _class(name) is type(value):
        return {"r": [name, *(described(getattr(value, field.name), parts) for field in fields(value))]}
    raise TypeError(f"{type(value).__name__} is not kept on disk")


def loads(data: bytes) -> Any:
    """Raises Undecodable."""
    end = _LENGTH + int.from_bytes(data[:_LENGTH], "little")
    try:
        if len(data) < end:
            raise ValueError("it is cut short")
        return value(json.loads(data[_LENGTH:end].decode()), memoryview(data)[end:])
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as e:
        raise Undecodable(f"{type(e).__name__}: {e}") from e


def value(found: Any, blobs: memoryview) -> Any:
    """What `described` gave. Raises all kinds of exceptions for what it did not."""
    if isinstance(found, list):
        return tuple(value(item, blobs) for item in found)
    if isinstance(found, dict):
        ((tag, content),) = found.items()
        return _TAGGED[tag](content, blobs)
    return found


def _record(content: list[Any], blobs: memoryview) -> Any:
    name, *values = content
    kind = _class(name)
    if kind is None:
        raise ValueError(f"no record is called {name!r}")
    return kind(*(value(each, blobs) for each in values))


def _bytes(content: list[int], blobs: memoryview) -> bytes:
    start, length = content
    if not 0 <= start <= start + length <= len(blobs):
        raise ValueError(f"no data at {content}")
    return bytes(blobs[start : start + length])


_TAGGED: dict[str, Callable[[Any, memoryview], Any]] = {
    "r": _record,
    "b": _bytes,
    "e": lambda content, blobs: _ENUMS[content[0]](content[1]),
    "f": lambda content, blobs: float.fromhex(content),
    "d": lambda content, blobs: {value(key, blobs): value(item, blobs) for key, item in content},
}
