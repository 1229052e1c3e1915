"""tierup-run: run a program, in MLIR or of torch.jit.save, on arrays given on the command line, and show what happened."""

from __future__ import annotations

import argparse
import ast
import sys
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from tierup.dialect.base import dtypes
from tierup.frontend.errors import ProgramError
from tierup.frontend.graph import GraphResult
from tierup.frontend.jit import from_graph
from tierup.frontend.mlir.file import load, load_text
from tierup.runtime.account.stats import Stats
from tierup.runtime.base.errors import UnsupportedOp
from tierup.runtime.base.events import Event, subscribe
from tierup.runtime.base.options import table
from tierup.runtime.functions.function import Function
from tierup.runtime.functions.report import STAGES
from tierup.tools.interrupts import interruptible
from tierup.tools.run.arguments import FORMS, BadArgument, read_arguments
from tierup.tools.run.instrumented import Instrumented, is_instrumented
from tierup.tools.run.scripted import SCRIPTED, Scripted

_NEVER_RUN = ("source", "graph")  # stages that are there before any call


@interruptible("tierup-run")
def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 1 after a message on stderr."""
    options = _parser().parse_args(argv)
    try:
        program: Any
        if options.program.endswith(SCRIPTED):
            if options.instrument:
                return _fail("--instrument takes a program in MLIR: --emit=graph gives it")
            program = Scripted(options.program, options.entry, options.arg, _options(options.option))
            names, numbers = program.names, set[str]()
        else:
            graph = load_text(sys.stdin.read(), options.entry) if options.program == "-" else load(options.program, options.entry)
            if options.instrument or (options.emit == "profiled" and is_instrumented(graph)):
                return _record(graph, options)
            program = from_graph(graph, options.program, **_options(options.option))
            names, numbers = _names(graph)
        if options.emit in _NEVER_RUN:
            sys.stdout.write(program.source() if options.emit == "source" else program.graph)
            return 0
        leaves = read_arguments(options.arg, names, options.seed, numbers)
        if options.use_profile is not None:
            program.warm(options.use_profile.read_text())
            program.wait()
    except (ProgramError, BadArgument, UnsupportedOp, MemoryError, OSError, TypeError, ValueError) as e:
        return _fail(str(e))
    try:
        with subscribe(_say) if options.explain else nullcontext():
            result = _run(program, leaves, options.repeat, sys.stderr if options.repeat > 1 else None)
        if options.emit and not program.versions:
            few = "a first call only records what comes: --repeat 2 at least"
            remedy = few if options.repeat < 2 else "--explain without --emit says why"
            return _fail(f"there is no compiled version yet that --emit={options.emit} could show: {remedy}")
        if options.emit:
            print(program.plan(options.emit))
        else:
            show(result, sys.stdout)
    except Exception as e:  # noqa: BLE001 - whatever the user's program raises is its answer, not our failure
        return _fail("\n".join([f"{type(e).__name__}: {e}", *getattr(e, "__notes__", ())]))
    if options.explain:
        print(program.explain())
    if options.save_profile is not None:
        try:
            options.save_profile.write_text(program.profile())
        except OSError as e:
            return _fail(str(e))
    return 0


def _record(graph: GraphResult, options: argparse.Namespace) -> int:
    """Run the program in tier 0, each profile op of it recording."""
    if options.emit not in (None, "profiled") or options.option or options.explain or options.use_profile or options.save_profile:
        return _fail("--instrument goes with --emit=profiled, and with no option of compiled programs: tier 0 runs the program")
    instrumented = Instrumented(graph)
    names, numbers = _names(graph)
    leaves = read_arguments(options.arg, names, options.seed, numbers)
    try:
        results = [instrumented(*leaves) for _ in range(options.repeat)]
    except Exception as e:  # noqa: BLE001 - whatever the user's program raises is its answer, not our failure
        return _fail("\n".join([f"{type(e).__name__}: {e}", *getattr(e, "__notes__", ())]))
    if options.emit:
        print(instrumented.text(), end="")
    else:
        show(results[-1], sys.stdout)
    return 0


def _run(program: Function, leaves: Sequence[object], times: int, table_to: TextIO | None) -> Any:
    """Call the program; a table of calls, the tier that answered and the time goes to `table_to`."""
    result = None
    for call in range(1, times + 1):
        before = program.stats()
        start = time.perf_counter()
        result = program(*leaves)
        elapsed = (time.perf_counter() - start) * 1e3
        if table_to is not None:
            if call == 1:
                print(f"{'call':>5}  {'tier':<8} {'ms':>9}", file=table_to)
            print(f"{call:>5}  {_tier(before, program.stats()):<8} {elapsed:>9.3f}", file=table_to)
    return result


def _say(event: Event) -> None:
    """Tell of an event as it happens."""
    print(f"tierup: {event}", file=sys.stderr)


def _tier(before: Stats, after: Stats) -> str:
    if after.bailouts > before.bailouts:
        return "bailout"
    return "native" if after.hits > before.hits else "tier 0"


def _options(texts: Sequence[str]) -> dict[str, object]:
    """`name=value` as options; the value is Python's (`max_versions=4`), or a word. Raises BadArgument."""
    options: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadArgument(f"--option {text}: expected NAME=VALUE")
        try:
            options[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[name] = value
    return options


def show(result: Any, out: TextIO) -> None:
    """Print the results, one after another, each with its type."""
    results = result if isinstance(result, tuple) else () if result is None else (result,)
    for i, value in enumerate(results):
        if isinstance(value, np.ndarray):
            dtype = dtypes.from_numpy(value.dtype)
            sizes = ",".join(map(str, value.shape))
            print(f"result {i}: {dtype or value.dtype}[{sizes}]\n{value}", file=out)
        else:
            print(f"result {i}: {type(value).__name__}\n{value}", file=out)


def _fail(message: str) -> int:
    print(f"tierup-run: error: {message}", file=sys.stderr)
    return 1


def _count(text: str) -> int:
    if not text.isdigit() or text == "0":
        raise argparse.ArgumentTypeError(f"expected a whole number of calls from 1, got {text!r}")
    return int(text)


def _seed(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text!r}")
    return int(text)


def _names(graph: GraphResult) -> tuple[list[str], set[str]]:
    """The arguments, and those of them that are numbers."""
    numbers = {name for name, leaf in graph.leaves if leaf.kind in ("int", "float", "bool", "number")}
    return [name for name, _ in graph.leaves], numbers


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tierup-run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=f"forms of --arg:\n{FORMS}"
    )
    parser.add_argument("program", help="a file of MLIR (text or bytecode), or of torch.jit.save (.pt, .pth); - reads text from stdin")
    parser.add_argument("--entry", help="the function to run; may be left out when only one is public. Of a module: the method (forward)")
    parser.add_argument("--arg", action="append", default=[], metavar="[NAME=]FORM", help="one argument, see below; repeat it for each")
    parser.add_argument("--seed", type=_seed, default=0, help="for arrays given by type and shape (default 0)")
    parser.add_argument("--repeat", type=_count, default=1, metavar="N", help="call it N times; a line for each call goes to stderr")
    parser.add_argument("--use-profile", type=Path, metavar="FILE", help="have code before the first call, for calls as in this profile")
    parser.add_argument("--save-profile", type=Path, metavar="FILE", help="write what the calls looked like, as JSON (docs/profiles.md)")
    parser.add_argument("--explain", action="store_true", help="tell on stderr what happens, as it happens, and at the end why")
    parser.add_argument(
        "--instrument",
        action="store_true",
        help="run it in tier 0 with each use of a tensor recorded, for the pipelines that start from records: --emit=profiled prints the "
        "program with its records. One that is instrumented already (tierup-opt --tierup-pipeline=instrument) is run as it is",
    )
    parser.add_argument(
        "--emit",
        choices=[*_NEVER_RUN, *STAGES],
        help="print this stage instead of the results: source is tier 0's Python, graph the program; the others are the newest version's "
        "and want --repeat 2 at least",
    )
    parser.add_argument(
        "--option", action="append", default=[], metavar="NAME=VALUE", help="set an option: " + ", ".join(name for name, _, _ in table())
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
