"""A function's body cut in two kinds of code: regions, which tierup is to run, and the statements between them, which Python runs.

    def f(x, path):                          def f(x, path):
        y = np.tanh(x) * 2                       y = f_2_2(x)
        print(path)                              print(path)
        z = y * y                                return f_4_5(y)
        return z.sum()

`f_2_2` and `f_4_5` are functions made of the user's statements, at the user's lines, named by these as counted from the function's first:
where the function stands in its file is no part of what code is kept of it. A statement that is said to be an island stays
what it is, and so do those around it that cannot be handed over: what is in the blocks of an `if`, loop, `try` or `with` that stays
is cut in turn; that of a `with` is there as it was, too, and runs where its manager has made NumPy raise or tell (`is_heard`). Every
statement runs once and in its order, in whichever of the two.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tierup.frontend.python.flow.live import Flow
from tierup.frontend.python.flow.names import NONE, Names, binds, own_nodes, reads
from tierup.frontend.python.flow.parts import SCOPES, To, blocks_of, jumps, parts_of, placed, with_blocks

_PYTHONS_OWN = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.Match, ast.Try,
    ast.TryStar, ast.AsyncFor, ast.AsyncWith, ast.Delete,
)  # fmt: skip
_SUSPENDS = (ast.Yield, ast.YieldFrom, ast.Await)
LOOK_AT_FRAME = ("locals", "vars", "dir", "eval", "exec", "_getframe", "currentframe")
_COMPUTES = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Compare, ast.AugAssign, ast.Subscript)
_AT_ONCE = ("len", "isinstance", "id", "type", "callable")  # what Python answers without a look at elements: alone, no work for native code


@dataclass(frozen=True)
class Region:
    """Statements that are one function: of the names `inputs`, in this order, to those in `outputs`, or to what the statements return."""

    statements: tuple[ast.stmt, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    returns: bool

    @property
    def lines(self) -> tuple[int, int]:
        """The first and the last."""
        return self.statements[0].lineno, self.statements[-1].end_lineno or self.statements[-1].lineno

    def definition(self, name: str) -> ast.FunctionDef:
        """The function, at the statements' lines."""
        first = self.statements[0]
        body = list(self.statements)
        if not self.returns:
            values: list[ast.expr] = [ast.Name(n, ast.Load()) for n in self.outputs]
            value = None if not values else values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
            body.append(placed(ast.Return(value), self.statements[-1]))
        given = ast.arguments([], [ast.arg(n) for n in self.inputs], None, [], [], None, [])
        made = ast.FunctionDef(name, given, body, [], None, None)
        return placed(made, first)

    def call(self, name: str) -> ast.stmt:
        """The statement that runs the function in the place of the statements."""
        call = ast.Call(ast.Name(name, ast.Load()), [ast.Name(n, ast.Load()) for n in self.inputs], [])
        if self.returns:
            return placed(ast.Return(call), self.statements[0])
        if not self.outputs:
            return placed(ast.Expr(call), self.statements[0])
        names: list[ast.expr] = [ast.Name(n, ast.Store()) for n in self.outputs]
        return placed(ast.Assign([names[0] if len(names) == 1 else ast.Tuple(names, ast.Store())], call), self.statements[0])


@dataclass(frozen=True)
class Cut:
    """The body with calls of regions in it. Calls are by the names that `regions` has them under, those of `is_heard` by `asks`."""

    body: list[ast.stmt]
    regions: dict[str, Region]
    asks: str


def cut(
    body: Sequence[ast.stmt],
    name: str,
    arguments: Names,
    local: Names,
    islands: Collection[ast.stmt],
    temporary: Names = NONE,
    first: int = 1,
) -> Cut:
    """Cut the body of a function. `local`: its names; `islands`: what stays Python; `temporary`: names that are not the user's; `first`:
    the function's first line."""
    flow = Flow.of(body, arguments & local)
    calm = _calm(body, flow, local, arguments)
    inside = [n for node in body for n in ast.walk(node) if isinstance(n, (*SCOPES, ast.GeneratorExp)) and n not in calm]
    cells = reads(inside) & local
    flow = Flow.of(body, arguments & local, cells) if cells else flow
    rebound = frozenset(name for node in body for n in ast.walk(node) if isinstance(n, (ast.Global, ast.Nonlocal)) for name in n.names)
    cutter = _Cutter(name, first, flow, local, local | reads(body), cells, calm, rebound, islands, temporary)
    made = cutter.block(body, end=True)
    elsewhere = sorted(reads(made) & local - arguments - binds(made))  # bound in regions alone: `t: None` says that they are no globals
    declared = [placed(ast.AnnAssign(ast.Name(n, ast.Store()), ast.Constant(None), None, 1), body[0]) for n in elsewhere]
    return Cut([*declared, *made], cutter.regions, cutter.asks)


@dataclass
class _Cutter:
    name: str
    first: int
    flow: Flow
    local: Names
    taken: Names  # local ones and others
    cells: Names  # that functions inside read, whenever they run
    calm: Collection[ast.AST]  # functions inside that a region may hold
    rebound: Names  # that the function and those inside declare, to bind what is not their own
    islands: Collection[ast.stmt]
    temporary: Names

    def __post_init__(self) -> None:
        self.regions: dict[str, Region] = {}
        self.asks = self._free("is_heard")

    def block(self, body: Sequence[ast.stmt], *, end: bool, watched: Names = NONE) -> list[ast.stmt]:
        """`end`: the function ends behind the block. `watched`: names that are read where an exception out of the block leads."""
        made: list[ast.stmt] = []
        run: list[ast.stmt] = []

        def close(last: bool = False) -> None:
            made.extend(self._handed_over(run, end=last and end))
            run.clear()

        for node in body:
            if self._stays(node, watched | self.cells):
                close()
                made.extend([self._cut_inside(node, end=end and node is body[-1], watched=watched), *self._let_go([node])])
                continue
            run.append(node)
            if binds([node]) & (watched | self.cells):
                close()
        close(last=True)
        return made

    def _stays(self, node: ast.stmt, seen: Names) -> bool:
        """`seen`: names whose values others may see while the statement runs, or when it has raised."""
        if node in self.islands or isinstance(node, _PYTHONS_OWN) and node not in self.calm:
            return True
        if (reads([node]) | binds([node])) & self.rebound:
            return True
        inside = list(own_nodes(node))
        if binds([node]) & seen and (blocks_of(node) or any(isinstance(n, ast.NamedExpr) for n in inside)):
            return True
        others = (n for n in inside if n not in self.calm)
        return any(isinstance(n, (*_SUSPENDS, *_PYTHONS_OWN, *SCOPES)) or n in self.islands or _asks_frame(n) for n in others)

    def _handed_over(self, run: Sequence[ast.stmt], *, end: bool) -> list[ast.stmt]:
        """The statements, or a call of the region that they are; of those that may return only the last ones can be one."""
        if not run:
            return []
        at = next((i for i, node in enumerate(run) if jumps([node])), len(run))
        if at < len(run) and not (end and not jumps(run) - {To.RETURN}):
            whole = self._handed_over(run[:at], end=False)
            stays = self._cut_inside(run[at], end=end and at == len(run) - 1, watched=NONE)
            return [*whole, stays, *self._handed_over(run[at + 1 :], end=end)]
        if not any(_computes(n) for node in run if not isinstance(node, ast.Raise) for n in ast.walk(node)):
            return [*run, *self._let_go(run)]
        returns = at < len(run)
        outputs = NONE if returns else binds(run) & (self.flow.live_after[run[-1]] | self.cells)
        needed = self._needed(run, outputs)
        missing = needed - self.flow.bound_before[run[0]]
        if missing:  # the statement that reads it, which raises then, or that may leave it so
            first = next(i for i in range(len(run)) if self._needed(run[: i + 1], binds(run[: i + 1]) & outputs) & missing)
            return [
                *self._handed_over(run[:first], end=False),
                self._cut_inside(run[first], end=False, watched=NONE),
                *self._handed_over(run[first + 1 :], end=end),
            ]
        region = Region(tuple(run), tuple(sorted(needed)), tuple(sorted(outputs)), returns)
        name = self._free("_".join([self.name, *(str(line - self.first + 1) for line in region.lines)]))
        self.regions[name] = region
        return [region.call(name), *self._let_go(run)]

    def _free(self, name: str) -> str:
        while name in self.regions or name in self.taken:  # regions of the same lines
            name += "_"
        return name

    def _let_go(self, run: Sequence[ast.stmt]) -> list[ast.stmt]:
        """The end of values that the statements are the last to use."""
        names = sorted(reads(run) & self.temporary & self.flow.bound_before[run[0]] - self.flow.live_after[run[-1]])
        return [placed(ast.Delete([ast.Name(n, ast.Del()) for n in names]), run[-1])] if names and not jumps(run[-1:]) else []

    def _needed(self, run: Sequence[ast.stmt], outputs: Names) -> Names:
        """The names whose values the statements take from before them, those that are to be given on among them."""
        given = ast.Return(ast.Tuple([ast.Name(n, ast.Load()) for n in outputs], ast.Load()))
        return Flow().live_before([*run, given]) & self.local

    def _cut_inside(self, node: ast.stmt, *, end: bool, watched: Names) -> ast.stmt:
        """A statement that stays, with the blocks in it cut."""
        if node in self.islands and not blocks_of(node) or _hears_numbers(node):
            return node
        regions = len(self.regions)
        seen = watched | self.flow.watched.get(node, NONE)
        ends = end and all(part.then == (To.END,) and not part.raised for part in parts_of(node).values() if part.place)
        made: ast.stmt = with_blocks(node, lambda block: self.block(block, end=ends, watched=seen))
        if isinstance(made, ast.With) and isinstance(node, ast.With) and len(self.regions) > regions:
            made.body = [placed(ast.If(ast.Call(ast.Name(self.asks, ast.Load()), [], []), node.body, made.body), node.body[0])]
        return made


def _calm(body: Sequence[ast.stmt], flow: Flow, local: Names, arguments: Names) -> set[ast.AST]:
    """The functions inside of which it makes no difference where they are made: what they read of the names around them has a value by
    then, and keeps it."""
    bound = [binds([node]) for node in body]
    kept = {name for name in local if [name in names for names in bound].count(True) == (name not in arguments)}
    kept -= {name for node, names in zip(body, bound, strict=True) if blocks_of(node) for name in names}
    found: set[ast.AST] = set()
    for node, before in flow.bound_before.items():
        for n in [node, *own_nodes(node)] if not blocks_of(node) else ():
            if isinstance(n, (ast.FunctionDef, ast.Lambda)) and not getattr(n, "decorator_list", None):
                strange = any(isinstance(m, (*_SUSPENDS, *_PYTHONS_OWN)) or _asks_frame(m) for m in own_nodes(n))
                if not strange and reads([n]) & local - {getattr(n, "name", "")} <= kept & before:
                    found.add(n)
    return found


def _computes(node: ast.AST) -> bool:
    return isinstance(node, _COMPUTES) and getattr(getattr(node, "func", None), "id", None) not in _AT_ONCE


def _hears_numbers(node: ast.stmt) -> bool:
    """Whether a `with` notices what NumPy warns of: raises, calls, writes or keeps it. Native code says nothing."""
    if not isinstance(node, ast.With):
        return False
    for call in (item.context_expr for item in node.items):
        name = getattr(call.func, "attr", getattr(call.func, "id", "")) if isinstance(call, ast.Call) else ""
        modes = [k.value for k in call.keywords] if name == "errstate" and isinstance(call, ast.Call) else []
        if any(not isinstance(v, ast.Constant) or v.value not in ("ignore", "warn") for v in modes):
            return True
        recorded = isinstance(call, ast.Call) and any(k.arg == "record" for k in call.keywords)
        if name == "catch_warnings" and (recorded or any(isinstance(n, ast.Constant) and n.value == "error" for n in ast.walk(node))):
            return True
    return False


def _asks_frame(node: ast.AST) -> bool:
    """Whether it names what looks at the frame or the first argument of the function that it stands in."""
    return isinstance(node, ast.Name) and node.id in ("super", "__class__", *LOOK_AT_FRAME)
