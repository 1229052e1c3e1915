"""tierup-lower-all-tuples: no tuples: their elements are arguments, results and carried values of their own.

    func.func @f(%t: !torch.tuple<vtensor, int> {tierup.name = "t"}, %c: !torch.bool) -> !torch.tuple<vtensor, int> {
      %r = torch.prim.If %c -> (!torch.tuple<vtensor, int>) {
        torch.prim.If.yield %t : !torch.tuple<vtensor, int>
      } else { ... }
      return %r : !torch.tuple<vtensor, int>
    }

becomes

    func.func @f(%t0: !torch.vtensor {tierup.name = "t.0"}, %t1: !torch.int {tierup.name = "t.1"}, %c: !torch.bool)
        -> (!torch.vtensor, !torch.int) {
      %r:2 = torch.prim.If %c -> (!torch.vtensor, !torch.int) {
        torch.prim.If.yield %t0, %t1 : !torch.vtensor, !torch.int
      } else { ... }
      return %r#0, %r#1 : !torch.vtensor, !torch.int
    }

Tuples in tuples flatten as well, and calls fit their callees. Whoever calls the program passes and gets elements: it knew the tree.
An op that takes or gives a tuple and only stores it (a list of tuples, a profile) is an error, and so are a position in a tuple that is
not a constant, a callee without a body, and a function whose attributes count results (`tierup.writebacks`): functionalize later.
"""

from __future__ import annotations

from collections.abc import Sequence

from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import attributes_of, blocks, hand_over, signature, values_of
from tierup.dialect.ir.walking import Notes, backwards, function_names, ops_of, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.registry import Pass, PassFailure, functions, register
from tierup.dialect.rewriting.core import drop_unused, int_of
from tierup.dialect.torchscript.transforms.lower_simple_tuples import CONSTRUCT, INDEX, UNPACK

_TUPLE = "!torch.tuple<"
_CASTS = frozenset({"torch.derefine", "torch.prim.unchecked_cast"})
_COUNTING = ("tierup.writebacks", "tierup.result_aliases", "tierup.read_only", "tierup.perhaps_read_only")
_FORWARDING = frozenset({"torch.prim.If", "torch.prim.Loop", "func.call"})


@register
class LowerAllTuples(Pass):
    def run(self, module: ir.Module) -> None:
        for func in function_names(module).values():
            _check_function(func)
        for func in functions(module.operation):
            _Flattening(func).run()


def _check_function(func: ir.Operation) -> None:
    old = signature(func)
    if not any(_has_tuple(t) for t in (*old.inputs, *old.results)):
        return
    if not len(func.regions[0].blocks):
        raise PassFailure(func, "is a declaration: tuples in its signature cannot be lowered")
    for name in _COUNTING:
        if name in func.attributes:
            raise PassFailure(func, f"has {name}, which counts its results: lower tuples before tierup-functionalize")


def _is_tuple(type_: ir.Type) -> bool:
    return str(type_).startswith(_TUPLE)


def _has_tuple(type_: ir.Type) -> bool:
    return "tuple<" in str(type_)


def flat_types(type_: ir.Type) -> list[ir.Type]:
    """A tuple type's element types, those of tuples in it included; another type alone."""
    if not _is_tuple(type_):
        return [type_]
    parts = torch_types.elements(str(type_))
    return [flat for part in parts for flat in flat_types(ir.Type.parse(part, type_.context))]


class _Flattening:
    """One function's rewriting. `parts`: what each tuple value is made of, flat."""

    def __init__(self, func: ir.Operation) -> None:
        self.func = func
        self.parts: dict[ir.Value, list[ir.Value]] = Notes()

    def run(self) -> None:
        func = self.func
        for op in walk(func):
            _check_op(op)
        if not any(_is_tuple(v.type) for op in (func, *walk(func)) for v in values_of(op)):
            return
        attributes = attributes_of(func)
        arguments = list(func.regions[0].blocks[0].arguments)
        old = signature(func)
        if "arg_attrs" in attributes:
            attributes["arg_attrs"] = _argument_attributes(attributes["arg_attrs"], [a.type for a in arguments])
        if "res_attrs" in attributes:
            attributes["res_attrs"] = _argument_attributes(attributes["res_attrs"], list(old.results))
        types = ir.FunctionType.get([t for a in old.inputs for t in flat_types(a)], [t for r in old.results for t in flat_types(r)])
        attributes["function_type"] = ir.TypeAttr.get(types)
        made = ir.Operation.create("func.func", attributes=attributes, regions=1, loc=func.location, ip=ir.InsertionPoint(func)).operation
        self.move(func.regions[0].blocks[0], made.regions[0])
        func.erase()

    def flat(self, values: Sequence[ir.Value]) -> list[ir.Value]:
        return [part for value in values for part in (self.parts[value] if _is_tuple(value.type) else [value])]

    def move(self, block: ir.Block, region: ir.Region) -> None:
        """The block, flattened, as the only one of `region`."""
        arguments = list(block.arguments)
        types = [t for a in arguments for t in flat_types(a.type)]
        new = ir.Block.create_at_start(region, types, [block.owner.operation.location] * len(types))
        self.assign(arguments, list(new.arguments))
        for each in ops_of(block):
            new.append(each)
        self.block(new)

    def block(self, block: ir.Block) -> None:
        for each in ops_of(block):
            self.op(each)
        for op in backwards(block):  # tuples are used by nobody now
            if any(_is_tuple(r.type) for r in op.results):
                op.erase()

    def assign(self, old: Sequence[ir.Value], new: Sequence[ir.Value]) -> None:
        """Let flat values stand for values; those that are no tuples are replaced at once."""
        rest = list(new)
        for value in old:
            count = len(flat_types(value.type))
            taken, rest = rest[:count], rest[count:]
            if _is_tuple(value.type):
                self.parts[value] = taken
            else:
                value.replace_all_uses_with(taken[0])

    def op(self, op: ir.Operation) -> None:
        ip = ir.InsertionPoint(op)
        if op.name == CONSTRUCT or (op.name in _CASTS and _is_tuple(op.results[0].type)):
            result = op.results[0]
            self.parts[result] = [cast(v, t, ip) for v, t in zip(self.flat(op.operands), flat_types(result.type), strict=True)]
        elif op.name == UNPACK or op.name == INDEX:
            self.take_out(op)
        elif op.name in _FORWARDING:
            self.rebuild(op)
        else:
            for block in blocks(op):
                self.block(block)
            self.forward(op)

    def forward(self, op: ir.Operation) -> None:
        """A terminator hands over elements."""
        if not any(_is_tuple(v.type) for v in op.operands):
            return
        hand_over(op.block, self.flat(op.operands))

    def take_out(self, op: ir.Operation) -> None:
        parts = self.parts[op.operands[0]]
        if op.name == INDEX:
            elements = [flat_types(ir.Type.parse(t)) for t in torch_types.elements(str(op.operands[0].type))]
            position = int_of(op.operands[1])
            if position is None or not -len(elements) <= position < len(elements):
                raise PassFailure(op, f"takes from a tuple of {len(elements)} at a position that is no constant in range")
            start = sum(len(e) for e in elements[: position % len(elements)])
            parts = parts[start : start + len(elements[position])]
        ip = ir.InsertionPoint(op)
        types = [t for r in op.results for t in flat_types(r.type)]
        self.assign(list(op.results), [cast(v, t, ip) for v, t in zip(parts, types, strict=True)])
        if not any(_is_tuple(r.type) for r in op.results):
            operands = list(op.operands)[1:]
            op.erase()
            drop_unused(operands)

    def rebuild(self, op: ir.Operation) -> None:
        if not any(_is_tuple(v.type) for v in (*op.operands, *values_of(op))):
            for region in op.regions:
                self.block(region.blocks[0])
            return
        attributes = attributes_of(op)
        types = [t for r in op.results for t in flat_types(r.type)]
        ip, operands = ir.InsertionPoint(op), self.flat(op.operands)
        made = ir.Operation.create(op.name, types, operands, attributes, regions=len(op.regions), loc=op.location, ip=ip).operation
        for old, new in zip(op.regions, made.regions, strict=True):
            self.move(old.blocks[0], new)
        self.assign(list(op.results), list(made.results))
        if not any(_is_tuple(r.type) for r in op.results):
            op.erase()


def _check_op(op: ir.Operation) -> None:
    """Fail at an op that neither makes, nor takes apart, nor forwards tuples, and at containers of tuples."""
    for value in (*op.operands, *values_of(op)):
        if not _has_tuple(value.type):
            continue
        if any(_has_tuple(t) for t in flat_types(value.type)):
            raise PassFailure(op, f"has a {value.type}: tuples in other containers cannot be lowered")
        if op.name in (CONSTRUCT, UNPACK, INDEX) or op.name in _CASTS or op.name in _FORWARDING:
            continue
        if op.name not in ("func.return", "torch.prim.If.yield", "torch.prim.Loop.condition"):
            raise PassFailure(op, "takes or gives a tuple, and does not forward tuples")


def _argument_attributes(attributes: ir.Attribute, types: Sequence[ir.Type]) -> ir.Attribute:
    """One dictionary per flat value; names get positions."""
    found: list[ir.Attribute] = []
    for dictionary, type_ in zip(ir.ArrayAttr(attributes), types, strict=True):
        flat = len(flat_types(type_))
        entries = {entry.name: entry.attr for entry in ir.DictAttr(dictionary)}
        for i in range(flat):
            if _is_tuple(type_) and "tierup.name" in entries:
                name = ir.StringAttr(ir.DictAttr(dictionary)["tierup.name"]).value
                entries["tierup.name"] = ir.StringAttr.get(f"{name}.{i}")
            found.append(ir.DictAttr.get(dict(entries)))
    return ir.ArrayAttr.get(found)
