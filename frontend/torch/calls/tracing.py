"""A function of arrays inside `torch.jit.trace`: its graph goes into the trace as a function of TorchScript, with branches and loops.

As the ancestor does it: the values are computed with tracing paused, then the graph for arguments of these types is called in the trace.
Numbers among the arguments are what they are for every trace: constants.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from tierup.dialect.base import dtypes
from tierup.dialect.optable.kernels import torch_tensors
from tierup.frontend.torch.calls.to_script import to_script
from tierup.frontend.torch.errors import UnsupportedProgram
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout
from tierup.runtime.arguments.trees import unflatten
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.version import specialise, to_values

if TYPE_CHECKING:
    from tierup.runtime.functions.function import Function


def call(function: Function, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result, of which the trace knows how it came about. Raises UnsupportedProgram, naming op and line, for a program that TorchScript
    cannot say, or that writes its arguments; TypeError for a tensor that no array can stand for."""
    with _paused():
        given: dict[int, Any] = {}
        arrays = tuple([torch_tensors.to_arrays(a, given) for a in args])
        named = {k: torch_tensors.to_arrays(v, given) for k, v in kwargs.items()}
        variant, flat = function.find(arrays, named)
        program = variant.executor.program
        written = [p.name for p in program.tier0.parameters if p.written] or [str(each.access) for each in variant.lists.all]
        if written:
            raise UnsupportedProgram(f"{function.__name__} cannot be traced: it writes its argument {written[0]}, or gives it back")
        sizes: dict[int, str] = {}
        try:
            text = specialise(to_values(program.graph), program.entry, tuple([_spec(value, sizes) for value in flat]))
        except NotCompiled as e:
            raise UnsupportedProgram(f"{function.__name__} cannot be traced: {e}") from e
        script = to_script(text, program.entry)
        # an array that the function reads from outside is a constant of the trace
        leaves = [given.get(id(v), torch_tensors.tensor(v)) if isinstance(v, np.ndarray) else v for v in flat]
        values = variant.executor.call(flat)
    found = script(*leaves)
    tensors = iter(found if type(found) is tuple else (found,))
    results = [next(tensors) if isinstance(value, np.ndarray) else value for value in values]
    if not all(isinstance(value, np.ndarray) for value in values):
        warnings.warn(f"the numbers that {function.__name__} gives are constants of the trace", torch.jit.TracerWarning, stacklevel=2)
    return unflatten(variant.built.output, results)


@contextmanager
def _paused() -> Iterator[None]:
    state = torch._C._get_tracing_state()
    torch._C._set_tracing_state(None)
    try:
        yield
    finally:
        torch._C._set_tracing_state(state)


def _spec(value: Any, sizes: dict[int, str]) -> ArgumentSpec:
    """Any array of this dtype and rank; sizes that are equal stay so, and 0 and 1, which broadcast, stay what they are."""
    if isinstance(value, np.ndarray):
        dtype = dtypes.from_numpy(value.dtype)
        if dtype is None:
            raise UnsupportedProgram(f"a trace cannot hold an array of {value.dtype}")
        symbols = tuple(size if size < 2 else sizes.setdefault(size, f"s{len(sizes)}") for size in value.shape)
        return ArgumentSpec(ArgumentKind.ARRAY, dtype.name, symbols, Layout.CONTIGUOUS)
    for kind, type_ in ((ArgumentKind.INT, int), (ArgumentKind.FLOAT, float), (ArgumentKind.BOOL, bool)):
        if type(value) is type_:
            return ArgumentSpec(kind)
    raise UnsupportedProgram(f"a trace cannot hold an argument of type {type(value).__name__}")
