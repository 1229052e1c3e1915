"""Walking over ops while some of them are erased: an op that is gone is not given out.

    for op in walk(func):              # every op below func, parents first
    for op in ops_of(block):           # those of one block
    for op in unerased(found):         # those of a list that was made before

The bindings notice that an op was erased only at the very object whose `erase` was called. At any other object for the op, such as those in
a list that somebody walks, reading it is reading freed memory. So `erase` tells all walks that are under way, whoever calls it.
What MLIR's own passes and patterns erase they do not learn: none is run in the middle of a walk.

What an analysis notes of ops, values and blocks it keeps in a `Notes`, which drops what is erased: another op may be made in the same
place, and a dict would give out for it what was noted of the first.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from tierup.dialect.base.shielded import shielded
from tierup.dialect.mlir import address, ir


def torch_name(op: ir.Operation) -> str:
    """What an op of PyTorch's is called, "aten.add.Tensor", be it one of the torch dialect or a torch.operator; any other's own name."""
    return str(ir.StringAttr(op.attributes["name"]).value if op.name == "torch.operator" else op.name.removeprefix("torch."))


class _Walk:
    """The ops to come, the next one last, and the one that was given out last (None: it is gone)."""

    __slots__ = ("given", "gone", "keys", "rest")

    def __init__(self, rest: list[ir.Operation]) -> None:
        self.rest = rest
        self.given: ir.Operation | None = None
        # once something was erased: where each op to come lies, and where those lay that are gone
        self.keys: list[int] | None = None
        self.gone: set[int] = set()

    def next(self) -> bool:
        """Go on to the next op that is still there: `given`. False at the end."""
        while self.rest:
            self.given = self.rest.pop()
            if self.keys is None or self.keys.pop() not in self.gone:
                return True
        return False

    def forget(self, op: ir.Operation, key: int) -> None:
        if self.given is not None and op == self.given:
            self.given = None
            return
        if self.keys is None:
            self.keys = [address(each) for each in self.rest]
        self.gone.add(key)

    def add(self, found: list[ir.Operation]) -> None:
        """These come next, the last of them first."""
        if self.keys is not None:  # one of them may lie where one lay that is gone
            left = [at for at, key in enumerate(self.keys) if key not in self.gone] if self.gone else range(len(self.keys))
            self.rest[:] = [self.rest[at] for at in left]
            self.keys[:] = [self.keys[at] for at in left] + [address(each) for each in found]
            self.gone.clear()
        self.rest += found


class _Walks(threading.local):
    def __init__(self) -> None:
        self.open: list[_Walk] = []
        self.notes: weakref.WeakValueDictionary[int, Notes[Any, Any]] = weakref.WeakValueDictionary()


_K = TypeVar("_K")
_V = TypeVar("_V")


class Notes(dict[_K, _V]):
    """A dict by ops, values or blocks, of which no entry outlives its key's op. For the thread that makes it."""

    __slots__ = ("__weakref__",)

    def __init__(self, *known: Any) -> None:
        super().__init__(*known)
        _walks.notes[id(self)] = self

    def drop(self, op: Any) -> None:
        """Remove the entries of an op that goes: its own, and those of its results, its blocks and their arguments."""
        self.pop(op, None)
        for result in op.results:
            self.pop(result, None)
        for block in (block for region in op.regions for block in region.blocks):
            self.pop(block, None)
            for argument in block.arguments:
                self.pop(argument, None)


_walks = _Walks()
_erase = ir._OperationBase.erase


def walk(root: ir.Operation) -> Iterator[ir.Operation]:
    """Every op below `root`, parents first. The ops inside another are looked up once that was given out."""
    return _give_out(_inside(root), True)


def ops_of(block: ir.Block) -> Iterator[ir.Operation]:
    """The ops that a block has when asked, in order."""
    return _give_out([view.operation for view in block.operations], False)


def backwards(block: ir.Block) -> Iterator[ir.Operation]:
    """The ops that a block has when asked, the last first."""
    return _give_out([view.operation for view in block.operations][::-1], False)


def unerased(found: Iterable[ir.Operation]) -> Iterator[ir.Operation]:
    """The ops of a list, or of a walk that is made in advance, but those that are erased before their turn."""
    return _give_out(list(found), False)


def _give_out(found: list[ir.Operation], inner: bool) -> Iterator[ir.Operation]:
    under_way = _walks.open
    found.reverse()
    mine = _Walk(found)
    under_way.append(mine)
    try:
        while mine.next():
            assert mine.given is not None
            yield mine.given
            if inner and mine.given is not None and len(mine.given.regions):
                mine.add(_inside(mine.given)[::-1])
    finally:
        under_way.remove(mine)


def _inside(op: ir.Operation) -> list[ir.Operation]:
    return [view.operation for region in op.regions for block in region.blocks for view in block.operations]


def forget(op: ir.Operation) -> None:
    """Tell the walks and the notes that an op, and all in it, is about to go."""
    notes = [each for each in _walks.notes.values() if each]
    if not _walks.open and not notes:
        return
    gone = [op]
    for each in gone:
        if len(each.regions):
            gone += _inside(each)
        key = address(each)
        for under_way in _walks.open:
            under_way.forget(each, key)
        for noted in notes:
            noted.drop(each)


def _erase_and_tell(self: ir.Operation) -> None:
    """Erase the op; no walk will give it out any more."""
    forget(self)
    _erase(self)


ir._OperationBase.erase = _erase_and_tell


def symbol_of(op: ir.Operation) -> str:
    """The name of a function, or of another op with a symbol."""
    return str(ir.StringAttr(op.attributes["sym_name"]).value)


def callee_name(call: ir.Operation) -> str:
    """The name of the function that a func.call calls."""
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)


def function_names(module: ir.Module | ir.Operation) -> dict[str, ir.Operation]:
    """The functions of a module by name, declarations included."""
    tops = (view.operation for view in module.operation.regions[0].blocks[0].operations)
    return {symbol_of(op): op for op in tops if op.name == "func.func"}


def callee_of(call: ir.Operation) -> ir.Operation | None:
    """The function that a call names; None where its module has none of that name with a body."""
    root = call
    while root.parent is not None:
        root = root.parent.operation
    name = callee_name(call)
    tops = (view.operation for view in root.regions[0].blocks[0].operations) if root.name == "builtin.module" else ()
    found = (op for op in tops if op.name == "func.func" and symbol_of(op) == name)
    return next((op for op in found if len(op.regions[0].blocks)), None)


def names_in(op: ir.Operation) -> set[str]:
    """The names of an op and of all ops in it."""
    found: set[str] = set()

    def visit(inner: ir.Operation) -> ir.WalkResult:
        found.add(inner.operation.name)
        return ir.WalkResult.ADVANCE

    shielded(lambda: op.walk(visit))  # MLIR would make a RuntimeError of what a signal's handler raises in there
    return found


def with_callees(op: ir.Operation) -> list[ir.Operation]:
    """An op, the functions that ops in it call, and those that these call."""
    found = [op]
    for caller in found:
        for call in walk(caller) if "func.call" in names_in(caller) else ():
            callee = callee_of(call) if call.name == "func.call" else None
            if callee is not None and callee not in found:
                found.append(callee)
    return found
