"""The dispatcher's object on disk: a process that finds it builds none, and one that finds a damaged one builds it anew."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tierup.lowering.entry import jit as entry_jit
from tierup.lowering.objects import keys, store

FRESH = (
    "import sys\n"
    "from tierup.lowering.entry import probe as entry_probe\n"
    "assert entry_probe.unavailable() is None\n"
    "print('built' if 'tierup.lowering.entry.generated.dispatch' in sys.modules else 'found')\n"
)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "cache"))


def fresh_process() -> str:
    return subprocess.run([sys.executable, "-c", FRESH], check=True, capture_output=True, text=True).stdout.strip()


def test_the_second_process_finds_what_the_first_built() -> None:
    assert [fresh_process(), fresh_process()] == ["built", "found"]


def test_a_damaged_object_is_built_anew() -> None:
    fresh_process()
    for damage in (lambda d: d[:100], lambda d: d[:-1] + bytes([d[-1] ^ 1]), lambda d: b"other"):
        for path in Path(store.folder()).glob("*" + store.SUFFIX):
            path.write_bytes(damage(path.read_bytes()))
        assert fresh_process() == "built"
    assert fresh_process() == "found"


def test_without_the_cache_it_is_built_and_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    assert [fresh_process(), fresh_process()] == ["built", "built"]
    assert not Path(store.folder()).exists()


def test_another_interpreter_has_another_object(monkeypatch: pytest.MonkeyPatch) -> None:
    here = entry_jit.depends_on()
    monkeypatch.setattr(sys, "version", "another")
    there = entry_jit.depends_on()
    assert [part.label for part, other in zip(here, there, strict=True) if part != other] == ["Python"]
    assert keys.Key("dispatcher", "", here).name != keys.Key("dispatcher", "", there).name
