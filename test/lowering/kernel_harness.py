"""Compile a torch-dialect function for given arguments and call the kernel through ctypes, as the ABI says and nothing more."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import Dim, substitute
from tierup.dialect.facts.inference.infer import infer_function
from tierup.dialect.facts.values import Bool, Float, Int, Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.language.context import thread_context
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.signature import argument_type, argument_values
from tierup.lowering.artifacts.load import load
from tierup.lowering.base import abi
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout, Request, ResultKind
from tierup.lowering.compiling.compile import compile

_libc = ctypes.CDLL(None)
_libc.free.argtypes = [ctypes.c_void_p]


class Failed(Exception):
    """The kernel returned a status other than 0."""

    def __init__(self, status: int, artifact: abi.Artifact) -> None:
        super().__init__(f"status {status}")
        self.status = status
        self.site = artifact.error_sites[status - abi.ERROR_BASE] if status >= abi.ERROR_BASE else None


def spec_of(value: Any, sizes: Sequence[int | str] | None = None) -> ArgumentSpec:
    """The guards for a value; `sizes` where some are symbols."""
    if isinstance(value, np.ndarray):
        layout = Layout.CONTIGUOUS if value.flags.c_contiguous else Layout.STRIDED
        return ArgumentSpec(ArgumentKind.ARRAY, dtypes.from_numpy(value.dtype).name, tuple(value.shape if sizes is None else sizes), layout)
    kind = {bool: ArgumentKind.BOOL, int: ArgumentKind.INT, float: ArgumentKind.FLOAT}[type(value)]
    return ArgumentSpec(kind)


def symbolic(values: Sequence[Any]) -> list[tuple[int | str, ...] | None]:
    """Every size of at least 2 a symbol, equal sizes the same one."""
    return [tuple(d if d < 2 else f"s{d}" for d in v.shape) if isinstance(v, np.ndarray) else None for v in values]


def typed(body: str, arguments: Sequence[ArgumentSpec], attributes: str = "") -> str:
    """A module whose function @main has `body` (arguments %0, %1, ... written %a0, %a1, ...), with all types inferred.

    In the body, tensor types are written `!torch.vtensor`: inference fills them in.
    """
    shown = [argument_type(spec) if spec.kind is not ArgumentKind.ARRAY else "!torch.vtensor" for spec in arguments]
    signature = ", ".join(f"%a{i}: {type_}" for i, type_ in enumerate(shown))
    returned = re.search(r"^\s*return\b[^:]*(?::\s*(.*))?$", body, re.M)
    results = (returned.group(1) or "") if returned else ""
    text = f"func.func @main({signature}) -> ({results}) {attributes and 'attributes ' + attributes} {{\n{body}\n}}"
    with thread_context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        fill(module.body.operations[0].operation, arguments)
        return str(module)


def fill(function: ir.Operation, arguments: Sequence[ArgumentSpec]) -> None:
    """Write the inferred types into the IR."""
    inference = infer_function(function, argument_values(tuple(arguments)))
    for value, found in inference.values.items():
        if isinstance(found, Tensor) and found.shape is not None and not isinstance(value.owner, ir.Block):
            value.set_type(torch_types.tensor_type(found))
        elif str(value.type) == "!torch.number":
            scalar = {Int: "!torch.int", Float: "!torch.float", Bool: "!torch.bool"}.get(type(found))
            if scalar:
                value.set_type(ir.Type.parse(scalar))
    for block in _blocks(function):
        for argument in block.arguments:
            found = inference.values.get(argument)
            if isinstance(found, Tensor) and found.shape is not None:
                argument.set_type(torch_types.tensor_type(found))
    terminator = list(function.regions[0].blocks[0].operations)[-1].operation
    entry = function.regions[0].blocks[0]
    types = ir.FunctionType.get([a.type for a in entry.arguments], [v.type for v in terminator.operands])
    function.attributes["function_type"] = ir.TypeAttr.get(types)


def _blocks(op: ir.Operation):
    for region in op.regions:
        for block in region.blocks:
            yield block
            for inside in block.operations:
                yield from _blocks(inside.operation)


def build(body: str, values: Sequence[Any], sizes: Sequence[Any] | None = None, *, attributes: str = "", baked: Sequence[int] = (), **options: Any):
    """An artifact for a body and example arguments."""
    specs = [spec_of(v, None if sizes is None else sizes[i]) for i, v in enumerate(values)]
    for i in baked:
        specs[i] = ArgumentSpec(specs[i].kind, value=values[i])
    stages = options.pop("stages", ())
    return compile(Request(typed(body, specs, attributes), "main", tuple(specs), **options), stages=stages)


def call(artifact: abi.Artifact, values: Sequence[Any]) -> tuple[Any, ...]:
    """Load, call once, and return results by kind: arrays, scalars, ("alias", i), new contents of arguments. Raises Failed."""
    code = load(artifact)
    try:
        return call_address(code.address, artifact, values)
    finally:
        code.close()


def call_address(address: int, artifact: abi.Artifact, values: Sequence[Any]) -> tuple[Any, ...]:
    sizes, keep = {}, []
    written = {spec.argument for spec in artifact.results if spec.kind is ResultKind.WRITTEN}
    values = [v.copy() if i in written else v for i, v in enumerate(values)] if written else values
    arguments = (abi.Argument * max(len(values), 1))()
    for i, (value, spec) in enumerate(zip(values, artifact.arguments, strict=True)):
        if isinstance(value, np.ndarray):
            dims = (ctypes.c_int64 * max(value.ndim, 1))(*value.shape)
            strides = (ctypes.c_int64 * max(value.ndim, 1))(*value.strides)
            keep += [dims, strides]
            arguments[i] = abi.Argument(value.ctypes.data, ctypes.addressof(dims), ctypes.addressof(strides))
            sizes |= {s: n for s, n in zip(spec.sizes, value.shape, strict=True) if isinstance(s, str)}
            sizes |= {f"stride{i}_{d}": s // value.itemsize for d, s in enumerate(value.strides)}
        else:
            arguments[i] = abi.Argument(abi.scalar_bits(spec.kind, value) & (2**64 - 1), None, None)
    table = (abi.Result * max(len(artifact.results), 1))()
    buffers: list[Any] = []
    for i, spec in enumerate(artifact.results):
        rank = len(spec.sizes)
        if spec.kind in (ResultKind.BUFFER, ResultKind.ARGUMENT):
            shape = tuple(_number(d, sizes) for d in spec.sizes)
            fresh = np.empty(shape, dtypes.BY_NAME[spec.dtype].numpy)
            fresh.reshape(-1).view(np.uint8)[...] = 0xA5  # what the kernel doesn't write shows
            dims = (ctypes.c_int64 * max(rank, 1))(*shape)
            table[i] = abi.Result(fresh.ctypes.data, ctypes.addressof(dims))
        else:
            fresh, dims = None, (ctypes.c_int64 * max(rank, 1))()
            table[i] = abi.Result(None, ctypes.addressof(dims))
        buffers.append((fresh, dims))
    kernel = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(address)
    status = kernel(ctypes.addressof(arguments), ctypes.addressof(table))
    out = []
    for i, spec in enumerate(artifact.results):
        fresh, dims = buffers[i]
        if spec.kind is ResultKind.ALLOCATED:
            fresh = _adopt(table[i].data, tuple(dims[: len(spec.sizes)]), dtypes.BY_NAME[spec.dtype].numpy)
        elif spec.kind is ResultKind.SCALAR:
            fresh = _scalar(table[i].data or 0, spec.dtype)
        elif spec.kind in (ResultKind.ALIAS, ResultKind.WRITTEN):
            fresh = values[spec.argument]
        elif spec.kind is ResultKind.VIEW:
            fresh = _view(values[spec.argument], spec, sizes)
        out.append(fresh)
    del keep
    if status:
        raise Failed(status, artifact)
    return tuple(out)


def _number(dim: Dim, sizes: dict[str, int]) -> int:
    found = substitute(dim, sizes)
    assert isinstance(found, int), dim
    return found


def _adopt(address: int | None, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    count = int(np.prod(shape)) * dtype.itemsize
    data = ctypes.string_at(address, count) if count else b""
    _libc.free(address)
    return np.frombuffer(data, dtype).reshape(shape).copy()


def _scalar(bits: int, kind: str) -> Any:
    signed = np.uint64(bits).view(np.int64)
    if kind == "float":
        return float(signed.view(np.float64))
    return bool(signed) if kind == "bool" else int(signed)


def _view(base: np.ndarray, spec: abi.ResultSpec, sizes: dict[str, int]) -> np.ndarray:
    """numpy's own as_strided, from the described offset."""
    shape = tuple(_number(d, sizes) for d in spec.sizes)
    if 0 in shape:
        return np.zeros(shape, base.dtype)
    strides = tuple(_number(d, sizes) * base.itemsize for d in spec.strides)
    offset = _number(spec.offset, sizes) * base.itemsize
    low = sum(min((n - 1) * s, 0) for n, s in zip(base.shape, base.strides, strict=True))
    start = base.__array_interface__["data"][0] + low
    extent = sum((n - 1) * abs(s) for n, s in zip(base.shape, base.strides, strict=True)) + base.itemsize
    raw = (ctypes.c_uint8 * extent).from_address(start)
    return np.ndarray(shape, base.dtype, raw, offset - low, strides)
