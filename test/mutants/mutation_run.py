"""Mutation testing of the passes: break each in small ways, one at a time; its own tests must notice.

    python test/mutants/mutation_run.py                          all passes of dialect/, as long as it takes
    python test/mutants/mutation_run.py --passes dce,cse         some
    python test/mutants/mutation_run.py --minutes 10 --sample 40 at most 40 mutants of each pass, and 10 minutes in all

A pass's tests are the lit files named after it and the pytest files beside them that name its flag. Mutants run in forked children with
everything imported but the passes. What was found is kept in build/mutants and used again while neither the pass nor its tests change, so
a run that was stopped goes on where it was. Survivors are printed; docs/mutation-score.md is written from all that is kept.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import pkgutil
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "test"), str(Path(__file__).parent)]
FOLDERS = (ROOT / "dialect" / "transforms", ROOT / "dialect" / "torchscript" / "transforms")
FILES = {path.stem: path for folder in FOLDERS for path in sorted(folder.glob("*.py")) if path.stem != "__init__"}
TESTS = ROOT / "test" / "dialect" / "transforms"
KEPT = ROOT / "build" / "mutants"
PAGE = ROOT / "docs" / "mutation-score.md"
KILLED, SURVIVED, SLOW = "killed", "survived", "timeout"


@dataclass(frozen=True)
class Subject:
    """A pass file and its tests."""

    stem: str

    @property
    def path(self) -> Path:
        return FILES[self.stem]

    @property
    def module(self) -> str:
        return ".".join(("tierup", *self.path.relative_to(ROOT).with_suffix("").parts))

    @property
    def flag(self) -> str:
        return f"tierup-{self.stem.replace('_', '-')}"

    def lit(self) -> list[Path]:
        """X.mlir and X_*.mlir, but those of a pass with a longer name."""
        return [p for p in sorted(TESTS.glob(f"{self.stem}*.mlir")) if self.stem == max((s for s in FILES if _named(p.stem, s)), key=len, default="")]

    def pytests(self) -> list[Path]:
        return [p for p in sorted(TESTS.glob("test_*.py")) if not p.stem.endswith("_torch") and _mentions(p.read_text(), self.flag)]

    def digest(self) -> str:
        data = b"".join(p.read_bytes() for p in (self.path, *self.lit(), *self.pytests()))
        return hashlib.sha256(data).hexdigest()[:16]


def _named(name: str, stem: str) -> bool:
    return name == stem or name.startswith(f"{stem}_")


def _mentions(text: str, flag: str) -> bool:
    return any(not text[i + len(flag) :][:1].isalnum() and text[i + len(flag) :][:1] != "-" for i in _occurrences(text, flag))


def _occurrences(text: str, part: str) -> list[int]:
    found, at = [], text.find(part)
    while at >= 0:
        found.append(at)
        at = text.find(part, at + 1)
    return found


def prepare() -> None:
    """Import what every child needs, and no pass: each child imports those, one of them changed."""
    import filecheck.main  # noqa: F401
    import hypothesis  # noqa: F401
    import pytest  # noqa: F401

    import tierup.dialect

    for info in pkgutil.walk_packages(tierup.dialect.__path__, "tierup.dialect."):
        if not info.name.startswith(("tierup.dialect.transforms", "tierup.dialect.torchscript")):
            importlib.import_module(info.name)
    for name in ("tierup.tools.opt.__main__", "tierup.runtime.interpreter.translate", "mutant_child"):
        importlib.import_module(name)


def attempt(subject: Subject, source: str, limit: float) -> str:
    """What becomes of a mutant, in a child of its own that is stopped after `limit` seconds."""
    lit, pytests = subject.lit(), subject.pytests()
    child = os.fork()
    if child == 0:
        _in_child(subject, source, lit, pytests)
    end = time.monotonic() + limit
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return SURVIVED if os.waitstatus_to_exitcode(status) == 0 else KILLED  # a crash is noticed too
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return SLOW


def _in_child(subject: Subject, source: str, lit: Sequence[Path], pytests: Sequence[Path]) -> None:
    code = 1
    with contextlib.suppress(BaseException):  # whatever a mutant does, the child ends here
        import mutant_child

        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        os.chdir(ROOT)
        sys.meta_path.insert(0, mutant_child.Replaced(subject.module, subject.path, source))
        code = 0 if mutant_child.survives(lit, pytests) else 1
    os._exit(code)


class Bar:
    """One line of progress on a terminal; nothing elsewhere."""

    def __init__(self) -> None:
        self.shown = sys.stderr.isatty()

    def show(self, name: str, done: int, total: int, survived: int) -> None:
        if self.shown:
            full = 30 * done // max(total, 1)
            print(f"\r{name:40} [{'#' * full}{'.' * (30 - full)}] {done}/{total}, {survived} survived ", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self.shown:
            print(file=sys.stderr)


def try_mutants(subject: Subject, sample: int, deadline: float, bar: Bar) -> bool:
    """Test a pass's mutants; what is kept already is not run again. Whether all were done before the deadline."""
    from mutations import mutants

    kept = _kept(subject)
    found = list(mutants(subject.path.read_text()))
    chosen = found if sample <= 0 or len(found) <= sample else sorted(random.Random(subject.stem).sample(found, sample), key=lambda m: m.line)
    results: dict[str, str] = kept["results"]
    missing = [m for m in chosen if m.key not in results]
    if missing:
        start = time.monotonic()
        if attempt(subject, subject.path.read_text(), 600) != SURVIVED:
            bar.end()
            print(f"{subject.flag}: its tests fail without a change, so they say nothing of mutants")
            return True
        limit = 3 * (time.monotonic() - start) + 5
    for mutant in missing:
        if time.monotonic() > deadline:
            break
        results[mutant.key] = attempt(subject, mutant.source, limit)
        kept["total"] = len(found)
        KEPT.mkdir(parents=True, exist_ok=True)
        _file(subject).write_text(json.dumps(kept, indent=1))
        bar.show(subject.flag, len(results), len(chosen), sum(r == SURVIVED for r in results.values()))
    bar.end()
    return all(m.key in results for m in chosen)


def _file(subject: Subject) -> Path:
    return KEPT / f"{subject.stem}.json"


def _kept(subject: Subject) -> dict:
    digest = subject.digest()
    if _file(subject).exists():
        found = json.loads(_file(subject).read_text())
        if found["digest"] == digest:
            return found
    return {"digest": digest, "total": 0, "results": {}}


def report(subjects: Sequence[Subject]) -> str:
    """The page: a score per pass, and the survivors."""
    rows, survivors = [], []
    for subject in subjects:
        kept = _kept(subject)
        results = kept["results"]
        if not results:
            continue
        lost = [key for key, r in results.items() if r == SURVIVED]
        tried = f"{len(results)}" if len(results) == kept["total"] else f"{len(results)} of {kept['total']}"
        rows.append(f"| `{subject.flag}` | {tried} | {len(results) - len(lost)} | {len(lost)} | {100 * (len(results) - len(lost)) // len(results)}% |")
        survivors += [f"* `{subject.path.relative_to(ROOT)}:{key.partition(' ')[0]}` {key.partition(' ')[2]}" for key in lost]
    head = """# Mutation score

Written by `make mutants`, which breaks each pass in small ways, one at a time, and runs the pass's own tests: its lit files, and the pytest
files beside them that name it. A mutant is killed when a test fails, or runs three times as long as without it. A pass is here when it has
been tested since it or its tests last changed. Among the survivors are mutants that no test can kill: they do what the pass does.

| pass | mutants tried | killed | survived | score |
|---|---|---|---|---|
"""
    listed = "\n## Survivors\n\n" + "\n".join(survivors) + "\n" if survivors else ""
    return head + "\n".join(rows) + "\n" + listed


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--passes", default="", help="names of passes, with or without tierup-, separated by commas; all when left out")
    parser.add_argument("--minutes", type=float, default=0.0, help="stop after this time; 0: when all is done")
    parser.add_argument("--sample", type=int, default=0, help="at most this many mutants of each pass, always the same ones; 0: all")
    options = parser.parse_args(arguments)
    stems = list(FILES)
    wanted = [n.strip().removeprefix("tierup-").replace("-", "_") for n in options.passes.split(",") if n.strip()]
    unknown = [n for n in wanted if n not in stems]
    if unknown:
        parser.error(f"no pass is called {', '.join(unknown)}")
    prepare()
    deadline = time.monotonic() + 60 * options.minutes if options.minutes else float("inf")
    bar, finished = Bar(), True
    for stem in wanted or stems:
        subject = Subject(stem)
        finished = try_mutants(subject, options.sample, deadline, bar) and finished
        for key, result in _kept(subject)["results"].items():
            if result == SURVIVED:
                print(f"{subject.path.relative_to(ROOT)}:{key}")
        if time.monotonic() > deadline:
            finished = False
            break
    PAGE.write_text(report([Subject(stem) for stem in stems]))
    print(f"wrote {PAGE.relative_to(ROOT)}" + ("" if finished else "; not all done: run it again to go on"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
