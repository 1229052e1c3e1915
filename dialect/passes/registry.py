"""The one place where passes register and pipelines are looked up; what a pass file imports.

    \"\"\"tierup-insert-profiling: one line for --help.\"\"\"

    @register
    class InsertProfiling(Pass):
        uses_only: bool = False

        def run(self, module: ir.Module) -> None: ...

`parse(text)` gives a `Pipeline`, `pipeline(name)` a named one; `Pipeline.run(module)` runs it.
"""

from __future__ import annotations

from tierup.dialect.passes.core import Pass, PassFailure, PipelineError, find, functions, passes, register
from tierup.dialect.passes.option_limits import AtLeast, OneOf
from tierup.dialect.passes.pipelines.named import NamedPipeline, named_pipelines, pipeline
from tierup.dialect.passes.pipelines.pipeline import Hook, Pipeline, parse

__all__ = [
    "AtLeast", "Hook", "NamedPipeline", "OneOf", "Pass", "PassFailure", "Pipeline", "PipelineError",
    "find", "functions", "named_pipelines", "parse", "passes", "pipeline", "register",
]  # fmt: skip
