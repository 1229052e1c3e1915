"""docs/numpy-coverage.md: no name of NumPy's index is missing, what it says is so, and what is said to work is NumPy's for other arguments, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tierup
from test.sampling import drawn
from tierup.tools.pages import numpydoc
from tierup.tools.pages.numpydoc import Example, calls_of, differs, disagreement, index, outcome, row, verdict

PAGE = numpydoc.PAGE.read_text()
CALLS = calls_of()
IS_OF_THIS_NUMPY = f"NumPy {'.'.join(np.__version__.split('.')[:2])}'s index" in PAGE


def _section(name: str) -> str:
    return next(section for section, names in index().items() if name in names)


def test_the_page_has_every_name_and_no_empty_cell() -> None:
    assert all(CALLS.values()), [name for name, calls in CALLS.items() if not calls]
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    assert all(cell.strip() for line in rows for cell in line.strip("|").split(" | "))
    if IS_OF_THIS_NUMPY:
        assert {line.split("`")[1] for line in rows} == set(CALLS), "run make numpy-index"


@pytest.mark.skipif(not IS_OF_THIS_NUMPY, reason="the page is of another NumPy")
def test_a_sample_of_the_page_is_so() -> None:
    for name in drawn("NumPy's index", list(CALLS), 28, kind=_section):
        verdicts = [verdict(call) for call in CALLS[name]]
        assert not [v.wrong for v in verdicts if v.wrong]
        assert row(name, verdicts) in PAGE, "run make numpy-index"


def test_every_example_runs() -> None:
    for name, calls in CALLS.items():
        for call in calls if not name.startswith("np.random") else ():
            example = Example.of(call)
            result, _ = outcome(example.function, example.arguments())
            assert not isinstance(result, Exception) or "LinAlgError(" in call, (call, result)


def _of_floats(change: Callable[[np.ndarray], Any]) -> Callable[[Any], Any]:
    return lambda value: change(value) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


OTHERS = {
    "float32": _of_floats(lambda v: v.astype(np.float32)), "float16": _of_floats(lambda v: v.astype(np.float16)),
    "int64": _of_floats(lambda v: np.nan_to_num(v * 8).astype(np.int64)), "uint8": _of_floats(lambda v: np.nan_to_num(v * 8).astype(np.uint8)),
    "bool": _of_floats(lambda v: v > 0.3), "complex": _of_floats(lambda v: v * (1 + 1j)), "no elements": _of_floats(lambda v: v[..., :0]),
    "a scalar": _of_floats(lambda v: v.flat[0]), "rank 0": _of_floats(lambda v: np.array(v.flat[0])), "in Fortran order": _of_floats(np.asfortranarray),
    "strided": _of_floats(lambda v: np.repeat(v, 2, axis=-1)[..., ::2]), "too long": _of_floats(lambda v: np.concatenate([v, v])[: v.shape[0] + 1]),
    "None": lambda value: None if isinstance(value, np.ndarray) else value,
}  # fmt: skip


WERE_WRONG = [
    ("np.isin(i, k)", "int64"), ('np.isdtype(np.float32, "real floating")', "None"), ("np.conj(x)", "bool"), ("np.add.accumulate(x)", "a scalar"), ("np.broadcast(u, g)", "float32"),
    ("np.fft.fftshift(x)", "rank 0"), ("np.real(x)", "rank 0"), ("np.where(b, x, 0.0)", "None"), ("np.flipud(a)", "a scalar"), ("a.mT", "a scalar"),
]  # fmt: skip


def test_other_arguments_give_what_numpy_gives_or_raise_what_it_raises() -> None:
    pairs = [(call, other) for name, calls in CALLS.items() if not name.startswith("np.random") for call in calls for other in OTHERS]
    for call, other in [*WERE_WRONG, *drawn("NumPy's examples", pairs, 60, kind=lambda pair: pair[1])]:
        example = Example.of(call)
        found = disagreement(example, tierup.jit(example.function, optimize=False), OTHERS[other])
        assert found is None, f"{other}: {found}"


@pytest.mark.parametrize(("ours", "numpys"), [
    (1.0, np.float64(1)), (np.float32(1), np.float64(1)), (np.ones(3), np.ones(2)), ((np.ones(2), 1), (np.ones(2), 2)), (np.ones(3), np.ones(3) * (1 + 1e-13)),
    (ValueError("a"), TypeError("a")), ([1], [1, 2]),
])  # fmt: skip
def test_a_difference_is_seen(ours: Any, numpys: Any) -> None:
    assert differs(ours, numpys) is not None and differs(numpys, numpys) is None
