"""The cache's second level, and one compile for many who want it: processes of one machine, and of several."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tierup.lowering.objects import claims, keys, locks, shared, store

NAME, PAYLOAD = keys.name_of("kernel"), b"code" * 1000
Machine = Callable[[str], None]


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """Be one of several machines, which have folders of their own and share a store."""
    pytest.importorskip("fsspec")
    (tmp_path / "secret").write_bytes(b"of 16 bytes or more")
    (tmp_path / "secret").chmod(0o600)
    monkeypatch.setenv("TIERUP_CACHE", "1")
    monkeypatch.setenv("TIERUP_CACHE_SHARED", f"file://{tmp_path}/shared")
    monkeypatch.setenv("TIERUP_CACHE_SHARED_KEY", str(tmp_path / "secret"))
    monkeypatch.setattr(store, "_reported", {})
    monkeypatch.setattr(shared, "_paused_until", 0.0)
    become = lambda name: monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / name))
    become("one")
    return become


def test_what_one_machine_wrote_another_reads_and_has_from_then_on(machine: Machine, tmp_path: Path) -> None:
    store.write(NAME, PAYLOAD, everywhere=True)
    machine("two")
    assert store.read(NAME) is None  # not of those that are for all machines
    assert store.read(NAME, everywhere=True) == PAYLOAD
    (tmp_path / "shared" / f"{NAME}.artifact").unlink()
    assert store.read(NAME) == PAYLOAD and store.reports() == ()


def test_what_is_written_for_one_machine_stays_there(machine: Machine, tmp_path: Path) -> None:
    store.write(NAME, PAYLOAD)
    machine("two")
    assert store.read(NAME, everywhere=True) is None and not (tmp_path / "shared").exists()


@pytest.mark.parametrize("change", ["byte", "name", "short", "key", "empty"])
def test_what_was_changed_or_written_with_another_key_is_refused(machine: Machine, tmp_path: Path, change: str) -> None:
    store.write(NAME, PAYLOAD, everywhere=True)
    path = tmp_path / "shared" / f"{NAME}.artifact"
    data, wanted = bytearray(path.read_bytes()), NAME
    if change == "byte":
        data[-1] ^= 1
    elif change == "name":
        wanted = keys.name_of("another")
        path = path.with_name(f"{wanted}.artifact")
    elif change == "key":
        (tmp_path / "secret").write_bytes(b"another one of many bytes")
    path.write_bytes({"short": data[:-1], "empty": b""}.get(change, data))
    machine("two")
    assert store.read(wanted, everywhere=True) is None
    (said,) = store.reports()
    assert "is damaged, or was written with another key" in said


@pytest.mark.parametrize("wrong", ["", "/nowhere/key", "open", "short"])
def test_without_a_key_of_the_users_own_there_is_no_second_level(machine: Machine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    if wrong == "open":
        (tmp_path / "secret").chmod(0o644)
    elif wrong == "short":
        (tmp_path / "secret").write_bytes(b"short")
    else:
        monkeypatch.setenv("TIERUP_CACHE_SHARED_KEY", wrong)
    store.write(NAME, PAYLOAD, everywhere=True)
    assert store.read(NAME) == PAYLOAD and not (tmp_path / "shared").exists()
    assert len(store.reports()) == 1


def test_a_store_that_fails_or_hangs_is_reported_once_and_left_alone(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Broken:
        def cat_file(self, path: str) -> bytes:
            asked.append(path)
            if len(asked) == 2:
                time.sleep(3)
            raise PermissionError("no")

    import fsspec

    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda url: (Broken(), "at"))
    monkeypatch.setattr(shared, "LONGEST", 0.2)
    assert store.read(NAME, everywhere=True) is None and store.read(NAME, everywhere=True) is None
    assert len(asked) == 1
    monkeypatch.setattr(shared, "_paused_until", 0.0)
    assert store.read(NAME, everywhere=True) is None
    assert len(store.reports()) == 2 and "no answer in 0.2 s" in store.reports()[1]


def test_one_machine_makes_an_entry_and_another_waits_for_it(machine: Machine) -> None:
    assert shared.claim(NAME, lambda: False)
    found = []
    waits = threading.Thread(target=lambda: found.append(shared.claim(NAME, lambda: shared.read(NAME) is not None)))
    waits.start()
    shared.write(NAME, PAYLOAD)
    waits.join(20)
    assert found == [False]  # it is there, and need not be made
    shared.let_go(NAME)
    assert shared.claim(NAME, lambda: False)


def test_the_claim_of_a_machine_that_is_gone_is_taken_over(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert shared.claim(NAME, lambda: False)
    monkeypatch.setattr(shared, "_STALE", 0.0)
    assert shared.claim(NAME, lambda: False)
    monkeypatch.setattr(shared, "_STALE", 1000.0)
    monkeypatch.setattr(shared, "_MOST_WAIT", 0.2)
    assert not shared.claim(NAME, lambda: False)  # and who waits in vain goes on


HOLDS = "from tierup.lowering.objects import claims; import sys\nwith claims.claimed(sys.argv[1], lambda: False): print('has it', flush=True); sys.stdin.read()"


def test_a_process_that_is_killed_lets_go_of_what_it_was_to_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path))
    holder = subprocess.Popen([sys.executable, "-c", HOLDS, NAME], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "has it\n"
    assert locks.taken(f"{NAME}.claim", 0.05) == (None, True)
    holder.kill()
    holder.wait()
    with claims.claimed(NAME, lambda: False):
        assert [path.name for path in tmp_path.iterdir()] == [f"{NAME}.claim.lock.new"]
    assert not list(tmp_path.iterdir())


def test_what_is_raised_while_an_entry_is_made_comes_out(machine: Machine) -> None:
    for error in (OSError("of a compiler"), ValueError("of a compiler")):
        with pytest.raises(type(error), match="of a compiler"), claims.claimed(NAME, lambda: False):
            raise error
    assert store.reports() == () and shared.claim(NAME, lambda: False)


COMPILES = """
import sys, time
import numpy as np, tierup
x = np.linspace(-1, 1, 8)
f = tierup.jit(lambda x: np.tanh(x) * 2 + np.exp(x), num_profiled_runs=0)
g = tierup.jit(lambda x: x + 1, num_profiled_runs=0)
g(x)
print("ready", flush=True)
sys.stdin.readline()
np.testing.assert_allclose(f(x), np.tanh(x) * 2 + np.exp(x), rtol=1e-12)
print([version.compiled.from_disk for version in f.versions])
"""


@pytest.mark.parametrize("folders", ["one", "each its own"])
def test_of_many_processes_that_want_code_at_once_one_compiles(folders: str, tmp_path: Path, machine: Machine) -> None:
    (tmp_path / "program.py").write_text(COMPILES)
    processes = []
    for number in range(2):
        folder = "one" if folders == "one" else f"machine{number}"
        environment = {**os.environ, "TIERUP_CACHE_DIR": str(tmp_path / folder), "TIERUP_WORKER": "0"}
        if folders == "one":
            del environment["TIERUP_CACHE_SHARED"]
        made = subprocess.Popen([sys.executable, "program.py"], cwd=tmp_path, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert made.stdin is not None and made.stdout is not None
        processes.append((made, made.stdin, made.stdout))
    for _, _, said in processes:
        assert said.readline() == "ready\n"
    for _, tell, _ in processes:
        tell.write("go\n")
        tell.flush()
    found = sorted(said.read().strip() for _, _, said in processes)
    for process, tell, said in processes:
        tell.close()
        said.close()
        assert process.wait() == 0
    assert found == ["[False]", "[True]"]
