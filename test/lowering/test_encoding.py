"""What is kept on disk is plain data: it comes back as it was, and reading whatever bytes runs nothing and raises one exception."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tierup.dialect.facts.dims import floordiv, symbol
from tierup.lowering.artifacts import encoding
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.artifacts.host_steps import Constant, HostProgram
from tierup.lowering.base import abi

DIMS = (3, symbol("s0"), symbol("s0") * symbol("s1", 5) * 2 + 7, floordiv(symbol("s0"), 3))
RESULTS = tuple(abi.ResultSpec(kind, "f32", DIMS, 2, DIMS[2], (1, DIMS[1])) for kind in abi.ResultKind)
ARTIFACT = abi.Artifact(
    object=bytes(range(256)),
    symbol="kernel",
    arguments=(abi.ArgumentSpec(abi.ArgumentKind.ARRAY, "f32", (2, "s0"), abi.Layout.STRIDED), abi.ArgumentSpec(abi.ArgumentKind.FLOAT, value=-0.0)),
    results=RESULTS,
    error_sites=(abi.ErrorSite("aten.index", "caf\udce9.py:3:4"),),
    exits=(abi.ExitSite(0, "aten.Int", "f.py:1:2", (RESULTS[0], (RESULTS[1], RESULTS[2]))),),
    stages={"linalg": "text"},
    timings_ms={"parse": 0.1, "never": float("inf")},
)  # fmt: skip
DEVICE = CudaArtifact(
    "ptx", "sm_80",
    HostProgram(2, (("size", 2, 0, 0), ("if", 8, (("constant", 3, 2.5),), ())), (1,), ("f_0",), {"c": Constant("f32", (2,), b"12345678")},
                {"f_0": ("ptr",)}, {"f_0": "tanh at f.py:1:2"}, {}, {4: "a number"}),
    ARTIFACT.arguments, RESULTS, ties=((DIMS[1], 4),),
)  # fmt: skip
VALUES = [ARTIFACT, DEVICE, ((("f.py", 1),), "a text"), (), None, True, 10**18, "\0\x7f\udcff"]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_it_comes_back_as_it_was(value: object) -> None:
    again = encoding.loads(encoding.dumps(value))
    assert again == value and repr(again) == repr(value)  # 1 is True, and -0.0 is 0.0, but for their repr


@pytest.mark.parametrize("value", [print, [1], {1}, b"".join, object(), OSError("x"), abi, memoryview(b"")], ids=lambda value: type(value).__name__)
def test_what_is_no_plain_data_is_not_written(value: object) -> None:
    with pytest.raises(TypeError, match="not kept on disk"):
        encoding.dumps((1, value))


def test_a_record_of_another_class_is_not_made() -> None:
    for text in ('{"r":["Popen","ls"]}', '{"r":["Tree","a","b"]}', '{"e":["EventKind","miss"]}', '{"x":1}', "{}", '{"r":[[]]}', '{"f":3}', "[" * 10**6):
        with pytest.raises(encoding.Undecodable):
            encoding.loads(len(text).to_bytes(8, "little") + text.encode())


_WHOLE = [encoding.dumps(value) for value in VALUES]
_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda c: st.lists(c, max_size=4) | st.dictionaries(
    st.sampled_from("rebfd"), c, max_size=2), max_leaves=8)  # fmt: skip


@st.composite
def _changed(draw: st.DrawFn) -> bytes:
    """Bytes, an encoding with a piece of it changed, or one whose description has another value in the place of one."""
    whole = draw(st.sampled_from(_WHOLE))
    kind = draw(st.sampled_from(("bytes", "piece", "value")))
    if kind == "bytes":
        return draw(st.binary(max_size=64))
    if kind == "piece":
        at = draw(st.integers(0, len(whole) - 1))
        return whole[:at] + draw(st.binary(max_size=8)) + whole[at + draw(st.integers(0, 8)) :]
    end = 8 + int.from_bytes(whole[:8], "little")
    found: Any = json.loads(whole[8:end])
    at = found
    while isinstance(at, (list, dict)) and at:
        place = draw(st.sampled_from(range(len(at)) if isinstance(at, list) else sorted(at)))
        if draw(st.integers(0, 4)) == 0 or not isinstance(at[place], (list, dict)):
            at[place] = draw(_JSON)
            break
        at = at[place]
    text = json.dumps(found).encode()
    return len(text).to_bytes(8, "little") + text + whole[end:]


@given(_changed())
@settings(max_examples=300)
def test_whatever_the_bytes_they_are_data_or_one_exception(data: bytes) -> None:
    try:
        encoding.loads(data)
    except encoding.Undecodable:
        pass
