"""What the tests of both entries share: a table with a recording `slow`, and a few version records."""

from __future__ import annotations

from typing import Any

import numpy as np
from entry_kernels import INT, array, scalar, version

from tierup.dialect.facts.dims import symbol
from tierup.lowering.base.abi import ResultKind, ResultSpec
from tierup.lowering.entry.records import Form, Inputs, VersionRecord
from tierup.runtime.arguments.guards import explain
from tierup.runtime.dispatching.dispatch import DispatchTable, make_table, native_unavailable

S = symbol("s0")


class Slow:
    """Records what it is called with and answers "slow"."""

    def __init__(self) -> None:
        self.calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def __call__(self, *args: Any, **kwargs: Any) -> str:
        self.calls.append((args, kwargs))
        return "slow"


class Bench:
    """A table of one entry with its callable and a recording `slow`."""

    def __init__(self, entry: str, inputs: int | Inputs, *versions: VersionRecord, failed: Any = None) -> None:
        self.slow = Slow()
        self.table: DispatchTable = make_table(inputs, self.slow, failed, entry=entry)
        assert self.table.entry == entry, native_unavailable()
        for v in versions:
            self.table.add(v)
        self.call = self.table.callable()

    def hits(self, *args: Any) -> bool:
        """Whether a version takes these arguments; the explanation must say the same."""
        before = self.table.counts()
        self.call(*args)
        after = self.table.counts()
        assert (after.hits - before.hits) + (after.misses - before.misses) == 1
        hit = after.hits > before.hits
        assert hit == any(explain(v, args) is None for v in self.table.versions)
        return hit


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def alias(argument: int) -> ResultSpec:
    return ResultSpec(ResultKind.ALIAS, argument=argument)


def view(argument: int, sizes: tuple[Any, ...], strides: tuple[Any, ...], offset: Any = 0, dtype: str = "f32") -> ResultSpec:
    return ResultSpec(ResultKind.VIEW, dtype, sizes, argument, offset, strides)


def increment(strided: bool = False, *others: Any) -> VersionRecord:
    write_back = ResultSpec(ResultKind.ARGUMENT, "f32", (S,), argument=0)
    return version("increment", [array("s0", strided=strided), scalar("int"), *others], INT, write_back)


def scalars_bench(entry: str) -> Bench:
    results = (INT, ResultSpec(ResultKind.SCALAR, "float"), ResultSpec(ResultKind.SCALAR, "bool"))
    return Bench(entry, 3, version("scalars", [scalar("int"), scalar("float"), scalar("bool")], *results, form=Form.TUPLE))
