"""Pipelines: passes of ours and of MLIR's in one sequence, nested as MLIR nests them, run on a module.

Neighbouring passes of MLIR's run in one PassManager, which is kept with the context: a second run costs no parsing.
Our passes are run by Python between them. The module is verified after each of ours, as MLIR does after each of its own; a compile
that cannot wait verifies once after each unbroken row of ours.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Protocol

from tierup.dialect import diagnostics, mlir_crashes, mlir_passes, ops
from tierup.dialect.mlir import ir, passmanager
from tierup.dialect.passes import Pass, PassFailure, PipelineError, find, make, passes
from tierup.dialect.pipeline_text import Element, parse_elements, split_options
from tierup.dialect.records import dataclass
from tierup.dialect.spelling import closest

_managers: weakref.WeakKeyDictionary[ir.Context, dict[str, passmanager.PassManager]] = weakref.WeakKeyDictionary()


class Hook(Protocol):
    """Told of every pass. `name` is the pass with its options, `op` what it works on (a module or a function)."""

    def before(self, name: str, op: ir.Operation) -> None: ...

    def after(self, name: str, op: ir.Operation, seconds: float) -> None: ...

    def failed(self, name: str, op: ir.Operation, seconds: float) -> None: ...


@dataclass(frozen=True)
class OwnPass:
    """One of our passes."""

    instance: Pass

    def __str__(self) -> str:
        return str(self.instance)


@dataclass(frozen=True)
class MlirPass:
    """One of MLIR's passes or pass pipelines."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Nest:
    """Steps run once for each op named `anchor` directly below."""

    anchor: str
    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return f"{self.anchor}({','.join(map(str, self.steps))})"


Step = OwnPass | MlirPass | Nest


@dataclass(frozen=True)
class Pipeline:
    """A sequence of steps on a module; `str()` gives the text that parses to it."""

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return f"builtin.module({','.join(map(str, self.steps))})"

    def run(self, module: ir.Module, *, hooks: Sequence[Hook] = (), verify: bool = True, verify_each: bool = True) -> None:
        """Run all steps on `module` in place. Raises PassFailure; the module is then to be thrown away.

        `verify_each=False`: not after every pass of ours, but before MLIR's passes see what they left, and at the end. That broken IR is
        never run on holds as before; but the failure names the last pass of the row.
        """
        with module.context, ir.Location.unknown():
            _run("builtin.module", self.steps, module.operation, module, tuple(hooks), verify, verify_each)


@cache
def parse(text: str) -> Pipeline:
    """The pipeline of a text, `builtin.module(...)` around it or not. Raises PipelineError."""
    elements = parse_elements(text)
    if len(elements) == 1 and elements[0].name == "builtin.module" and elements[0].children is not None:
        elements = elements[0].children
    return Pipeline(tuple(_step(e, "builtin.module") for e in elements))


def nest(text: str) -> str:
    """A lone pass as it stands in a pipeline on modules: under func.func(...) when it works on functions only."""
    (element,) = parse_elements(text)
    if find(element.name) is not None:
        return text
    try:
        passmanager.PassManager.parse(f"func.func({text})", _scratch())
    except ValueError:
        return text  # works on modules, or on nothing: `parse` says which
    try:
        passmanager.PassManager.parse(f"builtin.module({text})", _scratch())
    except ValueError:
        return f"func.func({text})"
    return text


def is_mlir_pass(name: str) -> bool:
    """Whether MLIR knows a pass or pass pipeline of that name."""
    try:
        passmanager.PassManager.parse(f"any({name})", _scratch())
    except ValueError as e:
        return "does not refer to a registered pass" not in str(e)
    return True


def _step(element: Element, anchor: str) -> Step:
    if element.children is not None:
        return Nest(element.name, tuple(_step(child, element.name) for child in element.children))
    cls = find(element.name)
    if cls is None:
        _check_mlir(element, anchor)
        return MlirPass(str(element))
    if anchor == "func.func" and not cls.on_functions():
        raise PipelineError(f"pass '{cls.name}' works on a whole module: it cannot stand under func.func", element.at)
    if anchor not in ("builtin.module", "func.func"):
        works_on = "modules and functions" if cls.on_functions() else "modules"
        raise PipelineError(f"pass '{cls.name}' works on {works_on}, not on {anchor}", element.at)
    try:
        return OwnPass(make(cls, split_options(element.options or "")))
    except PipelineError as e:
        raise PipelineError(str(e), element.at) from e


@cache
def _scratch() -> ir.Context:
    """A context to parse pipeline texts in: which passes exist does not depend on the context."""
    return ir.Context(load_on_create_dialects=[])


def _check_mlir(element: Element, anchor: str) -> None:
    """Ask MLIR whether it takes a pass here; its own words are kept where they help. Raises PipelineError."""
    try:
        passmanager.PassManager.parse(f"{anchor}({element})", _scratch())
        return
    except ValueError as e:
        said = " ".join(str(e).split())
    if "does not refer to a registered pass" in said:
        near = closest(element.name, [*passes(), *mlir_passes.NAMES])
        raise PipelineError(f"'{element.name}' does not refer to a registered pass or pass pipeline{near}", element.at)
    if "restricted to" in said:
        wanted = said.partition("restricted to '")[2].partition("'")[0]
        raise PipelineError(f"pass '{element.name}' works on {wanted}, not on {anchor}; write {wanted}({element.name})", element.at)
    raise PipelineError(f"'{element}': {said}", element.at)


def _run(
    anchor: str, steps: Sequence[Step], op: ir.Operation, module: ir.Module, hooks: tuple[Hook, ...], verify: bool, verify_each: bool
) -> None:
    pending: list[str] = []
    for i, step in enumerate(steps):
        if _all_mlir(step) and not (hooks and isinstance(step, Nest)):
            pending.append(str(step))
            if hooks:  # one at a time, so that each is seen
                _manage(anchor, pending, op, hooks)
            continue
        _manage(anchor, pending, op, hooks)
        if isinstance(step, OwnPass):
            row_ends = not isinstance(steps[i + 1] if i + 1 < len(steps) else None, OwnPass)
            _own(step.instance, op, module, hooks, verify and (verify_each or row_ends))
        elif isinstance(step, Nest):
            for child in _children(op, step.anchor):
                _run(step.anchor, step.steps, child, module, hooks, verify, verify_each)
    _manage(anchor, pending, op, hooks)


def _all_mlir(step: Step) -> bool:
    return isinstance(step, MlirPass) or (isinstance(step, Nest) and all(map(_all_mlir, step.steps)))


def _children(op: ir.Operation, name: str) -> list[ir.Operation]:
    below = [view.operation for region in op.regions for block in region.blocks for view in block.operations]
    return [child for child in below if name == "any" or child.name == name]


def _own(instance: Pass, op: ir.Operation, module: ir.Module, hooks: tuple[Hook, ...], verify: bool) -> None:
    def work() -> None:
        if op.name == "builtin.module":
            instance.run(module)
        else:
            instance.run_on_function(op)  # type: ignore[attr-defined]  # `_step` checked it
        if verify:
            _verify(op)

    _timed(str(instance), instance.name, work, op, hooks)


def _verify(op: ir.Operation) -> None:
    op.verify()  # raises MLIRError with the diagnostics
    broken = ops.verify(op)
    if broken:
        raise PassFailure.of(broken)


def _manage(anchor: str, texts: list[str], op: ir.Operation, hooks: tuple[Hook, ...]) -> None:
    """Run and forget `texts`, MLIR passes under `anchor`."""
    if not texts:
        return
    text = ",".join(texts)
    texts.clear()
    manager = _manager(op.context, f"{anchor}({text})")

    def work() -> None:
        mlir_crashes.refuse(text, op)
        manager.run(op)

    _timed(text, text, work, op, hooks)


def _manager(context: ir.Context, text: str) -> passmanager.PassManager:
    kept = _managers.setdefault(context, {})
    if text not in kept:
        kept[text] = passmanager.PassManager.parse(text, context)
    return kept[text]


def _timed(shown: str, name: str, work, op: ir.Operation, hooks: Iterable[Hook]) -> None:  # noqa: ANN001 - a closure of no arguments
    for hook in hooks:
        hook.before(shown, op)
    start = time.perf_counter()
    try:
        work()
    except (PassFailure, ir.MLIRError) as e:
        for hook in hooks:
            hook.failed(shown, op, time.perf_counter() - start)
        failure = e if isinstance(e, PassFailure) else _failure_of(e)
        failure.pass_name = failure.pass_name or name
        raise failure from (None if failure is e else e)
    except Exception:
        for hook in hooks:
            hook.failed(shown, op, time.perf_counter() - start)
        raise
    for hook in hooks:
        hook.after(shown, op, time.perf_counter() - start)


def _failure_of(error: ir.MLIRError) -> PassFailure:
    failure = PassFailure(None, str(error).strip())
    failure.diagnostics = diagnostics.from_error(error)
    return failure
