"""Runs of a program through the passes of the spine: recorded, specialised, grouped, checked, cleared, outlined.

Tier 0 runs the program before and after each pass; checks tell which side ran.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np

from tierup.dialect.facts import profiled
from tierup.dialect.facts.profiled import Fact, Profiled
from tierup.dialect.ir.attributes import profiled_attr
from tierup.dialect.ir.walking import walk
from tierup.dialect.language import ops
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes.pipelines.default import VERSIONED
from tierup.dialect.passes.registry import functions, parse, pipeline
from tierup.runtime.interpreter.translate import translate

OK_SLOT = 1_000_000  # where the answers of checks are recorded


class Spine:
    """A program (MLIR text) with an entry; `examples` are the calls it is recorded on.

    `symbolic`: sizes that differ between the examples become symbols, each its own. `fuse`: options of tierup-fuse-groups instead.
    """

    def __init__(self, text: str, entry: str, examples: list[list[Any]], *, symbolic: bool = False, min_group_size: int = 2, fuse: str = "") -> None:
        self.entry = entry
        module = parse_module(text)
        pipeline("profile").run(module)
        self.values = str(module)
        recorder = translate(module, entry, record=True)
        facts: dict[int, Fact | None] = {}

        def record(slot: int, value: object) -> None:
            seen = profiled.observe(value)
            if slot >= 0 and seen is not None:
                before = facts.get(slot, seen)
                facts[slot] = None if before is None else profiled.join(before, seen)

        for example in examples:
            recorder.call(*copy.deepcopy(example), record=record)
        for func in functions(module.operation):
            if ir.StringAttr(func.attributes["sym_name"]).value != entry:
                continue
            for op in walk(func):
                slot = ir.IntegerAttr(op.attributes["slot"]).value if op.name == "tierup.profile" else None
                fact = facts.get(slot) if slot is not None else None
                if fact is not None:
                    op.attributes["profiled"] = profiled_attr(_named(fact, slot) if symbolic else fact, module.context)
        self.stages: dict[str, str] = {"profiled": str(module)}
        names = [step.partition("{")[0] for step in VERSIONED.steps]
        fuse_step = f"tierup-fuse-groups{{{fuse or f'min-group-size={min_group_size}'}}}"
        for step in VERSIONED.steps:
            name = step.partition("{")[0]
            parse(step if name != "tierup-fuse-groups" else fuse_step).run(module)
            once = str(module)
            if name in names[names.index("tierup-fuse-groups") :]:
                parse(step if name != "tierup-fuse-groups" else fuse_step).run(module)
                assert str(module) == once, f"{name} run twice"
            self.stages[name] = once
            if self.is_checked(name):
                parse("tierup-verify-guarded").run(module)

    @property
    def final(self) -> str:
        return self.stages["tierup-explicit-promotion"]

    @staticmethod
    def is_checked(stage: str) -> bool:
        names = [step.partition("{")[0] for step in VERSIONED.steps]
        return stage in names[names.index("tierup-insert-checks") :]

    @staticmethod
    def takes_anything(stage: str) -> bool:
        names = [step.partition("{")[0] for step in VERSIONED.steps]
        return stage in names[names.index("tierup-clear-specializations") :]

    def outcome(self, text: str, arguments: list[Any]) -> tuple[Any, list[bool]]:
        """What tier 0 of a stage gives or raises, and the answers of the checks that ran."""
        module = parse_module(text)
        checks = [op for func in functions(module.operation) for op in walk(func) if op.name == "tierup.check"]
        for op in checks:
            with module.context:
                ops.profile(op.results[len(op.results) - 1], OK_SLOT, loc=op.location, ip=ir.InsertionPoint.after(op))
        answers: list[bool] = []
        tier0 = translate(module, self.entry, record=True)

        def record(slot: int, value: Any) -> None:
            if slot == OK_SLOT:
                answers.append(value)

        try:
            return tier0.call(*copy.deepcopy(arguments), record=record), answers
        except Exception as e:  # noqa: BLE001 - whatever it is, both sides must raise it
            return e, answers

    def assert_same(self, arguments: list[Any], *, as_recorded: bool = False) -> list[bool]:
        """Every stage gives what the values' graph gives; the answers of the checks in the last stage. Before types are cleared a
        function takes only arguments like those it was recorded on: `as_recorded` says that these are."""
        want, _ = self.outcome(self.values, arguments)
        answers: list[bool] = []
        for name, text in self.stages.items():
            if name == "profiled" or (not as_recorded and not self.takes_anything(name)):
                continue
            got, answers = self.outcome(text, arguments)
            assert_same(got, want, name, rounding=name == "tierup-explicit-promotion")
        return answers


def _named(fact: Fact, slot: int) -> Fact:
    if not isinstance(fact, Profiled) or fact.sizes is None:
        return fact
    return replace(fact, sizes=tuple(f"s{slot}_{i}" if s is None else s for i, s in enumerate(fact.sizes)), strides=None)


def assert_same(got: Any, want: Any, where: str, *, rounding: bool = False) -> None:
    """Equal to the bit, when both ran the same kernels on the same values. `rounding`: torch's kernels stand for NumPy's, which sum
    in another order and word their errors otherwise."""
    if isinstance(want, Exception):
        same = rounding or str(got) == str(want)
        assert type(got) is type(want) and same, f"{where}: {got!r} for {want!r}"
    elif isinstance(want, (tuple, list)):
        assert isinstance(got, type(want)) and len(got) == len(want), f"{where}: {got!r} for {want!r}"
        for g, w in zip(got, want, strict=True):
            assert_same(g, w, where, rounding=rounding)
    elif isinstance(want, np.ndarray):
        assert isinstance(got, np.ndarray) and got.dtype == want.dtype and got.shape == want.shape, f"{where}: {got!r} for {want!r}"
        if rounding and want.dtype.kind not in "iub":
            got, want = got.astype(np.float64), want.astype(np.float64)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5, err_msg=where)
        else:
            np.testing.assert_array_equal(got, want, err_msg=where)
    else:
        assert type(got) is type(want) and (got == want or (got != got and want != want)), f"{where}: {got!r} for {want!r}"
