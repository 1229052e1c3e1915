"""tools/gpu/replay.py on a stand-in of the driver: what was recorded comes back as it was, and what differs is seen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from emulated_programs import compiled
from fake_driver import FakeDriver
from thread_emulator import emulated

from tierup.dialect.base import dtypes
from tierup.runtime.cuda.bundle_file import PackedProgram, PackedVersion
from tierup.tools.gpu import replay
from tierup.tools.gpu.replay import Call


def twice(x: np.ndarray) -> np.ndarray:
    return x + x


VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


@pytest.fixture
def program(api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[PackedProgram]:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    with emulated(api):
        yield PackedProgram("twice", ("x",), (PackedVersion(compiled(twice, (VALUES,)), {}),))


def test_a_call_that_gives_what_was_recorded_is_right(program: PackedProgram, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay.write(tmp_path / "calls.tierup", [program], [Call("twice", (VALUES,), (VALUES + VALUES,), 1.0)])
    assert replay.main([str(tmp_path / "calls.tierup")]) == 0
    assert "1 calls of 1 programs in 0 s: 0 wrong" in capsys.readouterr().out


def test_an_element_that_differs_is_said_with_its_program(
    program: PackedProgram, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = VALUES + VALUES
    other[1, 2] += 3
    replay.write(tmp_path / "calls.tierup", [program], [Call("twice", (VALUES,), (other,), 1.0)])
    assert replay.main([str(tmp_path / "calls.tierup"), "--once"]) == 1
    assert "twice: result 0, on the device: 1 of 12 elements differ, by up to 3 of 22" in capsys.readouterr().out


def test_a_check_that_should_fail_and_does_not_is_wrong(program: PackedProgram, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    replay.write(tmp_path / "calls.tierup", [program], [Call("twice", (VALUES,), None, 1.0)])
    assert replay.main([str(tmp_path / "calls.tierup")]) == 1
    assert "no check failed, and one should have" in capsys.readouterr().out


def test_arguments_come_back_with_their_values_dtypes_and_strides(tmp_path: Path) -> None:
    grid = np.arange(24.0).reshape(4, 6)
    given = (grid.T, grid[::-2, 1:], np.array(1, np.float32), np.zeros((0, 3), np.int8), grid.astype(dtypes.bf16.numpy), 3, 1.5, True)
    replay.write(tmp_path / "calls.tierup", [], [Call("none", given, None, 1.0)])
    [call] = replay.read(tmp_path / "calls.tierup")
    for got, want in zip(call.arguments, given, strict=True):
        assert type(got) is type(want)
        if isinstance(want, np.ndarray):
            assert got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()
            assert not want.size or got.strides == want.strides
        else:
            assert got == want
