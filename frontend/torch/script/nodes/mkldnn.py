"""What `torch.jit.optimize_for_inference` puts into a graph for oneDNN's layouts: the ops that were there before, on dense tensors.

    aten::to_mkldnn, aten::to_dense                                   ->  torch.aten.clone: what follows may write it
    prim::BroadcastMKLDNNTensors                                      ->  its operands; aten::add_ of them becomes torch.aten.add
    prim::mkldnn_convolution(%x, %w, %b, ...)                         ->  torch.aten.convolution
    prim::ConstantMKLDNNTensor                                        ->  a constant tensor, dense
    prim::MKLDNNHardSwish(%x), prim::MKLDNNScalarMul(%x, %s) ...      ->  torch.aten.hardswish, torch.aten.mul.Scalar
"""

from __future__ import annotations

from typing import Any

from tierup.frontend.torch.script.builder import Builder

_DENSE = {
    "MKLDNNHardSigmoid": "aten.hardsigmoid",
    "MKLDNNHardSwish": "aten.hardswish",
    "MKLDNNScalarMul": "aten.mul.Scalar",
}


def _copy(builder: Builder, node: Any) -> None:
    value, *_ = builder.operands(node)
    builder.bind(node, builder.create("aten.clone", None, [value, builder.em.none], builder.result_types(node)))


def _both(builder: Builder, node: Any) -> None:
    builder.bind(node, builder.operands(node))


def _in_place(builder: Builder, node: Any) -> None:
    """A write to what was made as large as the other one is: here its result is as large."""
    if next(node.inputs()).node().kind() != "prim::BroadcastMKLDNNTensors":
        builder.op(node)
        return
    name = f"aten.{node.kind().removeprefix('aten::').removesuffix('_')}.Tensor"
    builder.bind(node, builder.create(name, None, builder.operands(node), builder.result_types(node)))


def _constant(builder: Builder, node: Any) -> None:
    builder.bind(node, [builder.tensor_constant(node.t("value").to_dense())])


def _convolution(builder: Builder, node: Any) -> None:
    x, weight, bias, stride, padding, dilation, groups = builder.operands(node)
    em = builder.em
    zeros = [em.int(0)] * len(builder.items_of(padding) or ())
    no_output_padding = em.create("torch.prim.ListConstruct", zeros, [em.types.int_list]).results[0]
    operands = [x, weight, builder.derefined(bias, builder.type("optional<tensor>")), stride, padding, dilation]
    made = em.create("torch.aten.convolution", [*operands, em.bool(False), no_output_padding, groups], [em.types.tensor])
    builder.bind(node, list(made.results))


def _dense(builder: Builder, node: Any) -> None:
    name = _DENSE[node.kind().removeprefix("prim::").removesuffix("_")]
    builder.bind(node, builder.create(name, None, builder.operands(node), builder.result_types(node)))


def _clamped(builder: Builder, node: Any) -> None:
    """Limits are attributes."""
    em = builder.em
    limits = [em.float(node.f("min_val")), em.float(node.f("max_val"))]
    builder.bind(node, builder.create("aten.hardtanh", None, [*builder.operands(node), *limits], builder.result_types(node)))


HANDLERS = {
    "aten::add_": _in_place,
    "aten::mul_": _in_place,
    "aten::to_dense": _copy,
    "aten::to_mkldnn": _copy,
    "prim::BroadcastMKLDNNTensors": _both,
    "prim::ConstantMKLDNNTensor": _constant,
    "prim::MKLDNNClamp": _clamped,
    "prim::MKLDNNClamp_": _clamped,
    "prim::MKLDNNHardTanh": _clamped,
    "prim::MKLDNNHardTanh_": _clamped,
    "prim::mkldnn_convolution": _convolution,
    **{f"prim::{name}{end}": _dense for name in _DENSE for end in ("", "_")},
}
