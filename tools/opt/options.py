"""tierup-opt's command line: a table of options, everything else is a pass."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tierup.dialect.base.spelling import closest
from tierup.dialect.passes import registry
from tierup.dialect.passes.pipelines import mlir_passes
from tierup.dialect.passes.pipelines.pipeline import is_mlir_pass


class UsageError(Exception):
    """A command line that asks for nothing that can be done."""


@dataclass(frozen=True)
class OptionRow:
    """One option: `field` of Settings; `value` is what --help calls its value, "" for a flag."""

    flag: str
    field: str
    value: str
    meaning: str


_PASSES = "PASS,..."


def _option(flag: str, value: str, meaning: str, default: object = False) -> Any:
    return field(default=default, metadata={"flag": flag, "value": value, "meaning": meaning})


@dataclass(frozen=True)
class PassFlag:
    """A pass, or a named pipeline, in its place on the command line."""

    text: str
    pipeline: bool = False


@dataclass
class Settings:
    """A command line, read. `passes`: those that stand on it, and named pipelines, in order; `action`: what is printed instead of a run."""

    input: str = "-"
    passes: list[PassFlag] = field(default_factory=list)
    action: str | None = None
    pass_pipeline: str | None = _option(
        "pass-pipeline", "TEXT", "passes of tierup and MLIR as one text: builtin.module(a,func.func(b{x=1}))", None
    )
    run_reproducer: bool = _option("run-reproducer", "", "run what the file itself says: a reproducer (docs/debugging.md)")
    split_input_file: bool = _option("split-input-file", "", "treat the parts between lines `// -----` as inputs of their own")
    verify_diagnostics: bool = _option("verify-diagnostics", "", "check diagnostics against `// expected-error@+1 {{...}}` comments")
    verify_each: bool = _option("verify-each", "true|false", "verify the module after each pass (default: true)", True)
    allow_unregistered_dialect: bool = _option("allow-unregistered-dialect", "", "let ops of unknown dialects pass")
    print_before_all: bool = _option("mlir-print-ir-before-all", "", "print the IR before each pass, to stderr")
    print_after_all: bool = _option("mlir-print-ir-after-all", "", "print the IR after each pass, to stderr")
    print_before: tuple[str, ...] = _option("mlir-print-ir-before", _PASSES, "print the IR before these passes, to stderr", ())
    print_after: tuple[str, ...] = _option("mlir-print-ir-after", _PASSES, "print the IR after these passes, to stderr", ())
    print_module_scope: bool = _option("mlir-print-ir-module-scope", "", "print the whole module, not only the function a pass worked on")
    print_local_scope: bool = _option("mlir-print-local-scope", "", "print each op on its own: no aliases of types, attributes, locations")
    print_skip_regions: bool = _option("mlir-print-skip-regions", "", "print no regions")
    print_elements: int | None = _option("mlir-elide-elementsattrs-if-larger", "N", "print no literals of more than N elements", None)
    print_resources: int | None = _option(
        "mlir-elide-resource-strings-if-larger", "N", "print no resources of more than N characters", None
    )
    print_names: bool = _option("mlir-use-nameloc-as-prefix", "", "name values by their locations")
    print_pretty_debuginfo: bool = _option("mlir-pretty-debuginfo", "", "print locations shorter than they can be read again")
    disable_threading: bool = _option("mlir-disable-threading", "", "nothing: passes never run in several threads")
    emit_bytecode: bool = _option("emit-bytecode", "", "write MLIR bytecode")
    print_debuginfo: bool = _option("mlir-print-debuginfo", "", "print locations")
    print_op_generic: bool = _option("mlir-print-op-generic", "", "print all ops in the generic form")
    timing: bool = _option("mlir-timing", "", "print a table of how long each pass took, to stderr")
    dump_pass_pipeline: bool = _option("dump-pass-pipeline", "", "print the pipeline that is about to run, to stderr")
    output: str = _option("o", "FILE", "write the result there (default: -, stdout)", "-")


OPTIONS = (
    *(OptionRow(field=f.name, **f.metadata) for f in fields(Settings) if f.metadata),
    OptionRow("tierup-pipeline", "", "NAME", "a named pipeline; may stand among passes (--list-pipelines shows them)"),
    OptionRow("list-passes", "", "", "list all passes, tierup's with their options"),
    OptionRow("list-pipelines", "", "", "list the named pipelines with their steps"),
    OptionRow("load-passes", "", "FILE.py|MODULE", "import passes from there, wherever it stands on the line"),
    OptionRow("help", "", "", "this text; --help --PASS explains one pass"),
)
_ACTIONS = ("help", "list-passes", "list-pipelines")


def parse_arguments(arguments: Sequence[str]) -> Settings:
    """Read a command line. Raises UsageError with the nearest thing that exists."""
    rows = {row.flag: row for row in OPTIONS}
    settings = Settings()
    inputs: list[str] = []
    asked: list[tuple[str, str, bool]] = []  # name, options, whether it is a pipeline; looked up when all passes are loaded
    rest = list(arguments)
    only_inputs = False
    while rest:
        word = rest.pop(0)
        if word == "--" and not only_inputs:
            only_inputs = True
        elif only_inputs or word == "-" or not word.startswith("-"):
            inputs.append(word)
        else:
            name, equals, value = word.lstrip("-").partition("=")
            name = "help" if name == "h" else name
            if name in rows:
                _set(settings, asked, rows[name], value if equals else None, rest)
            else:
                asked.append((name, value, False))
    settings.passes = [PassFlag(name, pipeline=True) if pipeline else _pass(name, value) for name, value, pipeline in asked]
    for row in OPTIONS:
        if row.value == _PASSES:
            for name in getattr(settings, row.field):
                if not _is_pass(name):
                    near = closest(name, [*registry.passes(), *mlir_passes.NAMES])
                    raise UsageError(f"option --{row.flag}: no pass is named '{name}'{near}")
    if len(inputs) > 1:
        raise UsageError(f"one input is read, got {', '.join(inputs)}")
    if inputs:
        settings.input = inputs[0]
    if settings.pass_pipeline is not None and settings.passes and settings.action is None:
        raise UsageError("cannot use --pass-pipeline and single passes or --tierup-pipeline together")
    if settings.run_reproducer and (settings.pass_pipeline is not None or settings.passes) and settings.action is None:
        raise UsageError("--run-reproducer takes the passes from the file: give none")
    if settings.run_reproducer and settings.split_input_file:
        raise UsageError("a reproducer is one input: --run-reproducer cannot be used with --split-input-file")
    return settings


def _set(settings: Settings, asked: list[tuple[str, str, bool]], row: OptionRow, value: str | None, rest: list[str]) -> None:
    if row.flag in _ACTIONS:
        settings.action = row.flag
        return
    if not row.value or row.value == "true|false":
        setattr(settings, row.field, _truth(row, value))
        return
    if value is None:
        if not rest:
            raise UsageError(f"option --{row.flag} needs a value: --{row.flag}={row.value}")
        value = rest.pop(0)
    if row.flag == "load-passes":
        load_passes(value)
    elif row.flag == "tierup-pipeline":
        asked.append((value, "", True))
    elif row.value == "N":
        if not value.isdigit():
            raise UsageError(f"option --{row.flag} takes a number, not '{value}'")
        setattr(settings, row.field, int(value))
    elif row.value == _PASSES:
        setattr(settings, row.field, (*getattr(settings, row.field), *value.split(",")))
    else:
        setattr(settings, row.field, value)


def load_passes(name: str) -> None:
    """Import a file or a module that defines passes. Raises UsageError with the line at fault."""
    try:
        if not name.endswith(".py"):
            importlib.import_module(name)
            return
        spec = importlib.util.spec_from_file_location(Path(name).stem, name)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module  # dataclasses look their module up
        spec.loader.exec_module(module)
    except Exception as e:  # whatever the user's file raises
        where = traceback.extract_tb(e.__traceback__)[-1]
        raise UsageError(f"cannot load passes from '{name}': {type(e).__name__}: {e} ({where.filename}:{where.lineno})") from e


def _truth(row: OptionRow, value: str | None) -> bool:
    if value in (None, "true", "1"):
        return True
    if value in ("false", "0"):
        return False
    raise UsageError(f"option --{row.flag} is true or false, not '{value}'")


def _pass(name: str, options: str) -> PassFlag:
    if not _is_pass(name):
        known = [*(row.flag for row in OPTIONS), *registry.passes(), *mlir_passes.NAMES]
        near = closest(f"--{name}", [f"--{k}" for k in known])
        raise UsageError(f"unknown command line argument '--{name}'{near or '; see --help and --list-passes'}")
    return PassFlag(f"{name}{{{options}}}" if options else name)


def _is_pass(name: str) -> bool:
    return registry.find(name) is not None or is_mlir_pass(name)
