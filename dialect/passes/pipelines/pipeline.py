"""Pipelines: passes of ours and of MLIR's in one sequence, nested as MLIR nests them, run on a module.

Neighbouring passes of MLIR's run in one PassManager, which is kept with the context: a second run costs no parsing.
Our passes are run by Python between them. The module is verified after each of ours, as MLIR does after each of its own; a compile
that cannot wait has MLIR's verifier look before MLIR's passes see what ours left, and verifies all at the end.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

from tierup.dialect.base.records import cached_property, dataclass
from tierup.dialect.base.spelling import closest
from tierup.dialect.ir import nesting
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir, passmanager
from tierup.dialect.passes import diagnostics
from tierup.dialect.passes.core import Pass, PassFailure, PipelineError, find, make, passes
from tierup.dialect.passes.pipelines import analyses, deadline, mlir_crashes, mlir_passes
from tierup.dialect.passes.pipelines.pipeline_text import Element, parse_elements, split_options

# per context, by their text and whether they verify after each pass
_managers: weakref.WeakKeyDictionary[ir.Context, dict[tuple[str, bool], passmanager.PassManager]] = weakref.WeakKeyDictionary()


class Hook(Protocol):
    """Told of every pass. `name` is the pass with its options, `op` what it works on (a module or a function)."""

    def before(self, name: str, op: ir.Operation) -> None:
        """The pass is about to run."""

    def after(self, name: str, op: ir.Operation, seconds: float) -> None:
        """The pass has run and took this many seconds."""

    def failed(self, name: str, op: ir.Operation, seconds: float) -> None:
        """The pass raised an exception, after this many seconds; the pipeline then raises it to its caller."""


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

    @cached_property
    def rows(self) -> tuple[Step, ...]:
        """The steps, neighbouring ones of MLIR's as one."""
        return _joined(self.steps)


Step = OwnPass | MlirPass | Nest


@dataclass(frozen=True)
class Pipeline:
    """A sequence of steps on a module; `str()` gives the text that parses to it."""

    steps: tuple[Step, ...]

    def __str__(self) -> str:
        return f"builtin.module({','.join(map(str, self.steps))})"

    @cached_property
    def rows(self) -> tuple[Step, ...]:
        """The steps, neighbouring ones of MLIR's as one."""
        return _joined(self.steps)

    def run(
        self, module: ir.Module, *, hooks: Sequence[Hook] = (), verify: bool = True, verify_each: bool = True, verify_end: bool = True
    ) -> None:
        """Run all steps on `module` in place. Raises PassFailure; the module is then to be thrown away.

        `verify_each=False`: not after every pass, but at the end, and by MLIR's verifier before MLIR's passes see what ours left: they know
        no tierup op. The failure names the last pass before that. `verify_end=False`: not at the end either, for who goes on with another
        pipeline.
        """
        with module.context, ir.Location.unknown(), analyses.kept():
            run = _Run(module, tuple(hooks), verify, verify_each)
            run.steps("builtin.module", self.steps if hooks else self.rows, module.operation)
            if verify_end:
                run.finish()


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


class _Run:
    """One run of a pipeline: what was changed and not verified yet."""

    def __init__(self, module: ir.Module, hooks: tuple[Hook, ...], verify: bool, verify_each: bool) -> None:
        self._module, self._hooks, self._verify, self._verify_each = module, hooks, verify, verify_each
        self._last: str | None = None  # the last pass, when nobody verified what it left
        self._mended = False

    def steps(self, anchor: str, steps: Sequence[Step], op: ir.Operation) -> None:
        for step in steps:
            if isinstance(step, OwnPass):
                self._own(step.instance, op)
            elif isinstance(step, MlirPass):
                self._mlir(anchor, step.text, op)
            else:
                for child in _children(op, step.anchor):
                    self.steps(step.anchor, step.steps if self._hooks else step.rows, child)

    def _own(self, instance: Pass, op: ir.Operation) -> None:
        def work() -> None:
            try:
                if op.name == "builtin.module":
                    instance.run(self._module)
                else:
                    instance.run_on_function(op)  # type: ignore[attr-defined]  # `_step` checked it
            except RecursionError:
                too_deep = nesting.check_program(self._module)
                if too_deep is None:
                    raise
                raise PassFailure.of((too_deep,)) from None
            if not instance.keeps_analyses:
                analyses.forget()
            if self._verify and self._verify_each:
                _verify(op)

        _timed(instance, instance.name, work, op, self._hooks)
        if self._verify and not self._verify_each:
            self._last = instance.name

    def _mlir(self, anchor: str, text: str, op: ir.Operation) -> None:
        if self._last is not None:
            _naming(self._last, op.verify)
        manager = _manager(op.context, f"{anchor}({text})", self._verify_each)

        def work() -> None:
            mlir_crashes.refuse(text, op)
            if not self._mended:  # once: no pass makes what is mended
                self._mended = mlir_crashes.mend(text, self._module.operation)
            manager.run(op)
            analyses.forget()

        _timed(text, text, work, op, self._hooks)
        if self._verify and not self._verify_each:
            self._last = text

    def finish(self) -> None:
        """Verify what was not after the pass that made it."""
        if self._last is not None:
            _naming(self._last, lambda: _verify(self._module.operation))


@cache
def _is_nest_of_mlirs(step: Step) -> bool:
    return isinstance(step, Nest) and all(isinstance(s, MlirPass) or _is_nest_of_mlirs(s) for s in step.steps)


def _joined(steps: Sequence[Step]) -> tuple[Step, ...]:
    found: list[Step] = []
    for step in steps:
        if not isinstance(step, MlirPass) and not _is_nest_of_mlirs(step):
            found.append(step)
        elif found and isinstance(found[-1], MlirPass):
            found[-1] = MlirPass(f"{found[-1]},{step}")
        else:
            found.append(MlirPass(str(step)))
    return tuple(found)


def _children(op: ir.Operation, name: str) -> list[ir.Operation]:
    below = [view.operation for region in op.regions for block in region.blocks for view in block.operations]
    return [child for child in below if name == "any" or child.name == name]


def _verify(op: ir.Operation) -> None:
    op.verify()  # raises MLIRError with the diagnostics
    broken = ops.verify(op)
    if broken:
        raise PassFailure.of(broken)


def _manager(context: ir.Context, text: str, verify_each: bool) -> passmanager.PassManager:
    kept = _managers.setdefault(context, {})
    found = kept.get((text, verify_each))
    if found is None:
        found = kept[text, verify_each] = passmanager.PassManager.parse(text, context)
        found.enable_verifier(verify_each)
    return found


def _timed(shown: object, name: str, work: Callable[[], None], op: ir.Operation, hooks: Sequence[Hook]) -> None:
    """Do the work of a pass. `str(shown)`: the pass with its options."""
    if not hooks:
        _naming(name, work)
        return
    text = str(shown)
    for hook in hooks:
        hook.before(text, op)
    start = time.perf_counter()
    try:
        _naming(name, work)
    except Exception:
        for hook in hooks:
            hook.failed(text, op, time.perf_counter() - start)
        raise
    for hook in hooks:
        hook.after(text, op, time.perf_counter() - start)


def _naming(name: str, work: Callable[[], None]) -> None:
    """Do the work of a pass; what it cannot do is its PassFailure."""
    deadline.check()
    try:
        work()
    except PassFailure as e:
        e.pass_name = e.pass_name or name
        raise
    except ir.MLIRError as e:
        failure = _failure_of(e)
        failure.pass_name = name
        raise failure from e


def _failure_of(error: ir.MLIRError) -> PassFailure:
    failure = PassFailure(None, str(error).strip())
    failure.diagnostics = diagnostics.from_error(error)
    return failure
