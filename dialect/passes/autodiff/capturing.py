"""What a gradient keeps of the forward run: the values that its ops read, as few and as cheap as can be.

The reverse ops stand behind the forward ones in one block, with a marker between them; what they read of the forward ones is captured.

* A constant, a list, a number, a view, a cast and a comparison are computed again, from inputs, results or what is captured anyway; a
  list of tensors, or of views of one, always, from these. What makes or reads a list of numbers that is written is not.
* Several views of one tensor are computed again from that one, which is captured for them: as results of the forward part they would share
  its memory.
* Where only sizes or the dtype of a tensor are read, these are captured, unless the tensor is captured anyway. With `inference` a dtype
  that is known is a constant, and sizes are numbers, one by one: constants, or asked of an input that has them.
* With `inference` also: of a tensor that is only compared, the comparisons' results are captured where that takes less memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tierup.dialect.facts.dims import Dim, symbols
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.facts.values import Shape, Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import constant
from tierup.dialect.ir.structure import blocks, is_used, read_others, unprofiled
from tierup.dialect.ir.walking import backwards, walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Kind
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.autodiff.written_lists import aliases_of_lists
from tierup.dialect.rewriting.core import int_of

_COMPARISONS = tuple(f"torch.aten.{relation}." for relation in ("eq", "ne", "lt", "le", "gt", "ge"))


def _asks(op: ir.Operation) -> bool:
    """Whether an op asks a tensor for its sizes or its dtype alone."""
    row = row_of(op)
    return row is not None and row.asks


def base_of(value: ir.Value, goes_through: Callable[[ir.Operation], bool] = lambda op: True) -> ir.Value:
    """What a value is a view of, by views that `goes_through` takes."""
    base = unprofiled(value)
    while torch_types.is_tensor(base.type) and not isinstance(base.owner, ir.Block):
        op, row = base.owner.operation, row_of(base.owner.operation)
        if row is None or row.kind is not Kind.VIEW or not goes_through(op):
            break
        base = unprofiled(op.operands[0])
    return base


class Captures:
    """A block with forward ops, `marker`, reverse ops, and a terminator, which reads what the reverse ops give.

    `inference`: what is known of the forward values; None: types are for the run to tell. `results`: forward values that can be captured as
    they are, as arguments can; `kept`: forward values and arguments that are captured in any case.
    """

    def __init__(
        self,
        block: ir.Block,
        marker: ir.Operation,
        inference: Inference | None = None,
        results: Iterable[ir.Value] = (),
        kept: Iterable[ir.Value] = (),
    ) -> None:
        self.block, self.marker, self.inference = block, marker, inference
        self.arguments = list(block.arguments)
        self.held = {*kept}
        self.at_hand = {*self.arguments, *results, *self.held}
        self._lists = aliases_of_lists(block.owner.operation)

    def _is_cheap(self, op: ir.Operation) -> bool:
        """Whether an op is computed again, not captured: what reads or makes a list that is written would see it otherwise."""
        return _is_cheap(op) and (self._lists is None or not self._lists.touches_written(op))

    def _parts(self) -> tuple[list[ir.Operation], list[ir.Operation]]:
        found = [view.operation for view in self.block.operations]
        at = next(i for i, op in enumerate(found) if op == self.marker)
        return found[:at], found[at + 1 : -1]

    def minimal(self) -> list[ir.Value]:
        """Let the reverse ops read as little as can be; the values that they read then: arguments first, then in program order."""
        forward, _ = self._parts()
        for op in forward:
            if op.name == "tierup.profile":
                self._replace(op.results[0], unprofiled(op.results[0]))
        read = self._read(queries=False)
        given = {*self.arguments, *(r for op in forward for r in op.results)}
        self.at_hand |= self._shared_bases(read)
        for op in reversed(forward):
            if not any(r in read for r in op.results) or not self._is_cheap(op):
                continue
            if _gives_parts(op) or all(self._is_at_hand(v, read) for v in op.operands):
                self._again(op)
                read -= {*op.results}
                read |= {unprofiled(v) for v in op.operands} & given if not _asks(op) else set()
        if self.inference is not None:
            self._capture_comparisons(self.inference)
            Sizes(self, self.inference).capture()
        self._capture_sizes()
        read = self._read(queries=True)
        forward, _ = self._parts()
        return [v for v in (*self.arguments, *(r for op in forward for r in op.results)) if v in read]

    def _read(self, *, queries: bool) -> set[ir.Value]:
        """The values that the reverse ops read of the forward ones; those of which only sizes or dtypes are asked when `queries`."""
        forward, reverse = self._parts()
        given = {*self.arguments, *(r for op in forward for r in op.results)}
        return {v for op in _all(reverse) if queries or not _asks(op) for v in op.operands if v in given}

    def _is_at_hand(self, value: ir.Value, read: set[ir.Value]) -> bool:
        """Whether computing with a value again captures no tensor that is not an input or captured anyway."""
        under = unprofiled(value)
        if under in self.at_hand or under in read or not torch_types.is_tensor(under.type):
            return True
        op = under.owner.operation
        return self._is_cheap(op) and all(self._is_at_hand(v, read) for v in op.operands)

    def _shared_bases(self, read: set[ir.Value]) -> set[ir.Value]:
        """The tensors of which two or more of some values are, or are views."""
        counts: dict[ir.Value, int] = {}
        for value in read:
            base = base_of(value, self._is_cheap)
            if torch_types.is_tensor(base.type):
                counts[base] = counts.get(base, 0) + 1
        return {base for base, count in counts.items() if count > 1}

    def _again(self, op: ir.Operation) -> None:
        """Compute an op again at the beginning of the reverse part."""
        _, reverse = self._parts()
        twin = op.clone(ir.InsertionPoint(reverse[0])).operation
        for i, value in enumerate(twin.operands):
            twin.operands[i] = unprofiled(value)
        for old, new in zip(op.results, twin.results, strict=True):
            self._replace(old, new)

    def _replace(self, old: ir.Value, new: ir.Value) -> None:
        """Let the reverse ops read another value."""
        read_others(self._parts()[1], {old: new})

    def _capture_sizes(self) -> None:
        """Ask for sizes and dtypes of tensors that are not captured while the tensors are there."""
        forward, reverse = self._parts()
        read, given = self._read(queries=False), {*self.arguments, *(r for op in forward for r in op.results)}
        asked: dict[tuple[str, tuple[str, ...], ir.Value], ir.Operation] = {}
        for op in list(_all(reverse)):
            value = op.operands[0] if _asks(op) else None
            if value is None or value not in given or value in read or value in self.held:
                continue
            if op.name == "torch.aten.size.int" and op.block != self.block:
                op = self._of_all_sizes(op)  # noqa: PLW2901 - no size of that dim, perhaps, where this is not reached
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

    def _of_all_sizes(self, op: ir.Operation) -> ir.Operation:
        """Take one size out of the list of all, which every tensor has; the op that asks for these."""
        ip, types = ir.InsertionPoint(op), (ir.Type.parse("!torch.list<int>", op.context), op.results[0].type)
        all_sizes = ir.Operation.create("torch.aten.size", [types[0]], [op.operands[0]], loc=op.location, ip=ip)
        one = ir.Operation.create("torch.aten.__getitem__.t", [types[1]], [all_sizes.results[0], op.operands[1]], loc=op.location, ip=ip)
        op.results[0].replace_all_uses_with(one.results[0])
        op.erase()
        return all_sizes

    def _capture_comparisons(self, inference: Inference) -> None:
        """Let the forward part compare what the reverse part only compares, with numbers or what is there anyway."""
        forward, reverse = self._parts()
        given = {r for op in forward for r in op.results} - self.at_hand
        readers: dict[ir.Value, list[ir.Operation]] = {}
        for op in _all(reverse):
            for value in dict.fromkeys(op.operands) if not _asks(op) else ():
                if value in given:
                    readers.setdefault(value, []).append(op)
        for value, ops in readers.items():
            known = inference.values.get(value)
            cost = known.dtype.numpy.itemsize if isinstance(known, Tensor) and known.dtype is not None else 0
            if len(ops) >= cost or not all(op.name.startswith(_COMPARISONS) and self._may_move(op) for op in ops):
                continue
            for op in ops:
                self._to_forward(op)

    def _may_move(self, op: ir.Operation) -> bool:
        """Whether a reverse op can as well stand before the marker: it reads forward values and constants, and stands in no region."""
        forward, reverse = self._parts()
        given = {*self.arguments, *(r for f in forward for r in f.results)}
        return op in reverse and all(v in given or v.owner.operation.name.startswith("torch.constant.") for v in op.operands)

    def _to_forward(self, op: ir.Operation) -> None:
        forward, _ = self._parts()
        given = {*self.arguments, *(r for f in forward for r in f.results)}
        for i, v in enumerate(op.operands):
            if v not in given:
                op.operands[i] = v.owner.operation.clone(ir.InsertionPoint(self.marker)).operation.results[0]
        op.move_before(self.marker)


class Sizes:
    """Sizes and dtypes that the reverse part asks of forward values which are not captured, where inference knows the rank or the dtype."""

    def __init__(self, captures: Captures, inference: Inference) -> None:
        self.captures, self.inference = captures, inference
        self.doubtful = inference.doubtful
        self.asked: dict[tuple[ir.Value, int], ir.Value] = {}  # in the forward part
        self.read = captures._read(queries=False) | captures.held
        self.sources: dict[Dim, tuple[ir.Value, int]] = {}  # who has a size: what is captured anyway, then arguments
        forward, _ = captures._parts()
        others = [r for op in forward for r in op.results if r in self.read]
        for value in (*(a for a in captures.arguments if a in self.read), *others, *captures.arguments):
            for d, dim in enumerate(self._shape(value) or ()):
                if not isinstance(dim, int) and not symbols(dim) & self.doubtful:
                    self.sources.setdefault(dim, (value, d))

    def _shape(self, value: ir.Value) -> Shape | None:
        known = self.inference.values.get(value)
        return known.shape if isinstance(known, Tensor) else None

    def capture(self) -> None:
        """Replace questions for ranks, dtypes and sizes, where inference has answers: by constants, or by sizes of other values."""
        forward, reverse = self.captures._parts()
        given = {*self.captures.arguments, *(r for op in forward for r in op.results)}
        for op in list(_all(reverse)):
            value = op.operands[0] if _asks(op) else None
            if value is None or value not in given or value in self.read:
                continue
            made = self._answer(op, value)
            if made is not None:
                op.results[0].replace_all_uses_with(made)
                op.erase()

    def _answer(self, op: ir.Operation, value: ir.Value) -> ir.Value | None:
        ip, known, shape = ir.InsertionPoint(op), self.inference.values.get(value), self._shape(value)
        if op.name == "torch.prim.dtype":
            return constant(known.dtype.code, ip) if isinstance(known, Tensor) and known.dtype is not None else None
        if shape is None:
            return None
        if op.name == "torch.aten.dim":
            return constant(len(shape), ip)
        if op.name == "torch.aten.size.int":
            d = int_of(op.operands[1])
            return None if d is None or not -len(shape) <= d < len(shape) else self._size(value, shape, d % len(shape), op)
        if op.name == "torch.aten.size":
            items = [self._size(value, shape, d, op) for d in range(len(shape))]
            return ir.Operation.create("torch.prim.ListConstruct", [op.results[0].type], items, loc=op.location, ip=ip).results[0]
        return None

    def _size(self, value: ir.Value, shape: Shape, d: int, op: ir.Operation) -> ir.Value:
        """One size: a number where it is known, else asked."""
        dim = shape[d]
        if isinstance(dim, int):
            return constant(dim, ir.InsertionPoint(op))
        source, at = self.sources.get(dim, (value, d))
        if source in self.read:
            return _query(source, at, op.location, ir.InsertionPoint(op))
        if (source, at) not in self.asked:
            self.asked[source, at] = _query(source, at, op.location, ir.InsertionPoint(self.captures.marker))
        return self.asked[source, at]


def _query(value: ir.Value, d: int, location: ir.Location, ip: ir.InsertionPoint) -> ir.Value:
    int_ = ir.Type.parse("!torch.int", location.context)
    return ir.Operation.create("torch.aten.size.int", [int_], [value, constant(d, ip)], loc=location, ip=ip).results[0]


def _is_cheap(op: ir.Operation) -> bool:
    if op.name.startswith(("torch.constant.", "torch.aten.to.dtype")) or op.name.startswith(_COMPARISONS) or op.name.endswith(".literal"):
        return True
    row = row_of(op)
    return row is not None and not len(op.regions) and (row.kind is Kind.SCALAR or row.kind is Kind.VIEW)


def _gives_parts(op: ir.Operation) -> bool:
    """Whether an op gives a list of tensors, or of views of one: these are captured then, which takes no more memory and has gradients."""
    if op.name in ("torch.prim.ListConstruct", "torch.prim.TupleConstruct"):
        return True
    row = row_of(op)
    return row is not None and row.kind is Kind.VIEW and any("list<" in str(r.type) for r in op.results)


def _all(ops: Iterable[ir.Operation]) -> Iterable[ir.Operation]:
    return (inner for op in ops for inner in (op, *walk(op)))


def drop_unused(block: ir.Block, behind: ir.Operation | None = None) -> None:
    """Erase what nobody uses behind an op, inside other ops too."""
    for op in backwards(block):
        if behind is not None and op == behind:
            return
        if len(op.results) and not any(is_used(r) for r in op.results):
            op.erase()
            continue
        for inner in blocks(op):
            drop_unused(inner)
