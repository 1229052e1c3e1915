"""What compiled code is to take, as tierup-compile is told: `f32[64x128]`, `i64[n]`, `int=3`."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence

from tierup.dialect import dtypes
from tierup.dialect.spelling import closest
from tierup.lowering.abi import ArgumentKind, ArgumentSpec, Layout
from tierup.runtime.interpreter.parameters import Parameter

FORMS = """\
  f32[64x128]           an array of that type and shape; [] is a rank-0 array
  f32[nx128]            n is any size from 2 on; equal where the same letter stands
  f32[64x128] strided   in any layout; without the word in C order
  int  float  bool      a number of any value
  int=3  bool=true      a number of this value alone: where a shape or a branch depends on it"""

_ARRAY = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[\w ]*)\](?P<strided> +strided)?$")
_WORDS = {"true": True, "false": False, "inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_TYPES = {"int": int, "float": float, "bool": bool}


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


def _spec(text: str, symbols: dict[str, str]) -> ArgumentSpec:
    array = _ARRAY.match(text)
    if array is not None:
        if array["dtype"] not in dtypes.BY_NAME:
            near = closest(array["dtype"], dtypes.BY_NAME)
            raise BadSpec(f"{array['dtype']} is no element type{near}; there are {', '.join(dtypes.BY_NAME)}")
        layout = Layout.STRIDED if array["strided"] else Layout.CONTIGUOUS
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
        if part.isdigit():
            sizes.append(int(part))
        elif part.isidentifier():
            sizes.append(symbols.setdefault(part, f"s{len(symbols)}"))
        else:
            raise BadSpec(f"[{text}]: {part!r} is no size; write sizes with an x between them, as in [64x128] or [nx128]")
    return tuple(sizes)


def _value(name: str, text: str) -> int | float | bool:
    try:
        found = _WORDS[text] if text in _WORDS else ast.literal_eval(text)
    except (ValueError, SyntaxError):
        found = None
    if name == "float" and type(found) is int:
        found = float(found)
    if type(found) is not _TYPES[name]:
        raise BadSpec(f"{name}={text}: that is no {name}")
    return found
