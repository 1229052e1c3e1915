"""Index expressions at random, read and stored through, in tier 0 and natively: NumPy's result or its exception."""

import linecache

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sampling import examples

import tierup
from tierup import UnsupportedSyntax

ITEMS = (":", "0", "-1", "1", "5", "-5", "None", "...", "1:", "::2", ":-1", "::-1", "i", "j:", "i:j", "3:1", "-1:0:-2", "k", "[]", "m", "s", "[0, 1]")
PROGRAM = {
    "load": "    return x[{}]",
    "store": "    y = x.copy()\n    y[{}] = 7\n    return y",
    "update": "    y = x.copy()\n    y[{}] += 3\n    return y",
    "spread": "    y = x.copy()\n    y[{0}] = y[{0}] * 2 + 1\n    return y",
    "shared": "    y = x.copy()\n    y[{}] = y\n    return y",
}


def function_of(text):
    """A function whose source can be read, as the front end does."""
    name = f"<index {len(linecache.cache)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def outcome(function, *args):
    try:
        return np.asarray(function(*args))
    except (IndexError, ValueError, TypeError) as e:
        return type(e)


@given(
    st.lists(st.sampled_from(ITEMS), min_size=1, max_size=4).filter(lambda items: items.count("...") < 2),
    st.sampled_from(sorted(PROGRAM)),
    st.sampled_from([(2, 2), (3,), (2, 3, 2), (), (2, 0), (1, 2, 2, 1)]),
    st.integers(-2, 2),
    st.integers(-2, 2),
)
@settings(max_examples=examples(30))
def test_any_index_gives_what_numpy_gives(items, kind, shape, i, j):
    function = function_of(f"def f(x, i, j, k, m, s):\n{PROGRAM[kind].format(', '.join(items))}\n")
    x = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
    args = x, i, j, np.array([0, 1, 0]), x > 1, np.int64(1)
    jitted, want = tierup.jit(function), outcome(function, *args)
    for call in range(2):
        try:
            got = outcome(jitted, *args)
        except UnsupportedSyntax:
            return
        if isinstance(want, type) or isinstance(got, type):
            assert got is want, f"call {call} of x[{', '.join(items)}] for {shape}: {got}, not {want}"
        else:
            assert got.dtype == want.dtype
            np.testing.assert_array_equal(got, want)


def test_items_on_both_sides_of_an_ellipsis_do_not_meet():
    """x[:, ..., :, 0] takes three axes, though each side of it fits two."""
    function = function_of("def f(x):\n    return x[:, ..., :, 0]\n")
    jitted = tierup.jit(function)
    for _ in range(3):
        assert outcome(jitted, np.ones((2, 2))) is IndexError
        np.testing.assert_array_equal(jitted(np.ones((2, 2, 3))), np.ones((2, 2)))
    assert jitted.stats().hits >= 2
