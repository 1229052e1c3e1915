"""Programs with their gradients in native code, static and symbolic sizes: what tier 0 gives. NumPy's dtype rules among them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gradient_harness import array, differences, runner

import tierup
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.autodiff.differentiation import gradient_of_function
from tierup.dialect.passes.registry import parse

ROWS = (5, 5, 5, 7, 7, 7, 6, 9, 11)  # static versions first, then one with symbolic sizes


def perceptron(x: Any, w: Any, b: Any, v: Any, y: Any) -> Any:
    h = np.tanh(x @ w + b)
    p = h @ v
    return np.mean((p - y) ** 2)


def shapes(x: Any, w: Any, b: Any, v: Any, y: Any) -> Any:
    t = np.concatenate([x[:, 1:] * 2.0, np.maximum(x, 0.1)[:, :2]], axis=1).T
    u = np.where(t > b[0], np.exp(-t), t / (1.5 + t * t))
    return np.sum(u.reshape(-1) ** 3) / u.size + np.sqrt(np.sum(w * w, axis=0)).sum() + np.mean(v[1] * np.sin(y))


def branch(x: Any, w: Any, b: Any, v: Any, y: Any) -> Any:
    z = x @ w
    if z.sum() > 0.0:
        z = z * np.exp(b)
    else:
        z = np.minimum(z, b)
    return (z @ v).sum()


PROGRAMS: list[Callable[..., Any]] = [perceptron, shapes, branch]


def arguments(rows: int, dtype: Any, sign: float = 1) -> list[np.ndarray]:
    shapes = ((rows, 3), (3, 4), (4,), (4, 2), (rows, 2))
    made = [array(*s, low=0.1, high=0.9, seed=k).astype(dtype) for k, s in enumerate(shapes)]
    made[0] = (sign * made[0]).astype(dtype)
    return made


def gradient(function: Callable[..., Any], arguments: int = 5) -> str:
    module = parse_module(str(tierup.jit(function).graph))
    parse("builtin.module(inline,symbol-dce)").run(module)  # NumPy's own code may be functions beside it
    (entry,) = [str(f.attributes["sym_name"]).strip('"') for f in module.body.operations if f.operation.name == "func.func"]
    gradient_of_function(module, entry, range(arguments))
    return str(module).replace(f"@{entry}(", "@f(")


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_of_a_python_function_are_central_differences(function: Callable[..., Any]) -> None:
    call = runner(gradient(function))
    for sign in (1, -1):
        values = arguments(5, np.float64, sign)
        value, *found = call(*values)
        np.testing.assert_allclose(value, function(*values), rtol=1e-12)
        for i, got in enumerate(found):
            wanted = differences(lambda *a: [np.asarray(function(*a))], values, i, [np.float64(1)], 1e-6)
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_native_gradients_are_tier_0s(function: Callable[..., Any], tmp_path: Path) -> None:
    text = gradient(function)
    (tmp_path / "f.mlir").write_text(text)
    f, tier0 = tierup.load(tmp_path / "f.mlir"), runner(text)
    for rows in ROWS:
        values = arguments(rows, np.float32, -1 if rows == 11 else 1)
        for got, want in zip(f(*values), tier0(*values), strict=True):
            assert got.dtype == want.dtype == np.float32 and got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)
    assert "in tier 0: aten" not in f.explain(), f.explain()
    assert f.stats().hits and any(v.speculation.kind != "static" for v in f.versions)


def test_arguments_of_several_dtypes_get_gradients_of_their_own(tmp_path: Path) -> None:
    """NumPy makes float64 of float32 and int32, and of a float64 of rank 0."""

    def mixed(x: Any, i: Any, s: Any) -> Any:
        return (x * i / s + x**2).sum()

    module = parse_module(str(tierup.jit(mixed).graph))
    (entry,) = [str(f.attributes["sym_name"]).strip('"') for f in module.body.operations if f.operation.name == "func.func"]
    gradient_of_function(module, entry, (0, 2))
    (tmp_path / "f.mlir").write_text(str(module).replace(f"@{entry}(", "@f("))
    f = tierup.load(tmp_path / "f.mlir", entry="f")
    x, i, s = array(2, 3).astype(np.float32), np.arange(3, dtype=np.int32), np.array(1.7)
    for _ in range(3):
        value, dx, ds = f(x, i, s)
        assert (value.dtype, dx.dtype, ds.dtype) == (np.float64, np.float32, np.float64)
        np.testing.assert_allclose(dx, np.broadcast_to(i / s, x.shape) + 2 * x, rtol=1e-6)
        np.testing.assert_allclose(ds, -(x * i / s**2).sum(), rtol=1e-6)
    assert f.stats().hits and "in tier 0: aten" not in f.explain(), f.explain()
