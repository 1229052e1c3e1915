"""From a VersionRecord to the memory that the dispatcher reads: guards, result records, a frame and a size program."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import Dim, Symbol
from tierup.lowering.base import abi
from tierup.lowering.base.abi import ArgumentKind, ArgumentSpec, Layout, ResultKind, ResultSpec, scalar_bits
from tierup.lowering.entry import layout
from tierup.lowering.entry.records import RELEASE_WORK, Form, Made, VersionRecord, work_of

_LAYOUTS = {Layout.CONTIGUOUS: layout.CONTIGUOUS, Layout.COLUMNS: layout.COLUMNS, Layout.STRIDED: 0}
_RETURNED = {ResultKind.BUFFER: layout.Returned.BUFFER, ResultKind.ARGUMENT: layout.Returned.SCRATCH,
             ResultKind.WRITTEN: layout.Returned.ALIAS,
             ResultKind.ALLOCATED: layout.Returned.ALLOCATED, ResultKind.ALIAS: layout.Returned.ALIAS,
             ResultKind.VIEW: layout.Returned.VIEW, ResultKind.NONE: layout.Returned.NONE}  # fmt: skip
_SCALARS = {"int": layout.Returned.INT, "float": layout.Returned.FLOAT, "bool": layout.Returned.BOOL}
_BINARY = {"floordiv": layout.Op.FLOORDIV, "mod": layout.Op.MOD, "max": layout.Op.MAX, "min": layout.Op.MIN}


class Program:
    """Compiles dims to instructions over registers. Equal dims share a register."""

    def __init__(self, specs: Sequence[ArgumentSpec]) -> None:
        self._itemsizes = [dtypes.BY_NAME[s.dtype].itemsize if s.kind is ArgumentKind.ARRAY else 0 for s in specs]
        self.symbols: dict[str, int] = {}  # of the guards: registers 0, 1, ...
        for spec in specs:
            for name in spec.symbols:
                self.symbols.setdefault(name, len(self.symbols))
        self._strides = {str(abi.stride_symbol(a, d)): (a, d) for a, s in enumerate(specs) for d in range(len(s.sizes))}
        self._known: dict[Any, int] = {}
        self.n_registers = len(self.symbols)
        self.code: list[tuple[int, int, int, int]] = []

    def encode(self, dim: Dim) -> int:
        """A number of at least 0 as it is, anything else as -1 - register. Raises KeyError for a symbol that no argument has."""
        if isinstance(dim, int) and 0 <= dim <= abi.INT64_MAX:
            return dim
        return -1 - self.register(dim)

    def encode_size(self, dim: Dim) -> int:
        """`encode` of a size. In a call where a computed one comes out negative, the version does not fit."""
        code = self.encode(dim)
        if code < -len(self.symbols):  # computed: may come out negative
            self._emit(layout.Op.CHECK_SIZE, -1 - code)
        return code

    def _emit(self, op: layout.Op, a: int, b: int = 0) -> int:
        """The register that holds op(a, b)."""
        known = (op, a, b)
        if known not in self._known:
            self._known[known] = self.n_registers
            self.code.append((op, self.n_registers, a, b))
            self.n_registers += 1
        return self._known[known]

    def register(self, dim: Dim) -> int:
        """The register that holds a dim. Raises KeyError as `encode` does, OverflowError for a number that does not fit 64 bits."""
        if isinstance(dim, int):
            if not abi.INT64_MIN <= dim <= abi.INT64_MAX:
                raise OverflowError(f"the size {dim} does not fit 64 bits")
            return self._emit(layout.Op.CONSTANT, dim)
        total: int | None = None
        for mono, coefficient in dim.terms:
            term: int | None = None if coefficient == 1 and mono else self.register(coefficient)
            for _, atom, power in mono:
                factor = self._atom(atom)
                for _ in range(power):
                    term = factor if term is None else self._emit(layout.Op.MUL, term, factor)
            assert term is not None
            total = term if total is None else self._emit(layout.Op.ADD, total, term)
        assert total is not None  # an Expr has at least one term
        return total

    def _atom(self, atom: Any) -> int:
        if not isinstance(atom, Symbol):
            first, *others = (self.register(a) for a in atom.args)
            for other in others:
                first = self._emit(_BINARY[atom.fn], first, other)
            return first
        if atom.name in self.symbols:
            return self.symbols[atom.name]
        argument, dim = self._strides[atom.name]  # KeyError: no argument has this symbol
        in_bytes = self._emit(layout.Op.STRIDE, argument, dim)
        return self._emit(layout.Op.FLOORDIV, in_bytes, self.register(self._itemsizes[argument]))


def type_numbers(dtype: np.dtype[Any]) -> tuple[int, int]:
    """NumPy's type numbers of the dtypes equal to this one: long and long long are one dtype with two numbers."""
    numbers = {dtype.num} | {np.dtype(c).num for c in "bBhHiIlLqQ" if np.dtype(c) == dtype}
    return min(numbers), max(numbers)


class NativeRow:
    """A RowStruct and all that it points to. Must outlive every call that uses it (`in_flight`)."""

    def __init__(self, record: VersionRecord) -> None:
        self.record = record
        self._keep: list[object] = [record]
        program = Program(record.arguments)
        guards = (layout.Guard * max(1, len(record.arguments)))()
        bound: set[str] = set()
        for i, spec in enumerate(record.arguments):
            self._fill_guard(guards[i], spec, i in record.written, program, bound)

        v = self.struct = layout.RowStruct()
        v.kernel, v.guards, v.n_arguments = record.address, self._own(guards), len(record.arguments)
        v.token, v.serial = id(record), record.serial
        self._fill_nodes(v, record)
        v.written, v.n_written = self._int64s(record.written), len(record.written)
        v.n_results, v.n_user_results = len(record.results), record.n_user_results
        v.takes_tensors = takes_tensors(record)

        at = ctypes.sizeof(abi.Argument) * len(record.arguments)
        v.results_at, at = at, at + ctypes.sizeof(abi.Result) * len(record.results)
        v.live_at, at = at, at + 8 * abi.live_words(record.exits)
        v.objects_at, at = at, at + 8 * len(record.results)
        v.copies_at, at = at, at + 16 * sum(len(s.sizes) for s in record.arguments)
        results = (layout.ResultRecord * max(1, len(record.results)))()
        for i, spec_ in enumerate(record.results):
            at = self._fill_result(results[i], spec_, i, record, program, at)
        v.results = self._own(results)
        v.polls, v.known_work = record.polls, program.encode(work_of(record))
        v.work = RELEASE_WORK if record.polls or record.allocates else v.known_work
        v.registers_at, self.frame = at, at + 8 * program.n_registers
        if program.code:
            code = (layout.Instruction * (len(program.code) + 1))(*(layout.Instruction(*i) for i in program.code))  # the last stays END
            v.program = self._own(code)

    @property
    def address(self) -> int:
        """Where the structure lies; good as long as this object lives."""
        return ctypes.addressof(self.struct)

    def _own(self, memory: Any) -> int:
        self._keep.append(memory)
        return ctypes.addressof(memory)

    def _int64s(self, values: Sequence[int]) -> int:
        return self._own((ctypes.c_int64 * max(1, len(values)))(*values))

    def _fill_nodes(self, v: layout.RowStruct, record: VersionRecord) -> None:
        if record.form is Form.SINGLE:
            return
        form = record.form
        if isinstance(form, Form):
            form = Made("object") if form is Form.NONE else Made(form.value, (Made("next"),) * record.n_user_results)
        nodes: list[tuple[int, int, int]] = []
        self._put_nodes(form, nodes)
        v.nodes, v.n_nodes = self._own((layout.Node * len(nodes))(*(layout.Node(*n) for n in nodes))), len(nodes)

    def _put_nodes(self, tree: Made, nodes: list[tuple[int, int, int]]) -> None:
        for item in tree.items:
            self._put_nodes(item, nodes)
        self._keep.append(tree)
        nodes += [(layout.NodeKind.ONLY, union, alternative) for union, alternative in tree.only]
        obj = self._int64s(list(map(id, tree.keys))) if tree.kind == "dict" else id(tree.value)
        count = tree.value if tree.kind == "again" else len(tree.items)
        if tree.kind == "given":  # behind the flat arguments
            count = len(self.record.arguments) + tree.value  # type: ignore[operator]  # a number
        nodes.append((layout.NodeKind[tree.kind.upper()], count, obj))  # type: ignore[arg-type]  # a number

    def _fill_guard(self, guard: layout.Guard, spec: ArgumentSpec, written: bool, program: Program, bound: set[str]) -> None:
        guard.kind = layout.Kind[spec.kind.name]
        if spec.kind is not ArgumentKind.ARRAY:
            guard.has_value = spec.assumed is not None
            if spec.assumed is not None:
                guard.value = scalar_bits(spec.kind, spec.assumed)
            elif spec.symbols:
                guard.sizes = self._sizes(spec.symbols, program, bound)
            return
        dtype = dtypes.BY_NAME[spec.dtype].numpy
        self._keep.append(dtype)
        guard.rank, guard.descr, guard.itemsize = len(spec.sizes), id(dtype), dtype.itemsize
        guard.type_num, guard.alias_type_num = type_numbers(dtype)
        guard.flags = layout.ALIGNED | (layout.WRITEABLE if written else 0) | _LAYOUTS[spec.layout]
        guard.stride_mask = dtype.itemsize - 1 if spec.layout is Layout.STRIDED else -1
        guard.sizes = self._sizes(spec.sizes, program, bound)

    def _sizes(self, sizes: Sequence[int | str], program: Program, bound: set[str]) -> int:
        codes = []
        for size in sizes:
            if isinstance(size, str):
                codes.append(-1 - 2 * program.symbols[size] - (size not in bound))
                bound.add(size)
            else:
                codes.append(size)
        return self._int64s(codes)

    def _fill_result(
        self, target: layout.ResultRecord, spec: ResultSpec, index: int, record: VersionRecord, program: Program, at: int
    ) -> int:
        """Fill one result's record; returns the next free offset of the frame."""
        if spec.kind is ResultKind.SCALAR:
            target.kind = _SCALARS[spec.dtype]
            return at
        target.kind, target.argument = _RETURNED[spec.kind], max(0, spec.argument)
        target.as_scalar = record.hands_over_scalar(index)
        target.flags = ~layout.WRITEABLE if spec.read_only else -1
        if spec.kind in (ResultKind.WRITTEN, ResultKind.ALIAS, ResultKind.NONE):
            return at
        written = record.arguments[spec.argument] if spec.kind is ResultKind.ARGUMENT else None
        dtype = dtypes.BY_NAME[written.dtype if written else spec.dtype].numpy
        self._keep.append(dtype)
        # a scratch has the sizes that the kernel writes, which are its argument's where no check of the kernel's failed
        n_dims = len(spec.sizes)
        target.rank, target.descr, target.itemsize, target.dims_at = n_dims, id(dtype), dtype.itemsize, at
        if spec.kind in (ResultKind.BUFFER, ResultKind.VIEW, ResultKind.ARGUMENT):
            target.sizes = self._int64s([program.encode_size(s) for s in spec.sizes])
        if spec.order:
            target.strides = self._int64s([program.encode(s) for s in abi.dense_strides(spec.sizes, spec.order)])
        if spec.kind is ResultKind.VIEW:
            target.strides = self._int64s([program.encode(s) for s in spec.strides])
            target.offset = program.encode(spec.offset)
        return at + 16 * n_dims


def takes_tensors(record: VersionRecord) -> bool:
    """Whether calls with PyTorch's tensors may run a version: not one that writes, whose writes PyTorch counts, gives views, or
    results that are not row-major, or may leave with live values, which are made of arrays."""
    return not record.written and not record.exits and not any(r.kind is ResultKind.VIEW or r.order for r in record.results)


def signature_key(record: VersionRecord, keyed: Sequence[bool]) -> int:
    """The hash key of calls that a static version fits: what generated code computes from the arguments."""
    key = layout.HASH_SEED
    for spec, counts in zip(record.arguments, keyed, strict=True):
        if not counts:
            continue
        if spec.kind is ArgumentKind.ARRAY:
            key = layout.mix(key, len(spec.sizes))
            for size in spec.sizes:
                assert isinstance(size, int)  # the caller hashes static versions only
                key = layout.mix(key, size)
        else:
            assert spec.assumed is not None  # else it would not count
            key = layout.mix(key, scalar_bits(spec.kind, spec.assumed) & (1 << 64) - 1)
    return key
