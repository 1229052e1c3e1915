"""tierup-lower-bailouts: bailouts become branches, for native code: the rest of the program runs where the assumption holds.

    func.func @f(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor {
      %0 = torch.aten.exp %x : ...
      %1 = "tierup.bailout"(%0, %x) {index = 0 : i64, expected = #tierup.profiled<f32[4]>} : (...) -> !torch.vtensor<[4],f32>
      %2 = torch.aten.sub.Tensor %1, ...
      %3 = torch.tensor_static_info_cast %2 : !torch.vtensor<[4],f32> to !torch.vtensor
      return %3 : !torch.vtensor

becomes

    func.func @f(%x: !torch.vtensor<[?],f32>) -> !torch.vtensor<[4],f32> {
      %0 = torch.aten.exp %x : ...
      %n = torch.aten.size.int %0, %zero : ...
      %ok = torch.aten.eq.int %n, %four : ...
      %r = torch.prim.If %ok -> (!torch.vtensor<[4],f32>) {
        %1 = torch.tensor_static_info_cast %0 : !torch.vtensor<[?],f32> to !torch.vtensor<[4],f32>
        %2 = torch.aten.sub.Tensor %1, ...
        torch.prim.If.yield %2
      } else {
        "tierup.exit"(%0, %x) {index = 0 : i64} : (...) -> ()
        %u = torch.prim.Uninitialized : !torch.vtensor<[4],f32>
        torch.prim.If.yield %u
      }
      return %r : !torch.vtensor<[4],f32>

`tierup.exit` hands the operands of the bailout to the caller, which calls the continuation; what the function returns then is thrown
away. Branches and loops around a bailout yield one truth value more, whether control left in them, and what follows runs only where it
did not; a loop that control left goes on no more. So of all that the program yields nothing is carried for the exits' sake.

What is proven by types needs no check: such a bailout becomes a cast. It is left all the same, where a test wants it (`tierup.forced`),
with `force` or in a function with `tierup.forced_losses`. Facts on strides mean nothing to native code. An assumption that it cannot check,
or a live value that it has no form for (a list that is written, a tensor of unknown rank), is an error. The graph must be typed
(tierup-infer-types), and its calls inlined.
"""

from __future__ import annotations

from tierup.dialect.facts.inference.refine import is_called
from tierup.dialect.ir.structure import is_used, last_of, maker, set_signature
from tierup.dialect.ir.walking import walk
from tierup.dialect.mlir import ir
from tierup.dialect.passes.core import PassFailure
from tierup.dialect.passes.registry import Pass, register
from tierup.dialect.rewriting.core import bool_of, create, says_as_much
from tierup.dialect.speculation.bailout_checks import Checks
from tierup.dialect.speculation.exits import BAILOUT, Leaving

FORCED = "tierup.forced_losses"  # the unit attribute of a function in which a test may have each assumption fail at each of its evaluations


@register
class LowerBailouts(Pass):
    force: bool = False  # let a test make each assumption fail at each of its evaluations

    def run_on_function(self, func: ir.Operation) -> None:
        bailouts = [op for op in walk(func) if op.name == BAILOUT]
        if not bailouts:
            return
        _check_function(func, bailouts)
        force = self.force or FORCED in func.attributes
        checks = Checks.of(func, bailouts, force=force)
        stays: dict[int, ir.Value] = {}
        questions = [self._question(op, checks, force) for op in bailouts]  # before any is replaced: inference knows the bailouts' results
        for op, stay in zip(bailouts, questions, strict=True):
            op.results[0].replace_all_uses_with(checks.refined(op))
            if stay is None:
                op.erase()
            else:
                stays[_index(op)] = stay
        _promise(func)
        Leaving(stays, _exit).block(func.regions[0].blocks[0])

    def _question(self, op: ir.Operation, checks: Checks, force: bool) -> ir.Value | None:
        """Whether control stays at a bailout, made before it; None where it always does."""
        stay = None if checks.is_proven(op) else checks.question(op)
        if stay is not None and bool_of(stay) is True:
            stay = None
        if not force:
            return stay
        truth = ir.Type.parse("!torch.bool", op.context)
        ip = ir.InsertionPoint(op)
        asked = ir.Operation.create("tierup.forced", [truth], attributes={"index": op.attributes["index"]}, loc=op.location, ip=ip)
        kept = create(op, "torch.aten.__not__", [asked.results[0]], truth)
        return kept if stay is None else create(op, "torch.aten.__and__.bool", [kept, stay], truth)


def _check_function(func: ir.Operation, bailouts: list[ir.Operation]) -> None:
    seen: dict[int, ir.Operation] = {}
    for op in bailouts:
        if _index(op) in seen:
            raise PassFailure(op, f"has the index {_index(op)} of another bailout of the function", (seen[_index(op)], "the other one"))
        seen[_index(op)] = op
    if is_called(func):
        raise PassFailure(bailouts[0], "leaves a function that another one calls: tierup-inline comes before bailouts")


def _exit(bailout: ir.Operation, before: ir.Operation) -> None:
    attributes = {"index": bailout.attributes["index"]}
    ir.Operation.create("tierup.exit", [], list(bailout.operands), attributes, loc=bailout.location, ip=ir.InsertionPoint(before))


def _promise(func: ir.Operation) -> None:
    """What the function returns follows from its guards now: who is given something else is not the one that it returns to."""
    returned = last_of(func.regions[0].blocks[0])
    casts: list[ir.Operation] = []
    for i, value in enumerate(list(returned.operands)):
        while (made := maker(value, "torch.tensor_static_info_cast")) is not None and says_as_much(made.operands[0].type, value.type):
            if made not in casts:  # a value may be returned twice
                casts.append(made)
            value = made.operands[0]
        returned.operands[i] = value
    set_signature(func)
    for op in casts:
        if not is_used(op.results[0]):
            op.erase()


def _index(op: ir.Operation) -> int:
    return int(ir.IntegerAttr(op.attributes["index"]).value)
