"""Statements.

`frame.execute(statements, tail=...)` builds statements in order and says how they end. With `tail`, they are all that is left
until the function or the loop body ends: a branch whose arms end differently, or give a name values of different kinds, then
takes what follows it into both arms.
"""

from __future__ import annotations

import ast
import builtins
import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tierup.dialect.base.exceptions import unanswerable
from tierup.frontend.errors import UnsupportedSyntax
from tierup.frontend.python.building.branch import choice_in, each, for_each, raise_error
from tierup.frontend.python.building.frame import Frame, NeedsStatic, WillRaise, is_rewritten
from tierup.frontend.python.building.values import (
    NONE,
    Array,
    Const,
    Ends,
    GoOn,
    Grows,
    Jump,
    OneOf,
    Raised,
    Return,
    Scalar,
    Sequence,
    Unknown,
    Value,
    describe,
    is_none,
    is_one_of_scalars,
)  # fmt: skip
from tierup.frontend.python.flow.names import binds
from tierup.frontend.python.flow.parts import always_leaves, blocks_of, placed
from tierup.frontend.python.functions import list_methods
from tierup.frontend.python.operations import appending, array_operators, growing, stores
from tierup.frontend.python.operations.operators import operate
from tierup.frontend.python.operations.scalars import SYMBOLS
from tierup.frontend.python.syntax import comprehensions, conditionals, loops, trying  # noqa: F401 - the first adds its expressions
from tierup.frontend.python.syntax.attributes import load as load_attribute
from tierup.frontend.python.syntax.calls import call
from tierup.frontend.python.syntax.expressions import assign_target, condition, evaluate, evaluate_any, function_inside, right_operand
from tierup.frontend.stopping import no_grad
from tierup.runtime.arguments.hidden import Access
from tierup.runtime.base.errors import UnsupportedArgument


def execute(frame: Frame, statements: list[Any], tail: bool) -> Ends | None:
    """Build statements. None: they fall through; Return, Jump, Raised: how they end."""
    i = 0
    while i < len(statements):
        node = statements[i]
        frame.at(node)
        try:
            end = _built(frame, node, statements[i + 1 :], tail)
        except WillRaise as e:
            if frame.trying == frame.em.depth:
                raise
            frame.at(node)
            if _is_chained(frame, node):
                _raise_by_python(frame, node, type(e.error))
            else:
                raise_error(frame, e.error)
            return Raised()
        except UnsupportedSyntax as e:
            if not frame.goes_on(node, e):
                raise
            _look_inside(frame, node)
            end = Raised() if isinstance(node, (ast.Return, ast.Raise)) else None
        i += 1
        if isinstance(end, GoOn):
            statements, i = end.statements, 0
        elif end is not None:
            return end
    return None


def _built(frame: Frame, node: Any, rest: list[Any], tail: bool) -> Ends | None:
    """How one statement ends. What the front end fails at, for whatever reason, is refused: Python runs the statement."""
    try:
        frame.check_size(node)
        if isinstance(node, loops.Step):
            return node.run(rest, tail)
        handler = _HANDLERS.get(type(node))
        if handler is None:
            construct, remedy = _REFUSED.get(type(node), (f"this statement ({type(node).__name__})", ""))
            raise frame.error(node, construct, remedy)
        return handler(frame, node, rest, tail)
    except (UnsupportedSyntax, UnsupportedArgument):
        raise
    except DEFECTS as e:
        construct = f"this statement, at which the front end failed ({type(e).__name__}: {e})"
        raise frame.error(node, construct, "report it: the defect is tierup's") from e


# what a defect raises; an exception of another kind may be a signal handler's
DEFECTS = (ArithmeticError, AssertionError, AttributeError, LookupError, NameError, TypeError, ValueError)


def _look_inside(frame: Frame, node: ast.stmt) -> None:
    """Find what is refused in the blocks of a statement that is refused itself."""
    if not isinstance(node, (ast.Try, ast.TryStar, ast.Match, ast.With, ast.AsyncWith, ast.AsyncFor)):
        return
    for block in blocks_of(node):
        before = dict(frame.env)
        frame.execute(block, tail=True)
        frame.env = {**before, **{name: Unknown("") for name in binds([node])}}


_REFUSED: dict[type, tuple[str, str]] = {
    ast.ClassDef: ("a class inside the function", "define it outside"),
    ast.Global: ("`global`", "return the new value"),
    ast.Nonlocal: ("`nonlocal`", "return the new value"),
    ast.Match: ("`match`", "use if and elif"),
    ast.AsyncFor: ("`async for`", ""),
    ast.AsyncWith: ("`async with`", ""),
    ast.AsyncFunctionDef: ("a coroutine inside the function", ""),
}


# --- simple statements ---------------------------------------------------------------------------------------------------


def _assign(frame: Frame, node: ast.Assign, rest: list[Any], tail: bool) -> Ends | None:
    if isinstance(node.value, ast.IfExp):
        return _if(frame, _as_statement(node.value, lambda v: ast.Assign(node.targets, v), node), rest, tail)
    if isinstance(node.value, ast.GeneratorExp) and all(isinstance(t, (ast.Tuple, ast.List)) for t in node.targets):
        value = evaluate(frame, ast.copy_location(ast.ListComp(node.value.elt, node.value.generators), node.value))  # taken apart at once
    else:
        value = evaluate_any(frame, node.value)
    frame.at(node)
    for target in node.targets:
        assign_target(frame, target, value)
    return None


def _function(frame: Frame, node: ast.FunctionDef, rest: list[Any], tail: bool) -> Ends | None:
    decorators = [evaluate(frame, decorator) for decorator in node.decorator_list]
    value = function_inside(frame, node)
    try:
        for at, decorator in reversed(list(zip(node.decorator_list, decorators, strict=True))):
            value = call(frame, ast.copy_location(ast.Call(at, [], []), at), decorator, [value], {})
    except UnsupportedSyntax as e:
        if isinstance(e, NeedsStatic):
            raise
        what = f"the function `{node.name}` inside the function, with a decorator"
        raise frame.error(node, what, "define it outside") from e
    frame.env[node.name] = value
    return None


def _as_statement(node: ast.IfExp, make: Callable[[ast.expr], ast.stmt], origin: ast.stmt) -> ast.If:
    """`y = a if c else b` as `if c: y = a` `else: y = b`, which may give y values of two kinds."""
    arms = [ast.copy_location(make(v), origin) for v in (node.body, node.orelse)]
    return ast.copy_location(ast.If(node.test, [arms[0]], [arms[1]]), origin)


def _annotated(frame: Frame, node: ast.AnnAssign, rest: list[Any], tail: bool) -> Ends | None:
    if node.value is not None:
        assign_target(frame, node.target, evaluate_any(frame, node.value))
    return None


def _updated(frame: Frame, node: ast.AugAssign, rest: list[Any], tail: bool) -> Value:
    """What the target of an `op=` is after it, where that is a name. What it was stays: the arms of a branch begin with that."""
    before = dict(frame.env)
    _augmented(frame, node, rest, tail)
    after = frame.env[node.target.id] if isinstance(node.target, ast.Name) else NONE
    if any(frame.env.get(name) is not before.get(name) for name in frame.rebound):
        raise frame.error(node, "a call of a function with `nonlocal`, beside a value of a kind that only the run knows", "call it before")
    frame.env = before
    return after


def _augmented(frame: Frame, node: ast.AugAssign, rest: list[Any], tail: bool) -> Ends | None:
    op, target = type(node.op), node.target
    holds_scalar = isinstance(target, ast.Name) and is_one_of_scalars(frame.env.get(target.id))
    if not holds_scalar and (choice := choice_in(frame, [target, node.value])) is not None:
        after = for_each(frame, node, choice, lambda: _updated(frame, node, rest, tail))
        if isinstance(target, ast.Name):
            frame.env[target.id] = after
        return None
    if isinstance(target, ast.Subscript):
        owner, index = evaluate(frame, target.value), evaluate(frame, target.slice)
        frame.at(node)

        def right() -> Value:
            found = evaluate_any(frame, node.value)
            frame.at(node)
            return found

        if isinstance(owner, Grows):
            loaded = growing.load(frame, node, owner, index)
            appending.store(frame, node, owner, index, each(frame, node, [loaded, right()], partial(operate, frame, node, op)))
        else:
            with appending.or_grows(frame, node, owner, None):
                stores.update_item(frame, node, op, owner, index, right)
        return None
    if isinstance(target, ast.Attribute):
        current = load_attribute(frame, target, evaluate(frame, target.value), target.attr)
        value = evaluate(frame, node.value)
        frame.at(node)
        if not isinstance(current, Array) or current.may_be_scalar:
            raise frame.error(node, f"assignment to the attribute `.{target.attr}`, {describe(current)}", "return the new value")
        array_operators.update(frame, node, op, current, value)
        return None
    assert isinstance(target, ast.Name)
    if holds_scalar:
        frame.env[target.id] = evaluate_any(frame, placed(ast.BinOp(ast.Name(target.id, ast.Load()), node.op, node.value), node))
        return None
    current = frame.lookup(ast.copy_location(ast.Name(target.id, ast.Load()), target))
    value = right_operand(frame, node.value, current)
    frame.at(node)
    if isinstance(current, Array):
        frame.env[target.id] = each(frame, node, [value], partial(array_operators.update, frame, node, op, current))
    elif isinstance(value, OneOf):
        frame.env[target.id] = each(frame, node, [value], partial(operate, frame, node, op, current))
    elif isinstance(current, Sequence) and current.kind == "list" and op is ast.Add and isinstance(value, Sequence):
        try:
            stores.require_own(frame, node, current)
        except UnsupportedSyntax as e:
            raise appending.refuse(frame, node, current, value.items[0], e) if value.items else e from None
        current.items.extend(value.items)
    elif isinstance(current, Grows) and op is ast.Add and isinstance(value, Sequence):
        appending.extend(frame, node, current, value.items)
    elif isinstance(current, Grows) and op is ast.Add and isinstance(value, Grows):
        appending.extend_by(frame, node, current, value)
    elif isinstance(current, Sequence) and current.kind == "list" and op is ast.Add and isinstance(value, Grows):
        error = frame.error(node, f"`+=` of {describe(current)} and {describe(value)}", "append the items in a loop")
        raise appending.refuse(frame, node, current, value, error, spread=True)
    elif isinstance(current, Grows) or isinstance(current, Sequence) and current.kind == "list" and isinstance(value, Grows):
        raise frame.error(node, f"`{SYMBOLS[op]}=` of {describe(current)} and {describe(value)}", "append the items in a loop")
    else:
        new = operate(frame, node, op, current, value)
        if isinstance(current, Sequence) and current.kind == "list" and isinstance(new, Sequence):  # `*=`: of the list itself
            stores.require_own(frame, node, current)
            current.items[:] = new.items
        else:
            frame.env[target.id] = new
    return None


def _expression(frame: Frame, node: ast.Expr, rest: list[Any], tail: bool) -> Ends | None:
    if not isinstance(node.value, ast.Constant):
        evaluate_any(frame, node.value)
    return None


def _delete(frame: Frame, node: ast.Delete, rest: list[Any], tail: bool) -> Ends | None:
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            owner, index = evaluate(frame, target.value), evaluate(frame, target.slice)
            frame.at(node)
            list_methods.delete(frame, node, owner, index)
            continue
        if not isinstance(target, ast.Name):
            raise frame.error(target, "`del` of an attribute")
        frame.lookup(ast.copy_location(ast.Name(target.id, ast.Load()), target))
        del frame.env[target.id]
    return None


def _with(frame: Frame, node: ast.With, rest: list[Any], tail: bool) -> Ends | None:
    """np.errstate only decides about warnings, which programs do not give; tierup.no_grad about the lines in it."""
    for item in node.items:
        call = item.context_expr
        callee = evaluate(frame, call.func) if isinstance(call, ast.Call) else None
        if not isinstance(callee, Const) or callee.value not in (np.errstate, no_grad):
            raise frame.error(node, "`with`", "do what it is for outside the function; np.errstate and tierup.no_grad are translated")
        assert isinstance(call, ast.Call)
        if callee.value is no_grad:
            frame.without_gradients.add((node.body[0].lineno, node.end_lineno or node.lineno))
            continue
        for keyword in call.keywords:
            mode = evaluate(frame, keyword.value)
            if frame.is_numpys:  # what an op of numpy.linalg raises is its own
                frame.ignores_errors = keyword.arg == "all"
                continue
            if not isinstance(mode, Const) or mode.value not in ("ignore", "warn"):
                raise frame.error(keyword.value, "np.errstate that raises or calls", "use 'ignore', and test with np.isfinite")
    return GoOn([*node.body, *rest])


# --- leaving -------------------------------------------------------------------------------------------------------------


def _return(frame: Frame, node: ast.Return, rest: list[Any], tail: bool) -> Ends | None:
    if isinstance(node.value, ast.IfExp):
        return _if(frame, _as_statement(node.value, ast.Return, node), rest, tail)
    return Return(NONE if node.value is None else evaluate_any(frame, node.value), node.lineno)


def _import(frame: Frame, node: ast.Import | ast.ImportFrom, rest: list[Any], tail: bool) -> Ends | None:
    """Of what is NumPy's, by NumPy's own functions: what a module has does not change."""
    if frame.is_numpys and isinstance(node, ast.Import) and all(alias.name == "numpy" for alias in node.names):
        for alias in node.names:
            name = alias.asname or alias.name
            frame.env[name] = frame.outside_value(node, np, Access("global", name, (), frame.source.function))
        return None
    if not frame.is_numpys or not isinstance(node, ast.ImportFrom) or (node.module or "numpy").partition(".")[0] != "numpy":
        raise frame.error(node, "an import inside the function", "import at the top of the file")
    module = importlib.import_module("." * node.level + (node.module or ""), frame.source.function.__globals__["__package__"])
    for alias in node.names:
        frame.env[alias.asname or alias.name] = Const(getattr(module, alias.name))
    return None


def _raise(frame: Frame, node: ast.Raise, rest: list[Any], tail: bool) -> Ends | None:
    if node.exc is None and frame.caught is not None:
        raise WillRaise(frame.caught)
    cls, message = _exception(frame, node)
    if _is_left_to_numpy(frame, node):
        if not frame.em.depth:
            raise frame.error(node, "arguments that are left to it")
        message = None
    is_known = message is not None and getattr(builtins, cls.__name__, None) is cls
    if is_known and frame.trying == frame.em.depth:
        _refuse_cause(frame, node)
        raise WillRaise(cls(message) if message else cls())
    if message is not None and is_known and not _is_chained(frame, node):
        frame.em.raise_now(cls.__name__, message)
    else:
        _raise_by_python(frame, node, cls)
    return Raised()


def _refuse_cause(frame: Frame, node: ast.Raise) -> None:
    """Raises what Python does in the place of `raise ... from 5`."""
    try:
        cause = None if node.cause is None else evaluate(frame, node.cause)
    except UnsupportedSyntax:  # an exception that was caught
        return
    value = cause.value if isinstance(cause, Const) else None
    if value is not None and not (isinstance(value, type) and issubclass(value, BaseException)):
        raise WillRaise(TypeError("exception causes must derive from BaseException"))


def _is_chained(frame: Frame, node: ast.stmt) -> bool:
    """Whether an exception that a statement raises has another one as its cause or context, or says that it has none."""
    return not frame.is_numpys and (frame.caught is not None or isinstance(node, ast.Raise) and node.cause is not None)


def _raise_by_python(frame: Frame, node: ast.stmt, cls: type[Exception]) -> None:
    """Raise what Python makes, which runs the function in the place of the program."""
    base = next(c for c in cls.__mro__ if getattr(builtins, c.__name__, None) is c)
    frame.em.raise_now(unanswerable(base).__name__, ast.unparse(node).partition("\n")[0])
    what = "an exception that only Python makes, in a function that writes its arguments"
    frame.outside.made_by_python = frame.error(node, what, "raise a built-in exception with a constant message")


def _is_left_to_numpy(frame: Frame, node: ast.Raise) -> bool:
    """Whether a function that stands for one of NumPy's says by an f-string, whatever that is, that the call is NumPy's."""
    exc = node.exc
    text = exc.args[0] if isinstance(exc, ast.Call) and exc.args else None
    return isinstance(text, ast.JoinedStr) and is_rewritten(frame.source.function)


def _exception(frame: Frame, node: ast.Raise) -> tuple[type[Exception], str | None]:
    """`raise ValueError("...")`: the class, and the message, "" for none; None for other arguments than a text that is known now."""
    exc = node.exc
    if exc is None:
        raise frame.error(node, "`raise` without an exception")
    class_node, args = (exc.func, exc.args) if isinstance(exc, ast.Call) else (exc, [])
    cls = evaluate(frame, class_node)
    if not isinstance(cls, Const) or not isinstance(cls.value, type) or not issubclass(cls.value, Exception):
        raise frame.error(node, "raising something else than an exception by its class", "raise ValueError, IndexError, TypeError, ...")
    if isinstance(exc, ast.Call) and (exc.keywords or len(args) > 1):
        return cls.value, None
    if not args:
        return cls.value, ""
    try:
        value = evaluate(frame, args[0])
    except UnsupportedSyntax:
        return cls.value, None
    return cls.value, (value.value or None) if isinstance(value, Const) and type(value.value) is str else None


def _assert(frame: Frame, node: ast.Assert, rest: list[Any], tail: bool) -> Ends | None:
    if not __debug__:
        return None  # python -O
    exc = ast.Call(ast.Constant(AssertionError), [] if node.msg is None else [node.msg], [])  # type: ignore[arg-type]  # evaluates to the class
    failed = ast.If(ast.UnaryOp(ast.Not(), node.test), [ast.Raise(exc, None)], [])
    return _if(frame, placed(failed, node), rest, tail)


# --- branches and loops --------------------------------------------------------------------------------------------------


def _if(frame: Frame, node: ast.If, rest: list[Any], tail: bool) -> Ends | None:
    test = condition(frame, node.test)
    frame.at(node)
    if isinstance(test, Const):
        return GoOn([*(node.body if test.value else node.orelse), *rest])
    assert isinstance(test, Scalar)
    return conditionals.branch(frame, node, test.ssa, *_arms(frame, node), rest, tail)


def _asked_for_none(test: ast.expr) -> tuple[str, bool]:
    """The name of which `x is None` asks, and whether it holds for None; "" for other tests."""
    if isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and len(test.ops) == 1:
        [asked], [op] = test.comparators, test.ops
        if isinstance(asked, ast.Constant) and asked.value is None and isinstance(op, (ast.Is, ast.IsNot)):
            return test.left.id, isinstance(op, ast.Is)
    return "", False


def _arms(frame: Frame, node: ast.If) -> tuple[list[Any], list[Any]]:
    """The arms of an `if`. Behind `if x is None` it is known whether a name of which the run decides is None."""
    arms: list[list[Any]] = [list(node.body), list(node.orelse)]
    name, is_none_first = _asked_for_none(node.test)
    choice = frame.env.get(name)
    if not isinstance(choice, OneOf) or len(choice.alternatives) != 2 or not any(map(is_none, choice.alternatives)):
        return arms[0], arms[1]
    order = sorted(choice.alternatives, key=is_none, reverse=is_none_first)
    stays = not any(map(always_leaves, arms))
    for arm, value in zip(arms, order, strict=True):
        arm.insert(0, loops.Step.binding(frame, name, value, node))
        if stays:
            arm.append(loops.Step.binding(frame, name, choice, node, value))
    return arms[0], arms[1]


_HANDLERS: dict[type, Callable[[Frame, Any, list[Any], bool], Ends | None]] = {
    ast.FunctionDef: _function, ast.Assign: _assign, ast.AnnAssign: _annotated, ast.AugAssign: _augmented, ast.Expr: _expression,
    ast.Pass: lambda frame, node, rest, tail: None,
    ast.Delete: _delete, ast.With: _with, ast.Return: _return, ast.Raise: _raise, ast.Assert: _assert,
    ast.Break: lambda frame, node, rest, tail: Jump(dict(frame.env), Const(True)),
    ast.Continue: lambda frame, node, rest, tail: Jump(dict(frame.env)),
    ast.If: _if, ast.For: loops.for_statement, ast.While: loops.while_, ast.Try: trying.try_, ast.Import: _import, ast.ImportFrom: _import,
}  # fmt: skip
