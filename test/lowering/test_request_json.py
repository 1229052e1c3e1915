"""Requests survive the way through JSON, odd numbers included."""

from __future__ import annotations

import json
import math

import pytest

from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout, Request
from tierup.lowering.service import request_json

ARGUMENTS = (
    ArgumentSpec(ArgumentKind.ARRAY, "f32", (3, "s0"), Layout.STRIDED),
    ArgumentSpec(ArgumentKind.ARRAY, "bool"),
    ArgumentSpec(ArgumentKind.INT),
    ArgumentSpec(ArgumentKind.INT, value=-(1 << 63)),
    ArgumentSpec(ArgumentKind.BOOL, value=True),
    *(ArgumentSpec(ArgumentKind.FLOAT, value=v) for v in (0.1, -0.0, 5e-324, math.inf, -math.inf)),
)


def test_a_request_is_read_back_as_it_was() -> None:
    request = Request("module {}", "main", ARGUMENTS, level=1, threads=3, target="x86_64-linux:skylake:+avx2")
    text = json.dumps(request_json.to_dict(request), allow_nan=False)  # strict JSON has no infinity
    assert "module" not in text
    back = request_json.from_json(text, "module {}")
    assert back == request and repr(back) == repr(request)  # -0.0 equals 0.0


def test_nan_stays_nan() -> None:
    request = Request("", "main", (ArgumentSpec(ArgumentKind.FLOAT, value=math.nan),))
    (spec,) = request_json.from_json(json.dumps(request_json.to_dict(request)), "").arguments
    assert isinstance(spec.value, float) and math.isnan(spec.value)


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"arguments": [{"kind": "array"}]}', '{"arguments": [{"kind": "complex"}]}'])
def test_a_text_that_is_no_request_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        request_json.from_json(text, "")
