"""What counts as a difference between a generated program and plain Python."""

import numpy as np
from arguments import Call
from checking import Outcome, difference, may_be_rounding

SOURCE = "def f():\n    return np.arctan2({}, np.full(3, -1.0))\n"
CALL = Call({}, 0, {}, {}, None, False, 1)


def _gives(value):
    return Outcome(np.full(3, value), None, [])


def test_which_zero_a_maximum_gives_is_not_compared():
    zero = "np.maximum(np.zeros(3), -np.zeros(3))"
    assert may_be_rounding(SOURCE.format(zero), [], CALL, _gives(np.pi)) and may_be_rounding(SOURCE.format(zero), [], CALL, _gives(-np.pi))
    assert not may_be_rounding(SOURCE.format("-np.zeros(3)"), [], CALL, _gives(np.pi))


def test_a_module_is_a_result_as_any_other():
    assert not difference(Outcome(np, None, []), Outcome(np, None, []))
