"""The compiler's steps by name, for the runtime: `regions.instrument(graph, entry)` is that function of `runtime/compiling/regions.py`.

A step takes texts and gives texts. Its module, which loads MLIR, is imported when the first is wanted; no exception of a signal's
handler breaks a step off (`dialect/shielded.py`), and the option `compile_limit` bounds each.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

from tierup.dialect.pipelines import deadline
from tierup.dialect.shielded import shielded
from tierup.runtime import options


class Steps:
    def __init__(self, module: str) -> None:
        self._module = f"{__package__}.{module}"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def step(*arguments: Any, **keywords: Any) -> Any:
            with deadline.within(options.current().compile_limit):
                return shielded(lambda: getattr(import_module(self._module), name)(*arguments, **keywords))

        return step


bailouts, gradients, insensitive = Steps("bailouts"), Steps("gradients"), Steps("insensitive")
regions, specialized, version = Steps("regions"), Steps("specialized"), Steps("version")
