"""The traced programs, recorded on arrays and taken through named pipelines; their structure in short; what tier 0 of them gives."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.profiled import Fact, Profiled
from tierup.dialect.ir.walking import function_names, walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import parse, pipeline
from tierup.runtime.compiling.regions import recorder_of, with_facts
from tierup.runtime.interpreter.translate import translate

HERE = Path(__file__).parent
_SILENT = (
    "torch.constant.", "torch.tensor_static_info_cast", "torch.symbolic_int", "torch.bind_symbolic_shape", "tierup.yield", "func.return",
    "torch.prim.If.yield", "torch.prim.Loop.condition",
)  # fmt: skip
_SHORT = {"tierup.check": "check", "tierup.check_shapes": "check", "tierup.check_requires_grad": "check_requires_grad"}


def program(name: str) -> str:
    """The text of a traced program."""
    return (HERE / f"{name}.mlir").read_text()


class Trace:
    """A traced program, recorded; `run` takes it through pipelines. `prepare` names those before the records.

    Recorded is what `examples` were; what `record` says of a profile, where no run can be had.
    """

    def __init__(
        self,
        name: str,
        *examples: list[Any],
        prepare: Sequence[str] = ("profiling-insensitive", "instrument"),
        record: Callable[[ir.Operation], Fact | None] | None = None,
    ) -> None:
        self.name = name
        module = parse_module(program(name))
        for step in prepare:
            _run(module, step)
        facts: dict[int, Fact | None] = {}
        if examples:
            recorder = translate(module, name, record=True)
            for example in examples:
                recorder.call(*copy.deepcopy(example), record=recorder_of(facts))
        if record is not None:
            for op in walk(function_names(module)[name]):
                if op.name == "tierup.profile":
                    slot = ir.IntegerAttr(op.attributes["slot"]).value
                    facts[slot] = record(op) if slot not in facts else facts[slot]
        self.profiled = with_facts(str(module), name, facts)

    def run(self, *steps: str) -> Stage:
        """The recorded program after these pipelines and passes."""
        module = parse_module(self.profiled)
        for step in steps:
            _run(module, step)
        return Stage(self.name, str(module))


def _run(module: ir.Module, step: str) -> None:
    (parse(step) if step.startswith("tierup-") else pipeline(step)).run(module)


class Stage:
    """A program between passes. `shape`: its structure in short."""

    def __init__(self, name: str, text: str) -> None:
        self.name, self.text = name, text

    @property
    def shape(self) -> str:
        """One word for each op of the entry that is not a constant or a type: `check/3` checks three values, `group[4]` has four ops,
        `call` calls a fallback; branches and loops show what is in them. A packed group has the ops of its forward function."""
        module = parse_module(self.text)
        functions = function_names(module)
        return " ".join(_words(functions[self.name].regions[0].blocks[0], functions))

    def others(self, attribute: str) -> int:
        """How many functions of the module carry an attribute: `tierup.fallback`, `tierup.continuation`."""
        module = parse_module(self.text)
        return sum(attribute in func.attributes for func in function_names(module).values())

    def call(self, *arguments: Any) -> tuple[Any, int]:
        """What tier 0 of the entry gives, and how many fallbacks it called."""
        module = parse_module(self.text)
        called = 0

        def site(name: str) -> Callable[..., Any]:
            def call(*operands: Any) -> Any:
                nonlocal called
                called += 1
                return translate(module, name).call(*operands)

            return call

        names = [n for n, func in function_names(module).items() if "tierup.fallback" in func.attributes]
        return translate(module, self.name, sites={n: site(n) for n in names}).call(*copy.deepcopy(arguments)), called


def _words(block: ir.Block, functions: Mapping[str, ir.Operation]) -> list[str]:
    words = []
    for view in block.operations:
        op = view.operation
        if op.name.startswith(_SILENT):
            continue
        if op.name in _SHORT:
            words.append(f"{_SHORT[op.name]}/{len(op.operands)}")
        elif op.name == "tierup.bailout":
            words.append("bailout")
        elif op.name in ("tierup.fusion_group", "tierup.differentiable"):
            body = op.regions[0].blocks[0]
            if body.operations[0].name == "func.call":
                body = functions[ir.FlatSymbolRefAttr(body.operations[0].attributes["callee"]).value].regions[0].blocks[0]
            inside = _words(body, functions)
            words.append(f"{'group' if op.name.endswith('group') else 'differentiable'}[{len(inside)}]")
        elif op.name == "func.call":
            words.append("call")
        elif op.name in ("torch.prim.If", "torch.prim.Loop"):
            arms = [" ".join(_words(region.blocks[0], functions)) for region in op.regions]
            words.append(f"{op.name.removeprefix('torch.prim.')}{{{'}{'.join(arms)}}}")
        else:
            words.append(re.sub(r"^(torch\.aten|torch\.prim|tierup)\.", "", op.name).partition(".")[0])
    return words


def wants_gradients(op: ir.Operation) -> Profiled:
    """A record of a tensor that required a gradient."""
    return Profiled(dtype=dtypes.BY_NAME["f32"], sizes=(4, 8), requires_grad=True, defined=True)


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def argument_name(value: ir.Value) -> str | None:
    """The name of an argument of a function; None for other values."""
    if not isinstance(value.owner, ir.Block) or value.owner.owner.operation.name != "func.func":
        return None
    given = ir.ArrayAttr(value.owner.owner.operation.attributes["arg_attrs"])[ir.BlockArgument(value).arg_number]
    return ir.StringAttr(ir.DictAttr(given)["tierup.name"]).value
