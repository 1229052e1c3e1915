"""What a worker does before its first request: it imports the compiler. A compile of the smallest program there is loads what all need,
and what only other ops need comes last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout
from tierup.lowering.compiling import compile as lowering
from tierup.runtime.base.options import Options
from tierup.runtime.code.plans import request_for
from tierup.runtime.compiling import version

_GRAPH = """
func.func @main(%x: !torch.vtensor) -> !torch.vtensor attributes {tierup.source = "jit"} {
  %y = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor
  return %y : !torch.vtensor
}
"""
_LATER = (
    "reductions.normalisation", "reductions.scans", "movement.patterns", "windows.convolution", "windows.pooling", "windows.adaptive",
    "indexing.scatters",
)  # fmt: skip
_SPEC = ArgumentSpec(ArgumentKind.ARRAY, "f32", (2,), Layout.CONTIGUOUS)


def get_ready(is_asked: Callable[[], bool]) -> None:
    """`is_asked`: whether a request waits, which is then a better compile to begin with."""
    if is_asked():
        return
    specialised = version.specialise(version.to_values(_GRAPH), "main", (_SPEC,))
    if not is_asked():
        lowering.compile(replace(request_for(specialised, "main", (_SPEC,), Options()), level=1))
    for module in _LATER:
        if not is_asked():
            import_module(f"tierup.lowering.ops.{module}")
