"""How results lie in memory is as in NumPy, of every function and method that programs may call: strides, what is shared, what may be written."""

from __future__ import annotations

import linecache
import re
import warnings
from typing import Any

import numpy as np
import pytest
from sampling import drawn

import tierup
import tierup.frontend.python.build
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.building import table

# what a function may be called with: those calls count that NumPy takes
ARGUMENTS = (
    "x", "x, 0", "x, -1", "x, axis=0", "x, axis=-1", "x, axis=None", "x, axis=0, keepdims=True", "x, x", "x, 2", "2, x", "x, y", "[x, x]", "(x, y)",
    "[x, x], axis=0", "[x, x], axis=1", "[x, x], axis=-1", "x, 1, 0", "x, 0, 1", "x, 0, -1", "x, [0, 1]", "x, [0, 1], axis=0", "x, [1, 0], axis=-1", "x, i",
    "x, [[0, 1], [1, 0]]", "x, i, axis=0", "x, i, axis=-1", "x.shape, x", "(2,) + x.shape, x", "x, (2,) + x.shape", "x, 1, axis=0", "x, 2, axis=-1",
    "x > 1, x, y", "x > 1, x, 0", "x > 1, 1, x", "x, 1, 3", "x, 1, y", "x, np.float32", "x, dtype=np.float32", "x, x.dtype", "x, (2, 1)", "x, 1, constant_values=7",
    "x, ((1, 0), (0, 1))", "x, copy=False", "x, dtype=x.dtype, copy=False", "x, (1, 0)", "x, (0, 2, 1)", "x, x.shape[::-1]", "x.shape", "x.shape[0]", "x, k=1",
    "x, [True, False], axis=0", "'ij,jk->ik', x, x", "x, 1, axis=(0, 1)",
)  # fmt: skip
# docs/python.md: np.flip copies, np.dot with a number keeps the order; nobody has filled what np.empty gives; a method that takes the truth of a list;
# np.roll by a float, or by none, which NumPy takes where nothing moves; angles in another dtype are some ulp off
LEFT_OUT = re.compile(r"np\.(flip|flipud|fliplr|empty|empty_like|copyto)\(|dot\(((x, )?(0|-1|2)|2, x)\)|x\.fill\(|take\(x\.shape|take\((x, )?x\.shape|(degrees|rad2deg|radians|deg2rad)\(.*dtype|roll\((x, [xy]|2, x|x\.shape, x|x, x\.shape\[::-1\]|\(2,\) \+ x\.shape, x)\)")


def layouts() -> dict[str, np.ndarray]:
    two, three = np.arange(1.0, 13).reshape(3, 4), np.arange(1.0, 25).reshape(2, 3, 4)
    made = {"rank 0": np.array(2.0), "rank 1": np.arange(5.0), "every second": np.arange(10.0)[::2], "empty": np.zeros((0, 3)), "empty, F": np.zeros((3, 0), order="F")}
    for name, x in (("2", two), ("3", three), ("square", np.arange(1.0, 10).reshape(3, 3))):
        made |= {f"{name}, C": x.copy(), f"{name}, F": np.asfortranarray(x), f"{name}, sliced": np.repeat(x, 2, -1)[..., ::2], f"{name}, backwards": x[::-1],
                 f"{name}, F sliced": np.asfortranarray(np.repeat(x, 2, 0))[::2], f"{name}, broadcast": np.broadcast_to(x[:1], x.shape),
                 f"{name}, ints": np.asfortranarray(x.astype(np.int32))}  # fmt: skip
    return made | {"permuted": three.transpose(2, 0, 1).copy().transpose(1, 2, 0), "swapped": np.swapaxes(three, 1, 2).copy().swapaxes(1, 2), "bools": np.asfortranarray(two > 3)}


def expressions() -> list[str]:
    """Every call of a function or method of the tables with every list of arguments."""
    names = sorted({name for name in map(table.name_of, table.FUNCTIONS) if name.startswith("np.")})
    found = [f"{name}({given})" for name in names for given in ARGUMENTS]
    found += [f"x.{name}({given[3:]})" for name in table.METHODS for given in ARGUMENTS if given == "x" or given.startswith("x, ")]
    return [e for e in found if not LEFT_OUT.search(e)]


def lies(result: Any, given: list[np.ndarray]) -> Any:
    """What a caller can tell of where a result lies, and what it is."""
    if isinstance(result, (tuple, list)):
        return [lies(r, given) for r in result]
    if not isinstance(result, np.ndarray):
        return type(result).__name__, repr(result)
    strides = [s // result.itemsize for s, n in zip(result.strides, result.shape, strict=True) if n > 1] if result.size and result.ndim > 1 else None
    return result.dtype.name, result.shape, strides, result.flags.writeable, [bool(np.shares_memory(result, g)) for g in given]


def function(text: str, number: int) -> Any:
    source, file, scope = f"import numpy as np\n\ndef f(x, y, i):\n{text}", f"<memory order {number}>", {"__name__": "memory_order"}
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    exec(compile(source, file, "exec"), scope)  # noqa: S102 - the lines are our own
    return scope["f"]


def cases(plain: Any) -> dict[str, list[np.ndarray]]:
    """Arguments that NumPy takes; each time arrays of its own."""
    found = {}
    for name, x in layouts().items():
        given = [x, x[:1] if x.ndim and x.dtype != bool else x, np.array([0, 1, 0])]
        try:
            plain(*given)
        except Exception:  # noqa: BLE001, S112 - whatever NumPy does not take
            continue
        found[name] = given
    return found


@pytest.mark.parametrize("part", range(4))
def test_results_lie_as_in_numpy(part: int) -> None:
    wrong, checked = [], 0
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, text in enumerate(drawn("memory order", expressions(), 24, lambda e: e.split("(")[0])[part::4]):
            plain = function(f"    return {text}\n", number)
            f = tierup.jit(function(f"    return {text}\n", number), optimize=False)
            for name, given in cases(plain).items():
                try:
                    got, want = lies(f(*given), given), lies(plain(*given), given)
                except UnsupportedSyntax:
                    continue
                except Exception as e:  # noqa: BLE001 - NumPy takes it
                    got, want = f"{type(e).__name__}: {e}", ""
                checked += 1
                if got != want:
                    wrong.append(f"{text} of {name}: {got}, not {want}")
    assert not wrong, "\n".join(wrong)
    assert checked > 400


ORDERED = ("np.array([x, x])", "np.asarray([x, x])", "np.full((2,) + x.shape, x)", "np.pad(x, 1)", "np.take(x, i, axis=-1)", "np.take(x, 1, axis=0)", "np.stack([x, x])",
           "np.copy(x)", "x.copy()", "x * 1", "np.array(x)", "+x", "np.clip(x, None, None)", "np.roll(x, 1, axis=0)", "np.cumsum(x, axis=0)", "np.where(x > 1, x, 0)")  # fmt: skip


@pytest.mark.parametrize("options", [{"optimize": False}, {}, {"executor": "specializing"}], ids=repr)
def test_writes_through_what_is_flattened_arrive_where_numpy_has_a_view(options: dict[str, Any]) -> None:
    for number, text in enumerate(ORDERED):
        lines = f"    r = {text}\n    v = r.reshape(-1)\n    v += v\n    return r, x\n"
        plain, f = function(lines, number), tierup.jit(function(lines, number), **options)
        for name in ("2, C", "2, F", "3, F sliced", "2, broadcast", "permuted"):
            for _ in range(2):
                given, same = ([x, x[:1], np.array([0, 1, 0])] for x in (layouts()[name], layouts()[name]))
                got, want = f(*given), plain(*same)
                for a, b in zip(got, want, strict=True):
                    np.testing.assert_array_equal(a, b, f"{text} of {name}")
