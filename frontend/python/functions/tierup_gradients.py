"""`tierup.stop_gradient` in a decorated function. (`value_and_grad` and `grad` are in frontend/gradients.py.)"""

from __future__ import annotations

import ast
from dataclasses import replace

from tierup.frontend import stopping
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.table import function
from tierup.frontend.python.building.values import Array, Mapping_, Sequence, Value


@function(stopping.stop_gradient)
def stop_gradient(frame: Frame, node: ast.AST, x: Value) -> Value:
    if isinstance(x, Array):
        return replace(x, ssa=frame.em.torch("aten.detach", [x.ssa])[0])
    if isinstance(x, Sequence):
        return replace(x, items=[stop_gradient(frame, node, item) for item in x.items])
    if isinstance(x, Mapping_):
        return replace(x, items={key: stop_gradient(frame, node, item) for key, item in x.items.items()})
    return x
