"""Which ops on buffers may share one loop over the rows: what tierup-fuse-rows knows before it changes anything.

A run is a stretch of a block. Its members are linalg.generic, linalg.fill and memref.copy whose outermost loop is parallel and has
the same trip count, and whose writes are indexed by that loop alone in the first dim and by it in no other. What one member writes
is touched by the others in the same rows only, and loaded by no body, so no iteration sees another's data. Between the members may
stand ops that can as well come before all of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field

from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.lowering.analysis.aliasing import ALLOCATIONS, VIEWS, base, may_alias, stands_alone
from tierup.lowering.analysis.structured import Structured
from tierup.lowering.building import builders as b
from tierup.lowering.building.arith import known
from tierup.lowering.building.generics import is_identity

OPS = ("linalg.generic", "linalg.fill", "memref.copy")
_PURE = (*ALLOCATIONS, "memref.dim", *(v for v in VIEWS if v != "memref.reshape"))  # and all of arith; reshape reads memory
Extent = object  # an int, or what stands for a size of the run: equal objects for sizes known to be equal


@dataclass(frozen=True)
class Member(Structured):
    """An op of a run. `loaded`: buffers of which its body reads elements wherever it likes (a reversed array, rows by an index)."""

    loaded: tuple[ir.Value, ...] = ()

    @property
    def by_row(self) -> list[bool | None]:
        """For each buffer, whether the outermost loop goes over its rows: what the function `by_row` says of its map."""
        return [by_row(m) for m in self.maps]

    @property
    def written(self) -> tuple[ir.Value, ...]:
        """The buffers that it writes."""
        return self.buffers[self.reads :]


@dataclass
class Run:
    """Members that may share a loop, and what they touch."""

    members: list[Member] = field(default_factory=list)
    rows: set[Extent] = field(default_factory=set)
    used: dict[ir.Value, set[ir.Value]] = field(default_factory=dict)  # base -> the views of it that members use
    written: set[ir.Value] = field(default_factory=set)  # bases
    across: set[ir.Value] = field(default_factory=set)  # bases of what is not read row by row
    suspects: set[ir.Value] = field(default_factory=set)  # bases that may share memory with others, seen or not

    def __bool__(self) -> bool:
        return bool(self.members)

    def joins(self, member: Member) -> bool:
        """Take the member in if it may share the loop."""
        if not _has_rows(member):
            return False
        rows = {extent(buffer, 0) for buffer, yes in zip(member.buffers, member.by_row, strict=True) if yes}
        if self and not rows & self.rows:
            return False
        touched = [*member.buffers, *member.loaded]
        used = {base(v): {w for w in touched if base(w) == base(v)} for v in touched}
        written = {base(v) for v in member.written}
        across = {base(v) for v, yes in zip(member.buffers, member.by_row, strict=True) if not yes} | {base(v) for v in member.loaded}
        if self._conflicts(used, written, across):
            return False
        self.members.append(member)
        self.rows |= rows
        for root, views in used.items():
            self.used.setdefault(root, set()).update(views)
        self.written |= written
        self.across |= across
        self.suspects |= {root for root in used if not stands_alone(root)}
        return True

    def _conflicts(self, used: dict[ir.Value, set[ir.Value]], written: set[ir.Value], across: set[ir.Value]) -> bool:
        for root, views in used.items():
            both = views | self.used.get(root, set())
            if (root in written or root in self.written) and (len(both) > 1 or root in across or root in self.across):
                return True
        # of two bases that share memory one is a suspect; pairs that were there before were looked at then
        suspects = {root for root in used if not stands_alone(root)}
        for root in (used.keys() - self.used.keys()) | (written - self.written):
            for others in (self.suspects, suspects) if stands_alone(root) else (self.used, used):
                if any(_clash(root, other, self.written, written) for other in others):
                    return True
        return False

    def passes(self, op: ir.Operation) -> bool:
        """Whether an op that stands after members may as well run before them."""
        if op.name in _PURE or op.name.startswith("arith."):
            return True
        reported = _reported(op)
        return reported is not None and not any(may_alias(base(v), root) for v in reported for root in self.used)

    @property
    def worth_it(self) -> bool:
        """Runs without a reduction stay: elementwise fusion has made one op of those."""
        return sum(m.op.name == "linalg.generic" for m in self.members) > 1 and any("reduction" in m.iterators for m in self.members)


def _clash(root: ir.Value, other: ir.Value, *written: set[ir.Value]) -> bool:
    """Whether two bases may be the same memory, and one of them is written."""
    return root != other and any(root in w or other in w for w in written) and may_alias(root, other)


def runs(block: ir.Block) -> Iterator[Run]:
    """The runs of a block that are worth fusing, each given out once all of them are known."""
    found: list[Run] = []
    run = Run()
    for view in block.operations:
        op = view.operation
        made = member(op)
        if (made is None and run.passes(op)) or (made is not None and run.joins(made)):
            continue
        found.append(run)
        run = Run()
        if made is not None:
            run.joins(made)
    return iter([r for r in (*found, run) if r.worth_it])


def member(op: ir.Operation) -> Member | None:
    """The op as a member of a run; None for one that can be none."""
    found = Structured.of(op) if op.name in OPS else None
    if found is None or not all(_is_strided(v.type) for v in found.buffers):
        return None
    inner = [(o, v) for o in b.walk(op) for v in o.operands if isinstance(v.type, ir.MemRefType)]
    if any(o.name != "memref.load" for o, _ in inner):
        return None
    return Member(op, found.buffers, found.maps, found.reads, found.iterators, found.overwrites, tuple(v for _, v in inner))


def _is_strided(type_: ir.Type) -> bool:
    """Whether strides and an offset say where the elements lie, as the rows' types must."""
    layout = ir.MemRefType(type_).layout
    if not isinstance(layout, ir.AffineMapAttr):
        return isinstance(layout, ir.StridedLayoutAttr)
    return is_identity(layout.value)


def _has_rows(member: Member) -> bool:
    """Whether the op can run one row at a time."""
    if not member.iterators or member.iterators[0] != "parallel":
        return False
    return all(rows is not None for rows in member.by_row) and all(member.by_row[member.reads :])


def by_row(read: ir.AffineMap) -> bool | None:
    """True: the first dim, and no other, is indexed by the outermost loop. False: none is. None: anything else."""
    uses = [_uses_outermost(e) for e in read.results]
    if not any(uses):
        return False
    first = read.results[0]
    return True if isinstance(first, ir.AffineDimExpr) and first.position == 0 and not any(uses[1:]) else None


def _uses_outermost(e: ir.AffineExpr) -> bool:
    if isinstance(e, ir.AffineDimExpr):
        return bool(e.position == 0)
    return isinstance(e, ir.AffineBinaryExpr) and (_uses_outermost(e.lhs) or _uses_outermost(e.rhs))


def extent(buffer: ir.Value, axis: int) -> Extent:
    """The size of an axis: an int, or the same object for sizes that follow from one value."""
    shaped = ir.ShapedType(buffer.type)
    if not shaped.is_dynamic_dim(axis):
        return shaped.get_dim_size(axis)
    made = b.defining_op(buffer)
    if made is not None and made.name in ALLOCATIONS:
        return _size(made.operands[sum(shaped.is_dynamic_dim(i) for i in range(axis))])
    if made is not None and made.name == "memref.subview":
        return _extent_of_view(made, axis)
    return ("dim", buffer, axis)


def _extent_of_view(view: ir.Operation, axis: int) -> Extent:
    source_rank = ir.ShapedType(view.operands[0].type).rank
    static = list(ir.DenseI64ArrayAttr(view.attributes["static_sizes"]))
    sizes = b.shape_of(view.results[0].type)
    dropped = source_rank - len(sizes)
    if static != [1] * dropped + sizes:  # which other dims were dropped is not worth finding out
        return ("dim", view.results[0], axis)
    unknown = ir.ShapedType.get_dynamic_size()
    offsets = ir.DenseI32ArrayAttr(view.attributes["operandSegmentSizes"])[1]
    return _size(view.operands[1 + offsets + static[: dropped + axis].count(unknown)])


def _size(number: ir.Value) -> Extent:
    """What stands for a number of type index."""
    made = b.defining_op(number)
    if made is not None and made.name == "memref.dim" and (axis := known(made.operands[1])) is not None:
        return extent(made.operands[0], axis)
    found = known(number)
    return ("value", number) if found is None else found


def _reported(op: ir.Operation) -> list[ir.Value] | None:
    """Where an op stores numbers when it does nothing else: a failed check reporting its site. None for any other op."""
    if op.name != "scf.if" or len(op.results):
        return None
    inside = list(b.walk(op))
    if any(not inner.name.startswith("arith.") and inner.name not in ("memref.store", "scf.yield") for inner in inside):
        return None
    return [inner.operands[1] for inner in inside if inner.name == "memref.store"]
