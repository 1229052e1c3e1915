"""Pooling: what stands for a window gets the window's gradient; an average shares it out among the window."""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, NoGradient, Rules
from tierup.dialect.ir.rewriting import float_of, is_none, items_of, under_casts
from tierup.dialect.mlir import ir

RULES = Rules()

_MAX = "self, kernel_size, stride, padding, dilation, ceil_mode"
_AVG = "self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override"


# --- max: each window's gradient goes to where its value stands --------------------------------------------------------


@RULES.vjp(*(f"aten.max_pool{n}d({_MAX})" for n in (1, 2, 3)), captures=("self",))
def max_pool(g: Backward) -> Gradients:
    """Where the values stand is found again: the op does not say it."""
    spatial = _spatial(g)
    operands = [g.ints(1) or [], g.ints(2) or g.ints(1) or [], g.ints(3) or [], g.ints(4) or []]
    name = f"aten.max_pool{spatial}d_with_indices"
    _, indices = g.several(name, g.operands[0], *operands, bool(g.constant(5)), types=["!torch.vtensor"] * 2)
    return _scattered(g, g.grad, indices, spatial)


@RULES.vjp(
    *(f"aten.max_pool{n}d_with_indices({_MAX})" for n in (1, 2, 3)), *(f"aten.adaptive_max_pool{n}d(self, output_size)" for n in (1, 2, 3)),
    captures=("result1",),
)  # fmt: skip
def max_pool_with_indices(g: Backward) -> Gradients:
    return _scattered(g, g.grad, g.results[1], _spatial(g)) if g.grads[0] is not None else None


def _scattered(g: Backward, grad: ir.Value, indices: ir.Value, spatial: int) -> ir.Value:
    zeros, where, values = (g.call("aten.flatten.using_ints", v, -spatial, -1) for v in (g.zeros(0), indices, grad))
    return g.call("aten.reshape", g.call("aten.scatter_add", zeros, -1, where, values), g.operand_size(0))


# --- averages: the gradient has a gradient, the average ----------------------------------------------------------------


@RULES.vjp("aten.avg_pool1d(self, kernel_size, stride, padding, ceil_mode, count_include_pad)")
def avg_pool1d(g: Backward) -> Gradients:
    """As an image of one row."""
    grad, like = _as_rows(g, g.grad), _as_rows(g, g.zeros(0))
    kernel, stride, padding = ([neutral, *(g.ints(i) or [])] for i, neutral in ((1, 1), (2, 1), (3, 0)))
    if len(stride) == 1:
        stride = kernel
    flags = bool(g.constant(4)), bool(g.constant(5))
    return g.call("aten.squeeze.dim", g.call("aten.avg_pool2d_backward", grad, like, kernel, stride, padding, *flags, None), -2)


@RULES.vjp(*(f"aten.avg_pool{n}d({_AVG})" for n in (2, 3)))
def avg_pool(g: Backward) -> Gradients:
    return g.call(f"{g.rule.op}_backward", g.grad, g.zeros(0), *_averaging(g, 1))


@RULES.vjp(*(f"aten.avg_pool{n}d_backward(grad_output, {_AVG})" for n in (2, 3)))
def avg_pool_backward(g: Backward) -> Gradients:
    return g.call(g.rule.op.removesuffix("_backward"), g.grad, *_averaging(g, 2))


def _averaging(g: Backward, first: int) -> list[list[int] | bool | int | None]:
    """Kernel size, stride, padding, flags and divisor, from operand `first` on."""
    kernel = g.ints(first) or []
    lists: list[list[int] | bool | int | None] = [kernel, g.ints(first + 1) or kernel, g.ints(first + 2) or []]
    divisor = None if g.is_none(first + 5) else int(g.constant(first + 5))
    return [*lists, bool(g.constant(first + 3)), bool(g.constant(first + 4)), divisor]


def _as_rows(g: Backward, value: ir.Value) -> ir.Value:
    return g.call("aten.unsqueeze", value, -2)


@RULES.vjp("aten.adaptive_avg_pool1d(self, output_size)")
def adaptive_avg_pool1d(g: Backward) -> Gradients:
    made = g.call("aten._adaptive_avg_pool2d_backward", _as_rows(g, g.grad), _as_rows(g, g.zeros(0)))
    return g.call("aten.squeeze.dim", made, -2)


@RULES.vjp(*(f"aten.{prefix}adaptive_avg_pool{n}d(self, output_size)" for prefix in ("", "_") for n in (2, 3)))
def adaptive_avg_pool(g: Backward) -> Gradients:
    return g.call(f"aten._adaptive_avg_pool{_spatial(g)}d_backward", g.grad, g.zeros(0))


@RULES.vjp(*(f"aten._adaptive_avg_pool{n}d_backward(grad_output, self)" for n in (2, 3)))
def adaptive_avg_pool_backward(g: Backward) -> Gradients:
    spatial = _spatial(g)
    return g.call(f"aten.adaptive_avg_pool{spatial}d", g.grad, [g.size_of(g.like(0), d) for d in range(-spatial, 0)])


# --- resizing ----------------------------------------------------------------------------------------------------------


@RULES.vjp("aten.upsample_nearest2d(self, output_size, scales_h, scales_w)")
def upsample(g: Backward) -> Gradients:
    return _gathered(g, [None if g.is_none(i) else float(g.constant(i)) for i in (2, 3)])


@RULES.vjp("aten.upsample_nearest2d.vec(input, output_size, scale_factors)")
def upsample_by_factors(g: Backward) -> Gradients:
    factors = under_casts(g.like(2))
    if is_none(factors):
        return _gathered(g, [None, None])
    found = [float_of(under_casts(v)) for v in items_of(factors) or ()]
    if len(found) != 2 or None in found:
        raise NoGradient("its operand 'scale_factors' is not a list of constants: write it as numbers")
    return _gathered(g, found)


def _gathered(g: Backward, scales: list[float | None]) -> ir.Value:
    sizes = [g.size_of(g.grad, 2), g.size_of(g.grad, 3)]
    return g.call("aten.upsample_nearest2d_backward", g.grad, sizes, g.operand_size(0), *scales)


@RULES.vjp("aten.upsample_nearest2d_backward(grad_output, output_size, input_size, scales_h, scales_w)")
def upsample_backward(g: Backward) -> Gradients:
    sizes = [g.size_of(g.like(0), 2), g.size_of(g.like(0), 3)]
    return g.call("aten.upsample_nearest2d", g.grad, sizes, *(None if g.is_none(i) else float(g.constant(i)) for i in (3, 4)))


def _spatial(g: Backward) -> int:
    """How many spatial dims an op has by its name."""
    return int(g.rule.op[g.rule.op.index("pool") + 4])
