"""What a function returns, as flat results and the tree that says how they become the Python value again."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.mlir import ir
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python import heaps, lists_rewritten
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.gradient_spec import function_of
from tierup.frontend.python.building.source import parse
from tierup.frontend.python.building.templates import Structure, Template, leaves, scalar_ssa
from tierup.frontend.python.building.values import (
    Array,
    Closure,
    Complex,
    Const,
    DTypeOf,
    Given,
    Grown,
    Grows,
    Itself,
    Mapping_,
    OneOf,
    Reference,
    Scalar,
    Sequence,
    ShapeOf,
    Value,
    describe,
)
from tierup.frontend.python.operations import growing
from tierup.frontend.python.operations.arrays import own_of_scalars, shape_items
from tierup.runtime.arguments.trees import Output, OutputNode, OutputTree, OutputUnion

_RETURNABLE = (type(None), type(...), bool, int, float, complex, str, np.generic, np.dtype, type)


class Returned:
    """The results of one function, whose body gives `value` in `frame`."""

    def __init__(self, frame: Frame, value: Value | None) -> None:
        self.frame = frame
        self.containers: list[Value] = []  # lists and dicts: each may be returned once
        self.is_one_list = isinstance(value, Grows) and not growing.lists_in(growing.item_of(value))
        self.marks: dict[Template, Array] = {}  # of lists in heaps whether they are returned, by the items of the heaps
        self.copies: list[ir.Value] = []  # results of which NumPy has views
        self.owned: dict[ir.Value, ir.Value] = {}  # of views of NumPy scalars: arrays of their own

    def outputs(self, value: Value | None) -> tuple[list[ir.Value], OutputTree]:
        """The flat results of a value, or of a part of one, and how they become it; None is of a function that can only raise.

        Raises UnsupportedSyntax for what cannot be returned.
        """
        if isinstance(value, Const) and type(value.value) is tuple:  # folded: divmod(7, 2)
            value = Sequence("tuple", [Const(item) for item in value.value])
        if isinstance(value, ShapeOf):
            value = Sequence("tuple", shape_items(self.frame, None, value))
        if isinstance(value, Given):
            found = growing.itself(self.frame, value)
            if found is None:
                raise self._refused(f"a part of {describe(value)}", "return a copy of it: list(...)")
            value = found
        if isinstance(value, Grows):
            value = self._grown(value)
        match value:
            case None:
                return [], Output("const")
            case Array():
                return self._array(value)
            case Scalar():
                return [value.ssa], Output(value.kind)
            case Const(value=Itself() as itself):
                return [], Output("list", value=itself.index)
            case Const() if isinstance(value.value, _RETURNABLE):
                return [], Output("const", value=value.value)
            case DTypeOf():
                return [value.ssa], Output("dtype")
            case Grown():
                return self._strung(value.item, list(value.columns)), OutputNode("each", (growing.output(value.item),))
            case Complex():
                return self._together("complex", [value.real, value.imag])
            case OneOf():
                parts = [self.outputs(v) for v in value.alternatives]
                tag = scalar_ssa(self.frame.em, value.tag)
                return [tag, *(s for ssa, _ in parts for s in ssa)], OutputUnion(tuple(t for _, t in parts))
            case Mapping_():
                self._once(value)
                return self._together("dict", list(value.items.values()), tuple(value.items))
            case Sequence():
                if value.kind == "list":
                    self._once(value)
                return self._together(value.kind, value.items, value.keys)
        node = parse(function_of(value.target)).tree if isinstance(value, Closure) else None
        raise self._refused(describe(value), "return arrays, numbers, strings, and tuples, lists or dicts of them", node)

    def _refused(self, what: str, remedy: str, node: ast.AST | None = None) -> UnsupportedSyntax:
        return self.frame.error(node, f"returning {what}", remedy)

    def _array(self, value: Array) -> tuple[list[ir.Value], OutputTree]:
        if value.detached:
            if self.frame.source.handed_on:
                raise self.frame.error(None, "keeping a reversed view in a function that writes arrays", "write .copy() after it")
            self.copies.append(value.ssa)
        if value.ssa not in self.owned:
            self.owned[value.ssa] = own_of_scalars(self.frame, value).ssa
        own = self.owned[value.ssa]
        if isinstance(value.decays, bool):
            return [own], Output("array", value.decays)
        return [own, value.decays], OutputNode("scalar_if", (Output("array"), Output("bool")))

    def _together(self, kind: str, parts: list[Value], keys: tuple[object, ...] = ()) -> tuple[list[ir.Value], OutputTree]:
        """The results of what consists of parts."""
        results = [self.outputs(part) for part in parts]
        return [s for ssa, _ in results for s in ssa], OutputNode(kind, tuple(tree for _, tree in results), keys)

    def _once(self, value: Sequence | Mapping_) -> None:
        """Note a list or dict that is returned. Raises UnsupportedSyntax for one from outside, or one that was returned before."""
        alike = value.perhaps or [value]
        if any(one.external for one in alike):
            raise self._refused(f"{describe(value)} from outside, itself and no copy", "return a new one")
        if any(one is other for one in alike for other in self.containers):
            raise self._refused(f"{describe(value)} that is returned twice, itself and no copy", "return a new one")
        self.containers.append(value)

    def _grown(self, value: Grows) -> Grown:
        """A list that grows, as it is at the end. Raises UnsupportedSyntax for one that was returned before."""
        if any(value is other for other in self.containers):
            raise self._refused(f"{describe(value)} that is returned twice, itself and no copy", "return a new one")
        self.containers.append(value)
        if isinstance(value, Reference) and not self.is_one_list:
            em = self.frame.em
            sizes, code = em.ints(1), em.int(dtypes.i64.code)
            place = em.numpy("aten.full", [sizes, scalar_ssa(em, value.place), code, em.none, em.none, em.none])
            self._mark(value.item, Array(place, 1, dtype=np.dtype(np.int64), decays=False))
        return Grown(growing.item_of(value), tuple(growing.columns(self.frame, None, value)))

    def _mark(self, item: Template, places: Array) -> None:
        """Note lists of a heap that are returned. Python answers the call in the run where one of them was before."""
        frame, em = self.frame, self.frame.em
        if item not in self.marks:
            size = em.ints(frame.heap(item).most // heaps.LISTS)
            zeros = em.numpy("aten.zeros", [size, em.int(dtypes.bool_.code), em.none, em.none, em.none])
            self.marks[item] = Array(zeros, 1, dtype=np.dtype(bool), decays=False)
        frame.call_function(frame, frame.source.tree, lists_rewritten.found_once, [places, self.marks[item]], {})
        frame.outside.made_by_python = self._refused("several lists, in a function that writes its arguments", "use arrays")

    def _strung(self, item: Template, columns: list[Array]) -> list[ir.Value]:
        """The numbers of returned items by their places in one; of lists in them how many items each has, then the numbers of these."""
        if isinstance(item, Structure) and item.kind != "reference":
            rest = iter(columns)
            return [s for part in item.items for s in self._strung(part, [next(rest) for _ in leaves(part)])]
        [column] = columns
        if not isinstance(item, Structure):
            return [column.ssa]
        inner: Any = item.keys[0]
        heap = self.frame.heap(inner)
        self._mark(inner, column)
        call: Callable[..., Any] = partial(self.frame.call_function, self.frame, self.frame.source.tree)
        counts, total = call(lists_rewritten.counted, [column, heap.lists], {}).items
        numbers = [call(lists_rewritten.strung, [column, heap.lists, buffer, total], {}) for buffer in heap.buffers]
        return [counts.ssa, *self._strung(inner, numbers)]
