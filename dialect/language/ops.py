"""The tierup dialect: its ops by name, how to build them, how they are verified, how a context learns of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tierup.dialect.base.shielded import shielded
from tierup.dialect.base.spelling import closest
from tierup.dialect.facts.profiled import Fact
from tierup.dialect.ir.attributes import facts_of, i64, is_profiled, profiled_attr
from tierup.dialect.language.definitions import regions as ops_regions
from tierup.dialect.language.definitions import speculation as ops_speculation
from tierup.dialect.language.definitions import values as ops_values
from tierup.dialect.language.definitions.definition import DEFINITIONS, Broken, OpDefinition
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.diagnostics import Diagnostic

__all__ = [
    "DEFINITIONS", "OpDefinition", "bailout", "check", "create", "facts_of", "fallback", "fusion_group", "guard", "is_profiled",
    "profile", "profiled_attr", "register", "verify", "yield_",
]  # fmt: skip

_FILES = (ops_speculation, ops_regions, ops_values)  # importing them filled DEFINITIONS


def register(context: ir.Context) -> None:
    """Let the dialect's ops and attributes into `context`. MLIR then lets in those of other unknown dialects too: `verify` does not."""
    context.allow_unregistered_dialects = True


def verify(root: ir.Operation) -> list[Diagnostic]:
    """Errors of all tierup ops in `root`, and of ops of dialects that nobody knows; empty when all is well."""
    known: set[str] = set()
    found: list[Diagnostic] = []

    def visit(view: ir.Operation) -> ir.WalkResult:
        op = view.operation
        name = op.name
        if name.startswith("tierup."):
            found.extend(_broken(op))
        elif name not in known:
            if op.context.is_registered_operation(name):
                known.add(name)
            else:
                found.append(Diagnostic("error", diagnostics.place_of(op.location), f"unregistered operation '{name}'"))
        return ir.WalkResult.ADVANCE

    shielded(lambda: root.operation.walk(visit))  # MLIR would make a RuntimeError of what a signal's handler raises in there
    return found


def _broken(op: ir.Operation) -> Iterator[Diagnostic]:
    definition = DEFINITIONS.get(op.name)
    if definition is None:
        near = closest(op.name, DEFINITIONS)
        yield Diagnostic("error", diagnostics.place_of(op.location), f"the tierup dialect has no op '{op.name}'{near}")
        return
    try:
        definition.verify(op)
    except Broken as e:
        yield diagnostics.at(op, "error", str(e))


def create(
    name: str,
    operands: Sequence[ir.Value],
    results: Sequence[ir.Type],
    attributes: dict[str, ir.Attribute] | None = None,
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Operation:
    """An op of the dialect with its regions, still empty. `name` without `tierup.`. Raises KeyError for an unknown one."""
    definition = DEFINITIONS[f"tierup.{name}"]
    return ir.Operation.create(
        definition.name, results=results, operands=operands, attributes=attributes or {}, regions=len(definition.regions), loc=loc, ip=ip
    ).operation


def profile(
    value: ir.Value, slot: int, facts: Fact | None = None, *, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None
) -> ir.Value:
    """`tierup.profile`; its result."""
    attributes = {"slot": i64(slot)}
    if facts is not None:
        attributes["profiled"] = profiled_attr(facts)
    return create("profile", [value], [value.type], attributes, loc=loc, ip=ip).results[0]


def guard(value: ir.Value, facts: Fact, type_: ir.Type, *, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None) -> ir.Value:
    """`tierup.guard`; its result, of type `type_`."""
    return create("guard", [value], [type_], {"expected": profiled_attr(facts)}, loc=loc, ip=ip).results[0]


def bailout(
    value: ir.Value,
    live: Sequence[ir.Value],
    index: int,
    facts: Fact,
    type_: ir.Type,
    continuation: str | None = None,
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> ir.Value:
    """`tierup.bailout`; its result, of type `type_`."""
    attributes = {"index": i64(index), "expected": profiled_attr(facts)}
    if continuation is not None:
        attributes["continuation"] = ir.FlatSymbolRefAttr.get(continuation)
    return create("bailout", [value, *live], [type_], attributes, loc=loc, ip=ip).results[0]


def check(
    values: Sequence[ir.Value],
    facts: Sequence[Fact],
    types: Sequence[ir.Type],
    *,
    loc: ir.Location | None = None,
    ip: ir.InsertionPoint | None = None,
) -> tuple[list[ir.Value], ir.Value]:
    """`tierup.check`: the refined values, of these types, and whether all fit (`!torch.bool`)."""
    expected = ir.ArrayAttr.get([profiled_attr(f) for f in facts])
    op = create("check", values, [*types, ir.Type.parse("!torch.bool")], {"expected": expected}, loc=loc, ip=ip)
    results = list(op.results)
    return results[:-1], results[-1]


def fusion_group(
    inputs: Sequence[ir.Value], results: Sequence[ir.Type], *, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None
) -> ir.Operation:
    """`tierup.fusion_group` with an empty body block, whose arguments are the operands; `yield_` must end it."""
    return _with_body("fusion_group", inputs, results, loc, ip)


def fallback(
    inputs: Sequence[ir.Value], results: Sequence[ir.Type], *, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None
) -> ir.Operation:
    """`tierup.fallback` with an empty body block, whose arguments are the operands; `yield_` must end it."""
    return _with_body("fallback", inputs, results, loc, ip)


def yield_(values: Sequence[ir.Value], *, loc: ir.Location | None = None, ip: ir.InsertionPoint | None = None) -> ir.Operation:
    """`tierup.yield`."""
    return create("yield", values, [], loc=loc, ip=ip)


def _with_body(
    name: str, inputs: Sequence[ir.Value], results: Sequence[ir.Type], loc: ir.Location | None, ip: ir.InsertionPoint | None
) -> ir.Operation:
    op = create(name, inputs, results, loc=loc, ip=ip)
    ir.Block.create_at_start(op.regions[0], [v.type for v in inputs], [op.location] * len(inputs))
    return op
