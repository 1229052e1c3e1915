"""`tierup.value_and_grad` and `tierup.grad`: from a function to the function that gives its gradients."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, ParamSpec

from tierup.frontend.jit import function_from
from tierup.frontend.python.building import table
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.gradient_spec import GradientSpec, argument_numbers, function_of
from tierup.frontend.python.building.values import FALSE, ZERO, Closure, Const, Method, Sequence, Value
from tierup.runtime.functions.function import Function

if TYPE_CHECKING:
    from typing import Unpack

    from tierup.runtime.base.option_names import OptionChanges

P = ParamSpec("P")
Argnums = int | str | tuple[int | str, ...]


def value_and_grad(
    fn: Callable[P, Any], argnums: Argnums = 0, *, has_aux: bool = False, **options: Unpack[OptionChanges]
) -> Function[P, tuple[Any, Any]]:
    """A function of the same arguments that gives `(value, gradients)`: what `fn` gives, an array of rank 0, and its derivatives by some
    arguments.

    `argnums`: a parameter, by position or name, or a tuple of them; gradients are then a tuple. A parameter may be an array or a tree
    (tuple, list, dict) of arrays; its gradient is the same tree, each array of the sizes and dtype of the argument's. A Python float is
    a float64 of rank 0 in `fn`, and its gradient one too; None has the gradient None. Other arguments may be anything. Arrays of the
    enclosing scope and of `self` are constants. `has_aux`: `fn` returns `(value, aux)`, and the result is `((value, aux), gradients)`.
    `fn` is a Python function, a `tierup.jit` function, a method, or a function that this made. Options: see `tierup.options`. What is
    asked for again, of the same function, in the same way, is the function that was made before, with all that it has compiled.

    Raises TypeError for what is no such function, ValueError for a parameter that is not there. A call raises TypeError for an argument
    or value of integers or bools, ValueError for a value that is not of rank 0, NotDifferentiable, with the line, for an operation
    without a gradient and for a write to an argument.
    """
    made: Function[P, tuple[Any, Any]] = _gradient_function(fn, argnums, has_aux, True, options)
    return made


def grad(fn: Callable[P, Any], argnums: Argnums = 0, *, has_aux: bool = False, **options: Unpack[OptionChanges]) -> Function[P, Any]:
    """As `value_and_grad`, for the gradients alone; with `has_aux` the result is `(gradients, aux)`."""
    made: Function[P, Any] = _gradient_function(fn, argnums, has_aux, False, options)
    return made


def _gradient_function(fn: Any, argnums: Any, has_aux: bool, with_value: bool, options: Mapping[str, Any]) -> Any:
    function = fn.__func__ if isinstance(fn, MethodType) else fn
    target = getattr(function, "__tierup_function__", None) if isinstance(function, Function) else function
    if not isinstance(target, (FunctionType, GradientSpec)):
        name = "value_and_grad" if with_value else "grad"
        what = "a program in MLIR: tierup.vjp takes these" if isinstance(fn, Function) else type(fn).__name__
        raise TypeError(f"tierup.{name} takes a Python function or a tierup.jit function, not {what}")
    spec = _spec(target, argnums, has_aux, with_value, is_method=isinstance(fn, MethodType))
    made = _made(spec, {**(function.own_options if isinstance(function, Function) else {}), **options})
    return MethodType(made, fn.__self__) if isinstance(fn, MethodType) else made


class _Made(dict[Any, Function]):
    """What was made of a Python function, which keeps it. Of one that comes to another process it is made there."""

    def __reduce__(self) -> Any:
        return _Made, ()


def _made(spec: GradientSpec, options: dict[str, Any]) -> Function:
    """The one gradient function of a kind that a Python function has, and keeps."""
    kept = spec.function.__dict__.setdefault("__tierup_gradients__", _Made())
    key = spec, tuple(sorted((name, repr(value)) for name, value in options.items()))
    if key not in kept:
        kept.setdefault(key, function_from(spec, options))
    found: Function = kept[key]
    return found


def _spec(target: FunctionType | GradientSpec, argnums: Any, has_aux: bool, with_value: bool, *, is_method: bool) -> GradientSpec:
    numbers = argument_numbers(function_of(target), argnums, skip=int(is_method))
    return GradientSpec(target, numbers, isinstance(argnums, (tuple, list)), bool(has_aux), with_value)


# --- in a program --------------------------------------------------------------------------------------------------------


def _handler(with_value: bool) -> table.Handler:
    def handler(frame: Frame, node: ast.AST, fn: Value, argnums: Value = ZERO, has_aux: Value = FALSE) -> Value:
        """Python's own call, when the graph is built."""
        numbers, aux = _static(frame, node, argnums), table.constant(frame, node, has_aux, "`has_aux`")
        try:
            if isinstance(fn, Closure):
                return replace(fn, target=_spec(fn.target, numbers, aux, with_value, is_method=False))
            if isinstance(fn, Method) and fn.function is not None:
                return replace(fn, function=_spec(fn.function, numbers, aux, with_value, is_method=True))
            return Const(_gradient_function(table.constant(frame, node, fn, "`fn`"), numbers, aux, with_value, {}))
        except (TypeError, ValueError) as e:
            raise frame.error(node, f"this call of `tierup.{'value_and_grad' if with_value else 'grad'}`", str(e)) from e

    return handler


def _static(frame: Frame, node: ast.AST, argnums: Value) -> Any:
    if isinstance(argnums, Sequence):
        return tuple(table.constant(frame, node, v, "`argnums`") for v in argnums.items)
    return table.constant(frame, node, argnums, "`argnums`")


table.function(value_and_grad)(_handler(True))
table.function(grad)(_handler(False))
