"""tierup-custom-passes: the passes that users have registered for a place in the pipeline, in the order of their registration.

Nothing is registered in a fresh `tierup-opt`; `--load-passes=FILE.py` and the entry points of installed distributions do it.

    func.func @f(...) {...}

becomes what the registered passes make of it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.pipelines import custom
from tierup.dialect.passes.registry import OneOf, Pass, PassFailure, register


@register
class CustomPasses(Pass):
    when: Annotated[str, OneOf(custom.WHEN)] = "post-fusion"

    def run(self, module: ir.Module) -> None:
        try:
            custom.run(self.when, module)
        except custom.CustomPassError as e:
            notes = diagnostics.of_exception("", e.__cause__).notes if e.__cause__ is not None else ()
            raise PassFailure.of([replace(diagnostics.at(module.operation, "error", str(e)), notes=notes)]) from e
