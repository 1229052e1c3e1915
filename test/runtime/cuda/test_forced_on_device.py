"""Programs of the corpus as kernels that lose each of their assumptions in mid-program at each evaluation, against the undecorated function.

`make test` takes a few programs, `make test-ptx` all that speculate. There the kernels of versions with assumptions are assembled, too.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from corpus import PROGRAMS, Program
from device_bailouts import OnDevice
from fake_driver import FakeDriver
from sampling import IS_EXHAUSTIVE, SEED
from test_bailouts_native import PROGRAMS as WRITTEN
from test_forced_bailouts import ASSUMING, compiled, guarded, losses
from thread_emulator import emulated

import tierup
from tierup.lowering.cuda import compile as compile_cuda
from tierup.lowering.cuda.assembling import ptxas
from tierup.runtime.dispatching.version import Version

SAMPLED = 2


@pytest.fixture(autouse=True)
def _emulated(api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TIERUP_CACHE", "0")  # the emulator has what is compiled meanwhile
    with emulated(api):
        yield


def _sample() -> list[Program]:
    found = [p for p in PROGRAMS if p.name in ASSUMING]
    return found if IS_EXHAUSTIVE else random.Random(f"forced on the device {SEED}").sample(found, SAMPLED)


@pytest.mark.parametrize("program", _sample(), ids=lambda p: p.name)
def test_each_assumption_lost_at_each_evaluation(program: Program) -> None:
    depth, most = (20, 1000) if IS_EXHAUSTIVE else (1, 4)
    with tierup.options(speculate="bailout", bailout_depth=depth, testing=True, backend="cuda"):
        function = compiled(program)
        versions = [v for v in function.versions if isinstance(v, Version)]
        assert all(v.record.on_device for v in versions)
        assert sum(losses(program, function, continuations, most) for continuations in list(guarded(function))) >= ASSUMING[program.name]
    for version in versions if IS_EXHAUSTIVE and ptxas.find() is not None else ():
        artifact = compile_cuda.compile(version.compiled.request, "sm_80")
        for target in ("sm_80", "sm_90"):
            assert not any(report.spill_stores for report in ptxas.assemble(artifact.ptx, target).report)


@pytest.mark.parametrize(("function", "arguments", "exits", "errors"), WRITTEN if IS_EXHAUSTIVE else WRITTEN[1:2])
def test_each_guard_lost_at_each_evaluation_as_on_the_cpu(function: Any, arguments: list[Any], exits: int, errors: int) -> None:
    native = OnDevice(function, [arguments], arguments, force=True)
    assert native.assert_same(arguments) == []
    assert native.losing_each(arguments) == (exits, errors)


@pytest.mark.parametrize("program", [p for p in PROGRAMS if IS_EXHAUSTIVE and p.native and p.name not in ASSUMING], ids=lambda p: p.name)
def test_the_other_programs_assume_nothing_in_mid_program(program: Program) -> None:
    with tierup.options(speculate="bailout", bailout_depth=1, testing=True, backend="cuda"), np.errstate(all="ignore"):
        function = compiled(program)
        assert not sum(losses(program, function, continuations, 1) for continuations in list(guarded(function)))
