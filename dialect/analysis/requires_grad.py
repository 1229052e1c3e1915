"""Which values require a gradient: the analysis, and how a graph says it of its arguments.

A function's argument says it with the attribute `tierup.requires_grad = true | false`, which whoever calls the function ensures, as he
ensures the argument's type; without it nothing is known. In the middle of a graph `tierup.guard`, `tierup.check` and
`tierup.check_requires_grad` ensure it of their results. What a `tierup.profile` recorded (`requires_grad=true` in its facts) is an
assumption: only with `profiles` does the analysis follow it.

Each value is True (requires one), False (requires none), or None (may or may not); of a list or tuple, of all that is in it. False is
certain: that is what others rely on. True follows from True by PyTorch's rule: a result of floating dtype requires a gradient when an
operand does, unless the op is not differentiable (the rows' field). An integer or a bool requires none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tierup.dialect.facts.inference.infer import Inference, InferenceError, infer_function
from tierup.dialect.facts.profiled import Profiled
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import REQUIRES_GRAD, facts_of
from tierup.dialect.ir.structure import CASTS, COPIES, LIST_WRITERS
from tierup.dialect.ir.walking import Notes, callee_name, callee_of
from tierup.dialect.language.contracts import STRUCTURE
from tierup.dialect.mlir import ir
from tierup.dialect.optable.rows import row_of

State = bool | None
NEEDS_GRADIENT = "tierup.needs_gradient"  # on a function, between the pass that decides and the one that groups

_CONTAINERS = frozenset({
    "torch.prim.ListConstruct", "torch.prim.ListUnpack", "torch.prim.TupleConstruct", "torch.prim.TupleIndex", "torch.prim.TupleUnpack",
    "torch.aten.__getitem__.t", "torch.aten.add.t", "torch.aten.mul.left_t", "torch.aten.slice.t", "torch.aten.list.t",
})  # fmt: skip
_FLOWING = frozenset({"tierup.autograd_add", "tierup.batched_mm_side", "tierup.batched_mm_tree", "tierup.constant_chunk"})
_BODIES = frozenset({"tierup.fusion_group", "tierup.fallback", "tierup.differentiable"})


def argument_states(func: ir.Operation) -> list[State]:
    """What `tierup.requires_grad` says of each argument; None where it says nothing."""
    count = len(func.regions[0].blocks[0].arguments)
    if "arg_attrs" not in func.attributes:
        return [None] * count
    found = [ir.DictAttr(a) for a in ir.ArrayAttr(func.attributes["arg_attrs"])]
    return [ir.BoolAttr(a[REQUIRES_GRAD]).value if REQUIRES_GRAD in a else None for a in found]


def set_argument_states(func: ir.Operation, states: Sequence[State]) -> None:
    """Make `tierup.requires_grad` say this of the arguments; nothing where a state is None."""
    old = ir.ArrayAttr(func.attributes["arg_attrs"]) if "arg_attrs" in func.attributes else [ir.DictAttr.get({})] * len(states)
    made = []
    for dictionary, state in zip(old, states, strict=True):
        entries = {entry.name: entry.attr for entry in ir.DictAttr(dictionary) if entry.name != REQUIRES_GRAD}
        if state is not None:
            entries[REQUIRES_GRAD] = ir.BoolAttr.get(state)
        made.append(ir.DictAttr.get(entries))
    if any(len(d) for d in made):
        func.attributes["arg_attrs"] = ir.ArrayAttr.get(made)
    elif "arg_attrs" in func.attributes:
        del func.attributes["arg_attrs"]


class RequiresGrad:
    """What is known of the values of one function. `profiles`: recorded facts are taken for true.
    `arguments`: what its arguments are, if not what it says of them itself."""

    def __init__(self, func: ir.Operation, *, profiles: bool = False, arguments: Sequence[State] | None = None) -> None:
        self._profiles = profiles
        self._states: dict[ir.Value, State] = Notes()
        self._calls: set[str] = set()  # those being followed
        self._written = False  # something that may require a gradient was written to a tensor or a list
        try:
            self._inference = infer_function(func, unset_has_sizes=True)
        except InferenceError:  # raises on all such operands: its types say what they say
            self._inference = Inference()
        states = argument_states(func) if arguments is None else arguments
        self._function(func, states)
        if self._written:  # all that may have been written, seen once more
            self._function(func, states)

    @property
    def inference(self) -> Inference:
        """The types that it went by."""
        return self._inference

    def __getitem__(self, value: ir.Value) -> State:
        """True, False or None. None for a value in a region that no run of the function executes."""
        return self._states.get(value)

    def may(self, value: ir.Value) -> bool:
        """Whether the value may require a gradient."""
        return self[value] is not False

    # --- the walk ------------------------------------------------------------------------------------------------------

    def _set(self, value: ir.Value, state: State) -> None:
        """Note a state, within what the type allows."""
        text = str(value.type)
        if "tensor" not in text:
            state = False
        elif torch_types.is_tensor(value.type):
            _, dtype = torch_types.parse_tensor(text)
            known = self._inference.values.get(value)
            dtype = dtype or (known.dtype if isinstance(known, Tensor) else None)
            if dtype is not None and not dtype.is_float:
                state = False
            elif dtype is None and state is True:
                state = None  # an integer would require none
            elif self._written and state is False and not torch_types.is_value_tensor(value.type):
                state = None
        elif self._written and state is False:
            state = None
        self._states[value] = state

    def _function(self, func: ir.Operation, arguments: Sequence[State]) -> list[State]:
        block = func.regions[0].blocks[0]
        for argument, state in zip(block.arguments, arguments, strict=True):
            self._set(argument, state)
        return self._block(block)

    def _block(self, block: ir.Block) -> list[State]:
        """Follow a block; the states of what its terminator hands over."""
        last: list[State] = []
        for view in block.operations:
            op = view.operation
            last = [self[v] for v in op.operands]
            results = list(op.results)
            for result, state in zip(results, self._op(op, last, len(results)), strict=True):
                self._set(result, state)
        return last

    def _op(self, op: ir.Operation, operands: list[State], count: int) -> Iterable[State]:
        name = op.name
        if name == "torch.prim.If":
            then, otherwise = (self._block(region.blocks[0]) for region in op.regions)
            return [join((a, b)) for a, b in zip(then, otherwise, strict=True)]
        if name == "torch.prim.Loop":
            return self._loop(op, operands[2:])
        if name == "func.call":
            return self._call(op, operands, count)
        if name in _BODIES:
            body = op.regions[0].blocks[0]
            for argument, state in zip(body.arguments, operands, strict=True):
                self._set(argument, state)
            return self._block(body)[:count]
        if name == "tierup.grad_of":
            return [join((s, False)) for s in self._block(op.regions[0].blocks[0])]
        if name.startswith("tierup."):
            return self._ours(op, operands, count)
        if name in LIST_WRITERS or name == "torch.overwrite.tensor.contents":
            self._written = self._written or any(s is not False for s in operands)
            return operands[:count]
        if name in CASTS or name in COPIES:
            return operands
        if name in _CONTAINERS:
            tensors = [s for v, s in zip(op.operands, operands, strict=True) if "tensor" in str(v.type)]
            return [join(tensors)] * count
        return self._row(op, operands, count)

    def _row(self, op: ir.Operation, operands: list[State], count: int) -> list[State]:
        row = row_of(op)
        if row is None:
            return [False if op.name in STRUCTURE else None] * count
        state: State = False
        if row.differentiable:
            state = any_of(row.followed(operands))
        if row.writes and state is not False:
            self._written = True
        return [False if k in row.flat else state for k in range(count)]

    def _ours(self, op: ir.Operation, operands: list[State], count: int) -> list[State]:
        if op.name == "tierup.profile":
            return [self._recorded(op, operands[0])]
        if op.name in ("tierup.guard", "tierup.bailout"):
            return [_ensured(op.attributes["expected"], operands[0])]
        if op.name == "tierup.check":
            return [*map(_ensured, ir.ArrayAttr(op.attributes["expected"]), operands), False]
        if op.name == "tierup.check_requires_grad":
            return [*(ir.BoolAttr(a).value for a in ir.ArrayAttr(op.attributes["requires_grad"])), False]
        if op.name == "tierup.if_then_else":
            return [join(operands[1:])]
        return [any_of(operands) if op.name in _FLOWING else False] * count

    def _recorded(self, op: ir.Operation, state: State) -> State:
        return _ensured(op.attributes["profiled"], state) if self._profiles and "profiled" in op.attributes else state

    def _loop(self, op: ir.Operation, carried: list[State]) -> list[State]:
        body = op.regions[0].blocks[0]
        while True:  # a state only ever becomes None, so this ends
            self._set(body.arguments[0], False)
            for argument, state in zip(list(body.arguments)[1:], carried, strict=True):
                self._set(argument, state)
            after = self._block(body)[1:]
            joined = [join(pair) for pair in zip(carried, after, strict=True)]
            if joined == carried:
                return joined
            carried = joined

    def _call(self, op: ir.Operation, operands: list[State], count: int) -> list[State]:
        name = callee_name(op)
        callee = callee_of(op)
        if callee is None or name in self._calls:
            self._written = self._written or any(s is not False for s in operands)
            return [None] * count
        self._calls.add(name)
        results = self._function(callee, operands)
        self._calls.discard(name)
        return results


def join(states: Iterable[State]) -> State:
    """What holds of all of them; of none: nothing requires a gradient."""
    found = set(states)
    return found.pop() if len(found) == 1 else None if found else False


def any_of(states: Iterable[State]) -> State:
    """Whether any of them does."""
    found = set(states)
    return True if True in found else None if None in found else False


def _ensured(fact: ir.Attribute, state: State) -> State:
    known = facts_of(fact)
    return known.requires_grad if isinstance(known, Profiled) and known.requires_grad is not None else state
