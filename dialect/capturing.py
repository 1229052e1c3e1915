"""What a gradient keeps of the forward run: the values that its ops read, as few and as cheap as can be.

The reverse ops stand behind the forward ones in one block, with a marker between them; what they read of the forward ones is captured.

* A constant, a list, a number, a view and a comparison are computed again, from inputs or from what is captured anyway.
* Where only sizes or the dtype of a tensor are read, these are captured, unless the tensor is captured anyway.
"""

from __future__ import annotations

from collections.abc import Iterable

from tierup.dialect import optable, torch_types
from tierup.dialect.contracts import walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.rewriting import is_used

_QUERIES = frozenset({"torch.aten.size", "torch.aten.size.int", "torch.aten.dim", "torch.aten.numel", "torch.prim.dtype"})
_COMPARISONS = tuple(f"torch.aten.{relation}." for relation in ("eq", "ne", "lt", "le", "gt", "ge"))


class Captures:
    """The block of a group: its forward ops, `marker`, its reverse ops, and the terminator of the forward ops."""

    def __init__(self, block: ir.Block, marker: ir.Operation) -> None:
        self.block, self.marker = block, marker
        self.arguments = list(block.arguments)

    def _parts(self) -> tuple[list[ir.Operation], list[ir.Operation]]:
        found = [view.operation for view in self.block.operations]
        at = next(i for i, op in enumerate(found) if op == self.marker)
        return found[:at], found[at + 1 : -1]

    def minimal(self) -> list[ir.Value]:
        """Let the reverse ops read as little as can be; the values that they read then: arguments first, then in program order."""
        forward, _ = self._parts()
        for op in forward:
            if op.name == "tierup.profile":
                self._replace(op.results[0], _under(op.results[0]))
        for op in reversed(forward):
            read = self._read(queries=False)
            if any(r in read for r in op.results) and _is_cheap(op) and all(self._is_at_hand(v, read) for v in op.operands):
                self._again(op)
        self._capture_sizes()
        read = self._read(queries=True)
        forward, _ = self._parts()
        return [v for v in (*self.arguments, *(r for op in forward for r in op.results)) if v in read]

    def _read(self, *, queries: bool) -> set[ir.Value]:
        """The values that the reverse ops read of the forward ones; those of which only sizes or dtypes are asked when `queries`."""
        forward, reverse = self._parts()
        given = {*self.arguments, *(r for op in forward for r in op.results)}
        return {v for op in _all(reverse) if queries or op.name not in _QUERIES for v in op.operands if v in given}

    def _is_at_hand(self, value: ir.Value, read: set[ir.Value]) -> bool:
        """Whether computing with a value again captures no tensor that is not an input or captured anyway."""
        under = _under(value)
        if under in self.arguments or under in read or not torch_types.is_tensor(under.type):
            return True
        op = under.owner.operation
        return _is_cheap(op) and all(self._is_at_hand(v, read) for v in op.operands)

    def _again(self, op: ir.Operation) -> None:
        """Compute an op again at the beginning of the reverse part."""
        _, reverse = self._parts()
        twin = op.clone(ir.InsertionPoint(reverse[0])).operation
        for i, value in enumerate(twin.operands):
            twin.operands[i] = _under(value)
        for old, new in zip(op.results, twin.results, strict=True):
            self._replace(old, new)

    def _replace(self, old: ir.Value, new: ir.Value) -> None:
        """Let the reverse ops read another value."""
        _, reverse = self._parts()
        for op in _all(reverse):
            for i, value in enumerate(op.operands):
                if value == old:
                    op.operands[i] = new

    def _capture_sizes(self) -> None:
        """Ask for sizes and dtypes of tensors that are not captured while the tensors are there."""
        forward, reverse = self._parts()
        read, given = self._read(queries=False), {*self.arguments, *(r for op in forward for r in op.results)}
        asked: dict[tuple[str, tuple[str, ...], ir.Value], ir.Operation] = {}
        for op in list(_all(reverse)):
            value = op.operands[0] if op.name in _QUERIES else None
            if value is None or value not in given or value in read:
                continue
            others = [v.owner.operation for v in list(op.operands)[1:] if not isinstance(v.owner, ir.Block)]
            if len(others) + 1 != len(op.operands) or not all(v.name == "torch.constant.int" for v in others):
                continue  # which dim is asked for is computed: the tensor is captured
            key = op.name, tuple(str(v.attributes["value"]) for v in others), value
            if key not in asked:
                numbers = [v.clone(ir.InsertionPoint(self.marker)).operation.results[0] for v in others]
                asked[key] = op.clone(ir.InsertionPoint(self.marker)).operation
                for i, v in enumerate(numbers, 1):
                    asked[key].operands[i] = v
            op.results[0].replace_all_uses_with(asked[key].results[0])
            op.erase()


def _under(value: ir.Value) -> ir.Value:
    """A value without the profiles of it."""
    while not isinstance(value.owner, ir.Block) and value.owner.operation.name == "tierup.profile":
        value = value.owner.operation.operands[0]
    return value


def _is_cheap(op: ir.Operation) -> bool:
    if op.name.startswith("torch.constant.") or op.name.startswith(_COMPARISONS):
        return True
    row = optable.lookup(op.name)
    return row is not None and not len(op.regions) and (row.kind is Kind.SCALAR or row.kind is Kind.VIEW)


def _all(ops: Iterable[ir.Operation]) -> Iterable[ir.Operation]:
    for op in ops:
        yield op
        yield from walk(op)


def drop_unused(block: ir.Block, behind: ir.Operation | None = None) -> None:
    """Erase what nobody uses behind an op, inside other ops too."""
    for view in reversed(list(block.operations)):
        op = view.operation
        if behind is not None and op == behind:
            return
        if len(op.results) and not any(is_used(r) for r in op.results):
            op.erase()
            continue
        for region in op.regions:
            for inner in region.blocks:
                drop_unused(inner)
