"""The thin function of the ABI in front of a kernel that MLIR made, as LLVM IR text.

    i32 @kernel(ptr %arguments, ptr %results)

It reads pointers and the sizes and strides that are not compiled in, and calls the kernel's function, whose memrefs arrive
exploded: allocated pointer, aligned pointer, offset, sizes, strides. Equal symbols are read once, so that LLVM knows them equal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tierup.dialect.base import dtypes
from tierup.dialect.facts.dims import Dim, Symbol
from tierup.lowering.base.abi import (
    ERROR_BASE,
    EXIT_BASE,
    ArgumentKind,
    ArgumentSpec,
    ExitSite,
    Layout,
    ResultKind,
    ResultSpec,
    live_words,
)

FORCED = "forced"  # the symbol of what a test wants lost: bailout and evaluation, -1 for none

_SCALAR = {ArgumentKind.INT: "i64", ArgumentKind.FLOAT: "double", ArgumentKind.BOOL: "i1"}
_SCALAR_RESULT = {"int": "i64", "float": "double", "bool": "i1"}


class _Body:
    """Lines of a function, with fresh names."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def let(self, expression: str) -> str:
        self._count += 1
        name = f"%v{self._count}"
        self.lines.append(f"  {name} = {expression}")
        return name

    def do(self, statement: str) -> None:
        self.lines.append(f"  {statement}")

    def load(self, type_: str, base: str, offset: int, element: str = "i64") -> str:
        """The `offset`-th 8-byte word behind `base`."""
        address = base if offset == 0 else self.let(f"getelementptr {element}, ptr {base}, i64 {offset}")
        return self.let(f"load {type_}, ptr {address}, align 8")


def adapter(
    symbol: str,
    inner: str,
    arguments: Sequence[ArgumentSpec],
    results: Sequence[ResultSpec],
    ties: Sequence[tuple[Dim, Dim]] = (),
    first_tie_site: int = 0,
    exits: Sequence[ExitSite] = (),
    forced: int = 0,
) -> str:
    """LLVM IR text that defines @symbol, calling @inner, which is defined in the same module.

    `ties`: sizes that the program needs equal. Where they are not, error site `first_tie_site + i` is returned at once, before
    code that counts on it reads anything. `exits`: then the kernel gets the live words, and its status may be below 0. `forced`: how often
    it asks whether a test wants an assumption to fail; @FORCED then says which.
    """
    body = _Body()
    status = body.let("alloca i32, align 4")
    body.do(f"store i32 0, ptr {status}, align 4")
    operands: list[str] = []
    symbols: dict[str, str] = {}
    for i, spec in enumerate(arguments):
        if spec.kind is ArgumentKind.ARRAY:
            operands += _callers(_array(body, i, spec, symbols), exits)
        else:
            operands.append(_scalar(body, i, spec.kind))
            symbols |= dict.fromkeys(spec.symbols, operands[-1].rpartition(" ")[2])
    for i, (left, right) in enumerate(ties):
        _check_tie(body, left, right, symbols, ERROR_BASE + first_tie_site + i)
    returned = []
    for i, result in enumerate(results):
        if result.kind in (ResultKind.BUFFER, ResultKind.ARGUMENT):
            operands += _callers(_buffer(body, i, result), exits)
        elif result.kind in (ResultKind.ALLOCATED, ResultKind.SCALAR):
            returned.append((i, result, _returned_type(result)))
    if exits:
        live = body.let(f"getelementptr i64, ptr %results, i64 {2 * len(results)}")
        operands += _descriptor(live, [str(live_words(tuple(exits)))], ["1"])
    if forced:
        operands += _force(body, forced)
    operands += _descriptor(status, [], [])
    _call(body, inner, operands, returned)
    code = body.load("i32", status, 0)
    failed = body.let(f"icmp ne i32 {code}, 0")
    shifted = body.let(f"add i32 {code}, {ERROR_BASE - 1}")  # sites count from 1
    if exits:
        index = body.let(f"sub i32 {EXIT_BASE - 1}, {code}")  # -1 is bailout 0
        shifted = body.let(f"select i1 {body.let(f'icmp slt i32 {code}, 0')}, i32 {index}, i32 {shifted}")
    answer = body.let(f"select i1 {failed}, i32 {shifted}, i32 0")
    body.do(f"ret i32 {answer}")
    text = "\n".join(body.lines)
    # LLVM prefers 256 bits on many targets that have 512; the long polynomials of exp and tanh are a third faster with the wide ones
    head = f'define i32 @{symbol}(ptr noalias readonly %arguments, ptr noalias %results) "prefer-vector-width"="512"'
    table = f"@{FORCED} = global [2 x i64] [i64 -1, i64 -1]\n" if forced else ""
    return f"{table}{head} {{\n{text}\n}}\n"


def _force(body: _Body, count: int) -> list[str]:
    """What a test wants lost, and counters of this call."""
    table = body.let(f"alloca [{2 + count} x i64], align 8")
    for word in range(2 + count):
        source = body.load("i64", f"@{FORCED}", word) if word < 2 else "0"
        body.do(f"store i64 {source}, ptr {table if word == 0 else body.let(f'getelementptr i64, ptr {table}, i64 {word}')}, align 8")
    return _descriptor(table, [str(2 + count)], ["1"])


def _check_tie(body: _Body, left: Dim, right: Dim, symbols: Mapping[str, str], code: int) -> None:
    equal = body.let(f"icmp eq i64 {_dim(body, left, symbols)}, {_dim(body, right, symbols)}")
    label = equal[1:]
    body.do(f"br i1 {equal}, label %held_{label}, label %broken_{label}")
    body.lines.append(f"broken_{label}:")
    body.do(f"ret i32 {code}")
    body.lines.append(f"held_{label}:")


_FUNCTIONS = {"floordiv": "sdiv", "mod": "srem"}  # of sizes, which are not negative


def _dim(body: _Body, dim: Dim, symbols: Mapping[str, str]) -> str:
    """The value of a size expression."""
    if isinstance(dim, int):
        return str(dim)
    total = ""
    for monomial, coefficient in dim.terms:
        term = "" if coefficient == 1 and monomial else str(coefficient)
        for _, atom, power in monomial:
            one = symbols[atom.name] if isinstance(atom, Symbol) else _call_dim(body, atom.fn, [_dim(body, a, symbols) for a in atom.args])
            for _ in range(power):
                term = body.let(f"mul i64 {term}, {one}") if term else one
        total = body.let(f"add i64 {total}, {term}") if total else term
    return total or "0"


def _call_dim(body: _Body, fn: str, args: list[str]) -> str:
    if fn in _FUNCTIONS:
        return body.let(f"{_FUNCTIONS[fn]} i64 {args[0]}, {args[1]}")
    above = body.let(f"icmp {'sgt' if fn == 'max' else 'slt'} i64 {args[0]}, {args[1]}")
    return body.let(f"select i1 {above}, i64 {args[0]}, i64 {args[1]}")


def _field(body: _Body, table: str, stride: int, i: int, field: int) -> str:
    return body.load("ptr", table, i * stride + field)


def _scalar(body: _Body, i: int, kind: ArgumentKind) -> str:
    address = f"%arguments, i64 {3 * i}"
    slot = body.let(f"getelementptr i64, ptr {address}")
    if kind is ArgumentKind.BOOL:
        word = body.let(f"load i64, ptr {slot}, align 8")
        return f"i1 {body.let(f'icmp ne i64 {word}, 0')}"
    type_ = _SCALAR[kind]
    return f"{type_} {body.let(f'load {type_}, ptr {slot}, align 8')}"


def _array(body: _Body, i: int, spec: ArgumentSpec, symbols: dict[str, str]) -> list[str]:
    data = _field(body, "%arguments", 3, i, 0)
    sizes = []
    table = ""
    for axis, size in enumerate(spec.sizes):
        if isinstance(size, str):
            if size not in symbols:
                table = table or _field(body, "%arguments", 3, i, 1)
                symbols[size] = body.load("i64", table, axis)
            sizes.append(symbols[size])
        else:
            sizes.append(str(size))
    if spec.layout is Layout.COLUMNS:
        sizes.reverse()
    if spec.layout is not Layout.STRIDED:
        return _descriptor(data, sizes, _dense(body, sizes))
    strides = []
    itemsize = dtypes.BY_NAME[spec.dtype].itemsize
    if sizes:
        table = _field(body, "%arguments", 3, i, 2)
    for axis in range(len(sizes)):
        in_bytes = body.load("i64", table, axis)
        strides.append(in_bytes if itemsize == 1 else body.let(f"sdiv exact i64 {in_bytes}, {itemsize}"))
    return _descriptor(data, sizes, strides)


def _buffer(body: _Body, i: int, spec: ResultSpec) -> list[str]:
    data = _field(body, "%results", 2, i, 0)
    sizes = []
    table = ""
    for axis in spec.order or range(len(spec.sizes)):
        size = spec.sizes[axis]
        if not isinstance(size, int):
            table = table or _field(body, "%results", 2, i, 1)
            sizes.append(body.load("i64", table, axis))
        else:
            sizes.append(str(size))
    return _descriptor(data, sizes, _dense(body, sizes))


def _dense(body: _Body, sizes: list[str]) -> list[str]:
    """C-order strides, folded where sizes are numbers."""
    strides: list[str] = []
    step = "1"
    for size in reversed(sizes):
        strides.insert(0, step)
        if step.isdigit() and size.isdigit():
            step = str(int(step) * int(size))
        elif step == "1":
            step = size
        else:
            step = body.let(f"mul i64 {step}, {size}")
    return strides


def _callers(descriptor: list[str], exits: Sequence[ExitSite]) -> list[str]:
    """A descriptor of memory that is the caller's: with a null allocated pointer, by which exits tell it (tierup-define-exits)."""
    return ["ptr null", *descriptor[1:]] if exits else descriptor


def _descriptor(data: str, sizes: list[str], strides: list[str]) -> list[str]:
    return [f"ptr {data}", f"ptr {data}", "i64 0", *(f"i64 {v}" for v in (*sizes, *strides))]


def _returned_type(spec: ResultSpec) -> str:
    if spec.kind is ResultKind.SCALAR:
        return _SCALAR_RESULT[spec.dtype]
    rank = len(spec.sizes)
    return f"{{ ptr, ptr, i64, [{rank} x i64], [{rank} x i64] }}" if rank else "{ ptr, ptr, i64 }"


def _call(body: _Body, inner: str, operands: list[str], returned: list[tuple[int, ResultSpec, str]]) -> None:
    call = f"@{inner}({', '.join(operands)})"
    if not returned:
        body.do(f"call void {call}")
        return
    whole = f"{{ {', '.join(type_ for _, _, type_ in returned)} }}" if len(returned) > 1 else returned[0][2]
    answer = body.let(f"call {whole} {call}")
    for position, (i, spec, type_) in enumerate(returned):
        one = answer if len(returned) == 1 else body.let(f"extractvalue {whole} {answer}, {position}")
        slot = body.let(f"getelementptr i64, ptr %results, i64 {2 * i}")
        if spec.kind is ResultKind.SCALAR:
            if type_ == "i1":
                one, type_ = body.let(f"zext i1 {one} to i64"), "i64"
            body.do(f"store {type_} {one}, ptr {slot}, align 8")
            continue
        body.do(f"store ptr {body.let(f'extractvalue {type_} {one}, 1')}, ptr {slot}, align 8")
        if spec.sizes:
            table = _field(body, "%results", 2, i, 1)
            for axis in range(len(spec.sizes)):
                address = table if axis == 0 else body.let(f"getelementptr i64, ptr {table}, i64 {axis}")
                body.do(f"store i64 {body.let(f'extractvalue {type_} {one}, 3, {axis}')}, ptr {address}, align 8")
