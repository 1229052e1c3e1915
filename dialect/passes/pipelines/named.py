"""Pipelines that people can name, and where they stand."""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache

from tierup.dialect.base.records import dataclass
from tierup.dialect.base.spelling import closest
from tierup.dialect.passes.core import PipelineError
from tierup.dialect.passes.pipelines.pipeline import Pipeline, parse

# each has PIPELINES, a tuple of NamedPipeline
PIPELINE_MODULES = (
    "tierup.dialect.passes.pipelines.default", "tierup.dialect.torchscript.profiling", "tierup.dialect.torchscript.legacy",
    "tierup.lowering.compiling.pipelines", "tierup.lowering.cuda.pipelines",
)  # fmt: skip


@dataclass(frozen=True)
class NamedPipeline:
    """A pipeline that people can name: `--tierup-pipeline=NAME`. `steps` is its readable list. `leaves`: what `plan`,
    `--emit` and dumps call the text that it leaves, where they show it. `fault`: the stage of `lowering/base/faults.py` that it is."""

    name: str
    summary: str
    steps: tuple[str, ...]
    leaves: str = ""
    fault: str = ""

    @property
    def text(self) -> str:
        """The steps as the text of one pipeline, which `--pass-pipeline=` takes."""
        return f"builtin.module({','.join(self.steps)})"


@cache
def named_pipelines() -> dict[str, NamedPipeline]:
    """All named pipelines, in the order of their modules. Raises ValueError when two share a name."""
    found: dict[str, NamedPipeline] = {}
    for module in PIPELINE_MODULES:
        if importlib.util.find_spec(module) is None:
            continue
        for named in importlib.import_module(module).PIPELINES:
            if named.name in found:
                raise ValueError(f"two pipelines are named {named.name}, the second in {module}")
            found[named.name] = named
    return found


def pipeline(name: str) -> Pipeline:
    """The named pipeline, parsed. Raises PipelineError for an unknown name."""
    known = named_pipelines()
    if name not in known:
        raise PipelineError(f"no pipeline is named '{name}'{closest(name, known)}; there are {', '.join(known)}")
    return parse(known[name].text)
