"""What compiled code is to take, as tierup-compile is told: `f32[64x128]`, `i64[n]`, `int=3`."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from typing import Any

from tierup.dialect.base import dtypes
from tierup.dialect.base.spelling import closest
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout
from tierup.runtime.arguments.signature import describe_specs
from tierup.runtime.interpreter.parameters import Kind, Parameter

FORMS = """\
  f32[64x128]           an array of that type and shape; [] is a rank-0 array
  f32[nx128]            n is any size from 2 on; equal where the same letter stands
  f32[64x128] strided   in any layout; without the word in C order
  f32[64x128] columns   in Fortran order
  int  float  bool      a number of any value
  int=3  bool=true      a number of this value alone: where a shape or a branch depends on it"""

_ARRAY = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[\w ]*)\](?: +(?P<layout>strided|columns))?$")
_WORDS = {"true": True, "false": False, "inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_LARGEST = 2**63 - 1
_TYPES: dict[str, type[int] | type[float]] = {"int": int, "float": float, "bool": bool}


class BadSpec(ValueError):
    """A text that says of no argument what it is."""


def read_specs(text: str) -> tuple[ArgumentSpec, ...]:
    """The specs of all arguments of a version, from their forms, separated by commas. Raises BadSpec."""
    symbols: dict[str, str] = {}
    return tuple(_spec(part.strip(), symbols) for part in text.split(","))


def specs_of_types(parameters: Sequence[Parameter]) -> tuple[ArgumentSpec, ...]:
    """What a program's own types say; an open size is any from 2 on. Raises BadSpec where they do not say enough."""
    specs = []
    count = 0
    for parameter in parameters:
        kind = parameter.kind
        if kind.name in _TYPES:
            specs.append(ArgumentSpec(ArgumentKind(kind.name)))
            continue
        if kind.name != "tensor" or kind.dtype is None or kind.sizes is None:
            raise BadSpec(f"the type of argument {parameter.name}, {kind.name}, does not say what it is: give --argument for each")
        sizes: list[int | str] = []
        for size in kind.sizes:
            sizes.append(f"s{count}" if size is None else size)
            count += size is None
        specs.append(ArgumentSpec(ArgumentKind.ARRAY, kind.dtype.name, tuple(sizes)))
    return tuple(specs)


def check_types(specs: Sequence[ArgumentSpec], parameters: Sequence[Parameter]) -> None:
    """Raises BadSpec for a spec that allows what the program's own types do not: tier 0 raises there, and compiled code never asks."""
    for spec, parameter in zip(specs, parameters, strict=True):
        allowed = _kinds(parameter.kind)
        if allowed and not any(_allows(kind, spec) for kind in allowed):
            said = describe_specs((spec,), (parameter.name,)).removeprefix(f"{parameter.name}: ")
            raise BadSpec(f"argument {parameter.name} is {' or '.join(map(_type_text, allowed))} by the program's type, not {said}")


def _kinds(kind: Kind) -> list[Kind]:
    """What a type comes down to that a spec can be; nothing where it leaves that open."""
    if kind.name == "optional":
        return _kinds(kind.items[0])
    return [kind] if kind.name == "tensor" or kind.name in _TYPES else []


def _allows(kind: Kind, spec: ArgumentSpec) -> bool:
    if kind.name != "tensor":
        return spec.kind.value == kind.name
    if spec.kind is not ArgumentKind.ARRAY or (kind.dtype is not None and spec.dtype != kind.dtype.name):
        return False
    return kind.sizes is None or (
        len(kind.sizes) == len(spec.sizes) and all(size is None or size == dim for size, dim in zip(kind.sizes, spec.sizes, strict=True))
    )


def _type_text(kind: Kind) -> str:
    if kind.name != "tensor":
        return kind.name
    sizes = "of any sizes" if kind.sizes is None else "[" + "x".join("?" if size is None else str(size) for size in kind.sizes) + "]"
    return f"{kind.dtype.name if kind.dtype is not None else 'an array'}{' ' if kind.dtype is None or kind.sizes is None else ''}{sizes}"


def _spec(text: str, symbols: dict[str, str]) -> ArgumentSpec:
    array = _ARRAY.match(text)
    if array is not None:
        if array["dtype"] not in dtypes.BY_NAME:
            near = closest(array["dtype"], dtypes.BY_NAME)
            raise BadSpec(f"{array['dtype']} is no element type{near}; there are {', '.join(dtypes.BY_NAME)}")
        layout = Layout(array["layout"] or "contiguous")
        return ArgumentSpec(ArgumentKind.ARRAY, array["dtype"], _sizes(array["shape"].strip(), symbols), layout)
    name, equals, value = text.partition("=")
    if name in _TYPES and not equals:
        return ArgumentSpec(ArgumentKind(name))
    if name in _TYPES:
        return ArgumentSpec(ArgumentKind(name), value=_value(name, value))
    raise BadSpec(f"cannot read {text!r}; write one of\n{FORMS}")


def _sizes(text: str, symbols: dict[str, str]) -> tuple[int | str, ...]:
    """`64x128`: numbers, and names, of which each becomes a symbol."""
    sizes: list[int | str] = []
    for part in map(str.strip, text.split("x")) if text else ():
        if part.isdecimal():
            if int(part) > _LARGEST:
                raise BadSpec(f"[{text}]: {part} is no size: they are at most {_LARGEST}")
            sizes.append(int(part))
        elif part.isidentifier():
            sizes.append(symbols.setdefault(part, f"s{len(symbols)}"))
        else:
            raise BadSpec(f"[{text}]: {part!r} is no size; write sizes with an x between them, as in [64x128] or [nx128]")
    return tuple(sizes)


def _value(name: str, text: str) -> int | float | bool:
    try:
        found: Any = _WORDS[text] if text in _WORDS else ast.literal_eval(text)
    except (ValueError, SyntaxError):
        found = None
    if name == "float" and type(found) is int:
        found = float(found)
    if type(found) is not _TYPES[name] or (name == "int" and not -_LARGEST - 1 <= found <= _LARGEST):
        raise BadSpec(f"{name}={text}: that is no {name}")
    return found
