"""tierup-verify-specialized: the contract of a region that lowering accepts: it knows all there is to know but the values.

Checked in the bodies of all `tierup.fusion_group`s, and whole in functions that have none.

* Every tensor is a `!torch.vtensor` whose type has dtype and rank. Each size is static, or `?` and then inference knows it: a
  symbol declared with `torch.symbolic_int` and bound to the argument with `torch.bind_symbolic_shape`, or what follows from
  such symbols, or a size that the run computes.
* Every op has native code; nothing speculates, nothing writes in place.
* Scalars are ints, floats and bools, not `!torch.number`.
"""

from __future__ import annotations

from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.inference.infer import Inference, InferenceError, infer_function
from tierup.dialect.facts.inference.unset import is_open
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import LIST_WRITERS, UNSET, blocks
from tierup.dialect.ir.torch_types import follows
from tierup.dialect.ir.walking import torch_name, walk
from tierup.dialect.language.contracts import STRUCTURE, VALUES, Contract
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.core import functions
from tierup.dialect.passes.registry import Pass, register

_NOT_NATIVE = LIST_WRITERS | {"torch.copy.to_tensor", "torch.overwrite.tensor.contents", "torch.tensor.literal"}


@register
class VerifySpecialized(Pass):
    def run(self, module: ir.Module) -> None:
        contract = Contract("specialized")
        for function in functions(module.operation):
            groups = [op for op in walk(function) if op.name == "tierup.fusion_group"]
            for region in groups or [function]:
                check_region(region, contract)
        contract.raise_if_broken()


def check_region(owner: ir.Operation, contract: Contract) -> None:
    """Check the first region of a function or a fusion group."""
    before = len(contract.found)
    block = owner.regions[0].blocks[0]
    bound = symbols.bound_shapes(block)
    for i, argument in enumerate(block.arguments):
        _check_type(owner, argument.type, f"argument {i}", contract)
        sizes = torch_types.parse_tensor(str(argument.type))[0] if torch_types.is_tensor(argument.type) else None
        if sizes is not None and None in sizes and argument not in bound:
            contract.broken(owner, f"argument {i} of type {argument.type} has a size that no torch.bind_symbolic_shape names")
    for op in walk(owner):
        _check_op(op, contract)
    if len(contract.found) > before:
        return  # inference would only repeat what was said
    try:
        inference = infer_function(owner)
    except InferenceError as e:
        contract.broken(e.op, f"cannot run on operands of these types: {e}")
        return
    for tie in inference.ties:
        contract.broken(owner, f"the sizes {tie.left} and {tie.right} must be equal, and no symbol says so")
    for op in walk(owner):
        _check_inferred(op, inference, contract)


def _check_op(op: ir.Operation, contract: Contract) -> None:
    row = row_of(op)
    if row is None and op.name not in STRUCTURE | VALUES:
        contract.broken(op, "speculation has no place here" if op.name.startswith("tierup.") else "no part of tierup knows this op")
        return
    if op.name in _NOT_NATIVE or (row is not None and (not row.native or row.writes)):
        why = "it writes its operand" if row is not None and row.writes else "there is no native code for it"
        contract.broken(op, f"{torch_name(op)} is left to tier 0: {why}")
    if op.name == UNSET and is_open(op):
        contract.broken(op, "the sizes of what it stands for are not known here")
    for i, result in enumerate(op.results):
        _check_type(op, result.type, f"result {i}" if len(op.results) > 1 else "the result", contract)
    for block in blocks(op):
        for i, argument in enumerate(block.arguments):
            _check_type(op, argument.type, f"argument {i} of its body", contract)


def _check_type(op: ir.Operation, type_: ir.Type, what: str, contract: Contract) -> None:
    text = str(type_)
    if text == "!torch.number":
        contract.broken(op, f"{what} is a !torch.number, int or float is not known")
    if not torch_types.is_tensor(type_):
        return
    if not torch_types.is_value_tensor(type_):
        contract.broken(op, f"{what} is a tensor that may be written: {text}")
        return
    sizes, dtype = torch_types.parse_tensor(text)
    missing = " and ".join(name for name, known in (("dtype", dtype), ("rank", sizes)) if known is None)
    if missing:
        contract.broken(op, f"{what} has no known {missing}: {text}")


def _check_inferred(op: ir.Operation, inference: Inference, contract: Contract) -> None:
    for result in op.results:
        known = inference.values.get(result)
        if not isinstance(known, Tensor):
            continue
        if known.shape is None:
            contract.broken(op, f"the sizes of its result follow from no symbol: {result.type}")
        elif not follows(result.type, known):
            contract.broken(op, f"its result is {torch_types.tensor_type(known)}, but the type says {result.type}")
