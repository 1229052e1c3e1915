"""Loaded code: how long it lives, and what is left of it afterwards."""

from __future__ import annotations

import ctypes
import gc
import os
import shutil
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path

import numpy as np
import pytest

from tierup.lowering.artifacts import load
from tierup.lowering.base import abi, llvm
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Artifact, Request
from tierup.lowering.compiling.compile import compile
from tierup.lowering.objects import perf_map

T = "!torch.vtensor<[3],f32>"
TEXT = f"func.func @main(%x: {T}) -> {T} {{\n  %0 = torch.aten.tanh %x : {T} -> {T}\n  return %0 : {T}\n}}"


@pytest.fixture(scope="module")
def artifact() -> Artifact:
    return compile(Request(TEXT, "main", (ArgumentSpec(ArgumentKind.ARRAY, "f32", (3,)),), level=1))


def run(code: load.NativeCode) -> np.ndarray:
    x, out, sizes = np.array([0.0, 0.5, -2.0], np.float32), np.empty(3, np.float32), np.array([3])
    argument = abi.Argument(x.ctypes.data, sizes.ctypes.data, np.array(x.strides).ctypes.data)
    result = abi.Result(out.ctypes.data, sizes.ctypes.data)
    kernel = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(code.address)
    assert kernel(ctypes.addressof(argument), ctypes.addressof(result)) == 0
    np.testing.assert_allclose(out, np.tanh(x), rtol=1e-6)
    return out


def test_code_is_counted_while_it_is_loaded_and_close_is_idempotent(artifact: Artifact) -> None:
    gc.collect()  # what an earlier test left
    before = load.count()
    codes = [load.load(artifact) for _ in range(3)]
    assert load.count() == before + 3 and len({c.address for c in codes}) == 3
    codes[0].close()
    codes[0].close()
    assert load.count() == before + 2 and codes[0].address == 0
    run(codes[1])
    gone = weakref.ref(codes.pop())
    assert gone() is None and load.count() == before + 1
    codes[1].close()
    assert load.count() == before


def test_a_missing_symbol_leaves_nothing_loaded(artifact: Artifact) -> None:
    gc.collect()  # what an earlier test left
    before = load.count()
    text = "declare i32 @is_nowhere()\ndefine i32 @kernel() {\n  %r = call i32 @is_nowhere()\n  ret i32 %r\n}"
    with pytest.raises(RuntimeError, match="tierup:kernel"):
        load.load(Artifact(llvm.emit(text, target="", level=1).object, "kernel", (), ()))
    with pytest.raises(ValueError, match="no function 'other'"):
        load.load(Artifact(artifact.object, "other", (), ()))
    assert load.count() == before


PROGRAM = """
import os, sys
import numpy as np, tierup

@tierup.jit
def first(x):
    return np.tanh(x) * 2

@tierup.jit
def second(x, n: int):
    return np.exp(x[:n])

for size in (3, 3, 5, 5):
    first(np.ones(size))
for _ in range(2):
    second(np.ones((2, 2), np.float32), 1)
child = os.fork()
if not child:
    first(np.ones(7))
    first(np.ones(7))
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
print(os.getpid(), child, *(hex(v.record.address)[2:] for f in (first, second) for v in f.versions))
"""


def test_perf_finds_each_kernel_by_function_and_version(tmp_path: Path) -> None:
    (tmp_path / "p.py").write_text(PROGRAM)
    environment = {**os.environ, perf_map.VARIABLE: "map", "TIERUP_CACHE_DIR": str(tmp_path / "cache")}
    ran = subprocess.run([sys.executable, str(tmp_path / "p.py")], env=environment, capture_output=True, text=True, check=True)
    parent, child, *addresses = ran.stdout.split()
    paths = [perf_map.path(int(pid)) for pid in (parent, child)]
    try:
        lines, of_child = (path.read_text().splitlines() for path in paths)
    finally:
        for path in paths:
            path.unlink(missing_ok=True)
    parts = [line.split(" ", 2) for line in lines]
    kernels = {name: start for start, _, name in parts if not name.startswith("tierup:dispatcher")}
    assert list(kernels) == ["tierup:first:f64[3]", "tierup:first:f64[5]", "tierup:second:f32[2,2],int=1"]
    assert list(kernels.values()) == addresses
    assert {"tierup:dispatcher", "tierup:dispatcher:call_flat"} <= {name for _, _, name in parts}
    spans = sorted((int(start, 16), int(start, 16) + int(size, 16)) for start, size, _ in parts)
    assert all(start < end for start, end in spans) and all(end <= after for (_, end), (after, _) in zip(spans, spans[1:], strict=False))
    assert of_child[: len(lines)] == lines and of_child[-1].endswith("tierup:first:f64[s0]")


@pytest.mark.parametrize("planted", ["a symbolic link", "a FIFO", "a file that others can write", "a second name of a file"])
def test_what_somebody_planted_where_perf_looks_is_not_written_to(planted: str) -> None:
    victim = Path(tempfile.mkdtemp(dir="/tmp")) / "victim"  # where a second name of it can stand there
    victim.write_text("as it was\n")
    code = (
        "import os, sys, numpy as np, tierup\n"
        "from tierup.lowering.objects import perf_map\n"
        "place, (kind, victim) = perf_map.path(os.getpid()), sys.argv[1:]\n"
        "print(place, flush=True)\n"
        "if kind == 'a symbolic link': place.symlink_to(victim)\n"
        "elif kind == 'a FIFO': os.mkfifo(place)\n"
        "elif kind == 'a second name of a file': os.link(victim, place)\n"
        "else: place.write_text('as it was\\n'), place.chmod(0o666)\n"
        "perf_map._write(b'1000 10 mine\\n')\n"
    )
    environment = {**os.environ, perf_map.VARIABLE: "map"}
    ran = subprocess.run([sys.executable, "-c", code, planted, str(victim)], env=environment, capture_output=True, text=True, timeout=300)
    place = Path(ran.stdout.strip())
    try:
        assert ran.returncode == 0 and "cannot write" in ran.stderr, ran.stderr
        assert victim.read_text() == "as it was\n"
        assert planted != "a file that others can write" or place.read_text() == "as it was\n"
    finally:
        place.unlink()
        shutil.rmtree(victim.parent)


@pytest.mark.parametrize("value", ["", "0", "dump"])
def test_nothing_is_written_unless_it_is_asked_for(
    value: str, artifact: Artifact, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(perf_map.VARIABLE, value)
    perf_map._enabled.cache_clear()  # what is said once a process may have been said
    load.load(artifact).close()
    assert not perf_map.path(os.getpid()).exists()
    assert ("there is only TIERUP_PERF=map" in caplog.text) is (value == "dump")
