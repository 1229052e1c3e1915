"""tierup-insert-checks: run a fusion group only on values that fit its types, and its unspecialised twin on others.

    %0 = "tierup.fusion_group"(%x) ({
    ^bb0(%a: !torch.vtensor<[4],f32>):
      ...
    }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>

becomes

    %v, %ok = "tierup.check"(%x) {expected = [#tierup.profiled<f32[4]>]} : ... -> (!torch.vtensor<[4],f32>, !torch.bool)
    %0 = torch.prim.If %ok -> (!torch.vtensor) {
      %1 = "tierup.fusion_group"(%v) ({ ... }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
      %2 = torch.tensor_static_info_cast %1 : !torch.vtensor<[4],f32> to !torch.vtensor
      torch.prim.If.yield %2 : !torch.vtensor
    } else {
      %1 = "tierup.fallback"(%x) ({
      ^bb0(%a: !torch.vtensor):
        ...                                        the same ops without dtypes and sizes
      }, {}) : (!torch.vtensor) -> !torch.vtensor
      torch.prim.If.yield %1 : !torch.vtensor
    }

All tensors that a group takes are checked, also those whose types an earlier group's success would ensure; what a cast only claims
of a value is checked of the value. A symbol is one size in all facts of a check; two symbols that the group needs equal become
one. A group that needs of sizes what no facts can say is undone. A group without tensors to check, or with checked ones, is left.
Branches that a group's types decide go, after the twin is taken. Types outside that followed from bets alone are forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tierup.dialect import diagnostics, dims, regions, symbols, torch_types
from tierup.dialect.contracts import function_names, walk
from tierup.dialect.dims import Dim, symbol
from tierup.dialect.infer import InferenceError, infer_function
from tierup.dialect.mlir import ir
from tierup.dialect.ops import check, fallback
from tierup.dialect.optable.core import Tie
from tierup.dialect.profiled import Profiled
from tierup.dialect.refine import cast, splice
from tierup.dialect.registry import Pass, PassFailure, functions, register
from tierup.dialect.values import Tensor

_CASTS = ("torch.tensor_static_info_cast", "torch.prim.unchecked_cast")


@register
@dataclass(frozen=True)
class InsertChecks(Pass):
    """Guard each fusion group with a check of its inputs, with an unspecialised fallback beside it."""

    name = "tierup-insert-checks"

    def run(self, module: ir.Module) -> None:
        callees = function_names(module)
        for func in functions(module.operation):
            groups = [op for op in walk(func) if op.name == "tierup.fusion_group"]
            try:
                _tie_arguments(func, callees)
                for group in groups:
                    _guard(group, callees)
                regions.forget_unproven(func, callees)
            except InferenceError as e:
                raise PassFailure(e.op, f"cannot run on operands of these types: {e}") from e


def _tie_arguments(func: ir.Operation, callees: Mapping[str, ir.Operation]) -> None:
    """Let arguments have one symbol for sizes that must be equal; forget the types of those that need what symbols cannot say."""
    block = func.regions[0].blocks[0]

    def ties() -> list[Tie]:
        return infer_function(func, symbols.argument_values(func), callees).ties

    if symbols.unify(block, ties):
        return
    tied = frozenset().union(*(dims.symbols(d) for tie in ties() for d in (tie.left, tie.right)))
    shapes = symbols.bound_shapes(block)
    for argument, known in zip(block.arguments, symbols.argument_values(func), strict=True):
        if isinstance(known, Tensor) and any(dims.symbols(d) & tied for d in known.shape or ()):
            argument.set_type(regions.plain_type(argument.type))
            shapes.pop(argument, None)
    symbols.rebind(block, shapes)


def _guard(group: ir.Operation, callees: Mapping[str, ir.Operation]) -> None:
    wanted = [i for i, v in enumerate(group.operands) if torch_types.is_tensor(v.type) and not _is_checked(v)]
    if not wanted:
        return
    body = group.regions[0].blocks[0]
    if not symbols.unify(body, lambda: infer_function(group, symbols.argument_values(group), callees).ties):
        diagnostics.remark(group, "needs equal sizes that no check can ask for, and is undone")
        regions.inline(group)
        return
    twin = group.clone(ir.InsertionPoint(group)).operation
    splice(body, infer_function(group, symbols.argument_values(group), callees))

    known = symbols.argument_values(group)
    facts = [_fact(known[i]) for i in wanted]
    sources = [_source(group.operands[i]) for i in wanted]
    refined, ok = check(sources, facts, [body.arguments[i].type for i in wanted], loc=group.location, ip=ir.InsertionPoint(group))
    types = [regions.plain_type(r.type) for r in group.results]
    branch = ir.Operation.create("torch.prim.If", results=types, operands=[ok], regions=2, loc=group.location, ip=ir.InsertionPoint(group))
    then, otherwise = (region.blocks.append() for region in branch.operation.regions)
    for result, new in zip(group.results, branch.results, strict=True):
        result.replace_all_uses_with(new)

    originals = list(group.operands)
    then.append(group)
    for i, value in zip(wanted, refined, strict=True):
        group.operands[i] = value
    _yield(then, list(group.results), types)

    otherwise.append(twin)
    for i, source in zip(wanted, sources, strict=True):
        originals[i] = source
    slow = _unspecialised(twin, originals, callees)
    _yield(otherwise, list(slow.results), types)


def _is_checked(value: ir.Value) -> bool:
    """Whether a check refined the value: it may stand where the answer was yes only."""
    return not isinstance(value.owner, ir.Block) and value.owner.operation.name == "tierup.check"


def _source(value: ir.Value) -> ir.Value:
    """What a chain of casts says more or less of."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name in _CASTS:
        value = value.owner.operation.operands[0]
    return value


def _fact(value: object) -> Profiled:
    assert isinstance(value, Tensor), "a group's tensors are typed"
    sizes = None if value.shape is None else tuple(d if isinstance(d, int) else _symbol(d) for d in value.shape)
    return Profiled(dtype=value.dtype, sizes=sizes)


def _symbol(dim: Dim) -> str | None:
    """The symbol that a size is; None for a size that nobody named."""
    text = str(dim)
    return text if dim == symbol(text) else None


def _yield(block: ir.Block, values: list[ir.Value], types: list[ir.Type]) -> None:
    ip = ir.InsertionPoint(block)
    operands = [cast(v, t, ip) for v, t in zip(values, types, strict=True)]
    ir.Operation.create("torch.prim.If.yield", operands=operands, loc=block.owner.operation.location, ip=ip)


def _unspecialised(group: ir.Operation, operands: list[ir.Value], callees: Mapping[str, ir.Operation]) -> ir.Operation:
    """The fallback that does what `group`, a clone, does; the clone goes."""
    ip = ir.InsertionPoint(group)
    plain = [cast(v, regions.plain_type(v.type), ip) for v in operands]
    made = fallback(plain, [regions.plain_type(r.type) for r in group.results], loc=group.location, ip=ip)
    old, new = group.regions[0].blocks[0], made.regions[0].blocks[0]
    for argument, replacement in zip(old.arguments, new.arguments, strict=True):
        argument.replace_all_uses_with(replacement)
    for view in list(old.operations):
        new.append(view.operation)
    regions.forget_types(new, callees)
    group.erase()
    return made
