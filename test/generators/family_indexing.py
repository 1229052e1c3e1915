"""Index expressions of loads: integers, slices with any bounds, new axes, index arrays, masks, and mixes of them."""

from __future__ import annotations

import numpy as np
from draft import Draft, Nothing, is_array
from families import statement


def _bound(d: Draft) -> str:
    if d.chance.random() < 0.2:
        try:
            return d.number_((int,))
        except Nothing:
            return ""
    return d.of("", "", "1", "0", "2", "-1", "-2", "100", "-100", "3")


def slice_text(d: Draft, *, backwards: bool = True) -> str:
    step = d.of("", "", "", ":2", ":1", ":3", *((":-1", ":-2") if backwards else ()))
    return f"{_bound(d)}:{_bound(d)}{step}"


def _integer(d: Draft, size: int) -> str:
    """A Python number or one of NumPy's: both are integers, of which a view is made."""
    roll = d.chance.random()
    try:
        if roll < 0.25:
            return d.number_((int,))
        if roll < 0.4:
            return d.pick(lambda v: isinstance(v, np.integer))
        if roll < 0.5:
            return d.pick(lambda v: is_array(v) and v.dtype.kind in "iu" and v.ndim == 1) + d.of("[0]", "[-1]", ".max()")
    except Nothing:
        pass
    return str(d.chance.randrange(-size, size)) if size else "0"


def basic_index(d: Draft, x: str, *, backwards: bool = True) -> str:
    """Integers, slices, None and ... for some axes of an array."""
    shape, items = d.env[x].shape, []
    for size in shape[: d.chance.randint(1, max(1, len(shape)))]:
        roll = d.chance.random()
        items.append(_integer(d, size) if roll < 0.35 else slice_text(d, backwards=backwards) if roll < 0.9 else ":")
    if d.chance.random() < 0.12:
        items.insert(d.chance.randint(0, len(items)), "None")
    if d.chance.random() < 0.12:
        items.insert(d.chance.randint(0, len(items)), "...")
    return ", ".join(items)


def advanced_index(d: Draft, x: str) -> str:
    """Index arrays, lists and masks, perhaps beside slices and integers."""
    shape = d.env[x].shape
    roll = d.chance.random()
    if roll < 0.25:
        return d.of(f"{x} > 0", f"{x} == 1", f"{x} != {x}", f"{x}[..., 0] > 0" if len(shape) > 1 else f"{x} < 100")
    items: list[str] = []
    for size in shape[: d.chance.randint(1, max(1, len(shape)))]:
        roll = d.chance.random()
        if roll < 0.45:
            many = d.of(1, 2, 3)
            items.append(str([d.chance.randrange(-size, size) for _ in range(many)]) if size else "[]")
        elif roll < 0.6:
            items.append(d.pick(lambda v: getattr(v, "dtype", None) is not None and v.dtype.kind in "iu" and 0 < v.ndim < 3))
        elif roll < 0.75:
            items.append(slice_text(d))
        elif roll < 0.9:
            items.append(_integer(d, size))
        else:
            items.append("np.array([[0], [-1]])")
    if d.chance.random() < 0.1:
        items.insert(d.chance.randint(0, len(items)), "None")
    return ", ".join(items)


@statement("indexing", 2)
def load_basic(d: Draft) -> bool:
    x = d.array(least=1)
    index = basic_index(d, x)
    backwards = " * 1" if "-" in index else ""  # a view with a negative step is a copy: docs/python.md
    return d.keep([f"{d.new()} = {x}[{index}]{backwards}"])


@statement("indexing", 2)
def load_advanced(d: Draft) -> bool:
    x = d.array(least=1)
    return d.keep([f"{d.new()} = {x}[{advanced_index(d, x)}] * 1"])


@statement("indexing", 0.6)
def take(d: Draft) -> bool:
    x = d.array(least=1)
    size = d.env[x].shape[0]
    i = str(d.chance.randrange(-size, size)) if size else "0"
    text = d.of(f"np.take({x}, [{i}, 0], axis={d.axis(x)})", f"np.take_along_axis({x}, np.argmax({x}, axis=0, keepdims=True), axis=0)", f"{x}.take({i})")
    return d.keep([f"{d.new()} = {text}"])


@statement("indexing", 0.8)
def window(d: Draft) -> bool:
    """Slices of one length at positions that the data say, beside an array of that length: read, or written; some are cut off."""
    x, v, length = d.array(least=1), d.new(), d.of(2, 3)
    positions = d.of("np.array([1, 0, 2])", f"np.arange(len({x}))", f"np.array([2, 1]) % max(len({x}), 1)", f"np.argsort({x}, axis=0).reshape(-1)[:4]")
    at = d.of("k_", "k_", "k_ - 1", f"len({x}) - k_")
    part, weights = f"[{at}:{at} + {length}]", f"np.array([0.5, 2, 1])[:{length}]"
    if d.chance.random() < 0.5:
        lines = [f"{v} = 0.0", f"for k_ in {positions}:", f"    {v} += np.sum({x}{part}.T * {weights})"]
    else:
        lines = [f"{v} = {x} * 1", f"for k_ in {positions}:", f"    {v}{part} {d.of('=', '+=')} {d.of(weights, f'np.ones({length}, {x}.dtype)', f'{v}{part} * 2')}"]
    return d.keep(lines, lambda name: name != "k_")
