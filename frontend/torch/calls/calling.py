"""A call with tensors that the native entry does not answer: in tier 0, under autograd, in a program that is cut, one that gives views.

The arrays of the tensors, on the same memory, are what a program takes; its results become tensors again. Under autograd the call is
joined to it (`autograd.py`); inside PyTorch's transforms it is refused (`transforms.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.utils._pytree import tree_map

from tierup.dialect.base.exceptions import UNANSWERED
from tierup.dialect.optable.kernels import torch_tensors
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.torch.calls import autograd, by_python, shared_memory, transforms, watched
from tierup.frontend.torch.errors import LeftToPyTorch, through_torch
from tierup.runtime.arguments.trees import unflatten
from tierup.runtime.base.errors import NotDifferentiable, UnsupportedArgument
from tierup.runtime.base.events import EventKind

if TYPE_CHECKING:
    from tierup.frontend.torch.script.module import Attributes
    from tierup.runtime.functions.function import Function
    from tierup.runtime.functions.graphs.variant import Variant


def call(
    function: Function,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    attributes: Attributes | None = None,
    eager: Callable[..., Any] | None = None,
    original: Callable[..., Any] | None = None,
    writes_last: bool = False,
) -> Any:
    """The result of a call of a function of arrays with tensors, in trees of lists, tuples and dicts: tensors in the place of arrays.

    `attributes`: of the module that the function reads. `eager`: what answers where a gradient is wanted that there is none of; None
    raises NotDifferentiable. `original`: what answers where PyTorch watches each operation, if it is there, and where the
    program `writes_last` to what is in the memory of another argument.
    Raises TypeError for a tensor that no array can stand for, and what the program raises.
    """
    who = watched.by_whom() if original is not None else None
    if original is not None and who is not None:
        for variant in function.variants[:1]:
            variant.executor.history.emit(EventKind.FALLBACK, Reason.WATCHED, guard=who, action="ran the original program through PyTorch")
        return _by_the_original(function, original, args, kwargs)
    if torch_tensors.transformed():
        transforms.refuse(function.__name__, (args, kwargs))
    given: dict[int, Any] = {}  # the tensor of each array, by the array's id
    try:
        arrays = tuple([torch_tensors.to_arrays(a, given) for a in args])
        named = {k: torch_tensors.to_arrays(v, given) for k, v in kwargs.items()}
    except torch_tensors.NoArray as e:
        if original is None:
            raise
        raise LeftToPyTorch(str(e), Reason.NO_ARRAY) from None
    if attributes is not None:
        attributes.renew()
        attributes.call.tensors, attributes.call.given = given, (tuple(args), kwargs)
    variant, flat = function.find(arrays, named)
    if variant.lists.all:
        raise UnsupportedArgument("a list that changes or is given back, beside tensors")
    if attributes is not None:
        given |= attributes.tensors()
    tensors = [given.get(id(leaf)) for leaf in flat]
    program = variant.executor.program
    if writes_last and original is not None and (what := shared_memory.overlap(program.tier0.parameters, program.names, flat)):
        variant.executor.history.emit(EventKind.FALLBACK, Reason.OVERLAP, guard=what, action="ran the original program through PyTorch")
        return _by_the_original(function, original, args, kwargs)
    if autograd.wanted(tensors):
        why = attributes.why_not(variant.executor.program.names, tensors) if attributes is not None else None
        return _under_autograd(function, variant, flat, tensors, why, eager, attributes, args, kwargs)
    try:
        return unflatten(variant.built.output, autograd.plain(variant.executor, flat, tensors))
    except torch_tensors.NoArray as e:  # of what a Python function gave that the program calls
        if attributes is None or original is None or attributes.is_set or any(parameter.written for parameter in program.tier0.parameters):
            raise  # what was done by then is not to be done twice
        attributes.leave(str(e), Reason.NO_ARRAY)
    except UNANSWERED as e:
        python = function.python_for(e, program)
    return by_python.call(function, python, args, kwargs)


def _by_the_original(function: Function, program: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    function.note_python()
    return through_torch(program, args, kwargs)


def _under_autograd(
    function: Function,
    variant: Variant,
    flat: Sequence[Any],
    tensors: Sequence[Any],
    why_not: str | None,
    eager: Callable[..., Any] | None,
    attributes: Attributes | None,
    args: Any,
    kwargs: Any,
) -> Any:
    """`why_not`: why the gradient is not tierup's to make, if it is not."""
    executor = variant.executor
    original = None if eager is None else partial(_again, executor.program.name, eager, attributes, args, kwargs)
    try:
        if why_not is not None:
            raise NotDifferentiable(f"{executor.program.name} has no gradient: {why_not}")
        found = autograd.joined(executor, flat, tensors, original)
    except NotDifferentiable as e:
        if eager is None:
            raise
        executor.history.emit(EventKind.FALLBACK, Reason.NO_GRADIENT, guard=str(e), action="ran the original program through PyTorch")
        found = _by_the_original(function, eager, args, kwargs)
        if attributes is not None:
            attributes.note_warnings()
        return found
    return unflatten(variant.built.output, found)


def _again(
    name: str, eager: Callable[..., Any], attributes: Attributes | None, args: Any, kwargs: Any, others: Mapping[int, torch.Tensor]
) -> Sequence[Any]:
    """The results in a row of a call that is made once more: `second_derivatives.Original`."""
    if attributes is not None and not attributes.refresh():
        raise RuntimeError(f"{name}: the module was changed before a second derivative was computed")
    found: set[int] = set()

    def other(value: Any) -> Any:
        if id(value) not in others:
            return value
        found.add(id(value))
        return others[id(value)]

    args, kwargs = tree_map(other, (tuple(args), dict(kwargs)))
    with attributes.replaced(others, found) if attributes is not None else nullcontext():
        if found != set(others):
            raise NotDifferentiable(f"{name} has no second derivatives: it writes a tensor that the module holds in a list or a dict")
        return list(_in_a_row(eager(*args, **kwargs)))


def _in_a_row(result: Any) -> Iterator[Any]:
    """The leaves of a program's result, as its graph gives them."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        for each in result:
            yield from _in_a_row(each)
    elif result is not None and not isinstance(result, str):
        yield result
