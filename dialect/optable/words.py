"""What ops are called by who wrote NumPy: in events, `explain()` and verdicts on functions under `tierup.jit`."""

from __future__ import annotations

import re
from functools import cache
from types import ModuleType

import numpy as np

from tierup.dialect import optable

_OP = re.compile(r"\b(?:torch\.)?(?:aten|prims?|tierup)\.\w+(?:\.\w+)?")
_WORDS = {
    "select": "an index", "index": "an index", "slice": "a slice", "narrow": "a slice",
    "index_put": "a write at an index", "_unsafe_index_put": "a write at an index",
    "copy": "a copy", "clone": "a copy", "to": "a cast", "_to_copy": "a cast", "item": "a number taken out of an array",
    "sub": "np.subtract", "rsub": "np.subtract", "mul": "np.multiply", "div": "np.divide", "pow": "np.power", "neg": "np.negative",
    "remainder": "np.remainder", "bmm": "np.matmul", "mm": "np.matmul", "mv": "np.matmul", "cat": "np.concatenate",
    "amax": "np.max", "amin": "np.min", "view": "np.reshape", "unsqueeze": "np.expand_dims", "t": "np.transpose",
    "permute": "np.transpose", "numpy_T": "np.transpose", "expand": "np.broadcast_to", "eq": "np.equal", "ne": "np.not_equal",
    "lt": "np.less", "le": "np.less_equal", "gt": "np.greater", "ge": "np.greater_equal",
    "If": "an if", "Loop": "a loop", "ListConstruct": "a list", "TupleConstruct": "a tuple",
    "RaiseException": "a raise", "Uninitialized": "an array that one path has not",
}  # fmt: skip


@cache
def numpys_name(op: str) -> str:
    """`np.sort` of `tierup.sort`, `an index` of `aten.select.int`; the op's own name where NumPy has nothing like it."""
    row = optable.lookup(op)
    if row is not None and row.spelled:
        return row.spelled[0]
    named = getattr(row.numpy_function, "__name__", "") if row is not None else ""
    family, _, rest = op.removeprefix("torch.").partition(".")
    base = rest.partition(".")[0]
    if family == "tierup" and base.startswith("math_"):
        return f"math.{base.removeprefix('math_')}"
    for word in (named, base, base.rstrip("_")):
        if word in _WORDS:
            return _WORDS[word]
        of_linalg = word.removeprefix("linalg_")
        if of_linalg != word and hasattr(np.linalg, of_linalg):
            return f"np.linalg.{of_linalg}"
        if word and callable(getattr(np, word, None)) and not isinstance(getattr(np, word), ModuleType):
            return f"np.{word}"
    return op


def numpys_names(text: str) -> str:
    """A text for people in which ops are called as by who wrote NumPy."""
    return _OP.sub(lambda found: numpys_name(found[0]), text)
