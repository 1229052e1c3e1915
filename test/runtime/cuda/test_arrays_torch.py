"""DLPack with PyTorch, in both directions: PyTorch reads our structs, and we its."""

from __future__ import annotations

import gc

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

from test_arrays import _OnHost

from tierup.dialect.base import dtypes
from tierup.runtime.cuda.arrays import dlpack
from tierup.runtime.cuda.arrays.arrays import put
from tierup.runtime.cuda.device.devices import Device


@pytest.mark.parametrize("dtype", dtypes.OF_TORCH, ids=str)
def test_pytorch_reads_our_capsules_in_our_memory(on: Device, dtype: dtypes.DType) -> None:
    there = put(on, np.arange(6).reshape(2, 3).astype(dtype.numpy))
    read = torch.from_dlpack(_OnHost(there))
    assert read.data_ptr() == there.address and read.to(torch.float64).tolist() == there.numpy().astype("f8").tolist()
    del read
    gc.collect()


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"])
def test_pytorchs_capsules_are_read(dtype: str) -> None:
    x = torch.arange(12).reshape(3, 4).to(getattr(torch, dtype))[1:].t()
    found = dlpack.take(x.__dlpack__())
    assert (found.address, found.shape) == (x.data_ptr(), (4, 2)) and found.dtype.itemsize == x.element_size()
    assert found.strides == tuple(s * x.element_size() for s in x.stride())
    assert (found.dtype.name if found.dtype.name != "bool_" else "bool") == dtype
