"""`dataclass`, quicker to make, and `cached_property` without a lock: drop-ins in modules that a first call imports.

The standard library writes and compiles six methods for a frozen class, one by one: 1.2 ms of a start per class, and tierup has
hundreds. Here one is compiled, `__init__`; the others are shared or closures. The classes are dataclasses all the same: `fields`,
`replace`, `is_dataclass`, `field(...)`, class variables, `__post_init__`, inheritance, pickling and `__match_args__` work, and
equality, hash, repr and FrozenInstanceError are the standard library's. Ordering, slots, keyword-only and init-only fields are
not offered: TypeError. A class and its bases are all made here, or all there.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar, dataclass_transform, overload

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property:
        """As `functools.cached_property`, without the lock which Python 3.11 holds for all instances: a child of fork may find it held."""

        def __init__(self, function: Callable[[Any], Any]) -> None:
            self._function, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._function(instance)
            return value


C = TypeVar("C")
_MISSING = dataclasses.MISSING


@overload
@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(cls: type[C], /) -> type[C]: ...
@overload
@dataclass_transform(field_specifiers=(dataclasses.field,))
def dataclass(*, frozen: bool = False, eq: bool = True) -> Callable[[type[C]], type[C]]: ...
def dataclass(cls: type[C] | None = None, /, *, frozen: bool = False, eq: bool = True) -> Any:
    """As `dataclasses.dataclass`. Raises TypeError for what is not offered."""
    return (lambda c: _make(c, frozen, eq)) if cls is None else _make(cls, frozen, eq)


def _make(cls: type[C], frozen: bool, eq: bool) -> type[C]:
    if not cls.__doc__:
        cls.__doc__ = cls.__name__  # else dataclasses takes the signature for it, which costs as much as the rest
    own = cls.__dict__
    hash_given = own.get("__hash__", _MISSING) is not _MISSING and not (own["__hash__"] is None and "__eq__" in own)
    dataclasses.dataclass(init=False, repr=False, eq=False)(cls)
    made: Any = cls  # it is a dataclass now
    fields = dataclasses.fields(made)
    if len(fields) != sum(f._field_type is not dataclasses._FIELD_CLASSVAR for f in made.__dataclass_fields__.values()):  # type: ignore[attr-defined]  # the library's own
        raise TypeError(f"{cls.__name__}: init-only fields are not offered here")
    if any(f.kw_only for f in fields):
        raise TypeError(f"{cls.__name__}: keyword-only fields are not offered here")
    if "__init__" not in own:
        _set(cls, __init__=_initialiser(cls, fields, frozen))
    if "__repr__" not in own:
        _set(cls, __repr__=_representer(tuple(f.name for f in fields if f.repr)))
    if eq:
        compared = tuple(f.name for f in fields if f.compare)
        if "__eq__" not in own:
            _set(cls, __eq__=_equality(_getter(compared)))
        if not hash_given:
            hashed = tuple(f.name for f in fields if (f.compare if f.hash is None else f.hash))
            _set(cls, __hash__=_hasher(_getter(hashed)) if frozen else None)
    if frozen:
        _set(cls, **_frozen(cls, frozenset(f.name for f in fields)))
    return cls


def _set(cls: type, **methods: Any) -> None:
    for name, method in methods.items():
        setattr(cls, name, method)


def _initialiser(cls: type, fields: tuple[dataclasses.Field[Any], ...], frozen: bool) -> Callable[..., None]:
    scope: dict[str, Any] = {"_MISSING": _MISSING, "_set": object.__setattr__}
    parameters, body = ["self"], []
    last_default = ""
    for f in fields:
        value = f.name
        if f.default_factory is not _MISSING:
            scope[f"_make_{f.name}"] = f.default_factory
            value = f"_make_{f.name}() if {f.name} is _MISSING else {f.name}" if f.init else f"_make_{f.name}()"
            parameter = f"{f.name}=_MISSING"
        elif f.default is not _MISSING:
            scope[f"_default_{f.name}"] = f.default
            parameter = f"{f.name}=_default_{f.name}"
        else:
            parameter = f.name
            if f.init and last_default:
                raise TypeError(f"non-default argument {f.name!r} follows default argument {last_default!r}")
        if f.init:
            parameters.append(parameter)
            last_default = last_default if parameter == f.name else f.name
        elif f.default_factory is _MISSING:
            continue  # the class attribute is its value, if it has one
        body.append(f"_set(self, {f.name!r}, {value})" if frozen else f"self.{f.name} = {value}")
    if hasattr(cls, "__post_init__"):
        body.append("self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n " + "\n ".join(body or ["pass"]), scope)
    made: Callable[..., None] = scope["__init__"]
    made.__qualname__, made.__module__ = f"{cls.__qualname__}.__init__", cls.__module__
    made.__annotations__ = {**{f.name: f.type for f in fields if f.init}, "return": None}
    return made


def _getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if not names:
        return lambda self: ()
    if len(names) == 1:
        one = attrgetter(names[0])
        return lambda self: (one(self),)
    return attrgetter(*names)


def _equality(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any, object], bool]:
    def __eq__(self: Any, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hasher(values: Callable[[Any], tuple[Any, ...]]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:
        return hash(values(self))

    return __hash__


def _representer(names: tuple[str, ...]) -> Callable[[Any], str]:
    @reprlib.recursive_repr()
    def __repr__(self: Any) -> str:
        return f"{self.__class__.__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    return __repr__


def _frozen(cls: Any, names: frozenset[str]) -> dict[str, Callable[..., None]]:
    def __setattr__(self: Any, name: str, value: object) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in names:
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return {"__setattr__": __setattr__, "__delattr__": __delattr__}
