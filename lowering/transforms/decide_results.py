"""tierup-decide-results: who allocates each result of an entry, the caller or the kernel, or that no data is needed: it is an argument.

    func.func @f(%x: !torch.vtensor<[?,4],f32> {tierup.guard = {dtype = "f32", kind = "array", sizes = ["s0", 4]}}) -> (...)
        attributes {tierup.entry, tierup.result_aliases = ["fresh", "view:0"]} {
      %0 = torch.aten.neg %x : ...
      %1 = torch.aten.t %x : ...
      return %0, %1 : ...

becomes the same with

    tierup.results = [{dtype = "f32", kind = "buffer", sizes = ["s0", 4]},
                      {argument = 0, dtype = "f32", kind = "view", sizes = [4, "s0"], strides = [1, 4]}], tierup.ties = []

Where only the path says what a result is, a check leaves to tier 0 the paths on which it is an argument, or another result's memory.
Results of a function with `tierup.values` have memory of their own each, also those that are views of one another.
`tierup.ties` are sizes that must be equal for the code to be right, `tierup.limits` among them: the kernel checks them first of all.
"""

from __future__ import annotations

from dataclasses import replace

from tierup.dialect.facts import dims
from tierup.dialect.facts.dims import Dim
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import NoneValue, Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.mlir import ir
from tierup.dialect.passes.functional.views import PERHAPS_READ_ONLY, READ_ONLY
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.speculation.exits import where_control_stayed
from tierup.dialect.transforms.dispatch_regions import VALUES
from tierup.lowering.analysis.own_memory import ensure_apart, ensure_own, is_made
from tierup.lowering.analysis.read_only import ReadOnly
from tierup.lowering.analysis.signature import (
    ALIASES,
    WRITEBACKS,
    argument_views,
    inference_of,
    is_described,
    symbols_of,
    terminator,
    to_arguments,
)
from tierup.lowering.analysis.stated import ENTRY, LIMITS, RESULTS, TIES, attribute, dim, guards
from tierup.lowering.analysis.views import Unknown, View, view_of
from tierup.lowering.base.abi import ArgumentSpec, Layout, ResultKind, ResultSpec
from tierup.lowering.building import builders as b
from tierup.lowering.building import torch_ops as t
from tierup.lowering.building.refused import Refused
from tierup.lowering.transforms.match_sizes import MATCHED

_LOCKED = (ResultKind.BUFFER, ResultKind.ALLOCATED, ResultKind.VIEW)
_OWN = (ResultKind.BUFFER, ResultKind.ALLOCATED)


@register
class DecideResults(Pass):
    keeps_analyses = True

    def run_on_function(self, function: ir.Operation) -> None:
        if ENTRY not in function.attributes or RESULTS in function.attributes:
            return
        arguments, inference = guards(function), inference_of(function)
        function.attributes[TIES] = attribute(_ties(function, arguments, inference))
        function.attributes[RESULTS] = attribute(_results(function, arguments, inference))


def _ties(function: ir.Operation, arguments: tuple[ArgumentSpec, ...], inference: Inference) -> tuple[tuple[Dim, Dim], ...]:
    known = symbols_of(arguments)
    limits = function.attributes[LIMITS] if LIMITS in function.attributes else []
    found = dict.fromkeys((dim(left), dim(right)) for left, right in map(ir.ArrayAttr, limits))
    ties = [tie for tie in inference.ties if tie.left != tie.right and (tie.site is None or MATCHED not in tie.site.attributes)]
    found |= dict.fromkeys((tie.left, tie.right) for tie in ties)
    for left, right in found:
        if any(s.name not in known for side in (left, right) for s in dims.symbols(side)):
            why = f"the program needs the sizes {left} and {right} equal, one of which only the run knows"
            raise Refused(function, why, blames=False)
    return tuple(found)


def _results(function: ir.Operation, arguments: tuple[ArgumentSpec, ...], inference: Inference) -> tuple[ResultSpec, ...]:
    block = function.regions[0].blocks[0]
    returned = list(terminator(function).operands)
    writebacks = list(ir.DenseI64ArrayAttr(function.attributes[WRITEBACKS])) if WRITEBACKS in function.attributes else []
    users = len(returned) - len(writebacks)
    stated = b.strings(function.attributes[ALIASES]) if ALIASES in function.attributes else [""] * users
    roots = _roots(block, arguments, returned[users:], writebacks)
    known = symbols_of(arguments)
    specs = [_result(value, to_arguments(stated[i]), roots, inference, known) for i, value in enumerate(returned[:users])]
    if VALUES not in function.attributes:
        for i, value in enumerate(returned[:users]):
            _keep_apart(value, stated[i], returned, specs, inference)
    read_only, locked = ReadOnly(function, inference, argument_views(block, arguments)), _numbers(function, READ_ONLY)
    unclear = _numbers(function, PERHAPS_READ_ONLY) if ALIASES in function.attributes else range(users)
    for i, value in enumerate(returned[:users]):
        if specs[i].kind not in _LOCKED or i not in (*locked, *unclear):
            continue
        if i in locked or read_only.surely(value):
            specs[i] = replace(specs[i], read_only=True)
        elif not read_only.ensure_writable(value):
            raise _at(value, "a result is read-only on some of the paths through the program")
    for value, argument in zip(returned[users:], writebacks, strict=True):
        specs.append(_writeback(value, argument, arguments[argument], inference, known))
    return tuple(specs)


def _numbers(function: ir.Operation, name: str) -> list[int]:
    return list(ir.DenseI64ArrayAttr(function.attributes[name])) if name in function.attributes else []


def _roots(block: ir.Block, arguments: tuple[ArgumentSpec, ...], written: list[ir.Value], writebacks: list[int]) -> dict[ir.Value, View]:
    """The values whose memory is an argument's once the call is over: arguments, and new contents of those written."""
    roots = argument_views(block, arguments)
    of = {view.argument: view for view in roots.values()}
    for value, argument in zip(written, writebacks, strict=True):
        roots[value] = roots[where_control_stayed(value)] = of[argument]
    return roots


def _keep_apart(value: ir.Value, stated: str, returned: list[ir.Value], specs: list[ResultSpec], inference: Inference) -> None:
    """See to it that a result shares no memory with those before it which the kernel computes, too: each gets memory of its own. Raises
    Refused where they share memory, or where no check could tell."""
    first = stated.partition(";")[0]
    kind, _, others = first.partition("result:")
    if not others or specs[returned.index(value)].kind not in _OWN:
        return
    for other, spec in ((returned[int(j)], specs[int(j)]) for j in others.split(",")):
        if spec.kind in _OWN and not (kind and (_differ(value, other) or (kind == "may_" and ensure_apart(value, other, inference)))):
            raise _of_two(value, other, "two results may share memory" if kind else "two results share memory")


def _of_two(value: ir.Value, other: ir.Value, reason: str) -> Refused:
    """Refused at a result that is a view or a choice, rather than at what computes it: a split leaves a choice to tier 0, and views
    that are results in any case."""
    one = next((one for one in (value, other) if not is_made(one)), value)
    chosen = not isinstance(one.owner, ir.Block) and len(one.owner.operation.regions)
    return _at(one, reason, named="" if chosen else "func.return")


def _differ(value: ir.Value, other: ir.Value) -> bool:
    """Whether two tensors have different dtypes, and so no memory in common."""
    mine, theirs = (torch_types.parse_tensor(str(v.type))[1] for v in (value, other))
    return mine is not None and theirs is not None and mine is not theirs


def _result(value: ir.Value, stated: str, roots: dict[ir.Value, View], inference: Inference, known: set[str]) -> ResultSpec:
    type_ = str(value.type)
    if type_ in t.NUMBERS:
        return ResultSpec(ResultKind.SCALAR, t.NUMBERS[type_].__name__)
    if type_ == "!torch.none" or isinstance(inference[value], NoneValue):
        return ResultSpec(ResultKind.NONE)
    if not torch_types.is_value_tensor(value.type):
        raise _at(value, f"a result of type {type_} has no native form")
    if stated.startswith("argument:"):
        return ResultSpec(ResultKind.ALIAS, argument=int(stated.partition(":")[2]))
    if stated == "fresh":
        return _fresh(value, inference, known)
    if value in roots and not stated.startswith(("view:", "may_view:")):
        return ResultSpec(ResultKind.ALIAS, argument=roots[value].argument)
    try:
        view = view_of(value, roots, inference)
        own = view is None and not stated.startswith("unclear_view:")  # tier 0 may give (a view of) the argument
        own = own and (not stated.startswith(("may_view:", "may_be:")) or ensure_own(value, roots, inference))
    except Unknown as e:
        raise _at(value, f"a result is a view of an argument, but {e}") from e
    if view is None:
        if stated.startswith("view:"):
            raise _at(value, f"a result is a {stated}, but no chain of views leads there")
        if not own:
            raise _at(value, "a result is an argument, or another one, on some of the paths through the program")
        return _fresh(value, inference, known)
    if stated.startswith("view:") and int(stated.partition(":")[2]) != view.argument:
        raise _at(value, f"a result is a {stated}, but its chain of views leads to argument {view.argument}")
    if stated.startswith("may_be:") and view in roots.values():
        return ResultSpec(ResultKind.ALIAS, argument=view.argument)
    if not is_described(view, known):
        raise _at(value, "a result is a view of an argument, but its layout is known at run time only")
    return ResultSpec(ResultKind.VIEW, _dtype(value, inference), view.sizes, view.argument, view.offset, view.strides)


def _writeback(value: ir.Value, argument: int, guard: ArgumentSpec, inference: Inference, known: set[str]) -> ResultSpec:
    fresh = _fresh(value, inference, known)
    if fresh.kind is not ResultKind.BUFFER:
        raise _at(value, f"the sizes of what is written to argument {argument} are not known")
    lies_alike = guard.layout is Layout.CONTIGUOUS and list(map(str, guard.sizes)) == list(map(str, fresh.sizes))
    return ResultSpec(ResultKind.ARGUMENT, fresh.dtype, fresh.sizes, argument, in_place=lies_alike)


def _fresh(value: ir.Value, inference: Inference, known: set[str]) -> ResultSpec:
    found = inference[value]
    assert isinstance(found, Tensor)
    dtype = _dtype(value, inference)
    if found.shape is not None and all(s.name in known for d in found.shape for s in dims.symbols(d)):
        return ResultSpec(ResultKind.BUFFER, dtype, found.shape)
    sizes, _ = torch_types.parse_tensor(str(value.type))
    if sizes is None:
        raise _at(value, "the rank of a result is not known")
    return ResultSpec(ResultKind.ALLOCATED, dtype, (0,) * len(sizes))


def _dtype(value: ir.Value, inference: Inference) -> str:
    _, dtype = torch_types.parse_tensor(str(value.type))
    if dtype is None:
        raise _at(value, "the dtype of a result is not known")
    found = inference[value]
    if isinstance(found, Tensor) and found.dtype is not None and found.dtype is not dtype:
        raise _at(value, f"its type says {dtype} but inference {found.dtype}")
    return dtype.name


def _at(value: ir.Value, reason: str, named: str = "") -> Refused:
    owner = value.owner
    return Refused(owner.owner if isinstance(owner, ir.Block) else owner.operation, reason, named=named)
