"""Views of a NumPy scalar that indexing gave: a scalar is a copy, so they are of memory of their own, and the argument's stays apart."""

import numpy as np
import pytest

import tierup

VIEWS = {
    "reshape": lambda x: x[0].reshape(1, -1), "ravel": lambda x: x[0].ravel(), "atleast_1d": lambda x: np.atleast_1d(x[0]), "asarray": lambda x: np.asarray(x[0]),
    "new_axis": lambda x: x[0][None], "expand_dims": lambda x: np.expand_dims(x[0], 0), "broadcast_to": lambda x: np.broadcast_to(x[0], (3, *x.shape)),
    "view_of_a_view": lambda x: x[None][0].ravel(), "cast_to_its_own_dtype": lambda x: x[0].astype(x.dtype, copy=False).reshape(1, -1),
    "reshaped_to_sizes": lambda x: x[0].reshape(x[0].size, 1),
    "transposed": lambda x: x[0].T, "the_load": lambda x: x[0], "computed": lambda x: np.exp(x[0])[None],
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("options", [{"optimize": False}, {}], ids=["tier 0", "compiled"])
def test_a_view_of_a_scalar_is_of_its_own(name, options):
    f = VIEWS[name]
    decorated = tierup.jit(f, **options)
    for x in [np.arange(1.0, 5.0)] * 3 + [np.ones((2, 3))] * 3:
        want, given = f(x), x.copy()
        got = decorated(given)
        assert type(got) is type(want) and np.shape(got) == np.shape(want) and np.all(np.isclose(got, want))
        if isinstance(want, np.ndarray):
            assert got.flags.writeable == want.flags.writeable and np.shares_memory(got, given) == np.shares_memory(want, x)
    assert options or decorated.stats().hits >= 2


@pytest.mark.parametrize("options", [{"optimize": False}, {}], ids=["tier 0", "compiled"])
def test_a_view_that_is_returned_twice_is_one_array(options):
    def f(x):
        v, w = x[0].reshape(1, 1), x[x.argmax()]
        w = w.reshape(w.size, 1)
        return v, w, [v, w]

    decorated = tierup.jit(f, **options)
    for _ in range(3):
        x = np.arange(1.0, 5.0)
        v, w, both = decorated(x)
        assert both[0] is v and both[1] is w and not np.shares_memory(v, w)
        assert not np.shares_memory(v, x) and not np.shares_memory(w, x)
