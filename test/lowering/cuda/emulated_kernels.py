"""gpu.func as Python source: a generator function that is one thread. `gpu_emulator.py` runs them.

    %0 = memref.load %arg0[%i] : memref<8xf32>          v7 = v1.load((v5,), me)  # memref.load ...
    gpu.barrier                                         yield 'barrier 3'
    gpu.shuffle xor %0, %c16, %c32                      v9, v10 = yield ('shuffle 4', shuffle, (v7, 'xor', 16, 32))

An op that a whole warp does together is a yield of (place, function, operand): the function gets the operands of the 32 threads and gives
their results. `OPS` has a method's name per op; who adds an op of the dialects adds a row.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import emulated_ops as ops
import numpy as np
from emulated_memory import DTYPES, Fault, Private, View, contiguous
from emulated_tensor_cores import Copies, TensorCores, ldmatrix, load_run, mma, mma_tf32, to_tf32

from tierup.dialect.mlir import ir
from tierup.lowering.building import builders as b

_files = count()
_AXES = ("x", "y", "z")


@dataclass(frozen=True)
class Parameter:
    """`rank` is None for a number; `strides` is None where the layout is C order of sizes that may be known at launch only."""

    element: str
    rank: int | None = None
    sizes: tuple[int | None, ...] = ()
    offset: int | None = 0
    strides: tuple[int | None, ...] | None = None


@dataclass(frozen=True)
class Kernel:
    """`shared`: what, sizes and element type of each buffer that a block's threads share."""

    name: str
    file: str
    function: Callable[..., Any]
    parameters: tuple[Parameter, ...]
    shared: tuple[tuple[str, tuple[int, ...], str], ...]


def kernels(module: ir.Module) -> dict[str, Kernel]:
    """Every gpu.func of a module, by name."""
    return {k.name: k for k in map(_kernel, [op for op in b.walk(module.operation) if op.name == "gpu.func"])}


def parameter(type_: ir.Type) -> Parameter:
    if not isinstance(type_, ir.MemRefType):
        return Parameter(str(type_))
    layout = type_.layout
    sizes = tuple(None if n == ir.ShapedType.get_dynamic_size() else n for n in b.shape_of(type_))
    unknown = ir.ShapedType.get_dynamic_stride_or_offset()
    if isinstance(layout, ir.AffineMapAttr) and layout.value == ir.AffineMap.get_identity(layout.value.n_dims, layout.context):
        return Parameter(str(type_.element_type), len(sizes), sizes)
    strides, offset = type_.get_strides_and_offset()
    known = tuple(None if s == unknown else s for s in strides)
    return Parameter(str(type_.element_type), len(sizes), sizes, None if offset == unknown else offset, known)


def _kernel(op: ir.Operation) -> Kernel:
    name = ir.StringAttr(op.attributes["sym_name"]).value
    arguments = list(op.regions[0].blocks[0].arguments)
    taken = len(ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value).inputs)
    translation = _Translation()
    names = [translation.name(a) for a in arguments]
    translation.line(f"def kernel(me, thread, block, threads, blocks, dynamic, {', '.join(names)}):")
    with translation.indented():
        translation.line("copies = Copies()")
        translation.block(op.regions[0].blocks[0])
        translation.line("return")
        translation.line("yield")  # makes it a generator
    file = f"<kernel {name} {next(_files)}>"
    source = "\n".join(translation.lines)
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    space: dict[str, Any] = dict(translation.constants)
    exec(compile(source, file, "exec"), space)  # noqa: S102 - the source is made above
    shared = []
    for i, argument in enumerate(arguments[taken:]):
        type_ = ir.MemRefType(argument.type)
        shared.append((f"shared buffer {i}", tuple(b.shape_of(type_)), str(type_.element_type)))
    return Kernel(name, file, space["kernel"], tuple(parameter(a.type) for a in arguments[:taken]), tuple(shared))


def width(type_: ir.Type) -> int:
    return type_.width if isinstance(type_, ir.IntegerType) else 64


class _Translation(TensorCores):
    def __init__(self) -> None:
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {
            "ops": ops, "np": np, "View": View, "Private": Private, "Fault": Fault, "wrap": ops.wrap, "shuffle": shuffle,
            "check_step": check_step, "alloca": alloca,
            "ldmatrix": ldmatrix, "mma": mma, "mma_tf32": mma_tf32, "to_tf32": to_tf32, "load_run": load_run, "Copies": Copies,
        }  # fmt: skip
        self._names: dict[ir.Value, str] = {}
        self._indent = ""
        self._count = 0

    def name(self, value: ir.Value) -> str:
        if value not in self._names:
            self._names[value] = f"v{len(self._names)}"
        return self._names[value]

    def names(self, values: Sequence[ir.Value]) -> str:
        return ", ".join(map(self.name, values))

    def constant(self, value: Any) -> str:
        self.constants[f"c{len(self.constants)}"] = value
        return f"c{len(self.constants) - 1}"

    def line(self, text: str, op: ir.Operation | None = None) -> None:
        comment = f"  # {op.name} {', '.join(str(v.type) for v in (*op.operands, *op.results))}" if op is not None else ""
        self.lines.append(self._indent + text + comment)

    def indented(self) -> _Indented:
        return _Indented(self)

    def place(self, what: str) -> str:
        self._count += 1
        return f"{what} {self._count}"

    def block(self, block: ir.Block) -> list[str]:
        """The ops of a block, and the names of what its terminator gives."""
        for view in block.operations:
            op = view.operation
            if op.name in ("scf.yield", "scf.condition", "gpu.return", "memref.atomic_yield"):
                return [self.name(v) for v in op.operands]
            self.op(op)
        raise AssertionError("a block without a terminator")

    def op(self, op: ir.Operation) -> None:
        given = [self.name(v) for v in op.operands]
        if op.name in ops.INTEGER:
            bits = width(op.results[0].type)
            function = self.constant(ops.INTEGER[op.name])
            text = f"wrap({function}({', '.join(given)}, {bits}), {bits})"
            fast = {"arith.addi": "+", "arith.muli": "*", "arith.subi": "-"}.get(op.name)
            if fast and str(op.results[0].type) == "index":  # sizes and positions stay far below 2^63
                text = f"{given[0]} {fast} {given[1]}"
            self.let(op, text)
        elif op.name in ops.INTEGER_OF_ONE:
            bits = width(op.results[0].type)
            self.let(op, f"wrap({self.constant(ops.INTEGER_OF_ONE[op.name])}({given[0]}, {bits}), {bits})")
        elif op.name in ops.FLOAT:
            fast = {"arith.addf": "+", "arith.mulf": "*", "arith.subf": "-", "arith.divf": "/"}.get(op.name)
            self.let(op, f"{given[0]} {fast} {given[1]}" if fast else f"{self.constant(ops.FLOAT[op.name])}({', '.join(given)})")
        elif op.name in ops.LIBDEVICE:
            self.let(op, f"ops.libdevice({op.name!r}, {', '.join(given)})")
        else:
            handler = getattr(self, op.name.replace(".", "_"), None)
            if handler is None:
                raise NotImplementedError(f"the emulator does not know {op.name}")
            handler(op, *given)

    def let(self, op: ir.Operation, text: str) -> None:
        self.line(f"{self.names(op.results)} = {text}", op)

    # arith and math

    def arith_constant(self, op: ir.Operation) -> None:
        attribute = op.attributes["value"]
        if isinstance(attribute, ir.DenseElementsAttr):
            type_ = ir.VectorType(op.results[0].type)
            element = attribute.get_splat_value()
            splat = (ir.IntegerAttr if isinstance(element, ir.IntegerAttr) else ir.FloatAttr)(element).value
            self.let(op, self.constant(np.full(type_.shape, splat, DTYPES[str(type_.element_type)])))
            return
        if isinstance(attribute, ir.BoolAttr):
            self.let(op, str(int(attribute.value)))
        elif isinstance(attribute, ir.IntegerAttr):
            self.let(op, str(attribute.value & 1 if width(op.results[0].type) == 1 else attribute.value))
        else:
            self.let(op, self.constant(DTYPES[str(op.results[0].type)](ir.FloatAttr(attribute).value)))

    def arith_mulsi_extended(self, op: ir.Operation, a: str, c: str) -> None:
        bits = width(op.results[0].type)
        self.let(op, f"wrap({a} * {c}, {bits}), wrap({a} * {c} >> {bits}, {bits})")

    def arith_cmpi(self, op: ir.Operation, a: str, c: str) -> None:
        self.let(op, f"ops.compare_integers({ir.IntegerAttr(op.attributes['predicate']).value}, {a}, {c}, {width(op.operands[0].type)})")

    def arith_cmpf(self, op: ir.Operation, a: str, c: str) -> None:
        self.let(op, f"ops.compare_floats({ir.IntegerAttr(op.attributes['predicate']).value}, {a}, {c})")

    def arith_select(self, op: ir.Operation, condition: str, a: str, c: str) -> None:
        self.let(op, f"{a} if {condition} else {c}")

    def math_fma(self, op: ir.Operation, a: str, c: str, d: str) -> None:
        self.let(op, f"ops.fma({a}, {c}, {d})")

    def _signed(self, op: ir.Operation, a: str) -> None:
        source = width(op.operands[0].type)
        self.let(op, f"wrap(-{a} if {source} == 1 else {a}, {width(op.results[0].type)})")

    arith_extsi = arith_index_cast = _signed

    def _unsigned(self, op: ir.Operation, a: str) -> None:
        self.let(op, f"wrap({a} & {(1 << width(op.operands[0].type)) - 1}, {width(op.results[0].type)})")

    arith_extui = arith_index_castui = arith_trunci = _unsigned

    def arith_bitcast(self, op: ir.Operation, a: str) -> None:
        self.let(op, f"ops.bitcast({a}, '{op.operands[0].type}', '{op.results[0].type}')")

    def _float(self, op: ir.Operation, a: str) -> None:
        self.let(op, f"{self.constant(DTYPES[str(op.results[0].type)])}({a})")

    arith_extf = arith_truncf = _float

    def arith_fptosi(self, op: ir.Operation, a: str) -> None:
        self.let(op, f"ops.to_integer({a}, {width(op.results[0].type)})")

    def arith_fptoui(self, op: ir.Operation, a: str) -> None:
        bits = width(op.results[0].type)
        self.let(op, f"wrap(ops.to_integer({a}, {bits}, signed=False), {bits})")

    def arith_sitofp(self, op: ir.Operation, a: str) -> None:
        self.let(op, f"ops.to_float({a}, '{op.results[0].type}', {width(op.operands[0].type)})")

    def arith_uitofp(self, op: ir.Operation, a: str) -> None:
        self.let(op, f"ops.to_float({a}, '{op.results[0].type}', {width(op.operands[0].type)}, signed=False)")

    # gpu

    def _number(self, op: ir.Operation) -> None:
        axis = next(i for i, name in enumerate(_AXES) if f"dim {name}>" in str(op.attributes["dimension"]))
        of = {"gpu.thread_id": "thread", "gpu.block_id": "block", "gpu.block_dim": "threads", "gpu.grid_dim": "blocks"}[op.name]
        self.let(op, f"{of}[{axis}]")

    gpu_thread_id = gpu_block_id = gpu_block_dim = gpu_grid_dim = _number

    def gpu_barrier(self, op: ir.Operation) -> None:
        self.line(f"yield {self.place('barrier')!r}", op)

    def gpu_shuffle(self, op: ir.Operation, value: str, offset: str, size: str) -> None:
        mode = str(op.attributes["mode"]).rstrip(">").split()[-1]
        self.let(op, f"yield ({self.place('shuffle')!r}, shuffle, ({value}, {mode!r}, {offset}, {size}))")

    def gpu_dynamic_shared_memory(self, op: ir.Operation) -> None:
        self.let(op, "dynamic")

    # scf

    def scf_for(self, op: ir.Operation, start: str, stop: str, step: str, *init: str) -> None:
        block = op.regions[0].blocks[0]
        index, *carried = [self.name(a) for a in block.arguments]
        self.assign(carried, init)
        self.line(f"for {index} in range({start}, {stop}, check_step({step})):", op)
        with self.indented():
            self.assign(carried, self.block(block), "pass")
        self.assign([self.name(r) for r in op.results], carried)

    def scf_while(self, op: ir.Operation, *init: str) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        carried = [self.name(a) for a in before.arguments]
        self.assign(carried, init)
        self.line("while True:", op)
        with self.indented():
            condition, *values = self.block(before)
            self.line(f"if not {condition}:")
            with self.indented():
                self.assign([self.name(r) for r in op.results], values)
                self.line("break")
            self.assign([self.name(a) for a in after.arguments], values)
            self.assign(carried, self.block(after))

    def scf_if(self, op: ir.Operation, condition: str) -> None:
        results = [self.name(r) for r in op.results]
        for region, head in zip(op.regions, (f"if {condition}:", "else:"), strict=False):
            if len(region.blocks):
                self.line(head, op if head != "else:" else None)
                with self.indented():
                    self.assign(results, self.block(region.blocks[0]), "pass")

    def assign(self, names: Sequence[str], values: Sequence[str], nothing: str = "") -> None:
        """All at once: a value may be another's name."""
        if names:
            self.line(f"{', '.join(names)} = {', '.join(values)}")
        elif nothing:
            self.line(nothing)

    # memref

    def memref_load(self, op: ir.Operation, buffer: str, *at: str) -> None:
        self.let(op, f"{buffer}.load(({''.join(f'{i}, ' for i in at)}), me)")

    def memref_store(self, op: ir.Operation, value: str, buffer: str, *at: str) -> None:
        self.line(f"{buffer}.store({value}, ({''.join(f'{i}, ' for i in at)}), me)", op)

    def memref_alloca(self, op: ir.Operation, *dynamic: str) -> None:
        type_ = ir.MemRefType(op.results[0].type)
        given = iter(dynamic)
        sizes = [next(given) if type_.is_dynamic_dim(i) else str(n) for i, n in enumerate(b.shape_of(type_))]
        self.let(op, f"alloca([{', '.join(sizes)}], '{type_.element_type}')")

    def _same(self, op: ir.Operation, a: str) -> None:
        self.let(op, a)

    memref_memory_space_cast = memref_cast = _same

    def memref_dim(self, op: ir.Operation, buffer: str, axis: str) -> None:
        self.let(op, f"{buffer}.size({axis})")

    def memref_view(self, op: ir.Operation, source: str, start: str) -> None:
        type_ = ir.MemRefType(op.results[0].type)
        self.let(op, f"{source}.view({start}, {tuple(b.shape_of(type_))}, '{type_.element_type}')")

    def memref_subview(self, op: ir.Operation, source: str, *dynamic: str) -> None:
        given = iter(dynamic)
        unknown = ir.ShapedType.get_dynamic_size()
        groups = []
        for name in ("static_offsets", "static_sizes", "static_strides"):
            groups.append([next(given) if n == unknown else str(n) for n in ir.DenseI64ArrayAttr(op.attributes[name])])
        kept, wanted = [], list(b.shape_of(op.results[0].type))
        for axis, size in enumerate(ir.DenseI64ArrayAttr(op.attributes["static_sizes"])):
            if len(kept) < len(wanted) and wanted[len(kept)] == size:
                kept.append(axis)
        assert len(kept) == len(wanted), str(op)
        self.let(op, f"{source}.subview({', '.join('[' + ', '.join(g) + ']' for g in groups)}, {kept})")

    def memref_collapse_shape(self, op: ir.Operation, source: str) -> None:
        self.let(op, f"{source}.collapse({_groups(op)})")

    def memref_expand_shape(self, op: ir.Operation, source: str, *dynamic: str) -> None:
        given = iter(dynamic)
        unknown = ir.ShapedType.get_dynamic_size()
        sizes = [next(given) if n == unknown else str(n) for n in ir.DenseI64ArrayAttr(op.attributes["static_output_shape"])]
        self.let(op, f"{source}.expand({_groups(op)}, [{', '.join(sizes)}])")

    def memref_reinterpret_cast(self, op: ir.Operation, source: str, *dynamic: str) -> None:
        given = iter(dynamic)
        unknown = ir.ShapedType.get_dynamic_size()
        offset, sizes, strides = (
            [next(given) if n == unknown else str(n) for n in ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"])]
            for name in ("offsets", "sizes", "strides")
        )
        self.let(op, f"View({source}.memory, {offset[0]}, [{', '.join(sizes)}], [{', '.join(strides)}])")


class _Indented:
    def __init__(self, translation: _Translation) -> None:
        self._translation = translation

    def __enter__(self) -> None:
        self._translation._indent += "    "

    def __exit__(self, *_: object) -> None:
        self._translation._indent = self._translation._indent[:-4]


def _groups(op: ir.Operation) -> list[list[int]]:
    return [[ir.IntegerAttr(i).value for i in ir.ArrayAttr(group)] for group in ir.ArrayAttr(op.attributes["reassociation"])]


def check_step(step: int) -> int:
    if step <= 0:
        raise Fault(f"a loop with the step {step}")
    return step


def alloca(sizes: Sequence[int], dtype: str) -> View:
    return View(Private.fresh("its own memory", int(np.prod(sizes, dtype=np.int64)), dtype), 0, sizes, contiguous(sizes))


def shuffle(given: list[Any]) -> list[tuple[Any, int]]:
    """gpu.shuffle: what each lane gets, and whether the lane it asks for is of its group. (value, mode, offset, width) of each lane."""
    found = []
    for lane, (value, mode, offset, size) in enumerate(given):
        first = lane // size * size
        asked = {"xor": lane ^ offset, "up": lane - offset, "down": lane + offset, "idx": first + offset % size}[mode]
        inside = first <= asked < first + size
        found.append((given[asked][0] if inside else value, int(inside)))
    return found
