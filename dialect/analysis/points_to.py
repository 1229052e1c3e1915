"""Which memory each value of a function may be: the solver behind alias.py.

A `Location` is memory that one place makes: an op's result (all that it makes in all rounds of a loop), a container (list or
tuple) with what was ever put into it, or what the caller has. A value's set says what it may be; sets only grow, until nothing
changes (Andersen's analysis: flow-insensitive, inclusion-based).

The caller's memory is one location for `!torch.tensor` arguments, which may overlap, one for `!torch.vtensor` arguments, which may
be one object but share no memory with a written tensor (the contract `graph`), and one for containers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum

from tierup.dialect.ir.structure import CASTS, CHECKS, COPIES, TERMINATORS, blocks
from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing, Kind, Op
from tierup.dialect.optable.rows import row_of


class Holds(Enum):
    """What values of a type are made of."""

    NOTHING = "nothing"  # numbers, strings, None
    TENSOR = "tensor"
    CONTAINER = "container"


class Location:
    """Memory. `made_by`: the value whose op makes it, None for what the caller has. `contents`: what a container may hold."""

    __slots__ = ("contents", "holds", "made_by")

    def __init__(self, holds: Holds, made_by: ir.Value | None = None) -> None:
        self.holds, self.made_by = holds, made_by
        self.contents: set[Location] = set()

    @property
    def outside(self) -> bool:
        """Whether the caller has it before the function runs."""
        return self.made_by is None


Locations = frozenset[Location]
NOWHERE: Locations = frozenset()

# Their result is operand 0 itself under another type.
IDENTITIES = CASTS | {"tierup.profile", "tierup.guard", "tierup.bailout"}
BODIES = frozenset({"tierup.fusion_group", "tierup.fallback", "tierup.differentiable"})  # isolated: arguments are operands
CONSTRUCTS = frozenset({"torch.prim.ListConstruct", "torch.prim.TupleConstruct"})
MADE_OF_OPERANDS = CONSTRUCTS | {"torch.prim.DictConstruct"}
LIST_WRITES = {"torch.aten.append.t": 1, "torch.aten.insert.t": 2, "torch.aten._set_item.t": 2}  # which operand is put in
_FRESH = COPIES | {"tierup.batched_mm_tree", "tierup.batched_mm_side"}
OVERWRITE = "torch.overwrite.tensor.contents"
_SILENT = frozenset({
    "torch.bind_symbolic_shape", "torch.symbolic_int", "tierup.count_run", "tierup.check_shapes", "tierup.any_nonzero",
    "tierup.all_nonzero", "tierup.all_zero", "tierup.autograd_zero", "torch.prim.Uninitialized", OVERWRITE,
})  # fmt: skip
_OTHERS = frozenset({
    "func.func", "func.call", "torch.prim.If", "torch.prim.Loop", "tierup.grad_of", "tierup.if_then_else", "tierup.constant_chunk",
    "tierup.autograd_add",
})  # fmt: skip


def is_known(op: ir.Operation) -> bool:
    """Whether this analysis knows what the op does to memory."""
    name = op.name
    return (
        row_of(op) is not None or name.startswith("torch.constant.") or name in IDENTITIES or name in CHECKS or name in BODIES
        or name in LIST_WRITES or name in _FRESH or name in TERMINATORS or name in _SILENT
        or name in _OTHERS
    )  # fmt: skip


class PointsTo:
    """The solved sets of one function. Raises nothing: an op that nobody knows may do anything to what it can reach."""

    def __init__(self, func: ir.Operation) -> None:
        self.func = func
        self.values: dict[ir.Value, set[Location]] = Notes()
        self.caller_tensors = Location(Holds.TENSOR)
        self.caller_values = Location(Holds.TENSOR)
        self.caller_containers = Location(Holds.CONTAINER)
        self.caller_containers.contents |= {self.caller_containers}
        self._fresh: dict[tuple[ir.Value, Holds], Location] = {}
        self._others: dict[Location, set[Location]] = {}  # what else it may be since `replaced`
        self._holds: dict[ir.Type, Holds] = {}
        self._changed = True
        body = func.regions[0].blocks[0]
        for argument in body.arguments:
            self._enter(argument)
        while self._changed:  # program order settles all but loops and containers in one round
            self._changed = False
            self._block(body)

    # --- questions ---

    def of(self, value: ir.Value) -> Locations:
        """What the value itself may be."""
        found = self.values.get(value, NOWHERE)
        return frozenset(self._with_others(found) if self._others else found)

    def reach(self, value: ir.Value) -> Locations:
        """What the value may be and, for a container, all that is in it."""
        found = reachable(self.values.get(value, NOWHERE))
        return reachable(self._with_others(found)) if self._others else found

    def replaced(self, old: ir.Value, new: ir.Value) -> None:
        """Uses of `old` have become uses of `new`: whatever may be the one may now be the other."""
        after = self.of(new)
        for location in self.of(old) - after:
            self._others.setdefault(location, set()).update(after)

    def _with_others(self, found: Iterable[Location]) -> set[Location]:
        seen, pending = set(found), list(found)
        while pending:
            new = self._others.get(pending.pop(), NOWHERE) - seen
            seen |= new
            pending += new
        return seen

    def holds(self, type_: ir.Type) -> Holds:
        """Whether values of the type are tensors, containers or neither. Modules and `!torch.any` count as containers."""
        found = self._holds.get(type_)
        if found is None:
            text = str(type_)
            container = any(part in text for part in ("list<", "tuple<", "dict<", "torch.any", "nn.Module"))
            found = Holds.CONTAINER if container else Holds.TENSOR if "tensor" in text else Holds.NOTHING
            self._holds[type_] = found
        return found

    # --- solving ---

    def _enter(self, argument: ir.Value) -> None:
        holds = self.holds(argument.type)
        text = str(argument.type)
        mutable = "tensor" in text.replace("vtensor", "") or "torch.any" in text
        tensors = {self.caller_tensors} if mutable else {self.caller_values} if "vtensor" in text else set()
        if holds is Holds.TENSOR:
            self.values[argument] = set(tensors)
        elif holds is Holds.CONTAINER:
            self.caller_containers.contents |= tensors
            self.values[argument] = {self.caller_containers}

    def _add(self, value: ir.Value, locations: Iterable[Location]) -> None:
        if self.holds(value.type) is Holds.NOTHING:
            return
        known = self.values.setdefault(value, set())
        before = len(known)
        known.update(locations)
        self._changed |= len(known) != before

    def _put(self, containers: Iterable[Location], items: Iterable[Location]) -> None:
        items = set(items)
        for container in containers:
            before = len(container.contents)
            container.contents |= items
            self._changed |= len(container.contents) != before

    def _made(self, value: ir.Value, holds: Holds) -> Location:
        if (value, holds) not in self._fresh:
            self._fresh[value, holds] = Location(holds, value)
        return self._fresh[value, holds]

    def _get(self, value: ir.Value) -> set[Location]:
        return self.values.get(value, set())

    def _block(self, block: ir.Block) -> list[ir.Value]:
        """Run the block once; its terminator's operands."""
        for view in block.operations:
            op = view.operation
            if op.name in TERMINATORS:
                return list(op.operands)
            self._op(op)
        return []  # of a region that nobody knows

    def _op(self, op: ir.Operation) -> None:
        name = op.name
        if name == "torch.prim.If":
            for region in op.regions:
                self._flow(self._block(region.blocks[0]), op.results)
        elif name == "torch.prim.Loop":
            self._loop(op)
        elif name in BODIES:
            body = op.regions[0].blocks[0]
            self._flow(op.operands, body.arguments)
            self._flow(self._block(body), op.results)
            if name == "tierup.differentiable":  # backward runs elsewhere; its values are never the program's
                self._block(op.regions[1].blocks[0])
        elif name == "tierup.grad_of":
            self._flow(self._block(op.regions[0].blocks[0]), op.results)
        elif name in IDENTITIES or name in CHECKS:
            self._flow(op.operands, op.results)
        elif name == "tierup.if_then_else":
            self._add(op.results[0], self._get(op.operands[1]) | self._get(op.operands[2]))
        elif name == "tierup.autograd_add":  # with one operand undefined it is the other
            result = op.results[0]
            self._add(result, self._get(op.operands[0]) | self._get(op.operands[1]) | {self._made(result, Holds.TENSOR)})
        elif name == "tierup.constant_chunk":
            for result in op.results:
                self._add(result, self._get(op.operands[0]))
        elif name in LIST_WRITES:
            self._put(self._get(op.operands[0]), self._get(op.operands[LIST_WRITES[name]]))
            for result in op.results:
                self._add(result, self._get(op.operands[0]))
        elif name == "func.call":
            self._call(op)
        elif name in _SILENT or name.startswith("torch.constant."):
            pass
        elif name in _FRESH:
            for result in op.results:
                self._add(result, {self._made(result, Holds.TENSOR)})
        else:
            self._row(op)

    def _flow(self, sources: Iterable[ir.Value], targets: Iterable[ir.Value]) -> None:
        for source, target in zip(sources, targets, strict=False):
            self._add(target, self._get(source))

    def _loop(self, op: ir.Operation) -> None:
        body = op.regions[0].blocks[0]
        inits, arguments = list(op.operands)[2:], list(body.arguments)[1:]
        self._flow(inits, arguments)
        self._flow(inits, op.results)
        after = self._block(body)[1:]
        self._flow(after, arguments)
        self._flow(after, op.results)

    def _call(self, op: ir.Operation) -> None:
        """A result may be any memory that the arguments reach, or new; containers may have got anything of that."""
        seen = {loc for operand in op.operands for loc in self.reach(operand)}
        self._spread(op, seen)

    def _spread(self, op: ir.Operation, seen: set[Location]) -> None:
        containers = {loc for loc in seen if loc.holds is Holds.CONTAINER}
        made = {self._made(r, h) for r in op.results for h in (Holds.TENSOR, Holds.CONTAINER) if self.holds(r.type) is not Holds.NOTHING}
        self._put([*containers, *(m for m in made if m.holds is Holds.CONTAINER)], seen | made)
        for result in op.results:
            wanted = self.holds(result.type)
            self._add(result, {loc for loc in seen | made if wanted is Holds.CONTAINER or loc.holds is wanted})

    def _row(self, op: ir.Operation) -> None:
        row = row_of(op)
        if row is None or row.acts:
            self._unknown(op)
        elif row.aliasing is Aliasing.SELF:
            self._add(op.results[0], self._get(op.operands[0]))
        elif row.aliasing is not Aliasing.FRESH:
            self._view(op, may_be_fresh=row.aliasing is Aliasing.MAY_VIEW)
        else:
            self._fresh_row(op, row)

    def _unknown(self, op: ir.Operation) -> None:
        """It keeps what it reaches, and may hand out what others like it kept: all of that is the caller's from now on."""
        outside = {self.caller_tensors, self.caller_containers}
        seen = {loc for operand in op.operands for loc in self.reach(operand)}
        self._put([self.caller_containers], seen | outside)
        anything = set(reachable({self.caller_containers}))
        for block in blocks(op):
            for argument in block.arguments:
                self._add(argument, anything)
            for yielded in self._block(block):
                self._put([self.caller_containers], self.reach(yielded))
        self._spread(op, anything)

    def _view(self, op: ir.Operation, *, may_be_fresh: bool) -> None:
        viewed: set[Location] = set()
        for location in self._get(op.operands[0]):
            viewed |= {location} if location.holds is Holds.TENSOR else location.contents
        for result in op.results:
            made = {self._made(result, Holds.TENSOR)} if may_be_fresh else set()
            if self.holds(result.type) is Holds.CONTAINER:
                container = self._made(result, Holds.CONTAINER)
                self._put([container], viewed | made)
                self._add(result, {container})
            else:
                self._add(result, viewed | made)

    def _fresh_row(self, op: ir.Operation, row: Op) -> None:
        """New memory; ops on lists and tuples (rows of scalars) hand on what is in them as well."""
        items: set[Location] = set()
        if row.kind is Kind.SCALAR:
            for operand in op.operands:
                for location in self._get(operand):
                    items |= {location} if op.name in MADE_OF_OPERANDS or location.holds is Holds.TENSOR else location.contents
        opens = row.kind is Kind.SCALAR and any(self.holds(v.type) is Holds.CONTAINER for v in op.operands)
        for result in op.results:
            holds = self.holds(result.type)
            if holds is Holds.NOTHING:
                continue
            taken = opens and holds is Holds.TENSOR  # out of a container
            made = self._made(result, holds)
            if holds is Holds.CONTAINER:
                inner = {self._made(result, Holds.TENSOR)} if row.kind is not Kind.SCALAR else set()
                self._put([made], items | inner)
                nested = set() if op.name in MADE_OF_OPERANDS else {loc for loc in items if loc.holds is Holds.CONTAINER}
                self._add(result, {made} | nested)
            else:
                self._add(result, {loc for loc in items if loc.holds is Holds.TENSOR} if taken else {made})


def reachable(start: Iterable[Location]) -> Locations:
    """The locations and all that is in them, at any depth."""
    seen, pending = set(start), list(start)
    while pending:
        for inner in pending.pop().contents:
            if inner not in seen:
                seen.add(inner)
                pending.append(inner)
    return frozenset(seen)


def inner_ops(op: ir.Operation) -> Iterator[ir.Operation]:
    """The op and all ops in it."""
    yield op
    for block in blocks(op):
        for view in block.operations:
            yield from inner_ops(view.operation)
