"""Random functions that copy, view and write what they return: each value has memory of its own where NumPy's has, and no other's contents."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_writers import source
from sampling import drawn

import tierup

SEEDS = sorted({149, *drawn("writers", range(2000), 500)})  # 149: a loop wrote where another result lay


def function_of(seed: int, folder: Path) -> Callable[..., Any]:
    path = folder / f"writers_{seed}.py"
    path.write_text(f"import numpy as np\n\n\n{source(seed)}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def outcome(function: Callable[..., Any], n: int, k: int) -> tuple[list[Any], list[list[bool]]]:
    """Results and arguments after a call, and which of the results share memory with which."""
    rng = np.random.default_rng(n)
    given = [rng.integers(-3, 4, n) / 2 for _ in range(2)]
    found = [*function(*given, k), *given]
    return found, [[np.shares_memory(a, b) for b in found] for a in found[:-2]]


@pytest.mark.parametrize("seed", SEEDS)
def test_values_that_are_written_do_not_lie_in_one_anothers_memory(seed: int, tmp_path: Path) -> None:
    plain = function_of(seed, tmp_path)
    made = tierup.jit(plain, level=0)
    with np.errstate(all="ignore"):
        for n, k in ((3, 2), (3, 3), (3, 2), (5, 3), (4, 2)):
            (want, want_shared), (got, got_shared) = outcome(plain, n, k), outcome(made, n, k)
            where = f"n={n}, k={k}\n{source(seed)}\n{made.explain()}"
            same = all(np.shape(a) == np.shape(b) and np.allclose(a, b, equal_nan=True) for a, b in zip(got, want, strict=True))
            assert same, f"{got}, not {want}: {where}"
            assert got_shared == want_shared, where
