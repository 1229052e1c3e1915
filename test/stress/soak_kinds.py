"""The kinds of programs that a soak runs. Each: `kind(seed, report)` makes and runs program number `seed`, and reports what was wrong."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any


@dataclass
class Report:
    """What one program did. `emit` tells the parent at once: a crash must not take it along."""

    calls: int = 0

    def emit(self, **line: Any) -> None:
        print(json.dumps(line), file=sys.__stdout__, flush=True)

    def wrong(self, title: str, script: str) -> None:
        self.emit(wrong=title, script=script)

    def refused(self, why: str) -> None:
        self.emit(refused=why)

    def at(self, what: str) -> None:
        """Where the program stands: what a crash is attributed to."""
        self.emit(at=what)


Kind = Callable[[int, Report], None]
KINDS: dict[str, tuple[float, Kind]] = {}  # by name: its share of the time


def kind(name: str, share: float) -> Callable[[Kind], Kind]:
    def add(run: Kind) -> Kind:
        KINDS[name] = share, run
        return run

    return add


@kind("numpy", 6)
def numpy_kind(seed: int, report: Report) -> None:
    """NumPy programs under sets of options, in tier 0 and compiled."""
    import reproducer
    import running
    from checking import Refused
    from numpy_programs import numpy_program

    program = numpy_program(seed)
    tally = running.Tally()
    told = False
    with tempfile.TemporaryDirectory(prefix="tierup-soak-") as folder:

        def finding(candidate: Any, options: dict[str, Any]) -> Any:
            try:
                return running.check(candidate, options, Path(folder), running.Tally())
            except Refused:
                return None

        for options in running.option_sets(random.Random(f"options {seed}"), 2):
            report.at(repr(options))
            try:
                found = running.check(program, options, Path(folder), tally)
            except Refused as e:
                report.refused(str(e).split(": ", 1)[-1])
                break
            if found is None or told:
                continue
            told = True  # the others will show the same
            start = running.words(found.what)
            flat = [replace(c, times=1) for c in running.made(program.calls)][: found.call + 1]
            small = reproducer.reduced(
                replace(program, calls=flat), lambda p: (f := finding(p, options)) is not None and running.words(f.what) == start, 40.0
            )
            last = finding(small, options)
            what = last.what if last is not None else found.what
            report.wrong(what.split("\n")[0][:200], reproducer.script(small, options, f"numpy {seed} under {options}", what))
    report.calls = tally.calls


_TORCH_HEAD = '''"""torch {seed} under {options}: {what}"""
# run in the tests' environment: PYTHONPATH=test/generators

'''


@kind("torch", 4)
def torch_kind(seed: int, report: Report) -> None:
    """TorchScript modules with weights in lists, under autograd."""
    import torch_running
    from torch_programs import torch_program

    program = torch_program(seed)
    options = random.Random(f"options {seed}").choice(torch_running.OPTIONS)
    report.at(repr(options))
    with tempfile.TemporaryDirectory(prefix="tierup-soak-") as folder:
        try:
            report.calls, what = torch_running.check(program, options, Path(folder))
        except torch_running.Refused as e:
            return report.refused(str(e).split("\n")[0][:160])
    if what:
        report.wrong(what[:300], _TORCH_HEAD.format(seed=seed, options=options, what=what[:2000].replace("\\", "/")) + program.source)
