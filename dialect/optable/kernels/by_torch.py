"""Kernels for what only PyTorch computes: `aten_dcdist` is its `aten::cdist`, called on tensors that share the arrays' memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence, Set
from functools import cache
from typing import Any

import numpy as np

from tierup.dialect.optable.kernels import drawing, overlap, torch_tensors

MAY_HAND_ON = frozenset({"aten.dropout", "aten.feature_dropout", "aten.alpha_dropout", "aten.feature_alpha_dropout"})
"""Ops that give their operand itself when they have nothing to do, of which their schemas say nothing."""
_ESCAPES = re.compile("__|_d")


def spelled(op: str) -> str:
    """The kernel's name for an op, as an identifier: `aten.index_add_.x` is `aten_dindex__add___dx`. No two ops have one name."""
    return op.replace("_", "__").replace(".", "_d")


def op_of(name: str) -> str:
    """The op that has this name as a kernel: the inverse of `spelled`."""
    return _ESCAPES.sub(lambda found: "_" if found[0] == "__" else ".", name)


def _overload(name: str) -> Any:
    import torch  # here: optional, and a second to import

    namespace, op, *overload = name.split(".")
    return getattr(getattr(getattr(torch.ops, namespace), op), overload[0] if overload else "default")


def operand_names(op: str) -> list[str]:
    """What PyTorch calls the operands of one of its ops. Raises AttributeError for one that it has not."""
    return [a.name for a in _overload(op)._schema.arguments]


def on_tensors(name: str) -> Callable[..., Any]:
    """PyTorch's op of that name, with all operands by position. Raises AttributeError for one that PyTorch has not."""
    import torch

    overload = _overload(name)
    arguments = overload._schema.arguments
    positional = sum(not a.kwarg_only for a in arguments)
    keywords = [a.name for a in arguments[positional:]]
    is_random = torch.Tag.nondeterministic_seeded in overload.tags

    def found(*operands: Any) -> Any:
        if is_random:
            drawing.draws()
        return overload(*operands[:positional], **dict(zip(keywords, operands[positional:], strict=False)))

    return found


@cache
def kernel(name: str) -> Callable[..., Any]:
    """The kernel of that name. An operand that the op writes is written; no result that the op's schema calls new shares memory with an
    operand. Raises AttributeError for an op that PyTorch has not."""
    import torch  # here: optional, and a second to import

    found = on_tensors(op_of(name))
    arguments = _overload(op_of(name))._schema.arguments
    aliases = [a.alias_info for a in arguments]
    held = [not isinstance(a.type, torch.ListType) or "Tensor" in str(a.type) for a in arguments]  # what no list of numbers is
    if any(a is not None and a.is_write for a in aliases):
        return _writer(name, found)
    shares = ".".join(op_of(name).split(".")[:2]) in MAY_HAND_ON or any(a is not None for a in aliases)

    def call(*operands: Any) -> Any:
        tensors = [torch_tensors.to_tensors(o) if may_hold else o for o, may_hold in zip(operands, held, strict=False)]
        with torch.no_grad():
            given = found(*tensors)
        if not shares:
            return apart(given, [t for t, may_hold in zip(tensors, held, strict=False) if may_hold])
        result = next((o for o, t in zip(operands, tensors, strict=True) if t is given), None)
        return torch_tensors.to_arrays(given) if result is None else result

    call.__name__ = name
    return call


def _writer(name: str, found: Any) -> Callable[..., Any]:
    """The kernel of an op that writes operand 0 and returns it."""
    import torch

    def call(*operands: Any) -> Any:
        written = operands[0]
        if not written.flags.writeable:
            raise ValueError(f"{op_of(name)}: assignment destination is read-only")
        whole = torch_tensors.to_tensors(written)  # one tensor for what is one array: PyTorch refuses some ops to read what they write
        rest = [whole if isinstance(o, np.ndarray) and overlap.is_same(o, written) else torch_tensors.to_tensors(o) for o in operands[1:]]
        with torch.no_grad():
            after = torch_tensors.array(found(whole, *rest))
        if after.shape != written.shape:
            shapes = f"output with shape {list(written.shape)} doesn't match the broadcast shape {list(after.shape)}"
            raise ValueError(f"{op_of(name)}: {shapes}")
        if not np.shares_memory(after, written):  # of negative strides, which PyTorch's tensors have not
            written[...] = after
        return written

    call.__name__ = name
    return call


def apart(given: Any, tensors: Sequence[Any]) -> Any:
    """Results as arrays, copied where they lie in the memory of one of `tensors`, the operands, after all: `aten::einsum` gives a view now
    and then, and its schema does not say so."""
    arrays, memory = torch_tensors.to_arrays(given), torch_tensors.memory(tensors)
    if memory.isdisjoint(torch_tensors.memory((given,))):
        return arrays
    return torch_tensors.to_arrays(_moved(given, memory))


def _moved(given: Any, memory: Set[int]) -> Any:
    if isinstance(given, (list, tuple)):
        return [_moved(each, memory) for each in given] if isinstance(given, list) else tuple([_moved(each, memory) for each in given])
    return given if memory.isdisjoint(torch_tensors.memory((given,))) else given.contiguous().clone()


def __getattr__(name: str) -> Callable[..., Any]:
    if "." not in op_of(name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return kernel(name)
