"""Convolutions: the input's gradient is the transposed convolution of the result's, the weight's a correlation of the two.

Both are convolutions again, so that they have gradients themselves. Sizes that only the run tells stay numbers of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Union

from tierup.dialect.gradients.core import Backward, Gradients, NoGradient, Rules
from tierup.dialect.ir.rewriting import str_of, under_casts
from tierup.dialect.ir.values import Int
from tierup.dialect.mlir import ir
from tierup.dialect.records import dataclass

RULES = Rules()

Number = Union[int, ir.Value]
_BY_NAME = "input, weight, bias, stride, padding, dilation, groups"
_TRANSPOSED = "input, weight, bias, stride, padding, output_padding, groups, dilation"


@dataclass(frozen=True)
class Window:
    """How the forward op's window slides: a number per spatial dim. `extra`: its output padding, None where only the run tells it."""

    stride: list[int]
    padding: list[int]
    dilation: list[int]
    groups: int
    transposed: bool = False
    extra: list[int] | None = None


@RULES.vjp(
    "aten.convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)",
    "aten._convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups, benchmark, deterministic, "
    "cudnn_enabled, allow_tf32)",
    captures=("input", "weight"),
)
def convolution(g: Backward) -> Gradients:
    lists = [_ints(g, i) for i in (3, 4, 5)]
    rank = g.rank(1)
    spatial = rank - 2 if rank is not None else max(map(len, lists))
    window = _window(spatial, lists, int(g.constant(8)), bool(g.constant(6)), _known_ints(g, 7))
    grad = g.grad
    if rank is None and spatial == 1:  # of several dims, one number for all of them: that this is not meant is for the run to see
        grad = g.call("aten.permute", grad, [0, 1, 2])
    return _gradients(g, spatial, window, grad, spatial + 2)


@RULES.vjp(*(f"aten.conv{n}d({_BY_NAME})" for n in (1, 2, 3)), captures=("input", "weight"))
def plain(g: Backward) -> Gradients:
    spatial = _spatial(g)
    return _gradients(g, spatial, _window(spatial, [_ints(g, i) for i in (3, 4, 5)], int(g.constant(6))), g.grad, g.rank(0))


@RULES.vjp(
    *(f"aten.conv_transpose{n}d{suffix}({_TRANSPOSED})" for n, suffix in ((1, ""), (2, ".input"), (3, ".input"))),
    captures=("input", "weight"),
)
def transposed(g: Backward) -> Gradients:
    spatial = _spatial(g)
    window = _window(spatial, [_ints(g, i) for i in (3, 4, 7)], int(g.constant(6)), True, _known_ints(g, 5))
    return _gradients(g, spatial, window, g.grad, g.rank(0))


@RULES.vjp(*(f"aten.conv{n}d.padding({_BY_NAME})" for n in (1, 2, 3)), captures=("input", "weight"))
def padded_by_name(g: Backward) -> Gradients:
    """The input is padded first, for "same" may do so unevenly."""
    spatial, x = _spatial(g), g.operands[0]
    window = _window(spatial, [_ints(g, 3), [0], _ints(g, 5)], int(g.constant(6)))
    padding = str_of(under_casts(g.like(4)))
    if padding is None:
        raise NoGradient("its operand 'padding' is not a constant: write it as text")
    if padding == "valid":
        return _gradients(g, spatial, window, g.grad, g.rank(0))
    pads: list[Number] = []
    for i in reversed(range(spatial)):
        total = _times(g, window.dilation[i], _minus(g, _size(g, g.like(1), 2 + i), 1))
        before = total // 2 if isinstance(total, int) else g.call("aten.floordiv.int", total, 2, type_="!torch.int")
        pads += [before, _minus(g, total, before)]
    of_padded, of_weight, of_bias = _gradients(g, spatial, window, g.grad, g.rank(0), g.call("aten.constant_pad_nd", x, pads, 0))
    cut = [-p if isinstance(p, int) else g.call("aten.neg.int", p, type_="!torch.int") for p in pads]
    return g.call("aten.constant_pad_nd", of_padded, cut, 0), of_weight, of_bias


# --- operands ----------------------------------------------------------------------------------------------------------


def _spatial(g: Backward) -> int:
    """How many spatial dims an op has by its name."""
    name = g.rule.op.partition(".")[2]
    return int(name[name.index("d") - 1]) if not name.startswith("conv_") else int(name[len("conv_transpose")])


def _ints(g: Backward, i: int) -> list[int]:
    return g.ints(i) or [0]


def _known_ints(g: Backward, i: int) -> list[int] | None:
    try:
        return g.ints(i)
    except NoGradient:  # the sizes of another convolution's operands said it, as in gradients of these
        return None


def _window(
    spatial: int, lists: Sequence[list[int]], groups: int, transposed: bool = False, extra: list[int] | None = None
) -> Window:
    stride, padding, dilation = (v * spatial if len(v) == 1 else v for v in lists)
    found = extra * spatial if extra is not None and len(extra) == 1 else extra
    return Window(stride, padding, dilation, groups, transposed, found)


# --- sizes -------------------------------------------------------------------------------------------------------------


def _size(g: Backward, value: ir.Value, dim: int) -> Number:
    """A size, as a number where it is known."""
    shape = g.tensor(value).shape
    size = None if shape is None else shape[dim]
    if isinstance(size, int):
        return size
    made = g.size_of(value, dim)
    known = g.known(made)
    return known.value if isinstance(known, Int) and isinstance(known.value, int) else made


def _minus(g: Backward, a: Number, b: Number) -> Number:
    if isinstance(b, int) and b == 0:
        return a
    return a - b if isinstance(a, int) and isinstance(b, int) else g.call("aten.sub.int", a, b, type_="!torch.int")


def _times(g: Backward, a: Number, b: Number) -> Number:
    if isinstance(a, int) and a == 1:
        return b
    return a * b if isinstance(a, int) and isinstance(b, int) else g.call("aten.mul.int", a, b, type_="!torch.int")


# --- gradients ---------------------------------------------------------------------------------------------------------


def _gradients(
    g: Backward, spatial: int, window: Window, incoming: ir.Value, rank: int | None, padded: ir.Value | None = None
) -> tuple[ir.Value | None, ir.Value | None, ir.Value | None]:
    """Of input, weight and bias. `rank`: the input's, where it is known. `padded`: what the window slides over, if not the input."""
    operand = g.operands[0] if padded is None else padded
    x, grad, weight = _batched(g, operand, spatial, rank), _batched(g, incoming, spatial, rank), g.operands[1]
    of_bias = None if g.is_none(2) else g.call("aten.sum.dim_IntList", grad, [0, *range(2, spatial + 2)], False, None)
    slid = (window.stride, window.padding, window.dilation)
    zeros = [0] * spatial
    if window.transposed:
        of_x = g.call("aten.convolution", grad, weight, None, *slid, False, zeros, window.groups)
        of_x = _cut(g, of_x, x, [e is None or e >= s for e, s in zip(window.extra or [None] * spatial, window.stride, strict=True)])
        of_weight = _correlated(g, grad, x, window)
    else:
        extra = [_left_over(g, x, grad, weight, window, i) for i in range(spatial)]
        of_x = g.call("aten.convolution", grad, weight, None, *slid, True, extra, window.groups)
        of_weight = _correlated(g, x, grad, window)
    if rank != spatial + 2:
        of_x = g.call("aten.reshape", of_x, g.size(operand))
    return of_x, of_weight, of_bias


def _batched(g: Backward, value: ir.Value, spatial: int, rank: int | None) -> ir.Value:
    """With a batch dim, which the forward op may lack."""
    if rank == spatial + 2:
        return value
    if rank == spatial + 1:
        return g.call("aten.unsqueeze", value, 0)
    return g.call("aten.reshape", value, [-1, *(_size(g, value, d) for d in range(-spatial - 1, 0))])


def _left_over(g: Backward, x: ir.Value, grad: ir.Value, weight: ir.Value, window: Window, i: int) -> Number:
    """How many positions of the (padded) input no window reaches: what the transpose has to add."""
    stride, padding, dilation = window.stride[i], window.padding[i], window.dilation[i]
    if stride == 1:
        return 0
    reached = _times(g, stride, _minus(g, _size(g, grad, 2 + i), 1))
    inner = _minus(g, _minus(g, _size(g, x, 2 + i), 1), reached)
    return _minus(g, _minus(g, inner, -2 * padding), _times(g, dilation, _minus(g, _size(g, weight, 2 + i), 1)))


def _correlated(g: Backward, seen: ir.Value, by: ir.Value, window: Window) -> ir.Value:
    """The weight's gradient: `seen`, over which the window slides, at all places of the window summed with `by`, one number per position.
    Each group's channels of `seen` are a batch, samples are channels, and stride and dilation change parts."""
    spatial, groups = len(window.stride), window.groups
    if groups == 1:
        inputs, weights = g.call("aten.transpose.int", seen, 0, 1), g.call("aten.transpose.int", by, 0, 1)
    else:
        inputs, weights = _by_group(g, seen, groups, spatial, [2, 1, 0]), _by_group(g, by, groups, spatial, [1, 2, 0])
    made = g.call("aten.convolution", inputs, weights, None, window.dilation, window.padding, window.stride, False, [0] * spatial, groups)
    larger = [s != 1 for s in window.stride]
    if window.transposed:
        larger = [e is None or e >= d for e, d in zip(window.extra or [None] * spatial, window.dilation, strict=True)]
    return g.call("aten.transpose.int", _cut(g, made, g.operands[1], larger), 0, 1)


def _by_group(g: Backward, value: ir.Value, groups: int, spatial: int, order: list[int]) -> ir.Value:
    """(N, G * C, *spatial), taken as (N, G, C, *spatial), in another order: then the first two of three, or the last two, are one."""
    sizes = [_size(g, value, d) for d in range(spatial + 2)]
    channels = sizes[1] // groups if isinstance(sizes[1], int) else g.call("aten.floordiv.int", sizes[1], groups, type_="!torch.int")
    apart = g.call("aten.reshape", value, [sizes[0], groups, channels, *sizes[2:]])
    moved = g.call("aten.permute", apart, [*order, *range(3, spatial + 3)])
    first, second = (channels, _times(g, groups, sizes[0])) if order[0] == 2 else (sizes[1], sizes[0])
    return g.call("aten.reshape", moved, [first, second, *sizes[2:]])


def _cut(g: Backward, value: ir.Value, like: ir.Value, larger: list[bool]) -> ir.Value:
    """The first of its positions, as many as `like` has along the spatial dims where there may be more."""
    for i, cut in enumerate(larger):
        if cut and _size(g, value, 2 + i) != (wanted := _size(g, like, 2 + i)):
            value = g.call("aten.slice.Tensor", value, 2 + i, 0, wanted, 1)
    return value
