"""tierup-opt --run-reproducer: what a reproducer says to run, as something that runs on a module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from tierup.dialect.base.records import dataclass
from tierup.dialect.language.text import text_of
from tierup.dialect.mlir import ir
from tierup.dialect.passes import diagnostics, registry
from tierup.dialect.passes.diagnostics import Diagnostic, Place
from tierup.dialect.passes.pipelines.reproducer import Reproducer
from tierup.dialect.passes.registry import Hook, PassFailure
from tierup.lowering.base.errors import BadRequest, CompileError, Unsupported
from tierup.lowering.service import request_json


class Runnable(Protocol):
    """A pipeline, or what stands in its place."""

    def run(self, module: ir.Module, *, hooks: Sequence[Hook] = (), verify: bool = True) -> None:
        """Run on a module, with `hooks` told of every pass; `verify`: with the IR verified on the way. Raises PassFailure."""


@dataclass(frozen=True)
class WholeCompile:
    """A request for a compile down to machine code; the module it is run on is the program, and is left as it is."""

    request: str

    def __str__(self) -> str:
        return f"a compile to machine code: {self.request}"

    def run(self, module: ir.Module, *, hooks: Sequence[Hook] = (), verify: bool = True) -> None:
        """Compile. Raises PassFailure with what the compiler says, under the name `compile`."""
        from tierup.lowering.compiling.compile import compile  # here: loads LLVM, which no pass needs

        text = text_of(module)
        try:
            compile(request_json.from_json(self.request, text))
        except Unsupported as e:
            raise _failure(f"{e.op}: {e.reason}", diagnostics.place_of(_location(e.location))) from e
        except (CompileError, BadRequest) as e:
            raise _failure(str(e), Place()) from e


def runnable(found: Reproducer) -> Runnable:
    """What a reproducer runs. Raises PipelineError."""
    return WholeCompile(found.request) if found.request else registry.parse(found.pipeline)


def _failure(message: str, place: Place) -> PassFailure:
    failure = PassFailure.of([Diagnostic("error", place, message)])
    failure.pass_name = "compile"
    return failure


def _location(place: str) -> str:
    """`file:line:column` as MLIR writes it."""
    file, _, rest = place.rpartition(":")[0].rpartition(":") if place.count(":") >= 2 else ("", "", "")
    return f'loc("{file}":{rest}:{place.rpartition(":")[2]})' if file else "loc(unknown)"
