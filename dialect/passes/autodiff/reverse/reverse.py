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
(branches.py). To hand these values out of the first branch, values would be needed for the arm that was not taken.

A gradient that is there on some paths only is known to be (paths.py).

With `undefined` the gradients that come in may be undefined (tierup.differentiable): each op's gradient is a `tierup.grad_of`, sums are
`tierup.autograd_add`. Else what is undefined is known here, and there is no op for it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from typing import Union

from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.structure import HANDED_ON, is_used, made_again
from tierup.dialect.ir.walking import Notes, backwards, torch_name
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.ops import gradients
from tierup.dialect.ops.gradients import by_torch, lists
from tierup.dialect.ops.gradients.core import Backward, Gradient, NoGradient, Rule
from tierup.dialect.ops.gradients.emitter import Emitter
from tierup.dialect.ops.gradients.lists import ListGradient
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.autodiff.reverse import parts
from tierup.dialect.passes.autodiff.reverse.lists import joined, packed
from tierup.dialect.passes.autodiff.reverse.paths import Path, When, both, either, masked, same
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.rewriting.core import int_of

REMEDY = "give it a rule in dialect/ops/gradients, or keep what it gives out of the differentiated result (stop_gradient, detach)"

PACKS = frozenset({"torch.prim.ListConstruct", "torch.prim.TupleConstruct"})
_UNPACKS = frozenset({"torch.prim.ListUnpack", "torch.prim.TupleUnpack"})
_PICKS = frozenset({"torch.aten.__getitem__.t", "torch.prim.TupleIndex"})
_JOINS = frozenset({"torch.aten.add.t", "torch.aten.slice.t", "torch.aten.list.t", "torch.aten.mul.left_t"})
CONTAINERS = PACKS | _UNPACKS | _PICKS | _JOINS
"""Ops through which gradients go item by item, without a rule."""

Found = Union[ir.Value, ListGradient, None]
"""A gradient so far: of a tensor a tensor, of a list or tuple what gradients/lists.py says."""

Regions = Mapping[str, "Callable[[Reverse, ir.Operation, Sequence[Found], Sequence[When]], None]"]
"""How ops with regions are differentiated, by name: handlers of (reverse, op, gradients of its results, when these are there, of the
paths on which one is)."""


class Reverse:
    """The gradients of one block's values. `active`: whether a gradient of a value is asked for, those of nested regions included."""

    def __init__(self, emitter: Emitter, active: dict[ir.Value, bool], regions: Regions, *, undefined: bool = False) -> None:
        self.emitter = emitter
        self.active = active
        self.regions = regions
        self.undefined = undefined
        self.grads: dict[ir.Value, ir.Value | ListGradient] = Notes()
        self.paths: dict[ir.Value, Path] = Notes()  # of the gradients that are not there on all
        self.when: When = True  # of what is given: when what it is made of is there
        self.drops = False  # whether a rule passed nothing on to a tensor of which a gradient is asked: that is one of zeros

    def nested(self) -> Reverse:
        """One for a region inside, with gradients of its own."""
        return Reverse(self.emitter, self.active, self.regions, undefined=self.undefined)

    def give(self, value: ir.Value, gradient: Gradient | ListGradient, when: When = True, *, zeros: bool = False) -> None:
        """Add to the gradient of a value: of a list a list, or the gradients of its first items. `when` it is there; `zeros`: else it is
        zeros, which it was made as."""
        if gradient is None or not self.active.get(value, False):
            return
        if not torch_types.is_tensor(value.type) and not _is_optional(value.type) and not isinstance(gradient, ListGradient):
            gradient = ListGradient(gradient) if isinstance(gradient, ir.Value) else lists.noted(gradient)
        assert isinstance(gradient, (ir.Value, ListGradient))
        path = Path(both(self.emitter, self.when, when), zeros and self.when is True)
        if value in self.grads:
            before, old = self.path(value), self.grads[value]
            if not same(before.when, path.when):
                old, gradient = masked(self.emitter, old, before), masked(self.emitter, gradient, path)
                path, before = Path(either(self.emitter, before.when, path.when)), Path()
            path = Path(path.when, path.zeros and before.zeros)
            gradient = self._sum(old, gradient)
        self.grads[value], self.paths[value] = gradient, path

    def path(self, value: ir.Value) -> Path:
        """When a value's gradient so far is there."""
        return self.paths.get(value, Path()) if value in self.grads else Path(False)

    def _sum(self, a: ir.Value | ListGradient, b: ir.Value | ListGradient) -> ir.Value | ListGradient:
        e = self.emitter
        if isinstance(a, ListGradient) or isinstance(b, ListGradient):
            assert isinstance(a, ListGradient) and isinstance(b, ListGradient), "the gradient of a list is a list"
            return a.plus(e, b)
        if not self.undefined:
            return e.add(a, b)
        made = ops.create("autograd_add", [a, b], [e.tensor_type], loc=e.location, ip=e.ip)
        e.inference.values[made.results[0]] = e.tensor(a)
        return made.results[0]

    def take(self, value: ir.Value) -> Found:
        """The gradient of a value, all of it: whoever uses the value stands behind the op that made it. Zeros on paths without."""
        path, found = self.path(value), self.grads.pop(value, None)
        return None if found is None else masked(self.emitter, found, path)

    def _taken(self, values: Sequence[ir.Value]) -> tuple[list[Found], list[When]]:
        """The gradients of an op's results, and when they are there, of the paths on which one is: `self.when`."""
        paths = [self.path(v) for v in values]
        self.when = False
        for path in paths:
            self.when = either(self.emitter, self.when, path.when)
        if all(path.when is False or same(path.when, self.when) for path in paths):
            return [self.grads.pop(v, None) for v in values], [path.when is not False for path in paths]
        return [self.take(v) for v in values], [path.when for path in paths]

    def whole(self, value: ir.Value, gradient: Found) -> ir.Value:
        """The gradient of a tensor or a list of tensors as a value of its type, zeros where there is none."""
        if torch_types.is_tensor(value.type):
            return gradient if isinstance(gradient, ir.Value) else self.emitter.zeros_like(value)
        assert not isinstance(gradient, ir.Value)
        return lists.whole(self.emitter, value, gradient)

    def added(self, total: ir.Value, gradient: ir.Value | ListGradient) -> ir.Value:
        """The sum of a value that holds a gradient and another one of the same value."""
        if isinstance(gradient, ir.Value):
            return parts.added(self.emitter, total, gradient)
        return lists.added(self.emitter, total, gradient)

    def type_of(self, value: ir.Value) -> ir.Type:
        """The type of the gradient of a tensor or a list of tensors."""
        return ir.Type.parse(lists.type_of(value), self.emitter.context)

    def typed(self, value: ir.Value, gradient: ir.Value) -> ir.Value:
        """A gradient under that type, which a branch or a loop hands on: where it comes from, more may be said of it."""
        return cast(gradient, self.type_of(value), self.emitter.ip)

    def run(self, block_ops: Sequence[ir.Operation]) -> None:
        """Pass the gradients of what these ops give on to what they take."""
        for op in reversed(block_ops):
            self.op(op)

    def op(self, op: ir.Operation) -> None:
        """Pass the gradients of one op's results on to its operands. Raises PassFailure for an op that has no gradient."""
        if all(is_nothing(self.grads.get(r)) for r in op.results):
            for r in op.results:
                self.grads.pop(r, None)
            return
        self.emitter.location = op.location
        found, when = self._taken(list(op.results))
        self._passed(op, found, when)
        self.when = True

    def _passed(self, op: ir.Operation, found: Sequence[Found], when: Sequence[When]) -> None:
        name = op.name
        if name in HANDED_ON:
            for operand, gradient in zip(op.operands, found, strict=False):
                self.give(operand, gradient)
        elif name in PACKS:
            assert isinstance(found[0], ListGradient)
            packed(self, op, found[0])
        elif name in _UNPACKS:
            self.give(op.operands[0], lists.noted(found))
        elif name in _PICKS:
            source, index = op.operands
            number = int_of(index)
            self.give(source, ListGradient(None, ((index if number is None else number, found[0]),)))
        elif name in _JOINS:
            assert isinstance(found[0], ListGradient)
            joined(self, op, found[0])
        elif name == "tierup.autograd_add":
            for operand in op.operands:
                self.give(operand, found[0])
        elif name in self.regions:
            self.regions[name](self, op, found, when)
        else:
            self._rule(op, found)

    def _rule(self, op: ir.Operation, found: Sequence[Found]) -> None:
        name, row = torch_name(op), row_of(op)
        if row is not None and row.writes:
            raise PassFailure(op, "writes a tensor: only programs on values have gradients; run tierup-functionalize first")
        which = f"({name}) " if op.name == "torch.operator" else ""
        rule = gradients.lookup(name)
        if rule is None and not self.undefined:
            rule = by_torch.rule_of(name)
        if rule is None:
            raise PassFailure(op, f"{which}has no gradient: {REMEDY}")
        wanted = [self.active.get(v, False) for v in op.operands]
        if not any(wanted):
            return
        known = [self._for_rule(v, g) for v, g in zip(op.results, found, strict=True)]
        g = Backward(self.emitter, op, rule, list(op.operands), list(op.results), known, wanted, partial(Reverse, regions={}))
        try:
            if self.undefined:
                self._grad_of(op, g, rule)
            else:
                self._pass_on(op, rule.apply(g))
        except NoGradient as e:
            raise PassFailure(op, f"{which}has no gradient: {e}") from e

    def _for_rule(self, value: ir.Value, gradient: Found) -> Gradient:
        """Of a list, the gradients of its first items, or a list where their places are for the run to say."""
        if not isinstance(gradient, ListGradient):
            return gradient
        e, count = self.emitter, lists.length(self.emitter, value)
        places = [index for index, _ in gradient.parts]
        if gradient.whole is not None or gradient.spans or any(not isinstance(i, int) or (i < 0 and count is None) for i in places):
            return lists.whole(e, value, gradient)
        items: list[ir.Value | None] = [None] * (count if count is not None else max(i for i in places if isinstance(i, int)) + 1)
        for index, part in gradient.parts:
            assert isinstance(index, int) and isinstance(part, ir.Value)
            old = items[index]
            items[index] = part if old is None else self._sum(old, part)
        return items

    def _pass_on(self, op: ir.Operation, found: Gradient | tuple[Gradient, ...]) -> None:
        each = found if isinstance(found, tuple) else (found,)
        passed = dict(zip(op.operands, each, strict=False))
        self.drops = self.drops or any(self.active.get(v, False) and passed.get(v) is None for v in op.operands)
        for operand, gradient in zip(op.operands, each, strict=False):
            self.give(operand, gradient)

    def _grad_of(self, op: ir.Operation, g: Backward, rule: Rule) -> None:
        """The rule's ops in a region that runs when a gradient is there. Of several gradients each may be there or not, and each has a
        region of its own: what it passes on does not depend on the others."""
        for k, given in enumerate(g.grads):
            if isinstance(given, ir.Value):
                if not torch_types.is_tensor(given.type):
                    raise PassFailure(op, "gives a list that is used as a whole: of its items, some may have a gradient and some none")
                self._one_grad_of(op, g.only(self.emitter, k, given), rule, given)
            for i, part in enumerate(given if given is not None and not isinstance(given, ir.Value) else ()):
                if part is not None:
                    assert given is not None and not isinstance(given, ir.Value)
                    self._one_grad_of(op, g.only(self.emitter, k, [part if n == i else None for n in range(len(given))]), rule, part)

    def _one_grad_of(self, op: ir.Operation, g: Backward, rule: Rule, given: ir.Value) -> None:
        e = self.emitter
        draft = ops.create("grad_of", [], [], loc=e.location, ip=e.ip)
        wanted: list[tuple[ir.Value, int | None, ir.Value]] = []  # an operand, which of its items, and its gradient
        with e.inside(draft.regions[0].blocks.append()):
            found = rule.apply(g.at(e))
            for operand, gradient in zip(op.operands, found if isinstance(found, tuple) else (found,), strict=False):
                if not self.active.get(operand, False):
                    continue
                if isinstance(gradient, ir.Value):
                    if not torch_types.is_tensor(gradient.type):
                        raise PassFailure(op, "takes a list of unknown length, of whose items some may have a gradient and some none")
                    wanted.append((operand, None, gradient))
                else:
                    wanted += [(operand, i, x) for i, x in enumerate(gradient or ()) if x is not None]
            plain = [cast(x, e.tensor_type, e.ip) for *_, x in wanted]  # what came in, handed on as it is, may say more than results do
            ops.yield_(plain, loc=e.location, ip=e.ip)
        made = settle(draft, [given], [e.tensor_type] * len(wanted), {"op": ir.StringAttr.get(rule.op)})
        for (operand, i, inside), result in zip(wanted, made.results, strict=True):
            e.inference.values[result] = e.tensor(inside)
            self.give(operand, result if i is None else ListGradient(None, ((i, result),)))


def is_nothing(gradient: Found) -> bool:
    """Whether there is no gradient, or a list of none."""
    return gradient is None or (isinstance(gradient, ListGradient) and gradient.is_nothing)


def settle(
    draft: ir.Operation, operands: Sequence[ir.Value], results: Sequence[ir.Type], attributes: dict[str, ir.Attribute] | None = None
) -> ir.Operation:
    """An op like `draft`, whose regions were filled before its operands and results were known, in its place and with its regions."""
    made = made_again(draft, operands, results, attributes or {})
    draft.erase()
    return made


def sweep(block: ir.Block, behind: ir.Operation | None = None, kept: Collection[ir.Value] = ()) -> None:
    """Erase the ops of a block that nobody uses, from its end up to `behind`, but those that give `kept`: all of them only compute."""
    for op in backwards(block):
        if behind is not None and op == behind:
            return
        if len(op.results) and not any(is_used(r) or r in kept for r in op.results):
            op.erase()


def _is_optional(type_: ir.Type) -> bool:
    """Whether a value is a tensor or None: its gradient is that of a tensor."""
    return str(type_).startswith(("!torch.optional<vtensor", "!torch.optional<tensor"))
