"""tierup-functionalize: writes become values, so that every tensor is `!torch.vtensor`.

An in-place op becomes its functional twin and an `aten.copy` that holds it to the written tensor's dtype and shape (with the
attribute `tierup.inplace`: inference refuses what the in-place op would refuse). A write through a view becomes new contents of
what is viewed, through the inverse of each view; later reads see the new contents. What a branch or loop writes becomes its
result. The function returns the user's results and then the new contents of the arguments that it writes:

* `tierup.writebacks = array<i64: ARG, ...>`: the written arguments, one per extra result; left out when there is none.
* `tierup.result_aliases`: per user result "fresh" (memory of its own), "argument:I" (argument I itself), "view:I" (a chain of view
  ops leads to it from argument I or from that argument's new contents), "may_view:I,J" (a view of one of these, or a copy: layouts, or
  the path taken, decide), "may_be:I,J" (perhaps even the argument itself), "result:J" (it shares memory with the earlier result J),
  "may_result:J,K" (it may share memory with these earlier results: layouts, or the path taken, decide), "unclear_view:I,J",
  "unclear_result:J,K" (so may it, and no check could tell: it comes out of a list, or a branch or a loop writes the argument). Where it is
  something to results and to an argument, both stand there: "may_result:J;may_view:I".

    func.func @f(%x: !torch.tensor, %i: !torch.int) {
      %row = torch.aten.select.int %x, %zero, %i : ...
      torch.aten.zero_ %row : !torch.tensor -> !torch.tensor
      return
    }

becomes

    func.func @f(%x: !torch.vtensor, %i: !torch.int) -> !torch.vtensor
        attributes {tierup.result_aliases = [], tierup.writebacks = array<i64: 0>} {
      %row = torch.aten.select.int %x, %zero, %i : ...
      %new = torch.aten.zero %row : !torch.vtensor -> !torch.vtensor
      %0 = torch.aten.select_scatter %x, %new, %zero, %i : ...
      return %0 : !torch.vtensor
    }

Fails, naming the user's op, where no value says it: writes through expand, writes to memory that may or may not be shared with
a tensor read later (reshape of strided memory, a branch that gives one of two tensors), calls of functions that write (inline
them first), writes that read other views of what they write (PyTorch refuses some). Two arguments that overlap are the caller's
affair: a guard keeps such calls away.
"""

from __future__ import annotations

from tierup.dialect.ir.structure import LIST_WRITERS, attributes_of, last_of, set_signature
from tierup.dialect.ir.walking import callee_name, function_names, walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.core import functions, refuse_several_blocks
from tierup.dialect.passes.functional.memory import Entry, Ref, holds_tensors, value_type
from tierup.dialect.passes.functional.regions import regions
from tierup.dialect.passes.functional.views import PERHAPS_READ_ONLY, READ_ONLY, identity, is_new, perhaps_read_only, read_only
from tierup.dialect.passes.functional.walk import Walker
from tierup.dialect.passes.registry import Pass, register

WRITEBACKS = "tierup.writebacks"
ALIASES = "tierup.result_aliases"


@register
class Functionalize(Pass):
    def run(self, module: ir.Module) -> None:
        writers = _writers(module)
        for func in functions(module.operation):
            if ALIASES not in func.attributes:  # else it was done before
                _Function(func, writers).rewrite()


def _writers(module: ir.Module) -> frozenset[str]:
    """The functions that write tensors, themselves or through a call."""
    names = function_names(module)
    calls: dict[str, set[str]] = {}
    found: set[str] = set()
    for name, func in names.items():
        calls[name] = set()
        for op in walk(func):
            row = row_of(op)
            if op.name == "func.call":
                calls[name].add(callee_name(op))
            elif op.name == "torch.overwrite.tensor.contents" or (row is not None and row.writes):
                found.add(name)
    while more := {name for name, callees in calls.items() if name not in found and callees & found}:
        found |= more
    return frozenset(found)


class _Function:
    def __init__(self, func: ir.Operation, writers: frozenset[str]) -> None:
        self.func = func
        changing = any(op.name in LIST_WRITERS and holds_tensors(op.operands[0].type) for op in walk(func))
        self.walker = Walker(func, writers, changing, regions())

    def rewrite(self) -> None:
        """Make the function again, on values, and put it in the place of the old one."""
        func, w = self.func, self.walker
        refuse_several_blocks(func)
        old = func.regions[0].blocks[0]
        new = ir.Operation.create("func.func", attributes=attributes_of(func), regions=1, loc=func.location, ip=ir.InsertionPoint(func))
        inputs = [value_type(a.type) for a in old.arguments]
        block = ir.Block.create_at_start(new.regions[0], inputs, [a.location for a in old.arguments])
        arguments = []
        for i, (argument, value) in enumerate(zip(old.arguments, block.arguments, strict=True)):
            storage = w.bind_new(argument, value, argument=i)
            arguments.append((i, storage, value))
        with w.inside(block):
            returned = w.block(old)
            entries = [w.entry(v) for v in returned]
            terminator = last_of(old)
            results = [w.cast(w.read(e), value_type(v.type), terminator) for e, v in zip(entries, returned, strict=True)]
            written = [(i, w.memory.current[s], s.type) for i, s, value in arguments if s is not None and w.memory.current[s] != value]
            results += [w.cast(value, type_, terminator) for _, value, type_ in written]
            ir.Operation.create("func.return", [], results, loc=terminator.location, ip=w.ip)
        set_signature(new.operation)
        new.attributes[ALIASES] = ir.ArrayAttr.get([ir.StringAttr.get(a, func.context) for a in self._aliases(entries)], func.context)
        if written:
            new.attributes[WRITEBACKS] = ir.DenseI64ArrayAttr.get([i for i, _, _ in written], func.context)
        if locked := [i for i, entry in enumerate(entries) if isinstance(entry, Ref) and read_only(entry.chain)]:
            new.attributes[READ_ONLY] = ir.DenseI64ArrayAttr.get(locked, func.context)
        if unclear := [i for i, value in enumerate(results[: len(entries)]) if i not in locked and perhaps_read_only(value)]:
            new.attributes[PERHAPS_READ_ONLY] = ir.DenseI64ArrayAttr.get(unclear, func.context)
        func.erase()

    def _aliases(self, entries: list[Entry]) -> list[str]:
        shown: dict[int, Ref] = {}  # the results before that are in no argument's memory
        aliases = []
        for i, entry in enumerate(entries):
            alias = self._alias(entry)
            if isinstance(entry, Ref) and entry.storage.argument is None:
                same = [j for j, ref in shown.items() if ref.storage is entry.storage]
                near = [j for j, ref in shown.items() if self.walker.memory.share(ref, entry)]
                if same or near:
                    taken = entry.storage.taken or any(shown[j].storage.taken for j in near)
                    others = f"{'unclear' if taken else 'may'}_result:{','.join(map(str, near))}"
                    others = f"result:{same[0]}" if same else others
                    alias = others if alias == "fresh" else f"{others};{alias}"
                shown[i] = entry
            aliases.append(alias)
        return aliases

    def _alias(self, entry: Entry) -> str:
        """What a result is to the arguments."""
        if not isinstance(entry, Ref):
            return "fresh"
        argument = entry.storage.argument
        if argument is not None:
            if identity(entry.chain):
                return f"argument:{argument}"
            return f"view:{argument}" if is_new(entry) else f"may_be:{argument}"
        memory = self.walker.memory
        others = sorted((s for s in memory.may_be(entry) if s.argument is not None), key=lambda s: s.argument or 0)
        if not others:
            return "fresh"
        unclear = entry.storage.taken or any(_of_a_region(memory.current[s]) for s in others)
        kind = "unclear_view" if unclear else "may_view" if is_new(entry) else "may_be"
        return f"{kind}:{','.join(str(s.argument) for s in others)}"


def _of_a_region(value: ir.Value) -> bool:
    """Whether a branch or a loop gives the value: contents that are written in it are others' values inside."""
    return not isinstance(value.owner, ir.Block) and len(value.owner.operation.regions) > 0
