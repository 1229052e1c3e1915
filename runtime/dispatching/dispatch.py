"""Dispatch tables: which compiled version takes a call. The choice of entry, and the entry in pure Python.

    table = make_table(3, slow, failed, entry="native")
    table.add(VersionRecord(arguments, results, address, keepalive=code))
    f = table.callable()
    f(a, b, c)            # a version's kernel, or slow(a, b, c)

`slow(*args, **kwargs)` answers every call that no version takes: what it was called with, keyword arguments included, is what the
user passed. `failed(record, status, flat, live)` answers a call whose kernel left with a status other than 0; `flat` is the tuple of flat
arguments that the kernel saw, hidden inputs included. No argument has been written then. At an exit (a status below ERROR_BASE: bailout
`status - EXIT_BASE` of `record.exits`) `live` is a tuple of the bailout's operands, for its continuation; at other statuses None. Where the
flat arguments are not those of the call, these follow. Without `failed`, `slow` is called.

The native entry is `entry/tables/table.py`; `PythonTable` here has the same semantics, for interpreters on which the native entry's
self-probe fails, for `options(entry="python")`, and as the readable account of what a dispatch is.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import evaluate
from tierup.lowering.base import abi
from tierup.lowering.base.abi import ArgumentKind, ResultKind, ResultSpec, live_words, scalar_bits
from tierup.lowering.entry.live import free, live_values, view
from tierup.lowering.entry.records import (
    RELEASE_WORK,
    AttributeSource,
    CellSource,
    Constant,
    Form,
    GlobalSource,
    Inputs,
    Positional,
    SlowCause,
    Source,
    TableCallable,
    TableCounts,
    VersionRecord,
    work_of,
)
from tierup.lowering.entry.tables.versions import Versions
from tierup.runtime.account import last_plan
from tierup.runtime.account.times import START_UP, During
from tierup.runtime.arguments.guards import Mismatch, fit
from tierup.runtime.base.errors import SlowEntryWarning
from tierup.runtime.base.once import Once, warn
from tierup.runtime.dispatching.dispatch_chain import HashedOrder
from tierup.runtime.faults import faults

if TYPE_CHECKING:
    from tierup.lowering.entry.tables.table import NativeTable

DispatchTable: TypeAlias = "PythonTable | NativeTable"

_said = Once()  # why calls are slow, to the process


def make_table(
    inputs: int | Inputs, slow: Callable[..., Any], failed: Callable[..., Any] | None = None, *, entry: str = "native"
) -> DispatchTable:
    """A new table. `inputs`: the number of positional arguments, or where the flat arguments come from.

    `entry`: "native" where this interpreter allows it (`native_unavailable` says why not, and so does one warning), else "python".
    """
    where = Inputs(inputs) if isinstance(inputs, int) else inputs
    with During(START_UP):  # the first one loads llvmlite
        reason = native_unavailable() if entry == "native" else None
    if reason is not None and _said.first(reason):
        text = f"a call takes some 30 us instead of 0.1, and gives the same: tierup's native entry is not used, since {reason}"
        warn(text, SlowEntryWarning)
    if entry == "native" and reason is None:
        from tierup.lowering.entry import last as entry_last
        from tierup.lowering.entry.tables.table import NativeTable  # here: loads llvmlite

        last_plan.watch_dispatcher(entry_last.cell)
        return NativeTable(where, slow, failed)
    if entry not in ("native", "python"):
        raise ValueError(f"unknown entry {entry!r}: native or python")
    return PythonTable(where, slow, failed)


def native_unavailable() -> str | None:
    """Why the native entry cannot be used on this interpreter, or None. The first call in a process runs the self-probe."""
    from tierup.lowering.entry.probe import unavailable  # here: loads llvmlite

    return unavailable()


_KERNEL = (ctypes.c_int32, ctypes.POINTER(abi.Argument), ctypes.POINTER(abi.Result))
_kernel_released, _kernel_held = ctypes.CFUNCTYPE(*_KERNEL), ctypes.PYFUNCTYPE(*_KERNEL)


class Row:
    """A version in force and its counters."""

    def __init__(self, record: VersionRecord) -> None:
        self.record = record
        self.work = work_of(record)
        self.hits = 0


class PythonTable(Versions[Row]):
    """The pure-Python entry. Versions on a device are in tables of one convention only: flat arguments, a tuple of results."""

    entry = "python"
    row = Row

    def __init__(self, inputs: Inputs, slow: Callable[..., Any], failed: Callable[..., Any] | None = None) -> None:
        super().__init__(inputs, failed)
        self._slow = slow
        self._hits = self._failures = 0
        self._slow_calls = dict.fromkeys(SlowCause, 0)
        self._calls: tuple[Iterator[int], Callable[..., Any]] = itertools.repeat(1), slow

    def hits(self, record: VersionRecord) -> int:
        """Calls whose arguments kept this version's guards. Raises ValueError when it is not in the table."""
        return self._find(record).hits

    def total_hits(self) -> int:
        """`counts().hits`, at less cost."""
        return self._hits

    def counts(self) -> TableCounts:
        """What became of all calls so far: see `TableCounts`."""
        return TableCounts(self._hits, self._failures, dict(self._slow_calls))

    def attach(self, function: Any) -> None:
        """Nothing to do: the function's `__call__` calls its table."""

    def callable(self) -> TableCallable:
        """A new object whose calls run this table."""
        return TableCallable(self)

    def call_after(self, calls: int, due: Callable[..., Any]) -> None:
        """Let `due` answer the call behind so many from now on, and none after it."""
        self._calls = itertools.count(calls, -1), due  # one store, and one step for each call: of all threads' calls, one is due

    def take_tensors(self, always: bool = False) -> str | None:
        """Why calls with tensors do not run versions: they miss, and `slow` answers."""
        return "the entry in Python takes arrays alone"

    def _set(self, rows: tuple[Row, ...]) -> None:
        self._order = (HashedOrder([row.record for row in rows]), rows)  # one store: calls in other threads see both or neither
        super()._set(rows)

    def _answer_slowly(self, cause: SlowCause, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        with self._lock:
            self._slow_calls[cause] += 1
        return self._slow(*args, **kwargs)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Answer a call: by the first version whose guards the arguments keep, else by `slow`."""
        left, due = self._calls
        if next(left) == 0:
            return due(*args, **kwargs)
        if kwargs:
            return self._answer_slowly(SlowCause.KEYWORDS, args, kwargs)
        if len(args) != self.inputs.n_positional:
            return self._answer_slowly(SlowCause.COUNT, args, kwargs)
        if self.inputs.has_trees:  # the native entry alone takes them apart
            return self._answer_slowly(SlowCause.STRUCTURE, args, kwargs)
        if self.inputs.plain:
            flat = args
        else:
            try:
                flat = tuple(read_source(s, args) for s in self.inputs.sources)
                constants = [
                    (read_source(c.source, args), c.value if c.same is None else read_source(c.same, args))
                    for c in self.inputs.constants if isinstance(c, Constant)
                ]
            except (LookupError, AttributeError, ValueError):
                return self._answer_slowly(SlowCause.HIDDEN, args, kwargs)
            if any(now is not then for now, then in constants):
                return self._answer_slowly(SlowCause.CONSTANT, args, kwargs)
        order, chain = self._order
        for i in order.candidates(flat):
            entry = chain[i]
            symbols = fit(entry.record, flat)
            if not isinstance(symbols, Mismatch) and not (faults.active and self._is_lost(entry.record)):
                return self._run(entry, flat, symbols, args)
        return self._answer_slowly(SlowCause.MISS, args, kwargs)

    @staticmethod
    def _is_lost(record: VersionRecord) -> bool:
        """Whether a test wants a guard to fail that holds."""
        return faults.loses_guard(last_plan.function_of(record.serial), len(record.arguments)) is not None

    def _run(self, entry: Row, flat: tuple[Any, ...], symbols: dict[str, int], args: tuple[Any, ...]) -> Any:
        with self._lock:
            entry.hits += 1
            self._hits += 1
        record = entry.record
        if record.on_device:
            return self._run_on_device(entry, flat, symbols)
        call = Call(record, flat, symbols)
        released = not record.polls and evaluate(entry.work, symbols) >= RELEASE_WORK
        prototype = _kernel_released if released else _kernel_held
        try:
            status = prototype(record.address)(call.arguments, call.results)
        except BaseException:  # a signal's handler raised: the status is INTERRUPTED
            call.discard()
            raise
        if status:
            live = live_values(record, status, flat, call.live)
            call.discard()
            with self._lock:
                self._failures += 1
            if self._failed is None:
                return self._answer_slowly(SlowCause.FAILED, args, {})
            return self._failed(record, status, flat, live, *(() if flat is args else args))
        user = call.finish()
        call.publish()
        last_plan.note_serial(record.serial)
        if record.form is Form.SINGLE:
            return user[0]
        if record.form is Form.NONE:
            return None
        return tuple(user) if record.form is Form.TUPLE else user


    def _run_on_device(self, entry: Row, flat: tuple[Any, ...], symbols: dict[str, int]) -> Any:
        record = entry.record
        plan: Any = record.keepalive  # a CudaPlan, which writes arguments itself
        outcome = plan.run(flat, symbols)
        if outcome.site or outcome.exit >= 0:
            with self._lock:
                self._failures += 1
            assert self._failed is not None  # who adds such versions answers for them
            if outcome.exit >= 0:
                return self._failed(record, abi.EXIT_BASE + outcome.exit, flat, outcome.live)
            return self._failed(record, abi.ERROR_BASE + outcome.site - 1, flat, None)
        last_plan.note_serial(record.serial)
        self._ran_on_device(entry, flat, symbols, outcome)
        return outcome.results

    def _ran_on_device(self, entry: Row, flat: tuple[Any, ...], symbols: dict[str, int], outcome: Any) -> None:
        """For who wants to know how a call went."""


def read_source(source: Source, args: tuple[Any, ...]) -> Any:
    """The object that a source gives in this call. Raises LookupError, AttributeError or ValueError when there is none."""
    if isinstance(source, Positional):
        return args[source.index]
    if isinstance(source, GlobalSource):
        if source.behind is not None and source.name in source.behind:
            raise LookupError(f"another {source.name!r} is found first")
        return source.namespace[source.name]
    if isinstance(source, CellSource):
        return source.cell.cell_contents
    if isinstance(source, AttributeSource):
        return getattr(read_source(source.of, args), source.name)
    raise TypeError(f"not a source of an argument: {source!r}")


class Call:
    """One call of a kernel: its argument and result tables, and the objects made of them."""

    def __init__(self, record: VersionRecord, flat: tuple[Any, ...], symbols: dict[str, int]) -> None:
        self.record, self.flat, self.symbols = record, flat, symbols
        self._keep: list[Any] = []
        self.arguments = (abi.Argument * max(1, len(flat)))()
        for argument, spec, value in zip(self.arguments, record.arguments, flat, strict=False):
            if spec.kind is ArgumentKind.ARRAY:
                argument.data = value.ctypes.data
                argument.dims, argument.strides = self._int64s(value.shape), self._int64s(value.strides)
            else:
                ctypes.c_int64.from_buffer(argument).value = scalar_bits(spec.kind, value)
        table, words = ctypes.sizeof(abi.Result) * len(record.results), live_words(record.exits)
        memory = (ctypes.c_int64 * (table // 8 + words))()
        self._keep.append(memory)
        self.results = (abi.Result * len(record.results)).from_buffer(memory)
        self.live = ctypes.addressof(memory) + table
        self.objects = [self._prepare(r, s) for r, s in zip(self.results, record.results, strict=True)]

    def _int64s(self, values: Sequence[int]) -> int:
        memory = (ctypes.c_int64 * max(1, len(values)))(*values)
        self._keep.append(memory)
        return ctypes.addressof(memory)

    def _sizes(self, dims: Sequence[Any]) -> tuple[int, ...]:
        return tuple(evaluate(d, self.symbols) for d in dims)

    def _prepare(self, result: abi.Result, spec: ResultSpec) -> Any:
        if spec.kind in (ResultKind.BUFFER, ResultKind.ARGUMENT):
            dtype = dtypes.BY_NAME[spec.dtype].numpy if spec.kind is ResultKind.BUFFER else self.flat[spec.argument].dtype
            array = np.empty(self._sizes([spec.sizes[d] for d in spec.order] or spec.sizes), dtype)
            if spec.order:
                array = array.transpose(np.argsort(spec.order))
            result.data, result.dims = array.ctypes.data, self._int64s(array.shape)
            return array
        if spec.kind is ResultKind.ALLOCATED:
            result.dims = self._int64s([0] * len(spec.sizes))
        elif spec.kind is ResultKind.ALIAS:
            return self.flat[spec.argument]
        elif spec.kind is ResultKind.VIEW:
            return view(spec, self.flat[spec.argument], self.symbols)
        return None

    def finish(self) -> list[Any]:
        """The user's results, scalars unboxed."""
        for i, (result, spec) in enumerate(zip(self.results, self.record.results, strict=True)):
            if spec.kind is ResultKind.SCALAR:
                python, c = _SCALARS[spec.dtype]
                self.objects[i] = python(c.from_buffer(result).value)
            elif spec.kind is ResultKind.ALLOCATED:
                self.objects[i] = self._allocated(result, spec)
            if self.record.hands_over_scalar(i):
                self.objects[i] = self.objects[i][()]
            elif spec.read_only:
                self.objects[i].flags.writeable = False
        return self.objects[: self.record.n_user_results]

    def _allocated(self, result: abi.Result, spec: ResultSpec) -> Any:
        rank = len(spec.sizes)
        sizes = tuple((ctypes.c_int64 * rank).from_address(result.dims)) if rank else ()
        try:
            array = np.empty(sizes, dtypes.BY_NAME[spec.dtype].numpy)
            if result.data:
                ctypes.memmove(array.ctypes.data, result.data, array.nbytes)
        finally:
            free(result.data)
        return array

    def discard(self) -> None:
        """Free what the kernel allocated; for a call that left with a status other than 0."""
        for result, spec in zip(self.results, self.record.results, strict=True):
            if spec.kind is ResultKind.ALLOCATED:
                free(result.data)

    def publish(self) -> None:
        """Copy the new contents over the written arguments."""
        for spec, array in zip(self.record.results, self.objects, strict=True):
            if spec.kind is ResultKind.ARGUMENT:
                np.copyto(self.flat[spec.argument], array)


_SCALARS: dict[str, tuple[type, Any]] = {"int": (int, ctypes.c_int64), "float": (float, ctypes.c_double), "bool": (bool, ctypes.c_int64)}
