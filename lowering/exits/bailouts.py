"""Bailouts in a program that is compiled: out of the way of other functions, then lowered to branches and exits."""

from __future__ import annotations

from tierup.dialect.mlir import ir
from tierup.dialect.pipelines.passes import PassFailure
from tierup.dialect.registry import functions
from tierup.dialect.transforms.lower_bailouts import LowerBailouts
from tierup.lowering import builders as b
from tierup.lowering.abi import ERROR_BASE, EXIT_BASE
from tierup.lowering.errors import Unsupported

_CONTINUATION = "continuation"


def detach(module: ir.Module) -> None:
    """Let go of the continuations: they are other programs. Raises Unsupported for bailouts in a function that is called: they leave it
    alone, not its caller."""
    called = set()
    with_bailouts = {}
    for function in functions(module.operation):
        for op in b.walk(function):
            if op.name == "func.call":
                called.add(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
            elif op.name == "tierup.bailout":
                with_bailouts[ir.StringAttr(function.attributes["sym_name"]).value] = op
                if _CONTINUATION in op.attributes:
                    del op.attributes[_CONTINUATION]
    for name in called & set(with_bailouts):
        raise Unsupported("bailout", "", f"leaves @{name}, which another function calls")


def lower(function: ir.Operation, *, force: bool) -> None:
    """Turn bailouts into exits. Raises Unsupported for one that has no native form."""
    for op in b.walk(function):
        if op.name == "tierup.bailout" and ir.IntegerAttr(op.attributes["index"]).value >= ERROR_BASE - EXIT_BASE:
            raise Unsupported("bailout", "", f"no status for an index above {ERROR_BASE - EXIT_BASE - 1}")
    try:
        LowerBailouts(force).run_on_function(function)
    except PassFailure as e:
        found = e.diagnostics[0]
        raise Unsupported("bailout", str(found.place) if found.place.line else "", str(found.message)) from e


def forget_guards(function: ir.Operation) -> None:
    """Guards that a check stands before said to inference what symbols are; their types say the rest."""
    for op in b.unerased(b.walk(function)):
        if op.name == "tierup.guard":
            with op.location, ir.InsertionPoint(op):
                op.results[0].replace_all_uses_with(b.value("torch.tensor_static_info_cast", [op.operands[0]], op.results[0].type))
            op.erase()
