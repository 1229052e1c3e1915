"""Ops that watch values and speculate on them: profile, count_run, guard, bailout and what it is lowered to, and the three checks."""

from __future__ import annotations

from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.ir.walking import symbol_of
from tierup.dialect.language.definitions.checks import (
    check_fact_fits,
    check_refinement,
    check_tensors,
    check_truth_value,
    check_types,
    elements,
    facts,
    integer,
    types_of,
)
from tierup.dialect.language.definitions.definition import Broken, define
from tierup.dialect.mlir import ir

LAYOUTS = ("contiguous", "strided")  # the stride classes of lowering/base/abi.py

_EXPECTED = {"expected": "the facts that the value must fit, #tierup.profiled<...>"}
_EXPECTED_EACH = {"expected": "the facts that each value must fit, an array of #tierup.profiled<...>"}


@define(
    "profile",
    operands=["value"],
    results=["result"],
    attributes={"slot": "where the value is recorded, an integer of the function's own"},
    optional={"profiled": "what the slot has seen, #tierup.profiled<...>; absent: nothing yet"},
)
def profile(op: ir.Operation) -> None:
    """Identity that records a tensor's type, sizes, strides and definedness, or a number's value."""
    integer(op, "slot", 0)
    check_types(types_of(op.results), types_of(op.operands), "result", "operand")
    if "profiled" in op.attributes:
        check_fact_fits(facts(op.attributes["profiled"], "profiled"), op.operands[0].type)


@define("count_run", optional={"runs": "how many runs there were, an integer"})
def count_run(op: ir.Operation) -> None:
    """The end of a profiled run."""
    if "runs" in op.attributes:
        integer(op, "runs", 0)


@define("guard", operands=["value"], results=["result"], attributes=_EXPECTED)
def guard(op: ir.Operation) -> None:
    """Identity that refines the type by the facts it checks; leaves the program when the value does not fit."""
    check_refinement(op.operands[0].type, facts(op.attributes["expected"], "expected"), op.results[0].type)


@define(
    "bailout",
    operands=["value", "live*"],
    results=["result"],
    attributes={"index": "the resume point, an integer of the function's own", **_EXPECTED},
    optional={"continuation": "the function that does the rest, @name; absent: not built yet"},
)
def bailout(op: ir.Operation) -> None:
    """A guard with what the rest of the function needs: when the value does not fit, `continuation` is called with the value
    and the live ones, resumes exactly here, and its results are the function's."""
    integer(op, "index", 0)
    check_refinement(op.operands[0].type, facts(op.attributes["expected"], "expected"), op.results[0].type)
    if "continuation" in op.attributes:
        _check_continuation(op)


def _check_continuation(op: ir.Operation) -> None:
    symbol = op.attributes["continuation"]
    if not isinstance(symbol, ir.FlatSymbolRefAttr):
        raise Broken(f"attribute 'continuation' is a function's @name, got {symbol}")
    root = op
    while root.parent is not None:
        root = root.parent.operation
    if root.name != "builtin.module":
        return  # not in a module yet
    for view in root.regions[0].blocks[0].operations:
        other = view.operation
        if other.name == "func.func" and symbol_of(other) == symbol.value:
            expected = list(ir.FunctionType(ir.TypeAttr(other.attributes["function_type"]).value).inputs)
            check_types(types_of(op.operands), expected, "operand", f"parameter of @{symbol.value}")
            return
    raise Broken(f"continuation @{symbol.value} is no function of this module")


@define("exit", operands=["values*"], attributes={"index": "which bailout of the function was lost, an integer"})
def exit_(op: ir.Operation) -> None:
    """The function is left at a bailout: its operands go to the caller, and nothing else that the function still gives is looked at.
    What follows in the program sees to it that it does nothing more."""
    integer(op, "index", 0)


@define("forced", results=["lost"], attributes={"index": "which bailout of the function asks, an integer"})
def forced(op: ir.Operation) -> None:
    """Whether a test wants this assumption to fail, at this evaluation of it in the call."""
    integer(op, "index", 0)
    check_truth_value(op.results[0].type, "the result")


@define("check", operands=["values*"], results=["refined*", "ok"], attributes=_EXPECTED_EACH)
def check(op: ir.Operation) -> None:
    """The values with refined types, which hold only where `ok` is true, and `ok`: whether all values fit their facts. A symbol
    that stands in several facts is one size."""
    values, results = list(op.operands), list(op.results)
    if len(results) != len(values) + 1:
        raise Broken(f"has {len(results)} results for {len(values)} values: one refined value each, then whether all fit")
    for value, result, attribute in zip(values, results, elements(op, "expected", len(values)), strict=False):
        check_refinement(value.type, facts(attribute, "expected"), result.type)
    check_truth_value(results[-1].type, "the last result")


@define(
    "check_requires_grad",
    operands=["values*"],
    results=["same*", "ok"],
    attributes={"requires_grad": "whether each value must require a gradient, an array of booleans"},
)
def check_requires_grad(op: ir.Operation) -> None:
    """The values, and whether each requires a gradient, or not, as stated."""
    check_tensors(op.operands, "every operand")
    for attribute in elements(op, "requires_grad", len(op.operands)):
        if not isinstance(attribute, ir.BoolAttr):
            raise Broken(f"attribute 'requires_grad' holds booleans, got {attribute}")
    check_types(types_of(op.results)[:-1], types_of(op.operands), "result", "operand")
    check_truth_value(op.results[len(op.results) - 1].type, "the last result")


@define(
    "check_shapes",
    operands=["values*"],
    results=["ok"],
    attributes=_EXPECTED_EACH,
    optional={"layouts": f"the stride class of each value, an array of {' or '.join(map(repr, LAYOUTS))}"},
)
def check_shapes(op: ir.Operation) -> None:
    """Whether all values fit their facts under one binding of the symbols in them, and have these stride classes."""
    check_tensors(op.operands, "every operand")
    for value, attribute in zip(op.operands, elements(op, "expected", len(op.operands)), strict=True):
        fact = facts(attribute, "expected")
        check_fact_fits(fact, value.type)
        if isinstance(fact, Profiled) and fact.sizes is None:
            raise Broken(f"needs a rank in {attribute}")
    for layout in elements(op, "layouts", len(op.operands)) if "layouts" in op.attributes else []:
        if not isinstance(layout, ir.StringAttr) or layout.value not in LAYOUTS:
            raise Broken(f"attribute 'layouts' holds {' or '.join(map(repr, LAYOUTS))}, got {layout}")
    check_truth_value(op.results[0].type, "the result")
