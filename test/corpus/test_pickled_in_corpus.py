"""Functions that were pickled by value, with all that their module has: every program does what the undecorated function does."""

from __future__ import annotations

import pickle
import sys

import corpus_modes
import pytest
import test_corpus
from corpus import PROGRAMS, Program
from sampling import drawn

cloudpickle = pytest.importorskip("cloudpickle")
MODE = corpus_modes.Mode("pickled", corpus_modes.growing, lambda program: None)


@pytest.fixture(autouse=True)
def by_value() -> object:
    modules = [module for module in test_corpus.MODULES if sys.modules.get(module.__name__) is module]
    for module in modules:
        cloudpickle.register_pickle_by_value(module)
    yield
    for module in modules:
        cloudpickle.unregister_pickle_by_value(module)


@pytest.mark.parametrize("program", [pytest.param(p, id=p.name) for p in drawn("pickled", [p for p in PROGRAMS if p.make is None], 16)])
def test_a_function_that_was_pickled_does_what_the_undecorated_function_does(program: Program) -> None:
    if program.state():
        pytest.skip("what it writes outside of it is its copy's then")
    function = corpus_modes._made(program, MODE)
    data = pickle.dumps(function)
    came = pickle.loads(data)
    assert came is not function
    if not program.mlir:
        assert came.__wrapped__ is not function.__wrapped__
    corpus_modes._run(program, MODE, came)
