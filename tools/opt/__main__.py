"""tierup-opt: MLIR in, passes, MLIR out. Works like mlir-opt, and knows tierup's passes and pipelines beside MLIR's."""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tierup.dialect.language import ops
from tierup.dialect.language.context import new_context
from tierup.dialect.language.text import BYTECODE, InvalidIR, read
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics, registry
from tierup.dialect.passes.diagnostics import Diagnostic, Place
from tierup.dialect.passes.pipelines import pipeline, reproducer
from tierup.dialect.passes.pipelines.pipeline import MlirPass, Nest
from tierup.dialect.passes.registry import PassFailure, Pipeline, PipelineError
from tierup.lowering.ops.pointwise.context import load_casts
from tierup.tools.interrupts import interruptible
from tierup.tools.opt import help as opt_help
from tierup.tools.opt.chunks import Chunk, split
from tierup.tools.opt.expect import check_expected
from tierup.tools.opt.hooks import PrintIR, Running, Timing, pass_name
from tierup.tools.opt.options import Settings, UsageError, parse_arguments
from tierup.tools.opt.reproducer import Runnable, runnable

PROGRAM = "tierup-opt"


@dataclass
class Outcome:
    """What became of one chunk: its output when all went well, and every diagnostic."""

    output: str | bytes | None = None
    found: list[Diagnostic] = field(default_factory=list)


@interruptible(PROGRAM)
def main(arguments: Sequence[str] | None = None) -> int:
    """Run tierup-opt on a command line (sys.argv without its first word). Returns the exit code: 0, or 1 for any error."""
    try:
        settings = parse_arguments(sys.argv[1:] if arguments is None else arguments)
        if settings.action is not None:
            print(opt_help.ACTIONS[settings.action](settings))
            return 0
        name, data = _read(settings.input)
        if settings.run_reproducer:
            return _reproduce(settings, name, data)
        return _process(settings, pipeline_of(settings), name, data)
    except UsageError as e:
        print(f"{PROGRAM}: {e}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output went away: `tierup-opt ... | head`
        sys.stdout = None
        return 1


def pipeline_of(settings: Settings) -> Pipeline:
    """The passes that the command line asks for. Raises UsageError."""
    try:
        if settings.pass_pipeline is not None:
            return registry.parse(settings.pass_pipeline)
        steps: list[pipeline.Step] = []
        for flag in settings.passes:
            if flag.pipeline:
                steps.extend(registry.pipeline(flag.text).steps)
            else:
                steps.extend(registry.parse(pipeline.nest(flag.text)).steps)
        return Pipeline(tuple(steps))
    except PipelineError as e:
        shown = ""
        if settings.pass_pipeline is not None and e.at is not None:
            shown = f"\n{settings.pass_pipeline}\n{' ' * e.at}^"
        raise UsageError(f"{e}{shown}") from e


def _reproduce(settings: Settings, name: str, data: bytes) -> int:
    """Run what a reproducer says, with the options that it says. Raises UsageError for a file that is none."""
    found = reproducer.read(data.decode(errors="replace"))
    if found is None:
        raise UsageError(f"'{name}' is no reproducer: behind the module it must say what to run, see docs/debugging.md")
    settings.verify_each = found.verify_each
    try:
        return _process(settings, runnable(found), name, found.module.encode())
    except PipelineError as e:
        raise UsageError(str(e)) from e


def _process(settings: Settings, steps: Runnable, name: str, data: bytes) -> int:
    if settings.dump_pass_pipeline:
        passes = f"with {len(steps.steps)} passes" if isinstance(steps, Pipeline) else "of one step"
        print(f"Pass Manager {passes}:\n{steps}", file=sys.stderr)
    if data.startswith(BYTECODE):
        chunks = [Chunk(name, "", 0, bytecode=data)]
    else:
        try:
            text = data.decode()
        except UnicodeDecodeError as e:
            raise UsageError(f"'{name}' is neither MLIR text in UTF-8 nor MLIR bytecode: {e}") from e
        chunks = split(name, text) if settings.split_input_file else [Chunk(name, text, 0)]
    timing = Timing() if settings.timing else None
    failed = False
    outputs: list[Any] = []  # texts, or bytecode
    for chunk in chunks:
        outcome = _run(chunk, settings, steps, timing)
        if settings.verify_diagnostics:
            outcome.found = check_expected(chunk, outcome.found)
            failed |= bool(outcome.found)
        else:
            failed |= outcome.output is None
        for diagnostic in outcome.found:
            print(chunk.show(diagnostic), file=sys.stderr)
        if outcome.output is not None:
            outputs.append(outcome.output)
    if timing is not None:
        print(timing.table(), file=sys.stderr)
    if outputs or not failed:
        _write(settings.output, b"".join(outputs) if settings.emit_bytecode else "// -----\n\n".join(outputs))
    return int(failed)


def _run(chunk: Chunk, settings: Settings, steps: Runnable, timing: Timing | None) -> Outcome:
    """Parse, verify, run, print one chunk, each in a context of its own."""
    context = new_context(torch_effects=not _is_torch_mlirs(steps))
    load_casts(context)  # `torch_c`, which torch-mlir's own driver has
    outcome = Outcome()
    running = Running()
    hooks = [h for h in (PrintIR.of(settings), timing, running) if h is not None]
    with diagnostics.collect(context) as found:
        try:
            module = chunk.parse(context)
            broken = [] if settings.allow_unregistered_dialect else ops.verify(module.operation)
            if not broken:
                steps.run(module, hooks=hooks, verify=settings.verify_each)
                outcome.output = _print(module, settings)
            found.extend(broken)
        except InvalidIR as e:
            found.extend(e.diagnostics)
        except PassFailure as e:
            found.extend(e.diagnostics)
            if not any(d.severity == "error" for d in found):  # a pass of MLIR's that failed without a word
                found.append(Diagnostic("error", Place(), f"pass '{e.pass_name}' failed"))
        except ir.MLIRError as e:
            if not found:
                found.append(Diagnostic("error", Place(), str(e)))
        except Exception as e:  # a pass that raised anything else is at fault, and whoever wrote it wants to know where
            if not running.name:
                raise
            found.append(diagnostics.of_exception(f"pass '{running.name}' raised", e))
    outcome.found = list(found)
    return outcome


def _is_torch_mlirs(steps: Runnable | Nest) -> bool:
    """Whether only passes of torch-mlir's run, and `canonicalize`: then ops of torch have no effects, as in its driver."""
    if not isinstance(steps, (Pipeline, Nest)):
        return False
    inner = [s for s in steps.steps if isinstance(s, Nest)]
    names = [pass_name(s.text) if isinstance(s, MlirPass) else "" for s in steps.steps if not isinstance(s, Nest)]
    return all(n.startswith(_TORCH_MLIRS) for n in names) and all(map(_is_torch_mlirs, inner))


_TORCH_MLIRS = ("torch-", "convert-torch-", "canonicalize")


def _print(module: ir.Module, settings: Settings) -> str | bytes:
    if settings.emit_bytecode:
        written = io.BytesIO()
        module.operation.write_bytecode(written)
        return written.getvalue()
    text: str = module.operation.get_asm(
        enable_debug_info=settings.print_debuginfo,
        pretty_debug_info=settings.print_pretty_debuginfo,
        print_generic_op_form=settings.print_op_generic,
        use_local_scope=settings.print_local_scope,
        use_name_loc_as_prefix=settings.print_names,
        skip_regions=settings.print_skip_regions,
        large_elements_limit=settings.print_elements,
        large_resource_limit=settings.print_resources,
    )
    return text.rstrip("\n") + "\n"


def _read(path: str) -> tuple[str, bytes]:
    if path == "-":
        return "<stdin>", sys.stdin.buffer.read()
    try:
        return path, read(path)
    except OSError as e:
        raise UsageError(f"cannot open input file '{path}': {e.strerror}") from e


def _write(path: str, output: str | bytes) -> None:
    if path == "-":
        if isinstance(output, bytes):
            sys.stdout.flush()
            sys.stdout.buffer.write(output)
        else:
            sys.stdout.write(output)
        sys.stdout.flush()
        return
    try:
        Path(path).write_bytes(output.encode() if isinstance(output, str) else output)
    except OSError as e:
        raise UsageError(f"cannot open output file '{path}': {e.strerror}") from e


if __name__ == "__main__":
    sys.exit(main())
