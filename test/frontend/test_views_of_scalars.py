"""A view of a NumPy scalar is an array of its own: what is written to it leaves the scalar, and the array that it was read from, as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from beside_python import alike, both, ending

SCALARS = ("x.mean()", "x.sum() * 2", "x[1]", "x[0] + 1", "np.max(x)", "y * 2", "y[()]", "-y", "np.where(y > 0, y, 0) + y", "x[x.argmax()]")
VIEWS = ("np.broadcast_to(s, (2,))", "np.broadcast_to(s, (2, 3))", "s.reshape(1)", "np.reshape(s, (1, 1))", "s.ravel()", "np.ravel(s)", "np.atleast_1d(s)", "np.atleast_2d(s)", "np.atleast_3d(s)", "s[None]", "s[..., None]",
         "np.expand_dims(s, 0)", "s.squeeze()[None]", "np.asarray(s)", "np.asarray(s)[None]", "np.array(s, copy=None, ndmin=1)", "np.broadcast_arrays(s, np.ones(2))[0]", "s.T.reshape(1)", "np.transpose(s)[None]", "s.flatten()", "np.asarray(s).view()",
         "np.moveaxis(s[None, None], 0, 1)", "np.squeeze(s)[None]", "np.real(s)[None]", "s.real[None]", "np.ascontiguousarray(s)", "np.require(s)[None]", "np.asanyarray(s)[..., None]")  # fmt: skip
WRITES = ("v[...] = 7", "v += 1", "np.add.at(v, [0, 0], 1)", "np.copyto(v, 5)", "np.put(v, [0], 9)", "np.add(v, 1, out=v)", "v.fill(3)", "v[0] = 4")


@pytest.mark.parametrize("view", VIEWS)
def test_what_is_written_to_a_view_of_a_scalar_is_the_views_alone(view: str, tmp_path: Path) -> None:
    at = VIEWS.index(view)
    for i in range(at, at + 4):  # all meet in the course of the views
        scalar, write = SCALARS[i * 3 % len(SCALARS)], WRITES[(at + i * 5) % len(WRITES)]
        (folder := tmp_path / str(i)).mkdir()
        jitted, plainly = both("x, y", f"s = {scalar}\nv = {view}\n{write}\nreturn s, v, x", folder)
        for _ in range(2):
            found, wanted = (ending(f, np.array([1.0, 2.5, 0.5]), np.array(3.0)) for f in (jitted, plainly))
            assert alike(found, wanted, 0), (scalar, write, found, wanted)
