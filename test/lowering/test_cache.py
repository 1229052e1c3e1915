"""The object cache: hits, misses, damage, and being switched off."""

from __future__ import annotations

import dataclasses
import logging
import os
import subprocess
import sys

import numpy as np
import pytest
from kernel_harness import call, spec_of, typed

from tierup.lowering.abi import Request
from tierup.lowering.objects import cache

X = np.arange(6, dtype=np.float32)
BODY = """
  %r = torch.aten.neg %a0 : !torch.vtensor -> !torch.vtensor
  return %r : !torch.vtensor"""


@pytest.fixture
def request_() -> Request:
    specs = (spec_of(X),)
    return Request(typed(BODY, specs), "main", specs, level=1)


def test_the_second_time_the_artifact_comes_from_disk(request_: Request) -> None:
    first, hit = cache.obtain(request_)
    assert not hit
    second, hit = cache.obtain(request_)
    assert hit
    assert second.object == first.object
    np.testing.assert_array_equal(call(second, [X])[0], -X)


def test_another_request_is_another_entry(request_: Request) -> None:
    cache.obtain(request_)
    assert cache.get(dataclasses.replace(request_, level=2)) is None


@pytest.mark.parametrize("damage", [lambda d: d[:40], lambda d: d[:-1] + bytes([d[-1] ^ 1]), lambda d: b"", lambda d: b"x" * len(d)])
def test_a_damaged_entry_is_reported_and_compiled_anew(request_: Request, damage, caplog: pytest.LogCaptureFixture) -> None:
    cache.obtain(request_)
    (path,) = cache.folder().iterdir()
    path.write_bytes(damage(path.read_bytes()))
    with caplog.at_level(logging.WARNING, "tierup.cache"):
        artifact, hit = cache.obtain(request_)
    assert not hit
    assert "damaged" in caplog.text
    np.testing.assert_array_equal(call(artifact, [X])[0], -X)
    assert cache.obtain(request_)[1]


def test_switched_off_nothing_is_read_or_written(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    assert not cache.obtain(request_)[1]
    assert not cache.obtain(request_)[1]
    assert not cache.folder().exists()


def test_a_folder_that_cannot_be_written_is_reported(request_: Request, tmp_path, monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "file" / "below"))
    with caplog.at_level(logging.WARNING, "tierup.cache"):
        artifact, hit = cache.obtain(request_)
    assert not hit
    assert "cannot write" in caplog.text
    np.testing.assert_array_equal(call(artifact, [X])[0], -X)


def test_the_least_recently_used_go_first(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact, _ = cache.obtain(request_)
    monkeypatch.setattr(cache, "_MOST_BYTES", 0)
    cache.put(dataclasses.replace(request_, level=2), artifact)
    assert list(cache.folder().iterdir()) == []


def test_a_hit_needs_no_mlir(request_: Request) -> None:
    cache.obtain(request_)
    code = (
        "import pickle, sys\n"
        f"request = pickle.loads({__import__('pickle').dumps(request_)!r})\n"
        "from tierup.lowering.objects import cache\n"
        "assert cache.get(request) is not None\n"
        "assert not any(m.startswith('torch_mlir') for m in sys.modules), 'MLIR was loaded'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_a_killed_process_left_is_swept_up(request_: Request) -> None:
    cache.obtain(request_)
    old, young = cache.folder() / "old.new", cache.folder() / "young.new"
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    cache.obtain(dataclasses.replace(request_, level=2))
    assert not old.exists()
    assert young.exists()


def test_processes_that_write_the_same_entry_at_once_leave_it_whole(request_: Request) -> None:
    code = (
        "from tierup.lowering.objects import cache\n"
        "for _ in range(200):\n"
        "    cache.write('entry', b'x' * 100_000)\n"
        "    assert cache.read('entry') == b'x' * 100_000\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [p.wait() for p in running] == [0, 0, 0]
    assert [p.name for p in cache.folder().iterdir()] == ["entry.artifact"]


def test_the_compilers_libraries_are_part_of_every_name() -> None:
    found = cache.environment()
    assert "libTorchMLIRAggregateCAPI" in found and "llvmlite" in found and "no torch_mlir" not in found
    assert cache._installed("no_such_package") == "no no_such_package"
