"""The native entry: dispatch tables whose guards and results are generated code that CPython calls directly.

`runtime/dispatching/dispatch.py` has the same table in Python and chooses between the two.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from tierup.lowering.entry import layout
from tierup.lowering.entry.jit import code
from tierup.lowering.entry.live import live_values
from tierup.lowering.entry.records import (
    AttributeSource,
    CellSource,
    GlobalSource,
    Inputs,
    Positional,
    SlowCause,
    Source,
    TableCallable,
    TableCounts,
    VersionRecord,
)
from tierup.lowering.entry.tables import reaper as entry_reaper
from tierup.lowering.entry.tables import types as entry_types
from tierup.lowering.entry.tables.chain import NativeChain
from tierup.lowering.entry.tables.plan import NativeRow
from tierup.lowering.entry.tables.versions import Versions

make_function_type = entry_types.make_function_type


@cache
def _callable_type() -> type[TableCallable]:
    return make_function_type(TableCallable)


def _handing_over(failed: Callable[..., Any]) -> Callable[..., Any]:
    """What the dispatcher calls when a kernel left: `failed` with the live values in place of their address."""

    def left(record: VersionRecord, status: int, flat: tuple[Any, ...], address: int) -> Any:
        return failed(record, status, flat, live_values(record, status, flat, address))

    return left


class NativeTable(Versions[NativeRow]):
    """A dispatch table. See `runtime.dispatch.make_table` for the meaning of the arguments.

    Its structures are read by generated code under the GIL; changes swap one pointer, so calls in other threads go on with
    the chain that they started with. Versions that a call still uses are kept until it is over.
    """

    entry = "native"
    row = NativeRow

    def __init__(self, inputs: Inputs, slow: Callable[..., Any], failed: Callable[..., Any] | None = None) -> None:
        self._slow = slow
        self._code = code()
        self._retired: list[NativeRow] = []
        self._retired_hits = self._retired_failures = 0
        self._keep: list[object] = []
        self._struct = t = layout.Table()
        super().__init__(inputs, None if failed is None else _handing_over(failed))
        t.n_positional, t.slow, t.failed = inputs.n_positional, id(slow), None if failed is None else id(self._failed)
        if not inputs.plain:
            self._read_hidden(inputs)

    @property
    def probe_kernel(self) -> int:
        """The address of `entry_probe`'s kernel."""
        return self._code.probe_kernel

    # counters

    def hits(self, record: VersionRecord) -> int:
        """How many calls the version's guards held for. Raises ValueError for a version that is not in the table."""
        return int(self._find(record).struct.hits)

    def total_hits(self) -> int:
        """`counts().hits`."""
        return int(self._retired_hits + sum([v.struct.hits for v in self._rows]) + sum([v.struct.hits for v in self._retired]))

    def counts(self) -> TableCounts:
        """What became of the calls so far."""
        live = (*self._rows, *self._retired)
        return TableCounts(
            hits=self._retired_hits + sum(v.struct.hits for v in live),
            failures=self._retired_failures + sum(v.struct.failures for v in live),
            slow={cause: int(self._struct.slow_calls[cause]) for cause in SlowCause},
        )

    # callables

    def attach(self, function: Any) -> None:
        """Let an instance of a `make_function_type` class run this table when it is called."""
        entry_types.attach(function, self, ctypes.addressof(self._struct), self._code)

    def callable(self) -> TableCallable:
        """A new object whose calls run this table; the cheapest there is."""
        made = _callable_type()(self)
        self.attach(made)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the table once; for many calls, `callable()` is cheaper."""
        return self.callable()(*args, **kwargs)

    def take_tensors(self, always: bool = False) -> str | None:
        """Let calls with PyTorch's tensors run versions, which give tensors then; why that cannot be, or None. Imports PyTorch.

        The table's first flat arguments are the positional ones. What is not a plain tensor is answered by `slow`, and so is an array
        beside tensors. `always`: all calls give tensors, also those of numbers alone, and `slow` answers calls with arrays.
        """
        from tierup.lowering.entry import tensor_probe  # here: it imports PyTorch

        reason = tensor_probe.unavailable(NativeTable)
        if reason is None:
            self._struct.gives_tensors = always
            self.set_tensors(tensor_probe.address(NativeTable))
        return reason

    def set_tensors(self, address: int) -> None:
        """`take_tensors` with a Tensors of the caller's; for the probe."""
        self._struct.tensors = address

    # the rest is private

    def _set(self, rows: tuple[NativeRow, ...]) -> None:
        # The dispatcher reads the pointer under the GIL and never beyond the point where it has counted itself into a version,
        # so the old chain (not its versions) may go at once.
        chain = NativeChain(rows)
        self._struct.chain = chain.address
        self._chain = chain
        super()._set(rows)

    def _unused(self, gone: NativeRow | None) -> object:
        if gone is not None:
            self._retired.append(gone)
        return self._release()

    def release(self) -> None:
        """Let go of removed versions that no call uses any more."""
        with self._lock:
            done = self._release()
        del done

    def _release(self) -> list[NativeRow]:
        """Those that no call uses any more. They are to go when the lock is free: LLVM, which has one of its own, frees their code."""
        waiting, done = [], []
        for version in self._retired:
            if version.struct.in_flight:
                waiting.append(version)
            else:
                done.append(version)
                self._retired_hits += version.struct.hits
                self._retired_failures += version.struct.failures
        self._retired = waiting
        if waiting:
            entry_reaper.watch(self)
        return done

    def _read_hidden(self, inputs: Inputs) -> None:
        loads: list[tuple[int, int, int, int]] = []
        slots: dict[tuple[int, int, int, int], int] = {}

        def slot_of(source: Source) -> int:
            if isinstance(source, Positional):
                return source.index
            load = self._load_of(source, slot_of)
            if load not in slots:
                loads.append(load)
                slots[load] = inputs.n_positional + len(loads) - 1
            return slots[load]

        flat = [slot_of(s) for s in inputs.sources]
        constants = [(slot_of(c.source), id(c.value), -1 if c.same is None else slot_of(c.same)) for c in inputs.constants]
        t = self._struct
        t.flat, t.n_flat = self._array((ctypes.c_int64 * max(1, len(flat)))(*flat)), len(flat)
        t.loads, t.n_loads = self._array((layout.Load * max(1, len(loads)))(*(layout.Load(*i) for i in loads))), len(loads)
        guards = (layout.ConstantGuard * max(1, len(constants)))(*(layout.ConstantGuard(*i) for i in constants))
        t.constants, t.n_constants = self._array(guards), len(constants)

    def _load_of(self, source: Any, slot_of: Callable[[Source], int]) -> tuple[int, int, int, int]:
        if isinstance(source, GlobalSource):
            return (layout.LoadKind.GLOBAL, 0, id(source.namespace), self._name(source.name))
        if isinstance(source, CellSource):
            return (layout.LoadKind.CELL, 0, id(source.cell), 0)
        if isinstance(source, AttributeSource):
            return (layout.LoadKind.ATTRIBUTE, slot_of(source.of), 0, self._name(source.name))
        raise TypeError(f"not a source of an argument: {source!r}")

    def _name(self, name: str) -> int:
        interned = sys.intern(name)
        self._keep.append(interned)
        return id(interned)

    def _array(self, memory: Any) -> int:
        self._keep.append(memory)
        return ctypes.addressof(memory)
