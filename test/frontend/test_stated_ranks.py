"""What the front end knows of a result's rank is what NumPy gives: `.ndim` is a constant of the graph, and indices are refused by it."""

import linecache
import warnings

import numpy as np
import pytest
from sampling import drawn

import tierup
import tierup.frontend.python.build  # noqa: F401 - fills the table
from tierup.frontend.python.building import table

SHAPES = (), (2,), (2, 3), (2, 3, 2)
CALLS = "(x)", "(x, x)", "(x, 1)", "([x, x])", "(x, 0, 1)", "(x, axis=0)", "(x, keepdims=True)"
ARGUMENTS = "", "0", "1", "x", "axis=0", "-1", "0, 1"


def known_functions():
    def is_known(name):
        try:
            return getattr(np, name) in table.FUNCTIONS
        except TypeError:  # it has no hash
            return False

    return [name for name in dir(np) if is_known(name)]


EXPRESSIONS = [f"np.{name}{call}" for name in known_functions() for call in CALLS]
EXPRESSIONS += [f"x.{name}({arguments})" for name in table.METHODS for arguments in ARGUMENTS]


def rank_of(expression, folder):
    """A function of `x` that gives the rank of an expression, whose source is in a file."""
    path = folder / "ranks.py"
    path.write_text(f"def rank(x):\n    v = {expression}\n    return np.ndim(v)\n")
    linecache.checkcache(str(path))
    names = {"np": np}
    exec(compile(path.read_text(), str(path), "exec"), names)
    return names["rank"]


def test_ranks_are_numpys(tmp_path):
    assert len(EXPRESSIONS) > 1000
    compared, wrong = 0, []
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for expression, shape in drawn("stated ranks", [(e, s) for e in EXPRESSIONS for s in SHAPES], 20, kind=lambda row: row[1]):
            rank, x = rank_of(expression, tmp_path), np.arange(np.prod(shape)).reshape(shape)
            try:
                wanted = rank(x.copy())
            except Exception:  # noqa: BLE001 - a call that NumPy refuses has no rank
                continue
            try:
                got = tierup.jit(rank)(x.copy())
            except tierup.UnsupportedSyntax:
                continue
            compared += 1
            if got != wanted:
                wrong.append((expression, shape, got, wanted))
    assert compared > 100 and not wrong


def scanned(x):
    return np.cumsum(x, axis=0)[:, None]


def triangle(x):
    return np.triu(np.ravel(x))[:1, 1:]


@pytest.mark.parametrize("x", [np.array(3.0), np.arange(3.0)], ids=["a number", "a vector"])
@pytest.mark.parametrize("function", [scanned, triangle])
def test_results_of_a_rank_above_the_operands_are_indexed_as_such(function, x):
    np.testing.assert_array_equal(tierup.jit(function)(x), function(x), strict=True)
