"""A call with tensors that the native entry does not answer: in tier 0, under autograd, in a program that is cut, one that gives views.

The arrays of the tensors, on the same memory, are what a program takes; its results become tensors again. Under autograd the call is
joined to it (`autograd.py`); inside PyTorch's transforms it is refused (`transforms.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tierup.dialect.kernels import torch_tensors
from tierup.dialect.speculation.reasons import Reason
from tierup.frontend.torch import autograd, transforms, watched
from tierup.frontend.torch.errors import through_torch
from tierup.runtime.arguments.trees import unflatten
from tierup.runtime.errors import NotDifferentiable
from tierup.runtime.events import EventKind

if TYPE_CHECKING:
    from tierup.frontend.torch.script_module import Attributes
    from tierup.runtime.function import Function, Variant


def call(
    function: Function,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    attributes: Attributes | None = None,
    eager: Callable[..., Any] | None = None,
    original: Callable[..., Any] | None = None,
) -> Any:
    """The result of a call of a function of arrays with tensors, in trees of lists, tuples and dicts: tensors in the place of arrays.

    `attributes`: of the module that the function reads. `eager`: what answers where a gradient is wanted that there is none of; None
    raises NotDifferentiable. `original`: what answers where PyTorch watches each operation, if it is there.
    Raises TypeError for a tensor that no array can stand for, and what the program raises.
    """
    who = watched.by_whom() if original is not None else None
    if original is not None and who is not None:
        for variant in function.variants[:1]:
            variant.executor.history.emit(EventKind.FALLBACK, Reason.WATCHED, guard=who, action="ran the original program through PyTorch")
        return through_torch(original, args, kwargs)
    if torch_tensors.transformed():
        transforms.refuse(function.__name__, (args, kwargs))
    given: dict[int, Any] = {}  # the tensor of each array, by the array's id
    arrays = tuple([torch_tensors.to_arrays(a, given) for a in args])
    named = {k: torch_tensors.to_arrays(v, given) for k, v in kwargs.items()}
    if attributes is not None:
        attributes.renew()
        attributes.call.tensors = given
    variant, flat = function.find(arrays, named)
    if attributes is not None:
        given |= attributes.tensors()
    tensors = [given.get(id(leaf)) for leaf in flat]
    if autograd.wanted(tensors):
        why = attributes.why_not(variant.executor.program.names, tensors) if attributes is not None else None
        return _under_autograd(variant, flat, tensors, why, eager, args, kwargs)
    return unflatten(variant.built.output, iter(autograd.plain(variant.executor, flat, tensors)))


def _under_autograd(
    variant: Variant,
    flat: Sequence[Any],
    tensors: Sequence[Any],
    why_not: str | None,
    eager: Callable[..., Any] | None,
    args: Any,
    kwargs: Any,
) -> Any:
    """`why_not`: why the gradient is not tierup's to make, if it is not."""
    executor = variant.executor
    try:
        if why_not is not None:
            raise NotDifferentiable(f"{executor.program.name} has no gradient: {why_not}")
        found = autograd.joined(executor, flat, tensors)
    except NotDifferentiable as e:
        if eager is None:
            raise
        executor.history.emit(EventKind.FALLBACK, Reason.NO_GRADIENT, guard=str(e), action="ran the original program through PyTorch")
        return through_torch(eager, args, kwargs)
    return unflatten(variant.built.output, iter(found))
