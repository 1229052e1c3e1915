"""Cases of linear algebra: matrices far from singular, whose eigenvalues and singular values lie apart."""

from __future__ import annotations

import numpy as np
from gradient_harness import Case, array, case

REGULAR = array(3, 3, seed=1) + 3 * np.eye(3)
STACK = array(2, 3, 3, seed=2) + 3 * np.eye(3)
DEFINITE = np.diag([1.0, 2.0, 4.0]) + 0.2 * np.ones((3, 3))

CASES: list[Case] = [
    *(case("tierup.linalg_solve", a, b) for a, b in ((REGULAR, array(3)), (REGULAR, array(3, 2)), (STACK, array(3, 1)), (REGULAR, array(2, 3, 2)))),
    *(case(f"tierup.linalg_{op}", a) for op in ("inv", "inv_or_nan", "det", "slogdet") for a in (REGULAR, STACK)),
    *(case(f"tierup.linalg_{op}_{half}", DEFINITE) for op in ("cholesky", "eigvalsh", "eigh") for half in ("lo", "up")),
    *(case(f"tierup.linalg_{op}", a) for op in ("svd", "svd_s") for a in (array(4, 3, seed=4) + np.eye(4, 3), array(2, 3, seed=5) + np.eye(2, 3))),
]  # fmt: skip
UNKNOWN_TO_TORCH = frozenset(given.op for given in CASES)
