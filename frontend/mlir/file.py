"""Programs in MLIR: a file of text or bytecode, or a text, and the function that is the program's entry."""

from __future__ import annotations

import linecache
from pathlib import Path

from tierup.dialect.base.shielded import shielded
from tierup.dialect.base.spelling import closest
from tierup.dialect.ir import nesting, torch_types
from tierup.dialect.ir.structure import signature
from tierup.dialect.ir.walking import function_names
from tierup.dialect.language.text import InvalidIR, check_nesting, parse_file, parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes.diagnostics import excerpt
from tierup.frontend.errors import ProgramError
from tierup.frontend.graph import GraphResult
from tierup.runtime.arguments.trees import Leaf, Output, OutputNode, OutputTree

_ENTRIES = ("main", "forward")
_KINDS = {"!torch.int": "int", "!torch.float": "float", "!torch.bool": "bool"}


def load(path: str | Path, entry: str | None = None) -> GraphResult:
    """The program in a file of MLIR text or bytecode.

    `entry` may be left out when the module has one public function, or one called main or forward. Raises ProgramError with
    file, line, column and the source line for what does not parse or verify, and for an entry that is not there; OSError.
    """
    try:
        return _program(parse_file(path), str(path), entry)
    except InvalidIR as e:
        raise ProgramError(_message(e, None)) from e


def load_text(text: str, entry: str | None = None) -> GraphResult:
    """The program in a text; otherwise as `load`."""
    try:
        check_nesting(text)
        return _program(parse_module(text), "the module", entry)
    except InvalidIR as e:
        raise ProgramError(_message(e, text)) from e


def _message(error: InvalidIR, text: str | None) -> str:
    """The diagnostics, the first with its source line and a caret under the column."""
    lines = [str(d) for d in error.diagnostics]
    place = error.diagnostics[0].place if error.diagnostics else None
    if place is not None and place.line:
        source = text.splitlines()[place.line - 1] if text is not None else linecache.getline(place.file, place.line).rstrip("\n")
        if source:
            lines[0] += "".join(f"\n    {line}" for line in excerpt(source, place.column))
    return "\n".join(lines)


def _program(module: ir.Module, where: str, entry: str | None) -> GraphResult:
    too_deep = nesting.check_program(module)
    if too_deep is not None:
        raise InvalidIR((too_deep,))
    functions = function_names(module)
    name = _choose(functions, where, entry)
    func = functions[name]
    if not func.regions[0].blocks:
        raise ProgramError(f"{where}: @{name} is a declaration without a body")
    func.attributes["tierup.source"] = ir.StringAttr.get("mlir", module.context)
    arguments = func.regions[0].blocks[0].arguments
    leaves = tuple((n, _leaf(a.type)) for n, a in zip(_names(func, len(arguments)), arguments, strict=True))
    results = signature(func).results
    outputs: tuple[OutputTree, ...] = tuple(Output(_kind(t)) for t in results)
    nothing = [str(t) for t in results] in ([], ["!torch.none"])
    output = Output("const") if nothing else outputs[0] if len(outputs) == 1 else OutputNode("tuple", outputs)
    return GraphResult(module, name, leaves, output, writes=_writes(module))


def _choose(functions: dict[str, ir.Operation], where: str, entry: str | None) -> str:
    public = [
        n
        for n, f in functions.items()
        if "sym_visibility" not in f.attributes or ir.StringAttr(f.attributes["sym_visibility"]).value == "public"
    ]
    listed = ", ".join(f"@{n}" for n in public) or "no public function"
    if entry is not None:
        if not isinstance(entry, str):
            raise TypeError(f"entry: expected the name of a function, got {entry!r}; {where} has {listed}")
        wanted = entry.removeprefix("@")
        if wanted not in functions:
            raise ProgramError(f"{where} has no function @{wanted}{closest(wanted, functions)}; it has {listed}")
        return wanted
    usual = [n for n in _ENTRIES if n in public]
    if len(public) == 1 or usual:
        return public[0] if len(public) == 1 else usual[0]
    raise ProgramError(f"{where} has {listed}: name the entry")


def _names(func: ir.Operation, count: int) -> list[str]:
    """The arguments' `tierup.name`s, arg0, arg1, ... where there are none."""
    names = [f"arg{i}" for i in range(count)]
    if "arg_attrs" in func.attributes:
        for i, attributes in enumerate(ir.ArrayAttr(func.attributes["arg_attrs"])):
            given = ir.DictAttr(attributes)
            if "tierup.name" in given:
                names[i] = ir.StringAttr(given["tierup.name"]).value
    return names


def _kind(type_: ir.Type) -> str:
    return "array" if torch_types.is_tensor(type_) else _KINDS.get(str(type_), "other")


def _leaf(type_: ir.Type) -> Leaf:
    kind = _kind(type_)
    if kind != "array":
        return Leaf(kind)
    sizes, _ = torch_types.parse_tensor(str(type_))
    return Leaf("array", None if sizes is None else len(sizes))


def _writes(module: ir.Module) -> bool:
    """Whether any value may be written: whether there is a !torch.tensor."""
    found = False

    def visit(view: ir.Operation) -> ir.WalkResult:
        nonlocal found
        op = view.operation
        types = [r.type for r in op.results] + [a.type for region in op.regions for block in region.blocks for a in block.arguments]
        if any(str(t).startswith("!torch.tensor") for t in types):
            found = True
            return ir.WalkResult.INTERRUPT
        return ir.WalkResult.ADVANCE

    shielded(lambda: module.operation.walk(visit))  # MLIR would make a RuntimeError of what a signal's handler raises in there
    return found
