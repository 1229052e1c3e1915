"""`make soak`: programs of all generators, for a given time, and what went wrong.

    python test/stress/soak.py                          an hour (or --minutes, --seed, --kinds numpy,mlir)
    python test/stress/soak.py --minutes 60             again: goes on where the last piece stopped
    python test/stress/soak.py --fresh --seed 7         from the start
    python test/stress/soak.py --again numpy 123        one program

Programs run in batches, each in a process of its own: one that dies of a signal, or gives no sign for minutes, is counted, attributed to its program,
and the soak goes on behind it. What is wrong is written to build/soak as a small program of its own. Position and totals are in build/soak/state.json.
"""

from __future__ import annotations

import argparse
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
FOLDER = HERE.parent.parent / "build" / "soak"
SILENCE = 300.0  # seconds without a line after which a program hangs
_TO_BEGIN = 120.0  # seconds without one in which a process is taken to start
BATCH = 40
_SECONDS_BETWEEN_SIGNS = 300.0
TURN = 60.0  # seconds after which a batch ends with the program that runs: all kinds come in turn, the slow ones too
COUNTS = ("programs", "calls", "wrong", "crashed", "refused")


@dataclass
class State:
    """How far a soak has come: by kind the number of its next program, its counts, its seconds."""

    seed: int
    next: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    pieces: list[dict[str, Any]] = field(default_factory=list)

    @staticmethod
    def read(path: Path) -> State | None:
        return State(**json.loads(path.read_text())) if path.exists() else None

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(json.dumps(vars(self), indent=1))
        new.replace(path)

    def count(self, kind: str, what: str, by: int = 1) -> None:
        self.counts.setdefault(kind, dict.fromkeys(COUNTS, 0))[what] += by

    def total(self) -> dict[str, int]:
        return {name: sum(c[name] for c in self.counts.values()) for name in COUNTS}


def _checked() -> dict[str, str]:
    """What has glibc check its heap with every call of malloc and free, and fill what is freed: what is written behind an array ends the
    process. Nothing where this glibc has no such library."""
    library = "libc_malloc_debug.so.0"
    found = subprocess.run([sys.executable, "-c", ""], env={"LD_PRELOAD": library}, stderr=subprocess.PIPE)
    return {} if found.stderr else {"LD_PRELOAD": library, "MALLOC_CHECK_": "3", "MALLOC_PERTURB_": "165"}


_CHECKED = _checked()


@dataclass
class Batch:
    """Some programs of one kind in one process. `at`: where the one that runs stands."""

    kind: str
    first: int
    state: State
    folder: Path
    tell: Any
    refused: Counter[str]
    running: int | None = None
    at: str = ""

    def run(self, until: float, count: int) -> None:
        """Raises KeyboardInterrupt as it comes; the process is ended in any case."""
        seconds = max(0.0, min(TURN, until - time.monotonic()))
        command = [sys.executable, str(HERE / "soak_child.py"), self.kind, str(self.first), str(count), str(seconds)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, env=os.environ | _CHECKED)
        assert child.stdout is not None and child.stderr is not None
        errors = bytearray()
        try:
            ended = self._follow(child, errors)
        finally:
            _end(child)
        code = child.returncode
        if self.running is not None and (ended == "silent" or (ended == "closed" and code != 0)):
            why = f"no sign for {SILENCE:g} s" if ended == "silent" else f"exit {code}" if code > 0 else signal.Signals(-code).name
            self._crashed(why, errors.decode(errors="replace")[-6000:])

    def _follow(self, child: subprocess.Popen[bytes], errors: bytearray) -> str:
        """Read lines until the process closes its end ("closed") or is silent for too long ("silent")."""
        partial, last = b"", time.monotonic()
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)  # type: ignore[arg-type]  # a pipe
            selector.register(child.stderr, selectors.EVENT_READ)  # type: ignore[arg-type]  # a pipe
            while selector.get_map():
                for key, _ in selector.select(1.0):
                    data = os.read(key.fd, 65536)
                    if not data:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is child.stderr:
                        errors += data
                    else:
                        last = time.monotonic()
                        *lines, partial = (partial + data).split(b"\n")
                        for line in lines:
                            self._line(json.loads(line))
                if time.monotonic() - last > (SILENCE if self.running is not None else max(SILENCE, _TO_BEGIN)):
                    os.killpg(child.pid, signal.SIGABRT)  # faulthandler tells where it stands
                    errors += child.stderr.read()  # type: ignore[union-attr]  # a pipe
                    return "silent"
        try:
            child.wait(60)
        except subprocess.TimeoutExpired:
            return "silent"
        return "closed"

    def _line(self, line: dict[str, Any]) -> None:
        if "start" in line:
            self.running, self.at = line["start"], ""
        elif "at" in line:
            self.at = line["at"]
        elif "wrong" in line:
            self.state.count(self.kind, "wrong")
            self._write("wrong", line["script"])
            self.tell(f"wrong: {self.kind} {self.running}: {line['wrong']}")
        elif "refused" in line:
            self.state.count(self.kind, "refused")
            self.refused[f"{self.kind}: {line['refused']}"] += 1
        elif "done" in line:
            self.state.count(self.kind, "programs")
            self.state.count(self.kind, "calls", line["calls"])
            self.state.next[self.kind] = line["done"] + 1
            self.running = None

    def _crashed(self, why: str, errors: str) -> None:
        assert self.running is not None
        self.state.count(self.kind, "programs")
        self.state.count(self.kind, "crashed")
        self.state.next[self.kind] = self.running + 1
        head = f"# {why} at {self.at}\n# shown by: python test/stress/soak.py --again {self.kind} {self.running}\n"
        self._write("crashed", head + "".join(f"# {line}\n" for line in errors.splitlines()))
        self.tell(f"crashed: {self.kind} {self.running} ({why}) at {self.at}")

    def _write(self, what: str, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / f"{what}_{self.kind}_{self.running}.py").write_text(text)


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process and what it started."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()
    for pipe in (child.stdout, child.stderr):
        if pipe is not None:
            pipe.close()


def soak(state: State, minutes: float, kinds: dict[str, float], folder: Path, tell: Any) -> dict[str, int]:
    """Run programs for so long, the kind next that is furthest behind its share of the time; what this piece counted."""
    before, refused = state.total(), Counter[str]()
    start = told = time.monotonic()
    until = start + 60 * minutes
    first = {kind: state.next.get(kind, 0) for kind in kinds}
    try:
        while time.monotonic() < until:
            kind = min(kinds, key=lambda k: state.seconds.get(k, 0.0) / kinds[k])
            at = time.monotonic()
            Batch(kind, state.seed * 1_000_000 + state.next.get(kind, 0) % 1_000_000, state, folder, tell, refused).run(until, BATCH)
            state.seconds[kind] = state.seconds.get(kind, 0.0) + time.monotonic() - at
            state.write(folder / "state.json")
            if time.monotonic() - told > _SECONDS_BETWEEN_SIGNS:
                told = time.monotonic()
                tell(f"{(told - start) / 60:.0f} of {minutes:g} minutes: " + _sum({name: state.total()[name] - before[name] for name in COUNTS}))
    finally:  # a piece that Ctrl-C ends counts, too
        counted = {name: state.total()[name] - before[name] for name in COUNTS}
        state.pieces.append({"seed": state.seed, "minutes": round((time.monotonic() - start) / 60, 1), "first": first, **counted})
        state.write(folder / "state.json")
    for why, times in refused.most_common(12):
        tell(f"refused {times} times: {why}")
    return counted


def _sum(counted: dict[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counted.items())


def main() -> int:
    sys.path.insert(0, str(HERE))
    from soak_kinds import KINDS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0, help="of a fresh soak")
    parser.add_argument("--kinds", default="", help=f"some of {', '.join(KINDS)}")
    parser.add_argument("--fresh", action="store_true", help="do not go on where the last piece stopped")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--again", nargs=2, metavar=("KIND", "NUMBER"))
    settings = parser.parse_args()
    if settings.again:
        return subprocess.run([sys.executable, str(HERE / "soak_child.py"), *settings.again, "1"]).returncode
    state = None if settings.fresh else State.read(settings.folder / "state.json")
    state = state or State(settings.seed)
    chosen = {name: share for name, (share, _) in KINDS.items() if share and (not settings.kinds or name in settings.kinds.split(","))}
    counted = soak(state, settings.minutes, chosen, settings.folder, lambda line: print(line, flush=True))
    print(f"seed {state.seed}, {settings.minutes:g} minutes:", _sum(counted))
    print("in all:", _sum(state.total()))
    return int(bool(counted["wrong"] or counted["crashed"]))


if __name__ == "__main__":
    sys.exit(main())
