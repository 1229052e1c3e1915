"""NVIDIA's libdevice in kernels: where it is better than our own math, or the only one; and what is said where it is not installed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import request_of
from fake_driver import FakeDriver, Launched
from llvmlite import binding as llvm
from thread_emulator import EmulatedModule, emulated

from benchmarks.math_functions import ulps
from tierup.lowering.cuda import cached
from tierup.lowering.cuda.assembling import libdevice, linking, ptxas, toolkit
from tierup.lowering.cuda.assembling import ptx as ptx_module
from tierup.lowering.cuda.compile import compile as compile_cuda
from tierup.lowering.cuda.targets import target
from tierup.lowering.cuda.transforms.math_to_libdevice import BETTER
from tierup.runtime.cuda.device.devices import Device
from tierup.runtime.cuda.plan import CudaPlan

_FOUND = libdevice.find()  # this machine's, before tests put in theirs
needs_it = pytest.mark.skipif(_FOUND is None, reason="NVIDIA's libdevice is not installed")
_SMALL = """define float @__nv_fmodf(float %x, float %y) {
  %r = frem float %x, %y
  ret float %r
}
define float @__nv_unused(float %x) {
  ret float %x
}"""


@pytest.fixture(autouse=True)
def _emulated(api: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TIERUP_CACHE", "0")
    with emulated(api):
        yield


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A library of one function."""
    path = tmp_path / "nvvm" / "libdevice" / "libdevice.10.bc"
    path.parent.mkdir(parents=True)
    path.write_bytes(llvm.parse_assembly(_SMALL).as_bitcode())
    return path


def left(x, y):
    return np.fmod(x, y) * 1.0


def of_remainders(dtype: Any) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = np.concatenate([rng.standard_normal(500) * 10.0 ** rng.integers(-30, 30, 500), [0.0, -0.0, np.inf, np.nan, 5.0, -5.0, 1e38, 3e-42]])
    y = np.concatenate([rng.standard_normal(500) * 10.0 ** rng.integers(-30, 30, 500), [3.0, 3.0, 2.0, 1.0, 0.0, np.inf, 3e-40, 1e-44]])
    with np.errstate(all="ignore"):
        return x.astype(dtype), y.astype(dtype)


def run(on: Device, artifact: Any, *flat: Any) -> Any:
    outcome = CudaPlan(artifact, on).run(flat, {})
    assert outcome.site == 0
    return outcome.results[0]


def test_functions_are_linked_from_the_library_as_far_as_they_are_called(on: Device, small: Path) -> None:
    x, y = of_remainders("f4")
    artifact = compile_cuda(request_of(left, (np.ones_like(x), np.ones_like(y))), library=small)
    assert artifact.linked == ("__nv_fmodf",) and ".extern" not in artifact.ptx and "unused" not in artifact.ptx and ".func" not in artifact.ptx
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(run(on, artifact, x, y), np.fmod(x, y))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
def test_without_the_library_remainders_are_ours_and_exact(on: Device, dtype: str) -> None:
    x, y = of_remainders(dtype)
    artifact = compile_cuda(request_of(left, (np.ones_like(x), np.ones_like(y))))
    with np.errstate(all="ignore"):
        found, expected = run(on, artifact, x, y), np.fmod(x, y)
    np.testing.assert_array_equal(found, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(found[known]), np.signbit(expected[known]))
    assert not artifact.linked and ".extern" not in artifact.ptx


def test_a_function_that_the_library_has_not_never_reaches_the_assembler(small: Path) -> None:
    text = "declare float @__nv_tanhf(float)\ndefine ptx_kernel void @k(ptr %p) {\n %r = call float @__nv_tanhf(float 1.0)\n" \
           " store float %r, ptr %p\n ret void\n}"  # fmt: skip
    with pytest.raises(linking.Unresolved, match="__nv_tanhf: .* has no such function"):
        ptx_module.emit(text, target("sm_80"), library=small)
    with pytest.raises(linking.Unresolved, match="__nv_tanhf needs NVIDIA's libdevice"):
        ptx_module.emit(text, target("sm_80"))


def test_code_on_disk_is_of_the_library_that_it_was_linked_with(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TIERUP_CACHE", "1")
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(toolkit, "_folders", lambda: iter([tmp_path]))
    x, y = of_remainders("f4")
    request = request_of(left, (np.ones_like(x), np.ones_like(y)))
    assert cached.obtain(request, "sm_80")[1] is False
    assert cached.obtain(request, "sm_80")[1] is True and cached.get(request, "sm_80") is not None
    assert cached.get(request, "sm_80", libraries=False) is None
    small.write_bytes(llvm.parse_assembly(_SMALL + "\ndefine void @__nv_more() {\n ret void\n}").as_bitcode())
    assert cached.get(request, "sm_80") is None


_FUNCTIONS: dict[str, Any] = {
    "atan": np.arctan, "atan2": np.arctan2, "cos": np.cos, "cosh": np.cosh, "erf": np.vectorize(math.erf, otypes=[float]), "exp2": np.exp2,
    "log": np.log, "log10": np.log10, "log1p": np.log1p, "log2": np.log2, "remf": np.fmod, "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "sinh": np.sinh,
    "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip


_NAMES, _OF_TWO = {"remf": "fmod"}, ("atan2", "remf")


def _calls(type_: str, names: list[str]) -> str:
    """A kernel whose thread i calls all of these functions of x[i] (and y[i]), and writes what they give one after the other."""
    suffix, body, declared = "f" if type_ == "float" else "", [], []
    for number, name in enumerate(names):
        given = ["%xi", "%yi"][: 2 if name in _OF_TWO else 1]
        name = _NAMES.get(name, name)
        declared.append(f"declare {type_} @__nv_{name}{suffix}({', '.join([type_] * len(given))})")
        body += [f"%r{number} = call {type_} @__nv_{name}{suffix}({', '.join(f'{type_} {v}' for v in given)})",
                 f"%n{number} = add i32 %first, {number}",
                 f"%p{number} = getelementptr {type_}, ptr %out, i32 %n{number}", f"store {type_} %r{number}, ptr %p{number}"]
    loads = [line for v in "xy" for line in (f"%{v}p = getelementptr {type_}, ptr %{v}, i32 %i", f"%{v}i = load {type_}, ptr %{v}p")]
    lines = ["%i = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()", f"%first = mul i32 %i, {len(names)}", *loads, *body, "ret void"]
    return "\n".join([*declared, "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()", "define ptx_kernel void @k(ptr %x, ptr %y, ptr %out) {",
                      *lines, "}"])  # fmt: skip


@needs_it
@pytest.mark.parametrize("type_", ["float", "double"])
def test_functions_of_the_library_are_within_the_bound_in_which_tiers_agree(type_: str) -> None:
    dtype = np.dtype("f4" if type_ == "float" else "f8")
    rng = np.random.default_rng(5)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1e-40, 1e30, 5.0]
    x = np.concatenate([rng.standard_normal(200), rng.uniform(-30, 30, 200), 10.0 ** rng.uniform(-30, 30, 190), special]).astype(dtype)
    y = rng.permutation(x)
    names = list(BETTER["f" + str(8 * dtype.itemsize)])
    emitted = ptx_module.emit(_calls(type_, names), target("sm_80"), want_ir=True, library=_FOUND)
    assert len(emitted.linked) == len(names)
    out = np.empty((x.size, len(names)), dtype)
    addresses = [a.ctypes.data.to_bytes(8, "little") for a in (x, y, out)]
    EmulatedModule(emitted.ir).launch(Launched("k", (1, 1, 1), (x.size, 1, 1), 0, addresses))
    wide = np.float64 if type_ == "float" else np.longdouble
    with np.errstate(all="ignore"):
        for name, got in zip(names, out.T, strict=True):
            worst = ulps(got, _FUNCTIONS[name](*(v.astype(wide) for v in (x, y)[: 2 if name in _OF_TWO else 1])))
            assert worst.max() <= 2.5, f"{name}({x[worst.argmax()]!r}) = {got[worst.argmax()]!r}: {worst.max():.2f} ulp"


def test_the_choice_is_the_one_that_the_figures_in_the_docs_give() -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "math-accuracy.md"
    rows = [line.strip("| \n").split(" | ") for line in page.read_text().partition("<!-- cuda:")[2].splitlines() if line.startswith("| ")][1:]
    assert len(rows) == 52
    for name, dtype, *figures, used in rows:
        ours, our_doubles, _, theirs, doubles, _, ulp = map(int, figures)
        cheaper = 2 * theirs <= ours or 2 * doubles <= our_doubles != 0
        better = cheaper and ulp <= 2 and name != "cbrt"  # which no op of PyTorch becomes
        assert (used == "libdevice") == better == (name in BETTER[dtype]), f"{name} of {dtype}"


@needs_it
def test_what_is_linked_assembles_without_spills_and_remainders_are_exact(on: Device) -> None:
    for dtype in ("f4", "f8"):
        x, y = of_remainders(dtype)
        request = request_of(left, (np.ones_like(x), np.ones_like(y)))
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(run(on, compile_cuda(request, library=_FOUND), x, y), np.fmod(x, y))
        if ptxas.find() is not None:
            for name in ("sm_80", "sm_90"):
                all_others = _calls({"f4": "float", "f8": "double"}[dtype], list(BETTER[f"f{8 * x.itemsize}"]))
                for ptx in (compile_cuda(request, name, library=_FOUND).ptx, ptx_module.emit(all_others, target(name), library=_FOUND).ptx):
                    for kernel in ptxas.assemble(ptx, name).report:
                        assert kernel.spill_stores == kernel.spill_loads == 0
