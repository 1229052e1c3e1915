"""The first lines of `explain()`: where the time went, why the function is slow and what to do, and a table of causes."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tierup.dialect.base.spelling import short_time
from tierup.runtime.functions.verdict import arguments, code
from tierup.runtime.functions.verdict.cause import Cause, Facts

WIDTH = 160
ROWS = 10
_LEAST = 0.02  # of what a function's calls take besides its first ones: what costs less is no cause
_QUICK = 1e-3  # seconds in all, from which on it is asked why

FINDERS = (
    arguments.drifting_dtypes,
    arguments.growing_containers,
    arguments.changing_ranks,
    arguments.changing_keys,
    arguments.changing_values,
    arguments.changing_settings,
    arguments.strided_layouts,
    arguments.many_leaves,
    arguments.costly_calls,
    code.decorated_again,
    code.ops_in_tier0,
    code.written_out_loops,
    code.failing_checks,
    code.too_little_work,
    code.slower_than_tier0,
    code.versions_in_turn,
    code.left_to_python,
    code.stays_in_tier0,
    code.first_calls,
)


def causes(facts: Facts) -> list[Cause]:
    """What costs time, what costs most first; what every program pays stands behind all others."""
    most = facts.total  # compiles that no call waited for take longer
    found = [replace(cause, seconds=min(cause.seconds, most)) for find in FINDERS for cause in find(facts)]
    found = [cause for cause in found if cause.seconds >= _LEAST * facts.recurring]
    return sorted(found, key=lambda cause: (cause.once, -cause.seconds))


def time_line(seconds: Mapping[str, float], background: float = 0.0) -> str:
    """`time: 1.10 s = start-up 0.42 + graphs 0.61 + ...`; the parts that are not to be seen are summed up."""
    total = sum(seconds.values())
    unit, scale, digits = ("s", 1.0, 2) if total >= 1 else ("ms", 1e3, 1) if total >= 1e-3 else ("us", 1e6, 1)
    shown = {part: spent for part, spent in seconds.items() if spent >= 0.005 * total and spent > 0}
    rest = total - sum(shown.values())
    if rest > 0.01 * total:
        shown["other"] = rest
    parts = " + ".join(f"{part} {spent * scale:.{digits}f}" for part, spent in shown.items())
    line = f"time: {total * scale:.{digits}f} {unit}" + (f" = {parts}" if parts else "")
    return line + (f"; besides {short_time(background)} in the background" if background > 1e-4 else "")


def verdict(facts: Facts) -> list[str]:
    """Why the function is slow and what to do, in two sentences; a line that says so where nothing is to be done."""
    found = causes(facts)
    if facts.total < _QUICK or not found:
        return ["Not slow: nothing in its calls costs much that could be saved."] if facts.total else []
    first = found[0]
    begins = "Slow in its first calls alone: " if first.once else "Slow because "
    text = f"{begins}{first.what}; at {first.line}. Do: {first.remedy}."
    return textwrap.wrap(text, WIDTH - 2, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def table(facts: Facts) -> list[str]:
    """At most ten rows: time, calls, line, cause and remedy. Nothing where the verdict has said it all."""
    found = causes(facts)[:ROWS]
    if len(found) < 2:
        return []
    rows = sorted(found, key=lambda cause: -cause.seconds)
    lines = [f"{'time':>8} {'calls':>7}  cause; line; what to do"]
    for each in rows:
        text = f"as above; at {each.line}" if each is found[0] else f"{each.what}; at {each.line}; {each.remedy}"
        begin = f"{short_time(each.seconds):>8} {each.calls:>7}  "
        lines += wrapped(begin + text, " " * len(begin), 2)
    return lines


def wrapped(line: str, indent: str, most: int = 0) -> list[str]:
    """A line in lines of at most WIDTH characters; `most` of them, the last one cut off, where that is not 0."""
    made = textwrap.wrap(
        line, WIDTH - 2, subsequent_indent=indent, break_long_words=True, break_on_hyphens=False, max_lines=most or None, placeholder=" ..."
    )
    start = len(line) - len(line.lstrip())
    return [" " * start + made[0].lstrip(), *made[1:]] if made else [""]


def narrow(lines: Iterable[str]) -> list[str]:
    """Lines of at most WIDTH characters, each where it begins; what goes on is set in."""
    made: list[str] = []
    for line in lines:
        if len(line) <= WIDTH:
            made.append(line)
            continue
        start = len(line) - len(line.lstrip())
        made += textwrap.wrap(
            line.lstrip(), WIDTH, initial_indent=" " * start, subsequent_indent=" " * (start + 4), break_on_hyphens=False
        )
    return made


def without_repeats(lines: Sequence[str], most: int = 5) -> list[str]:
    """Lines, each with what is set in under it, of which no more than so many say the same of other numbers and places; in the place of the
    rest stands how many there are."""
    depth = min((_indent(line) for line in lines), default=0)
    blocks: list[list[str]] = []
    for line in lines:
        if _indent(line) == depth or not blocks:
            blocks.append([])
        blocks[-1].append(line)
    kinds = [re.sub(r"\d+(\.\d+)?", "0", block[0]) for block in blocks]
    counts, seen, found = Counter(kinds), Counter[str](), list[str]()
    for kind, (head, *inner) in zip(kinds, blocks, strict=True):
        seen[kind] += 1
        if counts[kind] <= most or seen[kind] < most:
            found += [head, *without_repeats(inner, most)]
        elif seen[kind] == most:
            found.append(f"{' ' * depth}... and {counts[kind] - most + 1} more like these: explain(details=True)")
    return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
