"""Objects in memory: what their relocations mean, where they lie, what a debugger sees, what is left of them."""

from __future__ import annotations

import ctypes
import mmap
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tierup.lowering.base import llvm
from tierup.lowering.objects import debuggers, elf, linking

# data that is written, and not, and of no size; tables of addresses and of jumps; functions inside and outside; what the process exports
TEXT = """
@count = global i64 5
@hidden = internal global [3 x i64] zeroinitializer
@table = internal constant [2 x ptr] [ptr @twice, ptr @thrice]
@nothing = internal constant [0 x double] zeroinitializer, section ".rodata.nothing"
@elsewhere = external global i64
declare i64 @given(i64)
declare i64 @labs(i64)
define internal i64 @twice(i64 %x) noinline {
  %y = mul i64 %x, 2
  ret i64 %y
}
define internal i64 @thrice(i64 %x) noinline {
  %y = mul i64 %x, 3
  ret i64 %y
}
define double @third(i64 %i) {
  %x = sitofp i64 %i to double
  %y = fdiv double %x, 3.0
  ret double %y
}
define i64 @kernel(i64 %i) {
  %n = load i64, ptr @count
  %n1 = add i64 %n, 1
  store i64 %n1, ptr @count
  %bit = and i64 %i, 1
  %at = getelementptr [2 x ptr], ptr @table, i64 0, i64 %bit
  %f = load ptr, ptr %at
  %a = call i64 %f(i64 %i)
  %b = call i64 @given(i64 %a)
  %far = load i64, ptr @elsewhere
  %slot = getelementptr [3 x i64], ptr @hidden, i64 0, i64 %bit
  %old = load volatile i64, ptr %slot
  %new = add i64 %old, 100
  %empty = ptrtoint ptr @nothing to i64
  store volatile i64 %empty, ptr %slot
  store volatile i64 %new, ptr %slot
  %minus = sub i64 0, %b
  %plus = call i64 @labs(i64 %minus)
  switch i64 %i, label %other [ i64 0, label %one
    i64 1, label %two
    i64 2, label %three
    i64 3, label %four
    i64 4, label %five ]
one: ret i64 %far
two: ret i64 %plus
three: ret i64 %n
four: ret i64 %new
five: ret i64 %b
other: ret i64 -1
}
"""
GIVEN = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: x + 1000)
ELSEWHERE = ctypes.c_int64(77)
EXTERNAL = {"given": ctypes.cast(GIVEN, ctypes.c_void_p).value or 0, "elsewhere": ctypes.addressof(ELSEWHERE)}
EXPORTED = ("kernel", "count", "third")
on_x86 = pytest.mark.skipif(platform.machine() != "x86_64" or sys.platform != "linux", reason="elsewhere LLVM links")


@pytest.fixture(scope="module")
def image() -> bytes:
    return llvm.emit(TEXT, target="", level=0).object


def check(code: linking.Linked | linking.LinkedByLLVM) -> None:
    kernel = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(code["kernel"])
    assert [kernel(i) for i in (0, 1, 2, 3, 4, 9)] == [77, 1003, 7, 200, 1008, -1]
    assert ctypes.c_int64.from_address(code["count"]).value == 11
    assert ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_int64)(code["third"])(1) == 1 / 3


def test_all_that_objects_refer_to_is_found_and_each_has_data_of_its_own(image: bytes) -> None:
    codes = [linking.link(image, EXTERNAL, EXPORTED) for _ in range(2)]
    for code in codes:
        check(code)


def test_other_machines_have_llvm_link(image: bytes) -> None:
    code = linking.LinkedByLLVM(image, EXTERNAL, EXPORTED)
    check(code)
    code.close()


@on_x86
def test_every_kind_of_relocation_occurs_in_the_test(image: bytes) -> None:
    kinds = {kind for _, some in elf.Object(image).relocations for kind in some["kind"].tolist()}
    assert {linking._PC32, linking._PLT32, linking._64} < kinds and kinds & set(linking._GOT)


@on_x86
def test_code_is_not_writable_and_data_is_not_executable(image: bytes) -> None:
    code = linking.link(image, EXTERNAL, EXPORTED)
    places = [line.split() for line in Path("/proc/self/maps").read_text().splitlines()]
    for name, rights in (("kernel", "r-xp"), ("third", "r-xp"), ("count", "rw-p")):
        (found,) = [p[1] for p in places if int(p[0].split("-")[0], 16) <= code[name] < int(p[0].split("-")[1], 16)]
        assert found == rights


@on_x86
def test_closed_code_is_out_of_memory_and_closing_again_does_nothing(image: bytes) -> None:
    size = elf.Object(image).sections and linking._planned(elf.Object(image)).size
    before = mapped()
    codes = [linking.link(image, EXTERNAL, EXPORTED) for _ in range(200)]
    assert mapped() - before >= 200 * size
    for code in codes[:100]:
        code.close()
        code.close()
    del codes, code
    assert mapped() - before < 20 * size  # Python's own memory may grow or shrink a little


def mapped() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * mmap.PAGESIZE


def test_what_cannot_be_linked_says_why_and_leaves_nothing_mapped(image: bytes) -> None:
    with pytest.raises(RuntimeError, match="given"):
        linking.link(image, {}, EXPORTED)
    with pytest.raises(ValueError, match="no function 'absent'"):
        linking.link(image, EXTERNAL, ("absent",))


@on_x86
def test_damaged_objects_are_refused_or_linked_but_never_written_beyond(image: bytes) -> None:
    """Damage is of headers and tables: what the code itself says, nobody can tell."""
    rng, read = np.random.default_rng(0), elf.Object(image)
    tables = [s for s in read.sections if s.kind in (elf.SYMTAB, elf.RELA)]
    header = len(image) - len(read.sections) * 64
    spans = [(0, 64), (header, len(image)), *((s.offset, s.offset + s.size) for s in tables)]
    refused = 0
    for _ in range(400):
        made = bytearray(image)
        low, high = spans[rng.integers(len(spans))]
        for at in rng.integers(low, high, rng.integers(1, 4)):
            made[at] = rng.integers(256)
        try:
            linking.link(bytes(made), EXTERNAL, EXPORTED).close()
        except (ValueError, RuntimeError, OSError):
            refused += 1
    assert refused > 100


SCATTERED = """
import ctypes, mmap, sys
import numpy as np
sys.path.insert(0, {folder!r})
libc = ctypes.CDLL(None)
libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
def taken(size, at=None):
    return libc.mmap(at, size, 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, -1, 0)  # PROT_NONE, MAP_NORESERVE
def scatter():
    "All gaps above the heap are taken, but for single pages 3 GB apart: whoever asks for these one by one gets them so."
    top = taken(64 << 30)
    for _ in range(3):  # Python itself may give memory back meanwhile
        places = sorted(tuple(int(x, 16) for x in line.split()[0].split("-")) for line in open("/proc/self/maps"))
        for (_, end), (begin, _) in zip(places, places[1:]):
            if end >= top and begin - end < 1 << 36:
                taken(begin - end, end)
    for i in range(1, 20):
        assert not libc.munmap(ctypes.c_void_p(top + (i * 3 << 30)), ctypes.c_size_t(mmap.PAGESIZE))
import tierup
f = tierup.jit(lambda x, n: np.tanh(x) * 2.5 + np.cumsum(x * n))
for size in (3, 3, 4, 5, 6, 6):
    if size != 4:
        scatter()
    x = np.arange(1.0, size + 1)
    np.testing.assert_allclose(f(x, 3), np.tanh(x) * 2.5 + np.cumsum(x * 3), rtol=1e-12)
print(f.stats().hits, f.stats().compiles)
"""


@on_x86
@pytest.mark.parametrize("cached", [False, True], ids=["compiled", "from_disk"])
def test_code_runs_in_a_process_whose_free_addresses_lie_gigabytes_apart(cached: bool, tmp_path: Path) -> None:
    """The dispatcher, versions that are compiled, and versions from disk."""
    program = tmp_path / "program.py"
    program.write_text(SCATTERED.format(folder=str(Path(__file__).parents[2])))
    for _ in range(1 + cached):
        env = {"TIERUP_CACHE": str(int(cached)), "TIERUP_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin"}
        ran = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr[-2000:]
        hits, compiles = map(int, ran.stdout.split())
        assert hits >= 2 and compiles >= 2


@on_x86
def test_debuggers_are_told_of_code_with_its_name_and_place_and_that_it_is_gone(image: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def told() -> list[bytes]:
        interface = debuggers._interface()
        assert interface is not None
        found, entry = [], interface[0].first
        while entry:
            found.append(ctypes.string_at(ctypes.c_void_p.from_buffer(entry.contents, debuggers.Entry.object.offset).value, entry.contents.size))
            entry = entry.contents.next
        return found

    monkeypatch.setenv(debuggers.VARIABLE, "0")
    before = told()
    quiet = linking.link(image, EXTERNAL, EXPORTED)
    assert told() == before
    monkeypatch.setenv(debuggers.VARIABLE, "1")
    codes = [linking.link(image, EXTERNAL, EXPORTED, {"kernel": f"tierup:f{i}"}) for i in range(3)]
    assert len(told()) == len(before) + 3
    for i, code in enumerate(codes):
        shown = elf.Object(told()[2 - i])  # the newest is first
        (kernel,) = [f for f in shown.functions() if f.name == f"tierup:f{i}"]
        assert shown.sections[kernel.section].address + kernel.offset == code["kernel"]
    kept = told()[1:3]
    codes[2].close()
    assert told() == [*kept, *before]
    codes[0].close()
    assert told() == [kept[0], *before]
    codes[1].close()
    assert told() == before
    check(quiet)
