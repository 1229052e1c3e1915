"""tierup-asserts-to-status: a failed assertion is reported in a status slot; nothing aborts.

    cf.assert %ok, "message"
becomes
    scf.if %bad { memref.store %site, %status[] }

where %status is a new last argument, memref<i32>, that the caller has set to 0, and %site counts the assertions from 1.
The function goes on after a failed one: whoever emitted it has clamped what it protects. A loop without a trip count that
asserts on its way leaves when the status is set, because clamped values may never end it. The function attribute
`tierup.error_sites` says, per site, which op of the program asserts, where, and why.

Only functions with `tierup.result_kinds` (entries) get a status; an assertion in another function is a failure.
"""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.base.exceptions import INT_TOO_LARGE
from tierup.dialect.ir.structure import last_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, register
from tierup.lowering.analysis.stated import ERROR_SITES, RESULT_KINDS
from tierup.lowering.building import builders as b
from tierup.lowering.building import functions as fn
from tierup.lowering.building.arith import of
from tierup.lowering.building.loops import when
from tierup.lowering.building.origins import Origin, origin


@register
class AssertsToStatus(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        asserts = [op for op in b.walk(function) if op.name == "cf.assert"]
        if RESULT_KINDS not in function.attributes:
            if asserts:
                raise PassFailure(asserts[0], "stands in a function that has no status to report to")
            return
        with ir.Location.unknown(function.context):
            known = list(ir.ArrayAttr(function.attributes[ERROR_SITES])) if ERROR_SITES in function.attributes else None
            # a second run goes on counting, with the status that is there
            status = add_status(function) if known is None else function.regions[0].blocks[0].arguments[-1]
            sites = [*(known or []), *(_site(op) for op in asserts)]
            for loop in dict.fromkeys(loop for op in asserts for loop in _open_loops(op)):
                _leave_when_set(loop, status)
            for number, op in enumerate(asserts, start=len(sites) - len(asserts) + 1):
                _replace(op, number, status)
            function.attributes[ERROR_SITES] = ir.ArrayAttr.get(sites)


def add_status(function: ir.Operation) -> ir.Value:
    """A last argument of a function, in which it says which check failed: memref<i32>."""
    return fn.add_argument(function, ir.MemRefType.get([], b.integer_type(32)))


def _site(op: ir.Operation) -> ir.Attribute:
    found = origin(op.location) or Origin("", "")
    if ir.StringAttr(op.attributes["msg"]).value == INT_TOO_LARGE:  # the runtime asks
        found = Origin(INT_TOO_LARGE, found.place)
    return ir.DictAttr.get({"op": ir.StringAttr.get(found.op), "place": ir.StringAttr.get(found.place), "message": op.attributes["msg"]})


def _replace(op: ir.Operation, number: int, status: ir.Value) -> None:
    with ir.InsertionPoint(op):
        with when(~of(op.operands[0])):
            b.store(b.integer(number, 32), status)
    op.erase()


def _open_loops(op: ir.Operation) -> Iterator[ir.Operation]:
    """The loops around `op` that end only when a condition says so, innermost first."""
    parent = op.parent
    while parent is not None and parent.name != "func.func":
        if parent.name == "scf.while":
            yield parent.operation
        parent = parent.parent


def _leave_when_set(loop: ir.Operation, status: ir.Value) -> None:
    condition = last_of(loop.regions[0].blocks[0])
    with ir.InsertionPoint(condition):
        condition.operands[0] = of(condition.operands[0]) & b.load(status).equals(0)
