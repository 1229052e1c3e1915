"""Extracting the host program: what the lowered function does besides launching kernels, as steps.

    func.func @f(%x : memref<?xf32>, %y : memref<?xf32>) {         ("size", 2, 0, 0)
      %n = memref.dim %x, %c0                                      ("constant", 3, 255)
      ... %grid = arith.divui ...                                  ("div", 5, 4, 3)
      gpu.launch_func @kernels::@f_0 blocks in (%grid, ...)        ("launch", "f_0", (5, 6, 6), (7, 6, 6), -1, ((0, 1), (0, 3), (1, 1)))

host_steps.py says what the steps are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tierup.dialect.ir.literals import UnreadableLiteral, elements
from tierup.dialect.ir.structure import handed_over, last_of
from tierup.dialect.ir.walking import callee_name, symbol_of
from tierup.dialect.mlir import ir
from tierup.lowering.artifacts.host_steps import ADDS, NOTHING, NUMBER, TF32, Constant, HostProgram, Step
from tierup.lowering.base.errors import Unsupported
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import CmpF, CmpI
from tierup.lowering.building.origins import Origin, origin
from tierup.lowering.cuda import launching as gpu
from tierup.lowering.cuda.transforms.trim_kernels import PARAMETERS
from tierup.lowering.transforms.outline_exits import EXIT

_ARITHMETIC = {
    "arith.addi": "add", "arith.subi": "sub", "arith.muli": "mul", "arith.divui": "div", "arith.divsi": "div",
    "arith.floordivsi": "floordiv", "arith.ceildivui": "ceildiv", "arith.ceildivsi": "ceildiv",
    "arith.remui": "rem", "arith.remsi": "rem", "arith.minui": "min",
    "arith.minsi": "min", "arith.maxui": "max", "arith.maxsi": "max", "arith.andi": "and", "arith.ori": "or", "arith.xori": "xor",
    "arith.shli": "shl", "arith.shrsi": "shr",
    "arith.select": "select", "arith.addf": "add", "arith.subf": "sub", "arith.mulf": "mul", "arith.divf": "fdiv",
    "arith.maximumf": "fmax", "arith.minimumf": "fmin",
}  # fmt: skip
_SAME = ("arith.index_cast", "arith.index_castui", "arith.extsi", "arith.extui", "arith.extf", "memref.cast")
_CASTS = ("arith.trunci", "arith.truncf", "arith.sitofp", "arith.uitofp", "arith.fptosi")
_NARROW = ("f32", "f16", "bf16")  # what Python's numbers are wider than: sums and products are rounded
_AS_PYTHON = (CmpF.OEQ, CmpF.OGT, CmpF.OGE, CmpF.OLT, CmpF.OLE, CmpF.UNE)  # false for a NaN, but not equal
_UNORDERED = {CmpF.UGT: "le", CmpF.UGE: "lt", CmpF.ULT: "ge", CmpF.ULE: "gt"}  # true for a NaN; and where the opposite is false


def extract(module: ir.Module, function: ir.Operation) -> HostProgram:
    """The host program of a function whose kernels are outlined, after the pipeline lower-gpu-nvvm.
    Raises Unsupported for what neither a kernel nor a step does."""
    return _Extraction(module).function(function)


class _Extraction:
    def __init__(self, module: ir.Module) -> None:
        self._numbers: dict[ir.Value, int] = {}
        self._count = self._products = 0
        self._kernels: list[str] = []
        self._parameters: dict[str, list[int]] = {}
        self._types: dict[str, tuple[str, ...]] = {}
        self._origins: dict[str, str] = {}
        self._alone: dict[str, str] = {}
        self._reads: dict[int, str] = {}
        self._exits: dict[str, int] = {}
        self._globals = {}
        self._constants: dict[str, Constant] = {}
        for op in b.walk(module.operation):
            if op.name == "llvm.func" and PARAMETERS in op.attributes:
                self._parameters[symbol_of(op)] = list(ir.DenseI64ArrayAttr(op.attributes[PARAMETERS]))
                self._types[symbol_of(op)] = tuple(str(a.type).removeprefix("!llvm.") for a in op.regions[0].blocks[0].arguments)
            elif op.name == "memref.global":
                self._globals[symbol_of(op)] = op
            elif op.name == "func.func" and EXIT in op.attributes:
                self._exits[symbol_of(op)] = ir.IntegerAttr(op.attributes[EXIT]).value

    def function(self, function: ir.Operation) -> HostProgram:
        block = function.regions[0].blocks[0]
        for argument in block.arguments:
            self._new(argument)
        steps = self._block(block)
        last = last_of(block)
        returns = tuple(self._numbers[v] for v in last.operands)
        types = {name: self._types[name] for name in self._kernels}
        named = tuple(self._kernels)
        return HostProgram(
            len(block.arguments), tuple(steps), returns, named, self._constants, types, self._origins, self._alone, self._reads
        )

    def _new(self, value: ir.Value | None = None) -> int:
        number = self._count
        self._count += 1
        if value is not None:
            self._numbers[value] = number
        return number

    def _block(self, block: ir.Block) -> list[Step]:
        steps: list[Step] = []
        for view in block.operations:
            op = view.operation
            if op.name not in ("func.return", "scf.yield", "scf.condition"):
                steps.extend(self._op(op))
        return steps

    def _op(self, op: ir.Operation) -> list[Step]:
        name = op.name
        if name in _SAME:
            self._numbers[op.results[0]] = self._numbers[op.operands[0]]
            return []
        if name in _ARITHMETIC:
            given = self._all(op.operands)
            type_ = str(op.results[0].type)
            if type_ not in _NARROW or name == "arith.select":
                return [(_ARITHMETIC[name], self._new(op.results[0]), *given)]
            wide = self._new()  # in f64, and rounded once more: the same for +, -, * and /, since f64 has more than twice as many digits
            return [(_ARITHMETIC[name], wide, *given), ("cast", self._new(op.results[0]), wide, type_)]
        if name in _CASTS:
            (number,) = self._all(op.operands)
            if name == "arith.trunci" and all(use.owner.operation.name == "gpu.launch_func" for use in op.results[0].uses):
                self._numbers[op.results[0]] = number  # a parameter loses the bits that do not fit as it is packed
                return []
            return [("cast", self._new(op.results[0]), number, str(op.results[0].type))]
        handler: Callable[[ir.Operation], list[Step]] | None = getattr(self, "_" + name.replace(".", "_"), None)
        if handler is None:
            raise self._left(op)
        return handler(op)

    @staticmethod
    def _left(op: ir.Operation) -> Unsupported:
        found = origin(op.location)
        return Unsupported(found.op if found else op.name, found.place if found else "", f"has no kernel: '{op.name}' is left for the host")

    def _all(self, values: Sequence[ir.Value]) -> tuple[int, ...]:
        return tuple(self._numbers[v] for v in values)

    def _arith_constant(self, op: ir.Operation) -> list[Step]:
        attribute = op.attributes["value"]
        if not isinstance(attribute, (ir.BoolAttr, ir.IntegerAttr, ir.FloatAttr)):
            raise Unsupported("arith.constant", "", f"a constant of type {op.results[0].type} is left for the host")
        return [("constant", self._new(op.results[0]), int(attribute.value) if isinstance(attribute, ir.BoolAttr) else attribute.value)]

    def _arith_negf(self, op: ir.Operation) -> list[Step]:
        (number,) = self._all(op.operands)
        minus = self._new()
        return [("constant", minus, -1.0), ("mul", self._new(op.results[0]), number, minus)]

    def _arith_mulsi_extended(self, op: ir.Operation) -> list[Step]:
        given = self._all(op.operands)
        return [("mul", self._new(op.results[0]), *given), ("mulhigh", self._new(op.results[1]), *given)]

    def _arith_cmpi(self, op: ir.Operation) -> list[Step]:
        given = self._all(op.operands)
        name = CmpI(ir.IntegerAttr(op.attributes["predicate"]).value).name[-2:]  # sizes have no sign bit
        return [(name.lower(), self._new(op.results[0]), *given)]

    def _arith_cmpf(self, op: ir.Operation) -> list[Step]:
        given = self._all(op.operands)
        predicate = CmpF(ir.IntegerAttr(op.attributes["predicate"]).value)
        if predicate in _AS_PYTHON:
            return [(predicate.name[1:].lower(), self._new(op.results[0]), *given)]
        if predicate not in _UNORDERED:
            raise self._left(op)
        opposite, true = self._new(), self._new()
        return [(_UNORDERED[predicate], opposite, *given), ("constant", true, 1), ("xor", self._new(op.results[0]), opposite, true)]

    def _memref_dim(self, op: ir.Operation) -> list[Step]:
        given = self._all(op.operands)
        return [("size", self._new(op.results[0]), *given)]

    def _allocate(self, op: ir.Operation) -> list[Step]:
        type_ = ir.MemRefType(op.results[0].type)
        steps, sizes = self._mixed(b.shape_of(type_), iter(self._all(op.operands)))
        return [*steps, ("allocate", self._new(op.results[0]), str(type_.element_type), sizes)]

    def _mixed(self, static: Iterable[int], dynamic: Iterator[int]) -> tuple[list[Step], tuple[int, ...]]:
        """Sizes, of which the type says some: what makes these, and the numbers of all."""
        steps: list[Step] = []
        numbers = []
        for size in static:
            if size == ir.ShapedType.get_dynamic_size():
                numbers.append(next(dynamic))
            else:
                numbers.append(self._new())
                steps.append(("constant", numbers[-1], size))
        return steps, tuple(numbers)

    _memref_alloc = _memref_alloca = _allocate

    def _memref_dealloc(self, op: ir.Operation) -> list[Step]:
        return [("free", *self._all(op.operands))]

    def _memref_get_global(self, op: ir.Operation) -> list[Step]:
        name = ir.FlatSymbolRefAttr(op.attributes["name"]).value
        if name not in self._constants:
            self._constants[name] = _constant(self._globals[name])
        return [("data", self._new(op.results[0]), name)]

    def _memref_extract_strided_metadata(self, op: ir.Operation) -> list[Step]:
        (source,) = self._all(op.operands)
        base, offset, *rest = op.results
        rank = len(rest) // 2
        steps: list[Step] = [("base", self._new(base), source)]
        for field, result in enumerate([offset, *rest], start=2):
            steps.append(("field", self._new(result), source, field))
        assert field == 2 + 2 * rank
        return steps

    def _memref_reinterpret_cast(self, op: ir.Operation) -> list[Step]:
        source, *dynamic = self._all(op.operands)
        given, names = iter(dynamic), ("static_offsets", "static_sizes", "static_strides")
        made = [self._mixed(ir.DenseI64ArrayAttr(op.attributes[name]), given) for name in names]
        (offset,), sizes, strides = (numbers for _, numbers in made)
        return [*(step for steps, _ in made for step in steps), ("view", self._new(op.results[0]), source, offset, sizes, strides)]

    def _memref_load(self, op: ir.Operation) -> list[Step]:
        buffer, *at = self._all(op.operands)
        number, found = self._new(op.results[0]), origin(op.location)
        self._reads[number] = "a number" if found is None else _described(found)
        return [("read", number, buffer, tuple(at), str(op.results[0].type))]

    def _memref_store(self, op: ir.Operation) -> list[Step]:
        value, buffer, *at = self._all(op.operands)
        return [("write", value, buffer, tuple(at), str(op.operands[0].type))]

    def _gpu_launch_func(self, op: ir.Operation) -> list[Step]:
        name = str(op.attributes["kernel"]).rpartition("@")[2].strip('"')
        segments = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
        operands = list(op.operands)
        groups, start = [], 0
        for size in segments:
            groups.append(operands[start : start + size])
            start += size
        # async, grid x y z, block x y z, cluster x y z, shared bytes, parameters
        grid = tuple(self._numbers[group[0]] for group in groups[1:4])
        block = tuple(self._numbers[group[0]] for group in groups[4:7])
        shared = self._numbers[groups[10][0]] if groups[10] else NOTHING
        exploded = [pair for value in groups[11] for pair in self._fields(value)]
        self._kernels.append(name)
        found = origin(op.location)
        if found is not None:
            self._origins.setdefault(name, _described(found))
        why = gpu.why_alone(op.location)
        if why:
            self._alone.setdefault(name, why)
        return [("launch", name, grid, block, shared, tuple(exploded[i] for i in self._parameters[name]))]

    def _func_call(self, op: ir.Operation) -> list[Step]:
        callee = callee_name(op)
        if callee in self._exits:
            return [("exit", self._exits[callee], self._all(op.operands))]
        # the other kind that tierup-outline-exits makes
        index = ir.IntegerAttr(op.operands[1].owner.attributes["value"]).value
        return [("forced", self._new(op.results[0]), index)]

    def _fields(self, value: ir.Value) -> list[tuple[int, int]]:
        number = self._numbers[value]
        if not isinstance(value.type, ir.MemRefType):
            return [(number, NUMBER)]
        return [(number, field) for field in range(3 + 2 * ir.ShapedType(value.type).rank)]

    def _tierup_library_fits(self, op: ir.Operation) -> list[Step]:
        least = [ir.IntegerAttr(op.attributes[name]).value for name in ("least_work", "least_depth")]
        return [("fits", self._new(op.results[0]), _text(op, "equation"), self._all(op.operands), *least)]

    def _tierup_library_product(self, op: ir.Operation) -> list[Step]:
        name = f"product_{self._products}"
        self._products += 1
        found = origin(op.location)
        self._origins[name] = "" if found is None else _described(found)
        flags = tuple(flag for flag in (ADDS, TF32) if flag in op.attributes)
        return [("multiply", name, _text(op, "equation"), self._all(op.operands), flags)]

    def _scf_for(self, op: ir.Operation) -> list[Step]:
        start, stop, step, *init = self._all(op.operands)
        block = op.regions[0].blocks[0]
        index, *carried = [self._new(argument) for argument in block.arguments]
        for result, number in zip(op.results, carried, strict=True):
            self._numbers[result] = number
        body = [*self._block(block), *self._moves(carried, self._given(block))]
        return [*_moved(carried, init), ("for", index, start, stop, step, tuple(body))]

    def _scf_while(self, op: ir.Operation) -> list[Step]:
        before, after = (region.blocks[0] for region in op.regions)
        carried = [self._new(argument) for argument in before.arguments]
        first = self._block(before)
        condition, *values = self._given(before)
        handed = [self._new(result) for result in op.results]  # to the steps inside, and out of the loop at its end
        for argument, number in zip(after.arguments, handed, strict=True):
            self._numbers[argument] = number
        first += _moved(handed, values)
        second = [*self._block(after), *self._moves(carried, self._given(after))]
        return [*_moved(carried, self._all(op.operands)), ("while", condition, tuple(first), tuple(second))]

    def _scf_if(self, op: ir.Operation) -> list[Step]:
        results = [self._new(result) for result in op.results]
        arms = []
        for region in op.regions:
            blocks = list(region.blocks)
            arms.append((*self._block(blocks[0]), *_moved(results, self._given(blocks[0]))) if blocks else ())
        return [("if", *self._all(op.operands), *arms)]

    def _given(self, block: ir.Block) -> tuple[int, ...]:
        """What a block's last op hands on."""
        return self._all(handed_over(block))

    def _moves(self, to: Sequence[int], values: Sequence[int]) -> list[Step]:
        """All at once: what is carried may change places."""
        if not set(to) & set(values):
            return _moved(to, values)
        between = [self._new() for _ in to]
        return [*_moved(between, values), *_moved(to, between)]


def _moved(to: Sequence[int], values: Sequence[int]) -> list[Step]:
    return [("move", target, value) for target, value in zip(to, values, strict=True) if target != value]


def _text(op: ir.Operation, name: str) -> str:
    return str(ir.StringAttr(op.attributes[name]).value)


def _described(found: Origin) -> str:
    return f"{found.op} at {found.place}" if found.place else found.op


def _constant(op: ir.Operation) -> Constant:
    type_ = ir.MemRefType(ir.TypeAttr(op.attributes["type"]).value)
    value = op.attributes["initial_value"]
    element, sizes = str(type_.element_type), tuple(b.shape_of(type_))
    if not isinstance(value, ir.DenseElementsAttr) or element == "bf16":  # of which MLIR's bindings give no buffer
        try:
            return Constant(element, sizes, elements(value, op).tobytes())
        except UnreadableLiteral as e:
            raise Unsupported("memref.global", "", f"has no kernel: {e}") from e
    return Constant(element, sizes, bytes(memoryview(value)))
