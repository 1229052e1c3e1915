"""Stages of a program: what it is when a pass finds it, and which calls and which contract hold there.

Each stage is the one before and some passes more; a stage that a pass refuses with a message of its own is not there for that program.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from graph_oracle import ENTRY
from random_graph_strategy import Program

from tierup.dialect.analysis.requires_grad import set_argument_states
from tierup.dialect.facts import profiled
from tierup.dialect.facts.profiled import Fact
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir.attributes import profiled_attr
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import PassFailure, functions, parse
from tierup.runtime.interpreter.translate import translate


@dataclass(frozen=True)
class Stage:
    """`after` is the stage before it, `passes` what comes on top, then `then`. `contract`: its verifier. `anything`: it may be called on
    other arguments than those that it was recorded on; `memory`: on arguments that overlap."""

    name: str
    contract: str
    after: str = ""
    passes: str = ""
    then: Callable[[ir.Module, Program], None] | None = field(default=None, repr=False)
    anything: bool = True
    memory: bool = False


def record(module: ir.Module, program: Program) -> None:
    """Put into the profiles what the program's calls show; nothing where a call raises before."""
    recorder = translate(module, ENTRY, record=True)
    facts: dict[int, Fact | None] = {}

    def see(slot: int, value: object) -> None:
        seen = profiled.observe(value)
        if slot >= 0 and seen is not None:
            before = facts.get(slot, seen)
            facts[slot] = None if before is None else profiled.join(before, seen)

    for call in program.calls():
        try:
            with np.errstate(all="ignore"):
                recorder.call(*copy.deepcopy(call), record=see)
        except Exception:  # noqa: BLE001, S112 - a run that raises has shown what it showed
            continue
    for func in functions(module.operation):
        if ir.StringAttr(func.attributes["sym_name"]).value != ENTRY:
            continue
        for op in [op for op in walk(func) if op.name == "tierup.profile"]:
            fact = facts.get(ir.IntegerAttr(op.attributes["slot"]).value)
            if fact is not None:
                op.attributes["profiled"] = profiled_attr(fact, module.context)


def require_gradients(module: ir.Module, program: Program) -> None:
    """Say of floating tensors among the arguments that they require a gradient, or that they do not."""
    entry = next(iter(functions(module.operation)))
    known = [isinstance(v, Tensor) and v.dtype is not None and v.dtype.is_float for v in program.arguments]
    states = [((program.seed + i) % 3 != 0) if is_float else None for i, is_float in enumerate(known)]
    with module.context:
        set_argument_states(entry, states)


_VALUES = "inline{default-pipeline=},tierup-functionalize"
STAGES = {
    stage.name: stage
    for stage in (
        Stage("graph", "graph", memory=True),
        Stage("values", "graph", "graph", _VALUES),
        Stage("profiled", "profiled", "values", "tierup-insert-profiling", record),
        Stage("uses", "profiled", "values", "tierup-insert-profiling{uses}", record),
        Stage("guarded", "guarded", "uses", "tierup-insert-guards"),
        Stage("bailouts", "guarded", "guarded", "tierup-insert-bailouts"),
        Stage("typed", "guarded", "profiled", "tierup-specialize-types{numbers=false},tierup-infer-types{keep-branches=true}", anything=False),
        Stage("grouped", "guarded", "typed", "tierup-fuse-groups", anything=False),
        Stage("checked", "guarded", "grouped", "tierup-insert-checks", anything=False),
        Stage("cleared", "guarded", "checked", "tierup-clear-specializations"),
        Stage("outlined", "guarded", "cleared", "tierup-outline-fallbacks"),
        Stage("gradients", "graph", "values", "", require_gradients),
        Stage("differentiable", "graph", "gradients", "tierup-create-differentiable-subgraphs"),
        Stage("differentiated", "graph", "differentiable", "tierup-differentiate{undo=true}"),
    )
}


class Refused(Exception):
    """A pass says that it cannot take the program."""


def build(program: Program, name: str) -> str:
    """The text of a program at a stage. Raises Refused."""
    key = (program.text, program.seed, name)
    if key not in _built:
        if len(_built) > 200:
            _built.clear()
        _built[key] = _build(program, STAGES[name])
    found = _built[key]
    if isinstance(found, Refused):
        raise found
    return found


_built: dict[tuple[str, int, str], str | Refused] = {}


def _build(program: Program, stage: Stage) -> str | Refused:
    if not stage.after:
        return program.text
    try:
        module = parse_module(build(program, stage.after))
    except Refused as e:
        return e
    try:
        if stage.passes:
            parse(stage.passes).run(module)
    except PassFailure as e:
        return Refused(str(e))
    if stage.then is not None:
        stage.then(module, program)
    return str(module)


def calls(program: Program, stage: Stage) -> list[list[Any]]:
    """The calls that a stage of the program must answer as the program does."""
    return [
        *program.calls(), *(program.other_shapes() if stage.anything else []), *(program.overlapping() if stage.memory else [])
    ]  # fmt: skip
