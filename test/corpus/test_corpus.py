"""Every program of the corpus in every mode, against the undecorated function."""

from __future__ import annotations

import functools
from collections.abc import Iterator

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

from tierup.runtime import compile_version

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


@pytest.fixture(scope="module", autouse=True)
def modes_share_machine_code() -> Iterator[None]:
    """Compiling is a pure function of the request, and modes ask for the same code: made once. Compiling is most of this test's time."""
    lowering = compile_version.lowering
    original = lowering.compile
    lowering.compile = functools.cache(original)
    yield
    lowering.compile = original


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.name)
@pytest.mark.parametrize("mode", corpus_modes.MODES, ids=lambda m: m.name)
def test_program_does_what_the_undecorated_function_does(program: Program, mode: corpus_modes.Mode) -> None:
    corpus_modes.run(program, mode)


def test_the_corpus_is_large_and_its_names_are_distinct() -> None:
    names = [p.name for p in PROGRAMS]
    assert len(set(names)) == len(names) >= 60
