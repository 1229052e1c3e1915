"""What the oracle does not ask, and why: the one table of skips. Patterns are those of fnmatch.

`ENTRIES`: whole entries. `CASES`: samples, entry/dtype/index. `TRACER`: what PyTorch's own tracer says of samples that it makes no program of.
`OPEN`: entries of which dtypes and sizes are compared, and not the values of the results named (all, where none is). `GRADIENTS`: samples
whose gradients are not asked. `SEEDED`: entries of which only the results named get a cotangent.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache

_COMPLEX = "complex numbers, which tierup has not"
_RANDOM = "random numbers: two runs differ"

ENTRIES: dict[str, str] = {
    "jiterator_*": "for GPUs alone",
    "cdouble": _COMPLEX,
    "cfloat": _COMPLEX,
    "chalf": _COMPLEX,
    "complex": _COMPLEX,
    "polar": _COMPLEX,
    "view_as_complex": _COMPLEX,
    "stft": _COMPLEX,
    "fft.*fft*": _COMPLEX,
    "linalg.eig": _COMPLEX,
    "linalg.eigvals": _COMPLEX,
    "to_sparse": "sparse tensors, which tierup has not",
    "sparse.*": "sparse tensors, which tierup has not",
    "cauchy": _RANDOM,
    "exponential": _RANDOM,
    "geometric": _RANDOM,
    "log_normal": _RANDOM,
    "normal*": _RANDOM,
    "uniform": _RANDOM,
    "rand*": _RANDOM,
    "multinomial": _RANDOM,
    "bernoulli": _RANDOM,
    "*dropout*": _RANDOM,
    "nn.functional.rrelu": _RANDOM,
    "nn.functional.fractional_max_pool*": _RANDOM,
    "nn.functional.multi_head_attention_forward": "random numbers: its samples drop out",
    "*_lowrank": _RANDOM,
    "as_strided.partial_views": "reads memory around its argument, which an array does not have",
    "resize_*": "changes the size of its argument's memory",
}

CASES: dict[str, str] = {
    "native_batch_norm/*": "in training it writes running statistics, which no schema says: of batch_norm, which programs have, this is asked",
}

KEYWORDS: dict[str, str] = {  # samples that have an operand of this name, and not 0 or False
    "dropout_p": _RANDOM,
}

TRACER: dict[str, str] = {
    "*We don't have an op for*": "PyTorch's tracer has no overload for numbers alone",
    "*did not have observable data dependence*": "PyTorch's tracer sees no tensor of the call in the result",
    "*Only tensors, lists, tuples of tensors*": "no tensor in the result",
    "*Tracing a list of arbitrary type*": "PyTorch's tracer takes no such list",
    "no tensor in the result": "no tensor in the result",
}

OPEN: dict[str, tuple[tuple[int, ...], str]] = {
    "empty*": ((), "memory as it is found"),
    "new_empty*": ((), "memory as it is found"),
    "topk": ((1,), "which of equal elements comes first is not defined"),
    "kthvalue": ((1,), "which of equal elements comes first is not defined"),
    "sort": ((1,), "which of equal elements comes first is not defined"),
    "argsort": ((0,), "which of equal elements comes first is not defined"),
}

GRADIENTS: dict[str, str] = {
    "topk/*": "which of equal elements comes first is not defined",
}

SEEDED: dict[str, tuple[tuple[int, ...], str]] = {
    "native_layer_norm": ((0,), "PyTorch drops what comes back through means and deviations"),
    "native_batch_norm": ((0,), "PyTorch drops what comes back through means and deviations"),
}


@cache
def entry(name: str) -> str | None:
    return next((why for pattern, why in ENTRIES.items() if fnmatchcase(name, pattern)), None)


def case(name: str) -> str | None:
    """Why a case is left out; None for one that is asked."""
    return entry(name.rsplit("/", 2)[0]) or next((why for pattern, why in CASES.items() if fnmatchcase(name, pattern)), None)


def keyword(kwargs: dict[str, object]) -> str | None:
    """Why a case with these operands is left out; None for one that is asked."""
    return next((why for name, why in KEYWORDS.items() if kwargs.get(name)), None)


def tracer(message: str) -> str | None:
    return next((why for pattern, why in TRACER.items() if fnmatchcase(message, pattern)), None)


def gradient(name: str) -> str | None:
    return next((why for pattern, why in GRADIENTS.items() if fnmatchcase(name, pattern)), None)


@cache
def is_seeded(name: str, result: int) -> bool:
    """Whether a result gets a cotangent."""
    return name not in SEEDED or result in SEEDED[name][0]


@cache
def is_open(name: str, result: int) -> bool:
    """Whether the values of a result are not compared."""
    return any(fnmatchcase(name, pattern) and (not which or result in which) for pattern, (which, _) in OPEN.items())
