"""The kinds of programs that a soak runs. Each: `kind(seed, report)` makes and runs program number `seed`, and reports what was wrong."""

from __future__ import annotations

import functools
import json
import os
import random
import re
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TextIO

_PLACE = re.compile(r"^\S+\.py:\d+: ")  # of a generated program


@dataclass
class Report:
    """What one program did. `emit` tells the parent at once: a crash must not take it along. `told`: where to, which no program writes."""

    calls: int = 0
    told: TextIO | None = None

    def emit(self, **line: Any) -> None:
        print(json.dumps(line), file=self.told or sys.__stdout__, flush=True)

    def wrong(self, title: str, script: str) -> None:
        self.emit(wrong=title, script=script)

    def refused(self, why: str) -> None:
        self.emit(refused=_PLACE.sub("", why))

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


@kind("mishap", 0)  # not part of a soak: for the tests of it
def mishap_kind(seed: int, report: Report) -> None:
    """Numbers 1, 2 and 3 of a soak crash, hang and are wrong."""
    report.at("the beginning")
    number = seed % 1_000_000
    if number == 1:
        os.kill(os.getpid(), signal.SIGSEGV)
    elif number == 2:
        signal.pause()
    elif number == 3:
        report.wrong("1, not 2", "# what shows it")
    elif number == 4:
        report.refused("too long")
    report.calls = 2


@kind("storms", 0.5)
def storms_kind(seed: int, report: Report) -> None:
    """Forks and signals in the midst of compiles, by workers and in the process itself."""
    import storms

    chance, found = random.Random(f"storms {seed}"), storms.Found()
    words = storms.drawn(chance)
    os.environ["TIERUP_WORKER"] = chance.choice("01")
    report.at(f"TIERUP_WORKER={os.environ['TIERUP_WORKER']} storms.py {' '.join(words)}")
    storms.program(found, *words)
    report.calls = found.calls
    for told in found.told:
        report.wrong(told.splitlines()[0], told)


@kind("numpy", 6)
def numpy_kind(seed: int, report: Report) -> None:
    """NumPy programs under sets of options, in tier 0 and compiled."""
    _run_numpy(seed, report)


@kind("keywords", 2)
def keywords_kind(seed: int, report: Report) -> None:
    """The same of functions and arguments that few programs have."""
    _run_numpy(seed, report, keywords=True)


@kind("lists", 3)
def lists_kind(seed: int, report: Report) -> None:
    """Programs whose arguments are lists."""
    _run_numpy(seed, report, lists=True)


@kind("islands", 4)
def islands_kind(seed: int, report: Report) -> None:
    """The same with statements that are not translated, which Python runs between native regions."""
    import running

    with running.native_wins():
        _run_numpy(seed, report, islands=True)


def _run_numpy(seed: int, report: Report, **what: bool) -> None:
    import reproducer
    import running
    from checking import Refused
    from numpy_programs import numpy_program

    program = numpy_program(seed, **what)
    tally = running.Tally()
    told = False
    with tempfile.TemporaryDirectory(prefix="tierup-soak-") as folder:

        def finding(candidate: Any, options: dict[str, Any]) -> Any:
            try:
                return running.check(candidate, options, Path(folder), running.Tally())
            except Refused:
                return None

        for options in running.option_sets(random.Random(f"options {seed}"), 2):
            tally.sign = functools.partial(report.at, repr(options))  # on a busy machine all its calls may take longer than one may
            try:
                found = running.check(program, options, Path(folder), tally)
            except Refused as e:
                report.refused(str(e))
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


@kind("mutated", 2)
def mutated_kind(seed: int, report: Report) -> None:
    """Everyday programs changed in a few places, as nobody would write them."""
    import mutated_programs
    import running

    program = mutated_programs.mutated_program(seed)
    if program is None:
        return report.refused("no Python")
    with tempfile.TemporaryDirectory(prefix="tierup-soak-") as folder, running.native_wins():
        for options in mutated_programs.OPTIONS:
            report.at(repr(options))
            calls, what = mutated_programs.check(program, options, Path(folder))
            report.calls += calls
            if what:
                return report.wrong(what.split("\n")[0][:300], f'"""mutated {seed} under {options}: {what[:1500]}\n"""\n{program.source}')


@kind("gradients", 3)
def gradients_kind(seed: int, report: Report) -> None:
    """NumPy programs differentiated by tierup.value_and_grad under sets of options, in tier 0 and compiled."""
    import gradient_programs
    import reproducer
    import running
    from checking import Refused

    program = gradient_programs.gradient_program(seed)
    sets = [*running.INTERPRETED, *running.option_sets(random.Random(f"options {seed}"), 2)[len(running.INTERPRETED) :]]
    with tempfile.TemporaryDirectory(prefix="tierup-soak-") as folder:

        def found(candidate: Any, tried: list[dict[str, Any]], at: Callable[[str], None] = lambda where: None) -> tuple[int, str]:
            return gradient_programs.check(candidate, tried, Path(folder), at)

        try:
            report.calls, what = found(program, sets, report.at)
        except Refused as e:
            return report.refused(str(e))
        if what:
            start = what.split(": ")[-1][:12]

            def shows(candidate: Any) -> bool:
                try:
                    return start in found(candidate, sets)[1]
                except Exception:  # noqa: BLE001 - a program that was cut down may be none
                    return False

            small = reproducer.reduced(program, shows, 40.0)
            report.wrong(what.split("\n")[0][:300], f'"""gradients {seed}: {what[:1500]}\n{small.calls}\n"""\n{small.source}')


_TORCH_HEAD = '''"""torch {seed} under {options}, calls {calls} of {shapes}: {what}"""
'''


@kind("torch", 4)
def torch_kind(seed: int, report: Report) -> None:
    """TorchScript modules with weights in lists, under autograd."""
    import reproducer
    import torch_running
    from torch_programs import torch_program

    program = torch_program(seed)
    options = random.Random(f"options {seed}").choice(torch_running.OPTIONS)
    report.at(repr(options))
    with tempfile.TemporaryDirectory(prefix="tierup-soak-") as folder:

        def found(candidate: Any) -> str:
            try:
                return torch_running.check(candidate, options, Path(folder))[1]
            except torch_running.Refused:
                return ""
            except Exception as e:  # noqa: BLE001 - a program that was cut down may be none
                return "" if candidate is not program else f"{type(e).__name__}: {e}"

        try:
            report.calls, what = torch_running.check(program, options, Path(folder))
        except torch_running.Refused as e:
            return report.refused(str(e).split("\n")[0][:160])
        if what:
            start = what.split(": ")[1].split("[")[0].split(" ")[0]
            small = reproducer.reduced(program, lambda p: start in found(p).split(": ", 1)[-1][:12], 40.0)
            head = _TORCH_HEAD.format(seed=seed, options=options, calls=small.calls, shapes=small.shapes, what=found(small)[:1500].replace("\\", "/"))
            report.wrong(what[:300], head + small.source)


@kind("pipelines", 3)
def pipelines_kind(seed: int, report: Report) -> None:
    """The graph of a NumPy program through every named pipeline and some passes, executed."""
    import graph_programs
    from checking import Refused
    from graph_stages import STAGES
    from graph_stages import Refused as RefusedByPass
    from test_random_programs import PIPELINES, PROMISES, Promise, check, named_pipelines, names

    chance = random.Random(f"pipelines {seed}")
    try:
        program = graph_programs.graph_program(seed)
    except Refused as e:
        return report.refused(str(e))
    tried = [(named_pipelines()[name].text, promise, name) for name, promise in PIPELINES.items()]
    tried += [(name, PROMISES.get(name, Promise()), name) for name in chance.sample(names(), 12)]
    for passes, promise, name in tried:
        # functions whose arguments share memory run as they were written, in tier 0; that a further run changes nothing is not promised here
        promise, taken = replace(promise, again=True), program if promise.alike else replace(program, apart=True)
        for stage in promise.stages:
            report.at(f"{name} at {stage}")
            try:
                check(taken, passes, STAGES[stage], promise)
            except RefusedByPass:
                continue
            except Exception as e:  # noqa: BLE001 - whatever a pass does
                return report.wrong(f"{name} at {stage}: {e}"[:300], f'"""pipelines {seed}: {name} at {stage}: {e}\n"""\n{program.source}')
            report.calls += 3


@kind("mlir", 3)
def mlir_kind(seed: int, report: Report) -> None:
    """Random graphs of the torch dialect: passes and pipelines, then calls that lose every speculation in turn."""
    from graph_stages import STAGES, Refused
    from test_executor_bailouts_random import calls_and_losses, drawn, gives_leaves
    from test_random_programs import PIPELINES, PROMISES, Promise, check, named_pipelines, names

    chance = random.Random(f"mlir {seed}")
    program = drawn(seed)
    tried = [(named_pipelines()[name].text, PIPELINES[name], name) for name in chance.sample(list(PIPELINES), 8)]
    tried += [(name, PROMISES.get(name, Promise()), name) for name in chance.sample(names(), 8)]
    for passes, promise, name in tried:
        stage = chance.choice(promise.stages)
        report.at(f"{name} at {stage}")
        try:
            check(program, passes, STAGES[stage], promise)
        except Refused:
            continue
        except Exception as e:  # noqa: BLE001 - whatever a pass does
            return report.wrong(f"{name} at {stage}: {e}"[:300], f'"""mlir {seed}: {name} at {stage}: {e}\n{program}"""\n')
        report.calls += 3
    report.at("calls")
    try:
        if gives_leaves(program):
            calls_and_losses(program)
            report.calls += 6
    except Exception as e:  # noqa: BLE001 - whatever it does
        report.wrong(f"calls: {e}"[:300], f'"""mlir {seed}, calls: {e}\n{program}"""\n')


@kind("faults", 3)
def faults_kind(seed: int, report: Report) -> None:
    """Functions called through fork, signals and threads while compiling; caches that somebody damaged."""
    from checking import Refused
    from faulty_programs import FAULTS, faulty

    report.at(FAULTS[seed % len(FAULTS)].__name__)
    try:
        report.calls, what, source = faulty(seed)
    except Refused as e:
        return report.refused(str(e))
    if what:
        report.wrong(what[:300], f'"""faults {seed}: {what}\n"""\n{source}')


@kind("stress", 1)
def stress_kind(seed: int, report: Report) -> None:
    """Many threads under injected faults (stress.py), for some seconds."""
    import warnings

    import stress

    warnings.simplefilter("ignore")
    try:
        report.calls = stress.run(stress.SECONDS_PER_PHASE, seed)
    except AssertionError as e:
        report.wrong(str(e)[:300], f'"""stress {seed}: {e}\n"""\n')


@kind("plans", 1)
def plans_kind(seed: int, report: Report) -> None:
    """A NumPy program, saved and called as a plan without a compiler."""
    from checking import Refused
    from saved_programs import saved

    try:
        report.calls, what, source = saved(seed)
    except Refused as e:
        return report.refused(str(e))
    if what:
        report.wrong(what[:300], f'"""plans {seed}: {what}\n"""\n{source}')


@kind("bundles", 1)
def bundles_kind(seed: int, report: Report) -> None:
    """A bundle of kernels with bytes changed, its checksums right or not: refused by name, or read as it was."""
    import mutated_bundles

    report.calls, what = mutated_bundles.mutate(seed)
    if what:
        report.wrong(what[:300], f'"""bundles {seed}: {what}\n"""\n')
