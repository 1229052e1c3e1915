"""Lists, tuples, strings, None and arrays assigned to elements and parts of arrays: what NumPy writes, or its exception and its text."""

from __future__ import annotations

import linecache
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup
from tierup import UnsupportedSyntax

INDICES = ("0", "-1", "(0,)", "0:2", ":", "...", "None", "[0, 1]", "x > 0", "0, 0", "5, 0")
VALUES = (
    "[1, 2]", "[1]", "(1, 2)", "(1,)", "[]", "()", "[[]]", "[[1, 2]]", "[1, [2]]", "[1.5, 2]", "[True]", "[x[0]]", "[v, 2]", "x.shape", "None", "'a'", "'1'",
    "x[0:1]", "x[0:2]", "x[:0]", "x[x > 0]", "np.float32(2.5)", "v",
)  # fmt: skip
ARRAYS = {
    "float64": np.arange(4.0), "int64": np.arange(4), "bool": np.array([True, False, True]), "rank 0": np.array(3, np.int32), "rank 2": np.ones((2, 2), np.float16),
}  # fmt: skip
CASES = [(f"x[{index}] = {value}", kind) for index in INDICES for value in VALUES for kind in ARRAYS]
CASES += [(f"x.fill({value})", kind) for value in VALUES for kind in ARRAYS]


def function(statement: str) -> Any:
    source, file = f"def f(x, v):\n    {statement}\n    return x * 1\n", f"<stored {statement}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    scope: dict[str, Any] = {"np": np}
    exec(compile(source, file, "exec"), scope)  # noqa: S102 - the lines are our own
    return scope["f"]


def outcome(f: Any, x: np.ndarray) -> Any:
    x = x.copy()
    try:
        result = f(x, 2)
    except UnsupportedSyntax:
        raise
    except Exception as e:  # noqa: BLE001 - whatever comes
        return type(e), str(e), x.tobytes()
    return result.dtype, result.shape, result.tobytes(), x.tobytes()


@pytest.mark.filterwarnings("ignore:Conversion of an array")
@pytest.mark.parametrize(("statement", "kind"), drawn("stored objects", CASES, 24, lambda c: (c[0].startswith("x.fill"), c[1])))
def test_an_object_is_stored_as_numpy_stores_it(statement: str, kind: str) -> None:
    f = function(statement)
    jitted, want = tierup.jit(f), outcome(f, ARRAYS[kind])
    for call in range(3):
        assert outcome(jitted, ARRAYS[kind]) == want, f"call {call}"


@pytest.mark.parametrize(("statement", "kind"), [("x[0] = None", "float64"), ("x[0] = [0]", "bool"), ("x[[0, 1]] = '1'", "int64"), ("x[0] = x[0:1]", "rank 2")])
def test_what_an_object_becomes_is_stored_natively(statement: str, kind: str) -> None:
    f = function(statement)
    jitted = tierup.jit(f)
    for _ in range(3):
        assert outcome(jitted, ARRAYS[kind]) == outcome(f, ARRAYS[kind])
    assert jitted.stats().hits == 2


@pytest.mark.parametrize(
    "statement",
    drawn("read-only", [
        "x[0] = v", "x[0] += v", "x[:] = v", "x += v", "x **= v", "x //= v", "x %= v", "x[1:] **= v", "x @= np.ones((4, 4))", "x[1:] += 1", "x[[0]] = v", "x[[0]] += 1", "x[x > 0] = v", "x.fill(v)",
        "x[::2] -= 1", "x.T[0] = v", "y = x[1:]; y[0] = v", "y = x[None]; y *= v", "y = np.broadcast_to(x, (2, 4)); y[0] += v", "x[0], x[1] = v, v",
    ], 4),
)  # fmt: skip
def test_a_write_to_a_read_only_array_raises_with_numpys_text(statement: str) -> None:
    f = function(statement)
    jitted, x = tierup.jit(f), np.arange(4.0)
    for _ in range(3):
        outcome(jitted, x)  # a version for arrays that may be written
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only") as theirs:
        f(x, 2)
    with pytest.raises(ValueError, match="read-only") as ours:
        jitted(x, 2)
    assert str(ours.value) == str(theirs.value) and "the program writes argument x" in ours.value.__notes__
