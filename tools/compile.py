"""tierup-compile: compile a program in MLIR ahead of time, into a bundle that runs with NumPy alone, or with NVIDIA's driver beside it."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tierup import __version__
from tierup.dialect.base import dtypes
from tierup.frontend import jit
from tierup.frontend.errors import ProgramError
from tierup.frontend.graph import built
from tierup.frontend.mlir.file import load
from tierup.lowering.artifacts import bundle
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Artifact, Layout
from tierup.lowering.cuda import targets
from tierup.lowering.cuda.assembling import ptxas
from tierup.lowering.objects import processors
from tierup.runtime.arguments.signature import describe_specs
from tierup.runtime.base.errors import UnsupportedOp
from tierup.runtime.base.options import Options
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.processes import placement
from tierup.runtime.cuda import bundle_file
from tierup.runtime.cuda.bundle_file import PackedProgram, PackedVersion
from tierup.runtime.functions.function import Function
from tierup.runtime.functions.portable import loading, saving
from tierup.runtime.functions.portable.plain import KIND
from tierup.runtime.interpreter.parameters import Parameter
from tierup.runtime.programs.given import GivenVersion
from tierup.runtime.programs.program import Program
from tierup.runtime.programs.speculations import Speculation
from tierup.tools.argument_specs import FORMS, BadSpec, check_types, read_specs, specs_of_types
from tierup.tools.interrupts import interruptible

Say = Callable[[str], object]  # progress

_EPILOG = f"""\
forms of --argument, and of the items of --call:
{FORMS}

examples:
  tierup-compile softmax.mlir -o softmax.tierup
      for this CPU; the sizes are those of the program's types; a size that is open there serves any size from 2 on
  tierup-compile softmax.mlir --target x86-64-v3 --profile p.json -o softmax.tierup
      for CPUs with AVX2; the versions that calls of a profile, which f.profile() gave, would get
  tierup-compile softmax.mlir --target sm_90 -o softmax.tierup
      kernels for a GPU
  tierup-compile softmax.mlir --argument 'f32[64x128]' -o softmax.tierup
      for this size alone, whatever the types leave open
  tierup-compile mm.mlir --call 'f32[64x64], f32[64x64]' --call 'f32[nxk], f32[kxm]' -o mm.tierup
      two versions: calls that the first one takes get code made for their sizes
  tierup-compile --show mm.tierup
      what a bundle holds

then, where NumPy is (no MLIR, no LLVM), and for kernels NVIDIA's Python bindings of the driver:
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
        key = Path(options.key).read_bytes() if options.key else None
        calls = [read_specs(text) for text in options.call]
        if options.argument:
            calls.insert(0, read_specs(", ".join(options.argument)))
        levels = [target for target in options.target if target in processors.LEVELS]
        if not options.target or levels:
            if len(options.target) > 1:
                return _fail("a bundle is for one level of CPUs, or for GPUs: write one for each")
            save_for_cpu(jit.load(options.program, options.entry), options.output, calls, options.profile, "".join(levels), key, say)
            say(f"wrote {options.output}: {Path(options.output).stat().st_size:,} bytes; load it with tierup.load_plan")
            return 0
        if options.profile:
            return _fail("a profile is for CPUs: say with --call what kernels for GPUs are to take")
        program = _program(options.program, options.entry)
        if not calls:
            calls = [specs_of_types(program.tier0.parameters)]
        if any(spec.layout is Layout.COLUMNS for specs in calls for spec in specs):
            return _fail("kernels for GPUs take arrays in C order, or `strided`: none in `columns`")
        packed = pack(program, calls, options.target, cubins=not options.no_cubin, tf32=options.tf32, say=say)
        bundle_file.write(options.output, [packed], made_by=f"tierup {__version__}", key=key)
    except NotCompiled as e:
        where = f" (at {e.line})" if e.line else ""
        return _fail(f"no code can be made of the program: {e.reason.sentence}: {e.detail}{where}")
    except (ProgramError, UnsupportedOp, ValueError, ptxas.AssemblyError, OSError) as e:
        return _fail(str(e))
    assembled = "assembled" if any(version.cubins for version in packed.versions) else "not assembled"
    say(f"wrote {options.output}: {Path(options.output).stat().st_size:,} bytes; {assembled}, not run: load it with tierup.load_plan")
    return 0


def save_for_cpu(
    function: Function,
    path: str | Path,
    calls: Sequence[tuple[ArgumentSpec, ...]] = (),
    profile: str | None = None,
    level: str = "",
    key: bytes | None = None,
    say: Say = lambda text: None,
) -> None:
    """Write a plan of a program from a file: the versions that the calls of a profile, in a file of that name, would get, or one for each
    of these kinds of calls; without either that of the program's types. Raises NotCompiled, ValueError, OSError."""
    if profile and calls:
        raise ValueError("give a profile, or --argument and --call")
    if profile:
        say(f"{function.__name__}: {function.warm(Path(profile).read_text())} kinds of calls in the profile")
        function.save(path, key=key, target=level)
        return
    assert function.fitted is not None  # as of all programs of files
    names, parameters = list(function.fitted.parameters), list(function.fitted.parameters.values())
    calls = calls or [specs_of_types(parameters)]
    made: dict[Program, list[GivenVersion]] = {}
    for number, specs in enumerate(calls, start=1):
        _check(function.__name__, names, specs, parameters)
        variant, _ = function.graph_for(dict(zip(names, map(_example, specs), strict=True)))
        program = variant.built.program
        say(f"{program.name}: version {number} of {len(calls)}, for ({describe_specs(specs, program.names)})")
        start = time.perf_counter()
        produced = placement.here(program.graph, program.entry, specs, Options())
        assert isinstance(produced.artifact, Artifact)  # the options ask for one
        say(f"  {len(produced.artifact.object):,} bytes in {(time.perf_counter() - start) * 1e3:.0f} ms")
        symbols = tuple((i, d) for i, spec in enumerate(specs) for d, size in enumerate(spec.sizes) if isinstance(size, str))
        speculation = Speculation(specs, "dynamic" if symbols else "static", symbols)
        made.setdefault(program, []).append(GivenVersion(speculation, specs, produced.request, produced.artifact))
    saving.save(function, path, key, level, made)


def _example(spec: ArgumentSpec) -> Any:
    """A value of that kind and rank, which takes no memory."""
    if spec.kind is not ArgumentKind.ARRAY:
        return {ArgumentKind.INT: 2, ArgumentKind.FLOAT: 1.5, ArgumentKind.BOOL: True}[spec.kind]
    sizes = [size if isinstance(size, int) else 2 for size in spec.sizes]
    return np.broadcast_to(np.zeros((), dtypes.BY_NAME[spec.dtype].numpy), sizes)


def _check(name: str, names: Sequence[str], specs: Sequence[ArgumentSpec], parameters: Sequence[Parameter]) -> None:
    """Raises BadSpec for what a program does not take."""
    if len(specs) != len(names):
        raise BadSpec(f"{name} takes {len(names)} arguments ({', '.join(names)}), and was given {len(specs)}")
    check_types(specs, parameters)


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
        _check(program.name, program.names, specs, program.tier0.parameters)
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
    lines, found = [], bundle.read(path)
    if found.description["kind"] == KIND:
        about = found.description
        lines.append(f"for {about['target']} ({about['processor']}: {' '.join(about['features'])}), made by {about['made_by']}")
        for name, structure, versions in loading.contents(found):
            lines += [f"{name}({structure})", *(f"  ({version})" for version in versions)]
        return "\n".join(lines)
    for program in bundle_file.programs_of(found):
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
        "--target", action="append", default=[], choices=(*processors.LEVELS, *targets.NAMES), metavar="NAME", help="what code is for: a "
        f"level of CPUs, {', '.join(processors.LEVELS)} (default: this CPU), or a device, {', '.join(targets.NAMES)}; repeat it for more "
        "devices: the PTX is for the oldest and runs on all later ones, assembled code is for each",
    )  # fmt: skip
    parser.add_argument("--profile", metavar="FILE", help="for CPUs: what f.profile() gave; the versions that such calls would get")
    parser.add_argument("--key", metavar="FILE", help="sign the bundle with the bytes of this file, which load_plan is then given")
    parser.add_argument("--argument", action="append", default=[], metavar="FORM", help="what an argument is; repeat it for each, in order")
    parser.add_argument("--call", action="append", default=[], metavar="FORMS", help="all arguments of a version; repeat it for more")
    parser.add_argument("--tf32", action="store_true", help="as the option tf32: f32 products round operands to tf32, on the tensor cores")
    parser.add_argument("--no-cubin", action="store_true", help="PTX alone, also where ptxas is installed")
    parser.add_argument("--show", action="store_true", help="print what a bundle holds")
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress on stderr")
    return parser


if __name__ == "__main__":
    sys.exit(main())
