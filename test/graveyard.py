"""A mode in which every erased op stays where a test can see it: whoever reads one, or a value or block of one, gets an exception.

The bindings notice an erased op only through the very object that erased it; through any other they read freed memory, which mostly
holds what it held. Here `erase` takes the op out of its block, lets go of its operands and keeps it, so that its address is no other's,
and every way of reading an op asks first whether it is among the dead. An op whose results somebody still uses may not be erased.
Ops that MLIR's own passes erase are not noticed.
"""

from __future__ import annotations

import ctypes
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from threading import local
from typing import Any, NoReturn

from tierup.dialect.ir.walking import forget
from tierup.dialect.mlir import address, ir


class ReadAfterErase(AssertionError):
    """An op was used after it had been erased, or erased while it was used."""


class Graveyard:
    """The ops that were erased. `erased` counts them; `found` says what went wrong, which whoever compiles takes for a failed compile."""

    def __init__(self) -> None:
        self._dead: dict[int, str] = {}
        self.erased = 0
        self.found: list[str] = []

    def check(self, op: Any) -> None:
        if address(op) in self._dead:
            self.fail(f"{self._dead[address(op)]} is read after it was erased")

    def fail(self, what: str) -> NoReturn:
        calls = [f"{frame.filename}:{frame.lineno}" for frame in traceback.extract_stack() if frame.filename != __file__]
        self.found.append(f"{what}, by {' < '.join(reversed(calls[-4:]))}")
        raise ReadAfterErase(self.found[-1])

    def bury(self, op: ir.Operation) -> None:
        """Erase an op in appearance: nothing uses it, it uses nothing, it stands nowhere."""
        self.check(op)
        inside = list(with_inner(op))
        within = {address(o) for o in inside}
        for each in inside:
            for result in each.results:
                for use in result.uses:
                    if address(use.owner) not in within:
                        self.fail(f"{op.name} is erased while {use.owner.operation.name} uses it")
        with op.context, ir.Location.unknown(op.context):
            for each in inside:
                for i, operand in enumerate(each.operands):
                    nothing = ir.Operation.create("builtin.unrealized_conversion_cast", results=[operand.type])
                    _keep(nothing)
                    each.operands[i] = nothing.results[0]
                for i in range(len(each.successors)):
                    nowhere = ir.Operation.create("builtin.unrealized_conversion_cast", results=[], regions=1)
                    _keep(nowhere)
                    each.successors[i] = nowhere.regions[0].blocks.append()
        if op.attached:
            op.detach_from_parent()
        self._dead |= {address(each): f"{each.name} at {each.location}" for each in inside}
        _keep(op)
        self.erased += 1


def _keep(op: ir.Operation) -> None:
    """For good: an op that stands nowhere is destroyed with its last wrapper, in any order."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(op))


def with_inner(op: ir.Operation) -> Iterator[ir.Operation]:
    yield op
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                yield from with_inner(view.operation)


_OF_OPS = ("attributes", "name", "operands", "op_operands", "regions", "results", "result", "location", "parent", "block", "successors")
_DONE_TO_OPS = ("move_after", "move_before", "is_before_in_block", "clone", "detach_from_parent", "walk", "get_asm", "print", "__str__")
_OF_VALUES = ("uses", "owner", "type")
_DONE_TO_VALUES = ("replace_all_uses_with", "replace_all_uses_except", "set_type")
_OF_BLOCKS = ("operations", "arguments")


@contextmanager
def graveyard() -> Generator[Graveyard]:
    """All ops that are erased inside stay dead."""
    dead, changed, busy = Graveyard(), [], local()  # busy: whoever looks whether an op is dead may look at it

    def patch(owner: type, name: str, asks: Callable[[Any], Any]) -> None:
        for cls in (c for c in owner.__mro__ if name in c.__dict__):
            old = cls.__dict__[name]
            changed.append((cls, name, old))
            read = old.fget if isinstance(old, property) else old

            def guarded(self: Any, *args: Any, _read: Any = read, **kwargs: Any) -> Any:
                if not getattr(busy, "yes", False):
                    busy.yes = True
                    try:
                        dead.check(asks(self))
                    finally:
                        busy.yes = False
                return _read(self, *args, **kwargs)

            setattr(cls, name, property(guarded, old.fset) if isinstance(old, property) else guarded)
            return

    for name in (*_OF_OPS, *_DONE_TO_OPS):
        for cls in (ir.Operation, ir.OpView):
            patch(cls, name, lambda op: op)
    owner_of, block_owner = ir.Value.owner.fget, ir.Block.owner.fget  # type: ignore[attr-defined]

    def maker(value: ir.Value) -> Any:
        owner = owner_of(value)
        return block_owner(owner) if isinstance(owner, ir.Block) else owner

    for name in (*_OF_VALUES, *_DONE_TO_VALUES):
        patch(ir.Value, name, maker)
    for name in _OF_BLOCKS:
        patch(ir.Block, name, block_owner)

    def watch(owner: type, name: str, taken: Callable[..., Any]) -> None:
        """Whoever gives a value of a dead op to others."""
        old = owner.__dict__[name]
        changed.append((owner, name, old))

        def guarded(*args: Any, **kwargs: Any) -> Any:
            if not getattr(busy, "yes", False):
                for value in taken(*args, **kwargs) or ():
                    _ = value.owner  # block arguments and results alike
                    dead.check(maker(value))
            return old(*args, **kwargs)

        setattr(owner, name, staticmethod(guarded) if owner is ir.Operation else guarded)

    watch(ir.Operation, "create", lambda name, results=None, operands=None, *args, **kwargs: operands)
    watch(ir.OpOperandList, "__setitem__", lambda operands, index, value: [value])

    def erase(self: Any) -> None:
        busy.yes = True
        try:
            forget(self)
            dead.bury(self.operation)
        finally:
            busy.yes = False

    changed.append((ir._OperationBase, "erase", ir._OperationBase.erase))
    ir._OperationBase.erase = erase  # type: ignore[method-assign]
    try:
        yield dead
    finally:
        for cls, name, old in reversed(changed):
            setattr(cls, name, old)
