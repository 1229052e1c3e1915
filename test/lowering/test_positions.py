"""Positions that are proven to be inside an axis are so in every run: programs with random loops, conditions and positions are run as plain
Python, which notes each position that they come to. What is not proven is checked at run time; that more is proven than nothing is
tested by the programs that people write."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernel_harness import spec_of, symbolic
from position_programs import instrumented, program
from sampling import IS_EXHAUSTIVE

from tierup.dialect.analysis.ints.positions import FROM_EITHER, FROM_END, FROM_START, INSIDE, NOT_NEGATIVE
from tierup.dialect.language.context import thread_context
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import NamedPipeline
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.jit import jit
from tierup.lowering.base.abi import Request
from tierup.lowering.building import builders as b
from tierup.lowering.building.origins import has_few_rounds
from tierup.lowering.compiling.pipelines import PREPARE
from tierup.lowering.compiling.requests import parse
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.version import _values, run, specialise
from tierup.runtime.functions.elsewhere import AnsweredElsewhere

MARKED = NamedPipeline("up to the marks", "", (*PREPARE.steps[:4], "func.func(tierup-bake-arguments,tierup-infer-types,tierup-mark-sizes)"))


def proven(function: Any, values: tuple[Any, ...], *, dynamic: bool) -> dict[int, set[str]]:
    """What is said of the positions on each line, "" for one that is to be checked at both ends."""
    found = defaultdict(set)
    for op in marked(function, values, dynamic=dynamic):
        if op.name in ("torch.aten.select.int", "torch.aten.select_scatter"):
            line = int(re.search(r'":(\d+):', str(op.location))[1])
            low = NOT_NEGATIVE if NOT_NEGATIVE in op.attributes else ""
            found[line].add(ir.StringAttr(op.attributes[INSIDE]).value if INSIDE in op.attributes else low)
    return dict(found)


def marked(function: Any, values: tuple[Any, ...], *, dynamic: bool) -> Iterator[ir.Operation]:
    """The ops of a program after tierup-mark-sizes."""
    variant, _ = jit(function).find(values, {})
    graph, sizes = variant.built.program, symbolic(values) if dynamic else [None] * len(values)
    arguments = tuple(spec_of(v, size) for v, size in zip(values, sizes, strict=True))
    with thread_context(), ir.Location.unknown():
        module = parse(Request(specialise(_values(graph.graph), graph.entry, arguments), graph.entry, arguments))
        run(MARKED, module, Reason.PROGRAM_RAISES)
        yield from b.walk(module.operation)


def function(path: Path, source: str, **names: Any) -> Callable[..., Any]:
    path.write_text(source)
    scope = dict(names)
    exec(compile(source, str(path), "exec"), scope)
    return scope["f"]


SEEDS = range(2000 if IS_EXHAUSTIVE else 20)
SIZES = [(6, 4), (7, 5), (8, 4), (9, 6), (5, 9), (3, 3), (3, 12), (12, 3), (2, 2)]
INTS = [(2, 1), (3, 0), (-2, 4), (1, 7), (7, 5), (0, -1)]


@pytest.mark.parametrize("dynamic", [True, False])
def test_what_is_proven_of_positions_holds_in_every_run(tmp_path: Path, dynamic: bool) -> None:
    proofs = 0
    for seed in SEEDS:
        source = program(seed)
        seen: dict[int, set[tuple[int, int]]] = defaultdict(set)
        noted = function(tmp_path / "noted.py", instrumented(source), note=lambda line, p, size, seen=seen: seen[line].add((p, size)))
        try:
            said = proven(function(tmp_path / f"p{seed}.py", source), (np.ones(6), np.ones(4), 2, 1), dynamic=dynamic)
        except (NotCompiled, AnsweredElsewhere):
            continue  # it raises for these types, or is Python's in part
        for m, n in SIZES if dynamic else [(6, 4)]:
            for ints in INTS:
                try:
                    noted(np.ones(m), np.ones(n), *ints)
                except (IndexError, UnboundLocalError):
                    pass
        lines = [line.strip() for line in source.splitlines()]
        for line in said:
            places = set.union(*(said[other] for other in said if lines[other - 1] == lines[line - 1]))  # of two alike one may be left
            if len(places) == 1:
                (place,) = places
                proofs += place not in ("", NOT_NEGATIVE)
                for position, size in seen[line]:
                    assert _holds(place, position, size), f"{source}\nline {line} is {place}, but {position} of {size}"
    assert proofs > len(SEEDS) / 4


def _holds(place: str, position: int, size: int) -> bool:
    return {
        "": True, NOT_NEGATIVE: position >= 0, FROM_START: 0 <= position < size, FROM_END: -size <= position < 0, FROM_EITHER: -size <= position < size,
    }[place]  # fmt: skip


PROVEN = {
    "the item of a range up to a length": ("for i in range(len(a)):\n        s += a[i]", FROM_START),
    "its neighbours, where the range leaves them out": ("for i in range(1, len(a) - 1):\n        s += a[i - 1] * a[i + 1]", FROM_START),
    "the item of a range downwards": ("for i in range(len(a) - 2, -1, -1):\n        s += a[i + 1]", FROM_START),
    "counted from the end": ("for i in range(len(a)):\n        s += a[-1 - i]", FROM_END),
    "what a condition says": ("if 0 <= n < len(a):\n        s += a[n]", FROM_START),
    "what a condition says is not so": ("if n < 0 or n >= len(a):\n        return s\n    s += a[n]", FROM_START),
    "what is no less than 0, and not 0": ("for i in range(len(a)):\n        if i != 0:\n            s += a[i - 1]", FROM_START),
    "what a loop goes on with while it is not 0": ("i = len(a) - 1\n    while i:\n        s += a[i - 1]\n        i >>= 1", FROM_START),
    "bits of what is inside": ("s += a[n & (len(a) - 1)]", FROM_START),
    "what is asked before and": ("if n > 0 and n < len(a) and a[n - 1] > 0:\n        s += a[n]", FROM_START),
    "a loop down while it is above 0": (
        "for i in range(len(a)):\n        j = i\n        while j > 0 and a[j - 1] > 2:\n            j -= 1",
        FROM_START,
    ),
    "a loop up while it is below the length": ("i = 0\n    while i < len(a):\n        s += a[i]\n        i += 1", FROM_START),
    "what a loop left, behind it": ("for i in range(1, len(a)):\n        j = i - 1\n        while j >= 0 and a[j] > 2:\n            j -= 1\n        s += a[j + 1]", FROM_START),
    "the middle of two that come together": ("low, high = 0, len(a)\n    while low < high:\n        middle = (low + high) // 2\n        if a[middle] < 2:\n            low = middle + 1\n        else:\n            high = middle", FROM_START),
    "two that meet": ("i, j = 0, len(a) - 1\n    while i < j:\n        s += a[i] * a[j]\n        i += 1\n        j -= 1", FROM_START),
    "remainders": ("for i in range(n):\n        s += a[i % len(a)]", FROM_START),
    "halves": ("for i in range(len(a)):\n        s += a[i // 2]", FROM_START),
    "what follows one that a condition says": ("if n >= 0 and n + 1 < len(a):\n        s += a[n + 1]", FROM_START),
    "a difference that a range says is not negative": ("if 0 <= n < len(a):\n        for i in range(len(a) - 1, n - 1, -1):\n            s += a[i - n]", FROM_START),
    "what lies a step back, where one may go so far": ("if 0 < n < len(a):\n        j = len(a) - 1\n        while j >= n:\n            j -= n\n            s += a[j]", FROM_START),
    "the lesser of two": ("for i in range(n):\n        s += a[min(i, len(a) - 1)]", FROM_START),
}


@pytest.mark.parametrize("name", PROVEN)
def test_positions_that_programs_compute_need_no_check(name: str, tmp_path: Path) -> None:
    body, place = PROVEN[name]
    f = function(tmp_path / "p.py", f"def f(a, n):\n    s = 1.0\n    {body}\n    return s\n")
    for dynamic in (False, True):
        assert set.union(*proven(f, (np.ones(6), 3), dynamic=dynamic).values()) == {place}


def test_sums_of_what_loops_count_are_not_checked_for_64_bits() -> None:
    def counting(a: np.ndarray) -> float:
        s, i = 0.0, 0
        while i < len(a):
            s += a[i]
            i += 1
        return s

    f = jit(counting, weigh=False)
    for n in (5, 5, 6, 7, 8):
        f(np.ones(n))
    assert [v.speculation.kind for v in f.versions] == ["static", "dynamic"]
    assert "runtime.assert" not in f.plan("torch") and "_fits" not in f.plan("torch")


@pytest.mark.parametrize(
    "body",
    [
        "for i in range(n):\n        s += a[i]", "s += a[n]", "if n + 1 < len(a):\n        s += a[n + 1]", "for i in range(len(a)):\n        s += a[i + 1]", "if n < len(a):\n        s += a[n]",
        "if n >= 0 or n < len(a):\n        s += a[n]", "j = n\n    while j > 0:\n        j -= 1\n        s += a[j]",
        "i = 0\n    while i < len(a):\n        i += 1\n        s += a[i]", "for i in range(len(a)):\n        s += a[i // 2 - 1 + n]",
    ],
)  # fmt: skip
def test_positions_that_may_be_outside_are_checked(body: str, tmp_path: Path) -> None:
    f = function(tmp_path / "p.py", f"def f(a, n):\n    s = 1.0\n    {body}\n    return s\n")
    assert set.union(*proven(f, (np.ones(6), 3), dynamic=True).values()) & {"", NOT_NEGATIVE}  # the first round is built apart from the others


@pytest.mark.parametrize("limit", ["j < 100", "j < len(a) + 1", "j < n"])
def test_what_an_inner_loop_says_of_an_outer_one_is_not_taken_from_the_outer_ones_first_round(limit: str, tmp_path: Path) -> None:
    """The inner loop asks for `j < len(a)` behind its first round alone: of the outer loop's first round, where j is 0, that is no news."""
    source = (
        f"def f(a, n):\n    j = 0\n    while {limit}:\n        a[j // 1000] = 1.0\n        k = 0\n        go = True\n        while go:\n"
        "            a[j] = 2.0\n            k += 1\n            go = j < len(a) and k < 3\n        j += k\n    return a\n"
    )
    f = function(tmp_path / "p.py", source)
    for dynamic in (False, True):
        assert proven(f, (np.ones(6), 30), dynamic=dynamic)[8] == {NOT_NEGATIVE}  # and perhaps beyond the end
    jitted = jit(f, weigh=False)
    for _ in range(3):
        for each in (f, jitted):
            with pytest.raises(IndexError):
                each(np.ones(6), 30)


HALVED = {
    "bits of what is not negative": ("n = max(k, 0)\n    while n:\n        n >>= 1", True),
    "digits": ("n = k * 0 + len(a)\n    while n > 0:\n        s += n % 10\n        n //= 10", True),
    "bits that are set": ("n = len(a)\n    while n != 0:\n        n &= n - 1\n        s += 1", True),
    "bits that are set, of an element": ("n = i[0]\n    while n:\n        n &= n - 1\n        s += 1", True),
    "remainders": ("m = 12\n    n = k\n    while n:\n        m, n = n, m % n", True),
    "bits of an element": ("n = i[0]\n    while n > 0:\n        s += n & 1\n        n >>= 1", True),
    "digits of an element": ("n = i[0]\n    while n > 0:\n        s += n % 10\n        n //= 10", True),
    "bits of an element that may be negative": ("n = i[0]\n    while n != 0:\n        n >>= 1", False),
    "no bits of an element": ("n = i[0]\n    while n > 0:\n        n >>= 0", False),
    "an element by 1": ("n = i[0]\n    while n > 0:\n        n //= 1", False),
    "bits of another element": ("n = i[0]\n    m = i[1]\n    while n > 0:\n        n = m >> 1\n        m += 1", False),
    "bits of what may be negative": ("n = k\n    while n:\n        n >>= 1", False),
    "down to 1, which 0 never is": ("n = max(k, 0)\n    while n != 1:\n        n >>= 1", False),
    "by 1": ("n = max(k, 0)\n    while n:\n        n //= 1 + 0 * k", False),
    "remainders by another": ("m = 12\n    n = k\n    while n:\n        n = m % n + 1", False),
    "bits of another": ("n = len(a)\n    m = k\n    while n:\n        n = m & (m - 1)\n        m += 1", False),
}


@pytest.mark.parametrize("name", HALVED)
def test_a_loop_that_halves_a_number_is_known_to_end_soon(name: str, tmp_path: Path) -> None:
    body, ends = HALVED[name]
    f = function(tmp_path / "p.py", f"def f(a, i, k):\n    s = 0\n    {body}\n    return s, n\n")
    loops = [has_few_rounds(op) for op in marked(f, (np.ones(6), np.array([12, 40]), 9), dynamic=False) if op.name == "torch.prim.Loop"]
    assert loops and all(few is ends for few in loops)
