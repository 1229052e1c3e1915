"""Whether native code did what tier 0 did, in one drawn call."""

from __future__ import annotations

from typing import Any

import numpy as np
from single_op import Failed, difference, flat, native, tier0

from tierup.dialect import optable
from tierup.dialect.optable.core import Kind
from tierup.lowering.base.errors import Unsupported

_EITHER_ZERO = ("max", "min", "clamp", "relu", "hardtanh", "hardsigmoid", "hardswish")  # of 0.0 and -0.0 NumPy's loops take the one or the other


def shown(op: str, operands: tuple[Any, ...]) -> str:
    return f"{op}({', '.join(map(_shown, operands))})"


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{list(value.shape)}{'' if value.flags.c_contiguous else ' strides ' + str(value.strides)}"
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else repr(value)


def check(op: str, operands: tuple[Any, ...], results: int | str, *, symbolic: bool) -> bool:
    """Raise AssertionError unless native code gives what tier 0 gives, or refuses. False when it refused to be compiled."""
    row = optable.lookup(op)
    assert row is not None, op
    what = shown(op, operands)
    before = [a.copy() for a in _arrays(operands)]
    try:
        with np.errstate(all="ignore"):
            expected = flat(tier0(op, operands))
    except (ValueError, IndexError, TypeError, ZeroDivisionError) as e:
        expected = [e]
    try:
        actual = native(op, operands, results, symbolic=symbolic)
    except (Unsupported, Failed) as refused:
        assert isinstance(expected[0], Exception) or isinstance(refused, Unsupported), f"{what}: {refused}, tier 0 gives {expected}"
        return isinstance(expected[0], Exception)
    except Exception as e:  # of inference, when the operands fit no run
        assert isinstance(expected[0], Exception), f"{what}: {e!r}"
        return True
    assert not isinstance(expected[0], Exception), f"{what}: {expected[0]!r} in tier 0 only"
    for a, e in zip(actual, expected, strict=True):
        if isinstance(e, np.ndarray) and e.dtype.kind in "fV" and any(name in op for name in _EITHER_ZERO):
            a, e = a + np.zeros((), a.dtype), e + np.zeros((), e.dtype)
        per_element = row.tolerance.per_element or float(row.kind is Kind.NORMALISATION)
        found = difference(a, e, row.tolerance.ulp, per_element, 100)
        assert found == "", f"{what}: {found}"
    for a, b in zip(_arrays(operands), before, strict=True):
        assert a.tobytes() == b.tobytes(), f"{what}: an operand was written"
    return True


def _arrays(operands: Any) -> list[np.ndarray]:
    found = []
    for value in operands:
        found += [value] if isinstance(value, np.ndarray) else _arrays(value) if isinstance(value, (list, tuple)) else []
    return found
