"""The ops of the tierup dialect as tier 0 runs them. Handlers as in structural.py."""

from __future__ import annotations

from tierup.dialect import optable
from tierup.dialect.ir.attributes import facts_of
from tierup.dialect.mlir import ir
from tierup.runtime.interpreter import symbol_scopes
from tierup.runtime.interpreter.graph import Body, Global, If, Piece, call, group, listing
from tierup.runtime.interpreter.reader import Handler, Reader
from tierup.runtime.interpreter.structural import call_function, spell
from tierup.runtime.interpreter.tier0 import COUNT_RUN, EXIT

_SPECULATION = "tierup.runtime.interpreter.speculation"


def _speculation(function: str) -> Global:
    return Global(f"{_SPECULATION}:{function}", function)


def _kernel(reader: Reader, op: ir.Operation, name: str) -> Global:
    row = optable.lookup(name)
    assert row is not None
    return reader.kernel(row, op)


def _profile(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    if reader.record:
        reader.run(op, call("record", [str(ir.IntegerAttr(op.attributes["slot"]).value), operands[0]]))
    reader.env[op.results[0]] = operands[0]


def _count_run(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    if reader.record:
        reader.run(op, call("record", [str(COUNT_RUN), "None"]))


def _guard(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    forced = _forced(reader, op)
    reader.run(op, call(_speculation("guard"), [*_expected(reader, op), operands[0], *([forced] if forced else [])]))
    reader.env[op.results[0]] = operands[0]


def _expected(reader: Reader, op: ir.Operation) -> list[Piece]:
    """The facts of a guard, and what its symbols stand for."""
    fact = facts_of(op.attributes["expected"])
    return [reader.constant("fact", fact), reader.sizes() if symbol_scopes.names(op) else "None"]


def _forced(reader: Reader, op: ir.Operation) -> Piece | None:
    """Whether the hook says that the assumption fails, whatever the value."""
    return call("fail", [spell(reader.site(op))]) if reader.fail else None


def _bailout(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    """An assumption that fails calls the continuation, which does the rest of the function. Without one it is a guard."""
    if "continuation" not in op.attributes:
        _guard(reader, op, operands)
        return
    name = ir.FlatSymbolRefAttr(op.attributes["continuation"]).value
    site = reader.sites.get(name)
    continuation = call_function(reader, op, name, operands) if site is None else call(reader.constant(name, site), operands)
    forced = _forced(reader, op)
    lost = group(*((forced, " or ") if forced else ()), "not ", call(_speculation("fits"), [*_expected(reader, op), operands[0]]))
    node = reader.run(op, group("if ", lost, ": return ", continuation))
    if site is None:
        node.callee, node.arguments = name, operands
    else:
        node.shares = operands
    reader.env[op.results[0]] = operands[0]


def _exit(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    """Where a bailout was lost and its function left: for who records. What runs after it does nothing (tierup-lower-bailouts)."""
    index = str(ir.IntegerAttr(op.attributes["index"]).value)
    if reader.record:
        reader.run(op, call("record", [str(EXIT), group("(", index, ", ", listing(operands, "[", "]"), ")")]))
    else:
        reader.run(op, call(_speculation("left"), [index]))


def _forced_loss(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    reader.let(op, _forced(reader, op) or "False")


def _matches(reader: Reader, op: ir.Operation, operands: list[Piece]) -> Piece:
    facts = tuple(facts_of(a) for a in ir.ArrayAttr(op.attributes["expected"]))
    names = symbol_scopes.names(op)
    fresh = tuple(sorted(names - symbol_scopes.held(op)))
    return call(_speculation("matches"), [reader.constant("facts", facts), reader.sizes() if names else "None", spell(fresh), *operands])


def _refined(reader: Reader, op: ir.Operation, operands: list[Piece], answer: Piece) -> None:
    """The values themselves and, as the last result, whether they fit."""
    results = list(op.results)
    reader.env.update(zip(results, operands, strict=False))
    reader.env[results[-1]] = reader.bind(op, answer)


def _check(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    _refined(reader, op, operands, _matches(reader, op, operands))


def _check_requires_grad(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    wanted = [ir.BoolAttr(a).value for a in ir.ArrayAttr(op.attributes["requires_grad"])]
    _refined(reader, op, operands, spell(not any(wanted)))  # no array of tier 0 needs a gradient


def _check_shapes(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    answer = _matches(reader, op, operands)
    if "layouts" in op.attributes:
        layouts = tuple(ir.StringAttr(a).value for a in ir.ArrayAttr(op.attributes["layouts"]))
        answer = group(answer, " and ", call(_speculation("have_layouts"), [spell(layouts), *operands]))
    reader.env[op.results[0]] = reader.bind(op, answer)


def _inline(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    """The first region as part of the body around it. Of `differentiable` that is forward; its extra outputs are not used."""
    block = reader.single_block(op, op.regions[0])
    reader.env.update(zip(block.arguments, operands, strict=True))
    reader.env.update(zip(op.results, reader.inline(block), strict=False))


def _grad_of(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    body = reader.body(reader.single_block(op, op.regions[0]), [])
    undefined = Body([], [], ["None"] * len(op.results))
    reader.append(If(reader.origin(op), reader.define(op), call(_speculation("any_nonzero"), operands), body, undefined))


def _undefined(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    reader.env[op.results[0]] = "None"


def _autograd_add(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    reader.let(op, call(_speculation("autograd_add"), [_kernel(reader, op, "aten.add.Tensor"), *operands]), shares=operands)


def _definedness(function: str) -> Handler:
    def handler(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
        reader.let(op, call(_speculation(function), operands))

    return handler


def _mm_tree(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    kernels: list[Piece] = [_kernel(reader, op, name) for name in ("aten.mm", "aten.bmm", "aten.add.Tensor")]
    reader.let(op, call(_speculation("batched_mm_tree"), [*kernels, _max_elements(op), *operands]))


def _mm_side(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    kernels: list[Piece] = [_kernel(reader, op, name) for name in ("aten.mm", "aten.bmm")]
    side = spell(ir.StringAttr(op.attributes["side"]).value)
    reader.unpack(op, call(_speculation("batched_mm_side"), [*kernels, side, _max_elements(op), *operands]), [])


def _max_elements(op: ir.Operation) -> str:
    return str(ir.IntegerAttr(op.attributes["max_elements"]).value if "max_elements" in op.attributes else None)


def _if_then_else(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    condition, then, otherwise = operands
    reader.let(op, group(then, " if ", condition, " else ", otherwise), shares=[then, otherwise])


def _constant_chunk(reader: Reader, op: ir.Operation, operands: list[Piece]) -> None:
    chunks, dim = (str(ir.IntegerAttr(op.attributes[name]).value) for name in ("chunks", "dim"))
    reader.unpack(op, call(_kernel(reader, op, "aten.chunk"), [operands[0], chunks, dim]), operands)


HANDLERS: dict[str, Handler] = {
    "tierup.profile": _profile,
    "tierup.count_run": _count_run,
    "tierup.guard": _guard,
    "tierup.bailout": _bailout,
    "tierup.exit": _exit,
    "tierup.forced": _forced_loss,
    "tierup.check": _check,
    "tierup.check_requires_grad": _check_requires_grad,
    "tierup.check_shapes": _check_shapes,
    "tierup.fusion_group": _inline,
    "tierup.fallback": _inline,
    "tierup.differentiable": _inline,
    "tierup.grad_of": _grad_of,
    "tierup.autograd_zero": _undefined,
    "tierup.autograd_add": _autograd_add,
    "tierup.any_nonzero": _definedness("any_nonzero"),
    "tierup.all_nonzero": _definedness("all_nonzero"),
    "tierup.all_zero": _definedness("all_zero"),
    "tierup.batched_mm_tree": _mm_tree,
    "tierup.batched_mm_side": _mm_side,
    "tierup.if_then_else": _if_then_else,
    "tierup.constant_chunk": _constant_chunk,
}
