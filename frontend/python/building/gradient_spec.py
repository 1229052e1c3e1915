"""What a gradient function (`tierup.value_and_grad`, `tierup.grad`) is to a graph: whose gradients, with respect to what."""

from __future__ import annotations

from inspect import Parameter, signature
from types import FunctionType
from typing import Any

from tierup.dialect.base.records import dataclass
from tierup.dialect.base.spelling import place_of


@dataclass(frozen=True)
class GradientSpec:
    """A function's gradients.

    `target`: the function that is differentiated, itself maybe a gradient. `argnums`: positions (not negative) or names of
    parameters. `is_tuple`: the gradients are a tuple, one for each of `argnums`. `has_aux`: the function gives (value, anything).
    `with_value`: the result is (value, gradients), not the gradients alone.
    """

    target: Any  # a FunctionType, which mypy would take for a method, or a GradientSpec
    argnums: tuple[int | str, ...] = (0,)
    is_tuple: bool = False
    has_aux: bool = False
    with_value: bool = True

    @property
    def function(self) -> Any:
        """The user's function below all gradients, a FunctionType."""
        return function_of(self.target)

    @property
    def __name__(self) -> str:
        return f"{'value_and_grad' if self.with_value else 'grad'}({self.target.__name__})"

    def __str__(self) -> str:
        """With the function's place, for errors."""
        return f"{self.__name__} of {place_of(self.function.__code__)}"

    def places(self) -> list[tuple[str, int | None]]:
        """For each of `argnums` the parameter, and of `*args` which of the arguments in it."""
        return [_place(self.function, argnum) for argnum in self.argnums]


def function_of(target: FunctionType | GradientSpec) -> FunctionType:
    """The user's function that a target comes from."""
    found: FunctionType = target.function if isinstance(target, GradientSpec) else target
    return found


def _place(function: FunctionType, argnum: int | str) -> tuple[str, int | None]:
    if isinstance(argnum, str):
        return argnum, None
    parameters = list(signature(function, follow_wrapped=False).parameters.values())
    for i, parameter in enumerate(parameters[: argnum + 1]):
        if parameter.kind is Parameter.VAR_POSITIONAL:
            return parameter.name, argnum - i
    return parameters[argnum].name, None


def argument_numbers(function: FunctionType, argnums: object, skip: int = 0) -> tuple[int | str, ...]:
    """`argnums` as a GradientSpec has them, of parameters that do not count the first `skip`. Raises TypeError for other types;
    ValueError for a parameter that is not there, or twice."""
    given = argnums if isinstance(argnums, (tuple, list)) else (argnums,)
    parameters = dict(list(signature(function, follow_wrapped=False).parameters.items())[skip:])
    variadic = any(p.kind is Parameter.VAR_POSITIONAL for p in parameters.values())
    found: list[int | str] = []
    for argnum in given:
        if isinstance(argnum, bool) or not isinstance(argnum, (int, str)):
            raise TypeError(f"argnums are positions or names of parameters, or a tuple of them, not {argnum!r}")
        if isinstance(argnum, str):
            there = argnum in parameters
        else:
            there = -len(parameters) <= argnum < len(parameters) or (argnum >= 0 and variadic)
        if not there:
            has = ", ".join(parameters) or "none"
            raise ValueError(f"{function.__name__}() has no parameter {argnum!r} to differentiate by: it has {has}")
        if isinstance(argnum, int):
            argnum += skip + (len(parameters) if argnum < 0 else 0)
        found.append(argnum)
    places = [_place(function, argnum) for argnum in found]
    if len(set(places)) < len(places):
        raise ValueError(f"argnums names a parameter of {function.__name__}() twice: {argnums!r}")
    return tuple(found)
