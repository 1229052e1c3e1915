"""A request as a program that says what it is for, and what is read off the program when its kernel stands.

`compile.py` and `cuda/compile.py` begin and end with these.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import TypeVar

from tierup.dialect.base.records import dataclass
from tierup.dialect.facts.dims import Dim
from tierup.dialect.ir.walking import symbol_of
from tierup.dialect.mlir import ir, translate_module_to_llvmir
from tierup.dialect.passes import diagnostics, registry
from tierup.dialect.passes.pipelines.reproducer import Reproducer
from tierup.dialect.passes.registry import PassFailure
from tierup.lowering.analysis import signature
from tierup.lowering.analysis.stated import ERROR_SITES, EXIT_SITES, READS_ACROSS, RESULTS, TIES, TURNS, dim, records, state
from tierup.lowering.base.abi import ErrorSite, ExitSite, Request, ResultSpec
from tierup.lowering.base.errors import BadRequest, CompileError, Unsupported
from tierup.lowering.building import builders as b
from tierup.lowering.building import literals
from tierup.lowering.building.refused import Refused
from tierup.lowering.compiling.driver import Driver, Keep
from tierup.lowering.service import request_json

E = TypeVar("E")
_OF_THE_PROGRAM = ("prepare-kernel", "prepare-gpu-kernel", "lower-torch")  # what fails in these is an op of the program


def driver_of(request: Request, wanted: Collection[str], keep: Keep | None) -> Driver:
    """The driver of a whole compile."""
    whole = None if keep is None else Reproducer(request.ir, request=json.dumps(request_json.to_dict(request)))
    return Driver(wanted, keep, whole)


def parse(request: Request) -> ir.Module:
    """The program of a request, with the request in it. Raises CompileError for a text that is none, BadRequest."""
    try:
        module = ir.Module.parse(request.ir)
    except ir.MLIRError as e:
        raise CompileError(str(e), "parse", request.ir) from e
    by_name = {symbol_of(f): f for f in registry.functions(module.operation)}
    if request.entry not in by_name:
        raise BadRequest(f"the module has no function '{request.entry}'; it has {', '.join(by_name)}")
    types = [str(a.type) for a in by_name[request.entry].regions[0].blocks[0].arguments]
    wanted = [signature.argument_type(spec) for spec in request.arguments]
    if types != wanted:
        raise BadRequest(f"the function takes ({', '.join(types)}) but the request's arguments are ({', '.join(wanted)})")
    state(module, request.entry, request.arguments, force=request.force)
    return module


@contextmanager
def failures_are_errors(request: Request, driver: Driver) -> Iterator[None]:
    """What a pass refuses leaves as Unsupported, and whatever else a compile trips over as CompileError with a reproducer; the function
    stays in tier 0."""
    try:
        yield
    except (Unsupported, CompileError, BadRequest, MemoryError, OSError):
        raise
    except Refused as e:
        raise Unsupported(e.origin.op, e.origin.place, e.why) from e
    except PassFailure as e:
        stage = driver.at.name if driver.at is not None else "lowering"
        if stage not in _OF_THE_PROGRAM:
            raise CompileError(str(e), stage, f"// {stage}: {e}\n// {request!r}\n{request.ir}") from e
        place = next((str(d.place) for d in e.diagnostics if d.place.line), "")
        raise Unsupported(_op_at(place, request), place, f"has no lowering ({e})") from e
    except Exception as e:
        raise CompileError(f"{type(e).__name__}: {e}", "lowering", f"// {type(e).__name__}: {e}\n// {request!r}\n{request.ir}") from e


def _op_at(place: str, request: Request) -> str:
    """The first op of the program at a place. The module that failed may have lost it."""
    module = ir.Module.parse(request.ir)  # held: its ops go with it
    for op in b.walk(module.operation):
        if op.name.startswith("torch.") and str(diagnostics.place_of(op.location)) == place:
            return str(op.name).removeprefix("torch.")
    return "an op"


def translated(module: ir.Module, request: Request, stage: str) -> str:
    """A lowered module as LLVM IR. Raises CompileError for what is not LLVM's: MLIR's translation crashes on it."""
    left_over = b.first(module.operation, lambda op: not op.name.startswith(("llvm.", "nvvm.")))
    if left_over is not None:
        raise CompileError(f"'{left_over.name}' was left over", stage, f"{request.ir}\n// -----\n{module}")
    return literals.mend(translate_module_to_llvmir(module.operation))


def emitted(driver: Driver, text: str, emit: Callable[[], E]) -> E:
    """What LLVM makes of LLVM IR. Raises CompileError for what it refuses."""
    with driver.timed("optimise+emit", "emit"):
        try:
            return emit()
        except RuntimeError as e:
            raise CompileError(str(e), "LLVM", text) from e


@dataclass(frozen=True)
class Kernel:
    """What a lowered module says of its kernel. `ties`: sizes that must be equal, checked at run time, each an error site behind the
    others; `exits`: where an assumption may fail; `reads_across`, `turns`: see `Artifact`."""

    results: tuple[ResultSpec, ...]
    ties: tuple[tuple[Dim, Dim], ...]
    exits: tuple[ExitSite, ...]
    checks: tuple[ErrorSite, ...]
    reads_across: tuple[int, ...]
    turns: tuple[int, ...]

    @property
    def error_sites(self) -> tuple[ErrorSite, ...]:
        """What can make the kernel leave with an error: the checks, and behind them the ties."""
        return self.checks + tuple(ErrorSite("sizes", f"{left} = {right}") for left, right in self.ties)


def kernel_of(module: ir.Module) -> Kernel:
    """What passes left in the attributes of a lowered module."""
    functions = [view.operation for view in module.body.operations]
    entry = next(f for f in functions if RESULTS in f.attributes)
    sites = next((f.attributes[ERROR_SITES] for f in functions if ERROR_SITES in f.attributes), ())
    checks = tuple(ErrorSite(ir.StringAttr(s["op"]).value, ir.StringAttr(s["place"]).value) for s in map(ir.DictAttr, sites))
    ties = tuple((dim(left), dim(right)) for left, right in map(ir.ArrayAttr, entry.attributes[TIES]))
    across, turns = (tuple(ir.DenseI64ArrayAttr(entry.attributes[n])) if n in entry.attributes else () for n in (READS_ACROSS, TURNS))
    return Kernel(records(ResultSpec, entry, RESULTS), ties, records(ExitSite, entry, EXIT_SITES), checks, across, turns)
