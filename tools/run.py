"""tierup-run: run a program in MLIR on arrays given on the command line."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, TextIO

import numpy as np

from tierup.dialect import dtypes
from tierup.dialect.ir_text import InvalidIR, parse_file, parse_module
from tierup.runtime.errors import UnsupportedOp
from tierup.runtime.interpreter.tier0 import Tier0
from tierup.runtime.interpreter.translate import translate
from tierup.tools.run_arguments import FORMS, BadArgument, read_arguments


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 1 after a message on stderr."""
    options = _parser().parse_args(argv)
    try:
        program = load(options.program, options.entry)
        if options.emit == "source":
            sys.stdout.write(program.source)
            return 0
        leaves = read_arguments(options.arg, [p.name for p in program.parameters], options.seed)
    except (InvalidIR, BadArgument, UnsupportedOp, OSError) as e:
        return _fail(str(e))
    except KeyError as e:  # the entry: KeyError would quote its message
        return _fail(str(e.args[0]))
    try:
        result = program.call(*leaves)
    except Exception as e:  # noqa: BLE001 - whatever the user's program raises is its answer, not our failure
        return _fail(f"{type(e).__name__}: {e}")
    show(result, sys.stdout)
    return 0


def load(path: str, entry: str | None) -> Tier0:
    """Tier 0 of a file's program; "-" is stdin. Raises InvalidIR, UnsupportedOp, KeyError for an unknown entry, OSError."""
    module = parse_module(sys.stdin.read()) if path == "-" else parse_file(path)
    return translate(module, entry)


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tierup-run", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=f"forms of --arg:\n{FORMS}"
    )
    parser.add_argument("program", help="a file of MLIR (text or bytecode); - reads text from stdin")
    parser.add_argument("--entry", help="the function to run; may be left out when only one is public")
    parser.add_argument("--arg", action="append", default=[], metavar="[NAME=]FORM", help="one argument, see below; repeat it for each")
    parser.add_argument("--seed", type=int, default=0, help="for arrays given by type and shape (default 0)")
    parser.add_argument("--emit", choices=["source"], help="print this stage and do not run: source is tier 0's Python")
    return parser


if __name__ == "__main__":
    sys.exit(main())
