"""tierup-reduce: makes a program that shows a fault as small as it can be while it still shows it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tierup.dialect.passes.pipelines import reproducer
from tierup.dialect.passes.pipelines.reproducer import Reproducer
from tierup.dialect.passes.registry import Pipeline, PipelineError
from tierup.tools.interrupts import interruptible
from tierup.tools.opt.options import UsageError, load_passes
from tierup.tools.opt.reproducer import Runnable, runnable
from tierup.tools.reduce import pipeline as reduce_pipeline
from tierup.tools.reduce.judge import Command, Judge, Said, SameError, run
from tierup.tools.reduce.search import Search

PROGRAM = "tierup-reduce"

_HELP = """\
what is small enough? You say what the fault is, in one of three ways:

  tierup-reduce big.mlir --test './check.sh {}' -o small.mlir
      A command. {} is the candidate's file; exit code 0 says that the fault is there. With --fails it is the other way round:
      tierup-reduce big.mlir --fails --test 'tierup-run {} --arg 3x4'

  tierup-reduce reproducer.mlir --reproducer -o small.mlir
      A reproducer, as a failed compile leaves it where TIERUP_DUMP_DIR says. The fault is that the same pass fails with the same
      words; the result is a reproducer again: tierup-opt small.mlir --run-reproducer. Its pipeline is shortened as well.

  tierup-reduce big.mlir --pass-pipeline='builtin.module(tierup-infer-types,cse)' -o small.mlir
      As before, for any program and passes. A compiler that crashes or hangs is a fault too.

what is tried, again and again until nothing helps: leave out functions, results, arguments, attributes, locations; put one arm in
place of a branch, one run or none in place of a loop; let an operand, another value, a constant or a new argument stand in for the
result of an op; halve sizes. Candidates that do not verify are never asked about, so a test command sees valid programs only.

tips: a good test is quick, and asks for the very message; "it fails somehow" ends with another fault. Ctrl-C writes what was found
so far. The same input and test give the same output.
"""


@interruptible(PROGRAM)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run tierup-reduce on a command line (sys.argv without its first word). Returns the exit code: 0, or 1 for any error."""
    settings = _parser().parse_args(arguments)
    try:
        for name in settings.load_passes:
            load_passes(name)
        return _reduce(settings)
    except (UsageError, PipelineError) as e:
        print(f"{PROGRAM}: {e}", file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        PROGRAM, description=__doc__, epilog=_HELP, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("input", metavar="FILE", help="MLIR, or a reproducer")
    fault = parser.add_mutually_exclusive_group(required=True)
    fault.add_argument("--test", metavar="CMD", help="a shell command in which {} is the candidate's file")
    fault.add_argument("--reproducer", action="store_true", help="FILE is a reproducer: keep the error of tierup-opt --run-reproducer")
    fault.add_argument("--pass-pipeline", metavar="TEXT", help="keep the error that these passes give")
    parser.add_argument("--fails", action="store_true", help="the fault is there when CMD fails")
    parser.add_argument("--load-passes", metavar="FILE.py|MODULE", action="append", default=[], help="import passes from there")
    parser.add_argument("--seconds", metavar="S", type=float, default=60.0, help="how long a test may take (default: %(default)g)")
    parser.add_argument("-o", dest="output", metavar="FILE", default="-", help="write the result there (default: -, stdout)")
    return parser


def _reduce(settings: argparse.Namespace) -> int:
    try:
        text = Path(settings.input).read_text()
    except (OSError, UnicodeDecodeError) as e:
        raise UsageError(f"cannot read '{settings.input}': {e}") from e
    found = reproducer.read(text)
    module = text if found is None else found.module
    judge: Judge
    if settings.test is not None:
        if "{}" not in settings.test:
            raise UsageError("--test: the command needs {} where the candidate's file is to stand")
        judge = Command(settings.test, settings.fails, settings.seconds)
        if not judge.shows(module):
            did = "succeeds" if settings.fails else "fails"
            raise UsageError(f"'{settings.input}' itself does not pass the test: the command {did} on it")
    else:
        if settings.fails:
            raise UsageError("--fails goes with --test")
        if settings.reproducer and found is None:
            raise UsageError(f"'{settings.input}' is no reproducer: it does not say what to run; give --pass-pipeline or --test")
        kept = found if settings.reproducer and found is not None else Reproducer(module, pipeline=settings.pass_pipeline)
        judge, kept = _same_error(kept, settings)
    bar = _Progress(sys.stderr.isatty())
    search = Search(module, judge, bar.show, settings.seconds)
    before = search.n_ops
    try:
        search.run()
    except KeyboardInterrupt:
        bar.done("stopped; this is the smallest so far")
    bar.done(f"{before} ops -> {search.n_ops} ops, {search.tried} candidates tried")
    result = search.text if settings.test is not None else str(replace(kept, module=search.text))
    if settings.output == "-":
        sys.stdout.write(result)
    else:
        Path(settings.output).write_text(result)
    return 0


def _same_error(found: Reproducer, settings: argparse.Namespace) -> tuple[SameError, Reproducer]:
    """A judge for what a reproducer shows, and the reproducer with what it needs of its pipeline."""
    steps: Runnable = runnable(found)
    said = run(found.module, steps, settings.seconds)
    if said == Said():
        raise UsageError(f"'{settings.input}' shows no fault: what it says to run ends well")
    print(f"{PROGRAM}: the fault is {said}", file=sys.stderr)
    if isinstance(steps, Pipeline):
        steps = reduce_pipeline.shorten(found.module, steps, said, settings.seconds)
        found = replace(found, pipeline=str(steps))
    return SameError(steps, said, settings.seconds), replace(found, error=str(said))


class _Progress:
    """One line on a terminal, rewritten as the search goes on; elsewhere only the last word."""

    def __init__(self, live: bool) -> None:
        self._live = live
        self._width = 0

    def show(self, tried: int, ops: int, edit: str) -> None:
        if self._live:
            line = f"{ops} ops, {tried} candidates tried; now {edit}"
            print(f"\r{line:<{self._width}}", end="", file=sys.stderr, flush=True)
            self._width = len(line)

    def done(self, line: str) -> None:
        start = "\r" if self._live else ""
        print(f"{start}{PROGRAM}: {line:<{self._width}}".rstrip(), file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
