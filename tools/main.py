"""tierup: the tools by their short names.

`python -m tierup` is the same.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from tierup import __version__

_TOOLS = {
    "opt": ("tierup.tools.opt.__main__", "run passes and pipelines over a program in MLIR, and print what they make of it"),
    "run": ("tierup.tools.run.__main__", "run a program in MLIR, and say which tier answered; --option NAME=VALUE sets an option"),
    "reduce": ("tierup.tools.reduce.__main__", "make a program that fails smaller, as long as it fails"),
    "compile": ("tierup.tools.compile", "compile a program in MLIR ahead of time, into a bundle for a GPU"),
    "cache": ("tierup.tools.cache", "the compiled code that is kept on disk: what there is, why it was not found, how to empty it"),
    "slow-tour": ("tierup.tools.slow_tour", "ten functions that are slow, what explain() says of each, and the same mended"),
}

_EPILOG = f"""\
tools, each also a command of its own (tierup-opt, ...), with a --help of its own:
{chr(10).join(f"  tierup {name:10} {meaning}" for name, (_, meaning) in _TOOLS.items())}

in Python:
  @tierup.jit                    makes a function start at once, and become native code; f.explain() says what became of it
  tierup.load("program.mlir")    the same for a program in MLIR; tierup.torch for PyTorch's

pages, in docs/ of the source: options.md (all that can be set: options, environment variables), cache.md (code on disk), python.md (what is
translated), debugging.md (what to do when a call is slow or wrong), performance.md
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 1 after a message on stderr; that of a tool that was named."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words and words[0] in _TOOLS:
        return int(import_module(_TOOLS[words[0]][0]).main(words[1:]))
    parser = _parser()
    options = parser.parse_args(words)
    if options.tool is not None:
        parser.error(f"argument tool: invalid choice: {options.tool!r} (choose from {', '.join(_TOOLS)})")
    parser.print_help()
    return 0


def _parser() -> argparse.ArgumentParser:
    about = "Tensor programs that start at once in an interpreter and become native code behind guards."
    parser = argparse.ArgumentParser(
        prog="tierup", description=about, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"tierup {__version__}")
    parser.add_argument("tool", nargs="?", help="one of those below, with what follows its name")
    return parser


if __name__ == "__main__":
    sys.exit(main())
