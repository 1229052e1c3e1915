"""NumPy's functions refuse an axis of a rank-0 array: the rules say so, or an op that nobody uses would be dropped with its exception."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tierup.dialect import optable
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import Infer, Promotion
from tierup.dialect.optable.operands import lifted

CASES: list[tuple[str, tuple[Any, ...]]] = [
    ("aten.roll", ([1], [0])), ("aten.roll", ([1], [])), ("aten.flip", ([0],)), ("aten.flip", ([],)), ("aten.sort", (-1, False)),
    ("aten.argsort", (0, False)), ("aten.transpose.int", (0, -1)), ("aten.movedim.int", (0, 0)), ("aten.mean.dim", ([0], False, None)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "operands"), CASES)
def test_a_rule_refuses_the_axes_that_the_kernel_refuses(name: str, operands: tuple[Any, ...]) -> None:
    row = optable.table()[name]
    assert row.numpy is not None
    ctx = Infer()
    ctx.promotion = Promotion.NUMPY
    given, found = (np.array(1.5), *operands), []
    kernel = kernels.resolve(row.numpy)
    for run in (lambda: kernel(*given), lambda: row.infer(ctx, [lifted(v) for v in given])):
        try:
            results = run()
            found.append([r.shape for r in (results if isinstance(results, tuple) else (results,))])
        except IndexError:
            found.append("refused")
    assert found[0] == found[1]
