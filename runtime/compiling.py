"""How a bet becomes a version: from the disk's cache where an earlier process made it, else through the compiler."""

from __future__ import annotations

from dataclasses import asdict
from functools import cached_property

from tierup.lowering.abi import ArgumentSpec
from tierup.lowering.entry_records import Form, VersionRecord
from tierup.runtime import dump, plans
from tierup.runtime.options import Options
from tierup.runtime.plans import Compiled
from tierup.runtime.program import Program
from tierup.runtime.signature import describe_specs
from tierup.runtime.strategy import Bet
from tierup.runtime.version_table import Version


class Values:
    """A program's graph with mutation turned into values, made when it is first asked for and kept."""

    def __init__(self, program: Program) -> None:
        self._program = program

    @cached_property
    def text(self) -> str:
        """Raises NotCompiled when the program cannot be told as values."""
        from tierup.runtime import compile_version as compiler  # here: loads MLIR and LLVM

        return compiler.to_values(self._program.graph)


def make_version(program: Program, values: Values, bet: Bet, specs: tuple[ArgumentSpec, ...], options: Options, call: int) -> Version:
    """A version whose guards are `specs`, made in call number `call`. Raises NotCompiled."""
    guards = describe_specs(specs, program.names)
    with dump.compiling(program.name, guards) as kept:
        if kept is not None:
            kept.note(place=program.place, bet=bet.kind, options=asdict(options))
            kept.stage("pristine", program.graph)
        compiled = _compiled(program, values, specs, options)
    artifact = compiled.artifact
    record = VersionRecord(
        specs, artifact.results, compiled.code.address, keepalive=compiled.code, work=artifact.work, form=Form.TUPLE, scalars=False
    )
    return Version(bet, record, compiled, call, guards, program.name)


def _compiled(program: Program, values: Values, specs: tuple[ArgumentSpec, ...], options: Options) -> Compiled:
    graph, entry = program.graph, program.entry
    kept = plans.on_disk(graph, entry, specs, options)
    if kept is not None:
        return kept
    from tierup.runtime import compile_version as compiler  # here: loads MLIR and LLVM

    specialised = compiler.specialise(values.text, entry, specs)
    compiled = compiler.compile_version(specialised, entry, specs, options)
    plans.keep(graph, entry, specs, specialised)
    return compiled
