"""tierup-compile: compile a program in MLIR ahead of time, into a bundle that runs with NumPy and NVIDIA's driver alone."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tierup import __version__
from tierup.frontend.errors import ProgramError
from tierup.frontend.graph import built
from tierup.frontend.mlir.file import load
from tierup.lowering.artifacts.bundle import BundleError
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.base.abi import ArgumentSpec, Layout
from tierup.lowering.cuda import targets
from tierup.lowering.cuda.assembling import ptxas
from tierup.runtime.arguments.signature import describe_specs
from tierup.runtime.base.errors import UnsupportedOp
from tierup.runtime.base.options import Options
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.processes import placement
from tierup.runtime.cuda import bundle_file
from tierup.runtime.cuda.bundle_file import PackedProgram, PackedVersion
from tierup.runtime.programs.program import Program
from tierup.tools.argument_specs import FORMS, BadSpec, check_types, read_specs, specs_of_types
from tierup.tools.interrupts import interruptible

Say = Callable[[str], object]  # progress

_EPILOG = f"""\
forms of --argument, and of the items of --call:
{FORMS}

examples:
  tierup-compile softmax.mlir --target sm_90 -o softmax.tierup
      the sizes are those of the program's types; a size that is open there serves any size from 2 on
  tierup-compile softmax.mlir --argument 'f32[64x128]' -o softmax.tierup
      for this size alone, whatever the types leave open
  tierup-compile mm.mlir --call 'f32[64x64], f32[64x64]' --call 'f32[nxk], f32[kxm]' -o mm.tierup
      two versions: calls that the first one takes get code made for their sizes
  tierup-compile --show mm.tierup
      what a bundle holds

then, where NumPy and NVIDIA's Python bindings of the driver are (no MLIR, no LLVM):
  plan = tierup.load_plan("softmax.tierup");  y = plan(x)
"""


@interruptible("tierup-compile")
def main(argv: Sequence[str] | None = None) -> int:
    """Returns the exit code: 0, or 1 after a message on stderr."""
    options = _parser().parse_args(argv)
    say = (lambda text: None) if options.quiet else _say
    try:
        if options.show:
            print(described(options.program))
            return 0
        if options.output is None:
            return _fail("where to? give -o FILE")
        if Path(options.output).is_dir():
            return _fail(f"-o {options.output} is a folder: name the file")
        if Path(options.output).exists() and Path(options.output).samefile(options.program):
            return _fail(f"-o {options.output} is the program itself")
        program = _program(options.program, options.entry)
        calls = [read_specs(text) for text in options.call]
        if options.argument:
            calls.insert(0, read_specs(", ".join(options.argument)))
        if not calls:
            calls = [specs_of_types(program.tier0.parameters)]
        if any(spec.layout is Layout.COLUMNS for specs in calls for spec in specs):
            return _fail("kernels for GPUs take arrays in C order, or `strided`: none in `columns`")
        packed = pack(program, calls, options.target or [targets.DEFAULT], cubins=not options.no_cubin, tf32=options.tf32, say=say)
        bundle_file.write(options.output, [packed], made_by=f"tierup {__version__}")
    except NotCompiled as e:
        where = f" (at {e.line})" if e.line else ""
        return _fail(f"no kernels can be made of the program: {e.reason.sentence}: {e.detail}{where}")
    except (ProgramError, UnsupportedOp, BundleError, BadSpec, ptxas.AssemblyError, OSError) as e:
        return _fail(str(e))
    assembled = "assembled" if any(version.cubins for version in packed.versions) else "not assembled"
    say(f"wrote {options.output}: {Path(options.output).stat().st_size:,} bytes; {assembled}, not run: load it with tierup.load_plan")
    return 0


def pack(
    program: Program,
    calls: Sequence[tuple[ArgumentSpec, ...]],
    for_targets: Sequence[str],
    *,
    cubins: bool = True,
    tf32: bool = False,
    say: Say = lambda text: None,
) -> PackedProgram:
    """A program compiled for each of these kinds of calls. PTX is for the oldest of the targets, which all later devices run; where ptxas
    is installed there is assembled code for each. Raises NotCompiled, and AssemblyError when ptxas refuses the code."""
    oldest = min((targets.target(name) for name in for_targets), key=lambda t: t.capability).name
    versions = []
    for number, specs in enumerate(calls, start=1):
        if len(specs) != len(program.names):
            raise BadSpec(f"{program.name} takes {len(program.names)} arguments ({', '.join(program.names)}), and was given {len(specs)}")
        check_types(specs, program.tier0.parameters)
        say(f"{program.name}: version {number} of {len(calls)}, for ({describe_specs(specs, program.names)})")
        start = time.perf_counter()
        produced = placement.here(program.graph, program.entry, specs, Options(backend="cuda", target=oldest, tf32=tf32))
        artifact = produced.artifact
        assert isinstance(artifact, CudaArtifact)  # the options ask for one
        say(f"  {_count(len(artifact.host.kernels))} for {oldest} in {(time.perf_counter() - start) * 1e3:.0f} ms")
        versions.append(PackedVersion(artifact, _assembled(artifact, for_targets, say) if cubins else {}))
    return PackedProgram(program.name, program.names, tuple(versions))


def _assembled(artifact: CudaArtifact, for_targets: Sequence[str], say: Say) -> dict[str, bytes]:
    if ptxas.find() is None:
        say("  no cubin: ptxas is not installed, so the driver assembles the PTX when it is loaded")
        return {}
    found = {}
    for target in dict.fromkeys(for_targets):
        try:
            assembled = ptxas.assemble(artifact.ptx, target)
        except ptxas.UnknownTarget as e:
            say(f"  no cubin for {target}, where the driver assembles the PTX when it is loaded: {e}")
            continue
        most = max((k.registers for k in assembled.report), default=0)
        spilled = sum(k.spill_stores + k.spill_loads for k in assembled.report)
        say(f"  assembled for {target}: {len(assembled.cubin):,} bytes, at most {most} registers, {spilled} bytes spilled")
        found[target] = assembled.cubin
    return found


def described(path: str | Path) -> str:
    """What a bundle holds, for people. Raises BundleError, OSError."""
    lines = []
    for program in bundle_file.read(path):
        lines.append(f"{program.name}({', '.join(program.arguments)})")
        for version in program.versions:
            a = version.artifact
            code = ", ".join([f"PTX for {a.target} and later", *[f"assembled for {t}" for t in version.cubins]])
            lines.append(f"  ({describe_specs(a.arguments, program.arguments)}): {_count(len(a.host.kernels))}, {code}")
    return "\n".join(lines)


def _count(kernels: int) -> str:
    return f"{kernels} kernel{'' if kernels == 1 else 's'}"


def _program(path: str, entry: str | None) -> Program:
    graph = load(path, entry)
    return built(graph, graph.entry, path).program


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _fail(message: str) -> int:
    print(f"tierup-compile: error: {message}", file=sys.stderr)
    return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tierup-compile", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, epilog=_EPILOG
    )
    parser.add_argument("program", help="a file of MLIR (text or bytecode); with --show a bundle")
    parser.add_argument("-o", "--output", metavar="FILE", help="the bundle to write")
    parser.add_argument("--entry", help="the function to compile; may be left out when only one is public")
    parser.add_argument(
        "--target", action="append", choices=targets.NAMES, metavar="SM", help=f"a device: {', '.join(targets.NAMES)} (default "
        f"{targets.DEFAULT}); repeat it for more: the PTX is for the oldest and runs on all later ones, assembled code is for each",
    )  # fmt: skip
    parser.add_argument("--argument", action="append", default=[], metavar="FORM", help="what an argument is; repeat it for each, in order")
    parser.add_argument("--call", action="append", default=[], metavar="FORMS", help="all arguments of a version; repeat it for more")
    parser.add_argument("--tf32", action="store_true", help="as the option tf32: f32 products round operands to tf32, on the tensor cores")
    parser.add_argument("--no-cubin", action="store_true", help="PTX alone, also where ptxas is installed")
    parser.add_argument("--show", action="store_true", help="print what a bundle holds")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    return parser


if __name__ == "__main__":
    sys.exit(main())
