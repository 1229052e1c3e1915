"""Ops with a body: fusion_group, fallback, differentiable, grad_of, and the terminator of all bodies."""

from __future__ import annotations

from tierup.dialect.language.definitions.checks import block_of, check_isolated, check_types, indices, integer, types_of, word, yielded
from tierup.dialect.language.definitions.definition import Broken, define
from tierup.dialect.mlir import ir

_BODY = ("body", "empty")


def _check_body(op: ir.Operation) -> None:
    block = block_of(op, 0, "the body")
    check_types(types_of(block.arguments), types_of(op.operands), "block argument", "operand")
    check_types(yielded(block, "the body"), types_of(op.results), "yielded value", "result")
    check_isolated(op, 0, "the body")
    _check_empty(op)


def _check_empty(op: ir.Operation) -> None:
    if len(op.regions[1].blocks):
        raise Broken("the second region is empty")


@define("fusion_group", operands=["inputs*"], results=["outputs*"], regions=_BODY)
def fusion_group(op: ir.Operation) -> None:
    """A region compiled as one native kernel. The body sees only its block arguments, which are the operands."""
    _check_body(op)


@define("fallback", operands=["inputs*"], results=["outputs*"], regions=_BODY)
def fallback(op: ir.Operation) -> None:
    """The unspecialised twin of a region, until `tierup-outline-fallbacks` makes it a function with an executor of its own. The
    body sees only its block arguments, which are the operands."""
    _check_body(op)


@define(
    "differentiable",
    operands=["inputs*"],
    results=["outputs*"],
    attributes={
        "real_outputs": "how many of the values that forward yields are results, an integer; the others are temporaries",
        "vjp_outputs": "the forward values whose gradients backward takes first, array<i64: ...>",
        "captured_inputs": "the operands that backward takes next, array<i64: ...>",
        "captured_outputs": "the forward values that backward takes last, array<i64: ...>",
        "gradient_inputs": "the operands whose gradients backward yields, array<i64: ...>",
    },
    regions=["forward", "backward"],
)
def differentiable(op: ir.Operation) -> None:
    """A region with its gradient. `forward` computes the results from the operands, `backward` the gradients of operands from
    the gradients of results and from what it captured. Both see only their block arguments."""
    forward, backward = block_of(op, 0, "forward"), block_of(op, 1, "backward")
    inputs = types_of(op.operands)
    check_types(types_of(forward.arguments), inputs, "argument of forward", "operand")
    outputs = yielded(forward, "forward")
    real = integer(op, "real_outputs", 0)
    if real > len(outputs):
        raise Broken(f"attribute 'real_outputs' is {real}, but forward yields {len(outputs)} values")
    check_types(outputs[:real], types_of(op.results), "yielded value", "result")
    vjps = indices(op, "vjp_outputs", len(outputs), "forward value")
    captured_inputs = indices(op, "captured_inputs", len(inputs), "operand")
    captured_outputs = indices(op, "captured_outputs", len(outputs), "forward value")
    gradients = indices(op, "gradient_inputs", len(inputs), "operand")
    given = [*(outputs[i] for i in vjps), *(inputs[i] for i in captured_inputs), *(outputs[i] for i in captured_outputs)]
    check_types(types_of(backward.arguments), given, "argument of backward", "captured value")
    count = len(yielded(backward, "backward"))
    if count != len(gradients):
        raise Broken(f"backward yields {count} gradients, but 'gradient_inputs' names {len(gradients)}")
    check_isolated(op, 0, "forward")
    check_isolated(op, 1, "backward")


@define(
    "grad_of",
    operands=["gradients*"],
    results=["outputs*"],
    attributes={"op": "the op whose gradient this is, a string"},
    regions=_BODY,
)
def grad_of(op: ir.Operation) -> None:
    """The gradient of one op, linear in the operands: when all of them are undefined so are the results, and the body, which
    reads values from outside, does not run."""
    word(op, "op")
    block = block_of(op, 0, "the body")
    if len(block.arguments):
        raise Broken("the body has no arguments: it reads values from outside")
    check_types(yielded(block, "the body"), types_of(op.results), "yielded value", "result")
    _check_empty(op)


_PARENTS = ("tierup.fusion_group", "tierup.fallback", "tierup.differentiable", "tierup.grad_of")


@define("yield", operands=["values*"])
def yield_(op: ir.Operation) -> None:
    """Hands a body's values to the op around it."""
    parent = op.parent
    if parent is not None and parent.operation.name not in _PARENTS:
        raise Broken(f"ends the bodies of {', '.join(_PARENTS)}, not of {parent.operation.name}")
