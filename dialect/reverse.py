"""Reverse-mode differentiation: gradients of a block's values, emitted behind the ops that computed them ("inline").

`Reverse` walks the ops of a block backwards. Each op with a gradient at a result emits, by its rule (gradients/), what it passes on to
its operands; a value's gradients are added up until the op that made it is reached. The program is in value form (functionalised), calls
are inlined: an op computes its results from its operands and does nothing else, so it may be computed again.

    %0 = torch.aten.tanh %x                 %0 = torch.aten.tanh %x
    return %0                    becomes    %1 = torch.aten.mul.Tensor %0, %0
                                            %2 = torch.aten.rsub.Scalar %1, %int1, %int1
                                            %3 = torch.aten.mul.Tensor %seed, %2
                                            return %0, %3

A branch has a second one on the same condition, whose arms compute again what the taken arm computed, and then its gradient
(reverse_branches.py). To hand these values out of the first branch, values would be needed for the arm that was not taken.

With `undefined` the gradients that come in may be undefined (tierup.differentiable): each op's gradient is a `tierup.grad_of`, sums are
`tierup.autograd_add`. Else what is undefined is known here, and there is no op for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from tierup.dialect import gradients, ops, optable
from tierup.dialect.gradients.core import Backward, Gradient, NoGradient, Rule
from tierup.dialect.gradients.emitter import Emitter
from tierup.dialect.mlir import ir
from tierup.dialect.passes import PassFailure
from tierup.dialect.rewriting import int_of, is_used

REMEDY = "give it a rule in dialect/gradients, or keep what it gives out of the differentiated result (stop_gradient, detach)"

_IDENTITIES = frozenset({
    "torch.derefine", "torch.prim.unchecked_cast", "torch.tensor_static_info_cast", "torch.copy.to_vtensor", "torch.copy.to_tensor",
    "tierup.profile", "tierup.guard", "tierup.check", "tierup.check_requires_grad",
})  # fmt: skip
_PACKS = frozenset({"torch.prim.ListConstruct", "torch.prim.TupleConstruct"})
_UNPACKS = frozenset({"torch.prim.ListUnpack", "torch.prim.TupleUnpack"})
_PICKS = frozenset({"torch.aten.__getitem__.t", "torch.prim.TupleIndex"})
CONTAINERS = _PACKS | _UNPACKS | _PICKS
"""Ops through which gradients go item by item, without a rule."""


Regions = Mapping[str, "Callable[[Reverse, ir.Operation, Sequence[Gradient]], None]"]
"""How ops with regions are differentiated, by name: handlers of (reverse, op, gradients of its results)."""


class Reverse:
    """The gradients of one block's values. `active`: whether a gradient of a value is asked for, those of nested regions included."""

    def __init__(self, emitter: Emitter, active: dict[ir.Value, bool], regions: Regions, *, undefined: bool = False) -> None:
        self.emitter = emitter
        self.active = active
        self.regions = regions
        self.undefined = undefined
        self.grads: dict[ir.Value, Gradient] = {}

    def nested(self) -> Reverse:
        """One for a region inside, with gradients of its own."""
        return Reverse(self.emitter, self.active, self.regions, undefined=self.undefined)

    def give(self, value: ir.Value, gradient: Gradient) -> None:
        """Add to the gradient of a value."""
        if gradient is None or not self.active.get(value, False):
            return
        old = self.grads.get(value)
        self.grads[value] = gradient if old is None else self._sum(old, gradient)

    def _sum(self, a: Gradient, b: Gradient) -> Gradient:
        if a is None or b is None:
            return b if a is None else a
        if isinstance(a, ir.Value) and isinstance(b, ir.Value):
            if not self.undefined:
                return self.emitter.add(a, b)
            e = self.emitter
            made = ops.create("autograd_add", [a, b], [e.tensor_type], loc=e.location, ip=e.ip)
            e.inference.values[made.results[0]] = e.tensor(a)
            return made.results[0]
        assert not isinstance(a, ir.Value) and not isinstance(b, ir.Value), "the gradient of a list is a list"
        return [self._sum(x, y) for x, y in zip(a, b, strict=True)]

    def take(self, value: ir.Value) -> Gradient:
        """The gradient of a value, all of it: whoever uses the value stands behind the op that made it."""
        return self.grads.pop(value, None)

    def run(self, block_ops: Sequence[ir.Operation]) -> None:
        """Pass the gradients of what these ops give on to what they take."""
        for op in reversed(block_ops):
            self.op(op)

    def op(self, op: ir.Operation) -> None:
        found = [self.take(r) for r in op.results]
        if all(_is_nothing(g) for g in found):
            return
        self.emitter.location = op.location
        name = op.name
        if name in _IDENTITIES:
            for operand, gradient in zip(op.operands, found, strict=False):
                self.give(operand, gradient)
        elif name in _PACKS:
            (items,) = found
            assert items is not None and not isinstance(items, ir.Value)
            for operand, gradient in zip(op.operands, items, strict=True):
                self.give(operand, gradient)
        elif name in _UNPACKS:
            self.give(op.operands[0], found)
        elif name in _PICKS:
            self._pick(op, found[0])
        elif name == "tierup.autograd_add":
            for operand in op.operands:
                self.give(operand, found[0])
        elif name in self.regions:
            self.regions[name](self, op, found)
        else:
            self._rule(op, found)

    def _pick(self, op: ir.Operation, gradient: Gradient) -> None:
        """One item of a list whose length is known."""
        source, index = op.operands
        made = None if isinstance(source.owner, ir.Block) else source.owner.operation
        number = int_of(index)
        if made is None or made.name not in _PACKS or number is None:
            raise PassFailure(op, "has no gradient: which item it takes is not known; unpack the list, or write the index as a number")
        count = len(made.operands)
        items: list[ir.Value | None] = [None] * count
        assert gradient is None or isinstance(gradient, ir.Value)
        items[number % count] = gradient
        self.give(source, items)

    def _rule(self, op: ir.Operation, found: Sequence[Gradient]) -> None:
        name = ir.StringAttr(op.attributes["name"]).value if op.name == "torch.operator" else op.name.removeprefix("torch.")
        row = optable.lookup(name)
        if row is not None and row.writes:
            raise PassFailure(op, "writes a tensor: only programs on values have gradients; run tierup-functionalize first")
        rule = gradients.lookup(name)
        if rule is None:
            raise PassFailure(op, f"has no gradient: {REMEDY}")
        wanted = [self.active.get(v, False) for v in op.operands]
        if not any(wanted):
            return
        g = Backward(self.emitter, op, rule, list(op.operands), list(op.results), found, wanted)
        try:
            if self.undefined:
                self._grad_of(op, g, rule)
            else:
                self._pass_on(op, rule.apply(g))
        except NoGradient as e:
            raise PassFailure(op, f"has no gradient: {e}") from e

    def _pass_on(self, op: ir.Operation, found: Gradient | tuple[Gradient, ...]) -> None:
        each = found if isinstance(found, tuple) else (found,)
        for operand, gradient in zip(op.operands, each, strict=False):
            self.give(operand, gradient)

    def _grad_of(self, op: ir.Operation, g: Backward, rule: Rule) -> None:
        """The rule's ops in a region that runs when a gradient is there."""
        e = self.emitter
        given = [x for x in g.grads if isinstance(x, ir.Value)]
        if len(given) < len(g.grads):
            raise PassFailure(op, "gives a list or several results, whose gradients may be undefined one by one: it belongs in no group")
        draft = ops.create("grad_of", [], [], loc=e.location, ip=e.ip)
        with e.inside(draft.regions[0].blocks.append()):
            inner = g.at(e)
            found = rule.apply(inner)
            each = [*(found if isinstance(found, tuple) else (found,))]
            wanted = [(v, x) for v, x in zip(op.operands, each, strict=False) if isinstance(x, ir.Value) and self.active.get(v, False)]
            ops.yield_([x for _, x in wanted], loc=e.location, ip=e.ip)
        made = settle(draft, given, [e.tensor_type] * len(wanted), {"op": ir.StringAttr.get(rule.op)})
        for (operand, inside), result in zip(wanted, made.results, strict=True):
            e.inference.values[result] = e.tensor(inside)
            self.give(operand, result)


def _is_nothing(gradient: Gradient) -> bool:
    """Whether there is no gradient, or a list of none."""
    return gradient is None or (not isinstance(gradient, ir.Value) and all(g is None for g in gradient))


def settle(
    draft: ir.Operation, operands: Sequence[ir.Value], results: Sequence[ir.Type], attributes: dict[str, ir.Attribute] | None = None
) -> ir.Operation:
    """An op like `draft`, whose regions were filled before its operands and results were known, in its place and with its regions."""
    made = ir.Operation.create(
        draft.name, results=results, operands=operands, attributes=attributes or {}, regions=len(draft.regions),
        loc=draft.location, ip=ir.InsertionPoint(draft),
    ).operation  # fmt: skip
    for old, new in zip(draft.regions, made.regions, strict=True):
        for block in old.blocks:
            types = [a.type for a in block.arguments]
            moved = new.blocks.append(*types, arg_locs=[draft.location] * len(types))
            for before, after in zip(block.arguments, moved.arguments, strict=True):
                before.replace_all_uses_with(after)
            for view in list(block.operations):
                moved.append(view.operation)
    draft.erase()
    return made


def sweep(block: ir.Block, reverse: Reverse, behind: ir.Operation | None = None, kept: Collection[ir.Value] = ()) -> None:
    """Erase the ops of a block that nobody uses, from its end up to `behind`, but those that give `kept`: all of them only compute."""
    for view in reversed(list(block.operations)):
        op = view.operation
        if behind is not None and op == behind:
            return
        if len(op.results) and not any(is_used(r) or r in kept for r in op.results):
            _forget(op, reverse)
            op.erase()


def _forget(op: ir.Operation, reverse: Reverse) -> None:
    """Drop what is known of an op's values: others may take their place in memory."""
    gone = [*op.results]
    for region in op.regions:
        for block in region.blocks:
            gone += block.arguments
            for view in block.operations:
                _forget(view.operation, reverse)
    for value in gone:
        reverse.emitter.inference.values.pop(value, None)
        reverse.active.pop(value, None)
