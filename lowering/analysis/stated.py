"""What a compile is for, as attributes of the program: so that passes need nothing but the IR, from the recorded graph to machine code.

    func.func @f(%x: !torch.vtensor {tierup.guard = {kind = "array", dtype = "f32", sizes = ["s0", 4]}}, %n: !torch.int {...})
        attributes {tierup.entry}

`tierup.entry` marks the function that is compiled, `tierup.guard` says of each of its arguments what the guards of the version promise
(`abi.ArgumentSpec`), `tierup.forced_losses` that a test may fail its assumptions at will. Passes add what they decide, in the same form:
`tierup.results`, `tierup.ties`, `tierup.exit_sites`. A record is a dictionary of the fields that differ from their defaults, a size that is
no number a text (`2*s0 + 1`).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from enum import Enum
from functools import reduce
from operator import mul
from typing import Any

from tierup.dialect.facts import dims
from tierup.dialect.facts.dims import Dim, Expr
from tierup.dialect.ir.attributes import i64
from tierup.dialect.ir.walking import function_names
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import functions
from tierup.dialect.transforms.lower_bailouts import FORCED
from tierup.lowering.base import llvm
from tierup.lowering.base.abi import INT64_MIN, ArgumentKind, ArgumentSpec, ExitSite, Layout, Live, ResultKind, ResultSpec

ENTRY = "tierup.entry"
GUARD = "tierup.guard"
NO_FMA = "tierup.no_fma"  # the unit attribute of a module for a CPU on which each fma would be a call
WIDE_VECTORS = "tierup.wide_vectors"  # ... on which there are 32 registers of 64 bytes
THREADS = "tierup.threads"  # of a module: how many threads may run its loops; 1 where it is absent
RESULTS = "tierup.results"
TIES = "tierup.ties"
READS_ACROSS, TURNS = "tierup.reads_across", "tierup.turns"  # of the entry: see tierup-mark-reads-across
LIMITS = "tierup.limits"  # more of them: bounds of what int arguments ask for
EXIT_SITES = "tierup.exit_sites"
RESULT_KINDS = "tierup.result_kinds"  # of an entry that computes buffers and numbers: which each result is
ERROR_SITES = "tierup.error_sites"
LAYOUT = "tierup.layout"
PART = "tierup.part"  # part of an entry (split_kernel.py): its memory lies apart as an entry's does


def state(module: ir.Module, entry: str, arguments: Iterable[ArgumentSpec], *, force: bool = False) -> ir.Operation:
    """Say in a program which function is compiled, and for which arguments; that function. Raises KeyError where none has that name."""
    function = function_names(module)[entry]
    with function.context, ir.Location.unknown():
        function.attributes[ENTRY] = ir.UnitAttr.get()
        if force:
            function.attributes[FORCED] = ir.UnitAttr.get()
        specs = list(arguments)
        said = [_items(a) for a in function.attributes["arg_attrs"]] if "arg_attrs" in function.attributes else [{}] * len(specs)
        given = [ir.DictAttr.get({**before, GUARD: attribute(spec)}) for before, spec in zip(said, specs, strict=True)]
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(given)
    return function


def state_cpu(module: ir.Module, target: str = "", threads: int = 1) -> None:
    """Say in a program what of the CPU passes ask. `target`, `threads`: as in a Request."""
    if not llvm.has_fma(target):
        module.operation.attributes[NO_FMA] = ir.UnitAttr.get(module.context)
    if llvm.has_avx512(target):
        module.operation.attributes[WIDE_VECTORS] = ir.UnitAttr.get(module.context)
    if threads > 1:
        module.operation.attributes[THREADS] = i64(threads, module.context)


def threads(module: ir.Module | ir.Operation) -> int:
    """How many threads may run a program's loops."""
    attributes = module.operation.attributes
    return int(ir.IntegerAttr(attributes[THREADS]).value) if THREADS in attributes else 1


def entry_of(module: ir.Module) -> ir.Operation | None:
    """The function that is compiled; None where none is marked."""
    return next((f for f in functions(module.operation) if ENTRY in f.attributes), None)


def guards(function: ir.Operation) -> tuple[ArgumentSpec, ...]:
    """What the guards promise of an entry's arguments."""
    found = function.attributes["arg_attrs"] if "arg_attrs" in function.attributes else ()
    return tuple(_guard(ir.DictAttr(a)[GUARD]) for a in found)


def _guard(said: ir.Attribute) -> ArgumentSpec:
    text = str(said)  # read once: half a dozen passes ask
    known = _guards.get(text)
    if known is None:
        if len(_guards) >= _MOST_GUARDS:
            _guards.clear()
        known = _guards[text] = record(ArgumentSpec, said)
    return known


_MOST_GUARDS = 1000
_guards: dict[str, ArgumentSpec] = {}


def attribute(value: object) -> ir.Attribute:
    """A record, or what one is made of, as an attribute of the current context."""
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return i64(value)
    if isinstance(value, float):
        return ir.FloatAttr.get(ir.F64Type.get(), value)
    if isinstance(value, (str, Expr)):
        return ir.StringAttr.get(str(value))
    if isinstance(value, Enum):
        return ir.StringAttr.get(value.value)
    if isinstance(value, tuple):
        return ir.ArrayAttr.get([attribute(item) for item in value])
    record: Any = value
    changed = {f.name: x for f in fields(record) if (x := getattr(record, f.name)) != f.default}
    return ir.DictAttr.get({name: attribute(x) for name, x in changed.items()})


def record(kind: type[Any], said: ir.Attribute) -> Any:
    """The record of a class that `attribute` said."""
    readers = _READERS[kind]
    return kind(**{name: readers.get(name, _plain)(x) for name, x in _items(said).items()})


def records(kind: type[Any], op: ir.Operation, name: str) -> tuple[Any, ...]:
    """The records that an op's attribute lists; none where it has no such attribute."""
    return tuple(record(kind, said) for said in op.attributes[name]) if name in op.attributes else ()


def _items(said: ir.Attribute) -> dict[str, ir.Attribute]:
    return {each.name: each.attr for each in ir.DictAttr(said)}


def _plain(said: ir.Attribute) -> Any:
    return tuple(map(_plain, said)) if isinstance(said, ir.ArrayAttr) else said.value


def dim(said: ir.Attribute) -> Dim:
    """A size: a number, or what `str` makes of an expression."""
    return _parsed(ast.parse(said.value.replace("^", "**"), mode="eval").body) if isinstance(said, ir.StringAttr) else _plain(said)


def _parsed(node: ast.expr) -> Dim:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name):
            return dims.symbol(name, INT64_MIN) if name.startswith("stride") else dims.symbol(name)  # `abi.stride_symbol`
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -1 * _parsed(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)):
            return reduce(mul, [_parsed(left)] * power)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _parsed(left) + _parsed(right)
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _parsed(left) * _parsed(right)
        case ast.Call(func=ast.Name(id=name), args=[left, right]):
            return _FUNCTIONS[name](_parsed(left), _parsed(right))
    raise ValueError(f"not a size: {ast.unparse(node)}")


_FUNCTIONS: Mapping[str, Callable[[Dim, Dim], Dim]] = {
    "floordiv": dims.floordiv, "mod": dims.mod, "max": dims.maximum, "min": dims.minimum,
}  # fmt: skip


def _dims(said: ir.Attribute) -> tuple[Dim, ...]:
    return tuple(map(dim, ir.ArrayAttr(said)))


def _live(said: ir.Attribute) -> Live:
    return record(ResultSpec, said) if isinstance(said, ir.DictAttr) else tuple(map(_live, ir.ArrayAttr(said)))


_READERS: Mapping[type[Any], Mapping[str, Callable[[Any], Any]]] = {
    ArgumentSpec: {"kind": lambda said: ArgumentKind(said.value), "layout": lambda said: Layout(said.value)},
    ResultSpec: {"kind": lambda said: ResultKind(said.value), "sizes": _dims, "offset": dim, "strides": _dims},
    ExitSite: {"live": lambda said: tuple(map(_live, said))},
}
