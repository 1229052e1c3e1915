"""Constants of a program in the device's memory, on the emulated device. No kernel here has run on a GPU."""

from __future__ import annotations

import struct
from dataclasses import replace

import numpy as np
import pytest
from emulated_programs import STAGES
from host_runner import run
from kernel_harness import spec_of, typed

from tierup.lowering.base.abi import Request
from tierup.lowering.cuda.compile import compile

BODY = """%c = torch.vtensor.literal(dense<{written}> : tensor<4x{element}>) : !torch.vtensor<[4],{element}>
    %0 = torch.aten.mul.Tensor %a0, %c : !torch.vtensor, !torch.vtensor<[4],{element}> -> !torch.vtensor
    return %0 : !torch.vtensor"""


def request(body: str, x: np.ndarray) -> Request:
    return Request(typed(body, [spec_of(x)]), "main", (spec_of(x),))


@pytest.mark.parametrize(
    ("element", "written", "values"),
    [
        ("f32", "[1.0, -2.5, 3.0, 4.0]", [1.0, -2.5, 3.0, 4.0]),
        ("f64", "[1.0, -2.5, 3.0, 4.0]", [1.0, -2.5, 3.0, 4.0]),
        ("f16", "[1.0, -2.5, 3.0, 4.0]", [1.0, -2.5, 3.0, 4.0]),
        ("si64", "[1, -2, 3, 4]", [1, -2, 3, 4]),
        ("i1", "[true, false, false, true]", [1, 0, 0, 1]),
        ("f32", "2.5", [2.5] * 4),
    ],
)
def test_an_arrays_elements_arrive(element: str, written: str, values: list[float]) -> None:
    stored = element.removeprefix("s")
    body = BODY.format(written=written, element=element)
    x = np.arange(1, 9, dtype=np.float64).reshape(2, 4)
    artifact = compile(request(body, x), "sm_80", STAGES)
    np.testing.assert_array_equal(run(artifact, [x]).results[0], x * values)
    assert [c.dtype for c in artifact.host.constants.values()] == ([stored] if written.startswith("[") else [])


def test_constants_of_which_the_bindings_give_no_buffer_arrive_too() -> None:
    x = np.arange(1, 9, dtype=np.float64).reshape(2, 4)
    artifact = compile(request(BODY.format(written="[1.0, -2.5, 3.0, 4.0]", element="bf16"), x), "sm_80", STAGES)
    np.testing.assert_array_equal(run(artifact, [x]).results[0], x * [1.0, -2.5, 3.0, 4.0])
    data = struct.pack("4f", 1, -2.5, 3, 4)
    made = request(BODY.replace("dense<", "dense_resource<").format(written="only_of_this_test", element="f32"), x)
    resources = '{-# dialect_resources: { builtin: { only_of_this_test: "0x04000000' + data.hex() + '" } } #-}'
    artifact = compile(replace(made, ir=made.ir + resources), "sm_80", STAGES)
    assert [c.data for c in artifact.host.constants.values()] == [data]
    np.testing.assert_array_equal(run(artifact, [x]).results[0], x * [1.0, -2.5, 3.0, 4.0])
