"""tierup-cache: what there is on disk, why it was not found, whether it holds, and how to empty it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest

from tierup.lowering.objects import store
from tierup.lowering.objects.keys import Key, Part
from tierup.tools import main


@pytest.fixture(autouse=True)
def place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TIERUP_CACHE", "1")
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "kept"))
    return tmp_path / "kept"


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    try:
        code = main.main(["cache", *words])
    except SystemExit as e:  # argparse's
        code = int(e.code or 0)
    return code, *capsys.readouterr()


def keep(function: str, facts: str, size: int = 10, unused: float = 0.0, kind: str = "code") -> str:
    key = Key(kind, f"{function}:{facts}", (Part("program", function * 200), Part("facts", facts), Part("CPU", "znver4")))
    store.write(key.name, bytes(size), key.description())
    at = time.time() - unused
    os.utime(os.path.join(store.folder(), key.name + store.SUFFIX), (at, at))
    return key.name


def test_looking_at_a_cache_that_is_not_there_makes_none(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "stats") == (0, f"{place}: 0 entries, 0 bytes, of at most 256.0 MiB\n", "")
    for words in (["list"], ["explain"], ["verify"], ["prune"], ["clear"]):
        code, _, error = said(capsys, *words)
        assert (code, error) == (0, "") and not place.exists()


def test_a_list_has_what_was_used_last_first(capsys: pytest.CaptureFixture[str]) -> None:
    old, new = keep("layer", "f32[4]", unused=3 * 86400), keep("step", "f64[8]", 5000)
    note = keep("program", "", kind="note", unused=60)
    code, out, _ = said(capsys, "list")
    lines = out.splitlines()
    assert code == 0 and [line.split()[0] for line in lines[1:]] == [name[:12] for name in (new, note, old)]
    assert "5.1 KiB" in lines[1] and "step:f64[8]" in lines[1] and "3 days ago" in lines[3]
    assert [json.loads(line)["name"] for line in said(capsys, "list", "--kind", "code", "--json")[1].splitlines()] == [new, old]
    _, out, _ = said(capsys, "stats")
    assert "3 entries, " in out and "  code: 2 entries, " in out and "  note: 1 entry, " in out


def test_an_entry_is_shown_by_function_or_by_how_its_name_begins(capsys: pytest.CaptureFixture[str]) -> None:
    one, _ = keep("layer", "f32[4]"), keep("step", "f32[4]")
    by_function, by_name = said(capsys, "show", "layer"), said(capsys, "show", one[:10])
    assert by_function == by_name and by_function[0] == 0
    assert one in by_function[1] and "facts" in by_function[1] and "znver4" in by_function[1] and "step" not in by_function[1]
    code, out, error = said(capsys, "show", "nobody")
    assert code == 1 and out == "" and "'nobody'" in error


def test_explain_says_in_what_an_entry_differs_from_what_was_there_before(capsys: pytest.CaptureFixture[str]) -> None:
    one = keep("layer", "f32[4]")
    two = keep("layer", "f32[9]")
    keep("step", "f32[4]")
    for words in (["explain", "layer"], ["explain"]):
        code, out, _ = said(capsys, *words)
        assert code == 0 and f"{one[:12]} code layer:f32[4], made " in out and "nothing of this kind and function was there" in out
        assert f"unlike {one[:12]}" in out.partition(two[:12])[2] and "  facts (f32[4] there, f32[9] here)\n" in out


def test_verify_finds_what_cannot_be_used_and_removes_it_when_told(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = keep("layer", "f32[4]"), keep("step", "f32[4]")
    assert said(capsys, "verify")[0] == 0
    path = place / (bad + store.SUFFIX)
    path.write_bytes(path.read_bytes()[:-2])
    code, out, _ = said(capsys, "verify")
    assert code == 1 and bad[:12] in out and "damaged" in out and good[:12] not in out and path.exists()
    assert said(capsys, "verify", "--remove")[0] == 0 and not path.exists() and store.read(good) is not None


def test_prune_leaves_what_was_used_last(capsys: pytest.CaptureFixture[str]) -> None:
    names = [keep("layer", f"f32[{n}]", 10_000, unused=n * 86400.0) for n in range(6)]
    code, out, _ = said(capsys, "prune", "--unused", "4.5")
    assert code == 0 and out.startswith("1 entries removed") and [store.read(name) is not None for name in names] == [True] * 5 + [False]
    for n, name in enumerate(names[:5]):  # they were read
        os.utime(os.path.join(store.folder(), name + store.SUFFIX), (time.time() - n,) * 2)
    assert said(capsys, "prune", "--to", "0.03")[0] == 0
    assert [store.read(name) is not None for name in names] == [True] * 2 + [False] * 4 or [store.read(name) is not None for name in names] == [True] * 3 + [False] * 3
    code, _, error = said(capsys, "prune", "--to", "-1")
    assert code == 2 and "at least 0" in error


def test_clear_removes_entries_and_nothing_else(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    keep("layer", "f32[4]"), keep("step", "f32[4]")
    (place / "unfinished.new").write_bytes(b"")
    (place / "mine.txt").write_text("not the cache's")
    os.symlink(place / "mine.txt", place / "link.artifact")
    assert said(capsys, "clear") == (0, f"2 entries removed from {place}\n", "")
    assert {path.name for path in place.iterdir()} == {"key", "mine.txt", "link.artifact"}
    name = keep("layer", "f32[4]")
    assert store.read(name) is not None  # the key is still there
    monkeypatch.setenv("TIERUP_CACHE", "0")
    assert "; TIERUP_CACHE=0: not used\n" in said(capsys, "stats")[1]


@pytest.mark.skipif(os.name != "posix", reason="modes of folders")
def test_a_folder_that_others_write_is_not_touched(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep("layer", "f32[4]")
    place.chmod(0o777)
    for words in (["clear"], ["prune", "--to", "0"], ["list"], ["verify", "--remove"]):
        code, out, error = said(capsys, *words)
        assert code == 1 and not out and "tierup-cache: error: others can write" in error
    assert list(place.glob("*" + store.SUFFIX))


def test_help_says_what_each_command_does(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = said(capsys, "--help")
    assert code == 0
    for name in ("list", "stats", "show", "explain", "verify", "clear", "prune", "TIERUP_CACHE_DIR", "TIERUP_CACHE_SIZE"):
        assert name in out
    assert said(capsys)[0] == 2 and "--unused" in said(capsys, "prune", "--help")[1]
