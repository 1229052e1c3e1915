"""tierup-decompose-ops: composite ops become the ops they are made of, for grouping and batching to see.

    %0 = torch.aten.addmm %b, %x, %w, %one, %one : !torch.vtensor<[4],f32>, !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,4],f32>, ...

becomes

    %1 = torch.aten.mm %x, %w : !torch.vtensor<[2,3],f32>, !torch.vtensor<[3,4],f32> -> !torch.vtensor<[2,4],f32>
    %0 = torch.aten.add.Tensor %1, %b, %one : !torch.vtensor<[2,4],f32>, !torch.vtensor<[4],f32>, !torch.int -> !torch.vtensor<[2,4],f32>

and likewise

    addmm, baddbmm       with alpha and beta 1: mm or bmm, and add
    linear               with a bias: transpose, matmul, add
    layer_norm           mean, centred, mean of squares, rsqrt of it plus eps, times weight, plus bias
    batch_norm           in evaluation, by the running statistics

Only where types are known (`tierup-infer-types` first) and prove that the op raises nothing, for shapes and dtypes, that its parts do
not: an add broadcasts and promotes where addmm refuses. Only for float32, float64 and, in products, integers: the halves are rounded
once by the whole and several times by the parts. An op under NumPy's rules stays. `only` names the ops to take apart; none means all.

Our own lowering fuses these ops better as they are (one BLAS call, one pass over the rows): this pass is for pipelines that do not.
"""

from __future__ import annotations

from tierup.dialect.base.dtypes import DType
from tierup.dialect.facts.values import Bool, Float, Int, List, NoneValue
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, register
from tierup.dialect.rewriting.site import Keep, Site
from tierup.dialect.rewriting.typed import Rule, rewrite_typed


@register
class DecomposeOps(Pass):
    only: tuple[str, ...] = ()

    def run(self, module: ir.Module) -> None:
        for name in self.only:
            if name not in RULES:
                raise PassFailure(module.operation, f"option only: {name} is none of {', '.join(RULES)}")
        rewrite_typed(module, {name: rule for name, rule in RULES.items() if not self.only or name in self.only})


def _one_dtype(site: Site, *positions: int, integers: bool = False) -> DType:
    """The dtype of these operands, those that are not None; Keep when they differ or rounding would."""
    found = {site.dtype_of(site.operands[i]) for i in positions if not isinstance(site.values[i], NoneValue)}
    if len(found) != 1:
        raise Keep("operands of several dtypes")
    dtype = found.pop()
    if dtype.name not in ("f32", "f64") and not (integers and dtype.name in ("u8", "i8", "i16", "i32", "i64")):
        raise Keep("a dtype that the parts round more often")
    return dtype


def _is_one(site: Site, i: int) -> bool:
    return site.values[i] in (Int(1), Float(1.0))


def _plus(site: Site, a: ir.Value, b: ir.Value) -> ir.Value:
    return site.one("aten.add.Tensor", a, b, 1)


def _added(site: Site, product: ir.Value, bias: ir.Value) -> ir.Value:
    """product + bias, where the bias is sure to broadcast to the product."""
    shape, added = site.shape_of(product), site.shape_of(bias)
    if len(added) > len(shape) or any(a not in (1, s) for a, s in zip(reversed(added), reversed(shape), strict=False)):
        raise Keep("the bias may not fit, which the op refuses and an add may not")
    return _plus(site, product, bias)


def _product_plus(name: str) -> Rule:
    def rule(site: Site) -> ir.Value:
        if not (_is_one(site, 3) and _is_one(site, 4)):
            raise Keep("alpha or beta is not known to be 1")
        _one_dtype(site, 0, 1, 2, integers=True)
        bias, a, b = site.operands[:3]
        return _added(site, site.one(name, a, b), bias)

    return rule


def _linear(site: Site) -> ir.Value:
    if isinstance(site.values[2], NoneValue):
        raise Keep("without a bias it is one product")
    _one_dtype(site, 0, 1, 2, integers=True)
    x, weight, bias = site.operands
    return _added(site, site.one("aten.matmul", x, site.one("aten.t", weight)), bias)


def _scaled(site: Site, y: ir.Value, weight: ir.Value | None, bias: ir.Value | None) -> ir.Value:
    if weight is not None:
        y = site.one("aten.mul.Tensor", y, weight)
    return y if bias is None else _plus(site, y, bias)


def _reciprocal_deviation(site: Site, variance: ir.Value, eps: ir.Value) -> ir.Value:
    return site.one("aten.rsqrt", site.one("aten.add.Scalar", variance, eps, 1))


def _layer_norm(site: Site) -> ir.Value:
    """layer_norm(input, normalized_shape, weight, bias, eps, cudnn_enable)."""
    _one_dtype(site, 0, 2, 3)
    x, _, weight, bias, eps, _ = site.operands
    normalised, shape = site.values[1], site.shape_of(x)
    sizes = [item.value if isinstance(item, Int) else None for item in normalised.items or ()] if isinstance(normalised, List) else []
    if not sizes or None in sizes or len(sizes) > len(shape) or list(shape[-len(sizes) :]) != sizes:
        raise Keep("whether the normalised sizes are the input's is for the run to say")
    for i in (2, 3):
        if not isinstance(site.values[i], NoneValue) and list(site.shape_of(site.operands[i])) != sizes:
            raise Keep("whether the parameters fit is for the run to say")
    dims = site.value([i - len(sizes) for i in range(len(sizes))])
    centred = site.one("aten.sub.Tensor", x, site.one("aten.mean.dim", x, dims, True, None), 1)
    variance = site.one("aten.mean.dim", site.one("aten.mul.Tensor", centred, centred), dims, True, None)
    y = site.one("aten.mul.Tensor", centred, _reciprocal_deviation(site, variance, eps))
    return _scaled(site, y, *(None if isinstance(site.values[i], NoneValue) else site.operands[i] for i in (2, 3)))


def _batch_norm(site: Site) -> ir.Value:
    """batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled)."""
    if site.values[5] != Bool(False):
        raise Keep("it is not known to be evaluated")
    _one_dtype(site, 0, 1, 2, 3, 4)
    shape = site.shape_of(site.operands[0])
    for i in (1, 2, 3, 4):
        if not isinstance(site.values[i], NoneValue) and site.shape_of(site.operands[i]) != (shape[1],):
            raise Keep("whether the parameters fit is for the run to say")
    sizes = site.value([-1, *[1] * (len(shape) - 2)])
    weight, bias, mean, variance = (
        None if isinstance(site.values[i], NoneValue) else _along_channels(site, site.operands[i], sizes, len(shape)) for i in (1, 2, 3, 4)
    )
    assert mean is not None and variance is not None  # inference refuses others
    centred = site.one("aten.sub.Tensor", site.operands[0], mean, 1)
    return _scaled(site, site.one("aten.mul.Tensor", centred, _reciprocal_deviation(site, variance, site.operands[7])), weight, bias)


def _along_channels(site: Site, parameter: ir.Value, sizes: ir.Value, rank: int) -> ir.Value:
    """A vector over dim 1, so that it broadcasts."""
    return parameter if rank == 2 else site.one("aten.reshape", parameter, sizes)


RULES: dict[str, Rule] = {
    "aten.addmm": _product_plus("aten.mm"),
    "aten.baddbmm": _product_plus("aten.bmm"),
    "aten.linear": _linear,
    "aten.layer_norm": _layer_norm,
    "aten.batch_norm": _batch_norm,
}
