"""Cases of convolutions and pooling."""

from __future__ import annotations

from typing import Any

import numpy as np
from gradient_harness import Case, array, case

LINE, IMAGE, VOLUME = array(2, 2, 5), array(1, 4, 4, 4), array(1, 2, 2, 4, 2)
FEW = array(2, 2, 3, 3)
VIEW = array(3, 4, 2, 1, seed=6).transpose(3, 2, 1, 0)  # 1x2x4x3, not contiguous


def _convolution(
    x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None, stride: list[int], padding: list[int], dilation: list[int],
    transposed: bool = False, extra: list[int] | None = None, groups: int = 1,
) -> Case:  # fmt: skip
    return case("aten.convolution", x, weight, bias, stride, padding, dilation, transposed, extra or [0] * len(stride), groups)


CONVOLUTIONS = [
    _convolution(FEW, array(3, 2, 2, 2), array(3), [1, 1], [0, 0], [1, 1]),
    _convolution(VIEW, array(2, 2, 3, 2).transpose(0, 1, 3, 2), None, [2, 1], [1, 1], [1, 1]),
    _convolution(IMAGE, array(2, 2, 2, 1), array(2), [2, 3], [1, 0], [2, 1], groups=2),
    _convolution(IMAGE, array(4, 1, 3, 2), None, [3, 1], [0, 1], [1, 2], groups=4),
    _convolution(array(0, 2, 4, 3), array(3, 2, 2, 2), array(3), [2, 1], [1, 1], [1, 1]),
    _convolution(FEW, array(2, 3, 2, 2), array(3), [1, 1], [0, 0], [1, 1], True),
    _convolution(FEW, array(2, 2, 2, 2), None, [2, 3], [1, 0], [1, 1], True, [1, 2]),
    _convolution(FEW, array(2, 1, 2, 2), array(2), [1, 2], [0, 1], [2, 1], True, [1, 0], 2),
    case("aten._convolution", FEW, array(3, 2, 1, 1), array(3), [1, 1], [0, 0], [1, 1], False, [0, 0], 1, False, False, True, True),
]  # fmt: skip

BY_RANK = [
    *(case("aten.conv1d", x, array(3, 2, 2), bias, [2], [1], [1], 1) for x in (LINE, LINE[0]) for bias in (None, array(3))),
    *(case("aten.conv2d", x, array(2, 2, 2, 3), None, [1], [1], [1], 1) for x in (FEW, FEW[0])),
    case("aten.conv3d", VOLUME, array(2, 1, 1, 2, 2), array(2), [1, 2, 1], [1, 0, 1], [1, 1, 2], 2),
    *(case("aten.conv_transpose1d", x, array(2, 3, 2), None, [2], [1], [1], 1, [1]) for x in (LINE, LINE[0])),
    case("aten.conv_transpose2d.input", FEW, array(2, 2, 2, 2), array(2), [1], [0], [0], 1, [2]),
    case("aten.conv_transpose3d.input", array(1, 2, 2, 2, 2), array(2, 1, 2, 2, 1), None, [2], [0], [1], 2, [1]),
    *(case("aten.conv1d.padding", x, array(2, 2, 4), None, [1], "same", [1], 1) for x in (LINE, LINE[0])),
    *(case("aten.conv2d.padding", FEW, array(2, 1, 2, 3), array(2), [1], name, [1], 2) for name in ("same", "valid")),
    case("aten.conv3d.padding", VOLUME, array(1, 2, 2, 1, 2), None, [1], "same", [1], 1),
]

CASES: list[Any] = [*CONVOLUTIONS, *BY_RANK]
