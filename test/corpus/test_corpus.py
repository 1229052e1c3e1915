"""Every program of the corpus in every mode, against the undecorated function."""

from __future__ import annotations

from typing import Any

import corpus_modes
import programs_control
import programs_dtypes
import programs_elementwise
import programs_errors
import programs_mlir
import programs_neural
import programs_reductions
import programs_shapes
import programs_structure
import programs_writes
import pytest
from corpus import PROGRAMS, Program
from sampling import drawn

from tierup.dialect.ir.walking import walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.fusion.grouping import weight
from tierup.dialect.speculation.reasons import Reason
from tierup.runtime.arguments.signature import Signature
from tierup.runtime.base.options import Options
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.scheduling.attempt import Attempt
from tierup.runtime.dispatching.version import Version
from tierup.runtime.executors.making import VersionMaker
from tierup.runtime.programs.speculations import Speculation

# Importing a module of programs adds its rows to PROGRAMS.
MODULES = (
    programs_control,
    programs_dtypes,
    programs_elementwise,
    programs_errors,
    programs_mlir,
    programs_neural,
    programs_reductions,
    programs_shapes,
    programs_structure,
    programs_writes,
)


@pytest.mark.parametrize(
    ("mode", "program"),
    [
        pytest.param(mode, program, id=f"{mode.name}-{program.name}")
        for mode in corpus_modes.MODES
        for program in drawn(mode.name, PROGRAMS, mode.one_of)
    ],
)
def test_program_does_what_the_undecorated_function_does(
    program: Program, mode: corpus_modes.Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode.waits:
        monkeypatch.setenv("TIERUP_CACHE", "0")  # code that another mode left on disk is not waited for
    corpus_modes.run(program, mode)


CUTS = ("first_op", "middle_op")
ONE_CUT_OF = 20  # programs: each cut compiles regions of its own


@pytest.mark.parametrize(
    ("which", "program"),
    [
        pytest.param(which, program, id=f"{cut}-{program.name}")
        for which, cut in enumerate(CUTS)
        for program in drawn(cut, PROGRAMS, ONE_CUT_OF, kind=lambda p: bool(p.native))
    ],
)
def test_program_cut_at_an_op_that_is_said_to_have_no_native_code(program: Program, which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    original = VersionMaker._compile

    def refusing(
        self: VersionMaker, attempt: Attempt, speculation: Speculation, signature: Signature, flat: tuple[Any, ...], options: Options
    ) -> Version | NotCompiled | Reason:
        if self.context.is_region:
            return original(self, attempt, speculation, signature, flat, options)
        self.log.decided(speculation)
        module = parse_module(self.context.program.graph)  # held: ops do not hold it
        ops = [op.name.removeprefix("torch.") for op in walk(module.operation) if weight(op) and not len(op.regions)]
        return NotCompiled(Reason.NO_LOWERING, "left out", "somewhere", ops[len(ops) * which // 2] if ops else "")

    monkeypatch.setattr(VersionMaker, "_compile", refusing)
    corpus_modes.run(program, corpus_modes.CUT)


def test_the_corpus_is_large_and_its_names_are_distinct() -> None:
    names = [p.name for p in PROGRAMS]
    assert len(set(names)) == len(names) >= 60
