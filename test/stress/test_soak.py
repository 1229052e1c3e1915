"""The soak itself: a program that crashes, hangs or is wrong is counted, told and written down, and the soak goes on behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import soak


def run(state: soak.State, folder: Path, programs: int) -> list[str]:
    told: list[str] = []
    while state.next.get("mishap", 0) % 1_000_000 < programs:
        left = programs - state.next.get("mishap", 0) % 1_000_000
        batch = soak.Batch("mishap", state.seed * 1_000_000 + state.next.get("mishap", 0) % 1_000_000, state, folder, told.append, soak.Counter())
        batch.run(float("inf"), left)
    return told


def test_crashes_hangs_and_wrong_results_are_counted_and_the_soak_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "SILENCE", 6.0)
    state = soak.State(seed=7)
    told = run(state, tmp_path, 6)
    assert state.total() == {"programs": 6, "calls": 8, "wrong": 1, "crashed": 2, "refused": 1}
    assert [line.split(" at")[0] for line in told] == [
        "crashed: mishap 7000001 (SIGSEGV)", "crashed: mishap 7000002 (no sign for 6 s)", "wrong: mishap 7000003: 1, not 2",
    ]  # fmt: skip
    assert sorted(p.name for p in tmp_path.iterdir()) == ["crashed_mishap_7000001.py", "crashed_mishap_7000002.py", "wrong_mishap_7000003.py"]
    assert "SIGSEGV at the beginning" in (tmp_path / "crashed_mishap_7000001.py").read_text()
    assert "signal.pause" in (tmp_path / "crashed_mishap_7000002.py").read_text() or "soak_kinds.py" in (tmp_path / "crashed_mishap_7000002.py").read_text()


def test_a_piece_goes_on_where_the_last_one_stopped(tmp_path: Path) -> None:
    state = soak.State(seed=3)
    state.next["mishap"], state.pieces = 3_000_005, [{"seed": 3}]
    state.count("mishap", "programs", 5)
    state.write(tmp_path / "state.json")
    again = soak.State.read(tmp_path / "state.json")
    assert again == state
    run(again, tmp_path, 7)
    assert again.next["mishap"] == 3_000_007 and again.total()["programs"] == 7
    assert json.loads((tmp_path / "state.json").read_text())["next"] == {"mishap": 3_000_005}
