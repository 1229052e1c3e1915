"""What entries of the store say of themselves: how one that was not found differs from what was there, and which may not be used."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tierup.lowering.objects import entries, keys, store
from tierup.lowering.objects.keys import Key, Part

MACHINE = (Part("tierup", "sources", "0.1.0"), Part("CPU", "x86_64:znver4:+avx,+fma", "x86_64:znver4"))


def key(function: str = "f", sizes: str = "f32[4]", level: int = 2, machine: tuple[Part, ...] = MACHINE, graph: str = "graph " * 100) -> Key:
    return Key("code", f"{function}:{sizes}", (Part("graph", graph), Part("facts", sizes), Part("options", f"level={level}"), *machine))


def keep(made: Key, at: float, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(keys.time, "time", lambda: at)
        store.write(made.name, b"code", made.description())


def why(wanted: Key, before: float = 1e12) -> list[str] | None:
    described = entries.described(wanted)
    found = entries.nearest(described, entries.entries(), before)
    return None if found is None else entries.differences(described, found.described)


def test_each_part_that_differs_is_named_with_what_it_is_there_and_here(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(key(), 1.0, monkeypatch)
    assert why(key()) == []
    assert why(key(sizes="f32[8]")) == ["facts (f32[4] there, f32[8] here)"]
    assert why(key(level=3)) == ["options (level=2 there, level=3 here)"]
    assert why(key(graph="another " * 100)) == ["graph"]  # too long to be shown
    other = (Part("tierup", "other sources", "0.1.0"), Part("CPU", "arm", "arm"), Part("NumPy", "2.9"))
    assert why(key(machine=other)) == [
        "tierup (0.1.0, with other contents)",
        "CPU (x86_64:znver4 there, arm here)",
        "NumPy (nothing there, 2.9 here)",
    ]
    assert len({made.name for made in (key(), key(level=3), key(machine=other), key(graph="g"))}) == 4
    assert key("g").name == key().name  # what it is about is for people


def test_the_nearest_of_the_same_function_is_compared_with_and_of_these_the_newest_before(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(key(sizes="f32[4]", level=0), 1.0, monkeypatch)
    keep(key(sizes="f32[5]", level=2), 2.0, monkeypatch)
    keep(key(sizes="f32[6]", level=2), 3.0, monkeypatch)
    keep(key("g", level=2), 4.0, monkeypatch)
    wanted = key(sizes="f32[4]", level=2)
    keep(key(sizes="f32[7]", level=2), 9.0, monkeypatch)
    assert why(wanted, before=5.0) == ["options (level=0 there, level=2 here)"] or why(wanted, before=5.0) == ["facts (f32[6] there, f32[4] here)"]
    assert why(key(sizes="f32[9]"), before=5.0) == ["facts (f32[6] there, f32[9] here)"]
    assert why(key(sizes="f32[9]"), before=2.5) == ["facts (f32[5] there, f32[9] here)"]
    assert why(key("nobody")) is None and why(wanted, before=1.0) is None


@pytest.mark.parametrize("text", [b"", b"[1]", b"{", b'{"parts": 3}', b'{"parts": [[1]]}', b'{"made": "soon"}', b"[" * 50_000, b"\xff" * 40, b'{"made": 1e999}'])
def test_a_description_that_nobody_wrote_is_none_and_harms_nobody(text: bytes) -> None:
    store.write("a" * 64, b"payload", text)
    (found,) = entries.entries()
    assert found.described == entries.Described() and entries.fault(found) == "" and store.read("a" * 64) == b"payload"


def test_a_description_is_printable_and_short_whatever_it_is_of() -> None:
    odd = Key("code", "caf\udce9\n" * 1000, (Part("graph", "g" * 10**6), Part("facts", "\udcff")))
    assert len(odd.description()) < 10_000
    store.write(odd.name, b"", odd.description())
    (found,) = entries.entries()
    assert found.described.about.encode() and len(found.described.parts) == 2


def test_what_cannot_be_used_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(3):
        keep(key(level=n), float(n), monkeypatch)
    first, second, third = sorted(Path(store.folder()).glob("*" + store.SUFFIX))
    first.write_bytes(first.read_bytes()[:-1])
    os.chmod(second, 0o666)
    faults = {entry.path: entries.fault(entry) for entry in entries.entries()}
    assert "damaged" in faults[str(first)] and "others may have changed" in faults[str(second)] and faults[str(third)] == ""
    (Path(store.folder()) / store.KEY).unlink()
    assert {entries.fault(entry) for entry in entries.entries()} == {"the folder has no key"}


def test_what_is_said_of_an_entry_is_authenticated_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    keep(key(), 1.0, monkeypatch)
    (path,) = Path(store.folder()).glob("*" + store.SUFFIX)
    assert json.loads(store.description(str(path)))["about"] == "f:f32[4]"
    path.write_bytes(path.read_bytes().replace(b"f:f32[4]", b"g:f32[4]"))
    assert store.read(key().name) is None
