"""Programs with guards at every use, bailouts and continuations, run in tier 0 with every assumption lost at every evaluation."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

from frontend_oracle import graph
from spine_harness import assert_same

from tierup.dialect.facts import profiled
from tierup.dialect.facts.profiled import Fact
from tierup.dialect.ir.attributes import profiled_attr
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import functions, parse
from tierup.runtime.base.errors import GuardFailed
from tierup.runtime.interpreter.translate import translate

VALUES = "inline{default-pipeline=},tierup-functionalize"
BAILOUTS = "tierup-insert-bailouts,tierup-build-bailout-continuations"


def text_of(function: Callable[..., Any], *arguments: Any) -> tuple[str, str]:
    """A Python function's graph and its entry."""
    built, _, _ = graph(function, *arguments, ranks=False)
    return str(built.module), built.entry


class Guarded:
    """A program as values, profiled at each use on `examples`, guarded. `steps`: what runs on the guards before bailouts are made."""

    def __init__(
        self, text: str, entry: str, examples: list[list[Any]], *, profile: str = "uses", guards: str = "", steps: str = "", verify: bool = True
    ) -> None:
        self.entry = entry
        self.module = parse_module(text)
        parse(VALUES).run(self.module)
        self.plain = translate(self.module, entry)
        parse(f"tierup-insert-profiling{{{profile}}},tierup-verify-profiled").run(self.module)
        self._record(examples)
        self.check = "tierup-verify-guarded" if verify else ""
        self._run(f"tierup-insert-guards{{{guards}}}", self.check)
        self.guards = self._count("tierup.guard")
        if steps:
            self._run(steps, self.check)
        self.left = self._count("tierup.guard")
        self.guarded = str(self.module)
        self._run("tierup-insert-bailouts", self.check, "tierup-build-bailout-continuations", self.check)
        assert self._count("tierup.guard") == 0
        self.tier0 = translate(self.module, entry, fail=True)

    def _run(self, *steps: str) -> None:
        parse(",".join(s for s in steps if s)).run(self.module)

    def _count(self, name: str) -> int:
        return sum(op.name == name for func in functions(self.module.operation) for op in walk(func))

    def _record(self, examples: list[list[Any]]) -> None:
        recorder = translate(self.module, self.entry, record=True)
        facts: dict[int, Fact | None] = {}

        def record(slot: int, value: object) -> None:
            seen = profiled.observe(value)
            if slot >= 0 and seen is not None:
                before = facts.get(slot, seen)
                facts[slot] = None if before is None else profiled.join(before, seen)

        for example in examples:
            recorder.call(*copy.deepcopy(example), record=record)
        for func in functions(self.module.operation):
            for op in [op for op in walk(func) if op.name == "tierup.profile"]:
                fact = facts.get(ir.IntegerAttr(op.attributes["slot"]).value)
                if fact is not None:
                    op.attributes["profiled"] = profiled_attr(fact, self.module.context)

    def outcome(self, arguments: list[Any], fail: Callable[[str, int], bool]) -> Any:
        """What the guarded program gives, or the exception."""
        try:
            return self.tier0.call(*copy.deepcopy(arguments), fail=fail)
        except GuardFailed:
            raise
        except Exception as e:  # noqa: BLE001 - whatever it is, the plain program must raise it too
            return e

    def wanted(self, arguments: list[Any]) -> Any:
        """What the plain program gives, or the exception."""
        try:
            return self.plain.call(*copy.deepcopy(arguments))
        except Exception as e:  # noqa: BLE001
            return e

    def evaluations(self, arguments: list[Any]) -> list[tuple[str, int]]:
        """The guards that a run passes, each time it does."""
        seen: list[tuple[str, int]] = []

        def fail(site: str, evaluation: int) -> bool:
            seen.append((site, evaluation))
            return False

        self.outcome(arguments, fail)
        return seen

    def losing_each(self, arguments: list[Any]) -> Iterator[tuple[tuple[str, int], Any]]:
        """Runs in which one assumption is lost, once: which, and what came out. That it was lost there is checked."""
        for lost in self.evaluations(arguments):
            taken: list[tuple[str, int]] = []

            def fail(site: str, evaluation: int, lost: tuple[str, int] = lost, taken: list[tuple[str, int]] = taken) -> bool:
                taken.append((site, evaluation))
                return (site, evaluation) == lost

            got = self.outcome(arguments, fail)
            assert taken[-1] == lost, f"after {lost} was lost, {taken[-1]} was asked: the continuation is specialised"
            yield lost, got

    def assert_same_wherever_lost(self, arguments: list[Any]) -> int:
        """Every run that loses one assumption gives what the plain program gives; how many there were."""
        want = self.wanted(arguments)
        assert_same(self.outcome(arguments, lambda site, evaluation: False), want, "no assumption forced")
        runs = 0
        for lost, got in self.losing_each(arguments):
            assert_same(got, want, f"lost at {lost}")
            runs += 1
        return runs
