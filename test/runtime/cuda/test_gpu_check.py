"""tools/gpu/check.py on a stand-in of the driver: that it sees what is wrong, and says what it found. What it times there means nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_cublas import FakeCublas
from fake_driver import FakeDriver
from thread_emulator import emulated

from tierup.dialect.base import dtypes
from tierup.lowering.cuda.assembling import toolkit
from tierup.lowering.cuda.transforms import products_to_library
from tierup.runtime.cuda import bundle_file
from tierup.runtime.cuda.device import cublas, devices
from tierup.tools.gpu import bundle as gpu_bundle
from tierup.tools.gpu import check as gpu_check
from tierup.tools.gpu import programs as gpu_programs
from tierup.tools.gpu.programs import GpuProgram, arrays_for, error, exact, to_bf16

SMALL = (
    GpuProgram("scale", gpu_programs.scale, "f32[512]", "f32[n]", 1e-6, moved=8 * 512, torch="scale"),
    GpuProgram("small_steps", gpu_programs.small_steps, "f32[64], f32[64]", "", 1e-6, captured=True),
)


PRODUCT = GpuProgram("product", gpu_programs.product, "f32[8x70], f32[70x4]", "", 1e-5, flops=2 * 8 * 70 * 4)


@pytest.fixture
def bundle(api: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    yield from bundle_of(SMALL, api, tmp_path, monkeypatch)


def bundle_of(programs: tuple[GpuProgram, ...], api: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(gpu_check, "PROGRAMS", programs)
    monkeypatch.setattr(gpu_check, "EVEN_AND_ODD", (2, 33))
    monkeypatch.setattr(gpu_check, "_SECONDS_EACH", 0.001)
    monkeypatch.setattr(gpu_check, "_COPY_BYTES", 4096)
    monkeypatch.setattr(gpu_check, "_OFTEN", 2)
    monkeypatch.setenv("TIERUP_CACHE", "0")
    with emulated(api):
        packed = [gpu_bundle.compiled(program, lambda text: None) for program in programs]
        plain = [bundle_file.PackedProgram(p.name, p.arguments, tuple(bundle_file.PackedVersion(v.artifact, {}) for v in p.versions)) for p in packed]
        bundle_file.write(tmp_path / "b.tierup", plain)  # without cubins, which the stand-in cannot run
        yield str(tmp_path / "b.tierup")


def test_what_is_right_is_timed_and_stands_in_the_table(bundle: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_check.main([bundle]) == 0
    said = capsys.readouterr().out
    assert "A stand-in, compute capability 9.0, driver 13000, " in said
    assert "| scale | yes, 3 sizes | 0.0e+00 (1e-06) |" in said and "of the copy" in said
    assert "| small_steps | yes, 1 sizes | " in said


def test_an_element_that_no_kernel_writes_is_seen(bundle: str, api: FakeDriver, capsys: pytest.CaptureFixture[str]) -> None:
    static = next(key for key in api.code if key[0].startswith("scale"))  # the version for 512 elements comes first
    run = api.code[static]

    def leaves_out_the_last(launched: Any) -> None:
        keep = launched.array(len(launched.values) - 1, "u4", 512)[511]
        run(launched)
        launched.array(len(launched.values) - 1, "u4", 512)[511] = keep

    api.code[static] = leaves_out_the_last
    assert gpu_check.main([bundle, "--only", "scale", "--no-timing"]) == 1
    assert "| scale | NO, " in capsys.readouterr().out


def test_a_program_that_fails_is_a_line_of_the_table_and_the_others_go_on(bundle: str, api: FakeDriver, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(launched: Any) -> None:
        raise OSError("a kernel went wrong")

    for name, _ in list(api.code):
        if name.startswith("scale"):
            api.kernels[name] = fails
    assert gpu_check.main([bundle]) == 1
    said = capsys.readouterr().out
    assert "| scale | NO, 0 sizes | inf (1e-06) |  |  |  | OSError: a kernel went wrong |" in said and "| small_steps | yes" in said


def test_products_are_timed_by_our_kernel_and_by_the_library_where_it_is_installed(
    api: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    library = FakeCublas(api)
    monkeypatch.setattr(cublas, "load", library.load)
    monkeypatch.setattr(toolkit, "_folders", lambda: iter(()))
    monkeypatch.setattr(products_to_library, "LEAST_WORK", 1 << 9)
    for path in bundle_of((PRODUCT,), api, tmp_path, monkeypatch):
        assert gpu_check.main([path]) == 0
        said = capsys.readouterr().out
        assert "| product | yes, 1 sizes | " in said and "% of cuBLAS 13.0.2 |" in said and "| product, cuBLAS 13.0.2 | yes, 1 sizes | " in said
        assert library.multiplied and api.launched
        library.names = ()
        devices.forget()
        assert gpu_check.main([path, "--no-timing"]) == 0
        assert "products are not compared with the vendor's library: cuBLAS is not installed" in capsys.readouterr().out


def test_out_of_time_is_said(bundle: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert gpu_check.main([bundle, "--minutes", "0"]) == 0
    assert "| scale | not checked |  |  |  |  | not all checked: out of time |" in capsys.readouterr().out


def test_without_a_bundle_or_a_device_there_is_a_message(tmp_path: Path, api: FakeDriver, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b").write_text("nothing")
    assert gpu_check.main([str(tmp_path / "b")]) == 1
    assert "is no bundle" in capsys.readouterr().err


def test_errors_are_relative_to_the_largest_element_and_infinite_for_nan() -> None:
    expected = np.array([100.0, 1.0])
    assert error(np.array([100.0, 2.0], "f4"), expected) == pytest.approx(0.01)
    assert error(np.array([100.0, np.nan], "f4"), expected) == np.inf and error(np.ones(3), expected) == np.inf
    assert error((expected, expected), (expected, expected + 1)) == pytest.approx(1 / 101)
    assert error(np.ones(0), np.ones(0)) == 0


def test_bf16_is_rounded_as_ml_dtypes_does() -> None:
    values = np.random.default_rng(0).standard_normal(10_000).astype("f4")
    assert np.array_equal(to_bf16(values, dtypes.bf16.numpy), values.astype(dtypes.bf16.numpy))
    without = to_bf16(values, np.dtype([("bfloat16", "<u2")]))  # where ml_dtypes is not installed
    assert np.array_equal(exact(without), values.astype(dtypes.bf16.numpy).astype("f8"))


def test_every_program_has_arguments_for_small_sizes_and_numpys_answer() -> None:
    for program in gpu_programs.PROGRAMS:
        if program.general:
            flat = arrays_for(program.general, {"n": 5, "m": 3, "k": 4}, 0)
            found = program.function(*[exact(a) for a in flat])
            assert np.all(np.isfinite(np.asarray(found)))
        assert program.moved or program.flops or program.name.startswith("small_steps")


def test_a_bundle_of_a_program_that_is_none_is_not_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        gpu_bundle.main(["--only", "no_such_program", "-o", str(tmp_path / "b")])
    assert "choose from" in capsys.readouterr().err and not (tmp_path / "b").exists()
