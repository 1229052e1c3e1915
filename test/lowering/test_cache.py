"""The object cache: hits, misses, damage, and being switched off."""

from __future__ import annotations

import dataclasses
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from kernel_harness import call, spec_of, typed

import tierup
from tierup.lowering.artifacts import cache, encoding, places
from tierup.lowering.base.abi import Request
from tierup.lowering.compiling.compile import compile
from tierup.lowering.cuda.compile import compile as compile_for_device
from tierup.lowering.objects import store

X = np.arange(6, dtype=np.float32)
BODY = """
  %r = torch.aten.neg %a0 : !torch.vtensor -> !torch.vtensor
  return %r : !torch.vtensor"""


@pytest.fixture
def request_() -> Request:
    specs = (spec_of(X),)
    return Request(typed(BODY, specs), "main", specs, level=1)


def entries() -> list[Path]:
    return sorted(Path(store.folder()).glob("*" + store.SUFFIX))


def entry(request: Request) -> Path:
    return Path(store.folder()) / (cache.key(request).name + store.SUFFIX)


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
    path = entry(request_)
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
    assert not Path(store.folder()).exists()


def test_a_folder_that_cannot_be_written_is_reported(request_: Request, tmp_path, monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "file" / "below"))
    with caplog.at_level(logging.WARNING, "tierup.cache"):
        artifact, hit = cache.obtain(request_)
    assert not hit
    assert "is no folder" in caplog.text
    np.testing.assert_array_equal(call(artifact, [X])[0], -X)


def test_the_least_recently_used_go_first(request_: Request, monkeypatch: pytest.MonkeyPatch) -> None:
    artifact, _ = cache.obtain(request_)
    monkeypatch.setenv("TIERUP_CACHE_SIZE", "0")
    cache.put(dataclasses.replace(request_, level=2), artifact)
    assert entries() == []


def test_a_hit_needs_no_mlir(request_: Request) -> None:
    cache.obtain(request_)
    code = (
        "import sys\n"
        "from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout, Request\n"
        "from tierup.lowering.artifacts import cache\n"
        f"request = Request({request_.ir!r}, 'main', (ArgumentSpec(ArgumentKind.ARRAY, 'f32', (6,)),), level=1)\n"
        "assert cache.get(request) is not None\n"
        "assert not any(m.startswith('torch_mlir') for m in sys.modules), 'MLIR was loaded'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_a_killed_process_left_is_swept_up(request_: Request) -> None:
    Path(store.folder()).mkdir(mode=0o700)
    old, young = (Path(store.folder()) / name for name in ("old.new", "young.new"))
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    cache.obtain(request_)
    assert not old.exists()
    assert young.exists()


def test_processes_that_write_the_same_entry_at_once_leave_it_whole() -> None:
    code = (
        "from tierup.lowering.objects import store\n"
        "for _ in range(200):\n"
        "    store.write('entry', b'x' * 100_000)\n"
        "    assert store.read('entry') == b'x' * 100_000\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(3)]
    assert [p.wait() for p in running] == [0, 0, 0]
    assert sorted(p.name for p in Path(store.folder()).iterdir()) == ["entry.artifact", "key"]


def test_entries_that_were_swapped_give_nobody_the_other_functions_results(request_: Request, caplog: pytest.LogCaptureFixture) -> None:
    other = dataclasses.replace(request_, ir=request_.ir.replace("aten.neg", "aten.abs"))
    cache.obtain(request_), cache.obtain(other)
    one, two = entry(request_), entry(other)
    swapped = one.read_bytes(), two.read_bytes()
    two.write_bytes(swapped[0]), one.write_bytes(swapped[1])
    with caplog.at_level(logging.WARNING, "tierup.cache"):
        made = [cache.obtain(request_), cache.obtain(other)]
    assert [from_disk for _, from_disk in made] == [False, False] and caplog.text.count("not written under this name") == 2
    np.testing.assert_array_equal(call(made[0][0], [X])[0], -X)
    np.testing.assert_array_equal(call(made[1][0], [X])[0], abs(X))
    assert cache.obtain(request_)[1] and cache.obtain(other)[1]


@pytest.mark.parametrize("kept", [b"", b"x", encoding.dumps(((), "a text")), encoding.dumps("a text"), encoding.dumps(((("f", 1),), 3))])
def test_an_entry_of_another_kind_is_compiled_anew(kept: bytes, request_: Request, caplog: pytest.LogCaptureFixture) -> None:
    """Written with the folder's key, as another version of tierup might."""
    store.write(cache.key(request_).name, kept)
    with caplog.at_level(logging.WARNING, "tierup.cache"):
        assert not cache.obtain(request_)[1]
    assert "compiled anew" in caplog.text
    assert cache.obtain(request_)[1]


def test_all_that_a_compile_gives_comes_back_as_it_was(request_: Request) -> None:
    """Code for the CPU and for a device, with exits, sizes that are computed and numbers of all kinds."""
    for made in (cache.obtain(request_)[0], compile_for_device(request_, "sm_80")):
        assert encoding.loads(encoding.dumps(made)) == made


def program(x, n: int):
    y, s = np.tanh(x), 0.0
    for i in range(n):
        if y[i] > 0.2:
            s = s + float(y[i])
    return np.cumsum(y)[n] * s + np.exp(x @ x)


@pytest.mark.parametrize("target", ["", "sm_80"])
def test_code_that_was_moved_is_the_code_that_a_compile_there_gives(target: str) -> None:
    """Nothing in code hangs on where its program stands, but for the places that it names, and these are moved, all of them."""
    f = tierup.jit(program)
    for _ in range(2):
        f(np.full(5, 0.5), 3)
    request = f.versions[0].compiled.request
    here = places.placed(request.ir).places
    there = tuple(("/another/file.py", 7 * line + 1000) for _, line in here)
    elsewhere = dataclasses.replace(request, ir=places.moved_text(request.ir, here, there))
    assert cache.key(elsewhere).name == cache.key(request).name
    one, two = (compile_for_device(r, target) if target else compile(r) for r in (request, elsewhere))
    one, two = (dataclasses.replace(made, timings_ms={}) for made in (one, two))
    assert len({site.location for site in two.error_sites}) >= 2 and repr(one) != repr(two)
    assert places.moved(one, here, there) == two
