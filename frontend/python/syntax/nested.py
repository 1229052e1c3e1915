"""Functions that the body of a function makes, by `def` and `lambda`, and calls of them.

    def f(x, k):                             func.func private @scaled_0(%t, %k)
        def scaled(t):
            return t * k                     %1 = call @scaled_0(%x, %k)
        k = k + 1                            %2 = add %k, 1
        return scaled(x) - scaled(k)         ...

Each is a private function, as a helper of the user's is; the names around it that it reads are further arguments. It reads them when it is
called, as in Python. Where it goes to another function, or out of the one that made it, it takes their values along, since none of those
that are translated binds a name of another (`nonlocal`).
"""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Collection
from types import CellType, FunctionType

from tierup.frontend.python.building.branch import each
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.gradient_spec import function_of
from tierup.frontend.python.building.parameters import captured
from tierup.frontend.python.building.source import compiled, definition, given_source
from tierup.frontend.python.building.values import Closure, Mapping_, Sequence, Value, parts_of
from tierup.frontend.python.flow.names import own_nodes

_ANNOTATIONS = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant, ast.BinOp, ast.BitOr, ast.expr_context)


def made(frame: Frame, node: ast.FunctionDef | ast.Lambda, defaults: dict[str, Value]) -> Closure:
    """The function of a definition in the body. Raises UnsupportedSyntax for one that is not translated."""
    if node not in frame.functions:
        frame.functions[node] = _function(frame, node)
    return Closure(frame.functions[node], defaults, frame, frame.access)


def parameters_with_defaults(node: ast.FunctionDef | ast.Lambda) -> list[tuple[str, ast.expr]]:
    """The parameters that have a default, in the order in which Python evaluates these."""
    args = node.args
    positional = [*args.posonlyargs, *args.args]
    of_keywords = [(a.arg, d) for a, d in zip(args.kwonlyargs, args.kw_defaults, strict=True) if d is not None]
    return [*((a.arg, d) for a, d in zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True)), *of_keywords]


def call(frame: Frame, node: ast.AST, callee: Closure, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A call of one: with each value that a name may have which it reads, where the run decides of what kind that is."""
    callee = captured(frame, node, callee)  # type: ignore[assignment]  # one as well
    names = list(callee.values)

    def with_(*values: Value) -> Value:
        closure = Closure(callee.target, dict(zip(names, values, strict=True)), None, callee.access, callee.itself)
        return frame.call_function(frame, node, callee.target, args, kwargs, callee.access, closure)

    return each(frame, node, list(callee.values.values()), with_)


def kept(frame: Frame, node: ast.AST, value: Value, comprehensions: Collection[object]) -> Value:
    """A value that is there when the names of comprehensions have other values, or none. Raises UnsupportedSyntax for a function in it that
    reads one."""
    if isinstance(value, Closure) and value.scope is frame:
        around, read = definition(function_of(value.target)).around, function_of(value.target).__code__.co_freevars
        if any(around.get(name) in comprehensions for name in read if name not in value.values):
            what = "a function inside that is kept, and reads a name of the comprehension around it"
            raise frame.error(node, what, "give it a parameter with that as default")
    if isinstance(value, (Sequence, Mapping_, Closure)):
        for part in parts_of(value):
            kept(frame, node, part, comprehensions)
    return value


def _function(frame: Frame, node: ast.FunctionDef | ast.Lambda) -> FunctionType:
    _refuse(frame, node)
    outermost = frame.source.outermost
    around = {**frame.source.around, **dict.fromkeys(frame.locals, frame.token), **frame.comprehended}
    function = compiled(node, outermost, {name: CellType() for name in around})
    if function.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR):
        raise frame.error(node, "a generator inside the function", "return a tuple or list")
    function.__qualname__ = f"{frame.source.function.__qualname__}.<locals>.{function.__name__}"
    function.__defaults__ = (None,) * len(node.args.defaults)  # the closure has the values
    function.__kwdefaults__ = {a.arg: None for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None}
    given_source(function, node, around=around, inside=outermost)
    return function


def _refuse(frame: Frame, node: ast.FunctionDef | ast.Lambda) -> None:
    """Raises UnsupportedSyntax for what stays Python."""
    if isinstance(node, ast.Lambda):
        return
    what = f"the function `{node.name}` inside the function"
    if node.decorator_list:
        raise frame.error(node, f"{what}, with a decorator", "define it outside")
    for inner in own_nodes(node):
        if isinstance(inner, (ast.Global, ast.Nonlocal)):
            raise frame.error(inner, f"{what}, with `{type(inner).__name__.lower()}`", "return the new value")
    parameters = (a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg))
    for annotation in (*parameters, node.returns):
        for part in ast.walk(annotation) if annotation is not None else ():
            if not isinstance(part, _ANNOTATIONS) or isinstance(part, ast.Name) and not _is_there(frame, part.id):
                raise frame.error(annotation, f"{what}, with an annotation that may do something", "leave it out")


def _is_there(frame: Frame, name: str) -> bool:
    function = frame.source.outermost
    return name in frame.env or name in function.__globals__ or hasattr(builtins, name) or name in function.__code__.co_freevars
