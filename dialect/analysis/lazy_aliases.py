"""Alias questions asked while a function is rewritten: the analysis is made when first asked, and again once it is stale."""

from __future__ import annotations

from collections.abc import Iterable

from tierup.dialect.analysis.alias import AliasAnalysis
from tierup.dialect.analysis.points_to import LIST_WRITES, MADE_OF_OPERANDS, is_known
from tierup.dialect.mlir import ir
from tierup.dialect.optable.core import Aliasing
from tierup.dialect.optable.rows import row_of


class LazyAliases:
    """`forget` after making ops whose results are tensors or containers: their values are unknown, or stand where others stood."""

    def __init__(self, func: ir.Operation) -> None:
        self._func = func
        self._known: AliasAnalysis | None = None

    @property
    def now(self) -> AliasAnalysis:
        """The analysis of the function as it is."""
        if self._known is None:
            self._known = AliasAnalysis(self._func)
        return self._known

    def forget(self) -> None:
        """Drop the analysis: it is stale, and made again when next asked for."""
        self._known = None

    def may_become(self, old: ir.Value, new: ir.Value) -> bool:
        """Whether uses of `old` may become uses of `new`, an equal value that is perhaps another object. Who asks does it if so."""
        aliases = self.now
        if not aliases.is_safe_to_replace(old, new):
            return False
        if aliases.returned(old) or old.type != new.type:
            self.forget()  # `new` is returned now, or a cast of it
        return True

    def is_written(self, container: ir.Value) -> bool:
        """Whether anyone may change which items a container has. Writes to the tensors in it do not count."""
        if is_plain(container):
            return False
        writers = self.now.writers(container)
        return any(not is_known(op) or op.name == "func.call" or self._puts(op, container) for op in writers)

    def _puts(self, op: ir.Operation, container: ir.Value) -> bool:
        return op.name in LIST_WRITES and self.now.may_alias(op.operands[0], container)

    def are_written(self, values: Iterable[ir.Value]) -> bool:
        """Whether one of the values, or something in one, has writers."""
        return any(self.now.has_writers(v) for v in values)

    def may_change_size(self, tensor: ir.Value) -> bool:
        """Whether an op that nobody knows may give the tensor other sizes; in-place ops keep them."""
        return any(not is_known(op) for op in self.now.writers(tensor))


def is_plain(value: ir.Value) -> bool:
    """Whether a value of the op table's making is only read, by ops of the table that keep it nowhere, or returned: no second name
    for it exists while the function runs."""
    if isinstance(value.owner, ir.Block) or not _reads(value.owner.operation, makes=True):
        return False
    users = (use.owner.operation for use in value.uses)
    return all(user.name == "func.return" or _reads(user) for user in users)


def _reads(op: ir.Operation, makes: bool = False) -> bool:
    row = row_of(op)
    return row is not None and row.aliasing is Aliasing.FRESH and not row.acts and (makes or op.name not in MADE_OF_OPERANDS)
