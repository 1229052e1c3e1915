"""What the four contract verifiers share: which ops a program may hold, and how a broken contract is reported.

A contract says what one stage may rely on; `tierup-verify-graph`, `-profiled`, `-guarded` and `-specialized` check one each.
"""

from __future__ import annotations

from collections.abc import Iterable

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION, REQUIRES_GRAD
from tierup.dialect.ir.walking import callee_name, function_names, symbol_of, walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.passes.diagnostics import Diagnostic

# Ops of the graph that are no rows of the op table: constants, control flow, calls, casts between types of one value.
STRUCTURE = frozenset({
    "func.call", "func.func", "func.return", "torch.aten._set_item.t", "torch.aten.append.t", "torch.aten.insert.t",
    "torch.bind_symbolic_shape", "torch.constant.bool", "torch.constant.device", "torch.constant.float", "torch.constant.int",
    "torch.constant.none", "torch.constant.number", "torch.constant.str", "torch.copy.to_tensor", "torch.copy.to_vtensor", "torch.derefine",
    "torch.overwrite.tensor.contents", "torch.prim.If", "torch.prim.If.yield", "torch.prim.ListConstruct", "torch.prim.ListUnpack",
    "torch.prim.Loop", "torch.prim.Loop.condition", "torch.prim.TupleConstruct", "torch.prim.TupleUnpack", "torch.prim.Uninitialized",
    "torch.prim.unchecked_cast", "torch.runtime.assert", "torch.symbolic_int", "torch.tensor.literal", "torch.tensor_static_info_cast",
    "torch.vtensor.literal",
})  # fmt: skip

# Ops of the tierup dialect that compute, whatever was assumed.
VALUES = frozenset({
    "tierup.all_nonzero", "tierup.all_zero", "tierup.any_nonzero", "tierup.autograd_add", "tierup.autograd_zero", "tierup.batched_mm_side",
    "tierup.batched_mm_tree", "tierup.constant_chunk", "tierup.differentiable", "tierup.grad_of", "tierup.if_then_else", "tierup.yield",
})  # fmt: skip



class Contract:
    """Collects what breaks one contract; `raise_if_broken` fails the pass with all of it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.found: list[Diagnostic] = []

    def broken(self, op: ir.Operation, what: str, *notes: tuple[ir.Operation, str]) -> None:
        """Report `op`, in the user's terms: its name in the torch dialect, its line, the contract."""
        self.found.append(diagnostics.at(op, "error", f"breaks the contract '{self.name}': {what}", *notes))

    def raise_if_broken(self) -> None:
        """Raises PassFailure with all that was found; where nothing was, the contract holds."""
        if self.found:
            raise PassFailure.of(self.found)


def check_graph(module: ir.Module, contract: Contract, also: Iterable[str] = ()) -> None:
    """The contract `graph`, with the ops in `also` allowed besides."""
    allowed = STRUCTURE | VALUES | frozenset(also)
    names = function_names(module)
    for view in module.body.operations:
        top = view.operation
        if top.name != "func.func":
            contract.broken(top, "a program is a module of functions")
            continue
        if not len(top.regions[0].blocks):
            contract.broken(top, f"function @{symbol_of(top)} has no body")
            continue
        _check_arguments(top, contract)
        for op in walk(top):
            _check_op(op, allowed, names, contract)


def _check_arguments(func: ir.Operation, contract: Contract) -> None:
    if "arg_attrs" not in func.attributes:
        return
    for i, entries in enumerate(ir.ArrayAttr(func.attributes["arg_attrs"])):
        state = {entry.name: entry.attr for entry in ir.DictAttr(entries)}.get(REQUIRES_GRAD)
        if state is not None and str(state) not in ("true", "false"):
            contract.broken(func, f"argument {i} has {REQUIRES_GRAD} = {state}; it is true or false")


def _check_op(op: ir.Operation, allowed: frozenset[str], names: dict[str, ir.Operation], contract: Contract) -> None:
    row = row_of(op)
    if row is None and op.name not in allowed:
        if op.name.startswith("tierup."):
            contract.broken(op, "speculation has no place here")
        elif op.name == "torch.operator":
            contract.broken(op, f"no part of tierup knows {op.attributes['name']}")
        else:
            contract.broken(op, "no part of tierup knows this op")
        return
    promotion = op.attributes[PROMOTION] if PROMOTION in op.attributes else None
    if promotion is not None and str(promotion) != '"numpy"':
        contract.broken(op, f'has {PROMOTION} = {promotion}; it is "numpy", or left out for torch\'s rules')
    if op.name == "func.call":
        callee = callee_name(op)
        if callee not in names:
            contract.broken(op, f"calls @{callee}, which is no function of this module")
    if row is not None and len(op.operands) and torch_types.is_tensor(op.operands[0].type):
        _check_memory(op, row.aliasing, contract)


def _check_memory(op: ir.Operation, aliasing: Aliasing, contract: Contract) -> None:
    """A value tensor shares no memory with one that may be written. (That in-place ops write no value tensor is MLIR's to check.)"""
    source = op.operands[0].type
    if aliasing in (Aliasing.VIEW, Aliasing.MAY_VIEW) and not torch_types.is_value_tensor(source):
        for result in op.results:
            if torch_types.is_tensor(result.type) and torch_types.is_value_tensor(result.type):
                contract.broken(op, f"gives {result.type}, a view of memory that may be written; its type is !torch.tensor")
