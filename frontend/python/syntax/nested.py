"""Functions that the body of a function makes, by `def` and `lambda`, and calls of them.

    def f(x, k):                             func.func private @scaled_0(%t, %k)
        def scaled(t):
            return t * k                     %1 = call @scaled_0(%x, %k)
        k = k + 1                            %2 = add %k, 1
        return scaled(x) - scaled(k)         ...

Each is a private function, as a helper of the user's is; the names around it that it reads are further arguments. It reads them when it is
called, as in Python, and gives what it binds of them (`nonlocal`) behind its result. Where it goes to another function, or out of the one
that made it, it takes their values along: there none is called that binds one.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
from collections.abc import Collection
from types import CellType, FunctionType
from typing import Any

from tierup.frontend.python.building.branch import each
from tierup.frontend.python.building.frame import Frame
from tierup.frontend.python.building.gradient_spec import function_of
from tierup.frontend.python.building.parameters import captured
from tierup.frontend.python.building.source import compiled, definition, given_source
from tierup.frontend.python.building.values import Closure, Mapping_, Sequence, Value, parts_of
from tierup.frontend.python.flow.names import own_nodes
from tierup.frontend.python.flow.parts import SCOPES, placed

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
    source = definition(function_of(callee.target))
    rebinds, around = source.rebinds, source.around
    is_here = callee.scope is frame and all(around.get(name) is frame.token for name in rebinds)  # and no names of one that has returned
    callee = captured(frame, node, callee)  # type: ignore[assignment]  # one as well
    names = list(callee.values)
    if rebinds:
        _check_rebinding(frame, node, callee, rebinds, [*args, *kwargs.values()], is_here=is_here)

    def with_(*values: Value) -> Value:
        closure = Closure(callee.target, dict(zip(names, values, strict=True)), None, callee.access, callee.itself)
        return frame.call_function(frame, node, callee.target, args, kwargs, callee.access, closure)

    result = each(frame, node, list(callee.values.values()), with_)
    if not rebinds:
        return result
    if not isinstance(result, Sequence):
        what = f"what `{function_of(callee.target).__name__}` gives, of a kind that only the run knows,"
        raise frame.error(node, f"{what} and `nonlocal`", "give one kind of value")
    result, *values = result.items
    frame.env.update(zip(rebinds, values, strict=True))
    return result


def _check_rebinding(frame: Frame, node: ast.AST, callee: Closure, rebinds: tuple[str, ...], args: list[Value], *, is_here: bool) -> None:
    """Raises UnsupportedSyntax for a call of a function that binds names around it, where another function would not see that."""
    what = f"`{function_of(callee.target).__name__}`, which has `nonlocal`,"
    if not is_here or not isinstance(callee.target, FunctionType):
        raise frame.error(node, f"{what} called by another function", "call it in the function that makes it")
    if any(name not in callee.values or name in frame.comprehended for name in rebinds):
        raise frame.error(node, f"{what} of a name that has no value yet", "give it one before the call")
    if any(_reads_any(value, rebinds) for value in (*callee.values.values(), *args)):
        raise frame.error(node, f"{what} beside another function that reads the name", "pass the value as an argument")


def _reads_any(value: Value, names: tuple[str, ...]) -> bool:
    """Whether there is a function in a value that reads one of these names around it."""
    if isinstance(value, Closure) and not set(names).isdisjoint(function_of(value.target).__code__.co_freevars):
        return True
    return isinstance(value, (Sequence, Mapping_, Closure)) and any(_reads_any(part, names) for part in parts_of(value))


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
    tree, rebinds = _with_rebound(node) if isinstance(node, ast.FunctionDef) else (node, ())
    function.__qualname__ = f"{frame.source.function.__qualname__}.<locals>.{function.__name__}"
    function.__defaults__ = (None,) * len(node.args.defaults)  # the closure has the values
    function.__kwdefaults__ = {a.arg: None for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None}
    given_source(function, tree, around=around, inside=outermost, rebinds=rebinds)
    return function


def _with_rebound(node: ast.FunctionDef) -> tuple[ast.FunctionDef, tuple[str, ...]]:
    """A function with `nonlocal` as one that gives these names behind its result, and the names.

    def push(v):                     def push(v):
        nonlocal n                       n += 1
        n += 1               ->          return v * n, n
        return v * n                     return None, n
    """
    names = tuple(dict.fromkeys(name for n in own_nodes(node) if isinstance(n, ast.Nonlocal) for name in n.names))
    if not names:
        return node, ()

    class Giving(ast.NodeTransformer):
        def visit(self, inner: ast.AST) -> Any:
            if isinstance(inner, ast.Nonlocal):
                return ast.copy_location(ast.Pass(), inner)
            if isinstance(inner, ast.Return):
                return ast.copy_location(ast.Return(given(inner.value or ast.Constant(None))), inner)
            return inner if isinstance(inner, SCOPES) else self.generic_visit(inner)

    def given(value: ast.expr) -> ast.expr:
        return ast.Tuple([value, *(ast.Name(name, ast.Load()) for name in names)], ast.Load())

    body = [Giving().visit(statement) for statement in copy.deepcopy(node.body)]
    body.append(ast.copy_location(ast.Return(given(ast.Constant(None))), body[-1]))
    made = ast.FunctionDef(node.name, node.args, body, [], node.returns, None)
    return placed(made, node), names


def _refuse(frame: Frame, node: ast.FunctionDef | ast.Lambda) -> None:
    """Raises UnsupportedSyntax for what stays Python."""
    if isinstance(node, ast.Lambda):
        return
    what = f"the function `{node.name}` inside the function"
    for inner in own_nodes(node):
        if isinstance(inner, ast.Global) or isinstance(inner, ast.Nonlocal) and not frame.locals.issuperset(inner.names):
            raise frame.error(inner, f"{what}, with `{type(inner).__name__.lower()}`", "return the new value")
    parameters = (a.annotation for a in ast.walk(node.args) if isinstance(a, ast.arg))
    for annotation in (*parameters, node.returns):
        for part in ast.walk(annotation) if annotation is not None else ():
            if not isinstance(part, _ANNOTATIONS) or isinstance(part, ast.Name) and not _is_there(frame, part.id):
                raise frame.error(annotation, f"{what}, with an annotation that may do something", "leave it out")


def _is_there(frame: Frame, name: str) -> bool:
    function = frame.source.outermost
    return name in frame.env or name in function.__globals__ or hasattr(builtins, name) or name in function.__code__.co_freevars
