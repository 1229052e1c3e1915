"""tierup-settle-results: an entry returns what its kernel computes, and nothing else.

    func.func @f(%x: ... {tierup.guard = {..., layout = "strided"}}) -> (...)
        attributes {tierup.entry, tierup.results = [{kind = "buffer", ...}, {kind = "alias"}], tierup.result_aliases = [...]} {
      torch.bind_symbolic_shape %x, ...
      return %0, %x : ...

becomes

    func.func @f(%x: ... {tierup.layout = "strided"}) -> ...
        attributes {tierup.entry, tierup.result_kinds = ["buffer"], tierup.results = [...], torch.assume_strict_symbolic_shapes} {
      return %0 : ...

A result with an order of dims is permuted to it. An argument in Fortran order (`layout = "columns"`) comes as the rows of its transpose,
which is transposed back. What is said of symbols goes, since the guards say it too, and so does what nobody reads.
"""

from __future__ import annotations

from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import hand_over, is_used, set_signature
from tierup.dialect.mlir import ir
from tierup.dialect.passes.functional.views import PERHAPS_READ_ONLY, READ_ONLY
from tierup.dialect.passes.registry import Pass, register
from tierup.lowering.analysis.signature import ALIASES, WRITEBACKS, terminator
from tierup.lowering.analysis.stated import LAYOUT, RESULT_KINDS, RESULTS, guards, records
from tierup.lowering.base.abi import ArgumentSpec, Layout, ResultKind, ResultSpec
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t

STRICT = "torch.assume_strict_symbolic_shapes"  # symbols are at least 2 and ties are guarded: no code for run-time broadcasting
_COMPUTED = {
    ResultKind.BUFFER: "buffer",
    ResultKind.ARGUMENT: "buffer",
    ResultKind.ALLOCATED: "allocated",
    ResultKind.SCALAR: "scalar",
}


@register
class SettleResults(Pass):
    def run_on_function(self, function: ir.Operation) -> None:
        attributes = function.attributes
        if RESULTS not in attributes or RESULT_KINDS in attributes:
            return
        last, specs = terminator(function), guards(function)
        for argument, spec in zip(function.regions[0].blocks[0].arguments, specs, strict=True):
            if spec.layout is Layout.COLUMNS:
                _by_rows(argument)
        kept = [
            (_permuted(value, spec.order, last), spec.kind)
            for value, spec in zip(last.operands, records(ResultSpec, function, RESULTS), strict=True)
            if spec.kind in _COMPUTED
        ]
        hand_over(last.block, [value for value, _ in kept])
        set_signature(function)
        _sweep(function)
        attributes[RESULT_KINDS] = ir.ArrayAttr.get([ir.StringAttr.get(_COMPUTED[kind]) for _, kind in kept])
        attributes["arg_attrs"] = ir.ArrayAttr.get([_argument_attributes(spec) for spec in specs])
        attributes[STRICT] = ir.UnitAttr.get()
        for name in (WRITEBACKS, ALIASES, READ_ONLY, PERHAPS_READ_ONLY, "res_attrs"):
            if name in attributes:
                del attributes[name]


def _by_rows(argument: ir.Value) -> None:
    """Let the kernel see memory in columns as the rows of its transpose, which the program transposes back."""
    block, uses = argument.owner, list(argument.uses)
    sizes, dtype = torch_types.parse_tensor(str(argument.type))
    assert sizes is not None and dtype is not None  # its guard says them
    with ir.Location.unknown(argument.type.context):
        argument.set_type(t.tensor_type(tuple(reversed(sizes)), dtype))
    seen = _permuted(argument, tuple(reversed(range(len(sizes)))), next(iter(block.operations)))
    for use in uses:
        use.owner.operands[use.operand_number] = seen


def _permuted(value: ir.Value, order: tuple[int, ...], before: ir.Operation) -> ir.Value:
    """The tensor with its dims in an order; itself for ()."""
    if not order:
        return value
    context = value.type.context
    with ir.InsertionPoint(before), ir.Location.unknown(context):
        listed = t.ints([t.integer(d) for d in order])
        sizes, dtype = torch_types.parse_tensor(str(value.type))
        assert sizes is not None and dtype is not None  # or there would be no buffer of it
        type_ = t.tensor_type(tuple(sizes[d] for d in order), dtype)
        return b.value("torch.aten.permute", [value, listed], type_)


def _sweep(function: ir.Operation) -> None:
    """Erase torch ops whose results nobody uses, and what is said of symbols. Checks have no results, so they stay."""
    for op in b.unerased(reversed(list(b.walk(function)))):
        unused = len(op.results) > 0 and not any(map(is_used, op.results))
        if op.name == "torch.bind_symbolic_shape" or (t.is_pure(op) and unused):
            op.erase()


def _argument_attributes(spec: ArgumentSpec) -> ir.Attribute:
    return ir.DictAttr.get({LAYOUT: ir.StringAttr.get("strided")} if spec.layout is Layout.STRIDED else {})
