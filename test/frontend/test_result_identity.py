"""An array that a function returns twice is one object, in every tier and in every place of the result."""

import numpy as np
import pytest

import tierup

TWICE = {
    "a view": lambda x: (v := x.T, v), "an argument": lambda x: (x, x * 2, x), "computed": lambda x: (v := x * 2, {"again": v, "other": x.T}),
    "one that may not be copied": lambda x: (np.array(x, copy=False), x), "views made twice": lambda x: (x.T, x.T), "a view of what is computed": lambda x: [v := (x * 2).T, [v], v[:1]],
}  # fmt: skip


def leaves(tree):
    if isinstance(tree, np.ndarray):
        return [tree]
    return [a for item in (tree.values() if isinstance(tree, dict) else tree) for a in leaves(item)]


def same(tree):
    found = leaves(tree)
    return [(a is b, np.shares_memory(a, b)) for i, a in enumerate(found) for b in found[:i]]


@pytest.mark.parametrize("name", TWICE)
def test_an_array_that_is_returned_twice_is_one_object(name):
    decorated = tierup.jit(TWICE[name])
    for _ in range(3):
        x = np.ones((2, 3))
        got, want = decorated(x), TWICE[name](x)
        assert same(got) == same(want)
        for a, b in zip(leaves(got), leaves(want), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_view_that_is_returned_twice_is_native():
    decorated = tierup.jit(TWICE["a view"])
    for _ in range(3):
        decorated(np.ones((2, 3)))
    assert decorated.stats().hits == 2


def test_cotangents_of_an_array_that_is_returned_twice_add_up():
    def f(x):
        y = x * x
        return y, x, y

    x, one = np.arange(3.0), np.ones(3)
    _, pullback = tierup.vjp(f, x)
    np.testing.assert_array_equal(pullback((one, None, 2 * one))[0], 6 * x)
    np.testing.assert_array_equal(pullback((None, one, one))[0], 2 * x + 1)
    with pytest.raises(ValueError, match="other sizes"):
        pullback((one, None, np.ones(1)))


def _reversed_copy(x):
    return x[..., ::-1].copy()


def _copy_on_one_path(x):
    if x.mean() < 0:
        v = x.copy()
    else:
        v = x
    return v


def _reversed_on_one_path(x):
    if x.mean() < 0:
        v = x[::-1].copy()
    else:
        v = x * 2
    return v


MAKERS = {"a copy": np.copy, "a reversed copy": _reversed_copy, "computed": np.negative, "a copy on one path": _copy_on_one_path,
          "made on both paths": _reversed_on_one_path, "of a list": lambda x: np.array([x, x])}  # fmt: skip
HANDED_ON = {
    "itself, twice": lambda v: (v, v), "reshaped": lambda v: [v.reshape(-1), v], "its rows": lambda v: (v, v[:2]),
    "one part": lambda v: v[:2], "flat and turned": lambda v: (v.ravel(), v.T, v),
}  # fmt: skip


@pytest.mark.parametrize("handed_on", HANDED_ON)
@pytest.mark.parametrize("maker", MAKERS)
def test_what_is_made_on_a_path_shares_the_memory_that_it_shares_in_numpy(maker, handed_on):
    make, hand_on = MAKERS[maker], HANDED_ON[handed_on]

    def program(x):
        return hand_on(make(x))

    for shape in ((2, 3), (1, 1), (4,)):
        decorated = tierup.jit(program)
        for sign in (1, 1, -1, -1, 1):
            x = sign * np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
            got, want = decorated(x), program(x)
            together, expected = (leaves([r, x]) if isinstance(r, np.ndarray) else leaves([*r, x]) for r in (got, want))
            assert [[np.shares_memory(a, b) for b in together] for a in together] == [[np.shares_memory(a, b) for b in expected] for a in expected]
            for a, b in zip(together, expected, strict=True):
                np.testing.assert_array_equal(a, b)


def _generations(x, n):
    for _ in range(n):
        fresh = np.zeros_like(x)
        for i in range(len(x)):
            if x[i - 1] > 0.5:
                fresh[i] = x[i] + 1
        x = fresh
    return x


def _handed_round(x, n):
    y, z = x * 0, x * 1
    for i in range(n):
        if i > 0:
            y = z
        z = x
    return y


@pytest.mark.parametrize(("program", "rounds", "native"), [(_generations, (3, 3, 3, 0, 0), 2), (_handed_round, (1, 1, 1, 2, 2, 3, 3), 0)])
def test_what_rounds_of_a_loop_make_is_told_from_an_argument(program, rounds, native):
    decorated = tierup.jit(program, weigh=False)
    for n in rounds:
        x = np.linspace(0.0, 1.0, 8)
        got, want = decorated(x, n), program(y := x.copy(), n)
        np.testing.assert_array_equal(got, want)
        assert np.shares_memory(got, x) == np.shares_memory(want, y)
    assert decorated.stats().hits >= native


def cast_in_place(x):
    return np.array(x, dtype=np.float32, copy=False)


def joined_in_place(x):
    return np.array([x, x], copy=False)


@pytest.mark.parametrize("function", [cast_in_place, joined_in_place])
def test_an_array_that_may_not_be_copied_and_must_be_raises(function):
    for _ in range(3):
        with pytest.raises(ValueError, match="Unable to avoid copy"):
            tierup.jit(function)(np.ones(2))
