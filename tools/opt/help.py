"""The texts that tierup-opt prints about itself: --help, --list-passes, --list-pipelines."""

from __future__ import annotations

import inspect
import textwrap

from tierup.dialect.passes import registry
from tierup.dialect.passes.core import Pass, options_of
from tierup.dialect.passes.pipelines import mlir_passes
from tierup.dialect.passes.registry import NamedPipeline
from tierup.tools.opt.options import OPTIONS, Settings, UsageError

_INTRO = """\
tierup-opt: MLIR in, passes, MLIR out

USAGE  tierup-opt [options] [passes] [FILE]        FILE is - (stdin) when it is not given

  tierup-opt model.mlir --tierup-infer-types                      one pass
  tierup-opt model.mlir --tierup-infer-types --cse --canonicalize   tierup's and MLIR's, in this order
  tierup-opt --inline="max-iterations=2" < model.mlir               a pass with options, input from stdin
  tierup-opt model.mlir --pass-pipeline='builtin.module(func.func(canonicalize),tierup-fuse-groups)'
  tierup-opt model.mlir --tierup-pipeline=NAME --mlir-print-ir-after-all
  tierup-opt --help --tierup-infer-types                          what one pass does, before and after
  tierup-opt model.mlir --load-passes=mine.py --my-pass             a pass of your own (docs/custom-passes.md)

Passes of your own come from --load-passes, a file or an importable module, and from installed distributions that name their modules
under the entry point group `tierup.passes`. They are then flags like all others, also for --help and --list-passes.
"""


_WAY = """\
From a graph to machine code, in this order: to-values, specialise, prepare-kernel, lower-torch, lower-tensors, lower-buffers, lower-loops,
lower-llvm (all of them: compile-cpu), then LLVM: translation, optimisation, object code. For a GPU: to-values, specialise,
prepare-gpu-kernel, lower-torch, lower-tensors, lower-gpu-buffers, lower-gpu-kernels, lower-gpu-nvvm, then LLVM to PTX."""


def usage(settings: Settings) -> str:
    """--help; with passes on the command line, what these do."""
    if settings.passes:
        return "\n\n".join(_explain(flag.text.partition("{")[0]) for flag in settings.passes)
    width = 34
    lines = [_INTRO, "OPTIONS"]
    for row in OPTIONS:
        dash = "-" if len(row.flag) == 1 else "--"
        head = f"  {dash}{row.flag}" + (f"={row.value}" if row.value else "") if len(row.flag) > 1 else f"  -{row.flag} {row.value}"
        lines.append(_entry(head, row.meaning, width))
    lines += ["", "PASSES  (and every pass of MLIR's, by its own name: --list-passes)"]
    lines += [_entry(f"  --{name}", cls.summary(), width) for name, cls in registry.passes().items()]
    lines += ["", "PIPELINES  (--tierup-pipeline=NAME)"]
    lines += [_entry(f"  {p.name}", p.summary, width) for p in registry.named_pipelines().values()]
    return "\n".join(lines)


def list_passes(settings: Settings) -> str:
    """--list-passes."""
    lines = ["tierup's passes"]
    for name, cls in registry.passes().items():
        lines.append(_entry(f"  --{name}", cls.summary(), 34))
        lines += [f"      {o.flag}=<{o.type_name}>  (default: {spell_default(o.default)})" for o in options_of(cls)]
    lines += ["", "MLIR's passes and pass pipelines"]
    lines += [f"  {line}" for line in textwrap.wrap(", ".join(mlir_passes.NAMES), 108, break_on_hyphens=False)]
    return "\n".join(lines)


def list_pipelines(settings: Settings) -> str:
    """--list-pipelines."""
    return "\n\n".join([_WAY, *map(_steps, registry.named_pipelines().values())])


def _steps(named: NamedPipeline) -> str:
    return "\n".join([f"{named.name}: {named.summary}", *(f"    {step}" for step in named.steps)])


def _explain(name: str) -> str:
    named = registry.named_pipelines().get(name)
    if named is not None:
        return _steps(named)
    cls = registry.find(name)
    if cls is None:
        raise UsageError(f"'{name}' is MLIR's; see https://mlir.llvm.org/docs/Passes")
    parts = [f"--{name}", cls.summary(), describe(cls)]
    parts += [f"  {o.flag}=<{o.type_name}>  (default: {spell_default(o.default)})" for o in options_of(cls)]
    return "\n\n".join(p for p in parts if p)


def describe(cls: type[Pass]) -> str:
    """The header of a pass's file, which says what it does, before and after, without the line that is the pass's summary."""
    module = inspect.getmodule(cls)
    text = inspect.cleandoc(module.__doc__ or "") if module is not None else ""
    first, _, rest = text.partition("\n")
    return rest.strip("\n") if first.startswith(cls.name) else text


def spell_default(value: object) -> str:
    """An option's default as it is written on a command line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(map(str, value)) or "none"
    return str(value) or '""'


def _entry(head: str, text: str, width: int) -> str:
    wrapped = textwrap.wrap(text, 118 - width, break_on_hyphens=False) or [""]
    first = f"{head:<{width}} {wrapped[0]}" if len(head) <= width else f"{head}\n{'':<{width}} {wrapped[0]}"
    return "\n".join([first, *(f"{'':<{width}} {line}" for line in wrapped[1:])])


ACTIONS = {"help": usage, "list-passes": list_passes, "list-pipelines": list_pipelines}
