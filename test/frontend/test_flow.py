"""What is known of statements without running them: every kind that Python has, against what Python does and says."""

from __future__ import annotations

import ast
import random
import symtable
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from sampling import drawn

from tierup.frontend.python.building.source import Source
from tierup.frontend.python.flow.live import Flow
from tierup.frontend.python.flow.names import binds, reads
from tierup.frontend.python.flow.parts import To, always_leaves, blocks_of, jumps, parts_of, with_blocks
from tierup.frontend.python.islands.foreign import with_instead

EXAMPLES: dict[type, str] = {
    ast.FunctionDef: "def g(p=r0): pass", ast.AsyncFunctionDef: "async def g(p=r0): pass", ast.ClassDef: "class g(r0): pass",
    ast.Return: "return r0", ast.Delete: "del g", ast.Assign: "g = h.a = r0", ast.AugAssign: "g += r0", ast.AnnAssign: "g: int = r0",
    ast.For: "for g in r0:\n    B0\nelse:\n    B1", ast.AsyncFor: "async for g in r0:\n    B0\nelse:\n    B1", ast.While: "while r0:\n    B0\nelse:\n    B1",
    ast.If: "if r0:\n    B0\nelif r1:\n    B1\nelif r2:\n    B2\nelse:\n    B3", ast.With: "with r0 as g, r1 as h:\n    B0",
    ast.AsyncWith: "async with r0 as g, r1 as h:\n    B0", ast.Match: "match r0:\n  case [g, *h] if r1:\n    B0\n  case {'k': g, **h}:\n    B1\n  case g:\n    B2",
    ast.Raise: "raise r0 from r1", ast.Try: "try:\n    B0\nexcept r0 as g:\n    B1\nexcept r1:\n    B2\nelse:\n    B3\nfinally:\n    B4",
    ast.TryStar: "try:\n    B0\nexcept* r0 as g:\n    B1\nexcept* r1:\n    B2\nelse:\n    B3\nfinally:\n    B4", ast.Assert: "assert r0, r1",
    ast.Import: "import g.x, y as h", ast.ImportFrom: "from y import g, x as h", ast.Global: "global x", ast.Nonlocal: "nonlocal x", ast.Expr: "r0", ast.Pass: "pass",
    ast.Break: "break", ast.Continue: "continue",
}  # fmt: skip
COMPOUND = [kind for kind, text in EXAMPLES.items() if "B0" in text]
LOOPS = (ast.For, ast.AsyncFor, ast.While)


def example(kind: type, block: int | None = None, text: str = "pass") -> ast.stmt:
    """A statement of the kind, with the text in one of its blocks."""
    source = EXAMPLES[kind]
    for i in range(9):
        source = source.replace(f"B{i}", text if i == block else "0")
    made = ast.parse(source).body[0]
    assert type(made) is kind
    return made


def blocks_by_hand(kind: type) -> range:
    return range(sum(f"B{i}" in EXAMPLES[kind] for i in range(9)))


def nested(node: ast.AST) -> Iterator[ast.AST]:
    for inner in ast.iter_child_nodes(node):
        yield inner
        yield from nested(inner)


def test_every_kind_of_statement_is_known() -> None:
    kinds = set(ast.stmt.__subclasses__())
    assert kinds - set(EXAMPLES) - {getattr(ast, "TypeAlias", None)} == set()
    for kind in kinds & set(EXAMPLES):
        assert parts_of(example(kind))


@pytest.mark.parametrize("kind", EXAMPLES, ids=lambda kind: kind.__name__)
def test_the_names_of_a_statement_are_those_that_python_says(kind: type) -> None:
    text, holder = EXAMPLES[kind], "async def" if kind in (ast.AsyncFor, ast.AsyncWith) else "def"
    for i in blocks_by_hand(kind):
        text = text.replace(f"B{i}", f"b{i} = u{i}")
    text = f"while 0:\n{textwrap.indent(text, '    ')}" if kind in (ast.Break, ast.Continue) else text
    if kind not in (ast.Global, ast.Nonlocal):
        table = symtable.symtable(f"{holder} f():\n{textwrap.indent(text, '    ')}", "", "exec").get_children()[0]
        statements = ast.parse(text).body
        assert binds(statements) == {s.get_name() for s in table.get_symbols() if s.is_local()}
        assert reads(statements) >= {s.get_name() for s in table.get_symbols() if s.is_referenced() and not s.is_local()}
        assert Flow().live_before(statements) >= reads(statements) - binds(statements)


@pytest.mark.parametrize(("kind", "block"), [(kind, i) for kind in COMPOUND for i in blocks_by_hand(kind)], ids=lambda v: getattr(v, "__name__", v))
def test_everybody_who_walks_statements_sees_each_block(kind: type, block: int) -> None:
    def inside(text: str) -> tuple[ast.stmt, ast.stmt]:
        node = example(kind, block, text)
        return node, next(n for n in nested(node) if isinstance(n, ast.stmt) and ast.unparse(n) == text)

    def deep(node: ast.stmt) -> list[ast.stmt]:
        return [n for block in blocks_of(node) for inner in block for n in (inner, *deep(inner))]

    node, found = inside("mark = seen")
    flow = Flow.of([node], frozenset({"given"}), frozenset({"later"}))
    assert found in deep(node) and "mark" in binds([node]) and "seen" in Flow().live_before([node])
    assert "given" in flow.bound_before[found] and "later" in flow.live_after[found]
    changed = with_instead([node], found, ast.parse("other").body)
    assert "other" in ast.unparse(changed[0]) and "mark" not in ast.unparse(changed[0])

    def marked(statements: list[ast.stmt]) -> list[ast.stmt]:
        return [with_blocks(n, marked) for n in statements] + ast.parse("end").body

    node, _ = inside("mark = seen")
    before = ast.unparse(node)
    assert "mark = seen\nend" in textwrap.dedent("\n".join(line.strip() for line in ast.unparse(with_blocks(node, marked)).split("\n"))) and ast.unparse(node) == before
    body_of_loop = kind in LOOPS and block == 0
    assert jumps([inside("return mark")[0]]) == {To.RETURN}
    assert jumps([inside("break")[0]]) == (set() if body_of_loop else {To.BREAK})
    assert jumps([inside("continue")[0]]) == (set() if body_of_loop else {To.CONTINUE})
    declares = ast.parse("def f():\n    pass").body[0]
    assert isinstance(declares, ast.FunctionDef)
    declares.body = [inside("global mark")[0]]
    with pytest.raises(Exception, match="global"):
        Source(lambda: None, declares, "").refuse_declarations()  # type: ignore[arg-type]  # a function


@pytest.mark.parametrize(("text", "leaves"), [
    ("if a: return\nelif b: raise E\nelse: return", True), ("if a: return\nelif b: return", False), ("try: return\nexcept E: raise", True), ("try: return\nexcept E: pass", False),
    ("try: f()\nexcept E: return\nelse: return", True), ("try: f()\nfinally: return", True), ("while a: return", False), ("for i in a: pass\nelse: return", True),
    ("for i in a:\n  if i: break\nelse: return", False), ("with a: return", True), ("match a:\n  case 1: return", False),
])  # fmt: skip
def test_what_follows_does_not_run(text: str, leaves: bool) -> None:
    assert always_leaves(ast.parse(text).body) is leaves


# --- what is live and bound, against runs ------------------------------------------------------------------------------


class Tracing(dict[str, Any]):
    """The namespace that a program runs in, which notes what becomes of its names."""

    def __init__(self, outside: dict[str, Callable[..., Any]]) -> None:
        super().__init__()
        self.outside = outside
        self.log: list[tuple[str, Any]] = []

    def __getitem__(self, name: str) -> Any:
        if name in self.outside:
            return self.outside[name]
        self.log.append(("read", name))
        return super().__getitem__(name)

    def __setitem__(self, name: str, value: Any) -> None:
        self.log.append(("bind", name))
        super().__setitem__(name, value)

    def __delitem__(self, name: str) -> None:
        self.log.append(("read", name))
        super().__delitem__(name)


class Manager:
    """A context manager that may end the exception."""

    def __init__(self, ends: bool) -> None:
        self.ends = ends

    def __enter__(self) -> int:
        return 1

    def __exit__(self, *_: object) -> bool:
        return self.ends


def program(rng: random.Random, depth: int, in_loop: bool, star: bool = False) -> list[str]:
    """Random statements; `q()` decides or raises."""
    lines: list[str] = []

    def block(loop: bool = in_loop, star: bool = star) -> list[str]:
        return ["    " + line for line in program(rng, depth - 1, loop, star)]

    def name() -> str:
        return rng.choice("abc")

    for _ in range(rng.randint(1, 3)):
        kind = rng.randrange(11 if depth else 4)
        jump = [rng.choice(["break", "continue"])] if in_loop and not star and rng.random() < 0.2 else []
        if kind < 4:
            lines += rng.choice([[f"{name()} = q()"], [f"{name()} = {name()}"], [f"{name()} += 1"], ["q()"], [f"del {name()}"], [f"q() and ({name()} := 1)"], [f"({name()} := q()) < q() < ({name()} := 2)"]])
        elif kind == 4:
            lines += ["if q():", *block(), f"elif ({name()} := q()):", *block(), *(["else:", *block()] if rng.random() < 0.5 else [])]
        elif kind == 5:
            lines += [f"for {name()} in r():", *block(loop=True, star=False), *(["else:", *block()] if rng.random() < 0.5 else [])]
        elif kind == 6:
            lines += [f"while ({name()} := q()):", *block(loop=True, star=False), *(["else:", *block()] if rng.random() < 0.5 else [])]
        elif kind == 7:
            lines += [f"with m() as {name()}, m():", *block()]
        elif kind == 8:
            lines += ["match r():", f"    case [{name()}] if q():", *("    " + line for line in block()), f"    case [_, *{name()}]:", *("    " + line for line in block())]
        elif kind == 9:
            lines += ["try:", *block(), f"except KeyError as {name()}:", *block(), "except Exception:", *block(), "else:", *block()]
            lines += ["finally:", *block()] if rng.random() < 0.5 else []
        else:
            lines += ["try:", *block(star=True), f"except* KeyError as {name()}:", *block(star=True), "except* ValueError:", *block(star=True)]
        lines += jump
    return lines


def with_marks(statements: list[ast.stmt], marked: list[ast.stmt]) -> list[ast.stmt]:
    """Before each statement a call of `at` with its number."""
    made: list[ast.stmt] = []
    for node in statements:
        made += ast.parse(f"at({len(marked)})").body
        marked.append(made[-1])
        for owner in (node, *getattr(node, "handlers", ()), *getattr(node, "cases", ())):
            for field in ("body", "orelse", "finalbody"):
                if getattr(owner, field, None):
                    setattr(owner, field, with_marks(getattr(owner, field), marked))
        made.append(node)
    return made


BY_HAND = (
    "for c in r():\n    try:\n        if q(): break\n    finally:\n        a = 1\n        c = 1\n    a = 2\nb = a",
    "try:\n    raise ExceptionGroup('', [KeyError(), ValueError()])\nexcept* KeyError:\n    a = 1\n    c = 1\nexcept* ValueError:\n    b = a\na = 2",
)


@pytest.mark.parametrize("case", [*BY_HAND, *drawn("flow", list(range(600)), 60)])
def test_what_is_live_and_bound_holds_in_every_run(case: int | str) -> None:
    rng = random.Random(case)  # noqa: S311 - a test
    text = case if isinstance(case, str) else "\n".join(program(rng, 3, False))
    marked: list[ast.stmt] = []
    body = with_marks(ast.parse(text).body, marked)
    flow = Flow.of(body, frozenset("a"))
    code = compile(ast.fix_missing_locations(ast.Module(body, [])), "program", "exec")
    for _ in range(40):
        left = 200

        def q() -> int:
            nonlocal left
            left -= 1
            if left < 0 or rng.random() < 0.1:
                raise rng.choice([KeyError, ValueError])
            return rng.randrange(3)

        space = Tracing({"q": q, "r": lambda: list(range(q())), "m": lambda: Manager(rng.random() < 0.5), "at": lambda i: space.log.append(("at", (i, set(space))))})
        space["a"] = 1
        try:
            exec(code, {"KeyError": KeyError, "Exception": Exception, "ValueError": ValueError}, space)
        except Exception as e:  # as the program may
            if not isinstance(e, (KeyError, ValueError, NameError, TypeError, ExceptionGroup)):
                raise
        names = space.log
        for k, (what, found) in enumerate(names):
            if what == "at":
                i, has = found
                assert flow.bound_before[marked[i]] <= has, (text, i)
                for name in "abc":
                    then = next((w for w, n in names[k + 1 :] if n == name), None)
                    assert then != "read" or name in flow.live_after[marked[i]], (text, i, name)
