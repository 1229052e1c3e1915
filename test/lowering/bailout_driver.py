"""A program with bailouts as native code behind a dispatch table, its continuations in tier 0; each assumption lost at each evaluation."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from frontend_oracle import graph
from guard_harness import BAILOUTS, Guarded, text_of
from kernel_harness import spec_of
from spine_harness import assert_same

from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import parse
from tierup.lowering.artifacts.load import load
from tierup.lowering.base.abi import ERROR_BASE, EXIT_BASE, Request, ResultKind
from tierup.lowering.compiling.compile import compile
from tierup.lowering.entry.records import Form, VersionRecord
from tierup.runtime.arguments.trees import unflatten
from tierup.runtime.compiling.version import specialise
from tierup.runtime.dispatching.dispatch import make_table
from tierup.runtime.interpreter.translate import translate


class _Written:
    """A program whose guards stand in its text. Tier 0 of it with bailouts is what native code must agree with."""

    def __init__(self, text: str, name: str) -> None:
        self.module = parse_module(text)
        self.guarded = text
        parse(BAILOUTS).run(self.module)
        self.plain = translate(self.module, name)

    def wanted(self, arguments: list[Any]) -> Any:
        return self.plain.call(*copy.deepcopy(arguments))


class Native:
    """`function` (Python, or MLIR text with guards and an entry), guarded as `examples` were, compiled for arguments like `specimen`. `left`: for each
    call of a continuation the bailout and the live values; error sites have None for live values."""

    def __init__(
        self,
        function: Callable[..., Any] | tuple[str, str],
        examples: list[list[Any]],
        specimen: list[Any],
        *,
        sizes: Sequence[Any] | None = None,
        force: bool = False,
        **guards: Any,
    ) -> None:
        self.function = function if callable(function) else None
        text, self.name = text_of(function, *examples[0]) if callable(function) else function
        self.output = graph(function, *examples[0], ranks=False)[0].output if callable(function) else None
        self.program: Any = Guarded(text, self.name, examples, **guards) if examples else _Written(text, self.name)
        module = parse_module(self.program.guarded)
        parse("tierup-insert-bailouts").run(module)
        specs = tuple(spec_of(v, None if sizes is None else sizes[i]) for i, v in enumerate(specimen))
        typed = specialise(module.operation.get_asm(enable_debug_info=True), self.name, specs)
        self.artifact, self.code, self.record = self.load(Request(typed, self.name, specs, force=force))
        self.written = [r.argument for r in self.artifact.results if r.kind in (ResultKind.ARGUMENT, ResultKind.WRITTEN)]
        self.tables = [make_table(len(specimen), self._missed, self._failed, entry=entry) for entry in self.entries]
        for table in self.tables:
            table.add(self.record)
        self.left: list[tuple[int, tuple[Any, ...] | None]] = []
        self._continuations: dict[int, Any] = {}

    entries = ("native", "python")

    @staticmethod
    def load(request: Request) -> tuple[Any, Any, VersionRecord]:
        """Artifact, code and version of a request."""
        artifact = compile(request)
        code = load(artifact)
        record = VersionRecord(
            request.arguments, artifact.results, code.address, keepalive=code, form=Form.TUPLE, scalars=False, exits=artifact.exits
        )
        return artifact, code, record

    def _missed(self, *flat: Any) -> Any:
        raise AssertionError("the guards of the version do not fit the arguments")

    def _failed(self, record: VersionRecord, status: int, flat: tuple[Any, ...], live: tuple[Any, ...] | None) -> tuple[Any, ...]:
        assert record is self.record
        if live is None:
            self.left.append((status - ERROR_BASE, None))
            return self._publish(flat, _flat(self.program.plain.call(*flat)))
        index = status - EXIT_BASE
        self.left.append((index, live))
        return self._publish(flat, _flat(self.continuation(index).call(*live)))

    def continuation(self, index: int) -> Any:
        if index not in self._continuations:
            self._continuations[index] = translate(self.program.module, f"{self.name}_continuation_{index}")
        return self._continuations[index]

    def _publish(self, flat: tuple[Any, ...], found: tuple[Any, ...]) -> tuple[Any, ...]:
        """The user's results; what is written goes to the arguments, as an executor sees to it."""
        users = len(found) - len(self.written)
        for argument, value in zip(self.written, found[users:], strict=True):
            flat[argument][...] = value
        return found[:users]

    def __call__(self, arguments: list[Any], table: int = 0) -> tuple[Any, ...]:
        """The user's results, then the contents of written arguments: what tier 0 of the program as values gives."""
        self.left.clear()
        mine = copy.deepcopy(arguments)
        return (*self.tables[table](*mine), *(mine[i] for i in self.written))

    def assert_same(self, arguments: list[Any]) -> list[int]:
        """Both entries give what the plain program gives, and what NumPy gives; at which bailouts control left, -1 for an error site."""
        wanted = _flat(self.program.wanted(arguments))
        for table in range(len(self.tables)):
            got = self(arguments, table)
            assert_same(got, wanted, "against tier 0", rounding=True)
            if self.function is not None:
                oracle = _flat(self.function(*copy.deepcopy(arguments)))
                returned = _flat(unflatten(self.output, got))  # what is written comes after what is returned
                for value, expected in zip(returned, oracle, strict=True):
                    np.testing.assert_allclose(value, expected, rtol=1e-4, atol=1e-5)
        return [-1 if live is None else where for where, live in self.left]

    def losing_each(self, arguments: list[Any]) -> tuple[int, int]:
        """Fail every assumption at every evaluation, under both entries, and compare with the plain program; how often control left, and how often
        to an error site, where a live value may be an argument itself."""
        wanted = _flat(self.program.wanted(arguments))
        exits = errors = 0
        for site, evaluation in self.program.evaluations(arguments):
            index = int(site.rpartition(":")[2])
            self.code.force(index, evaluation)
            for table in range(len(self.tables)):
                got = self(arguments, table)
                assert len(self.left) == 1, f"{site} at {evaluation}: left {len(self.left)} times"
                assert_same(got, wanted, f"lost {site} at {evaluation}", rounding=True)
            where, live = self.left[0]
            if live is None:
                assert self.artifact.error_sites[where].op == "tierup.bailout"
                errors += 1
            else:
                assert where == index, f"{site} at {evaluation}: left at {where}"
                exits += 1
        self.code.force()
        return exits, errors


def _flat(found: Any) -> tuple[Any, ...]:
    return found if isinstance(found, tuple) else () if found is None else (found,)
