"""tierup-explicit-promotion where only ranks are known: shapes, dtypes and exceptions are NumPy's for whatever sizes and indices a run brings."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from graph_oracle import Runner, difference
from pointwise_samples import OPS
from promotion_cases import Case, as_text, described, runs
from sampling import drawn
from test_explicit_promotion import COMMON, OTHERS, POINTWISE, _common, _pointwise_cases

from tierup.dialect import optable
from tierup.dialect.language.text import parse_module
from tierup.dialect.passes.registry import parse

FEW = COMMON[1:3]


def _cases(op: str) -> list[Case]:
    """One of each rank and of each kind of dtype."""
    found = OTHERS.get(op) or [c for of in FEW for c in _pointwise_cases(op, (of,) * OPS[op].tensors)[:2]]
    kinds = {re.sub(r"[iu]\d+\[", "i[", described(c)): c for c in found if _common(c) and runs(op, c)}
    return list(kinds.values())[:8]


def _other_sizes(arrays: list[np.ndarray]) -> Iterator[list[np.ndarray]]:
    """The operands, then with one of them, or all of them, empty, of size 1 or larger along one axis; then with indices far out."""
    yield arrays
    for size in (0, 1, 4):
        for axis in range(max(a.ndim for a in arrays)):
            resized = [np.resize(a, [size if k == axis else n for k, n in enumerate(a.shape)]).astype(a.dtype) for a in arrays]
            yield resized
            yield from ([*arrays[:i], resized[i], *arrays[i + 1 :]] for i in range(len(arrays)))
    for i, a in enumerate(arrays):
        if i and a.dtype.kind in "iu":
            yield from ([*arrays[:i], np.full_like(a, far), *arrays[i + 1 :]] for far in (7, -7))


def _of_ranks(text: str) -> str:
    """A program whose arguments' types say their ranks and dtypes only."""
    head, function, body = text.partition("func.func")
    signature = function + body.partition("{")[0]
    for known in set(re.findall(r"!torch\.vtensor<\[[\d,]+\],\w+>", signature)):
        text = text.replace(known, re.sub(r"\d+(?=[,\]])", "?", known))
    return text


@pytest.mark.parametrize("op", [*OTHERS, *drawn("sizes", POINTWISE, 8)])
def test_whatever_sizes_and_indices_the_run_brings_numpys_shapes_and_exceptions_stay(op: str) -> None:
    for case in _cases(op):
        text, arrays = as_text(op, [case], optable.lookup(op).results)
        if not arrays:
            continue
        text = _of_ranks(text).replace("@main", "@f")
        module = parse_module(text)
        parse("func.func(tierup-infer-types,tierup-explicit-promotion,tierup-infer-types)").run(module)
        before, after = Runner(parse_module(text)), Runner(module)
        for operands in _other_sizes(arrays):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = difference(after.call(operands), before.call(operands), rounding=True, sharing=False)
            assert not found, f"{op}({described(case)}) of {[a.tolist() for a in operands]}: {found}\n{module}"
