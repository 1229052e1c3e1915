"""Profiles as data: what calls of a function looked like, as JSON that can be kept, sent and merged.

    {"schema": "tierup profile 1", "function": "layer",
     "calls": [[["x", {"array": "f32", "sizes": [64, "varies"], "order": "contiguous"}], ["n", {"int": 3}]]]}

A **kind of call** is its structure, with dtypes, ranks and orders of arrays, and which sizes are 0 or 1, which broadcast otherwise. Of each
kind a profile has one call: of every other size, and of every int, the value that all calls had, or that it varies. So two profiles have
a least one that says of calls what both say, their join: merging is commutative, associative and idempotent, and a profile is as long
as there are kinds of calls, not calls. docs/profiles.md has the schema.

Free of MLIR.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.lowering.base.abi import Layout
from tierup.runtime.arguments.trees import DEEPEST, INT64, Node, Tree

SCHEMA = "tierup profile 1"
VARIES = "varies"
SAMPLES = (2, 3, 4)  # what a size or an int that varies is, in calls that stand for a kind
_CONTAINERS = ("tuple", "list", "dict")
_DTYPES = [dtype.name for dtype in dtypes.BY_NAME.values() if not dtype.is_complex]
_LAYOUTS = [layout.value for layout in Layout]
_LARGEST, _MOST_DIMS = 1 << 40, 32  # elements of an array

Described = dict[str, Any]  # of an argument, or a part of one
Call = list[tuple[str, Described]]  # parameters and arguments


class NotDescribed(Exception):
    """A call with an argument that profiles do not describe."""


def merge_profiles(*profiles: str) -> str:
    """The profile of the calls that any of these were made of, which `f.profile()` gave: the same text in whatever order they are merged,
    all at once or some first. Raises ValueError for a text that is no profile, for profiles of several functions, and for none."""
    read = [calls_of(text) for text in profiles]
    names = {name for name, _ in read}
    if len(names) != 1:
        raise ValueError(f"profiles of one function are merged, not of {', '.join(sorted(names)) or 'none'}")
    return written(names.pop(), [call for _, calls in read for call in calls])


def written(function: str, calls: Sequence[Call]) -> str:
    """The profile of these calls."""
    joined: dict[str, Call] = {}
    for call in calls:
        kind = _text([(name, _kind(described)) for name, described in call])
        known = joined.get(kind)
        joined[kind] = call if known is None else [(n, _join(a, b)) for (n, a), (_, b) in zip(known, call, strict=True)]
    return _text({"schema": SCHEMA, "function": function, "calls": [joined[kind] for kind in sorted(joined)]})


def calls_of(text: str) -> tuple[str, list[Call]]:
    """(the function's name, its calls). Raises ValueError for a text that is no profile."""
    try:
        found = json.loads(text)
        if found["schema"] != SCHEMA:
            raise ValueError(f"its schema is {found['schema']!r}, and not {SCHEMA!r}")
        calls = [[(_string(name), _checked(described)) for name, described in call] for call in found["calls"]]
        return _string(found["function"]), calls
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as e:
        raise ValueError(f"not a profile of tierup's: {type(e).__name__}: {e}") from e


def described(tree: Tree, leaves: Iterator[Described]) -> Described:
    """An argument by its tree, and what its leaves are. Raises NotDescribed."""
    if isinstance(tree, Node):
        if tree.kind == "dict" and all(isinstance(key, str) for key in tree.keys):
            return {"dict": [(key, described(item, leaves)) for key, item in zip(tree.keys, tree.items, strict=True)]}
        if tree.kind in ("tuple", "list"):
            return {tree.kind: [described(item, leaves) for item in tree.items]}
    elif tree.kind in ("none", "str"):
        return {tree.kind: tree.value}
    elif tree.kind in ("array", "scalar", "int", "float", "bool") and not tree.is_complex:
        leaf = next(leaves)
        return {"scalar": leaf["array"]} if tree.kind == "scalar" else leaf
    raise NotDescribed


def sampled(call: Call, each: int) -> dict[str, Any]:
    """Arguments that look like a kind of call, with `each` for what varies. Arrays take no memory: all their elements are one."""
    return {name: _sample(argument, each) for name, argument in call}


def varies(call: Call) -> bool:
    """Whether a size or an int does."""
    return any(VARIES in leaf["sizes"] if "array" in leaf else leaf.get("int") == VARIES for leaf in leaves_of(call))


def leaves_of(call: Call) -> list[Described]:
    """What is no container, no string and no None, in the order in which programs take it."""
    found: list[Described] = []

    def walk(part: Described) -> None:
        ((kind, content),) = list(part.items())[:1]
        if kind in _CONTAINERS:
            for item in content:
                walk(item[1] if kind == "dict" else item)
        elif kind not in ("none", "str"):
            found.append(part)

    for _, argument in call:
        walk(argument)
    return found


def _sample(part: Described, each: int) -> Any:
    kind, content = next(iter(part.items()))
    if kind == "array":
        sizes = [each if size == VARIES else size for size in part["sizes"]]
        one = np.zeros((), dtypes.BY_NAME[content].numpy)
        return np.lib.stride_tricks.as_strided(one, sizes, [0] * len(sizes)) if sizes else one
    if kind == "scalar":
        return dtypes.BY_NAME[content].numpy.type(0)
    if kind == "dict":
        return {key: _sample(item, each) for key, item in content}
    if kind in _CONTAINERS:
        return (tuple if kind == "tuple" else list)(_sample(item, each) for item in content)
    if kind == "int":
        return each if content == VARIES else content
    return {"float": 1.5, "bool": True}.get(kind, content)


def _kind(part: Described) -> Described:
    """What of an argument tells kinds of calls apart."""
    return _mapped(part, lambda size: size if size in (0, 1) else VARIES, lambda value: VARIES)


def _mapped(part: Described, size: Callable[[Any], Any], value: Callable[[Any], Any]) -> Described:
    kind, content = next(iter(part.items()))
    if kind == "array":
        return {**part, "sizes": [size(each) for each in part["sizes"]]}
    if kind == "int":
        return {"int": value(content)}
    if kind == "dict":
        return {"dict": [(key, _mapped(item, size, value)) for key, item in content]}
    return {kind: [_mapped(item, size, value) for item in content]} if kind in _CONTAINERS else part


def _join(one: Described, other: Described) -> Described:
    """What both of the same kind say: of sizes and ints that differ, that they vary."""
    others = iter(_numbers(other))

    def same(number: Any) -> Any:
        return number if next(others) == number else VARIES

    return _mapped(one, same, same)


def _numbers(part: Described) -> list[Any]:
    """The sizes and ints of an argument, in the order of `_mapped`."""
    found: list[Any] = []

    def take(number: Any) -> Any:
        found.append(number)
        return number

    _mapped(part, take, take)
    return found


def _checked(part: Any, depth: int = 0) -> Described:
    """A part of an argument that a text has. Raises ValueError, TypeError."""
    if depth > DEEPEST:
        raise ValueError("it is nested too deep")
    if not isinstance(part, dict) or not part:
        raise ValueError(f"{part!r} describes no argument")
    kinds = [kind for kind in part if kind not in ("sizes", "order")]
    if len(kinds) != 1 or (len(part) != 3 if kinds == ["array"] else len(part) != 1):
        raise ValueError(f"{sorted(part)} describe no argument")
    (kind,) = kinds
    content = part[kind]
    if kind == "array":
        return {"array": _dtype(content), "sizes": _sizes(part["sizes"]), "order": _one_of(part["order"], _LAYOUTS)}
    if kind == "scalar":
        return {"scalar": _dtype(content)}
    if kind == "int":
        return {"int": content if content == VARIES else _number(content, INT64.min, INT64.max)}
    if kind == "dict":
        return {"dict": [(_string(key), _checked(item, depth + 1)) for key, item in content]}
    if kind in _CONTAINERS:
        return {kind: [_checked(item, depth + 1) for item in content]}
    if kind == "str":
        return {"str": _string(content)}
    if kind in ("float", "bool", "none") and content is None:
        return {kind: None}
    raise ValueError(f"{kind!r}: {content!r} describes no argument")


def _sizes(value: Any) -> list[Any]:
    sizes = [size if size == VARIES else _number(size, 0, _LARGEST) for size in value]
    if len(sizes) > _MOST_DIMS or math.prod(size or 1 for size in sizes if size != VARIES) > _LARGEST:
        raise ValueError(f"{value!r} are no sizes of an array")
    return sizes


def _number(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"{value!r} is no whole number from {least} to {most}")
    return value


def _dtype(value: Any) -> str:
    return str(_one_of(value, _DTYPES))


def _one_of(value: Any, names: Sequence[str]) -> Any:
    if value not in names:
        raise ValueError(f"{value!r} is none of {', '.join(names)}")
    return value


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no string")
    return value


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def leaf_of(dtype: str, sizes: Sequence[int], layout: Layout) -> Described:
    """An array."""
    return {"array": dtype, "sizes": list(sizes), "order": layout.value}

