"""How a call's arguments get the names of a function's parameters."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from types import FunctionType
from typing import Any

from tierup.dialect.base.records import cached_property


def signature_of(function: Any) -> inspect.Signature:
    """The signature of a function, whatever it wraps and whatever `__signature__` it shows, neither of which its calls know of; without
    annotations: from Python 3.14 on, looking at them runs them, and they may name what is not there."""
    return inspect.signature(_bare(function) if isinstance(function, FunctionType) else function, follow_wrapped=False)


def _bare(function: FunctionType) -> FunctionType:
    """A function of the same code, of which nothing says that it is another."""
    bare = FunctionType(function.__code__, {}, function.__name__, function.__defaults__, function.__closure__)
    bare.__kwdefaults__, bare.__qualname__ = function.__kwdefaults__, function.__qualname__
    return bare


def refusal(function: FunctionType, positional: int, named: Iterable[str]) -> TypeError:
    """What Python raises for a call with so many arguments by position, and these by name, which its signature does not take."""
    try:
        _bare(function)(*[None] * positional, **dict.fromkeys(named))
    except TypeError as e:
        return TypeError(str(e))
    raise AssertionError(f"{function.__qualname__}() takes the call")


class Binding:
    """`wrapped`: the Python function behind it, whose `__defaults__` and `__kwdefaults__` are those of the moment of the call, as Python's
    own calls have it; None where there is none."""

    def __init__(self, name: str, signature: inspect.Signature, wrapped: Any = None) -> None:
        self._name, self._signature, self._wrapped = name, signature, wrapped
        plain = all(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in signature.parameters.values())
        self._positional = tuple(signature.parameters) if plain else None

    def renewed(self) -> Binding:
        """For the function as it is now, its code and parameters too."""
        signature = self._signature if self._wrapped is None else signature_of(self._wrapped)
        return Binding(self._name, signature, self._wrapped)

    @property
    def known(self) -> tuple[inspect.Signature, Any]:
        """The signature, and the function whose defaults hold; None where there is none, and the signature has them."""
        return self._signature, self._wrapped

    @property
    def is_positional(self) -> bool:
        """Whether all parameters can be given by position, and each takes one argument."""
        return self._positional is not None

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments by name, defaults filled in. Raises TypeError for a call that does not fit, as Python does."""
        if self._positional is not None and not kwargs and len(args) == len(self._positional):
            return dict(zip(self._positional, args, strict=True))
        binder, function = self._binder, self.known[1]
        if function is not None:
            binder.__defaults__, binder.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        bound: dict[str, Any] = binder(*args, **kwargs)
        return bound

    @cached_property
    def _binder(self) -> Any:
        """A function of the same parameters that gives its arguments by name: Python itself binds them, and says what does not fit."""
        each = self._signature.parameters.values()
        bare = [p.replace(annotation=p.empty, default=p.empty if p.default is p.empty else None) for p in each]
        text = inspect.Signature(bare)
        space: dict[str, Any] = {}
        exec(f"def binder{text}: return {{{', '.join(f'{p.name!r}: {p.name}' for p in each)}}}", space)  # noqa: S102 - names alone
        binder = space["binder"]
        binder.__qualname__ = getattr(self._wrapped, "__qualname__", self._name)
        given = [p for p in each if p.default is not p.empty]
        binder.__defaults__ = tuple(p.default for p in given if p.kind is not p.KEYWORD_ONLY)
        binder.__kwdefaults__ = {p.name: p.default for p in given if p.kind is p.KEYWORD_ONLY}
        return binder
