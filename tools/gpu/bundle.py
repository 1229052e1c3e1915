"""The bundle for `tools/gpu/check.py`: its programs (`programs.py`), compiled for the GPUs that it is run on. `make gpu-bundle`."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence

from tierup import __version__, jit
from tierup.dialect.base import dtypes
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.cuda import bundle_file
from tierup.runtime.cuda.bundle_file import PackedProgram
from tierup.runtime.programs.program import Program
from tierup.tools.argument_specs import read_specs
from tierup.tools.compile import Say, pack
from tierup.tools.gpu.programs import PROGRAMS, GpuProgram, arrays_for

TARGETS = ("sm_80", "sm_90")
_SMALL = dict.fromkeys("nmk", 4)


def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0."""
    parser = argparse.ArgumentParser(prog="gpu_bundle", description=__doc__)
    parser.add_argument("-o", "--output", metavar="FILE", default="gpu-check.tierup", help="the bundle to write (default %(default)s)")
    names = [program.name for program in PROGRAMS]
    only = f"this program; repeat it for more (default: all): {', '.join(names)}"
    parser.add_argument("--only", action="append", default=[], metavar="NAME", choices=names, help=only)
    options = parser.parse_args(argv)
    packed = []
    for program in PROGRAMS:
        if not options.only or program.name in options.only:
            try:
                packed.append(compiled(program, _say))
            except NotCompiled as e:
                _say(f"{program.name} is left out: {e.reason.sentence}: {e.detail}")
    bundle_file.write(options.output, packed, made_by=f"tierup {__version__}")
    _say(f"wrote {options.output}: {len(packed)} of {len(PROGRAMS)} programs, assembled, not run: see tools/gpu/check.py")
    return 0


def compiled(program: GpuProgram, say: Say) -> PackedProgram:
    """A program's versions: for the arguments that it is timed for, and for any. Raises NotCompiled."""
    calls = [read_specs(forms) for forms in (program.timed, program.general) if forms]
    made = pack(_graph(program), calls, TARGETS, say=say)
    return PackedProgram(program.name, made.arguments, made.versions)


def _graph(program: GpuProgram) -> Program:
    sample = arrays_for(program.general or re.sub(r"\d{4,}", "4", program.timed), _SMALL, 0, dtypes.bf16.numpy)
    variant, _ = jit(program.function).find(tuple(sample), {})
    return variant.built.program


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
