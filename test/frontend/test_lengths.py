"""What has no length raises what Python raises: arrays of rank 0, and NumPy's scalars, whether that is known before the run or in it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup

USES = ("len({})", "[v for v in {}]", "[v for v in reversed({})]", "list(zip({}, {}))", "[v for v in enumerate({})]", "[a for a, b in [{}]]")
HEAD = "def f(x):\n"


def raised(f: Callable[..., Any], x: np.ndarray) -> tuple[type, str]:
    with pytest.raises(TypeError) as found:
        f(x)
    return found.type, str(found.value)


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("value", ["x.sum()", "x.sum()[...]", "np.asarray(1)", "x.max() > 1"])
def test_a_value_of_rank_0_has_no_length(define: Callable[[str], Any], use: str, value: str) -> None:
    f = define(f"{HEAD}    return {use.replace('{}', value)}\n")
    x = np.ones(3)
    assert raised(tierup.jit(f, optimize=False, strict=True), x) == raised(f, x)


@pytest.mark.parametrize("use", USES)
def test_a_value_that_only_one_path_has_of_rank_0_raises_there(define: Callable[[str], Any], use: str) -> None:
    f = define(f"{HEAD}    v = x\n    if x.shape[0] <= 3:\n        v = np.sum(v)\n    for i in range(1):\n        {use.replace('{}', 'v')}\n    return x\n")
    jitted = tierup.jit(f, optimize=False)
    assert raised(jitted, np.ones(3))[0] is raised(f, np.ones(3))[0]
