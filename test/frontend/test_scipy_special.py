"""Functions of scipy.special that are ops here: natively, with SciPy's values and dtypes; SciPy is not needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tierup

special = pytest.importorskip("scipy.special")
X = np.concatenate([np.linspace(-4, 4, 21), [0.0, -0.0, 0.5, 0.5 + 1e-9, 1.0, 1e-30, np.inf, -np.inf, np.nan]])


def elementwise(x: Any) -> Any:
    return special.erf(x), special.expit(x), special.logit(x), special.log_expit(x), special.expm1(x), special.log1p(x), special.exp2(x)


def of_two(x: Any, y: Any) -> Any:
    return special.xlogy(x, y), special.xlogy(x, 2.5), special.xlogy(0, y)


def along_an_axis(x: Any) -> Any:
    return special.softmax(x, axis=1), special.log_softmax(x, axis=-1), special.softmax(x[0])


def assert_same(found: Any, wanted: Any) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=16 * np.finfo(b.dtype).eps, atol=np.finfo(b.dtype).tiny)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(("function", "arguments"), [
    (elementwise, (X,)), (elementwise, (X.astype(np.float32),)), (of_two, (X, X[::-1].copy())), (of_two, (X.astype(np.float32), X)),
    (along_an_axis, (np.linspace(-3, 3, 12).reshape(3, 4),)),
])  # fmt: skip
def test_they_are_native(function: Any, arguments: Any) -> None:
    jitted = tierup.jit(function)
    for _ in range(3):
        assert_same(jitted(*arguments), function(*arguments))
    assert jitted.stats().hits == 2 and jitted.stats().versions == 1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("x", [np.arange(4), np.arange(4, dtype=np.int8), np.array([True, False]), np.float16([0.5, 2]), np.array(0.3), np.float32(0.7), 0.25], ids=repr)
def test_dtypes_and_scalars_are_scipys(x: Any) -> None:
    for function, arguments in ((elementwise, (x,)), (of_two, (x, x))):
        assert_same(tierup.jit(function, optimize=False)(*arguments), function(*arguments))


def test_what_is_no_op_is_a_foreign_call() -> None:
    def likelihood(x: Any) -> Any:
        return special.gammaln(x * 2) - special.expit(x)

    jitted = tierup.jit(likelihood)
    for _ in range(4):
        np.testing.assert_allclose(jitted(X[:5] + 5), likelihood(X[:5] + 5), rtol=1e-14)
    assert "foreign call of scipy.special.gammaln" in jitted.explain() and "expit" not in jitted.explain()


def test_scipy_is_not_imported(tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import sys\nimport numpy as np\nimport tierup\n@tierup.jit\ndef f(x):\n    return np.fft.fft(x * 2).real\n"
        "f(np.ones(3))\nprint('scipy' in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True).stdout == "False\n"
