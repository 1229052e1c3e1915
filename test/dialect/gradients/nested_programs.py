"""Random programs of branches and loops inside one another: a tree of statements, as text in MLIR and as a function on tensors of PyTorch.

Three variables, vectors of 3 that change and never change size. Loops count, or go on while data say so; branches ask data; a statement in
a loop may read the variable whose number the loop counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from tierup.dialect.base.records import dataclass

T, L, I = "!torch.vtensor", "!torch.list<vtensor>", "!torch.int"  # noqa: E741
VARIABLES = 3


@dataclass(frozen=True)
class Step:
    """One op on variables `a` and `b`, whose value becomes that of `a`."""

    op: str
    a: int
    b: int


@dataclass(frozen=True)
class Branch:
    """On whether the sum of a variable is above a number."""

    of: int
    above: float
    arms: tuple[tuple[Any, ...], tuple[Any, ...]]


@dataclass(frozen=True)
class Repeat:
    """`count` times; `of`: and only while the sum of that variable is above a number."""

    count: int
    of: int | None
    above: float
    body: tuple[Any, ...]


OPS = ("mul", "add", "sin", "exp", "outer", "joined", "picked", "flipped")
_numbers, _variables = st.sampled_from([-1.1, -0.3, 0.21, 0.9]), st.integers(0, VARIABLES - 1)
_steps = st.builds(Step, st.sampled_from(OPS), _variables, _variables)
_blocks = st.recursive(
    st.lists(_steps, max_size=2).map(tuple),
    lambda inner: st.lists(
        st.one_of(
            _steps,
            st.builds(Branch, _variables, _numbers, st.tuples(inner, inner)),
            st.builds(Repeat, st.integers(0, 3), st.none() | _variables, _numbers, inner),
        ),
        min_size=1,
        max_size=3,
    ).map(tuple),
    max_leaves=6,
)  # fmt: skip
programs = _blocks


class _Text:
    """The lines of a program; `fresh` numbers its values."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def fresh(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def make(self, op: str, operands: Sequence[str], types: Sequence[str], result: str = T) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = torch.{op} {', '.join(operands)} : {', '.join(types)} -> {result}")
        return name

    def sum_is_above(self, value: str, number: float) -> str:
        limit = self.fresh()
        self.lines.append(f"{limit} = torch.constant.float {number!r}")
        total = self.make("aten.sum", [value, "%none"], [T, "!torch.none"])
        above = self.make("aten.gt.Scalar", [total, limit], [T, "!torch.float"])
        return self.make("aten.Bool.Tensor", [above], [T], "!torch.bool")

    def listed(self, values: Sequence[str]) -> str:
        name = self.fresh()
        self.lines.append(f"{name} = torch.prim.ListConstruct {', '.join(values)} : ({', '.join([T] * len(values))}) -> {L}")
        return name

    def block(self, statements: Sequence[Any], values: list[str], number: str) -> list[str]:
        for statement in statements:
            values = self.statement(statement, list(values), number)
        return values

    def statement(self, s: Any, values: list[str], number: str) -> list[str]:
        if isinstance(s, Step):
            values[s.a] = self.step(s, values, number)
            return values
        names, types = [self.fresh() for _ in values], ", ".join([T] * len(values))
        if isinstance(s, Branch):
            condition = self.sum_is_above(values[s.of], s.above)
            self.lines.append(f"{', '.join(names)} = torch.prim.If {condition} -> ({types}) {{")
            for k, arm in enumerate(s.arms):
                self.lines += ["} else {"] if k else []
                self.lines.append(f"torch.prim.If.yield {', '.join(self.block(arm, list(values), number))} : {types}")
            self.lines.append("}")
            return names
        start = "%true" if s.of is None else self.sum_is_above(values[s.of], s.above)
        count, i = self.fresh(), self.fresh()
        self.lines.append(f"{count} = torch.constant.int {s.count}")
        self.lines.append(f"{', '.join(names)} = torch.prim.Loop {count}, {start}, init({', '.join(values)}) {{")
        inside = [self.fresh() for _ in values]
        self.lines.append(f"^bb0({i}: {I}, {', '.join(f'{v}: {T}' for v in inside)}):")
        after = self.block(s.body, inside, i)
        on = "%true" if s.of is None else self.sum_is_above(after[s.of], s.above)
        self.lines.append(f"torch.prim.Loop.condition {on}, iter({', '.join(after)} : {types})")
        self.lines.append(f"}} : ({I}, !torch.bool, {types}) -> ({types})")
        return names

    def step(self, s: Step, values: list[str], number: str) -> str:
        a, b = values[s.a], values[s.b]
        if s.op == "mul":
            return self.make("aten.mul.Tensor", [a, b], [T, T])
        if s.op == "add":
            return self.make("aten.add.Tensor", [a, b, "%one"], [T, T, I])
        if s.op == "sin":
            return self.make("aten.sin", [self.make("aten.sub.Tensor", [a, b, "%two"], [T, T, I])], [T])
        if s.op == "exp":
            return self.make("aten.exp", [self.make("aten.sin", [b], [T])], [T])
        if s.op == "outer":
            column = self.make("aten.unsqueeze", [a, "%one"], [T, I])
            square = self.make("aten.mul.Tensor", [column, b], [T, T])
            dims = self.fresh()
            self.lines.append(f"{dims} = torch.prim.ListConstruct %zero : ({I}) -> !torch.list<int>")
            total = self.make("aten.mean.dim", [square, dims, "%false", "%none"], [T, "!torch.list<int>", "!torch.bool", "!torch.none"])
            return self.make("aten.tanh", [total], [T])
        if s.op == "joined":
            both = self.make("aten.cat", [self.listed([a, b]), "%zero"], [L, I])
            return self.make("aten.slice.Tensor", [both, "%zero", "%one", "%none", "%two"], [T, I, I, "!torch.none", I])
        if s.op == "picked":
            k = self.make("aten.sub.int", [number, "%two"], [I, I], I)
            return self.make("aten.__getitem__.t", [self.listed(values), k], [L, I])
        dims = self.fresh()
        self.lines.append(f"{dims} = torch.prim.ListConstruct %zero : ({I}) -> !torch.list<int>")
        return self.make("aten.mul.Tensor", [self.make("aten.flip", [a, dims], [T, "!torch.list<int>"]), b], [T, T])


def text(program: Sequence[Any]) -> str:
    """@f of the three variables, which gives a number."""
    t = _Text()
    t.lines += [f"%{n} = torch.constant.int {v}" for n, v in (("zero", 0), ("one", 1), ("two", 2))]
    t.lines += [f"%{n} = torch.constant.bool {n}" for n in ("true", "false")] + ["%none = torch.constant.none"]
    values = t.block(program, ["%x", "%y", "%z"], "%one")
    total = t.make("aten.sum", [t.make("aten.cat", [t.listed(values), "%zero"], [L, I]), "%none"], [T, "!torch.none"])
    body = "\n  ".join(t.lines)
    return f"func.func @f(%x: {T}, %y: {T}, %z: {T}) -> {T} {{\n  {body}\n  return {total} : {T}\n}}"


def function(program: Sequence[Any], torch: Any) -> Callable[..., Any]:
    """The same on PyTorch's tensors."""

    def step(s: Step, values: list[Any], number: int) -> Any:
        a, b = values[s.a], values[s.b]
        return {
            "mul": lambda: a * b,
            "add": lambda: a + b,
            "sin": lambda: torch.sin(a - 2 * b),
            "exp": lambda: torch.exp(torch.sin(b)),
            "outer": lambda: torch.tanh((a[:, None] * b).mean(0)),
            "joined": lambda: torch.cat([a, b])[1::2],
            "picked": lambda: values[number - 2],
            "flipped": lambda: a.flip(0) * b,
        }[s.op]()

    def block(statements: Sequence[Any], values: list[Any], number: int) -> list[Any]:
        for s in statements:
            values = list(values)
            if isinstance(s, Step):
                values[s.a] = step(s, values, number)
            elif isinstance(s, Branch):
                values = block(s.arms[0 if values[s.of].sum() > s.above else 1], values, number)
            else:
                for i in range(s.count):
                    if s.of is not None and not values[s.of].sum() > s.above:
                        break
                    values = block(s.body, values, i)
        return values

    return lambda *values: sum(v.sum() for v in block(program, list(values), 1))
