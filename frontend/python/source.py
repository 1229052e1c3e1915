"""From a function to its syntax tree, with the file's own line and column numbers."""

from __future__ import annotations

import ast
import inspect
import linecache
from dataclasses import dataclass
from types import FunctionType

from tierup.dialect import forking
from tierup.dialect.mlir import ir
from tierup.dialect.spelling import printable
from tierup.frontend.errors import UnsupportedSyntax

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda  # an async one is only named in the message that refuses it


_one_at_a_time = forking.lock()
_ATTEMPTS = 20


@dataclass(frozen=True)
class Source:
    """A function's definition. Nodes of `tree` have lines and columns of `filename`."""

    function: FunctionType
    tree: Definition
    filename: str

    @property
    def body(self) -> list[ast.stmt]:
        if isinstance(self.tree, ast.Lambda):
            return [ast.copy_location(ast.Return(self.tree.body), self.tree.body)]
        return self.tree.body

    def location(self, context: ir.Context) -> ir.Location:
        """Of the definition's first line."""
        return ir.Location.file(printable(self.filename), self.tree.lineno, self.tree.col_offset + 1, context)

    def error(
        self, node: ast.AST | None, construct: str, remedy: str = "", cls: type[UnsupportedSyntax] = UnsupportedSyntax
    ) -> UnsupportedSyntax:
        """An UnsupportedSyntax at `node`."""
        node = node if node is not None and hasattr(node, "lineno") else self.tree
        line = node.lineno  # type: ignore[attr-defined]  # checked above
        return cls(
            construct,
            remedy,
            filename=self.filename,
            lineno=line,
            offset=node.col_offset + 1,  # type: ignore[attr-defined]  # with lineno
            text=linecache.getline(self.filename, line),
        )


def parse(function: FunctionType) -> Source:
    """The source of `function`. Raises UnsupportedSyntax when it has none, or is not a plain function."""
    code = function.__code__
    filename = code.co_filename
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError, IndexError, SyntaxError) as e:
        raise UnsupportedSyntax(
            f"the source of {function.__qualname__}() is not available (typed into a REPL, or made by exec)",
            "put the function in a .py file or a notebook cell",
            filename=filename,
            lineno=code.co_firstlineno,
        ) from e
    tree = _lambda(function, filename) if code.co_name == "<lambda>" else _definition(lines, first)
    source = Source(function, tree, filename) if tree is not None else None
    if source is None or not _matches(function, source.tree):
        raise UnsupportedSyntax(
            f"the source found for {function.__qualname__}() is not its definition",
            "define it with `def` in a file that has not changed since it was imported"
            + (": two lambdas on a line cannot be told apart" if code.co_name == "<lambda>" else ""),
            filename=filename,
            lineno=code.co_firstlineno,
        )
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        raise source.error(source.tree, "generators and coroutines are not translated", "return a tuple or list of arrays")
    return source


def _definition(lines: list[str], first: int) -> Definition | None:
    """The `def` in these lines. An indented one is parsed inside `if 1:`, which leaves its columns and strings as they are."""
    text = "".join(lines)
    indented = text[:1] in (" ", "\t")
    try:
        module = _parsed("if 1:\n" + text if indented else text)
    except SyntaxError:
        return None
    body = module.body[0].body if indented and module.body and isinstance(module.body[0], ast.If) else module.body
    tree = body[0] if body else None
    if not isinstance(tree, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return None
    shift = first - 2 if indented else first - 1
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno += shift
            node.end_lineno += shift
    return tree


def _parsed(text: str) -> ast.Module:
    """`ast.parse`, which raises SystemError in CPython 3.11 when another thread is in it too: all threads' nesting is one count there
    (python/cpython#106905). Ours wait for one another; with a thread of somebody else's it is tried again."""
    for _ in range(_ATTEMPTS - 1):
        try:
            with _one_at_a_time:
                return ast.parse(text)
        except SystemError:
            continue
    return ast.parse(text)


def _lambda(function: FunctionType, filename: str) -> ast.Lambda | None:
    """The one lambda on the function's line with its parameters; None when two could be meant."""
    try:
        module = _parsed("".join(linecache.getlines(filename, function.__globals__)))
    except SyntaxError:
        return None
    line = function.__code__.co_firstlineno
    found = [n for n in ast.walk(module) if isinstance(n, ast.Lambda) and n.lineno == line and _matches(function, n)]
    return found[0] if len(found) == 1 else None


def _matches(function: FunctionType, tree: Definition) -> bool:
    code = function.__code__
    args = tree.args
    names = [a.arg for a in (*args.posonlyargs, *args.args, *args.kwonlyargs)]
    names += [a.arg for a in (args.vararg, args.kwarg) if a is not None]
    if not isinstance(tree, ast.Lambda) and tree.name != code.co_name:
        return False
    return list(code.co_varnames[: len(names)]) == names
