"""torch.compile sees calls of tierup's functions as calls of something foreign: a break in its graph, nothing of ours is traced.

Dynamo reads the bytecode of what is called, and would go through our executors as through a model's code. It may be told of a function
without being imported: by an attribute, and by a strategy for its code, with all that it calls.
"""

from __future__ import annotations

from functools import cache
from types import FunctionType
from typing import Any


@cache
def leave_alone(*functions: FunctionType) -> None:
    """Let torch.compile break its graph at calls of these, and run them and what they call as they are."""
    from torch._C._dynamo import eval_frame  # here: an optional package

    strategy = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.SKIP)
    for function in functions:
        known: Any = function
        known._torchdynamo_disable = True
        known._torchdynamo_disable_msg = "a function of tierup's"
        eval_frame.set_code_exec_strategy(function.__code__, strategy)
