"""tierup-verify-guarded: the contract of a speculative graph: no type says more than inference can prove from the guards.

* Types of arguments are what callers guarantee (a version's entry guards); everything else is inferred again, from them,
  from constants and from the facts of guards and checks. A type in the IR that knows more than that is an assumption that nobody checks.
* A refined result of `tierup.check` is used only where its answer was found true: under a `torch.prim.If` on it.
* Under a `torch.prim.If` on a `tierup.check_shapes` its operands fit its facts, so casts there may say so.
* A torch.prim.Uninitialized is no value: it may be of any type, and has no say in what is joined with it.
* A cast (`torch.tensor_static_info_cast`, `torch.prim.unchecked_cast`) proves nothing: its result must follow as well.

    %0 = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor<[4],f32>
    error: 'torch.aten.tanh' op breaks the contract 'guarded': no guard or check that dominates this gives its result the
    type !torch.vtensor<[4],f32>; what follows is !torch.vtensor
"""

from __future__ import annotations

from collections.abc import Iterator

from tierup.dialect.facts.inference.infer import Inference, infer_function
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import UNSET, blocks
from tierup.dialect.ir.torch_types import follows
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.contracts import Contract
from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import functions
from tierup.dialect.passes.registry import Pass, register

_CASTS = ("torch.tensor_static_info_cast", "torch.prim.unchecked_cast")
_CONJUNCTION = "torch.aten.__and__.bool"


@register
class VerifyGuarded(Pass):
    def run(self, module: ir.Module) -> None:
        contract = Contract("guarded")
        for function in functions(module.operation):
            for op in walk(function):
                if op.name == "tierup.check":
                    _check_dominance(op, contract)
            # an op that raises on all such operands breaks nothing: no value behind it is ever there
            inference = infer_function(function, tolerant=True)
            for tie in inference.ties:
                contract.broken(function, f"the sizes {tie.left} and {tie.right} must be equal, and no guard ensures it")
            unreached = {op for end in inference.ends for op in (end, *_behind(end))}
            for op in walk(function):
                if op not in unreached and op.name != UNSET:
                    _check_types(op, inference, contract)
        contract.raise_if_broken()


def _check_dominance(check: ir.Operation, contract: Contract) -> None:
    """Uses of what a check refined stand under an If on its answer."""
    results = list(check.results)
    answer = results[-1]
    for refined in results[:-1]:  # those of unchanged type too: inference uses the facts, not the types
        for use in refined.uses:
            user = use.owner.operation
            if not _under(user, answer):
                what = "uses a checked value where the check may have failed"
                contract.broken(user, what, (check, "the check is here; only the then-branch of an If on its answer may rely on it"))


def _under(op: ir.Operation, answer: ir.Value) -> bool:
    """Whether `op` stands in the then-region of an If that `answer` decides."""
    inner = op
    while inner.parent is not None:
        outer = inner.parent.operation
        if outer.name == "torch.prim.If" and _implies(outer.operands[0], answer) and inner.block.region == outer.regions[0]:
            return True
        inner = outer
    return False


def _implies(condition: ir.Value, answer: ir.Value) -> bool:
    """Whether a true condition means a true answer."""
    if condition == answer:
        return True
    owner = condition.owner
    if isinstance(owner, ir.Block) or owner.name != _CONJUNCTION:
        return False
    return any(_implies(operand, answer) for operand in owner.operands)


def _behind(op: ir.Operation) -> Iterator[ir.Operation]:
    """The ops that do not run when `op` raises: those behind it in its block, and in these."""
    found = [view.operation for view in op.block.operations]
    for each in found[found.index(op) + 1 :]:
        yield each
        yield from walk(each)


def _check_types(op: ir.Operation, inference: Inference, contract: Contract) -> None:
    values = list(op.results)
    for block in blocks(op):
        values.extend(block.arguments)
    for value in values:
        if not torch_types.is_tensor(value.type) or value not in inference.values:
            continue
        proven = inference.cast_from[value] if op.name in _CASTS else inference[value]
        if isinstance(proven, Tensor) and not follows(value.type, proven):
            what = torch_types.tensor_type(proven, value_semantics=torch_types.is_value_tensor(value.type))
            whose = "its result" if isinstance(value, ir.OpResult) else "an argument of its body"
            contract.broken(op, f"no guard or check that dominates this gives {whose} the type {value.type}; what follows is {what}")
