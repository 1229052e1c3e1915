"""Functions of tierup.jit and tierup.load on PyTorch's tensors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import tierup  # noqa: E402 - as above

pytestmark = pytest.mark.torch


@tierup.jit
def smooth(x, y):
    return np.exp(-x * x) * y + 1


def causes(function):
    """What the native table of a function counted: hits, and by cause the calls that went to Python."""
    (table,) = function._tables.values()
    counts = table.table.counts()
    return counts.hits, {cause.name: n for cause, n in counts.slow.items() if n}


@pytest.fixture(autouse=True)
def forget():
    smooth.reset()


def test_tensors_in_tensors_out_natively():
    x, y = torch.randn(2, 5)
    for _ in range(4):
        result = smooth(x, y)
        assert type(result) is torch.Tensor
        torch.testing.assert_close(result, torch.exp(-x * x) * y + 1)
    assert causes(smooth) == (2, {"MISS": 1}) and smooth.stats().hits == 3


def test_arrays_and_tensors_share_versions():
    x, y = torch.rand(2, 5)  # no difference of nearly equal numbers: tiers agree within 4 ulp of exp, and two roundings
    expected = smooth(x, y)
    for _ in range(3):
        result = smooth(x.numpy(), y.numpy())
        assert type(result) is np.ndarray
        np.testing.assert_allclose(result, expected.numpy(), rtol=6 * np.finfo(np.float32).eps)
    assert smooth(x, y).dtype is torch.float32
    assert smooth.stats().versions == 1 and len(smooth.variants) == 1


def test_the_text_means_what_it_means_for_arrays():
    @tierup.jit
    def program(x, y):
        return x / y, x.sum(), np.float32(2) * x

    x, y = torch.arange(1, 4, dtype=torch.int32), torch.arange(2, 5, dtype=torch.int16)
    expected = x.numpy() / y.numpy(), x.numpy().sum(), np.float32(2) * x.numpy()
    for _ in range(3):
        for result, wanted in zip(program(x, y), expected, strict=True):
            assert type(result) is torch.Tensor and result.numpy().dtype == wanted.dtype and result.shape == wanted.shape
            np.testing.assert_array_equal(result.numpy(), wanted)


def test_trees_of_tensors():
    @tierup.jit
    def layer(parameters, x):
        w, b = parameters["w"], parameters["b"]
        return {"y": x @ w + b, "all": [x, (w,)]}

    parameters, x = {"w": torch.randn(4, 3), "b": torch.randn(3)}, torch.randn(2, 4)
    for _ in range(3):
        found = layer(parameters, x)
        torch.testing.assert_close(found["y"], x @ parameters["w"] + parameters["b"])
        assert found["all"][0] is x and found["all"][1][0] is parameters["w"]
    assert layer.stats().hits == 2


def test_a_write_reaches_the_tensor_and_is_counted():
    @tierup.jit
    def program(x):
        x *= 2
        return x

    x = torch.ones(3)
    for i in range(1, 4):
        assert program(x) is x and x.tolist() == [2.0**i] * 3 and x._version == i


def test_an_array_beside_tensors_is_an_error():
    x = torch.ones(3)
    for _ in range(3):  # in tier 0, and with a version
        smooth(x, x)
        with pytest.raises(TypeError, match=r"smooth\(\): argument 1 is a numpy.ndarray beside tensors"):
            smooth(x, x.numpy())
    with pytest.raises(TypeError, match=r"argument y\['a'\] is a numpy.ndarray"):
        smooth(x, y={"a": x.numpy()})
    assert smooth(x, np.float32(2)).tolist() == smooth(x, 2.0).tolist()


def test_gradients_are_pytorchs():
    x, y = torch.randn(2, 4, dtype=torch.float64).unbind(0)
    x, y = x.requires_grad_(), y.requires_grad_()
    for _ in range(3):
        assert torch.autograd.gradcheck(smooth, (x, y))
    plain = smooth(x.detach(), y.detach())
    assert smooth(x, y).requires_grad and not plain.requires_grad


def test_what_no_array_stands_for_is_refused_with_the_remedy():
    x = torch.ones(3)
    smooth(x, x)
    for other, remedy in ((torch.ones(3, device="meta"), "cpu"), (torch.eye(3).to_sparse(), "to_dense"), (torch.ones(3) * 1j, "complex")):
        with pytest.raises(TypeError, match=remedy):
            smooth(x, other)
    with pytest.raises(TypeError, match="torch.func"):
        torch.vmap(smooth)(torch.ones(2, 3), torch.ones(2, 3))


def test_programs_in_mlir_take_tensors(tmp_path):
    file = tmp_path / "program.mlir"
    file.write_text(
        "func.func @main(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[?],f32> {\n"
        "  %y = torch.aten.tanh %x : !torch.vtensor<[?],f32> -> !torch.vtensor<[?],f32>\n"
        "  return %y : !torch.vtensor<[?],f32>\n}\n"
    )
    program, x = tierup.load(file), torch.randn(4)
    for _ in range(3):
        torch.testing.assert_close(program(x), torch.tanh(x))
    assert causes(program)[0] == 1


def test_nothing_imports_pytorch_before_a_tensor_comes(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(
        "import sys, numpy as np, tierup\n"
        "@tierup.jit\n"
        "def f(x):\n"
        "    return x[0] + x[1]['a']\n"
        "for _ in range(3): f([np.ones(3), {'a': np.ones(3)}])\n"
        "assert f.stats().hits == 2 and 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, str(file)], check=True)
