"""Cases of indexing, of parts, and of what joins, repeats, turns and pads."""

from __future__ import annotations

from typing import Any

import numpy as np
from gradient_harness import Case, array, case
from gradient_operands import COLUMN, EMPTY, LETTERS, MASK, POINT, ROW, X, Y

TURNED = array(4, 3, 2, seed=7).T  # not contiguous
VECTOR = array(5, seed=8)


def ints(*items: Any) -> np.ndarray:
    return np.array(items, dtype=np.int64)


PICKS = [
    (X, [ints(1, 0, 1, -2)]), (X, [ints([0, 1], [1, 1]), ints(2, -1)]), (LETTERS, [None, ints(2, 0, 2)]), (TURNED, [ints(1, 1), None, ints(3, 0)]),
    (X, [MASK]), (LETTERS, [np.array([True, False])]), (LETTERS, [None, np.array([[True] * 4] * 3)]), (EMPTY, [None, ints(1, 1)]),
    (X, [ints().reshape(0)]), (VECTOR, [np.array(3)]), (LETTERS, [np.array([True, True]), ints(2, 1)]),
]  # fmt: skip

INDEXING: list[Case] = [
    *(case("aten.index.Tensor", x, where) for x, where in PICKS),
    case("aten.index.Tensor_hacked_twin", X, [ints(0, 0)]),
    *(case("aten.index_put", x, where, array(*x[tuple(slice(None) if i is None else i for i in where)].shape, seed=3), adds)
      for x, where in PICKS for adds in (False, True) if adds or not any(i is not None and i.dtype == np.int64 for i in where)),
    case("aten.index_put", X, [ints(1)], ROW, False), case("aten.index_put", LETTERS, [None, ints(2, 0)], array(4, seed=4), False),
    case("aten.index_put", LETTERS, [None, ints(2, 2)], array(1, seed=4), True), case("aten.index_put", X, [MASK], POINT, False),
    case("aten.index_put.hacked_twin", X, [ints(1)], ROW, False),
    case("aten._unsafe_index_put.hacked_twin", X, [ints(1)], ROW, True),
    *(case("aten.index_select", x, d, i) for x, d, i in (
        (X, 0, ints(1, 0, 1)), (LETTERS, -1, ints(3, 3, 0)), (TURNED, 1, ints(2)), (X, 1, np.array(2)), (EMPTY, 1, ints(0, 0)),
        (POINT, 0, ints(0)), (VECTOR, -1, ints(4, 4)), (X, 0, ints().reshape(0)), (VECTOR, 0, np.array([1, 1], np.int32)),
    )),
    *(case("tierup.interp", x, np.array([-1.0, 0.0, 2.5]), ROW, left, right) for x, left, right in (
        (np.array([-0.5, 0.3, 1.7, 3.0, -2.0]), None, None), (np.array([[-0.5, 2.4]]), 0.5, None), (np.array(1.0), None, -1.0), (np.zeros((0,)), 0.5, 1.0),
        (np.array([-3.0, 4.0]), None, 2.0),
    )),
    case("tierup.interp", np.array([-0.5, 0.3]), np.array([0.1]), POINT.reshape(1), None, None),
    *(case("tierup.bincount", x, weights, 0) for x, weights in ((ints(0, 2, 2), ROW), (ints(1, 1, 0), ROW))),
    *(case("aten.embedding", X, i, -1, False, False) for i in (
        ints([1, 0], [1, 1]), np.array(1), ints(0, 1, 1), np.array([1, 1], np.int32),
    )),
    *(case("aten.gather", x, d, i, False) for x, d, i in (
        (X, 0, ints([1, 0, 1])), (X, 1, ints([2, 2, 0, 2], [0, 1, 1, 1])), (LETTERS, -2, ints([[2, 0]], [[1, 1]])), (POINT, 0, np.array(0)),
        (X, 1, ints().reshape(0, 2)), (TURNED, 0, np.ones((2, 3, 4), np.int64)), (VECTOR, 0, ints(4, 4)),
    )),
    *(case("aten.scatter.src", x, d, i, s) for x, d, i, s in (
        (X, 0, ints([1, 0, 1]), ROW.reshape(1, 3)), (X, 1, ints([2, 0], [0, 1]), array(2, 2, seed=9)), (VECTOR, 0, ints(3, 1), array(2, seed=9)),
        (POINT, 0, np.array(0), array(seed=9)), (LETTERS, -1, np.zeros((2, 3, 0), np.int64), array(2, 3, 0)),
    )),
    *(case("aten.scatter.value", x, d, i, 1.5) for x, d, i in ((X, 0, ints([1, 0, 1])), (X, 1, ints([2, 2])), (POINT, 0, np.array(0)))),
    *(case("aten.scatter_add", x, d, i, s) for x, d, i, s in (
        (X, 0, ints([1, 0, 1]), ROW.reshape(1, 3)), (X, 1, ints([2, 2], [0, 0]), array(2, 2, seed=9)), (VECTOR, -1, ints(3, 3, 3), ROW),
        (POINT, 0, ints(0, 0, 0), ROW),
    )),
    *(case("aten.scatter_reduce.two", X, 1, ints([2, 2, 0, 2], [0, 0, 1, 0]), array(2, 4, seed=9), reduce, includes)
      for reduce in ("sum", "mean", "amax", "amin") for includes in (True, False)),
    *(case("aten.masked_select", x, m) for x, m in ((X, MASK), (TURNED, array(4, 3, 2, seed=6).T > 0), (COLUMN, MASK), (X, MASK[0]), (X, ~MASK & MASK), (EMPTY, EMPTY > 0))),
    *(case("aten.masked_scatter", x, m, s) for x, m, s in ((X, MASK, Y), (X, MASK, array(4, 2, seed=9)), (COLUMN, MASK, LETTERS), (X, MASK & ~MASK, ROW))),
]  # fmt: skip

UNKNOWN_TO_TORCH = ("tierup.interp", "tierup.bincount")

PARTS: list[Case] = [
    *(case("aten.narrow", LETTERS, *where) for where in ((0, 1, 1), (1, -2, 2), (-1, 0, 4), (2, -4, 1), (1, 3, 0), (1, 2, 0))),
    case("aten.narrow.Tensor", LETTERS, 1, np.array(1), 2), case("aten.narrow.Tensor", LETTERS, -1, np.array(-2), 2),
    *(case("aten.diagonal", x, *rest) for x, *rest in ((X, 0, 0, 1), (X, 1, 0, 1), (X, -1, 1, 0), (LETTERS, 1, -1, 0), (TURNED, 0, 0, 2), (X, 5, 0, 1))),
    case("aten.diagonal_copy", LETTERS, -1, 0, 1),
    case("aten.diagonal_scatter", X, array(2, seed=9), 0, 0, 1), case("aten.diagonal_scatter", LETTERS, array(4, 2, seed=9), -1, 1, 0),
    *(case(f"aten.{op}", x, *rest, parts=n, of=of) for op, x, rest, n in (
        ("split.Tensor", VECTOR, (2, 0), 3), ("split.Tensor", LETTERS, (2, -2), 2), ("split.sizes", VECTOR, ([1, 0, 4], 0), 3),
        ("split_with_sizes", LETTERS, ([1, 3], -1), 2), ("chunk", VECTOR, (2, 0), 2), ("chunk", TURNED, (3, 0), 2), ("chunk", LETTERS, (2, -1), 2),
        ("tensor_split.sections", VECTOR, (3, -1), 3), ("tensor_split.sections", array(2), (3, 0), 3), ("unbind.int", LETTERS, (1,), 3),
        ("unbind.int", X, (-2,), 2), ("split.Tensor", EMPTY, (2, 1), 2),
    ) for of in (None, 0, n - 1)),
]  # fmt: skip

JOINED: list[Case] = [
    case("aten.stack", [X, Y], 0),
    case("aten.stack", [X, Y], -1), case("aten.stack", [POINT, array(seed=3)], 0), case("aten.stack", [EMPTY], 1),
    case("aten.hstack", [X, COLUMN]), case("aten.hstack", [ROW, POINT]), case("aten.hstack", [POINT]), case("aten.hstack", [LETTERS, LETTERS[:, :1]]),
    case("aten.column_stack", [ROW, array(3, 2), VECTOR[:3]]), case("aten.column_stack", [POINT, array(1, 2)]),
    case("aten.column_stack", [LETTERS, LETTERS[:, 1:]]),
    *(case("aten.broadcast_tensors", [COLUMN, ROW, POINT], parts=3, of=of) for of in (None, 0, 1, 2)),
    *(case("aten.meshgrid", [ROW, VECTOR, POINT], parts=3, of=of) for of in (None, 1)), case("aten.meshgrid", [ROW], parts=1),
    *(case("aten.meshgrid.indexing", [ROW, VECTOR, VECTOR[:2]], mode, parts=3, of=of) for mode in ("ij", "xy") for of in (None, 0, 1, 2)),
]  # fmt: skip

REARRANGED: list[Case] = [
    case("aten.movedim.int", LETTERS, 0, -1), case("aten.movedim.int", LETTERS, -2, 0), case("aten.movedim.int", POINT, 0, 0),
    *(case("aten.repeat", x, times) for x, times in ((X, [2, 3]), (X, [2, 1, 2]), (POINT, [3]), (POINT, []), (EMPTY, [2, 2]), (X, [0, 2]), (TURNED, [1, 2, 1]))),
    *(case("aten.tile", x, times) for x, times in ((X, [2]), (X, [2, 1, 2]), (POINT, [2]), (ROW, []))),
    *(case("aten.repeat_interleave.self_int", x, n, d, None) for x, n, d in ((X, 2, None), (X, 3, 0), (LETTERS, 2, -2), (TURNED, 2, 2), (EMPTY, 2, 0), (POINT, 3, None), (X, 0, 1))),
    case("aten.repeat_interleave.self_int", X, 2, 1, 6),
    *(case("aten.roll", x, n, d) for x, n, d in ((X, [1], [1]), (X, [1], []), (LETTERS, [1, -2], [0, -1]), (TURNED, [5], [0]), (POINT, [1], []), (EMPTY, [1], [0]))),
    *(case("aten.unfold", x, d, n, step) for x, d, n, step in ((X, 1, 2, 1), (X, 0, 1, 1), (LETTERS, -1, 2, 2), (POINT, 0, 1, 1))),
    *(case("aten.flip", x, d) for x, d in ((X, [0]), (LETTERS, [0, -1]), (POINT, []), (TURNED, [1]), (EMPTY, [0]))),
    *(case("aten.constant_pad_nd", x, p, 0.5) for x, p in ((X, [1, 2]), (X, [-1, 0, 1, -1]), (POINT, []), (EMPTY, [1, 1]), (TURNED, [0, 1, 0, 0, 2, 0]))),
    *(case("aten.pad", x, p, mode, None) for x, p, mode in (
        (X, [1, 2], "constant"), (X, [2, 1], "reflect"), (LETTERS, [2, 3, 1, 0], "reflect"), (X, [2, 4], "replicate"), (LETTERS, [1, 1, 0, 2], "replicate"),
        (X, [3, 1], "circular"), (LETTERS, [2, -1, 3, 3], "circular"),
    )),
    case("aten.pad", X, [1, 1], "constant", 2.0),
    *(case(f"aten.{op}", x, k) for op in ("tril", "triu") for x, k in ((X, 0), (LETTERS, 1), (TURNED, -1), (EMPTY, 0))),
    *(case("aten.diag_embed", x, *rest) for x, *rest in ((ROW, 0, -2, -1), (X, 1, 0, -1), (X, -2, 2, 0), (array(0), 0, 0, 1))),
    *(case("aten.diag", x, k) for x, k in ((ROW, 0), (ROW, -1), (X, 0), (X, 1), (array(3, 2).T, -1))),
]  # fmt: skip

CASES: list[Case] = [*INDEXING, *PARTS, *JOINED, *REARRANGED]

# rows that are left out by wish, and places that are written twice
CORNERS: list[Case] = [
    *(case("aten.embedding", X, i, padding, False, False) for i, padding in ((ints(0, 1, 1), 1), (ints([1, 0, 1]), 0), (np.array(1), 1))),
    case("aten.scatter.src", VECTOR, 0, ints(1, 1, 2), ROW), case("aten.index_put", X, [ints(1, 1)], array(2, 3, seed=9), False),
]  # fmt: skip
