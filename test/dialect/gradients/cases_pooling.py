"""Cases of pooling and resizing."""

from __future__ import annotations

from typing import Any

from gradient_harness import array, case

LINE, IMAGE, VOLUME, EMPTY = array(2, 2, 5), array(1, 2, 4, 5), array(1, 1, 3, 4, 3), array(0, 2, 4, 5)
VIEW = array(5, 4, 2, 1, seed=6).transpose(3, 2, 1, 0)  # 1x2x4x5, not contiguous

MAX = [
    *(case("aten.max_pool1d", x, [2], [], [0], [1], False) for x in (LINE, LINE[0])),
    *(case("aten.max_pool2d", x, [3, 2], [1, 2], [1, 0], [1, 2], True) for x in (IMAGE, VIEW[0], EMPTY)),
    case("aten.max_pool3d", VOLUME, [2], [1], [1], [1], False),
    *(case(f"aten.max_pool{n}d_with_indices", x, [2], [1], [1], [1], False) for n, x in ((1, LINE), (2, VIEW), (3, VOLUME))),
    *(case(f"aten.adaptive_max_pool{n}d", x, [2] * n) for n, x in ((1, LINE), (2, IMAGE[0]), (3, VOLUME))),
]

AVERAGES = [
    *(case("aten.avg_pool1d", x, [2], stride, [1], False, include) for x, stride, include in ((LINE, [], True), (LINE[0], [1], False))),
    *(case("aten.avg_pool2d", x, [3, 2], [1, 2], [1, 0], ceil, include, divisor) for x, ceil, include, divisor in (
        (IMAGE, False, True, None), (VIEW[0], True, False, None), (EMPTY, False, True, None), (IMAGE, True, True, 3))),
    case("aten.avg_pool3d", VOLUME, [2], [], [1], True, False, None),
    case("aten.avg_pool2d_backward", array(1, 2, 3, 3), IMAGE, [2], [], [1], True, False, None),
    *(case(f"aten.adaptive_avg_pool{n}d", x, [3, 2, 3][:n]) for n, x in ((1, LINE), (1, LINE[0]), (2, VIEW), (2, IMAGE[0]), (3, VOLUME))),
    *(case(f"aten._adaptive_avg_pool{n}d", x, [2] * n) for n, x in ((2, EMPTY), (3, VOLUME))),
    case("aten._adaptive_avg_pool2d_backward", array(1, 2, 3, 2), IMAGE),
]  # fmt: skip

RESIZED = [
    *(case("aten.upsample_nearest2d", x, [6, 4], *scales) for x, scales in ((IMAGE, (None, None)), (VIEW, (1.5, 0.8)), (EMPTY, (None, None)))),
    case("aten.upsample_nearest2d.vec", IMAGE, [8, 3], None),
    case("aten.upsample_nearest2d_backward", array(1, 2, 8, 3), [8, 3], [1, 2, 4, 5], None, None),
    case("aten.upsample_nearest2d.vec", IMAGE, None, [2.0, 1.5]),
]

CASES: list[Any] = [*MAX, *AVERAGES, *RESIZED]
