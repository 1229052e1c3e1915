"""Names in messages have their module, and what is suggested for one is a likely misspelling of it, or nothing is."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.dialect.base.spelling import closest, nearest
from tierup.dialect.passes import registry
from tierup.frontend.python.building.table import name_of
from tierup.tools.pages.numpydoc import index


def test_every_function_of_numpys_index_is_named_as_users_write_it() -> None:
    sections = index()
    for section in ("Functions", "Ufuncs", "numpy.linalg", "numpy.fft", "numpy.random, legacy"):
        for name in sections[section]:
            function = attrgetter(name.removeprefix("np."))(np)
            if not hasattr(function, "__name__"):  # np.test
                continue
            said = name_of(function)
            assert said.startswith("np.") and attrgetter(said.removeprefix("np."))(np) is function, (name, said)
    assert name_of(np.random.default_rng) == "np.random.default_rng" and name_of(np.fft.fft) == "np.fft.fft"


@pytest.mark.parametrize(("word", "found"), [
    ("tierup-frobnicate", []), ("tierup-fuse-group", ["tierup-fuse-groups"]), ("fuse-groups", ["tierup-fuse-groups"]), ("zzz", []), ("tierup-", []),
])  # fmt: skip
def test_names_that_share_a_beginning_are_not_alike_for_that(word: str, found: list[str]) -> None:
    assert nearest(word, registry.passes())[:1] == found


def test_nothing_is_suggested_for_nonsense_and_the_word_for_a_slip() -> None:
    words = ["max_graphs", "max_versions", "num_profiled_runs", "fusion_strategy"]
    for word in words:
        for slip in (word[:-1], word + "s", word.replace("s", "", 1), word[1:]):
            assert word in nearest(slip, words)
        assert closest("_".join(reversed(word)), words) == ""


def test_a_method_that_arrays_have_is_no_misspelt_one() -> None:
    def dumped(x: Any) -> Any:
        return x.dumps()

    def slipped(x: Any) -> Any:
        return x.summ()

    with tierup.options(strict=True), pytest.raises(tierup.UnsupportedSyntax, match="the array method `.dumps`") as caught:
        tierup.jit(dumped)(np.ones(3))
    assert "did you mean" not in str(caught.value)
    with pytest.raises(AttributeError, match="has no attribute 'summ'"):  # as Python says it
        tierup.jit(slipped)(np.ones(3))
