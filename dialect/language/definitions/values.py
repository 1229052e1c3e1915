"""Ops that compute: gradients that may be undefined, batched products, eager select, constant chunk.

Sizes that such an op cannot take are no broken IR: it may stand in a branch that never runs, and where it runs it raises.
"""

from __future__ import annotations

from tierup.dialect.language.definitions.checks import check_tensors, check_truth_value, check_types, integer, types_of, word
from tierup.dialect.language.definitions.definition import Broken, define
from tierup.dialect.mlir import ir


@define("autograd_add", operands=["left", "right"], results=["sum"])
def autograd_add(op: ir.Operation) -> None:
    """The sum of two gradients; an undefined one counts as zero, and two of them give an undefined one."""
    check_tensors([*op.operands, *op.results], "every operand and result")


@define("autograd_zero", results=["gradient"])
def autograd_zero(op: ir.Operation) -> None:
    """An undefined gradient."""
    check_tensors(op.results, "the result")


def _check_definedness(op: ir.Operation) -> None:
    check_tensors(op.operands, "every operand")
    check_truth_value(op.results[0].type, "the result")


@define("any_nonzero", operands=["gradients*"], results=["answer"])
def any_nonzero(op: ir.Operation) -> None:
    """Whether any of the gradients is defined."""
    _check_definedness(op)


@define("all_nonzero", operands=["gradients*"], results=["answer"])
def all_nonzero(op: ir.Operation) -> None:
    """Whether all gradients are defined."""
    _check_definedness(op)


@define("all_zero", operands=["gradients*"], results=["answer"])
def all_zero(op: ir.Operation) -> None:
    """Whether no gradient is defined."""
    _check_definedness(op)


_MAX_ELEMENTS = {"max_elements": "how large all operands together may be to be computed as one batch, an integer; absent: any size"}


@define("batched_mm_tree", operands=["matrices*"], results=["sum"], optional=_MAX_ELEMENTS)
def batched_mm_tree(op: ir.Operation) -> None:
    """The sum of the products of the first half of the operands with the second half, pair by pair, added from left to right."""
    check_tensors([*op.operands, *op.results], "every operand and result")
    _check_max_elements(op)
    count = len(op.operands)
    if count == 0 or count % 2:
        raise Broken(f"has {count} operands, expected as many left sides as right sides, at least one of each")


def _check_max_elements(op: ir.Operation) -> None:
    if "max_elements" in op.attributes:
        integer(op, "max_elements", 0)


@define(
    "batched_mm_side",
    operands=["common", "others*"],
    results=["products*"],
    attributes={"side": 'where the common matrix stands in the products, "left" or "right"'},
    optional=_MAX_ELEMENTS,
)
def batched_mm_side(op: ir.Operation) -> None:
    """The products of one common matrix with each of the others."""
    check_tensors([*op.operands, *op.results], "every operand and result")
    _check_max_elements(op)
    word(op, "side", ("left", "right"))
    others, products = len(op.operands) - 1, len(op.results)
    if others == 0 or others != products:
        raise Broken(f"has {products} results for {others} matrices beside the common one")


@define("if_then_else", operands=["condition", "then", "otherwise"], results=["result"])
def if_then_else(op: ir.Operation) -> None:
    """One of two values, both already computed."""
    check_truth_value(op.operands[0].type, "the condition")
    types = {str(t) for t in (*types_of(op.operands)[1:], *types_of(op.results))}
    if len(types) != 1:
        raise Broken(f"has one type for both values and the result, got {', '.join(sorted(types))}")


@define(
    "constant_chunk",
    operands=["tensor"],
    results=["pieces*"],
    attributes={"chunks": "how many pieces, an integer", "dim": "the dimension that is cut, an integer"},
)
def constant_chunk(op: ir.Operation) -> None:
    """Views of a tensor cut along `dim`, as torch.chunk cuts it, whose number is known."""
    check_tensors([*op.operands, *op.results], "every operand and result")
    integer(op, "dim")
    chunks = integer(op, "chunks", 1)
    if len(op.results) != chunks:
        raise Broken(f"has {len(op.results)} results for {chunks} chunks")


@define(
    "held_product",
    operands=["left", "right", "start"],
    results=["result"],
    attributes={"kind": 'the op of linalg that it is, "linalg.matmul" or "linalg.batch_matmul"', "indexing_maps": "as that op's"},
)
def held_product(op: ir.Operation) -> None:
    """A matrix product of builtin tensors, added to `start`, while loops are fused: see tierup-hold-products."""
    word(op, "kind", ("linalg.matmul", "linalg.batch_matmul"))
    if str(op.results[0].type) != str(op.operands[2].type):
        raise Broken(f"has a result of type {op.results[0].type}, but starts from {op.operands[2].type}")


_EQUATION = {"equation": 'which loop indexes which axis of x, y and the result, a letter for each: "ab,bc->ac"'}


def _check_equation(op: ir.Operation) -> None:
    inputs, _, output = word(op, "equation").partition("->")
    terms = [*inputs.split(","), output]
    if len(terms) != 3 or not all(term.isalpha() for term in terms):
        raise Broken(f"attribute 'equation' has two operands and a result, got '{word(op, 'equation')}'")
    for term, value in zip(terms, op.operands, strict=False):
        if isinstance(value.type, ir.MemRefType) and ir.MemRefType(value.type).rank != len(term):
            raise Broken(f"attribute 'equation' has {len(term)} letters for an operand of type {value.type}")


@define(
    "library_fits",
    operands=["left", "right", "result*"],
    results=["fits"],
    attributes=_EQUATION | {"least_work": "multiplications, from which on it pays, an integer", "least_depth": "of them for each element"},
)
def library_fits(op: ir.Operation) -> None:
    """Whether NVIDIA's library is to compute a product of buffers: it is there, pays, and takes them as they lie; a result that is not
    given lies in C order. See tierup-products-to-library."""
    _check_equation(op)
    for name in ("least_work", "least_depth"):
        integer(op, name, 0)


@define(
    "library_product",
    operands=["left", "right", "result"],
    attributes=_EQUATION,
    optional={"adds": "to what the result holds; absent: overwrites it", "tf32": "whether products may be rounded to TF32"},
)
def library_product(op: ir.Operation) -> None:
    """A product of buffers by NVIDIA's library, where `library_fits`."""
    _check_equation(op)


@define("hidden", operands=["value"], results=["same"], optional={"own": "the value has memory of its own, a unit attribute"})
def hidden(op: ir.Operation) -> None:
    """Its operand, which canonicalisation does not see through. See tierup-hide-from-folding."""
    check_types(types_of(op.results), types_of(op.operands), "result", "operand")


@define("kept", operands=["values*"])
def kept(op: ir.Operation) -> None:
    """Uses the results of an op that may raise, so that canonicalisation does not drop it. See tierup-hide-from-folding."""
