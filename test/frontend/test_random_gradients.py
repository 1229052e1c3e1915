"""Random NumPy programs, some with branches, loops and writes: value and gradients in tier 0 and in native code, against central differences
of the undecorated function."""

from __future__ import annotations

import importlib.util
import os
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gradient_oracle import assert_close, differences

import tierup

UNARY = (
    "np.tanh(X)", "np.sin(X)", "np.exp(-X * X)", "np.abs(X)", "np.maximum(X, 0.1)", "np.clip(X, -0.5, 0.7)", "X**2", "np.sqrt(X * X + 0.5)",
    "np.log1p(X * X)", "np.cumsum(X, axis=0)", "X[::-1].copy()", "X - np.mean(X, axis=0)", "np.where(X > 0, X, 0.3 * X)", "np.sort(X, axis=0)",
    "np.flip(X, axis=1).copy()", "tierup.ops.softmax(X, -1)", "tierup.ops.relu(X)", "tierup.ops.layer_norm(X)", "tierup.ops.gelu(X)", "X @ w",
    "X.T.copy().T",
)  # fmt: skip
BINARY = (
    "X + Y", "X * Y", "X - Y", "X / (Y * Y + 1.5)", "np.minimum(X, Y)", "np.where(X > Y, X, Y * 2)",
    "np.concatenate([X[:2], Y[2:]], axis=0)", "(X @ Y.T) @ Y", "np.stack([X, Y]).sum(axis=0)",
)  # fmt: skip
STATEMENTS = (
    "if X.sum() > 0.3:\n        V = Y * 1.5\n    else:\n        V = np.sin(X)",
    "V = X\n    for i in range(Y.shape[0]):\n        V = np.tanh(V + Y[i])",
    "V = X.copy()\n    V[1] = Y[0] * V[1]\n    V *= 0.9",
)
RESULTS = ("np.mean(X)", "np.sum(X * X) / 7", "np.var(X)", "np.max(X) * 0.3")


def program(seed: int) -> str:
    rng = random.Random(seed)
    lines, names = ["import numpy as np", "import tierup", "", "def f(a, b, w):"], ["a", "b"]
    for k in range(rng.randint(3, 9)):
        kind = rng.choices((UNARY, BINARY, STATEMENTS), (5, 3, 1))[0]
        text = rng.choice(kind).replace("X", rng.choice(names)).replace("Y", rng.choice(names))
        lines.append("    " + (text.replace("V", f"v{k}") if kind is STATEMENTS else f"v{k} = {text}"))
        names.append(f"v{k}")
    return "\n".join([*lines, "    return " + " + ".join(rng.choice(RESULTS).replace("X", name) for name in names[-2:])])


@pytest.mark.parametrize("number", range(10))
def test_a_random_program_has_the_gradients_of_central_differences(number: int, tmp_path: Path) -> None:
    seed = 1000 * int(os.environ.get("TIERUP_SEED", "0")) + number
    (tmp_path / "program.py").write_text(program(seed))
    spec = importlib.util.spec_from_file_location("program", tmp_path / "program.py")
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    rng = np.random.default_rng(seed)
    arguments = rng.normal(size=(4, 4)), rng.normal(size=(4, 4)), rng.normal(size=(4, 4)) / 2
    value, wanted = module.f(*arguments), tuple(differences(module.f, arguments, i) for i in range(3))
    g = tierup.value_and_grad(module.f, (0, 1, 2))
    for _ in range(2):  # in tier 0, then native where it can be
        got, found = g(*arguments)
        np.testing.assert_allclose(got, value, rtol=1e-9, err_msg=program(seed))
        assert_close(found, wanted, rtol=2e-5, atol=2e-6)
