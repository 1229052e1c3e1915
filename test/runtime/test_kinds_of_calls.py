"""Calls of a kind that there is no graph for, of a function that has graphs for others, leave these as they are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tierup

X = np.arange(6.0).reshape(2, 3)


def scaled(x: Any, k: Any = 2.0) -> Any:
    return x * k + 1


def words(x: Any) -> Any:
    text = f"{x!r}"
    return x * 2 if isinstance(x, np.ndarray) else text


@pytest.mark.parametrize("other", [(None,), ("word",), ({"a"}, 3), (X, None), ([1, 2], "b")])
def test_a_call_that_no_graph_takes_leaves_native_code_to_those_that_one_takes(other: tuple[Any, ...]) -> None:
    jitted = tierup.jit(scaled, compile="blocking")
    for _ in range(3):
        jitted(X)
    for _ in range(20):
        try:
            wanted = scaled(*other)
        except TypeError as e:
            with pytest.raises(TypeError) as found:
                jitted(*other)
            assert str(found.value) == str(e)
        else:
            assert repr(jitted(*other)) == repr(wanted)
        hits = jitted.stats().hits
        np.testing.assert_array_equal(jitted(X), scaled(X))
        assert jitted.stats().hits == hits + 1
    assert jitted.elsewhere is None and len(jitted.versions) == 1


def test_kinds_of_calls_answer_by_python_each_and_are_explained() -> None:
    jitted = tierup.jit(words, compile="blocking")
    for _ in range(3):
        for value in (X, {1}, object, b"x"):
            assert repr(jitted(value)) == repr(words(value))


def test_a_function_whose_first_call_no_graph_takes_is_left_as_a_whole() -> None:
    jitted = tierup.jit(scaled, compile="blocking")
    with pytest.raises(TypeError):
        jitted(None)
    np.testing.assert_array_equal(jitted(X), scaled(X))
