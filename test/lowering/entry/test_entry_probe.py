"""The self-probe: what is not as expected becomes a reason, never a crash."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tierup.lowering.entry import jit as entry_jit
from tierup.lowering.entry import layout as entry_layout
from tierup.lowering.entry import probe as entry_probe


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    entry_probe._probe.cache_clear()
    yield
    entry_probe._probe.cache_clear()  # the next test of this process is not told what was wrong on purpose


@pytest.mark.parametrize(("name", "wrong", "what"), [
    ("ARRAY_ND", 28, "array rank"), ("ARRAY_DATA", 48, "array data"), ("ARRAY_DIMS", 40, "array sizes"), ("ARRAY_STRIDES", 32,
    "array strides"),
    ("ARRAY_DESCR", 48, "array dtype"), ("ARRAY_FLAGS", 24, "array flags"), ("DESCR_BYTEORDER", 24, "dtype order"), ("DESCR_TYPE_NUM",
    32, "dtype number"),
    ("OB_REFCNT", 8, "reference count"), ("OB_TYPE", 0, "type"), ("FLOAT_VALUE", 8, "float"), ("TUPLE_ITEMS", 16, "tuple items"),
    ("LONG_DIGITS", 20, "int digits"),
    ("LONG_TAG", 8, "int 5"), ("OB_SIZE", 0, "tuple size"), ("TYPE_BASICSIZE", 40, "basicsize"),
])  # fmt: skip
def test_a_wrong_offset_is_named(monkeypatch: pytest.MonkeyPatch, name: str, wrong: int, what: str) -> None:
    monkeypatch.setattr(entry_layout, name, wrong)
    reason = entry_probe.unavailable()
    assert reason is not None and reason.startswith(what)


@pytest.mark.parametrize(("field", "wrong"), [("count_bits", {32: 64, 64: 32}), ("tagged_ints", {True: False, False: True})])
def test_what_a_release_says_is_tried(monkeypatch: pytest.MonkeyPatch, field: str, wrong: dict[object, object]) -> None:
    release = entry_layout.RELEASE
    monkeypatch.setattr(entry_layout, "RELEASE", release._replace(**{field: wrong[getattr(release, field)]}))
    assert str(entry_probe.unavailable()).startswith(("None is immortal", "int 5"))


def test_an_untried_python_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(entry_layout.RELEASES, sys.version_info[:2])
    assert str(entry_probe.unavailable()).endswith(f", this is {sys.version.split()[0]}")


def test_free_threaded_builds_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entry_probe.sysconfig, "get_config_var", lambda name: name == "Py_GIL_DISABLED")
    assert "free-threaded" in str(entry_probe.unavailable())


def test_a_compiler_that_fails_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise RuntimeError("no target for this machine")

    monkeypatch.setattr(entry_jit, "_code", None)
    monkeypatch.setattr(entry_jit, "_load", fail)
    assert entry_probe.unavailable() == "RuntimeError: no target for this machine"


def test_wrong_answers_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = entry_jit.code()
    wrong = replace(calls, probe_kernel=_kernel_that_does_nothing())
    monkeypatch.setattr(entry_jit, "_code", wrong)
    assert str(entry_probe.unavailable()).startswith("probe array")


def _kernel_that_does_nothing() -> int:
    from entry_kernels import kernel

    return kernel("done")


def test_the_probe_passes_here() -> None:
    assert entry_probe.unavailable() is None
