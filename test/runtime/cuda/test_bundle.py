"""Bundles: written, read back equal, damaged in all ways, and run without a compiler; on a stand-in of the driver."""

from __future__ import annotations

import hashlib
import json
import random
import re
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compiled import artifact_of
from fake_driver import FakeDriver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from thread_emulator import emulated

import tierup
from tierup.dialect.facts import dims
from tierup.lowering.artifacts.bundle import BundleError
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.artifacts.host_steps import Constant, HostProgram
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, ErrorSite, Layout, ResultKind, ResultSpec, stride_symbol
from tierup.runtime.base.errors import PlanError
from tierup.runtime.cuda import bundle_file
from tierup.runtime.cuda.arrays.arrays import DeviceArray, put
from tierup.runtime.cuda.bundle import load_plans
from tierup.runtime.cuda.bundle_file import PackedProgram, PackedVersion
from tierup.runtime.cuda.device.devices import Device
from tierup.runtime.cuda.errors import NoDevice


def f32(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype("f4")


def _bare(artifact: CudaArtifact) -> CudaArtifact:
    """Without what a bundle has no place for."""
    return replace(artifact, stages={}, timings_ms={})


def _program(*artifacts: CudaArtifact, name: str = "f", cubins: dict[str, bytes] | None = None) -> PackedProgram:
    names = tuple(f"a{i}" for i in range(len(artifacts[0].arguments)))
    return PackedProgram(name, names, tuple(PackedVersion(_bare(a), cubins or {}) for a in artifacts))


@pytest.fixture(scope="module")
def artifact() -> CudaArtifact:
    calls = [(f32(n, 4), f32(n, 4)[1:].copy(), 2.5) for n in range(5, 9)]
    return _bare(artifact_of(lambda x, y, k: ((x[1:] + y) * k, x[1:, ::2], k), *calls))


@pytest.fixture
def path(tmp_path: Path, artifact: CudaArtifact) -> Path:
    bundle_file.write(tmp_path / "f.tierup", [_program(artifact, cubins={"sm_80": b"\x7fELF 80", "sm_90": b"\x7fELF 90"})], "a test")
    return tmp_path / "f.tierup"


def test_what_was_written_is_read(path: Path, artifact: CudaArtifact) -> None:
    [program] = bundle_file.read(path)
    assert program == _program(artifact, cubins={"sm_80": b"\x7fELF 80", "sm_90": b"\x7fELF 90"})
    assert artifact.ties and artifact.results[1].kind is ResultKind.VIEW and artifact.host.types and artifact.host.origins


def test_every_kind_of_part_is_read_as_it_was(tmp_path: Path) -> None:
    s, t = dims.symbol("s0"), dims.symbol("u1", low=0)
    size = dims.maximum(dims.floordiv(s * s * 3 - t + 1, 4), dims.mod(s, t + 2))
    host = HostProgram(
        2, (("constant", 2, 1.5), ("constant", 3, float("-inf")), ("if", 2, (("data", 4, "c"),), ()), ("while", 3, (), (("move", 5, 2),))), (2,), ("k",),
        {"c": Constant("bf16", (2, 0), b"")}, {"k": ("ptr", "f64")}, {"k": "aten.add at f.py:3"},
    )  # fmt: skip
    results = (
        ResultSpec(ResultKind.BUFFER, "f16", (size, 3)), ResultSpec(ResultKind.VIEW, "", (s,), 0, stride_symbol(0, 0) + 1, (stride_symbol(0, 0),)),
        ResultSpec(ResultKind.SCALAR, "int"), ResultSpec(ResultKind.ALIAS, argument=1), ResultSpec(ResultKind.NONE), ResultSpec(ResultKind.ARGUMENT, "f32", (s,), 0),
        ResultSpec(ResultKind.BUFFER, "f32", (s, 3, 4), order=(2, 0, 1), read_only=True),
    )  # fmt: skip
    arguments = (
        ArgumentSpec(ArgumentKind.ARRAY, "f32", ("s0", 3), Layout.STRIDED), ArgumentSpec(ArgumentKind.INT, value="s0"), ArgumentSpec(ArgumentKind.INT, value=3),
        ArgumentSpec(ArgumentKind.FLOAT, value=float("-inf")), ArgumentSpec(ArgumentKind.FLOAT, value=0.1), ArgumentSpec(ArgumentKind.BOOL, value=True), ArgumentSpec(ArgumentKind.INT),
    )  # fmt: skip
    made = CudaArtifact("ptx ä", "sm_70", host, arguments, results, (ErrorSite("op", "f.py:1"),), ((s, t * 2),))
    bundle_file.write(tmp_path / "b", [_program(made), _program(made, name="g")])
    found = bundle_file.read(tmp_path / "b")
    assert [p.name for p in found] == ["f", "g"] and found[0].versions[0].artifact == made
    assert dims.evaluate(found[0].versions[0].artifact.results[0].sizes[0], {"s0": 5, "u1": 2}) == dims.evaluate(size, {"s0": 5, "u1": 2})


# --- what is no bundle ----------------------------------------------------------------------------------------------


def _outcome(path: Path, data: bytes) -> str:
    """"" when the file is read, else what the BundleError says; any other exception is a failure."""
    path.write_bytes(data)
    try:
        bundle_file.read(path)
    except BundleError as e:
        assert str(path) in str(e)
        return str(e)
    return ""


def test_a_foreign_file_a_newer_one_and_a_short_one_are_told_apart(path: Path) -> None:
    data = path.read_bytes()
    assert "is no bundle of tierup's" in _outcome(path, b"PK\3\4" + data)
    assert "is no bundle" in _outcome(path, b"")
    assert "version 2 of the format, and this tierup knows 1 and before" in _outcome(path, data[:8] + struct.pack("<I", 2) + data[12:])
    assert "cut short: 40 bytes" in _outcome(path, data[:40])
    assert "damaged or cut short" in _outcome(path, data[:-1])
    assert "damaged" in _outcome(path, data + b"\0")


def test_a_change_of_any_byte_is_noticed(path: Path) -> None:
    data = path.read_bytes()
    rng = random.Random(1)
    for at in [*range(64), *rng.sample(range(len(data)), 300)]:
        changed = bytearray(data)
        changed[at] ^= 1 << rng.randrange(8)
        assert _outcome(path, bytes(changed)), at


def test_a_cut_anywhere_is_noticed(path: Path) -> None:
    data = path.read_bytes()
    for length in [*range(64), *random.Random(2).sample(range(len(data)), 100)]:
        assert _outcome(path, data[:length]), length


def test_parts_that_make_no_sense_together_and_a_target_of_another_day_are_bundle_errors(path: Path) -> None:
    data = path.read_bytes()
    for change in (
        lambda t: t.replace(b'"target":"sm_80"', b'"target":"sm_999"'),
        lambda t: t.replace(b'"strides":[', b'"strides":[1,1,1,1,'),
        lambda t: t.replace(b'["launch",', b'["launch",1,'),
        lambda t: t.replace(b'"host":{"arguments":5', b'"host":{"arguments":%d' % (1 << 60)),
    ):
        changed = _resealed(data, change)
        assert changed != data
        path.write_bytes(changed)
        with pytest.raises(BundleError, match=re.escape(f"{path} is no bundle that tierup wrote: ")):
            load_plans(path)


def _resealed(data: bytes, change: Any) -> bytes:
    """The bundle with its description changed, and a checksum that is right."""
    length = struct.unpack_from("<Q", data, 48)[0]
    text = change(data[56 : 56 + length])
    body = struct.pack("<Q", len(text)) + text + data[56 + length :]
    return data[:16] + hashlib.sha256(body).digest() + body


def test_a_description_that_makes_no_sense_is_a_bundle_error_though_its_checksum_is_right(path: Path) -> None:
    data, rng, outcomes = path.read_bytes(), random.Random(3), set()
    described = json.loads(data[56 : 56 + struct.unpack_from("<Q", data, 48)[0]])
    places: list[tuple[Any, Any]] = []

    def visit(node: Any) -> None:
        for key, value in list(node.items() if isinstance(node, dict) else enumerate(node)):
            places.append((node, key))
            if isinstance(value, dict | list):
                visit(value)

    visit(described)
    for node, key in rng.sample(places, 60):
        kept = node[key]
        for wrong in (None, -1, "?", [], 1 << 70, [[[]]]):
            node[key] = wrong
            outcomes.add(_outcome(path, _resealed(data, lambda _: json.dumps(described).encode())) != "")
        node[key] = kept
    assert outcomes == {True, False}  # some changes make another bundle
    assert "holds code of the kind 'cpu'" in _outcome(path, _resealed(data, lambda t: t.replace(b'"kind":"cuda"', b'"kind":"cpu"', 1)))
    assert "a step 'jump', which this tierup does not know" in _outcome(path, _resealed(data, lambda t: t.replace(b'["launch",', b'["jump",')))
    for garbage in (b"", b"[]", b"{", b"\xff", b"[" * 100_000):
        assert _outcome(path, _resealed(data, lambda _, garbage=garbage: garbage))


def _sized(path: Path, size: Any) -> str:
    """What is said of a bundle whose first result has this size."""

    def change(text: bytes) -> bytes:
        described = json.loads(text)
        described["programs"][0]["versions"][0]["results"][0]["sizes"] = [size]
        return json.dumps(described).encode()

    whole = path.read_bytes()
    try:
        return _outcome(path, _resealed(whole, change))
    finally:
        path.write_bytes(whole)


def test_a_size_is_read_in_one_go_and_has_so_many_parts_and_no_more(path: Path) -> None:
    """Terms that are added up one by one take their number squared: 4000 of them took ten seconds."""
    sums = {terms: _sized(path, [[1, [[[f"s{i}", 2], 1]]] for i in range(terms)]) for terms in (1, 200, 4000, 100_000)}
    assert {terms: "parts" in said for terms, said in sums.items()} == {1: False, 200: False, 4000: True, 100_000: True}
    for size, said in (
        ([[1, [[["s", 2], 65]]]], "power 65"), ([[1, [[["s", 2], -1]]]], "power -1"), ([[1, [[["s", 2], 0]]]], "power 0"),
        ([[1, [[{"call": "system", "of": []}, 1]]]], "no function of sizes"),
    ):  # fmt: skip
        assert said in _sized(path, size), size
    nested: Any = 1
    for _ in range(100):
        nested = [[1, [[{"call": "max", "of": [nested, 1]}, 1]]]]
    assert _sized(path, nested) == "" and "parts" in _sized(path, [[1, [[{"call": "max", "of": [nested, nested, nested]}, 1]]]])


@given(st.lists(st.tuples(st.integers(-3, 3), st.lists(st.tuples(st.sampled_from(
    [dims.Symbol("a"), dims.Symbol("b", 5), dims.Call("mod", (dims.symbol("a"), 3))]), st.integers(1, 3)), max_size=3)), max_size=5))  # fmt: skip
def test_a_sum_in_one_go_is_the_sum_of_its_terms(terms: list[tuple[int, list[tuple[Any, int]]]]) -> None:
    total: dims.Dim = 0
    for coefficient, factors in terms:
        product: dims.Dim = coefficient
        for factor, power in factors:
            for _ in range(power):
                product = product * dims.atom(factor)
        total = total + product
    assert dims.polynomial(terms) == total


_VALUES = [None, True, -1, 0, 3, 1 << 70, 0.5, "", "?", "f32", "\0", "s0", [], {}, [[]], [[1, [[["s0", 2], 1]]]], {"float": "nan"}, {"call": "mod", "of": [3, 0]}, "x" * 10**5]


@given(st.data())
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_changed_in_a_description_it_is_a_plan_or_a_bundle_error(path: Path, data: st.DataObject) -> None:
    whole = path.read_bytes()
    described = json.loads(whole[56 : 56 + struct.unpack_from("<Q", whole, 48)[0]])
    for _ in range(data.draw(st.integers(1, 3))):
        node: Any = described
        while True:
            key = data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else range(len(node))))
            below = isinstance(node[key], (list, dict)) and node[key] and data.draw(st.integers(0, 7))
            if not below:
                break
            node = node[key]
        kind = data.draw(st.sampled_from(("value", "gone", "twice", "nested", "wrapped")))
        if kind == "gone":
            del node[key]
        elif kind == "twice" and isinstance(node, list):
            node[key:key] = [node[key]] * data.draw(st.integers(1, 3000))
        elif kind == "wrapped":
            node[key] = [node[key]]
        elif kind == "nested":
            for _ in range(900):
                node[key] = [node[key]]
        else:
            node[key] = data.draw(st.sampled_from(_VALUES))
        if not described:
            break
    changed = path.with_suffix(".changed")
    changed.write_bytes(_resealed(whole, lambda _: json.dumps(described).encode()))
    try:
        for plan in load_plans(changed).values():
            assert plan.versions is not None and repr(plan)
    except BundleError as e:
        assert str(changed) in str(e)


# --- run ------------------------------------------------------------------------------------------------------------


def scaled(x, k):
    return np.tanh(x * k), x[0] + 1.0


@pytest.fixture
def plans(api: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The plan of `scaled` for f32[4, 6] and for any rows of 6, and another that checks an index."""
    with emulated(api):
        static = artifact_of(scaled, (f32(4, 6), 2.0))
        general = artifact_of(scaled, *[(f32(n, 6), 2.0) for n in (4, 5, 7, 8)])
        take = artifact_of(lambda x, i: x[i] * 2.0, (f32(5, 3), np.array([0, 2])))
        bundle_file.write(tmp_path / "all.tierup", [_program(static, general, name="scaled"), _program(take, name="take")])
        yield load_plans(tmp_path / "all.tierup")


def test_a_plan_runs_the_first_version_that_fits(plans: Any, on: Device, api: FakeDriver) -> None:
    scale = plans["scaled"]
    assert scale.versions == ("a0: f32[4, 6], a1: float", "a0: f32[s0, 6], a1: float") and not api.images
    for rows in (4, 9, 4):
        x = f32(rows, 6)
        tanh, row = scale(x, 2.0)
        np.testing.assert_allclose(tanh, np.tanh(x * 2), rtol=1e-6)
        assert np.array_equal(row, x[0] + 1)
        there = scale(put(on, x), 2.0)
        assert type(there[0]) is DeviceArray and np.array_equal(there[1].numpy(), row)
    assert len(api.images) == 2


def test_arguments_that_no_version_takes_are_a_type_error_that_says_why_of_each(plans: Any, on: Device) -> None:
    with pytest.raises(TypeError) as raised:
        plans["scaled"](f32(4, 7), 2.0)
    assert str(raised.value).splitlines() == [
        "scaled has no version for these arguments:",
        "  (a0: f32[4, 6], a1: float): a0: dim 1 expected 6, got 7",
        "  (a0: f32[s0, 6], a1: float): a0: dim 1 expected 6, got 7",
    ]
    with pytest.raises(TypeError, match="a1: type expected float, got int"):
        plans["scaled"](f32(4, 6), 2)
    with pytest.raises(TypeError, match="count expected 2, got 1"):
        plans["scaled"](f32(4, 6))


def test_a_check_that_fails_is_a_plan_error_with_the_op_and_the_line(plans: Any, on: Device) -> None:
    x = f32(5, 3)
    assert np.array_equal(plans["take"](x, np.array([4, 0])), x[[4, 0]] * 2)
    with pytest.raises(PlanError, match=r"take: a check of aten.index.* failed at .*test_bundle.py:\d+"):
        plans["take"](x, np.array([4, 5]))


def test_a_bundle_of_more_programs_wants_a_name(plans: Any, tmp_path: Path) -> None:
    assert tierup.load_plan(tmp_path / "all.tierup", "take").name == "take"
    with pytest.raises(ValueError, match="name one of its programs; it has scaled, take"):
        tierup.load_plan(tmp_path / "all.tierup")
    with pytest.raises(ValueError, match="no program is called 'tak'"):
        tierup.load_plan(tmp_path / "all.tierup", "tak")


def test_code_for_newer_devices_is_refused_before_the_driver_sees_it(api: FakeDriver, tmp_path: Path) -> None:
    api.capability = 7, 5
    bundle_file.write(tmp_path / "b", [_program(artifact_of(scaled, (f32(4, 6), 2.0)))])
    with pytest.raises(NoDevice, match="code is for sm_80 and later, and A stand-in is sm_75: compile it with --target sm_75"):
        tierup.load_plan(tmp_path / "b")(f32(4, 6), 2.0)
    assert not api.images


def test_assembled_code_for_the_device_goes_before_ptx(api: FakeDriver, path: Path) -> None:
    x = f32(5, 4)
    with pytest.raises(Exception, match="CUDA_ERROR_NOT_FOUND"):  # which holds no kernels
        tierup.load_plan(path)(x, x[1:].copy(), 2.5)
    assert api.images == [b"\x7fELF 90"]


_ALONE = """
import sys
for name in ("torch_mlir", "llvmlite", "ml_dtypes", "scipy_openblas32", "torch"):
    sys.modules[name] = None  # not installed
sys.path.insert(0, {helpers!r})
from fake_driver import FakeDriver
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tierup.runtime.cuda.device import devices
api = FakeDriver()
devices.bindings = lambda: api
import numpy as np, tierup
plan = tierup.load_plan({path!r})
x = np.ones((5, 4), "f4")
first, view, k = plan(x, x[1:].copy(), 2.5)
print(first.shape, view.shape, k, len(api.launched), [m for m in sys.modules if m.startswith(("tierup.frontend", "tierup.tools"))])
"""


def test_a_bundle_is_run_with_numpy_and_the_driver_alone(tmp_path: Path, artifact: CudaArtifact) -> None:
    bundle_file.write(tmp_path / "f.tierup", [_program(artifact)])
    program = _ALONE.format(helpers=str(Path(__file__).parent), path=str(tmp_path / "f.tierup"))
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "(4, 4) (4, 2) 2.5 1 []", run.stderr
