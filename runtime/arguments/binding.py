"""How a call's arguments get the names of a function's parameters."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

_NOT_POSITIONAL = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Binding:
    """`wrapped`: the Python function behind it, whose `__defaults__` and `__kwdefaults__` are those of the moment of the call, as Python's
    own calls have it; None where there is none."""

    def __init__(self, name: str, signature: inspect.Signature, wrapped: object = None) -> None:
        self._name, self._signature, self._wrapped = name, signature, wrapped
        self._defaults = _defaults_of(wrapped)
        plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in signature.parameters.values())
        self._positional = tuple(signature.parameters) if plain else None

    def renewed(self) -> Binding:
        """For the function as it is now, its code and parameters too."""
        signature = self._signature if self._wrapped is None else _signature_of(self._wrapped)
        return Binding(self._name, signature, self._wrapped)

    @property
    def is_positional(self) -> bool:
        """Whether all parameters can be given by position, and each takes one argument."""
        return not any(kind in (p.kind for p in self._signature.parameters.values()) for kind in _NOT_POSITIONAL)

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name, defaults filled in. Raises TypeError for a call that does not fit, as Python does."""
        if self._positional is not None and not kwargs and len(args) == len(self._positional):
            return dict(zip(self._positional, args, strict=True))
        signature = self._current()
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as e:
            raise TypeError(f"{self._name}{signature}: {e}") from None
        bound.apply_defaults()
        return bound.arguments

    def _current(self) -> inspect.Signature:
        """The signature with the defaults of now: a tuple may have been assigned, or a dict changed in place."""
        now = _defaults_of(self._wrapped)
        if len(now) != len(self._defaults) or any(a is not b for a, b in zip(now, self._defaults, strict=True)):
            self._signature = _signature_of(self._wrapped)
            self._defaults = now
        return self._signature


def _signature_of(function: Any) -> inspect.Signature:
    """That of its own code, also where functools.wraps says it wraps another."""
    return inspect.signature(function, follow_wrapped=False)


def _defaults_of(wrapped: object) -> tuple[object, ...]:
    """The objects whose identity says whether defaults are still the same."""
    named = getattr(wrapped, "__kwdefaults__", None) or {}
    return (getattr(wrapped, "__defaults__", None), *named, *named.values())
