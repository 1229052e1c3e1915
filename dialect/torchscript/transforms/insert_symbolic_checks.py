"""tierup-insert-symbolic-checks: let a fusion group run on tensors of other sizes than it was typed for, where its program allows it.

    %0 = "tierup.fusion_group"(%x, %y) ({
    ^bb0(%a: !torch.vtensor<[4,1],f32>, %b: !torch.vtensor<[4,8],f32>):
      %1 = torch.aten.mul.Tensor %a, %b : ... -> !torch.vtensor<[4,8],f32>
      "tierup.yield"(%1) : (!torch.vtensor<[4,8],f32>) -> ()
    }, {}) : ... -> !torch.vtensor<[4,8],f32>

becomes

    %ok = "tierup.check_shapes"(%x, %y) {expected = [#tierup.profiled<f32[s0,1]>, #tierup.profiled<f32[s0,s1]>],
                                         layouts = ["strided", "strided"]} : (...) -> !torch.bool
    %0 = torch.prim.If %ok -> (!torch.vtensor) {
      %v = torch.tensor_static_info_cast %x : ... to !torch.vtensor<[?,1],f32>
      %w = torch.tensor_static_info_cast %y : ... to !torch.vtensor<[?,?],f32>
      %1 = "tierup.fusion_group"(%v, %w) ...          its symbols bound, its types inferred anew
      ...
    } else {
      %1 = "tierup.fallback"(%x, %y) ...              as tierup-insert-checks does it
      ...
    }

Every size but 0 and 1 becomes a symbol of its own, which is at least 2: a size of 1 broadcasts, so it stays what it is, and a tensor that
has grown from it takes the fallback. Two symbols become one only where the group needs them equal, and a symbol a number where it needs
that number; sizes that merely were equal stay two. The stride class asked for is what a guard that checked strides found, `contiguous` or
`strided`, which is any; where there was none it is any, or with `contiguous` contiguous.

A group that cannot be typed for symbols, or needs of them what no facts can say, is left as it is for `tierup-insert-checks`, with a
remark; so is one that has nothing to generalise, and one whose tensors are checked already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count

from tierup.dialect.facts.dims import symbol
from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.inference.infer import InferenceError, infer_function
from tierup.dialect.facts.inference.refine import specialise_region
from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.facts.values import Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import facts_of, profiled_attr
from tierup.dialect.ir.structure import maker
from tierup.dialect.ir.walking import torch_name, walk
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting import regions
from tierup.dialect.speculation.two_versions import branch, fact_of, is_checked, source, tie_arguments


@register
class InsertSymbolicChecks(Pass):
    contiguous: bool = False  # tensors of unknown strides must be contiguous

    def run_on_function(self, func: ir.Operation) -> None:
        groups = [op for op in walk(func) if op.name == "tierup.fusion_group"]
        names = _free_names(func)
        tie_arguments(func)
        for group in groups:
            self._guard(group, names)
        regions.forget_unproven(func)

    def _guard(self, group: ir.Operation, names: Iterator[str]) -> None:
        wanted = [i for i, v in enumerate(group.operands) if torch_types.is_tensor(v.type)]
        if any(is_checked(group, i) for i in wanted):
            return
        static = symbols.argument_values(group)
        general = [_generalized(value, names) for value in static]
        if general == static:
            return
        twin = group.clone(ir.InsertionPoint(group)).operation
        made = group.clone(ir.InsertionPoint(group)).operation
        why = _type(made, general)
        if why:
            diagnostics.remark(group, f"keeps its sizes: {why}")
            made.erase()
            twin.erase()
            return
        for old, new in zip(group.results, made.results, strict=True):
            old.replace_all_uses_with(new)
        group.erase()
        self._check(made, twin, wanted)

    def _check(self, group: ir.Operation, twin: ir.Operation, wanted: list[int]) -> None:
        known = symbols.argument_values(group)
        sources = [source(group.operands[i]) for i in wanted]
        attributes = {
            "expected": ir.ArrayAttr.get([profiled_attr(fact_of(known[i])) for i in wanted]),
            "layouts": ir.ArrayAttr.get([ir.StringAttr.get(self._layout(v)) for v in sources]),
        }
        types = [group.regions[0].blocks[0].arguments[i].type for i in wanted]
        truth = ir.Type.parse("!torch.bool")
        ok = ops.create("check_shapes", sources, [truth], attributes, loc=group.location, ip=ir.InsertionPoint(group)).results[0]

        def refined(ip: ir.InsertionPoint) -> list[ir.Value]:
            return [cast(value, type_, ip) for value, type_ in zip(sources, types, strict=True)]

        branch(group, twin, ok, wanted, refined)

    def _layout(self, value: ir.Value) -> str:
        op = maker(value)
        fact = facts_of(op.attributes["expected"]) if op is not None and op.name in ("tierup.bailout", "tierup.guard") else None
        if isinstance(fact, Profiled) and fact.strides is not None and fact.sizes is not None:
            return "contiguous" if _are_contiguous(fact.sizes, fact.strides) else "strided"
        return "contiguous" if self.contiguous else "strided"


def _free_names(func: ir.Operation) -> Iterator[str]:
    """Names of symbols that nothing in the function has."""
    taken = {ir.StringAttr(op.attributes["symbol_name"]).value for op in walk(func) if op.name == "torch.symbolic_int"}
    for op in walk(func):
        if "expected" in op.attributes:
            expected = op.attributes["expected"]
            for fact in map(facts_of, expected if isinstance(expected, ir.ArrayAttr) else [expected]):
                if isinstance(fact, Profiled):
                    taken.update(map(str, fact.sizes or ()))
    return (name for i in count() if (name := f"s{i}") not in taken)


def _generalized(value: Value, names: Iterator[str]) -> Value:
    """A tensor with symbols for its sizes."""
    if not isinstance(value, Tensor) or value.shape is None:
        return value
    return Tensor(value.dtype, tuple(d if not isinstance(d, int) or d in (0, 1) else symbol(next(names)) for d in value.shape))


def _type(group: ir.Operation, arguments: list[Value]) -> str:
    """Type a group's body for these values; why that cannot be done, "" when it is done."""
    body = group.regions[0].blocks[0]
    for result in group.results:  # first: what the body yields must fit them
        result.set_type(regions.plain_type(result.type))
    regions.forget_types(body)
    try:
        specialise_region(group, arguments)
        if not symbols.unify(body, lambda: infer_function(group).ties):
            return "it needs equal sizes that no check can ask for"
        inference = infer_function(group)
    except InferenceError as e:
        return f"{torch_name(e.op)} cannot run on others: {e}"
    if any(v.dtype is None or v.shape is None for v in inference.values.values() if isinstance(v, Tensor)):
        return "others would not type all that is in it"
    return ""


def _are_contiguous(sizes: Sequence[int | str | None], strides: Sequence[int | None]) -> bool:
    """Whether tensors with these strides lie in row-major order; the stride of a size of 1 says nothing."""
    expected: int | None = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if size != 1 and (stride is None or stride != expected):
            return False
        expected = expected * size if isinstance(size, int) and expected is not None else None
    return True
