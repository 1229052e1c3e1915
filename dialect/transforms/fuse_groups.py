"""tierup-fuse-groups: move ops that have native code into fusion groups, each to be compiled as one kernel.

Works on a typed graph of value tensors. A function that is native as a whole, loops and branches included, becomes one group.
Otherwise ops join a group in program order, as far as dependences allow; ops that may raise, or do more than compute, keep
their order among each other. A loop or branch that is not native as a whole is searched for groups inside. Groups of fewer than
`min-group-size` ops are left; constants, lists, views and scalars do not count. Constants and lists are copied into the group.

    func.func @f(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
      %0 = torch.aten.tanh %x : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      %1 = torch.aten.exp %0 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
      return %1 : !torch.vtensor<[4],f32>
    }

becomes

    func.func @f(%x: !torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32> {
      %0 = "tierup.fusion_group"(%x) ({
      ^bb0(%a: !torch.vtensor<[4],f32>):
        %1 = torch.aten.tanh %a : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
        %2 = torch.aten.exp %1 : !torch.vtensor<[4],f32> -> !torch.vtensor<[4],f32>
        "tierup.yield"(%2) : (!torch.vtensor<[4],f32>) -> ()
      }, {}) : (!torch.vtensor<[4],f32>) -> !torch.vtensor<[4],f32>
      return %0 : !torch.vtensor<[4],f32>
    }

Sizes that only the run knows are symbols, declared and bound in the group; with `symbolic=false` ops on such tensors are left, so
that all groups are static. A tensor of which the rest of the program asks for single sizes alone (size.int, numel, dim) stays in the
group, which gives these numbers instead. Groups of a block that stand there already, from an unrolled loop say, become one where no
op must stay between them.

Views that lead to a result in the memory of an argument or of another result are made outside, once more where the program also
computes with one. One that reaches another result by another way, as through a branch, stays the only one, for both to be one object.

With `policy=legacy` groups hold what TorchScript's older graph fuser took: pointwise ops with constant numbers, chunks where a group
begins, concatenations where it ends. For comparison: it lacked reductions, softmax, products, views, gathers, control flow, and numbers
that the run computes (fusion/policies.py). With `policy=tensor-expressions` they hold what its successor took: concatenations
and chunks anywhere, slices and unsqueezes too. An op under NumPy's promotion rules joins when
`tierup-explicit-promotion` can say it in torch ops, which it does later, in the group alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import partial
from itertools import count
from typing import Annotated

from tierup.dialect import optable
from tierup.dialect.base.spelling import closest
from tierup.dialect.facts.dims import Dim, Expr, symbol
from tierup.dialect.facts.dims import symbols as dim_symbols
from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.inference.infer import Inference, InferenceError, infer_function
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir.structure import last_of
from tierup.dialect.ir.walking import ops_of, torch_name, walk
from tierup.dialect.language.ops import DEFINITIONS, fusion_group
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.fusion.building import build, drop_unused
from tierup.dialect.passes.fusion.grouping import plan
from tierup.dialect.passes.fusion.merging import has_neighbours, merge
from tierup.dialect.passes.fusion.nativeness import REFUSED
from tierup.dialect.passes.fusion.policies import POLICIES, NativePolicy
from tierup.dialect.passes.fusion.shared_results import shown_apart
from tierup.dialect.passes.registry import AtLeast, OneOf, Pass, PassFailure, functions, register
from tierup.dialect.rewriting import regions

_PLACE = re.compile(r":\d+:\d+$")  # file:line:column
EXCLUDED = "tierup.excluded"  # what a module says beside the option `excluded`; the pass takes it away


@register
class FuseGroups(Pass):
    min_group_size: Annotated[int, AtLeast(1)] = 2
    excluded: tuple[str, ...] = ()  # ops to be taken for not native: by name, aten.sort, or place, file.py:3:4
    policy: Annotated[str, OneOf(POLICIES)] = "native"
    symbolic: bool = True

    def run(self, module: ir.Module) -> None:
        stated = module.operation.attributes
        excluded = {*self.excluded, *(ir.StringAttr(name).value for name in (stated[EXCLUDED] if EXCLUDED in stated else ()))}
        if EXCLUDED in stated:
            del stated[EXCLUDED]
        _check_excluded(module, excluded)
        for func in functions(module.operation):
            _refuse(op for op in walk(func) if excluded and _is_excluded(op, excluded))
            _refuse(shown_apart(func))
            while self._group(func):
                pass
            if has_neighbours(func):
                inference = _infer(func)
                merge(func, inference, self._policy(inference), partial(_build, inference=inference))
            for op in walk(func):
                if REFUSED in op.attributes:
                    del op.attributes[REFUSED]

    def _policy(self, inference: Inference) -> NativePolicy:
        return POLICIES[self.policy](inference, symbolic=self.symbolic)

    def _group(self, func: ir.Operation) -> bool:
        """Group a function's ops. Whether groups had to be undone: their ops are then refused, for another try."""
        inference = _infer(func)
        _leave_what_raises(func, inference)
        return self._block(func.regions[0].blocks[0], inference, self._policy(inference))

    def _block(self, block: ir.Block, inference: Inference, native: NativePolicy) -> bool:
        undone = False
        found = plan(block, inference, native, self.min_group_size)
        if found is not None:
            terminator = last_of(block)
            for item in found.order:  # the new order first: groups are then built in place
                for op in item if isinstance(item, list) else [item]:
                    op.move_before(terminator)
        for members in found.groups if found is not None else []:
            if _build(block, members, inference) is None:
                _refuse(members)
                undone = True
        for op in ops_of(block):
            if op.name in ("torch.prim.If", "torch.prim.Loop"):
                for region in op.regions:
                    undone |= self._block(region.blocks[0], inference, native)
        return undone



def exclude(module: ir.Module, names: Iterable[str]) -> None:
    """Say in a module which ops, by name or place, no group may hold."""
    with module.context:
        module.operation.attributes[EXCLUDED] = ir.ArrayAttr.get([ir.StringAttr.get(name) for name in sorted(names)])


def _check_excluded(module: ir.Module, excluded: Iterable[str]) -> None:
    """A name that no op has excludes nothing: a slip. A place that no op stands at does no harm: its op may be gone."""
    known = module.context.is_registered_operation
    for name in excluded:
        if not (_PLACE.search(name) or optable.lookup(name) is not None or known(f"torch.{name}") or known(name) or name in DEFINITIONS):
            near = closest(name, [op.removeprefix("torch.") for op in optable.table()])
            raise PassFailure(module.operation, f"option excluded: '{name}' is no op, as aten.sort, and no place, as file.py:3:4{near}")


def _is_excluded(op: ir.Operation, excluded: Collection[str]) -> bool:
    return torch_name(op) in excluded or str(diagnostics.place_of(op.location)) in excluded

def _refuse(ops: Iterable[ir.Operation]) -> None:
    for op in ops:
        op.attributes[REFUSED] = ir.UnitAttr.get(op.context)


def _infer(func: ir.Operation) -> Inference:
    return infer_function(func, tolerant=True)


def _leave_what_raises(func: ir.Operation, inference: Inference) -> None:
    """Ops that raise on all operands of their types stay outside: the exception is the program's result, and for tier 0 to give."""
    inside = list(walk(func)) if inference.refused else []
    for error in inference.refused:
        if error.op in inside and REFUSED not in error.op.attributes:  # others are a callee's
            diagnostics.remark(error.op, f"raises on such operands: {error}")
            _refuse([error.op])


def _build(block: ir.Block, members: list[ir.Operation], inference: Inference) -> ir.Operation | None:
    """The group of ops that stand side by side; None, and they stay where they are, when its inputs do not type all in it."""
    group, inputs = build(block, members, inference, fusion_group)
    _bind_sizes(group.regions[0].blocks[0], inputs, inference)
    drop_unused(block)
    if _is_typed_alone(group):
        return group
    diagnostics.remark(group, "is not typed by its inputs alone, and is undone")
    regions.inline(group)
    return None


def _bind_sizes(body: ir.Block, inputs: list[ir.Value], inference: Inference) -> None:
    """Symbols for the sizes of inputs that only the run knows. Equal sizes have one symbol; one that is no plain symbol gets a new name."""
    names: dict[Dim, str] = {}
    taken = {s.name for v in inputs if isinstance(known := inference[v], Tensor) for d in known.shape or () for s in dim_symbols(d)}
    shapes: dict[ir.Value, list[int | str]] = {}
    for value, argument in zip(inputs, body.arguments, strict=True):
        known = inference[value]
        if isinstance(known, Tensor) and known.shape is not None:
            shapes[argument] = [d if isinstance(d, int) else names.setdefault(d, _name(d, names, taken)) for d in known.shape]
    symbols.bind(body, shapes)


def _name(dim: Expr, names: dict[Dim, str], taken: set[str]) -> str:
    text = str(dim)
    if dim == symbol(text):
        return text
    return next(n for i in count() if (n := f"g{i}") not in taken and n not in names.values())


def _is_typed_alone(group: ir.Operation) -> bool:
    """Whether a group's inputs type all that is in it. Not so when a size follows from a number that is computed outside."""
    try:
        inference = infer_function(group)
    except InferenceError:
        return False
    return all(v.dtype is not None and v.shape is not None for v in inference.values.values() if isinstance(v, Tensor))
