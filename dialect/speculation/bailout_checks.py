"""What a bailout asks, as scalar ops of the torch dialect: sizes and numbers compared. For tierup-lower-bailouts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from tierup.dialect.facts.dims import symbol
from tierup.dialect.facts.inference import symbols
from tierup.dialect.facts.inference.infer import Inference, infer_function
from tierup.dialect.facts.profiled import CPU, Fact, Profiled, ProfiledScalar
from tierup.dialect.facts.values import Tensor
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.attributes import constant, facts_of
from tierup.dialect.ir.structure import LIST_WRITERS
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.rewriting.core import create, items_of, number, under_casts
from tierup.dialect.speculation.guard_facts import Proven, proves

_BOOL, _INT, _FLOAT = "!torch.bool", "!torch.int", "!torch.float"
_KINDS = {_BOOL: "bool", _INT: "int", _FLOAT: "float"}

Source = Callable[[ir.Operation], ir.Value]  # makes a value before an op


@dataclass
class Checks:
    """The assumptions of a function's bailouts, and what is known without asking.

    A symbol that no argument binds stands for the size that the first bailout with it meets, which has to come before the others
    whatever way the program takes.
    """

    func: ir.Operation
    inference: Inference
    bound: dict[str, Source] = field(default_factory=dict)  # symbol -> its size, where it is known
    binders: dict[str, ir.Operation] = field(default_factory=dict)  # symbol that no argument has -> the first bailout with it

    @staticmethod
    def of(func: ir.Operation, bailouts: Sequence[ir.Operation], *, force: bool = False) -> Checks:
        """Raises PassFailure for an assumption that native code cannot check, or whose live values it cannot hand over. What is proven is
        neither checked nor left, unless losses are forced."""
        block = func.regions[0].blocks[0]
        inference = infer_function(func, rules=Proven(), tolerant=True)
        made = Checks(func, inference)
        for argument, shape in symbols.bound_shapes(block).items():
            for dim, size in enumerate(shape):
                if not isinstance(size, int):
                    made.bound.setdefault(str(size), _size_of(argument, dim))
        for op in bailouts:
            _refuse_assumption(op)
            proven = made.is_proven(op)
            if force or not proven:
                _refuse_live(op)
            if not proven:
                made._bind(op)
        return made

    def _bind(self, op: ir.Operation) -> None:
        fact = facts_of(op.attributes["expected"])
        for size in fact.sizes or () if isinstance(fact, Profiled) else ():
            if not isinstance(size, str) or size in self.bound:
                continue
            first = self.binders.setdefault(size, op)
            if _in_loop(first) or not _is_before(first, op):
                what = f"asks for the size {size}, which is first met inside a loop or a branch"
                raise PassFailure(op, f"{what}: native code keeps no such size")

    def is_proven(self, op: ir.Operation) -> bool:
        """Whether the value fits, whatever the run."""
        return proves(self.inference[op.operands[0]], native_part(facts_of(op.attributes["expected"])))

    def question(self, op: ir.Operation) -> ir.Value:
        """Whether the guarded value fits, as a !torch.bool made before `op`."""
        fact = native_part(facts_of(op.attributes["expected"]))
        value = op.operands[0]
        if isinstance(fact, ProfiledScalar):
            return _scalar_question(op, value, fact)
        known = self.inference[value]
        sizes, dtype = torch_types.parse_tensor(str(value.type))
        assert isinstance(known, Tensor) and sizes is not None  # _refuse_live has seen to it
        if fact.dtype not in (None, dtype) or (fact.sizes is not None and len(fact.sizes) != len(sizes)):
            return number(op, False)
        found: list[ir.Value] = []
        fresh: dict[str, ir.Value] = {}
        for dim, expected in enumerate(fact.sizes or ()):
            stated = known.shape[dim] if known.shape is not None else None
            if expected is None or stated == (symbol(expected) if isinstance(expected, str) else expected):
                continue
            if isinstance(stated, int) and isinstance(expected, int):
                return number(op, False)
            size = _size_of(value, dim)(op)
            if isinstance(expected, int):
                other = number(op, expected)
            elif expected in self.bound:
                other = self.bound[expected](op)
            elif expected in fresh:
                other = fresh[expected]
            elif self.binders[expected] == op:
                fresh[expected] = size
                found.append(create(op, "torch.aten.ge.int", [size, number(op, 2)], _type(op, _BOOL)))
                continue
            else:
                first = self.binders[expected]
                other = self._met(first, expected)(op)
            found.append(create(op, "torch.aten.eq.int", [size, other], _type(op, _BOOL)))
        if not found:
            return number(op, True)
        answer = found[0]
        for more in found[1:]:
            answer = create(op, "torch.aten.__and__.bool", [answer, more], _type(op, _BOOL))
        return answer

    @staticmethod
    def _met(first: ir.Operation, name: str) -> Source:
        fact = facts_of(first.attributes["expected"])
        assert isinstance(fact, Profiled) and fact.sizes is not None
        return _size_of(first.operands[0], fact.sizes.index(name))

    def refined(self, op: ir.Operation) -> ir.Value:
        """What the bailout hands through where the value is known to fit, made right after `op`."""
        fact, value, type_ = facts_of(op.attributes["expected"]), op.operands[0], op.results[0].type
        ip = ir.InsertionPoint.after(op)
        if isinstance(fact, ProfiledScalar):
            return value if fact.value is None else constant(fact.value, ip)
        if any(isinstance(size, str) for size in fact.sizes or ()):  # inference reads the symbols there
            return ops.guard(value, native_part(fact), type_, loc=op.location, ip=ip)
        if type_ == value.type:
            return value
        return ir.Operation.create("torch.tensor_static_info_cast", [type_], [value], loc=op.location, ip=ip).operation.results[0]


def native_part(fact: Fact) -> Fact:
    """What of an assumption means something to native code: its values have no strides, and lie where it runs."""
    if isinstance(fact, ProfiledScalar):
        return fact
    return replace(fact, strides=None, device=None, requires_grad=None, defined=None)


def _refuse_assumption(op: ir.Operation) -> None:
    """Raise PassFailure for what cannot be asked."""
    fact, type_ = facts_of(op.attributes["expected"]), str(op.operands[0].type)
    if isinstance(fact, ProfiledScalar):
        if type_ not in _KINDS or fact.kind not in (None, _KINDS[type_]):
            raise PassFailure(op, f"assumes {fact} of a value of type {type_}, whose kind only the run knows")
    elif fact.defined is False or fact.device not in (None, CPU) or fact.requires_grad:
        raise PassFailure(op, f"assumes {fact}, which native code never sees")
    elif not torch_types.is_value_tensor(op.operands[0].type):
        raise PassFailure(op, f"assumes {fact} of a value of type {type_}, which is no tensor in native code")


def _refuse_live(op: ir.Operation) -> None:
    """Raise PassFailure for what cannot be handed over."""
    for value in op.operands:
        if not _is_handed_over(value):
            what = "native code hands over numbers, tensors of known dtype and rank, and lists of these that nobody writes"
            raise PassFailure(op, f"needs a value of type {value.type} to go on elsewhere: {what}")


def _is_handed_over(value: ir.Value) -> bool:
    value = under_casts(value)
    if str(value.type) in _KINDS or str(value.type) == "!torch.none":
        return True
    items = items_of(value)
    if items is not None:
        return not any(use.owner.operation.name in LIST_WRITERS for use in value.uses) and all(map(_is_handed_over, items))
    sizes, dtype = torch_types.parse_tensor(str(value.type)) if torch_types.is_value_tensor(value.type) else (None, None)
    return sizes is not None and dtype is not None


def _scalar_question(op: ir.Operation, value: ir.Value, fact: ProfiledScalar) -> ir.Value:
    truth = _type(op, _BOOL)
    if fact.value is None:
        return number(op, True)
    if fact.kind == "bool":
        return value if fact.value else create(op, "torch.aten.__not__", [value], truth)
    if fact.kind == "int":
        return create(op, "torch.aten.eq.int", [value, number(op, fact.value)], truth)
    assert isinstance(fact.value, float)
    if math.isnan(fact.value):
        ordered = create(op, "torch.aten.ge.float", [value, number(op, -math.inf)], truth)
        return create(op, "torch.aten.__not__", [ordered], truth)
    equal = create(op, "torch.aten.eq.float", [value, number(op, fact.value)], truth)
    if fact.value != 0:
        return equal
    text = "!torch.vtensor<[],{}>"  # 0.0 is not -0.0: no op on numbers tells them apart
    tensor = create(op, "torch.prim.NumToTensor.Scalar", [value], _type(op, text.format("f64")))
    sign = create(op, "torch.aten.signbit", [tensor], _type(op, text.format("i1")))
    negative = create(op, "torch.aten.Bool.Tensor", [sign], truth)
    if math.copysign(1.0, fact.value) > 0:
        negative = create(op, "torch.aten.__not__", [negative], truth)
    return create(op, "torch.aten.__and__.bool", [equal, negative], truth)


def _size_of(value: ir.Value, dim: int) -> Source:
    return lambda op: create(op, "torch.aten.size.int", [value, number(op, dim)], _type(op, _INT))


def _type(op: ir.Operation, text: str) -> ir.Type:
    return ir.Type.parse(text, op.context)


def _in_loop(op: ir.Operation) -> bool:
    parent = op.parent.operation
    while parent.name != "func.func":
        if parent.name == "torch.prim.Loop":
            return True
        parent = parent.parent.operation
    return False


def _is_before(first: ir.Operation, op: ir.Operation) -> bool:
    """Whether `first`, which is not after `op` in the text, runs before it on every path: a block around `op` has it."""
    block = op.block
    while True:
        if block == first.block:
            return True
        owner = block.owner.operation
        if owner.name == "func.func":
            return False
        block = owner.block
