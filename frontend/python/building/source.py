"""From a function to its syntax tree, with the file's own line and column numbers."""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import warnings
import weakref
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import zip_longest
from tokenize import TokenError
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

from tierup.dialect.base import forking
from tierup.dialect.base.spelling import printable
from tierup.dialect.mlir import ir
from tierup.frontend.errors import UnsupportedSyntax, position
from tierup.frontend.python.flow.names import own_nodes
from tierup.frontend.python.flow.parts import placed

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda  # an async one is only named in the message that refuses it


_one_at_a_time = forking.lock()
_ATTEMPTS = 20
_FUTURES = 0x1000000 | 0x400000  # `annotations` and `barry_as_FLUFL`, those that still change anything
_NOT_ITS = "define it with `def` in a file that has not changed since it was imported, and that no import hook rewrites"


@dataclass(frozen=True)
class Source:
    """A function's definition. Nodes of `tree` have lines and columns of `filename`."""

    function: FunctionType
    tree: Definition
    filename: str
    handed_on: frozenset[str] = frozenset()  # names whose values go on to be used by the code around this part of a function
    around: Mapping[str, object] = field(default_factory=dict)  # of one that another's body makes: names around it, with whose they are
    inside: Any = None  # the outermost of these functions
    rebinds: tuple[str, ...] = ()  # names of the function around it that it declares `nonlocal`: `tree` gives them behind its result

    @property
    def outermost(self) -> Any:
        """The function whose globals, and names from around it, the code reads; a FunctionType."""
        return self.inside or self.function

    @property
    def body(self) -> list[ast.stmt]:
        """The statements of the function; a lambda's is a `return` of its expression."""
        if isinstance(self.tree, ast.Lambda):
            return [ast.copy_location(ast.Return(self.tree.body), self.tree.body)]
        return self.tree.body

    def refuse_declarations(self) -> None:
        """Raises UnsupportedSyntax for `global` and `nonlocal`, which hold for the whole function, wherever in it they stand."""
        for node in own_nodes(self.tree):
            if isinstance(node, (ast.Global, ast.Nonlocal)):
                raise self.error(node, f"`{type(node).__name__.lower()}`", "return the new value")

    def location(self, context: ir.Context) -> ir.Location:
        """Of the definition's first line."""
        return ir.Location.file(printable(self.filename), self.tree.lineno, self.tree.col_offset + 1, context)

    def error(
        self, node: ast.AST | None, construct: str, remedy: str = "", cls: type[UnsupportedSyntax] = UnsupportedSyntax
    ) -> UnsupportedSyntax:
        """An UnsupportedSyntax at `node`."""
        node = node if node is not None and hasattr(node, "lineno") else self.tree
        line = node.lineno
        made = cls(
            construct,
            remedy,
            filename=self.filename,
            lineno=line,
            offset=node.col_offset + 1,  # type: ignore[attr-defined]  # with lineno
            text=linecache.getline(self.filename, line),
        )
        made.where = position(node)
        return made


_given: weakref.WeakKeyDictionary[FunctionType, Callable[[FunctionType], Source]] = weakref.WeakKeyDictionary()


def given_source(function: FunctionType, tree: Definition, **more: Any) -> None:
    """Say what the definition of a function is that was made of a tree, and stands in no file as it is. `more`: as in `Source`."""
    file = function.__code__.co_filename
    _given[function] = lambda function: Source(function, tree, file, **more)


def compiled(definition: Definition, like: FunctionType, inside: Mapping[str, CellType]) -> FunctionType:
    """A function of this definition, with the other's globals and what it reads from around it, and cells of its own."""
    cells = {**dict(zip(like.__code__.co_freevars, like.__closure__ or (), strict=True)), **inside}
    name = getattr(definition, "name", "<lambda>")
    around = ast.arguments([], [ast.arg(n) for n in cells], None, [], [], None, [])
    declared: list[ast.stmt] = [] if name in cells or not name.isidentifier() else [ast.Global([name])]
    statement = ast.Expr(definition) if isinstance(definition, ast.Lambda) else definition
    outer = ast.FunctionDef("_", around, [*declared, statement], [], None, None)
    module = ast.Module([placed(outer, definition)], [])
    code = _compiled(module, like.__code__)
    for inner in ("_", name):
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == inner)
    code = _renamed(code, code.co_qualname, like.__qualname__)
    made = FunctionType(code, like.__globals__, name, None, tuple(cells[n] for n in code.co_freevars))
    made.__module__, made.__qualname__ = like.__module__, like.__qualname__
    return made


def _renamed(code: CodeType, was: str, now: str) -> CodeType:
    """Code with another qualified name, and all code in it; a class's body says its own."""

    def constant(value: Any) -> Any:
        if isinstance(value, CodeType):
            return _renamed(value, was, now)
        is_own = not code.co_flags & inspect.CO_OPTIMIZED and value == code.co_qualname
        return now + value[len(was) :] if is_own else value

    return code.replace(co_qualname=now + code.co_qualname[len(was) :], co_consts=tuple(map(constant, code.co_consts)))


def parse(function: FunctionType) -> Source:
    """The source of `function`. Raises UnsupportedSyntax when it has none, or is not a plain function."""
    source = definition(function)
    if function.__code__.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise source.error(source.tree, "generators and coroutines are not translated", "return a tuple or list of arrays")
    return source


def definition(function: FunctionType) -> Source:
    """The source of a function of any kind. Raises UnsupportedSyntax when it has none."""
    code = function.__code__
    if function in _given:
        return _given[function](function)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    tree = _found(function, lines)
    if tree is None:  # what was read before may be an older file's
        linecache.checkcache(code.co_filename)
        lines = linecache.getlines(code.co_filename, function.__globals__)
        tree = _found(function, lines)
    if tree is None:
        problem, remedy = f"the source found for {function.__qualname__}() is not its definition", _NOT_ITS
        if not lines or code.co_filename.startswith("<"):  # of no file: Python 3.13 keeps what `-c` gave under the name that exec has
            problem = f"the source of {function.__qualname__}() is not available (typed into a REPL, or made by exec)"
            remedy = "put the function in a .py file or a notebook cell"
        raise UnsupportedSyntax(problem, remedy, filename=code.co_filename, lineno=code.co_firstlineno)
    return Source(function, tree, code.co_filename)


def _found(function: FunctionType, lines: list[str]) -> Definition | None:
    """The definition in a file's lines whose code is the function's; None when there is none."""
    code = function.__code__
    first, file = code.co_firstlineno, code.co_filename
    if code.co_name == "<lambda>":
        try:
            lambdas = _lambdas("".join(lines), file).get(first, ())
        except SyntaxError:
            return None
        inner_first = (deepcopy(n) for n in reversed(lambdas))  # one that holds another holds its code, too
        return next((n for n in inner_first if _matches(function, n)), None)
    below = lines[first - 1 :]
    ends: tuple[Callable[[], list[str]], ...] = (lambda: below[: _last_line(code) - first + 1], lambda: inspect.getblock(below))
    for block in ends:  # the first is quick, and is all there is but where brackets close below, or statements are no code
        try:
            tree = _definition(block(), first, file)
        except (SyntaxError, IndexError, TokenError):
            continue
        if tree is not None and _matches(function, tree):
            return tree
    return None


@lru_cache(maxsize=8)
def _lambdas(text: str, file: str) -> dict[int, list[ast.Lambda]]:
    """The lambdas of a file by their first line, each before those in it: to be copied, since who has a tree may change it."""
    found: dict[int, list[ast.Lambda]] = {}
    for node in ast.walk(_parsed(text, file)):
        if isinstance(node, ast.Lambda):
            found.setdefault(node.lineno, []).append(node)
    return found


def _last_line(code: CodeType) -> int:
    """The last line that an instruction is of."""
    own = (end or line or 0 for line, end, _, _ in code.co_positions())
    return max(*own, *(_last_line(inner) for inner in code.co_consts if isinstance(inner, CodeType)), 0, 0)


def _definition(lines: list[str], first: int, file: str) -> Definition | None:
    """The `def` in these lines of a file. An indented one is parsed inside `if 1:`, which leaves its columns and strings as they are."""
    text = "".join(lines)
    indented = text[:1] in (" ", "\t")
    module = _parsed("\n" * (first - 2) + "if 1:\n" + text if indented else "\n" * (first - 1) + text, file)
    body = module.body[0].body if indented and module.body and isinstance(module.body[0], ast.If) else module.body
    tree = body[0] if body else None
    return tree if isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def _parsed(text: str, file: str = "<tierup>") -> ast.Module:
    """`ast.parse`, which raises SystemError in CPython 3.11 when another thread is in it too: all threads' nesting is one count there
    (python/cpython#106905). Ours wait for one another; with a thread of somebody else's it is tried again. `file`: what warnings name."""
    for _ in range(_ATTEMPTS - 1):
        try:
            with _one_at_a_time, _nothing_said():
                return ast.parse(text, file)
        except SystemError:
            continue
    with _nothing_said():
        return ast.parse(text, file)


def _compiled(module: ast.Module, like: CodeType) -> CodeType:
    """A module's code, of the other code's file and under its `from __future__ import`."""
    with _nothing_said():
        code: CodeType = compile(module, like.co_filename, "exec", futures_of(like), True)
        return code


@contextmanager
def _nothing_said() -> Iterator[None]:
    """Inside the `with`, Python's compiler warns of no code (`x is 3`, "\\d"): it did when the code was imported, and no call raises it
    under `-W error`. The filters change in place: after `warnings.catch_warnings` each warning that was shown once is shown once more."""
    filters: Any = warnings.filters
    added = [("ignore", None, category, None, 0) for category in (SyntaxWarning, DeprecationWarning)]
    filters[:0] = added
    try:
        yield
    finally:
        for one in added:
            filters.remove(one)


def _matches(function: FunctionType, tree: Definition) -> bool:
    """Whether `tree`, compiled where names mean the same (in a function of free variables, and its class for `__names`), gives its code."""
    code = function.__code__
    if any(name.startswith("@") for name in code.co_varnames):  # pytest writes its asserts into the code: parameters are all to go by
        args = tree.args
        names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg) if a is not None]
        return getattr(tree, "name", "<lambda>") == code.co_name and list(code.co_varnames[: len(names)]) == names
    statement = ast.copy_location(ast.Expr(tree), tree) if isinstance(tree, ast.Lambda) else tree
    imports = "".join(f"import {n}\n" for n in code.co_names if isinstance(function.__globals__.get(n), ModuleType))
    for name in dict.fromkeys(("_", *reversed(code.co_qualname.split(".")[:-1]))):
        if name.isidentifier():
            scope, own = ("if 1", code.co_name) if name == "_" else (f"class {name}", name)
            declared = f" global {own}\n" if own.isidentifier() and own not in code.co_freevars else ""
            module = _parsed(f"{imports}def _({', '.join(code.co_freevars)}):\n{declared} {scope}: pass")
            module.body[-1].body[-1].body = [statement]  # type: ignore[attr-defined]  # a def of a class
            if any(_same(made, code) for made in _codes(_compiled(module, code))):
                _mangle(tree, name.lstrip("_"))
                return True
    return False


def futures_of(code: CodeType) -> int:
    """The flags of `compile` for the `from __future__ import` under which code was made: annotations may not be evaluated."""
    return code.co_flags & _FUTURES


def _mangle(tree: Definition, of: str) -> None:
    """Spell private names as the class `of` does: `__x` is `_C__x` in a class C."""
    for node in ast.walk(tree) if of else ():
        for of_name in ("id", "attr", "arg"):
            name = getattr(node, of_name, None)
            if isinstance(name, str) and name.startswith("__") and not name.endswith("__"):
                setattr(node, of_name, f"_{of}{name}")


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _same(a: CodeType, b: CodeType) -> bool:
    """Whether two pieces of code do the same, on lines of any number."""
    parts = _constants if a.co_code == b.co_code else _instructions  # which takes five times as long
    pairs: Iterator[tuple[Any, Any]] = zip_longest(parts(a), parts(b), fillvalue=...)
    return a.co_name == b.co_name and all(
        type(x) is type(y) and (_same(x, y) if isinstance(x, CodeType) else isinstance(x, frozenset) and x == y or repr(x) == repr(y))
        for x, y in pairs
    )


def _constants(code: CodeType) -> Iterator[object]:
    """What the bytes of code stand for."""
    yield from (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_names, code.co_varnames, code.co_freevars)
    where = "" if code.co_flags & inspect.CO_OPTIMIZED else code.co_qualname  # a class's body says it
    yield from (constant != where and constant for constant in code.co_consts)


def _instructions(code: CodeType) -> Iterator[object]:
    """Constants, and each instruction by itself: a method's call is spelled in two ways, by whether the module imports the object."""
    yield from _constants(code)
    kept = [i for i in dis.get_instructions(code) if i.opname not in ("PUSH_NULL", "EXTENDED_ARG", "CACHE")]
    offsets = [i.offset for i in kept]
    for i in kept:
        yield i.opname.replace("LOAD_METHOD", "LOAD_ATTR")
        yield bisect_left(offsets, i.argval) if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs else i.argval
