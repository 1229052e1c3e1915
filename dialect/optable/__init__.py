"""The op table: one row per op, gathered from the families. `lookup("aten.add.Tensor")` gives a row or None."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache
from importlib import import_module
from types import ModuleType

from tierup.dialect.optable.core import Kind, Op
from tierup.dialect.optable.define import DefinedOp

FAMILIES = (
    "pointwise.arithmetic", "pointwise.division", "pointwise.elementary", "pointwise.activations", "pointwise.gamma", "pointwise.selection",
    "pointwise.comparison", "pointwise.casts", "pointwise.complex_numbers",
    "scalars.factories", "scalars.ranges", "scalars.numbers", "scalars.comparisons", "scalars.bits", "scalars.libm", "scalars.script_math",
    "scalars.facts", "scalars.lists",
    "reductions.sums", "reductions.extremes", "reductions.statistics", "reductions.scans", "reductions.softmax", "reductions.normalisation",
    "reductions.channel_norms", "reductions.ordering",
    "formulas", "products", "linear_algebra",
    "windows.convolution", "windows.pooling", "windows.adaptive", "windows.resizing",
    "movement.views", "movement.permutations", "movement.broadcasts", "movement.parts", "movement.splits", "movement.joining",
    "movement.moving", "movement.padding",
    "indexing.by_tensors", "indexing.picking", "indexing.scatters", "indexing.scatter_reductions", "indexing.masks", "indexing.folds",
    "inplace",
)  # fmt: skip


@cache
def table() -> dict[str, Op]:
    """Every row by name. Raises ValueError when two families claim one op."""
    rows: dict[str, Op] = {}
    for family in FAMILIES:
        for op in rows_of(family):
            if op.name in rows:
                raise ValueError(f"two rows for {op.name}, the second in {family}")
            rows[op.name] = op
    return rows


def _rows(family: ModuleType) -> Iterable[Op]:
    """What a family defines, or lists as ROWS."""
    listed: Iterable[Op] | None = getattr(family, "ROWS", None)
    if listed is not None:
        return listed
    defined = dict.fromkeys(found for found in vars(family).values() if isinstance(found, DefinedOp) and found.defined_in(family.__name__))
    return [op for found in defined for op in found.overloads]


def rows_of(family: str) -> Iterable[Op]:
    """The ops of one family."""
    return _rows(import_module(f"tierup.dialect.ops.{family}"))


def of_kind(kind: Kind) -> list[Op]:
    """The ops of a kind, in the order of their definitions."""
    return [op for op in table().values() if op.kind is kind]


_foreign: dict[str, Op] = {}  # rows of ops that programs leave to somebody else


def add_foreign(row: Op) -> None:
    """A row for an op that tier 0 calls by another library; never in the place of one of ours."""
    _foreign[row.name] = row


def is_foreign(row: Op) -> bool:
    """Whether tier 0 calls an op by another library."""
    return _foreign.get(row.name) is row


def has_foreign(graph: str) -> bool:
    """Whether a graph has an op that this process knows and another may not."""
    return bool(_foreign) and not _foreign.keys().isdisjoint(word.removeprefix("torch.") for word in re.findall(r"[\w.]+", graph))


def foreign(but: Collection[Op] = ()) -> tuple[Op, ...]:
    """The rows that this process has for such ops, without some: another one that is given them knows the same."""
    left_out = set(map(id, but))
    return tuple(row for row in tuple(_foreign.values()) if id(row) not in left_out)


def lookup(name: str) -> Op | None:
    """The row of an op named with or without the `torch.` prefix; None when no part of tierup knows it."""
    name = name.removeprefix("torch.")
    return table().get(name) or _foreign.get(name)
