"""What a TorchScript program asks of a tensor or of the process, and what is known when its graph is built.

    prim::device(%x), prim::layout(%x), prim::is_cuda(%x) ...    an array is dense and in the CPU's memory: constants
    aten::is_grad_enabled(), aten::is_autocast_enabled()         as now; another answer later asks for another graph
    prim::requires_grad(%w)                                      of a parameter: as now; of other tensors: no
    aten::dim(%x), prim::dtype(%x)                               as the rules of ops say; dtypes that are asked for are part of the graph
    aten::eq(%a, %b) of known numbers and strings                what the op's kernel says
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tierup.dialect import optable
from tierup.dialect.base import dtypes
from tierup.dialect.facts.values import Bool, Int, Tensor
from tierup.dialect.ir.attributes import READERS
from tierup.dialect.ir.structure import last_of, maker
from tierup.dialect.mlir import ir
from tierup.dialect.optable import kernels
from tierup.dialect.optable.core import Kind
from tierup.dialect.rewriting.core import bool_of, under_casts
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.torch.errors import LeftToPyTorch, UnsupportedProgram
from tierup.frontend.torch.script import gradients as script_gradients
from tierup.frontend.torch.script.builder import Builder
from tierup.frontend.torch.script.nodes.constants import literal

_NO = (
    "is_cuda is_hpu is_ipu is_maia is_meta is_mkldnn is_mps is_mtia is_nested is_quantized is_sparse is_sparse_csr is_vulkan is_xla is_xpu"
)
UNKNOWN = object()


def known(builder: Builder, value: ir.Value) -> Any:
    """The number, string, device (as a string), None or list of such that a value is; UNKNOWN for another."""
    value = under_casts(value)
    if str(value.type) == "!torch.none":
        return None
    op = maker(value)
    if op is not None and op.name in READERS:
        return READERS[op.name](op)
    listed = builder.items_of(value)
    if listed is None:
        return UNKNOWN
    items = [known(builder, v) for v in listed]
    return UNKNOWN if UNKNOWN in items else items


def folded(builder: Builder, name: str, operands: list[ir.Value]) -> ir.Value | None:
    """The constant that an op of known numbers and strings gives; None where it is none, or raises."""
    row = optable.lookup(name)
    if row is None or row.kind is not Kind.SCALAR or row.acts or row.random or row.results != 1 or not operands:
        return None
    values = [known(builder, v) for v in operands]
    if UNKNOWN in values:
        return None
    try:
        result = kernels.resolve(row.kernel)(*values)
    except Exception:  # noqa: BLE001 - whatever it raises, the run raises where the user wrote it
        return None
    return literal(builder, result)


def settled(builder: Builder, value: ir.Value) -> ir.Value:
    """The constant that an int or a bool is by the rules of ops, else the value itself: how many items a list has, that two tensors of one
    rank have one."""
    if str(value.type) not in ("!torch.int", "!torch.bool"):
        return value
    fact = builder.fact(value)
    if not isinstance(fact, (Int, Bool)) or type(fact.value) not in (int, bool):
        return value
    return literal(builder, fact.value) or value


def agreed(builder: Builder, result: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """The result of a branch that gives `a` or `b`; where both are one number, string or None, that."""
    first, second = known(builder, a), known(builder, b)
    if first is UNKNOWN or isinstance(first, list) or type(first) is not type(second) or first != second:
        return result
    made = builder.em.none if first is None else literal(builder, first)
    return result if made is None else builder.derefined(made, result.type)


_MAKES_OTHERS = re.compile(
    r"aten\.(fft_(fft|ifft|rfft|ihfft)[2n]?|complex|polar|stft|view_as_complex|linalg_eig|linalg_eigvals|(_?to_)?sparse_\w+|to_sparse"
    r"|quantize_\w+|_make_per_\w+_quantized_tensor|_nested_\w+)(\.|$)"
)
_ROUNDED_BY_PYTORCH = ("aten.upsample_bilinear2d", "aten.upsample_bicubic2d")
_COMPARISONS = ("aten.eq", "aten.ne", "aten.__is__", "aten.__isnot__", "prim.type", "aten.str", "aten.format")


def flag(builder: Builder, value: ir.Value) -> bool | None:
    """The bool that flags among the arguments make, which then are part of the graph; None for anything else."""
    value = under_casts(value)
    if value in builder.arguments:
        found = builder.attributes.argument_size(builder.arguments[value]) if str(value.type) == "!torch.bool" else None
        return found if isinstance(found, bool) else None
    op = maker(value)
    if op is None:
        return None
    if op.name == "torch.aten.__not__":
        found = flag(builder, op.operands[0])
        return None if found is None else not found
    if op.name == "torch.prim.If" and (taken := flag(builder, op.operands[0])) is not None:
        return flag(builder, last_of(op.regions[0 if taken else 1].blocks[0]).operands[ir.OpResult(value).result_number])
    return bool_of(value)


def with_flags(builder: Builder, name: str, operands: list[ir.Value]) -> list[ir.Value]:
    """The operands of an op, which is another one by a flag among them: of flags that are arguments, what they are."""
    if name != "aten.scaled_dot_product_attention":
        return operands
    flags = [flag(builder, v) for v in operands]
    return [v if known is None else builder.em.bool(known) for v, known in zip(operands, flags, strict=True)]


def refuse_results(builder: Builder, name: str, schema: Any, operands: list[ir.Value]) -> None:
    """Raise UnsupportedProgram for an op that is to make what no array stands for, on another device than the CPU, complex, sparse; and for
    one whose numbers PyTorch alone gives."""
    asked = [] if schema is None else [(a.name, known(builder, v)) for v, a in zip(operands, schema.arguments, strict=False)]
    if _MAKES_OTHERS.match(name) or any(_is_of_no_array(what, number) for what, number in asked):
        raise UnsupportedProgram(f"{name} makes a tensor that no array stands for: a complex, sparse or quantised one, or of a rare dtype")
    if name.startswith(_ROUNDED_BY_PYTORCH) and getattr(builder.fact(operands[0], with_dtypes=True), "dtype", None) is dtypes.u8:
        raise UnsupportedProgram(f"{name} of bytes rounds weights and sums as PyTorch's kernel does")
    for value in operands:
        text = known(builder, value) if "Device" in str(under_casts(value).type) else None
        if isinstance(text, str) and text.partition(":")[0] != "cpu" and not name.startswith(_COMPARISONS):
            raise UnsupportedProgram(f"{name} on the device {text}: programs run on the CPU")


def _is_of_no_array(what: str, number: object) -> bool:
    """Whether a number of torch.ScalarType or torch.Layout is that of a tensor that no array stands for."""
    return type(number) is int and (what == "dtype" and number not in _DTYPES or what == "layout" and number != _STRIDED)


_STRIDED, _DTYPES = 0, frozenset(d.code for d in dtypes.ALL)  # as PyTorch numbers them


# --- handlers of nodes ---------------------------------------------------------------------------------------------------

Handler = Callable[["Builder", Any], None]


def _always(value: object) -> Handler:
    def handler(builder: Builder, node: Any) -> None:
        made = literal(builder, value)
        assert made is not None  # a number
        builder.bind(node, [made])

    return handler


def _rank_of(builder: Builder, value: ir.Value) -> int | None:
    fact = builder.fact(value)
    return fact.rank if isinstance(fact, Tensor) else None


def _rank(builder: Builder, node: Any) -> None:
    (value,) = builder.operands(node)
    rank = _rank_of(builder, value)
    builder.op_unless(node, None if rank is None else builder.em.int(rank))


_DECIDES = frozenset({"aten::eq", "aten::ne", "aten::__contains__"})  # what a program asks of a dtype to choose by it


def _dtype(builder: Builder, node: Any) -> None:
    """The dtype that a branch hangs on, or whether it is one of floats."""
    (value,) = builder.operands(node)
    asks = node.kind() == "aten::is_floating_point" or all(use.user.kind() in _DECIDES for use in node.output().uses())
    fact = builder.fact(value, with_dtypes=True) if asks else None
    if not isinstance(fact, Tensor) or fact.dtype is None:
        builder.op(node)
    elif node.kind() == "prim::dtype":
        builder.bind(node, [builder.em.int(fact.dtype.code)])
    else:
        builder.bind(node, [builder.em.bool(fact.dtype.is_float)])


def _sizes(builder: Builder, node: Any) -> None:
    """All sizes of a tensor whose rank is known, one by one: the list of them would be a value that native code has no form for."""
    value, *dim = builder.operands(node)
    rank = None if dim else _rank_of(builder, value)
    if rank is None:
        builder.op(node)
        return
    em, int_ = builder.em, builder.type("int")
    sizes = [em.create("torch.aten.size.int", [value, em.int(d)], [int_]).results[0] for d in range(rank)]
    builder.put_list(node.output(), em.create("torch.prim.ListConstruct", sizes, builder.result_types(node)).results[0])


def _new_device(builder: Builder, node: Any) -> None:
    values = [known(builder, v) for v in builder.operands(node)]
    if UNKNOWN in values:
        builder.op(node)
        return
    name, index = (*values, None)[:2]
    builder.bind(node, [builder.em.device(name if index is None else f"{name}:{index}")])


def _device_type(builder: Builder, node: Any) -> None:
    text = known(builder, builder.operands(node)[0])
    builder.op_unless(node, None if text is UNKNOWN else builder.em.str(text.partition(":")[0]))


def _process(builder: Builder, node: Any) -> None:
    """What the process says now; in a no_grad block of the program, that gradients are off."""
    name = node.kind().removeprefix("aten::")
    off = name == "is_grad_enabled" and not builder.em.has_gradients
    builder.bind(node, [builder.em.bool(not off and builder.attributes.process(name))])


def _nested(builder: Builder, node: Any) -> None:
    """Of what is padded, the fast path of nn.TransformerEncoder."""
    raise LeftToPyTorch(f"{node.kind()} makes a nested tensor, for which no array can stand", Reason.NESTED)


def _data(builder: Builder, node: Any) -> None:
    made = builder.em.create("torch.aten.detach", builder.operands(node), builder.result_types(node))
    builder.bind(node, list(made.results))


HANDLERS: dict[str, Handler] = {
    **{f"prim::{name}": _always(False) for name in _NO.split()},
    "aten::_nested_tensor_from_mask": _nested,
    "aten::_get_tracing_state": _always(False),
    "aten::_jit_internal_is_tracing": _always(False),
    "aten::device": _new_device,
    "aten::dim": _rank,
    "aten::is_floating_point": _dtype,
    "prim::dtype": _dtype,
    "aten::size": _sizes,
    "aten::has_torch_function": _always(False),
    "aten::is_autocast_cpu_enabled": _process,
    "aten::is_autocast_enabled": _process,
    "aten::is_grad_enabled": _process,
    "aten::is_scripting": _always(True),
    "prim::data": _data,
    "prim::device": lambda builder, node: builder.bind(node, [builder.em.device("cpu")]),
    "prim::layout": _always(0),
    "prim::requires_grad": lambda builder, node: builder.bind(
        node, [builder.em.bool(script_gradients.requires_grad(builder, node.input()))]
    ),
    "prim::type": _device_type,
}
