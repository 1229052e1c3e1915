"""What the dispatcher does before it looks at versions: what it reads, and what must hold, in order."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tierup.lowering.entry.layout import READ_ONLY, StepKind
from tierup.lowering.entry.records import (
    AttributeSource,
    CellSource,
    Columns,
    ColumnSource,
    Constant,
    GlobalSource,
    Inputs,
    Items,
    ItemSource,
    ListBack,
    Positional,
    ScalarSource,
    Source,
    SubscriptSource,
)

_Step = tuple[int, int, int, int, int, int]  # the fields of layout.Step
_OF_COLUMNS: dict[type | None, StepKind] = {None: StepKind.NUMBERS, list: StepKind.ROWS, tuple: StepKind.PLACES}
_KINDS: dict[type, StepKind] = {tuple: StepKind.TUPLE, list: StepKind.LIST, dict: StepKind.DICT}


def _types_of(columns: Columns) -> list[object]:
    return [part for of in columns.types for part in (of, np.dtype(of))]


def pointers(objects: Sequence[object]) -> Any:
    """An array of pointers to objects, which must be kept."""
    return (ctypes.c_int64 * max(1, len(objects)))(*map(id, objects))


class Steps:
    """`taken`: what must hold first, each thing read where it is first asked for, and once. `flat`: the slots of the flat arguments."""

    def __init__(self, inputs: Inputs) -> None:
        self._keep: list[object] = [inputs]
        self.taken: list[_Step] = []
        self.n_slots = inputs.n_positional
        self._known: dict[object, int] = {}
        for constant in inputs.constants:
            if isinstance(constant, Items):
                self._open(constant)
            else:
                self._hold(constant)
        self.flat = [self._slot(source) for source in inputs.sources]
        self.lists: list[tuple[int, int, int, int]] = []  # the fields of layout.ListRecord
        self._keep_apart(inputs.lists)

    def _hold(self, constant: Constant) -> None:
        slot = self._slot(constant.source)
        if constant.same is not None:
            self.taken.append((StepKind.SAME, slot, self._slot(constant.same), 0, 0, 0))
        else:
            kind = StepKind.TYPE if constant.is_type else StepKind.EQUAL
            self.taken.append((kind, slot, 0, 0, id(constant.value), 0))

    def _slot(self, source: Source) -> int:
        match source:
            case Positional(index):
                return index
            case ItemSource(items, index):
                return self._open(items) + index
            case ScalarSource(of):
                return self._read(StepKind.SCALAR, self._slot(of))
            case ColumnSource(columns, index):
                return self._columns(columns) + index
            case GlobalSource(namespace, name, behind):
                if behind is not None:
                    self._read(StepKind.ABSENT, obj=behind, name=name, count=0)
                return self._read(StepKind.GLOBAL, obj=namespace, name=name)
            case CellSource(cell):
                return self._read(StepKind.CELL, obj=cell)
            case AttributeSource(of, name):
                return self._read(StepKind.ATTRIBUTE, self._slot(of), name=name)
            case SubscriptSource(of, key):
                slot = self._slot(of)
                return self._take((StepKind.SUBSCRIPT, slot, id(key)), StepKind.SUBSCRIPT, slot, 1, 0, id(key))
        raise TypeError(f"not a source of an argument: {source!r}")

    def _open(self, items: Items) -> int:
        slot, kind = self._slot(items.of), _KINDS[items.kind]
        keys = pointers(items.keys)
        self._keep.append(keys)
        return self._take((kind, slot, items.keys), kind, slot, len(items.keys), ctypes.addressof(keys))

    def _columns(self, columns: Columns) -> int:
        slot, kind = self._slot(columns.of), _OF_COLUMNS[columns.holds]
        pairs = pointers(made := _types_of(columns))
        self._keep += [pairs, made]
        return self._take((kind, slot, columns.types), kind, slot, len(columns.types), ctypes.addressof(pairs))

    def _keep_apart(self, lists: Sequence[ListBack]) -> None:
        """Let no two of them be one, where one changes. Behind the flat arguments stand the lists themselves."""
        slots = [self._slot(each.columns.of) for each in lists]
        has_rows = [each.columns.holds is list for each in lists]
        if any(each.changes for each in lists) and (len(lists) > 1 or any(has_rows)):
            which = (ctypes.c_int64 * (2 * len(lists)))(*(part for pair in zip(slots, has_rows, strict=True) for part in pair))
            self._keep.append(which)
            self.taken.append((StepKind.APART, 0, 0, len(lists), ctypes.addressof(which), 0))
        for each in lists:
            pairs = pointers(made := _types_of(each.columns))
            self._keep += [pairs, made]
            kind = _OF_COLUMNS[each.columns.holds] if each.changes else READ_ONLY
            self.lists.append((kind, each.first, len(each.columns.types), ctypes.addressof(pairs)))
        self.flat += slots

    def _read(self, kind: StepKind, slot: int = 0, obj: object = None, name: str = "", count: int = 1) -> int:
        interned = sys.intern(name)
        self._keep.append(interned)
        return self._take((kind, slot, id(obj), name), kind, slot, count, id(obj), id(interned))

    def _take(self, known: object, kind: StepKind, slot: int, count: int, obj: int, name: int = 0) -> int:
        """The first slot that a step fills; it is taken once."""
        if known not in self._known:
            self._known[known] = self.n_slots
            self.taken.append((kind, slot, self.n_slots, count, obj, name))
            self.n_slots += count
        return self._known[known]
