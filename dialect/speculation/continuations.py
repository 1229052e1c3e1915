"""The rest of a program from a point in its middle, as a function of its own: the builder behind tierup-build-bailout-continuations."""

from __future__ import annotations

from tierup.dialect.facts.inference.refined_types import cast
from tierup.dialect.ir.attributes import i64
from tierup.dialect.ir.structure import captured, external_operands, is_used, last_of, maker, read_others, signature
from tierup.dialect.ir.walking import unerased, walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.rewriting import regions
from tierup.dialect.rewriting.outlining import private_function
from tierup.dialect.speculation import CONTINUATION
from tierup.dialect.speculation.resume_points import is_made_again, root

_DECLARATIONS = frozenset({"torch.symbolic_int", "torch.bind_symbolic_shape"})
_WATCHING = frozenset({"tierup.bailout", "tierup.guard", "tierup.profile"})


def build(bailout: ir.Operation, func: ir.Operation, name: str) -> ir.Operation:
    """A private function `name` that does what is left of `func` where `bailout` stands in it.

    Its parameters are the bailout's operands, its results `func`'s. Guards in it hand through, and no type in it says what a guard
    proved: it runs on any values. Raises PassFailure when the rest reads what the bailout does not capture.
    """
    types = ir.FunctionType.get([v.type for v in bailout.operands], signature(func).results)
    made, body = private_function(func, name, types, CONTINUATION, bailout.location)
    rest = _Rest(bailout, body, {root(v): a for v, a in zip(bailout.operands, body.arguments, strict=True)})
    rest.known[bailout.results[0]] = body.arguments[0]
    rest.follow(bailout)
    _despecialise(body, types)
    return made


class _Rest:
    """Clones what follows a point to the end of `body`. `known`: values of the program, and what they are here."""

    def __init__(self, bailout: ir.Operation, body: ir.Block, known: dict[ir.Value, ir.Value]) -> None:
        self.bailout = bailout
        self.ip = ir.InsertionPoint(body)
        self.known = known

    def follow(self, point: ir.Operation) -> None:
        """All that runs after `point`, up to the function's return."""
        while True:
            block = point.block
            after = [view.operation for view in block.operations]
            *between, terminator = after[after.index(point) + 1 :]
            for op in between:
                if op.name not in _DECLARATIONS:
                    self.known.update(zip(op.results, self.clone(op).results, strict=True))
            given = [self.value(v) for v in terminator.operands]
            owner = block.owner.operation
            if owner.name == "func.func":
                self.create("func.return", given, [], terminator.location)
                return
            if owner.name == "torch.prim.Loop":
                given = list(self.remaining_iterations(owner, given).results)
            self.known.update(zip(owner.results, given, strict=True))
            point = owner

    def remaining_iterations(self, loop: ir.Operation, given: list[ir.Value]) -> ir.Operation:
        """The loop after the iteration that ended in `given`, which is whether to go on, and the carried values."""
        trip, number = loop.operands[0], loop.regions[0].blocks[0].arguments[0]
        int_, location = number.type, loop.location
        value = {"value": i64(1)}
        one = self.create("torch.constant.int", [], [int_], location, value).result
        done = self.create("torch.aten.add.int", [self.value(number), one], [int_], location).result
        left = self.create("torch.aten.sub.int", [self.value(trip), done], [int_], location).result
        made = self.clone(loop, [left, *given])
        counter = made.regions[0].blocks[0].arguments[0]
        if is_used(counter):
            ip = ir.InsertionPoint.at_block_begin(made.regions[0].blocks[0])
            shifted = self.create("torch.aten.add.int", [counter, done], [int_], location, ip=ip)
            counter.replace_all_uses_except(shifted.result, shifted)
        return made

    def clone(self, op: ir.Operation, operands: list[ir.Value] | None = None) -> ir.Operation:
        """A copy of `op` that reads what its values are here; `operands`: instead of its own."""
        outside = {v: self.value(v) for v in (external_operands(op) if operands is None else captured(op))}
        made = op.clone(self.ip).operation
        for i, operand in enumerate(operands or ()):
            made.operands[i] = operand
        read_others([made], outside)
        return made

    def value(self, value: ir.Value) -> ir.Value:
        """What a value of the program is here. What is not captured because it is made again is made now."""
        if value in self.known:
            return self.known[value]
        op = maker(value)
        below = root(value)
        if below != value:
            found = self.value(below)
        else:
            if op is None or not is_made_again(op):
                what = f"the result of {op.name}" if op is not None else "a block argument"
                raise PassFailure(self.bailout, f"does not capture {what} of type {value.type}, which the rest of the program reads")
            found = self.clone(op).results[0]
        self.known[value] = found
        return found

    def create(
        self,
        name: str,
        operands: list[ir.Value],
        results: list[ir.Type],
        location: ir.Location,
        attributes: dict[str, ir.Attribute] | None = None,
        *,
        ip: ir.InsertionPoint | None = None,
    ) -> ir.Operation:
        made = ir.Operation.create(name, results=results, operands=operands, attributes=attributes, loc=location, ip=ip or self.ip)
        return made.operation


def _despecialise(body: ir.Block, types: ir.FunctionType) -> None:
    """Guards hand through; types are forgotten but for those of the signature, which casts meet."""
    for op in unerased(op for op in walk(body.owner.operation) if op.name in _WATCHING):
        op.results[0].replace_all_uses_with(op.operands[0])
        op.erase()
    regions.forget_types(body)
    for argument, type_ in zip(body.arguments, types.inputs, strict=True):
        plain = argument.type
        if type_ == plain:
            continue
        argument.set_type(type_)
        if is_used(argument):
            known = cast(argument, plain, ir.InsertionPoint.at_block_begin(body))
            argument.replace_all_uses_except(known, known.owner.operation)
    returned = last_of(body)
    for i, type_ in enumerate(types.results):
        returned.operands[i] = cast(returned.operands[i], type_, ir.InsertionPoint(returned))
