"""A graph of the torch dialect as a function of TorchScript: what a function of arrays leaves in a trace.

    %0 = torch.aten.add.Tensor %x, %y, %int1       %0 : Tensor = aten::add(%x, %y, %int1)
    torch.prim.If %c { ... } else { ... }     ->   %1 : Tensor = prim::If(%c) block0(): ... block1(): ...

The dialect took its ops from TorchScript, so an op is spelled by its name, and the operator that its operands select there must have the
same overload. One that has none is refused by its name. The graph is one of values (`tierup-functionalize`), with types inferred and
NumPy's promotion made casts: TorchScript has torch's rules alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch

from tierup.dialect.base.exceptions import INT_TOO_LARGE, SIZE_TOO_LARGE
from tierup.dialect.ir import literals
from tierup.dialect.ir.attributes import READERS
from tierup.dialect.ir.structure import CASTS, COPIES
from tierup.dialect.ir.torch_types import elements, is_tensor
from tierup.dialect.ir.walking import function_names, torch_name, walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.optable.kernels import torch_tensors
from tierup.dialect.passes.diagnostics import place_of
from tierup.dialect.passes.pipelines.pipeline import parse as parse_pipeline
from tierup.frontend.torch.errors import UnsupportedProgram

_SYMBOLS = frozenset({"torch.symbolic_int", "torch.bind_symbolic_shape"})  # what is known of sizes: only other such ops read it
_CONSTRUCTS = {"torch.prim.ListConstruct": "prim::ListConstruct", "torch.prim.TupleConstruct": "prim::TupleConstruct",
               "torch.prim.ListUnpack": "prim::ListUnpack", "torch.prim.TupleUnpack": "prim::TupleUnpack",
               "torch.prim.RaiseException": "prim::RaiseException", "torch.prim.Uninitialized": "prim::Uninitialized"}  # fmt: skip


@cache
def to_script(text: str, entry: str) -> Any:
    """The `torch.jit.ScriptFunction` of a module's function, which gives the results that are tensors, a tuple if not one. Raises
    UnsupportedProgram, naming op and line, for an op that TorchScript has no operator for.

    Traces point to functions and do not keep them: it is PyTorch that does, for as long as the process lives, as all that are scripted.
    """
    module = parse_module(text)
    _leave_ints_to_torchscript(module)
    func = function_names(module)[entry]
    return torch.jit._state._python_cu.create_function(f"__torch__.tierup.{entry}", _Printer(entry).graph(func), True)


def _leave_ints_to_torchscript(module: ir.Module) -> None:
    """Without the checks that results of ints fit 64 bits: TorchScript's wrap."""
    for op in walk(module.operation):
        if op.name == "torch.runtime.assert" and ir.StringAttr(op.attributes["message"]).value in (INT_TOO_LARGE, SIZE_TOO_LARGE):
            op.erase()
    parse_pipeline("builtin.module(func.func(tierup-dce))").run(module)


class _Printer:
    def __init__(self, name: str) -> None:
        self._name = name
        self._graph: Any = torch._C.Graph()
        self._values: dict[ir.Value, Any] = {}

    def graph(self, func: ir.Operation) -> Any:
        body = func.regions[0].blocks[0]
        for i, argument in enumerate(body.arguments):
            self._values[argument] = self._graph.addInput(f"x{i}").setType(_type(str(argument.type)))
        last = self._ops(body)
        results = [self._values[v] for v in last.operands if is_tensor(v.type)]
        if len(results) != 1:
            results = [self._insert("prim::TupleConstruct", results, [torch._C.TupleType([r.type() for r in results])])[0]]
        self._graph.registerOutput(results[0])
        self._graph.lint()
        return self._graph

    def _ops(self, block: ir.Block) -> ir.Operation:
        """Print all but the terminator, which is returned."""
        *ops, last = [op.operation for op in block.operations]
        for op in ops:
            self._op(op)
        return last

    def _op(self, op: ir.Operation) -> None:
        if op.name in _SYMBOLS:
            return
        if op.name in READERS and op.name != "torch.constant.device":
            self._values[op.results[0]] = self._graph.insertConstant(READERS[op.name](op))
        elif op.name == "torch.vtensor.literal":
            self._values[op.results[0]] = self._graph.insertConstant(torch_tensors.tensor(literals.decode(op)))
        elif op.name in CASTS or op.name in COPIES:
            self._values[op.results[0]] = self._values[op.operands[0]]
        elif op.name == "torch.prim.If":
            self._if(op)
        elif op.name == "torch.prim.Loop":
            self._loop(op)
        else:
            kind = _CONSTRUCTS.get(op.name) or self._kind(op)
            made = self._insert(kind, [self._values[v] for v in op.operands], [_type(str(r.type)) for r in op.results])
            if op.name not in _CONSTRUCTS:
                self._check(op, made[0].node())
            self._values |= dict(zip(op.results, made, strict=True))

    def _insert(self, kind: str, operands: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        node = self._graph.insertNode(self._graph.create(kind, list(operands), len(types)))
        return [output.setType(type_) for output, type_ in zip(node.outputs(), types, strict=True)]

    def _kind(self, op: ir.Operation) -> str:
        dialect, space, *name = op.name.split(".")
        if dialect != "torch" or space not in ("aten", "prim") or not name or not op.results or op.regions:
            raise self._refused(op)
        return f"{space}::{name[0]}"

    def _check(self, op: ir.Operation, node: Any) -> None:
        overload = op.name.split(".", 3)[3:]
        schema = node.schema()
        if schema == "(no schema)" or [n for n in (torch._C.parse_schema(schema).overload_name,) if n] != overload:
            raise self._refused(op)

    def _refused(self, op: ir.Operation) -> UnsupportedProgram:
        place = place_of(op.location)
        where = f"{place}: " if place.line else ""
        return UnsupportedProgram(f"{where}{self._name} cannot be traced: TorchScript has no operator for {torch_name(op)}")

    def _if(self, op: ir.Operation) -> None:
        made = self._insert("prim::If", [self._values[op.operands[0]]], [_type(str(r.type)) for r in op.results])
        node = self._last(made)
        for region in op.regions:
            with _Inside(self._graph, node.addBlock()) as block:
                last = self._ops(region.blocks[0])
                for value in last.operands:
                    block.registerOutput(self._values[value])
        self._values |= dict(zip(op.results, made, strict=True))

    def _loop(self, op: ir.Operation) -> None:
        made = self._insert("prim::Loop", [self._values[v] for v in op.operands], [_type(str(r.type)) for r in op.results])
        node, body = self._last(made), op.regions[0].blocks[0]
        with _Inside(self._graph, node.addBlock()) as block:
            for argument in body.arguments:
                self._values[argument] = block.addInputToBlock().setType(_type(str(argument.type)))
            last = self._ops(body)
            for value in last.operands:
                block.registerOutput(self._values[value])
        self._values |= dict(zip(op.results, made, strict=True))

    def _last(self, outputs: Sequence[Any]) -> Any:
        """The node that was inserted last; one without outputs is found from its end."""
        return outputs[0].node() if outputs else list(self._graph.insertPoint().owningBlock().nodes())[-1]


class _Inside:
    """Nodes go into a block, until they go behind its node again."""

    def __init__(self, graph: Any, block: Any) -> None:
        self._graph, self._block = graph, block

    def __enter__(self) -> Any:
        self._before = self._graph.insertPoint()
        self._graph.setInsertPoint(self._block)
        return self._block

    def __exit__(self, *error: object) -> None:
        self._graph.setInsertPoint(self._before)


def _type(text: str) -> Any:
    """TorchScript's type for one of the dialect's. Raises UnsupportedProgram for one it has not."""
    C: Any = torch._C
    plain = {"!torch.int": C.IntType, "!torch.float": C.FloatType, "!torch.bool": C.BoolType, "!torch.str": C.StringType,
             "!torch.none": C.NoneType, "!torch.number": C.NumberType, "!torch.Device": C.DeviceObjType}  # fmt: skip
    if text in plain:
        return plain[text].get()
    if text.startswith(("!torch.vtensor", "!torch.tensor")):
        return C.TensorType.get()
    of = {
        "!torch.list": lambda items: C.ListType(items[0]),
        "!torch.optional": lambda items: C.OptionalType(items[0]),
        "!torch.tuple": C.TupleType,
    }
    head = text.split("<", 1)[0]
    if head not in of:
        raise UnsupportedProgram(f"TorchScript has no type {text}")
    return of[head]([_type(item) for item in elements(text)])
