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
from tierup.lowering.entry.records import Inputs, Parameters, SlowCause, TableCallable, TableCounts, VersionRecord
from tierup.lowering.entry.tables import reaper as entry_reaper
from tierup.lowering.entry.tables import types as entry_types
from tierup.lowering.entry.tables.chain import NativeChain
from tierup.lowering.entry.tables.plan import NativeRow
from tierup.lowering.entry.tables.steps import Steps, pointers
from tierup.lowering.entry.tables.versions import Versions

_NAMELESS = object()  # in place of a name that no keyword has

make_function_type = entry_types.make_function_type


@cache
def _callable_type() -> type[TableCallable]:
    return make_function_type(TableCallable)


def _handing_over(failed: Callable[..., Any]) -> Callable[..., Any]:
    """What the dispatcher calls when a kernel left: `failed` with the live values in place of their address."""

    def left(record: VersionRecord, status: int, flat: tuple[Any, ...], address: int, /, *args: Any, **kwargs: Any) -> Any:
        return failed(record, status, flat, live_values(record, status, flat, address), *args, **kwargs)

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
        t.slow, t.failed, t.owner = id(slow), None if failed is None else id(self._failed), id(self)
        self._next: NativeTable | None = None
        self._bind(inputs, inputs.parameters or Parameters(("",) * inputs.n_positional, inputs.n_positional))

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
        entry_types.attach(function, self, ctypes.addressof(self._struct), self._code.dispatch)

    def callable(self) -> TableCallable:
        """A new object whose calls run this table; the cheapest there is."""
        made = _callable_type()(self)
        self.attach(made)
        return made

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
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

    def call_after(self, calls: int, due: Callable[..., Any]) -> None:
        """Let `due` answer the call behind so many from now on, and none after it."""
        self._due = due
        self._struct.due, self._struct.calls_left = id(due), calls + 1

    @property
    def calls_until_due(self) -> int:
        """How many calls there are still before the one that `due` answers; -1 where that was, or there is none."""
        return max(int(self._struct.calls_left), 0) - 1

    def follow(self, following: NativeTable | None) -> None:
        """Let another table try what this one has no answer to, before `slow`."""
        self._struct.next = None if following is None else ctypes.addressof(following._struct)
        self._next = following

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

    def _bind(self, inputs: Inputs, parameters: Parameters) -> None:
        t, n_flat = self._struct, len(inputs.sources)
        t.n_positional, t.n_parameters = parameters.n_positional, len(parameters.names)
        t.n_star, t.n_extra, t.n_flat = parameters.n_star, len(parameters.extra), n_flat
        t.n_own = min(n_flat, inputs.n_positional) if inputs.n_own is None else inputs.n_own
        t.n_exact = inputs.n_positional if t.n_parameters == t.n_positional and not t.n_extra else -1
        names = [sys.intern(name) if name else _NAMELESS for name in parameters.names]
        extra = [*map(sys.intern, parameters.extra)]
        t.names, t.extra = self._array(pointers(names)), self._array(pointers(extra))
        t.function = None if parameters.function is None else id(parameters.function)
        steps = Steps(inputs)
        self._keep += [parameters, steps, names, extra]
        t.n_steps, t.n_slots = len(steps.taken), steps.n_slots
        t.steps = self._array((layout.Step * max(1, t.n_steps))(*(layout.Step(*s) for s in steps.taken)))
        t.n_lists = len(steps.lists)
        t.lists = self._array((layout.ListRecord * max(1, t.n_lists))(*(layout.ListRecord(*each) for each in steps.lists)))
        if steps.taken or steps.flat != list(range(n_flat)):
            t.flat = self._array((ctypes.c_int64 * max(1, n_flat + t.n_lists))(*steps.flat))

    def _array(self, memory: Any) -> int:
        self._keep.append(memory)
        return ctypes.addressof(memory)
