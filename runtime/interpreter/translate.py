"""`translate`: a program in MLIR becomes tier 0. Needs MLIR; what it returns does not."""

from __future__ import annotations

from collections.abc import Mapping

from tierup.dialect import optable
from tierup.dialect.analysis.sizing import sizing_arguments
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import IN_NO_GRAD
from tierup.dialect.ir.structure import CASTS, last_of, maker
from tierup.dialect.ir.walking import function_names, symbol_of, torch_name, walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.rewriting.float_constants import is_from_python
from tierup.dialect.speculation import CONTINUATION
from tierup.runtime.interpreter import structural, tierup_ops
from tierup.runtime.interpreter.emit import FunctionEmitter, Source
from tierup.runtime.interpreter.graph import Function, Global, Let, atoms, expressions, nodes
from tierup.runtime.interpreter.memory import Memory
from tierup.runtime.interpreter.names import Names, identifier
from tierup.runtime.interpreter.parameters import Kind, Parameter
from tierup.runtime.interpreter.reader import Reader, argument_bound, argument_names
from tierup.runtime.interpreter.tier0 import Tier0

_SCALARS = {"!torch.int": "int", "!torch.float": "float", "!torch.bool": "bool", "!torch.number": "number",
            "!torch.str": "str", "!torch.none": "none", "!torch.Device": "device"}  # fmt: skip
LOOK_LIKE_RESULTS = ("!torch.tuple<", "!torch.optional<", "!torch.union<", "!torch.any")  # types whose value may be a tuple or None
_PYTHON_TYPES = {"int": "int", "float": "float", "bool": "bool", "str": "str"}


def translate(
    program: ir.Module | ir.Operation | ir.OpView,
    entry: str | None = None,
    *,
    record: bool = False,
    sites: Mapping[str, object] | None = None,
    fail: bool = False,
) -> Tier0:
    """Tier 0 of the function `entry` of a module, or of a `func.func` (callees are then looked up in its module).

    `entry` may be left out for a function, and for a module with one public function. With `record`, `tierup.profile` ops call
    the recorder that each call is given; without, they vanish. `sites`: what is called in place of the module's functions of these
    names; tier 0 is then not picklable unless they are. With `fail`, every guard and bailout asks the hook that each call is given whether
    it must fail (see Tier0). The same program gives the same source every time.
    Raises UnsupportedOp for an op that cannot be run and KeyError for an entry that is not there.
    """
    operation = program.operation
    if operation.name == "func.func":
        entry = symbol_of(operation)
        operation = operation.parent.operation if operation.parent is not None else operation
        functions = {entry: program.operation} if operation.name != "builtin.module" else function_names(operation)
    else:
        functions = function_names(operation)
    name = entry if entry is not None else _only_entry(functions)
    if name not in functions:
        raise KeyError(f"no function @{name}; the program has {', '.join('@' + n for n in functions) or 'none'}")
    return _translate(functions, name, record, sites or {}, fail)


_HANDLERS = {**tierup_ops.HANDLERS, **structural.HANDLERS}


def _translate(declared: Mapping[str, ir.Operation], entry: str, record: bool, sites: Mapping[str, object], fail: bool) -> Tier0:
    polls = not (record or fail or sites) and _loops_and_may_begin_anew(declared)
    reader = Reader(declared, _HANDLERS, record=record, sites=sites, fail=fail, polls=polls)
    functions = reader.program(entry)
    memory = Memory(functions, entry)
    func = declared[entry]
    block = func.regions[0].blocks[0]
    takes_complex = is_from_python(func)
    parameters = tuple(
        Parameter(name, _kind(str(argument_bound(func, i) or argument.type)), i in memory.written, takes_complex)
        for i, (name, argument) in enumerate(zip(argument_names(func), block.arguments, strict=True))
    )
    names = Names(identifier(a.hint) for f in functions.values() for a in f.body.arguments)  # those stay the user's
    globals_ = {f"@{name}": names.pick(name) for name in functions}
    for piece in _globals(functions):
        if piece.path not in globals_:
            globals_[piece.path] = names.pick(piece.hint)
    source = Source()
    constants = {globals_[name]: value for name, value in reader.constants.items() if name in globals_}  # others nobody reads
    header = [str(hook) for hook in reader.hooks]
    for name, function in functions.items():
        emitter = FunctionEmitter(source, memory, globals_, polls)
        prologue = []
        if name == entry:
            for argument, parameter in zip(function.body.arguments, parameters, strict=True):
                variable = emitter.variable(argument)
                test = _misfit(variable, parameter, constants)
                if test:
                    check = names.pick(f"check_{variable}")
                    constants[check] = parameter.convert
                    prologue.append(f"if {test}: {variable} = {check}({variable})")
        else:
            source.add(0, "")
        returns = name == entry or CONTINUATION in declared[name].attributes  # a continuation's results are the entry's
        emitter.emit(function, header, prologue, as_tuple=returns and _is_ambiguous(declared[name], functions))
    bindings = {name: path for path, name in globals_.items() if ":" in path}
    text, detached, sizing = source.text(), _detached(func), sizing_arguments({name: declared[name] for name in functions}, entry)
    return Tier0(
        entry, globals_[f"@{entry}"], text, parameters, source.origins, bindings, constants, record, fail, detached, sizing, polls
    )


def _loops_and_may_begin_anew(declared: Mapping[str, ir.Operation]) -> bool:
    """Whether there is a loop, and all that a run which is broken off leaves behind are writes to arguments."""
    names = {torch_name(op) if op.name == "torch.operator" else op.name for func in declared.values() for op in walk(func)}
    rows = filter(None, map(optable.lookup, names))
    return "torch.prim.Loop" in names and not any(row.random or row.acts or optable.is_foreign(row) for row in rows)


def _detached(func: ir.Operation) -> tuple[int, ...]:
    """The results that are tensors detached from another, or views of such; what a no_grad block gives is none."""

    def is_detached(value: ir.Value) -> bool:
        op = maker(value)
        while op is not None and (op.name in CASTS or ((row := row_of(op)) is not None and row.aliasing is Aliasing.VIEW)):
            if op.name == "torch.aten.detach" and IN_NO_GRAD not in op.attributes:
                return True
            op = maker(op.operands[0])
        return False

    return tuple(i for i, value in enumerate(last_of(func.regions[0].blocks[0]).operands) if is_detached(value))


def _is_ambiguous(func: ir.Operation, functions: Mapping[str, Function]) -> bool:
    """Whether a function's one result may be a tuple or None, which look like several results and none. Not of one that others call,
    but where a bailout does, whose function returns what it gives."""
    results = [str(t) for t in ir.FunctionType(ir.TypeAttr(func.attributes["function_type"]).value).results]
    if len(results) != 1 or not results[0].startswith(LOOK_LIKE_RESULTS):
        return False
    name = symbol_of(func)
    return not any(isinstance(node, Let) and node.callee == name and node.results for f in functions.values() for node in nodes(f.body))


def _globals(functions: Mapping[str, Function]) -> list[Global]:
    """The names of the source's module that the functions use, in order."""
    pieces = (piece for function in functions.values() for piece in expressions(function.body))
    return [atom for piece in pieces for atom in atoms(piece) if isinstance(atom, Global)]


def _misfit(name: str, parameter: Parameter, constants: dict[str, object]) -> str:
    """A quick test, as source, that says when an argument needs `Parameter.convert`: to be made to fit, or refused."""
    kind = parameter.kind
    if kind.name == "any":
        return ""
    if kind.name in _PYTHON_TYPES:
        return f"type({name}) is not {_PYTHON_TYPES[kind.name]}"
    if kind.name == "none":
        return f"{name} is not None"
    if kind.name != "tensor":
        return "True"
    test = f"type({name}) is not ndarray or "
    if kind.dtype is None:
        test += f"{name}.dtype not in {'all_dtypes' if parameter.takes_complex else 'dtypes'}"
    elif kind.dtype.is_complex and not parameter.takes_complex:
        return "True"
    else:
        constants[f"dtype_{kind.dtype.name}"] = kind.dtype.numpy
        test += f"{name}.dtype is not dtype_{kind.dtype.name}"
    if kind.sizes is not None:
        if None not in kind.sizes:
            test += f" or {name}.shape != {kind.sizes!r}"
        else:
            test += f" or {name}.ndim != {len(kind.sizes)}"
            test += "".join(f" or {name}.shape[{i}] != {s}" for i, s in enumerate(kind.sizes) if s is not None)
    return test


def _kind(text: str) -> Kind:
    """A torch type's text as what an argument must be."""
    if text in _SCALARS:
        return Kind(_SCALARS[text])
    if text.startswith(("!torch.tensor", "!torch.vtensor")):
        sizes, dtype = torch_types.parse_tensor(text)
        return Kind("tensor", (), dtype, sizes)
    for name in ("list", "tuple", "optional"):
        if text.startswith(f"!torch.{name}<"):
            return Kind(name, tuple(_kind(t) for t in torch_types.elements(text)))
    return Kind("any")


def _only_entry(functions: Mapping[str, ir.Operation]) -> str:
    public = [name for name, op in functions.items() if "sym_visibility" not in op.attributes]
    if len(public) != 1:
        raise KeyError(f"which function? The program has {', '.join('@' + n for n in public) or 'no public one'}")
    return public[0]
