"""A branch of which one arm raises for these types: the arm raises, and what it would have given is never had.

    %0 = torch.prim.If %c -> (!torch.vtensor) {               torch.prim.If %c -> () {
      %1 = torch.aten.add.Tensor %x3, %y4, %one : ...           torch.prim.RaiseException %message, %kind
      torch.prim.If.yield %1                                    torch.prim.If.yield
    } else {                                            =>    } else {
      %2 = torch.aten.tanh %x3 : ...                            torch.prim.If.yield
      torch.prim.If.yield %2                                  }
    }                                                         %2 = torch.aten.tanh %x3 : ...

So the other arm's types are the branch's, and a program is compiled though an arm that may never run could not. What the arm does before it
raises stays in it.
"""

from __future__ import annotations

from tierup.dialect.base.exceptions import name_of
from tierup.dialect.facts.inference.infer import InferenceError
from tierup.dialect.ir.attributes import constant
from tierup.dialect.ir.structure import if_, move_out, take_place, yield_
from tierup.dialect.mlir import ir


def stands_in_arm(error: InferenceError) -> bool:
    """Whether the op of an error stands in a branch, at whatever depth, which may not be taken, and it is the op that raises."""
    parent = error.op.parent
    while parent is not None and parent.name != "torch.prim.If":
        parent = parent.operation.parent
    return parent is not None and error.__cause__ is not None


def leave_out_arm(error: InferenceError) -> bool:
    """Rewrite the branch that the op of an error stands in; False where it stands in none, so that the program raises, or its loop does."""
    branch, arm = error.op.parent, error.op.block.region
    if branch is None or branch.name != "torch.prim.If" or error.__cause__ is None:  # without one it is a type in the IR that is wrong
        return False
    branch = branch.operation
    raising = next(i for i, region in enumerate(branch.regions) if region == arm)
    arm_ops = [view.operation for view in error.op.block.operations]
    before = arm_ops[: next(i for i, op in enumerate(arm_ops) if op == error.op)]
    _, *arms = if_(branch.operands[0], [], branch.location, ir.InsertionPoint(branch))
    for i, block in enumerate(arms):
        if i == raising:
            at = ir.InsertionPoint(block)
            for op in before:
                at.insert(op.detach_from_parent())
            words = [constant(text, at, error.op.location) for text in (str(error), name_of(error.__cause__))]
            ir.Operation.create("torch.prim.RaiseException", [], words, loc=error.op.location, ip=at)
        yield_(block)
    take_place(branch, move_out(branch.regions[1 - raising].blocks[0], branch))
    return True
