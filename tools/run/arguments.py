"""Arguments as tierup-run takes them on the command line: arrays from files or by type and shape, scalars, lists."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from tierup.dialect.base import dtypes

FORMS = """\
  3  -2.5  inf  true  none     a scalar
  'mean'                       a string, in quotes
  [1,2,-1]  (none,[f32[2]])    a list or a tuple of any of these; (1,) is a tuple of one
  x.npy                        an array from a file
  x.npz:weights                one array of an archive
  x.npz                        every array of an archive, given by argument name
  f32[2,3]  f32[2x3]           an array of that type and shape: normal numbers (integers from 0 to 9) from --seed
  f32[2,3]=1.5                 the same, filled with one value
  i64[6]=iota                  the same, counting from 0
  NAME=FORM                    for the argument NAME; the others are taken in order"""

_ARRAY = re.compile(r"(?P<dtype>\w+)\[(?P<shape>[\dx,\s]*)\](?:=(?P<fill>\S+))?$")
_PARTS = re.compile(r"""'[^']*'|"[^"]*"|[^'"]""")
_DEEPEST = 20
_NAMED = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<form>.+)$")
_WORDS = {"true": True, "false": False, "none": None, "inf": math.inf, "-inf": -math.inf, "nan": math.nan}


class BadArgument(ValueError):
    """An argument text that says nothing, or not what the program takes."""


def read_arguments(texts: Sequence[str], names: Sequence[str], seed: int, numbers: Collection[str] = ()) -> list[object]:
    """The values for the arguments `names`, in order. An array of rank 0, as a file has numbers, is one for those of `numbers`. Raises
    BadArgument."""
    random = np.random.default_rng(seed)
    given: dict[str, object] = {}
    positional: list[object] = []
    for text in texts:
        match = _NAMED.match(text)
        try:
            if match and match["name"] in names:
                given[match["name"]] = value_of(match["form"], random)
            elif text.endswith(".npz"):
                given.update(_archive(text, names))
            else:
                positional.append(value_of(text, random))
        except BadArgument:
            raise
        except Exception as e:  # noqa: BLE001 - no memory for it, or whatever the readers of arrays and archives raise of a file
            raise BadArgument(f"the argument {text[:80]}: {e}") from e
    free = [name for name in names if name not in given]
    if len(positional) != len(free):
        missing = ", ".join(free[len(positional) :])
        problem = f"missing {missing}" if missing else f"{len(positional) - len(free)} too many"
        raise BadArgument(f"the program takes {len(names)} arguments ({', '.join(names)}): {problem}; give each with --arg")
    given.update(zip(free, positional, strict=True))
    return [v.item() if name in numbers and isinstance(v := given[name], np.ndarray) and v.ndim == 0 else given[name] for name in names]


def value_of(text: str, random: np.random.Generator) -> object:
    """One value from its text. Raises BadArgument, OSError."""
    if text in _WORDS:
        return _WORDS[text]
    path, _, key = text.partition(".npz:")
    if key:
        return _archive(f"{path}.npz", [key])[key]
    if text.endswith(".npy"):
        return np.load(text, allow_pickle=False)
    match = _ARRAY.match(text)
    if match:
        return _array(match["dtype"], match["shape"], match["fill"], random)
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError):
        items = _items(text)
        if items is not None:
            values = [value_of(item, random) for item in items]
            return values if isinstance(items, list) else tuple(values)
        raise BadArgument(f"cannot read the argument {text}; write one of\n{FORMS}") from None


def _items(text: str) -> list[str] | tuple[str, ...] | None:
    """The texts between the brackets of a list or a tuple; None where it is neither. Raises BadArgument."""
    if text[:1] + text[-1:] not in ("[]", "()"):
        return None
    items, depth = [""], 0
    for part in _PARTS.findall(text[1:-1]):
        depth += (part in "[(") - (part in "])")
        if part == "," and depth == 0:
            items.append("")
        else:
            items[-1] += part
        if depth < 0 or depth > _DEEPEST:
            raise BadArgument(f"cannot read the argument {text[:80]}: its brackets do not match, or nest deeper than {_DEEPEST} levels")
    if not items[-1].strip():
        items.pop()
    items = [item.strip() for item in items]
    return items if text[0] == "[" else tuple(items)


def _archive(path: str, names: Sequence[str]) -> dict[str, object]:
    with np.load(Path(path), allow_pickle=False) as archive:
        found: dict[str, object] = {name: archive[name] for name in archive.files if name in names}
        if not found:
            raise BadArgument(f"{path} has {', '.join(archive.files) or 'nothing'}, none of {', '.join(names)}")
    return found


def _array(dtype_name: str, shape_text: str, fill: str | None, random: np.random.Generator) -> np.ndarray:
    dtype = dtypes.BY_NAME.get(dtype_name)
    if dtype is None:
        raise BadArgument(f"{dtype_name} is no element type; there are {', '.join(dtypes.BY_NAME)}")
    shape = tuple(int(s) for s in re.split("[x,]", shape_text) if s.strip())
    if fill is not None:
        try:
            value = _WORDS[fill] if fill in _WORDS else math.prod(shape) - 1 if fill == "iota" else ast.literal_eval(fill)
            if not isinstance(value, (int, float)) or not dtype.is_float and np.array(value).astype(dtype.numpy) != value:
                raise TypeError  # a number that the element type has not
            filled = np.arange(value + 1).reshape(shape) if fill == "iota" else np.full(shape, value)
            return filled.astype(dtype.numpy)
        except (ValueError, SyntaxError, TypeError):
            raise BadArgument(f"cannot fill an array of {dtype_name} with {fill}") from None
    if dtype.is_float:
        return random.standard_normal(shape).astype(dtype.numpy)
    return random.integers(0, 2 if dtype is dtypes.bool_ else 10, shape).astype(dtype.numpy)
