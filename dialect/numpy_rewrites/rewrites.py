"""Every rewrite of an op under NumPy's rules into torch ops, by the name of the op's NumPy kernel."""

from __future__ import annotations

from tierup.dialect.numpy_rewrites.others import REWRITES as OTHERS
from tierup.dialect.numpy_rewrites.pointwise import REWRITES as POINTWISE

REWRITES = {**POINTWISE, **OTHERS}
