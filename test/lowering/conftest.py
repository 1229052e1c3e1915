"""Shared by the tests of lowering: nothing compiled here reaches the user's cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from tierup.lowering.objects import store


@pytest.fixture(autouse=True)
def _cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(store, "_reported", {})  # what is said once in a process is said once in a test
