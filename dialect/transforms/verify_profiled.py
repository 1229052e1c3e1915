"""tierup-verify-profiled: the contract of an instrumented graph: the graph, and profile ops that change nothing.

* `graph` holds of the module but for `tierup.profile` and `tierup.count_run`.
* A slot is recorded at one place of a function: two profiles with one slot would mix their records.
* A function that profiles counts its runs: one `tierup.count_run`, right before the return, so that a run that raised counts
  for nothing.

A profile hands its operand through, with its type, so taking all of them out leaves the graph as it was, bit for bit; that is
what `tierup-remove-profiling` does, and a test compares the texts.
"""

from __future__ import annotations

from tierup.dialect.ir.walking import walk
from tierup.dialect.language.contracts import Contract, check_graph
from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import functions
from tierup.dialect.passes.registry import Pass, register

PROFILE, COUNT_RUN = "tierup.profile", "tierup.count_run"


@register
class VerifyProfiled(Pass):
    def run(self, module: ir.Module) -> None:
        contract = Contract("profiled")
        check_graph(module, contract, also=(PROFILE, COUNT_RUN))
        for function in functions(module.operation):
            _check_slots(function, contract)
            _check_count(function, contract)
        contract.raise_if_broken()


def _check_slots(function: ir.Operation, contract: Contract) -> None:
    first: dict[int, ir.Operation] = {}
    for op in walk(function):
        if op.name != PROFILE:
            continue
        slot = ir.IntegerAttr(op.attributes["slot"]).value
        if slot in first:
            contract.broken(op, f"slot {slot} is recorded twice", (first[slot], "and here first"))
        first.setdefault(slot, op)


def _check_count(function: ir.Operation, contract: Contract) -> None:
    counters = [op for op in walk(function) if op.name == COUNT_RUN]
    profiles = any(op.name == PROFILE for op in walk(function))
    if not counters:
        if profiles:
            contract.broken(function, "the function profiles, but counts no run: tierup.count_run is missing")
        return
    last = [view.operation for view in function.regions[0].blocks[0].operations][-2:]
    for op in counters:
        if last[0] != op:
            contract.broken(op, "a run is counted once, right before the function returns")
