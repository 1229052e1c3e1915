"""`tierup.report()`: the whole process by source line, what one function's `explain()` cannot see.

`TIERUP_REPORT=file` in the environment writes it at exit.
"""

from __future__ import annotations

import atexit
import os
import sys
from typing import TYPE_CHECKING

from tierup.dialect.base.spelling import short_time
from tierup.runtime.account.times import PARTS, Place, Times, places
from tierup.runtime.functions import direct_calls
from tierup.runtime.functions.report import Report
from tierup.runtime.functions.verdict import words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

REPORT = "TIERUP_REPORT"
_MOST_LINES = 50
_LEAST = 0.001  # of all time: lines that took less are summed up


def report(path: str | os.PathLike[str] | None = None) -> str:
    """For people: what the calls of all functions of this process took, deleted ones included, by the line at which they were decorated:
    time by part, how many functions were made there, and why one of them is slow. Lines that took most come first; `explain()` of a
    function says more of it. `path`: where to write it, too; as a page, one file of HTML that needs no network, where the name ends in
    `.html`."""
    totals, total = _totals()
    text = _text(totals, total)
    if path is not None and os.fspath(path).endswith(".html"):
        from tierup.runtime.functions.verdict.page import data, write  # here: few programs want one

        functions = sorted((each for each in direct_calls.alive() if isinstance(each, Report)), key=lambda f: -_seconds(f.times))
        lines = [(place.name, at, times, place.made) for place, at, times in totals]
        write.write(path, data.process_data(functions[:_MOST_LINES], lines, total.by_part), "the whole process")
    elif path is not None:
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            file.write(text + "\n")
    return text


Totals = list[tuple[Place, str, Times]]  # with the line


def _totals() -> tuple[Totals, Times]:
    totals = sorted(((place, at, place.total()) for (_, at), place in places().items()), key=lambda each: -_seconds(each[2]))
    total = Times()
    for _, _, times in totals:
        total.take(times)
    return totals, total


def _text(totals: Totals, total: Times) -> str:
    made = sum(place.made for place, _, _ in totals)
    lines = [
        f"tierup: {made} function{'s' * (made != 1)} decorated at {len(totals)} line{'s' * (len(totals) != 1)}",
        f"  {words.time_line(total.by_part, _background(total))}",
    ]
    verdicts = _verdicts()
    shown = [each for each in totals[:_MOST_LINES] if _seconds(each[2]) > _LEAST * _seconds(total)]
    for place, at, times in shown:
        lines.append(f"  {short_time(_seconds(times))} in {place.name} at {at}{_made(place)}")
        lines.append(f"    {words.time_line(times.by_part, _background(times))}")
        lines += [f"    {line}" for line in verdicts.get((place.name, at), ())]
    if len(shown) < len(totals):
        rest = sum(_seconds(times) for each in totals if each not in shown for times in each[2:])
        lines.append(f"  {short_time(rest)} in functions at {len(totals) - len(shown)} lines more")
    return "\n".join(words.narrow(lines))


def _seconds(times: Times) -> float:
    return sum(times.by_part[part] for part in PARTS)


def _background(times: Times) -> float:
    return 0.0 if times.background is None else _seconds(times.background)


def _made(place: Place) -> str:
    return f", decorated {place.made} times" if place.made > 1 else ""


def _verdicts() -> Mapping[tuple[str, str], Iterable[str]]:
    """By name and line, why a function that is there is slow; of several at one line, the one that took longest."""
    found: dict[tuple[str, str], tuple[float, list[str]]] = {}
    for each in direct_calls.alive():
        if isinstance(each, Report) and each.times.place:
            key, seconds = (each.times.name, each.times.place), _seconds(each.times)
            if seconds >= found.get(key, (0.0, []))[0]:
                found[key] = seconds, each.verdict()
    return {key: lines for key, (_, lines) in found.items()}


def write_at_exit() -> None:
    """Where `TIERUP_REPORT` names a file, have the report written there when this process ends; a child of fork writes none."""
    path = os.environ.get(REPORT)
    if path:
        atexit.register(_write, path, os.getpid())


def _write(path: str, process: int) -> None:
    if os.getpid() == process:
        try:
            report(path)
        except OSError as e:
            print(f"tierup: {REPORT}: {e}", file=sys.stderr)
