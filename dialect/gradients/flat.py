"""Functions that are constant between their jumps: their gradient is zero, which is what None says. So is that of what is overwritten.

PyTorch refuses `heaviside` and `floor_divide`, whose gradients are as zero as those of its rounded divisions.
"""

from __future__ import annotations

from tierup.dialect.gradients.core import Backward, Gradients, Rules

RULES = Rules()


@RULES.vjp(
    "aten.floor(self)", "aten.ceil(self)", "aten.trunc(self)", "aten.fix(self)", "aten.round(self)", "aten.round.decimals(self, decimals)",
    "aten.sign(self)", "aten.sgn(self)", "aten.heaviside(self, values)", "aten.floor_divide(self, other)",
    "aten.floor_divide.Scalar(self, other)", "aten.zero(self)", "aten.fill.Scalar(self, value)",
)  # fmt: skip
def flat(g: Backward) -> Gradients:
    return None
