"""How values cross the end of a region: which parts are static and the same on both paths, and which are SSA values of what kind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from tierup.dialect.base import dtypes
from tierup.dialect.base.records import dataclass
from tierup.dialect.mlir import ir
from tierup.frontend.python.building.emit import Emitter
from tierup.frontend.python.building.values import (
    VACANT,
    Array,
    Closure,
    Complex,
    Const,
    Container,
    DTypeOf,
    Given,
    Growing,
    Grown,
    IntList,
    Iterable_,
    Mapping_,
    Method,
    Object,
    OneOf,
    Reference,
    Scalar,
    Sequence,
    ShapeOf,
    Slice,
    Value,
    is_complex_number,
    is_number,
    is_numpy_scalar,
    number_kind,
    parts_of,
    parts_of_complex,
    tie,
)  # fmt: skip
from tierup.runtime.arguments.hidden import same_number


@dataclass(frozen=True)
class Same:
    """Static: the value itself, no SSA value."""

    value: Value


@dataclass(frozen=True)
class OneScalar:
    """A Python number of a kind: "int", "float" or "bool"."""

    kind: str


@dataclass(frozen=True)
class OneArray:
    """An array, and what is known of it without the run, as in `Array`."""

    rank: int | None
    min_rank: int
    dtype: np.dtype | None
    decays: bool | None  # None: a !torch.bool says so, behind the array
    detached: bool = False

    def __eq__(self, other: object) -> bool:  # None == float64 in NumPy
        return isinstance(other, OneArray) and (self.dtype is None) == (other.dtype is None) and vars(self) == vars(other)


@dataclass(frozen=True)
class OneOther:
    """A shape of unknown length (IntList) or a dtype (DTypeOf)."""

    make: Callable[[ir.Value], Value]


@dataclass(frozen=True)
class Structure:
    """A tuple, list or dict of others; `keys` of a dict, or the class of a named tuple. A OneOf ("either"), its tag first. A Slice. A
    Python complex number, of two floats. A Grown, of arrays; `keys` has its item. A Closure, of its values; `keys` has all else of it. A
    Reference, of its place; `keys` has the item. "whole" Given, of its fields; `keys` has the item, "rows" of others
    where it is a list."""

    kind: str
    items: tuple[Template, ...]
    keys: tuple[object, ...] = ()
    is_given: bool = False  # a list or dict that came in, and is no new one


@dataclass(frozen=True)
class NotSeen:
    """The items of lists to which nothing was appended yet: of those that are made there."""

    site: tuple[str, int, int]


Template = Same | OneScalar | OneArray | OneOther | Structure | NotSeen


def is_seen(item: Template) -> bool:
    """Whether it is known what all lists in an item of a list have."""
    if isinstance(item, Structure):
        inner = item.keys if item.kind == "reference" else item.items
        return all(map(is_seen, inner))  # type: ignore[arg-type]  # templates
    return not isinstance(item, NotSeen)


def says_more(item: Template, had: Template) -> bool:
    """Whether more is known of the items of a list than was: which they are, or that some are of another kind."""
    if isinstance(item, Structure) and isinstance(had, Structure) and item.kind == had.kind == "reference":
        return says_more(item.keys[0], had.keys[0])  # type: ignore[arg-type]  # templates
    return item != had and (not is_seen(had) or unify(had, item, choices=True) == item)


def reference_to(item: Template) -> Structure:
    """How a list in a heap crosses, by the template of its items."""
    return Structure("reference", (OneScalar("int"),), (item,))


def leaves(item: Template) -> Iterator[OneScalar | OneArray]:
    """The numbers of an item of a list that grows, in order. Raises LookupError for an item that no arrays hold."""
    if isinstance(item, Structure) and (item.kind in ("tuple", "complex") and not item.keys or item.kind in ("reference", "either")):
        for part in item.items:
            yield from leaves(part)
    elif isinstance(item, OneScalar) or isinstance(item, OneArray) and item.rank == 0 and item.decays and item.dtype is not None:
        yield item
    elif isinstance(item, NotSeen):  # nobody reads one, or writes
        yield OneScalar("int")
    else:
        raise LookupError


_DTYPES = {"int": np.dtype(np.int64), "float": np.dtype(np.float64), "bool": np.dtype(bool)}


def dtypes_of(item: Template) -> list[np.dtype]:
    """Those of an item's numbers, in order."""
    return [_DTYPES[leaf.kind] if isinstance(leaf, OneScalar) else leaf.dtype for leaf in leaves(item)]  # type: ignore[misc]  # known


def template_of(value: Value, *, generalise: bool = False) -> Template:
    """How one value crosses. `generalise`: as a loop carries it, numbers of any value."""
    inner = partial(template_of, generalise=generalise)
    if isinstance(value, Grown):
        return Structure("grown", tuple(map(inner, value.columns)), (value.item,))
    if isinstance(value, Scalar):
        return OneScalar(value.kind)
    if isinstance(value, Array):
        decays = value.decays if isinstance(value.decays, bool) else None
        return OneArray(value.rank, value.at_least, value.dtype, decays, bool(value.detached))
    if isinstance(value, (IntList, DTypeOf)):
        return OneOther(type(value))
    if isinstance(value, ShapeOf):
        if value.array.rank is None:
            return OneOther(IntList)
        return Structure("tuple", tuple(OneScalar("int") for _ in range(value.array.rank)))
    if isinstance(value, Sequence):
        return Structure(value.kind, tuple(map(inner, value.items)), value.keys, _is_given(value))
    if isinstance(value, Mapping_):
        return Structure("dict", tuple(map(inner, value.items.values())), tuple(value.items), _is_given(value))
    if isinstance(value, OneOf):
        return Structure("either", (OneScalar("int"), *map(inner, value.alternatives)))
    if isinstance(value, Closure):
        rest = (value.target, value.scope, value.access, value.itself)
        return Structure("function", tuple(map(inner, value.values.values())), (*rest, *value.values))
    if isinstance(value, Slice):
        return Structure("slice", tuple(map(inner, (value.start, value.stop, value.step))))
    if isinstance(value, Reference):
        return reference_to(value.item)
    if isinstance(value, Given):
        return Structure("whole", tuple(map(inner, (*value.buffers, value.begin, value.count))), (value.item,))
    if isinstance(value, Complex) or generalise and is_complex_number(value):
        return _COMPLEX
    if generalise and is_number(value):
        return OneScalar(number_kind(value))
    if generalise and is_numpy_scalar(value):
        return OneArray(0, 0, value.value.dtype, True)  # type: ignore[union-attr]  # a Const
    return Same(value)


_COMPLEX = Structure("complex", (OneScalar("float"), OneScalar("float")))


def _is_given(value: Container) -> bool:
    return any(one.external for one in (value, *value.perhaps))


def given_in(value: Value, template: Template) -> Iterator[Container]:
    """The lists and dicts in a value that are, by its template, what came in."""
    if isinstance(template, Structure) and isinstance(value, (Sequence, Mapping_)):
        if template.is_given and template.kind != "tuple":
            yield value
        for item, inner in zip(value.items.values() if isinstance(value, Mapping_) else value.items, template.items, strict=True):
            yield from given_in(item, inner)


def counterparts(a: Value, b: Value | None) -> Iterator[tuple[Container, Container]]:
    """The lists and dicts of two values of one structure, place by place."""
    if not isinstance(a, (Sequence, Mapping_)) or not isinstance(b, (Sequence, Mapping_)):
        return
    if isinstance(a, Mapping_) or a.kind == "list":
        yield a, b
    for one, other in zip(*(v.items.values() if isinstance(v, Mapping_) else v.items for v in (a, b)), strict=False):
        yield from counterparts(one, other)


def tie_to(value: Value, other: Value | None) -> None:
    """Note that the lists and dicts in a value may be those in the other."""
    for pair in counterparts(value, other):
        tie(pair)


def is_handed_over(value: Value) -> bool:
    """Whether a function can be given a value, or give it: not what holds SSA values of the function that made it elsewhere than in its
    template, as an iterator and an array's method do."""
    if isinstance(value, (Sequence, Mapping_, Closure)):
        return all(map(is_handed_over, parts_of(value)))
    return not isinstance(value, (Iterable_, Growing)) and (not isinstance(value, Method) or isinstance(value.owner, Object))


def is_vacant(template: Template) -> bool:
    """Whether a template is that of a name that has no value yet."""
    return isinstance(template, Same) and template.value is VACANT


def unify(a: Template, b: Template, *, choices: bool = False) -> Template | None:
    """What both fit; None when nothing does. `choices`: numbers and arrays fit what is one of them."""
    if is_vacant(a) or is_vacant(b):
        return b if is_vacant(a) else a
    if isinstance(a, Same) and isinstance(b, Same):
        return _unify_static(a, b)
    if isinstance(a, Same):
        a = template_of(a.value, generalise=True)
    if isinstance(b, Same):
        b = template_of(b.value, generalise=True)
    if isinstance(a, OneArray) and isinstance(b, OneArray):
        rank = a.rank if a.rank == b.rank else None
        dtype = a.dtype if a.dtype is not None and b.dtype is not None and a.dtype == b.dtype else None
        return OneArray(rank, min(a.min_rank, b.min_rank), dtype, _decay(a, b), bool(a.detached or b.detached))
    if isinstance(a, Structure) and isinstance(b, Structure):
        if a.kind != b.kind or len(a.items) != len(b.items) or a.keys != b.keys:
            return _choice(a, b) if choices else None
        is_choice = a.kind == "either"  # no alternative of one is a choice itself
        items = tuple(unify(x, y, choices=choices and not is_choice) for x, y in zip(a.items, b.items, strict=True))
        if any(i is None for i in items):
            return _choice(a, b) if choices and is_choice else None
        return Structure(a.kind, items, a.keys, a.is_given or b.is_given)  # type: ignore[arg-type]  # none is None
    return a if a == b else _choice(a, b) if choices else None


_MOST_CHOICES = 3


def _choice(a: Template, b: Template) -> Template | None:
    """What is a number of one kind or another, or an array; None where one of them is something else."""
    found: dict[str, Template] = {}
    for template in (t for side in (a, b) for t in (side.items[1:] if isinstance(side, Structure) and side.kind == "either" else [side])):
        kind = _kind(template)
        known = found.get(kind, template)
        both = unify(known, template)
        if not kind or both is None:
            return None
        found[kind] = both
    items = tuple(found[kind] for kind in _KINDS if kind in found)
    return Structure("either", (OneScalar("int"), *items)) if len(items) <= _MOST_CHOICES else None


_KINDS = ("bool", "int", "float", "complex", "array")


def _kind(template: Template) -> str:
    if template == _COMPLEX:
        return "complex"
    return template.kind if isinstance(template, OneScalar) else "array" if isinstance(template, OneArray) else ""


def _decay(a: OneArray, b: OneArray) -> bool | None:
    """Whether what comes of either is a scalar at rank 0. One that is never of rank 0 has no say."""
    said = {x.decays for x in (a, b) if x.min_rank == 0} or {a.decays is not False or b.decays is not False}
    return said.pop() if len(said) == 1 else None


def _unify_static(a: Same, b: Same) -> Template | None:
    if a.value is b.value:
        return a
    if isinstance(a.value, Const) and isinstance(b.value, Const):
        x, y = a.value.value, b.value.value
        if x is y or (type(x) is type(y) and isinstance(x, (bool, int, float, str, np.generic, np.dtype)) and same_number(x, y)):
            return a
        general = [template_of(v, generalise=True) for v in (a.value, b.value)]
        if not any(isinstance(g, Same) for g in general):
            return unify(*general)
    return None


def types_of(em: Emitter, template: Template) -> list[ir.Type]:
    """The types of the SSA values that stand for a value, in order."""
    if isinstance(template, Same):
        return []
    if isinstance(template, OneScalar):
        return [em.types.scalars[template.kind]]
    if isinstance(template, OneArray):
        return [em.types.tensor] if template.decays is not None else [em.types.tensor, em.types.bool]
    if isinstance(template, NotSeen):
        return [em.types.int]
    if isinstance(template, OneOther):
        return [em.types.int_list if template.make is IntList else em.types.int]
    return [t for item in template.items for t in types_of(em, item)]


def lower(em: Emitter, value: Value, template: Template) -> list[ir.Value]:
    """The SSA values that stand for `value` in a place of this template. May emit ops."""
    if isinstance(template, (Same, NotSeen)):
        return []
    if value is VACANT:
        return _dummies(em, template)
    if isinstance(template, OneScalar):
        return [scalar_ssa(em, value)]
    if isinstance(template, OneArray):
        if isinstance(value, Array):
            if template.decays is not None:
                return [value.ssa]
            return [value.ssa, em.bool(value.decays) if isinstance(value.decays, bool) else value.decays]
        constant = np.asarray(value.value)  # type: ignore[union-attr]  # a NumPy scalar
        dtype = dtypes.from_numpy(constant.dtype)
        assert dtype is not None
        return [em.literal(constant, dtype)] if template.decays is not None else [em.literal(constant, dtype), em.bool(True)]
    if isinstance(template, OneOther):
        if isinstance(value, ShapeOf):
            return [em.numpy("aten.size", [value.array.ssa], em.types.int_list)]
        return [value.ssa]  # type: ignore[union-attr]  # an IntList or a DTypeOf
    if isinstance(value, ShapeOf):
        return [em.numpy("aten.size.int", [value.array.ssa, em.int(i)], em.types.int) for i in range(len(template.items))]
    if template.kind == "either":
        return _of_choice(em, value, template)
    if isinstance(value, Slice):
        items = [value.start, value.stop, value.step]
    elif template.kind == "complex":
        items = [*parts_of_complex(value)]
    elif isinstance(value, Grown):
        items = [*value.columns]
    elif isinstance(value, Closure):
        items = [*value.values.values()]
    elif isinstance(value, Reference):
        items = [value.place]
    elif isinstance(value, Given):
        items = [*value.buffers, value.begin, value.count]
    else:
        items = list(value.items.values()) if isinstance(value, Mapping_) else value.items  # type: ignore[union-attr]  # else a Sequence
    return [s for item, t in zip(items, template.items, strict=True) for s in lower(em, item, t)]


def _of_choice(em: Emitter, value: Value, template: Structure) -> list[ir.Value]:
    """A value among those that it may be: which it is, and each, with dummies for the others."""
    given = value.alternatives if isinstance(value, OneOf) else (value,)
    alternatives = template.items[1:]
    kinds, own = [_kind(item) for item in alternatives], [_kind(template_of(v, generalise=True)) for v in given]
    by_kind = all(len(set(names)) == len(names) for names in (kinds, own)) and set(own) <= set(kinds)  # else paths' results
    at = [kinds.index(kind) for kind in own] if by_kind else list(range(len(given)))
    if not isinstance(value, OneOf):
        tag = em.int(at[0])
    elif at == list(range(len(given))):
        tag = scalar_ssa(em, value.tag)
    else:
        tag = em.int(at[0])
        for i, place in enumerate(at[1:], 1):
            is_it = em.scalar("aten.eq.int", [scalar_ssa(em, value.tag), em.int(i)], em.types.bool)
            step = em.scalar("aten.mul.int", [em.scalar("aten.Int.bool", [is_it], em.types.int), em.int(place - at[0])], em.types.int)
            tag = em.scalar("aten.add.int", [tag, step], em.types.int)
    items = [given[at.index(i)] if i in at else VACANT for i in range(len(alternatives))]
    return [tag, *(s for item, t in zip(items, alternatives, strict=True) for s in lower(em, item, t))]


def uninitialized(em: Emitter, type_: ir.Type) -> ir.Value:
    """What stands for a value that nobody reads."""
    return em.create("torch.prim.Uninitialized", [], [type_]).results[0]


def _empty(em: Emitter, template: Template) -> ir.Value:
    """An array of rank 1 without elements."""
    dtype = None if not isinstance(template, OneArray) or template.dtype is None else dtypes.from_numpy(template.dtype)
    if dtype is None:
        return uninitialized(em, em.types.tensor)
    return em.numpy("aten.zeros", [em.ints(0), em.int(dtype.code), em.none, em.none, em.none])


def _dummies(em: Emitter, template: Template) -> list[ir.Value]:
    """What stands for a value that nobody reads."""
    if isinstance(template, Structure):
        if template.kind == "grown":  # of arrays that have so many elements on the other path as only the run knows
            return [_empty(em, item) for item in template.items]
        return [s for item in template.items for s in lower(em, VACANT, item)]
    if isinstance(template, OneArray):
        array = uninitialized(em, em.types.tensor)
        return [array] if template.decays is not None else [array, em.bool(False)]
    if isinstance(template, OneScalar):
        return [em.constant({"int": 0, "float": 0.0, "bool": False}[template.kind])]
    return [em.ints() if template.make is IntList else em.int(0)]  # type: ignore[union-attr]  # a OneOther


def raise_(template: Template, ssa: Iterator[ir.Value], region: int, writes: int = -1) -> Value:
    """The value whose SSA values come next; lists belong to `region`. `writes`: as in `Array`."""
    if isinstance(template, Same):
        return template.value
    if isinstance(template, (OneScalar, NotSeen)):
        return Scalar(next(ssa), template.kind if isinstance(template, OneScalar) else "int")
    if isinstance(template, OneArray):
        array = next(ssa)
        decays = next(ssa) if template.decays is None else template.decays
        return Array(array, template.rank, template.min_rank, template.dtype, decays, template.detached, writes)
    if isinstance(template, OneOther):
        return template.make(next(ssa))
    items = [raise_(item, ssa, region, writes) for item in template.items]
    if template.kind == "either":
        return OneOf(items[0], tuple(items[1:]))
    if template.kind == "slice":
        return Slice(*items)
    if template.kind == "complex":
        return Complex(*items)
    if template.kind == "function":
        target, scope, access, itself, *names = template.keys
        return Closure(target, dict(zip(names, items, strict=True)), scope, access, itself)  # type: ignore[arg-type]  # names
    if template.kind == "reference":
        return Reference(template.keys[0], items[0])
    if template.kind == "whole":
        return Given(tuple(items[:-2]), template.keys[0], *items[-2:])  # type: ignore[arg-type]  # arrays
    if template.kind == "grown":
        return Grown(template.keys[0], tuple(items))  # type: ignore[arg-type]  # arrays
    if template.kind == "dict":
        return Mapping_(dict(zip(template.keys, items, strict=True)))
    return Sequence(template.kind, items, region, keys=template.keys)  # type: ignore[arg-type]  # a class


def scalar_ssa(em: Emitter, value: Value) -> ir.Value:
    """A Python number as !torch.int, !torch.float or !torch.bool."""
    if isinstance(value, Scalar):
        return value.ssa
    return em.constant(value.value)  # type: ignore[union-attr]  # a Const, by is_number


def general(template: Template) -> Template:
    """The template with what a loop must not rely on from the first iteration only: constants become values."""
    if isinstance(template, Same):
        return template_of(template.value, generalise=True)
    if isinstance(template, Structure):
        return replace(template, items=tuple(general(i) for i in template.items))
    return template
