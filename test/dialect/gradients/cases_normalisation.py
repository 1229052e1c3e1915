"""Cases of layer, group, batch and RMS norm. The `native_` forms are differentiated by their means and deviations too, which PyTorch does not
do (or, of native_group_norm, wrongly), and with a bias but no weight, of which PyTorch has no second derivative."""

from __future__ import annotations

from typing import Any

import numpy as np
from gradient_harness import Case, array, case

BATCH = array(3, 4, 2, seed=3)  # samples, channels, places
VIEW = array(2, 4, 6, seed=4).transpose(2, 1, 0)[::2]
PLANES = array(2, 4, 2, 2, seed=5)
ROWS, NO_ROWS = array(5, 4, seed=6), array(0, 4, 2)
WEIGHT, BIAS = array(4, low=0.3, high=2, seed=7), array(4, seed=8)
W42, B42 = array(4, 2, low=0.3, high=2, seed=9), array(4, 2, seed=10)

UNKNOWN_TO_TORCH = frozenset({"aten.native_layer_norm", "aten.native_group_norm", "aten.native_batch_norm"})


def _layers(op: str, *rest: Any, of: tuple[int, ...] = (0,)) -> list[Case]:
    tried: list[tuple[np.ndarray, list[int], Any, Any]] = [
        (BATCH, [4, 2], W42, B42), (VIEW, [2], None, None), (ROWS, [4], WEIGHT, None), (ROWS[0], [4], None, BIAS), (NO_ROWS, [4, 2], W42, B42),
    ]  # fmt: skip
    return [case(op, x, shape, weight, bias, 1e-2, *rest, of=k) for k in of for x, shape, weight, bias in tried if _known(op, weight, bias)]


def _known(op: str, weight: Any, bias: Any) -> bool:
    return op in UNKNOWN_TO_TORCH or bias is None or weight is not None


def _groups() -> list[Case]:
    tried = ((BATCH, 2, WEIGHT, BIAS), (VIEW, 4, None, None), (PLANES, 1, None, BIAS), (ROWS, 2, WEIGHT, None), (NO_ROWS, 2, WEIGHT, BIAS))
    made = [case("aten.group_norm", x, n, weight, bias, 1e-2, False) for x, n, weight, bias in tried if _known("", weight, bias)]
    for k in (0, 1, 2):
        for x, n, weight, bias in tried[:4]:
            sizes = (x.shape[0], 4, int(np.prod(x.shape[2:])))
            made.append(case("aten.native_group_norm", x, weight, bias, *sizes, n, 1e-2, of=k))
    return made


def _batches(op: str, *rest: Any, of: tuple[int, ...] = (0,)) -> list[Case]:
    tried = ((BATCH, WEIGHT, BIAS), (VIEW, None, None), (PLANES, None, BIAS), (ROWS, WEIGHT, None))
    return [case(op, x, weight, bias, None, None, True, 0.1, 1e-2, *rest, of=k) for k in of for x, weight, bias in tried if _known(op, weight, bias)]


CASES = [
    *_layers("aten.layer_norm", False), *_layers("aten.native_layer_norm", of=(0, 1, 2)),
    *_groups(),
    *_batches("aten.batch_norm", False), *_batches("aten.native_batch_norm", of=(0, 1, 2)),
    case("aten.native_batch_norm", BATCH, WEIGHT, BIAS, BIAS, WEIGHT, False, 0.1, 1e-2),
    *(case("aten.rms_norm", x, shape, weight, eps)
      for x, shape, weight, eps in ((BATCH, [4, 2], W42, 1e-2), (VIEW, [2], None, None), (ROWS, [4], WEIGHT, None), (NO_ROWS, [4, 2], W42, None))),
]  # fmt: skip
