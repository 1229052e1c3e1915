"""What a fusion group may hold, op by op: what has native code for the types that inference gives, and what keeps its order."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tierup.dialect.analysis.points_to import CONSTRUCTS
from tierup.dialect.analysis.raising import hangs_on_numbers, raises_for_values, takes_every_array
from tierup.dialect.facts.inference.infer import Inference, promotion
from tierup.dialect.facts.values import Bool, Tensor, Value
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import PROMOTION
from tierup.dialect.ir.structure import LIST_WRITERS, blocks, external_operands
from tierup.dialect.ir.torch_types import follows
from tierup.dialect.ir.walking import Notes, walk
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing, Kind, Op, Tie
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.fusion.formula_expansion import can_build, is_formula
from tierup.dialect.rewriting.numpy_rules.rewrites import rewrite_of
from tierup.dialect.rewriting.site import Keep, Site, same_shape

_DECLARATIONS = frozenset({"torch.symbolic_int", "torch.bind_symbolic_shape"})
_ARRAY = "torch.vtensor.literal"
_LITERALS = ("torch.constant.", _ARRAY)
REFUSED = "tierup.refused"  # a mark and no set of ops: the bindings hash an op by its operands, which grouping changes
_TERMINATORS = frozenset({"torch.prim.If.yield", "torch.prim.Loop.condition"})
_PLAIN = frozenset({"!torch.int", "!torch.float", "!torch.bool", "!torch.none", "!torch.str", "!torch.Device"})


def is_copied(op: ir.Operation) -> bool:
    """Whether groups take copies of the op instead of the op: constants, but for an array whose memory may be handed out, values by another
    type, and lists that nobody writes."""
    if op.name.startswith(_LITERALS):
        return op.name != _ARRAY or not _is_handed_out(op.results[0])
    if op.name == "torch.derefine":  # a number as !torch.number, None or a tensor as an optional: the copy is the operand
        text = str(op.operands[0].type)
        return text in _PLAIN or text.startswith("!torch.vtensor")
    return op.name == "torch.prim.ListConstruct" and all(only_reads(u.owner.operation) for u in op.results[0].uses)


def _is_handed_out(value: ir.Value) -> bool:
    """Whether an array, or a view of it, may be what a branch or a loop gives."""
    for use in value.uses:
        user = use.owner.operation
        if user.name in _TERMINATORS or user.name == "torch.prim.Loop":
            return True
        row = row_of(user)
        may_view = row is not None and row.aliasing is not Aliasing.FRESH and row.kind is not Kind.SCALAR
        if may_view and any(map(_is_handed_out, user.results)):
            return True
    return False


def only_reads(user: ir.Operation) -> bool:
    """Whether an op that has a list only looks at it: it does not write it, nor puts it where others may find it."""
    return user.name not in LIST_WRITERS and user.name not in CONSTRUCTS and (row := row_of(user)) is not None and not row.acts


def _may_write_a_list(op: ir.Operation) -> bool:
    """Whether an op, or one in its regions, appends to a list, sets an item of one, or hands one to who may."""
    return any(each.name in LIST_WRITERS or (each.name == "func.call" and _has_a_list(each)) for each in (op, *walk(op)))


def _has_a_list(op: ir.Operation) -> bool:
    """Whether an op has a list, or what may hold one, that is not made anew for each who reads it."""
    lists = (v for v in external_operands(op) if str(v.type).startswith(("!torch.list", "!torch.tuple", "!torch.optional")))
    return any(isinstance(v.owner, ir.Block) or not is_copied(v.owner.operation) for v in lists)


class Nativeness:
    """Answers for the ops of one function, of which `inference` knows the values. An op marked REFUSED is taken for not native."""

    def __init__(self, inference: Inference) -> None:
        self.inference = inference
        self._native: dict[ir.Operation, bool] = Notes()

    @staticmethod
    def is_declaration(op: ir.Operation) -> bool:
        """Ops that name sizes and compute nothing."""
        return op.name in _DECLARATIONS

    def is_native(self, op: ir.Operation) -> bool:
        """Whether native code can do this op, with all that is in it."""
        if op not in self._native:
            self._native[op] = self._is_native(op)
        return self._native[op]

    def _is_native(self, op: ir.Operation) -> bool:
        if REFUSED in op.attributes or not all(self._is_typed(v) for v in (*op.operands, *op.results)):
            return False
        if op.name == "torch.prim.If":
            condition = self.inference.values.get(op.operands[0])
            known = condition.value if isinstance(condition, Bool) else None
            arms = op.regions if known is None else [op.regions[0 if known else 1]]
            return all(self._is_native_block(arm.blocks[0]) for arm in arms)
        if op.name == "torch.prim.Loop":
            body = op.regions[0].blocks[0]
            return all(self._is_typed(v) for v in body.arguments) and self._is_native_block(body)
        if op.name == "torch.prim.ListUnpack":
            return True
        if op.name == "torch.tensor_static_info_cast":
            source = self.inference[op.operands[0]]
            return isinstance(source, Tensor) and follows(op.results[0].type, source)
        if is_formula(op) and can_build(op, self.inference, self._made_is_native):
            return True
        row = row_of(op)
        if row is None or not self._has_code(row):
            return False
        return PROMOTION not in op.attributes or row.numpy is None or self._has_torch_form(op, row)

    def _is_native_block(self, block: ir.Block) -> bool:
        ops = [view.operation for view in block.operations]
        return all(is_copied(op) or self.is_native(op) for op in ops[:-1]) and ops[-1].name in _TERMINATORS

    def _is_typed(self, value: ir.Value) -> bool:
        """Whether a value is one that native code can hold: tensors of known dtype and rank, numbers of one kind, lists of such."""
        if value not in self.inference.values:
            return False
        if not torch_types.is_tensor(value.type):
            text = str(value.type)
            copied = not isinstance(value.owner, ir.Block) and is_copied(value.owner.operation)
            return copied or text in _PLAIN or text.startswith("!torch.list<")
        known = self.inference[value]
        sizes, dtype = torch_types.parse_tensor(str(value.type))
        typed = isinstance(known, Tensor) and known.dtype is not None and known.shape is not None
        return typed and torch_types.is_value_tensor(value.type) and sizes is not None and dtype is not None

    @staticmethod
    def _has_code(row: Op) -> bool:
        return row.native and not row.writes and not row.random

    def _has_torch_form(self, op: ir.Operation, row: Op) -> bool:
        """Whether `tierup-explicit-promotion` will find torch ops with native code for an op under NumPy's rules."""
        rewrite = rewrite_of(row)
        if rewrite is None:
            return False
        site = Site(op, self.inference)
        try:
            found = [self.inference[v] for v in rewrite(site)]
            same = all(_is_same(new, wanted, self.inference.ties) for new, wanted in zip(found, site.results, strict=True))
            return same and all(self._made_is_native(made) for made in site.made)
        except Keep:
            return False
        finally:
            site.undo()

    def _made_is_native(self, op: ir.Operation) -> bool:
        row = row_of(op)
        return row is None or self._has_code(row)

    has_edges = False  # whether `separates` ever does

    def separates(self, made_by: ir.Operation, user: ir.Operation) -> bool:
        """Whether an op and one that reads what it makes may not stand in one group, though each has native code."""
        return False

    # --- order -------------------------------------------------------------------------------------------------------

    def is_ordered(self, op: ir.Operation) -> bool:
        """Whether an op keeps its place among the others like it: it may raise, on whatever arguments the program is given,
        or does something besides computing its results."""
        if is_copied(op) or op.name in _DECLARATIONS or op.name in _TERMINATORS or op.name == "torch.tensor_static_info_cast":
            return False
        if op.name in ("torch.prim.If", "torch.prim.Loop"):
            return any(self.is_ordered(view.operation) for block in blocks(op) for view in block.operations)
        row = row_of(op)
        if row is None or raises_for_values(op, row, self.inference) or row.random or row.writes or row.results == 0:
            return True
        if any(e.op == op for e in self.inference.refused):
            return True
        tensors = [i for i, v in enumerate(op.operands) if torch_types.is_tensor(v.type)]
        if not tensors:
            if row.kind is Kind.SCALAR:  # unpacking a list of another length, say
                return hangs_on_numbers(op, row, self.inference)
            return not all(v in self.inference.values for v in op.operands)
        if len(tensors) > 1 or any(v not in self.inference.values for v in op.operands):
            return True
        operands = tuple(None if i in tensors else self.inference[v] for i, v in enumerate(op.operands))
        return not takes_every_array(row.name, operands, promotion(op))

    def order_of(self, ops: Sequence[ir.Operation]) -> Callable[[ir.Operation], bool]:
        """Which ops of a block keep their order: those of `is_ordered`, and where one may write a list, those that have one."""
        lists_change = any(map(_may_write_a_list, ops))
        return lambda op: self.is_ordered(op) or (lists_change and _has_a_list(op))


def _is_same(new: Value, wanted: Value, ties: Sequence[Tie]) -> bool:
    if not isinstance(wanted, Tensor):
        return True
    return isinstance(new, Tensor) and new.dtype is wanted.dtype and same_shape(new, wanted, ties)
