"""A program before and after passes, run by tier 0: equal to the bit, dtypes, shapes and exceptions included."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

import numpy as np

from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import parse
from tierup.runtime.interpreter.translate import translate


def after(text: str, passes: str) -> str:
    """The program after passes; a second run of them changes nothing."""
    module = parse_module(text)
    parse(passes).run(module)
    once = str(module)
    parse(passes).run(module)
    assert str(module) == once, f"{passes} run twice"
    return once


def outcome(text: str, arguments: list[Any], entry: str = "f") -> tuple[Any, list[Any]]:
    """What tier 0 gives or raises, and the arguments as the call left them."""
    given = copy.deepcopy(arguments)
    try:
        return translate(parse_module(text), entry).call(*given), given
    except Exception as e:  # noqa: BLE001 - whatever it is, both sides must raise it
        return e, given


def assert_kept(text: str, passes: str, calls: Iterable[list[Any]], entry: str = "f") -> str:
    """`passes` change no result of `calls`, no exception, and no argument; the program that they give."""
    new = after(text, passes)
    for arguments in calls:
        want, left = outcome(text, arguments, entry)
        got, changed = outcome(new, arguments, entry)
        assert_same(got, want, str(arguments))
        assert_same(changed, left, f"arguments after {arguments}")
        assert sharing(got, changed) == sharing(want, left), f"{arguments}: results share other memory"
    return new


def assert_same(got: Any, want: Any, where: str) -> None:
    if isinstance(want, Exception):
        assert type(got) is type(want) and str(got) == str(want), f"{where}: {got!r} for {want!r}"
    elif isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want), f"{where}: {got!r} for {want!r}"
        for g, w in zip(got, want, strict=True):
            assert_same(g, w, where)
    elif isinstance(want, np.ndarray):
        assert isinstance(got, np.ndarray) and got.dtype == want.dtype and got.shape == want.shape, f"{where}: {got!r} for {want!r}"
        assert got.tobytes() == want.tobytes(), f"{where}: {got!r} for {want!r}"
    else:
        same = got == want and str(got) == str(want)  # -0.0 is not 0.0
        assert type(got) is type(want) and (same or (got != got and want != want)), f"{where}: {got!r} for {want!r}"


def sharing(results: Any, arguments: list[Any]) -> list[tuple[int, int]]:
    """Which of the results' and arguments' arrays share memory, pair by pair."""
    arrays = [a for a in _arrays([results, arguments])]
    return [(i, j) for i, a in enumerate(arrays) for j, b in enumerate(arrays[:i]) if np.shares_memory(a, b)]


def _arrays(value: Any) -> Iterable[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _arrays(item)
