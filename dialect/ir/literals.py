"""Tensor literals as NumPy arrays and back: dense, splat, hexadecimal, and dense resources; bfloat16 included."""

from __future__ import annotations

import re

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.ir import torch_types
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics

_RESOURCE = re.compile(r"dense_resource<(?P<name>[^>]+)>")
_HEX_BLOB = re.compile(r'dense<"0x(?P<hex>[0-9A-Fa-f]*)">')
_SIGNLESS = {"i8": dtypes.i8, "i16": dtypes.i16, "i32": dtypes.i32, "i64": dtypes.i64}
_ELEMENT = re.compile(r"0x[0-9A-Fa-f]+|[-+]?\d+\.?\d*(?:[eE][-+]?\d+)?")


class UnreadableLiteral(NotImplementedError):
    """A literal of an element type that programs cannot hold, or a resource without data. The message says where."""


def encode(array: np.ndarray, dtype: dtypes.DType, context: ir.Context) -> ir.Attribute:
    """The `value` of a literal with the elements of `array`, which is of dtype `dtype`, to the bit."""
    element = ir.Type.parse(dtype.mlir, context)
    with ir.Location.unknown(context):
        type_ = ir.RankedTensorType.get(array.shape, element)
        return ir.DenseElementsAttr.get(np.ascontiguousarray(array), type=type_, context=context)


def decode(op: ir.Operation) -> np.ndarray:
    """A fresh array with the value of a `torch.vtensor.literal` or `torch.tensor.literal`. Raises UnreadableLiteral."""
    return elements(op.attributes["value"], op)


def elements(attribute: ir.Attribute, op: ir.Operation) -> np.ndarray:
    """A fresh array with the elements of an attribute of an op, whose module has the data of resources. Raises UnreadableLiteral."""
    shaped = ir.RankedTensorType(attribute.type)
    shape = tuple(shaped.shape)
    _, dtype = torch_types.parse_tensor(f"!torch.vtensor<[],{shaped.element_type}>")
    if dtype is None and str(shaped.element_type) in _SIGNLESS:
        dtype = _SIGNLESS[str(shaped.element_type)]
    if dtype is None:
        raise UnreadableLiteral(f"a literal of {shaped.element_type} (at {diagnostics.place_of(op.location)})")
    resource = _RESOURCE.match(str(attribute)) if not isinstance(attribute, ir.DenseElementsAttr) else None
    if resource is not None:
        return _from_bytes(_blob(op, resource["name"]), dtype, shape)
    if dtype is dtypes.bf16:  # the bindings have no buffer for it
        text = str(attribute)
        hexadecimal = _HEX_BLOB.match(text)
        if hexadecimal:
            return _from_bytes(bytes.fromhex(hexadecimal["hex"]), dtype, shape)
        return _bfloat16(text[: text.rindex(" : ")], shape)
    # astype, for np.array keeps the dtype that it is given, which is "q" for 64 bits, where NumPy's own is "l"
    return np.array(attribute).reshape(shape).astype(dtype.numpy, order="C")


def _from_bytes(data: bytes, dtype: dtypes.DType, shape: tuple[int, ...]) -> np.ndarray:
    flat = np.frombuffer(data, dtype.numpy)
    return np.full(shape, flat[0]) if flat.size == 1 else flat.reshape(shape).copy()  # one element is a splat


def _bfloat16(text: str, shape: tuple[int, ...]) -> np.ndarray:
    numbers = [
        np.array(int(t, 16), np.uint16).view(dtypes.bf16.numpy)[()] if t.startswith("0x") else float(t)
        for t in _ELEMENT.findall(text.removeprefix("dense"))
    ]
    flat = np.array(numbers, dtypes.bf16.numpy)
    return np.full(shape, flat[0]) if flat.size == 1 else flat.reshape(shape)


def _blob(op: ir.Operation, name: str) -> bytes:
    """A resource's bytes. The bindings cannot read one: the module's text can. Its first four bytes are the alignment."""
    module = op
    while module.parent is not None:
        module = module.parent.operation
    match = re.search(rf'^\s*"?{re.escape(name)}"?: "0x([0-9A-Fa-f]*)"', str(module), re.MULTILINE)
    if match is None:
        raise UnreadableLiteral(f"no data for dense_resource<{name}> (at {diagnostics.place_of(op.location)})")
    return bytes.fromhex(match[1])[4:]
