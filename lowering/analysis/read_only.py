"""Values that NumPy lets nobody write: views by np.broadcast_to and np.diagonal. Where the path decides whether a result is one, a check
leaves the paths on which it is to tier 0: `v = np.diagonal(x)`, then `if x.max() > 0: v = v * 2`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping

from tierup.dialect.analysis.showing import sources
from tierup.dialect.facts.inference.infer import Inference
from tierup.dialect.ir import torch_types
from tierup.dialect.ir.by_answers import answer
from tierup.dialect.ir.walking import Notes
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of
from tierup.dialect.passes.functional.views import is_read_only, perhaps_read_only
from tierup.dialect.speculation.exits import where_control_stayed
from tierup.lowering.analysis.own_memory import Paths, is_view
from tierup.lowering.analysis.views import Unknown, View, view_of
from tierup.lowering.building import builders as b


class ReadOnly:
    """Which values of a function are read-only. `roots`: its arguments; what is theirs is as they are, which each call tells."""

    def __init__(self, function: ir.Operation, inference: Inference, roots: Mapping[ir.Value, View]) -> None:
        self.inference, self._roots = inference, roots
        self._any = any(is_read_only(op) for op in b.walk(function))
        self._known: dict[ir.Value, bool] = Notes()
        self._paths = _Writable(self)

    def surely(self, value: ir.Value) -> bool:
        """Whether it is read-only, whatever the path."""
        return self._any and answer(value, self._known, self._steps)

    def perhaps(self, value: ir.Value) -> bool:
        """Whether some path makes it read-only."""
        return self._any and perhaps_read_only(where_control_stayed(value), self._shown)

    def ensure_writable(self, value: ir.Value) -> bool:
        """Whether no path makes it read-only, once the checks hold that this puts into the function."""
        return not self.perhaps(value) or self._paths.ensure(value)

    def _shown(self, op: ir.Operation) -> list[ir.Value]:
        """The operand whose memory an op shows; none where it makes memory of its own, or perhaps does."""
        row = row_of(op)
        if op.name == "torch.prim.ListUnpack":
            made = op.operands[0].owner
            return [] if isinstance(made, ir.Block) else self._shown(made.operation)
        if not is_view(op, row):
            if row is None or row.aliasing is not Aliasing.MAY_VIEW:
                return []
            sizes, _ = torch_types.parse_tensor(str(op.operands[0].type))
            if not (op.name == "torch.aten.reshape" and sizes is not None and len(sizes) < 2):  # of which NumPy copies none
                try:
                    if view_of(op.results[0], self._roots, self.inference) is None:
                        return []
                except Unknown:
                    return []
        return [where_control_stayed(op.operands[0])]

    def _steps(self, value: ir.Value) -> Generator[ir.Value, bool, bool]:
        value = where_control_stayed(value)
        if isinstance(value.owner, ir.Block):
            return False
        if is_read_only(value.owner.operation):
            return True
        found = list(sources(value, self._shown))
        for source in found:
            if not (yield source):
                return False
        return bool(found)


class _Writable(Paths):
    message = "a result is read-only on this path"

    def __init__(self, read_only: ReadOnly) -> None:
        super().__init__(read_only.inference)
        self._read_only = read_only

    def is_shared(self, value: ir.Value) -> bool:
        return self._read_only.surely(value)

    def is_settled(self, value: ir.Value) -> bool:
        return not self._read_only.perhaps(value)
