"""Reverse-mode differentiation of whole functions: the function with the gradients of chosen arguments behind its results.

`gradient_of_function` is what `tierup-add-gradients` and the API are built on.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.analysis.requires_grad import RequiresGrad
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import constant
from tierup.dialect.ir.structure import LIST_WRITERS, forget_results, hand_over, handed_over, last_of, set_signature, values_inside
from tierup.dialect.ir.walking import Notes, function_names, walk
from tierup.dialect.mlir import ir
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.ops.gradients.lists import is_list
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.autodiff.detached_writes import part_detached_writes
from tierup.dialect.passes.autodiff.reverse.branches import branch
from tierup.dialect.passes.autodiff.reverse.loops import loop
from tierup.dialect.passes.autodiff.reverse.reverse import Regions, Reverse, sweep
from tierup.dialect.passes.autodiff.written_lists import read_copies
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.passes.pipelines.pipeline import parse
from tierup.dialect.rewriting.float_constants import refuse_floats

REGIONS: Regions = {"torch.prim.If": branch, "torch.prim.Loop": loop}

_ONE_FUNCTION = "builtin.module(tierup-inline,tierup-remove-list-mutation)"
_VALUE_FORM = "builtin.module(tierup-functionalize,tierup-remove-list-mutation,func.func(tierup-expose-statistics))"
_WRITEBACKS = "tierup.writebacks"


def gradient_of_function(
    module: ir.Module,
    entry: str,
    wrt: Sequence[int],
    *,
    results: Sequence[int] = (0,),
    cotangents: bool = False,
    keep_results: bool = True,
) -> None:
    """Let a function give, behind its results, the gradients of the arguments `wrt`, in order, each of its argument's sizes and dtype.

    What is differentiated is the sum of the results named: with `cotangents`, each times an argument of its sizes and dtype, which
    follow the function's own in the order of `results`; without, there is one result, of rank 0, and a run in which it is not raises
    ValueError. An argument on which nothing depends has a gradient of zeros. `keep_results`: else only gradients are returned. Arguments
    and results may be lists of tensors; their gradients and cotangents are lists.

    The module is brought into value form first (calls inlined, writes made values). Raises PassFailure, at the op, for an op without a
    gradient on the way, a function that writes its arguments, an argument or result of integers; ValueError for indices that there are not.
    """
    func = value_form(module, entry, wrt, results)
    if not cotangents and len(results) != 1:
        raise ValueError("gradients of several results need cotangents")
    _Function(module, func, results, wrt).run(cotangents, keep_results)


def value_form(module: ir.Module, entry: str, wrt: Sequence[int], results: Sequence[int], *, writes: bool = False) -> ir.Operation:
    """Inline calls and make writes values; the function, which may now be differentiated. Raises as `gradient_of_function` does.

    `writes`: a function may write its arguments; their new contents follow its results (`take_written` says whose).
    """
    func = function_names(module).get(entry)
    if func is None:
        raise ValueError(f"the module has no function @{entry}")
    writer = _first_writer(func)
    parse(_ONE_FUNCTION).run(module)
    part_detached_writes(function_names(module)[entry], wrt)
    parse(_VALUE_FORM).run(module)
    func = function_names(module)[entry]
    read_copies(func)
    _check(func, entry, wrt, results, writer, writes)
    refuse_floats(func, lambda: activity(func, wrt)[0])
    return func


def _first_writer(func: ir.Operation) -> tuple[ir.Location, str] | None:
    """Where the function first writes a tensor, before that becomes a value."""
    for op in walk(func):
        row = row_of(op)
        if op.name == "torch.overwrite.tensor.contents" or (row is not None and row.writes):
            return op.location, op.name
    return None


def take_written(func: ir.Operation) -> tuple[int, ...]:
    """Which arguments the last results of a function in value form are the new contents of. Afterwards they are results like others."""
    if _WRITEBACKS not in func.attributes:
        return ()
    found = tuple(ir.DenseI64ArrayAttr(func.attributes[_WRITEBACKS]))
    del func.attributes[_WRITEBACKS]
    return found


def _check(
    func: ir.Operation,
    entry: str,
    wrt: Sequence[int],
    results: Sequence[int],
    writer: tuple[ir.Location, str] | None,
    writes: bool = False,
) -> None:
    block = func.regions[0].blocks[0]
    returned = handed_over(block)
    for what, indices, values in (("argument", wrt, list(block.arguments)), ("result", results, returned)):
        for i in indices:
            if not 0 <= i < len(values):
                raise ValueError(f"@{entry} has no {what} {i}: it has {len(values)}")
            type_ = values[i].type
            if is_list(values[i]):
                continue
            if not torch_types.is_tensor(type_):
                raise PassFailure(func, f"has no gradient of {what} {i}, a {type_}: only tensors and lists of them have one")
            dtype = torch_types.parse_tensor(str(type_))[1]
            if dtype is not None and not dtype.is_float:
                raise PassFailure(func, f"has no gradient of {what} {i}, a tensor of {dtype}: only tensors of floating dtype have one")
    if _WRITEBACKS in func.attributes and not writes:
        first = list(ir.DenseI64ArrayAttr(func.attributes[_WRITEBACKS]))[0]
        at, name = (func.location, "the function") if writer is None else writer
        there = constant(None, ir.InsertionPoint.at_block_begin(block), at).owner.operation  # the writer is no more: an op at its place
        raise PassFailure(there, f"'{name}' writes to argument {first}, so there is no gradient: let the function write to a copy of it")
    for op in walk(func):
        if op.name in LIST_WRITERS and "tensor" in str(op.operands[0].type):
            raise PassFailure(op, "writes a list of tensors, which has no gradient: make a new list instead (a + [x])")


def activity(func: ir.Operation, wrt: Sequence[int]) -> tuple[dict[ir.Value, bool], Inference]:
    """Of each value of a function whether it may require a gradient when the arguments `wrt` do; and the types it went by."""
    count = len(func.regions[0].blocks[0].arguments)
    states = RequiresGrad(func, arguments=[i in set(wrt) for i in range(count)])
    return Notes((v, states.may(v)) for v in values_inside(func)), states.inference


class _Function:
    """One function that gets its gradients."""

    def __init__(self, module: ir.Module, func: ir.Operation, results: Sequence[int], wrt: Sequence[int]) -> None:
        self.func, self.results, self.wrt = func, results, wrt
        self.block = func.regions[0].blocks[0]
        self.arguments = list(self.block.arguments)
        self.active, inference = activity(func, wrt)
        self.last = last_of(self.block)
        self.emitter = Emitter(ir.InsertionPoint(self.last), func.location, inference)

    def run(self, cotangents: bool, keep_results: bool) -> None:
        e, returned = self.emitter, list(self.last.operands)
        body = [view.operation for view in self.block.operations][:-1]
        reverse = Reverse(e, self.active, REGIONS)
        e.location = self.last.location
        start = constant(None, e.ip).owner.operation
        targets = [returned[k] for k in self.results]
        seeds = [self._argument(v) for v in targets] if cotangents else [self._one(targets[0])]
        for value, seed in zip(targets, seeds, strict=True):
            reverse.give(value, seed)
        reverse.run(body)
        e.location = self.last.location
        returned = list(self.last.operands)  # a loop that was made again has new results
        found = [reverse.take(self.arguments[i]) for i in self.wrt]
        gradients = [reverse.whole(self.arguments[i], g) for g, i in zip(found, self.wrt, strict=True)]
        handed = [*(returned if keep_results else []), *gradients]
        hand_over(self.block, handed)
        sweep(self.block, start)  # the program's own ops stay: they may raise
        start.erase()
        set_signature(self.func, kept=len(returned) if keep_results else 0)
        forget_results(self.func)

    def _argument(self, like: ir.Value) -> ir.Value:
        """A new argument, the gradient of a result."""
        made = self.block.add_argument(like.type, self.func.location)
        self.emitter.inference.values[made] = self.emitter.known(like)
        return made

    def _one(self, result: ir.Value) -> ir.Value:
        """The gradient of a result of rank 0 with respect to itself."""
        e = self.emitter
        if is_list(result):
            raise PassFailure(self.last, "gives a list of tensors, which has no gradient without cotangents")
        rank = e.tensor(result).rank
        if rank is None:
            is_scalar = e.call("aten.eq.int", e.call("aten.dim", result, type_="!torch.int"), 0, type_="!torch.bool")
            branch = e.create("torch.prim.If", [], [is_scalar], regions=2)
            fine, wrong = (region.blocks.append() for region in branch.regions)
            with e.inside(wrong):
                message = f"only a result of rank 0 has a gradient without a cotangent, and result {self.results[0]} has dims: sum it first"
                e.create("torch.prim.RaiseException", [], [e.value(message), e.value("ValueError")])
            for block in (fine, wrong):
                with e.inside(block):
                    e.create("torch.prim.If.yield", [], [])
        elif rank:
            raise PassFailure(self.last, f"gives a result of rank {rank}: only a result of rank 0 has a gradient without a cotangent")
        return e.call("aten.ones", [], e.dtype(result), None, None, None)
