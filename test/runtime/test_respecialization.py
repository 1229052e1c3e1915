"""Every sequence of calls of which it was recorded how TorchScript re-specialises (PyTorch 2.0.1), and what tierup does in the same calls.

Each line of a section is a call: its arguments, what TorchScript did, what tierup does. Sizes alone stand for two arrays of that shape.

TorchScript: `profiled`; `static`, `dynamic`: optimised in this call, with a guard on all sizes or on none; `plain`: optimised without
fusion, for good; `nothing`: ran what there was.
tierup: `profiled`, `static`, `dynamic`, `symbolic`: compiled in this call, and answered by it; `hit`; `miss` and `tier 0`: answered by
tier 0, with versions there and without.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.runtime.base.events import EventKind

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "versions.md").read_text()


def program(x, w):
    return np.tanh(x * w + x) * w


@dataclass(frozen=True)
class Section:
    """`options`: tierup's for the ancestor's setting. `text`: the calls."""

    name: str
    text: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def calls(self) -> list[tuple[str, str, str]]:
        """(arguments, what TorchScript did, what tierup does)."""
        return [tuple(line.strip().rsplit(None, 2)) for line in self.text.strip().splitlines()]  # type: ignore[misc]  # three parts

    def compiles(self, column: int) -> int:
        return sum(call[column] in ("static", "dynamic", "symbolic") for call in self.calls)


SECTIONS = (
    Section(
        "default strategy, 3 calls per shape",
        """
        4x8   profiled  profiled
        4x8   static    static
        4x8   nothing   hit
        6x8   nothing   miss
        6x8   static    static
        6x8   nothing   hit
        9x8   nothing   dynamic
        9x8   dynamic   hit
        9x8   nothing   hit
        11x8  nothing   hit
        11x8  nothing   hit
        12x8  nothing   hit
        13x8  nothing   hit
        """,
    ),
    Section(
        "default strategy, another shape in every call",
        """
        4x8   profiled  profiled
        6x8   static    tier0
        9x8   static    dynamic
        11x8  dynamic   hit
        13x8  nothing   hit
        15x8  nothing   hit
        17x8  nothing   hit
        19x8  nothing   hit
        21x8  nothing   hit
        23x8  nothing   hit
        4x8   nothing   hit
        6x8   nothing   hit
        """,
    ),
    Section(
        "2 static",
        """
        4x8   profiled  profiled
        4x8   static    static
        6x8   nothing   miss
        6x8   static    static
        9x8   nothing   miss
        9x8   nothing   miss
        11x8  nothing   miss
        11x8  nothing   miss
        """,
        {"fusion_strategy": [("static", 2)]},
    ),
    Section(
        "1 static",
        """
        4x8   profiled  profiled
        4x8   static    static
        6x8   nothing   miss
        6x8   nothing   miss
        9x8   nothing   miss
        9x8   nothing   miss
        """,
        {"fusion_strategy": [("static", 1)]},
    ),
    Section(
        "0 static",
        """
        4x8   nothing   tier0
        4x8   nothing   tier0
        6x8   nothing   tier0
        6x8   nothing   tier0
        """,
        {"fusion_strategy": [("static", 0)]},
    ),
    Section(
        "empty strategy",
        """
        4x8   nothing   tier0
        4x8   nothing   tier0
        6x8   nothing   tier0
        6x8   nothing   tier0
        """,
        {"fusion_strategy": []},
    ),
    Section(
        "3 dynamic, equal sizes first",
        """
        8x8   profiled  profiled
        8x8   dynamic   dynamic
        9x8   nothing   hit
        9x8   dynamic   hit
        10x8  nothing   hit
        10x5  nothing   hit
        1x8   nothing   miss
        1x8   nothing   dynamic
        1x8   nothing   hit
        1x5   nothing   hit
        3x1   nothing   dynamic
        3x1   nothing   hit
        7x7   nothing   hit
        """,
        {"fusion_strategy": [("dynamic", 3)]},
    ),
    Section(
        "10 dynamic, other ranks, dtypes, layouts and broadcasts",
        """
        4x8              profiled  profiled
        4x8              dynamic   dynamic
        2x3x4            nothing   profiled
        2x3x4            dynamic   dynamic
        double           nothing   miss
        double           dynamic   dynamic
        transposed       nothing   miss
        transposed       dynamic   dynamic
        every-other      nothing   miss
        every-other      dynamic   dynamic
        5x8,8            nothing   profiled
        5x8,8            dynamic   dynamic
        5x8,5x1          nothing   dynamic
        5x8,5x1          dynamic   hit
        0x8              nothing   dynamic
        0x8              nothing   hit
        """,
        {"fusion_strategy": [("dynamic", 10)]},
    ),
    Section(
        "3 profiled runs",
        """
        4x8   profiled  profiled
        6x8   nothing   profiled
        6x8   nothing   profiled
        6x8   plain     tier0
        6x8   nothing   static
        9x8   nothing   dynamic
        9x8   nothing   hit
        9x8   nothing   hit
        9x8   nothing   hit
        """,
        {"num_profiled_runs": 3},
    ),
    Section(
        "no profiled runs",
        """
        4x8   plain     static
        6x8   nothing   static
        6x8   nothing   hit
        """,
        {"num_profiled_runs": 0},
    ),
    Section(
        "profiling mode off",
        """
        4x8   nothing   tier0
        4x8   nothing   tier0
        6x8   nothing   tier0
        6x8   nothing   tier0
        """,
        {"profile": False},
    ),
    Section(
        "profiling executor off",
        """
        4x8   nothing   dynamic
        4x8   nothing   hit
        6x8   nothing   hit
        6x8   nothing   hit
        """,
        {"executor": "specializing"},
    ),
    Section(
        "default strategy, 2 calls per shape",
        """
        4x8   profiled  profiled
        4x8   static    static
        6x8   nothing   miss
        6x8   static    static
        9x8   nothing   dynamic
        9x8   dynamic   hit
        """,
    ),
)

_rng = np.random.default_rng(0)


def f32(*shape: int) -> np.ndarray:
    return _rng.normal(size=shape).astype(np.float32)


OTHERS: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "double": lambda: (_rng.normal(size=(4, 8)), _rng.normal(size=(4, 8))),
    "transposed": lambda: (f32(8, 4).T, f32(8, 4).T),
    "every-other": lambda: (f32(4, 16)[:, ::2], f32(4, 8)),
}


def arguments(text: str) -> tuple[np.ndarray, ...]:
    if text in OTHERS:
        return OTHERS[text]()
    shapes = [tuple(map(int, part.split("x"))) for part in text.split(",")]
    return tuple(f32(*shape) for shape in (shapes * 2)[:2])


def run(section: Section) -> list[str]:
    """What tierup does in each call; results compared with NumPy's."""
    f, found = tierup.jit(program, **section.options), []
    for text, _, _ in section.calls:
        x, w = arguments(text)
        before, events = f.stats(), []
        with tierup.events.subscribe(events.append):
            np.testing.assert_allclose(f(x, w), program(x, w), rtol=1e-4, atol=1e-6)
        found.append(what_happened(f, before, f.stats(), events))
    return found


def what_happened(f: Any, before: Any, after: Any, events: list[Any]) -> str:
    """By the counts, which the events must agree with."""
    compiled = [e for e in events if e.kind in (EventKind.COMPILED, EventKind.GENERALISED)]
    assert len(compiled) == after.compiles - before.compiles <= 1
    assert after.calls == before.calls + 1
    profiled = [e for e in events if e.kind is EventKind.PROFILED]
    assert len(profiled) == after.profiled_runs - before.profiled_runs
    missed = [e for e in events if e.kind is EventKind.MISS]
    assert len(missed) == after.misses - before.misses
    if compiled:
        assert after.hits == before.hits + 1  # the version answered the call that it was made in
        return max(f.versions, key=lambda v: v.call).speculation.kind  # type: ignore[no-any-return]
    if after.hits > before.hits:
        return "hit"
    return "profiled" if profiled else "miss" if missed else "tier0"


@pytest.mark.filterwarnings("ignore::tierup.RecompileLimitWarning")
@pytest.mark.parametrize("section", SECTIONS, ids=lambda s: s.name)
def test_calls_are_profiled_compiled_and_answered_as_the_table_says(section: Section) -> None:
    assert run(section) == [ours for _, _, ours in section.calls]


# Where tierup compiles more often than TorchScript in the same calls, and how often; docs/versions.md says why.
MORE = {"10 dynamic, other ranks, dtypes, layouts and broadcasts": 1, "3 dynamic, equal sizes first": 1, "no profiled runs": 2, "3 profiled runs": 2, "profiling executor off": 1}


def test_tierup_compiles_no_oftener_than_torchscript_except_where_it_is_said() -> None:
    more = {s.name: s.compiles(2) - s.compiles(1) for s in SECTIONS if s.compiles(2) > s.compiles(1)}
    assert more == MORE


def test_calls_that_torchscript_never_optimised_again_are_native_here() -> None:
    """Its merged profile of varying shapes suits no static strategy; without a profile it fuses nothing."""
    for name in ("3 profiled runs", "no profiled runs"):
        section = next(s for s in SECTIONS if s.name == name)
        assert not section.compiles(1)
        assert section.calls[-1][2] == "hit"


def test_the_page_has_the_counts_of_this_table() -> None:
    rows = re.findall(r"^\| ([^|]+?) \| (\d+) \| (\d+) \| [^|]+ \|$", PAGE, re.MULTILINE)
    assert rows == [(s.name, str(s.compiles(1)), str(s.compiles(2))) for s in SECTIONS]
