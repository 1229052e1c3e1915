"""Random programs of the pristine graph for hypothesis: tensors that are written, views, lists that grow, branches, loops, errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

TENSOR, SCALAR, INT, BOOL, LIST = "!torch.tensor", "!torch.tensor", "!torch.int", "!torch.bool", "!torch.list<tensor>"
TYPES = {"tensor": TENSOR, "element": SCALAR, "int": INT, "bool": BOOL, "list": LIST}
ARGUMENTS = {"x": "tensor", "y": "tensor", "n": "int", "c": "bool"}  # float64 arrays of 3 elements, a number, a truth value
MAX_DEPTH = 2


@dataclass
class _Builder:
    """Draws ops into `lines`. `scope`: the names that may be used here, by kind; a branch or a round of a loop gets a copy."""

    draw: Callable[[Any], Any]
    lines: list[str] = field(default_factory=list)
    scope: dict[str, list[str]] = field(default_factory=lambda: {k: [] for k in TYPES})
    count: int = 0

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))  # type: ignore[no-any-return]

    def pick(self, kind: str) -> str:
        if not self.scope[kind]:
            return self.fallback(kind)
        return self.draw(st.sampled_from(self.scope[kind]))  # type: ignore[no-any-return]

    def fallback(self, kind: str) -> str:
        if kind == "element":
            return self.op(kind, f"torch.aten.select.int %{self.pick('tensor')}, %zero, %zero : {TENSOR}, {INT}, {INT} -> {SCALAR}")
        assert kind == "list"  # the others are arguments
        return self.op(kind, f"torch.prim.ListConstruct %{self.pick('tensor')}, %{self.pick('tensor')} : ({TENSOR}, {TENSOR}) -> {LIST}")

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def op(self, kind: str, text: str) -> str:
        name = self.name()
        self.lines.append(f"%{name} = {text}")
        self.scope[kind].append(name)
        return name

    def statement(self, depth: int) -> None:
        makers = [self.compute, self.compute, self.view, self.write, self.grow, self.take, self.arithmetic, self.arithmetic, self.compare]
        if depth < MAX_DEPTH:
            makers += [self.branch, self.loop]
        maker = makers[self.number(0, len(makers) - 1)]
        if maker in (self.branch, self.loop):
            maker(depth)  # type: ignore[call-arg]
        else:
            maker()  # type: ignore[call-arg]

    def compute(self) -> None:
        a, b = self.pick("tensor"), self.pick("tensor")
        self.op("tensor", [
            f"torch.aten.tanh %{a} : {TENSOR} -> {TENSOR}",
            f"torch.aten.add.Tensor %{a}, %{b}, %one : {TENSOR}, {TENSOR}, {INT} -> {TENSOR}",
            f"torch.aten.mul.Scalar %{a}, %{self.pick('int')} : {TENSOR}, {INT} -> {TENSOR}",
            f"torch.aten.clone %{a}, %none : {TENSOR}, !torch.none -> {TENSOR}",
            f"torch.tensor_static_info_cast %{self.literal()} : !torch.tensor<[3],f64> to {TENSOR}",
        ][self.number(0, 4)])  # fmt: skip

    def literal(self) -> str:
        name = self.name()
        elements = [0.5 * self.number(-2, 2) for _ in range(3)]
        self.lines.append(f"%{name} = torch.tensor.literal(dense<{elements}> : tensor<3xf64>) : !torch.tensor<[3],f64>")
        return name

    def view(self) -> None:
        a = self.pick("tensor")
        if self.number(0, 1):
            self.op("tensor", f"torch.aten.detach %{a} : {TENSOR} -> {TENSOR}")
        else:
            index = self.pick("int") if self.number(0, 3) == 0 else "zero"
            self.op("element", f"torch.aten.select.int %{a}, %zero, %{index} : {TENSOR}, {INT}, {INT} -> {SCALAR}")

    def write(self) -> None:
        kind = "element" if self.number(0, 2) == 0 else "tensor"
        a = self.pick(kind)
        text = [
            f"torch.aten.zero_ %{a} : {TENSOR} -> {TENSOR}",
            f"torch.aten.add_.Tensor %{a}, %{self.pick(kind)}, %one : {TENSOR}, {TENSOR}, {INT} -> {TENSOR}",
            f"torch.aten.mul_.Scalar %{a}, %{self.pick('int')} : {TENSOR}, {INT} -> {TENSOR}",
        ][self.number(0, 2)]
        self.op(kind, text)

    def grow(self) -> None:
        self.op("list", f"torch.aten.append.t %{self.pick('list')}, %{self.pick('tensor')} : {LIST}, {TENSOR} -> {LIST}")

    def take(self) -> None:
        a = self.pick("list")
        if self.number(0, 1):
            self.op("int", f"torch.aten.len.t %{a} : {LIST} -> {INT}")
        else:
            index = self.pick("int") if self.number(0, 3) == 0 else "zero"
            self.op("tensor", f"torch.aten.__getitem__.t %{a}, %{index} : {LIST}, {INT} -> {TENSOR}")

    def arithmetic(self) -> None:
        a, b = self.pick("int"), self.pick("int")
        self.op("int", [
            f"torch.constant.int {self.number(-3, 3)}",
            f"torch.aten.add.int %{a}, %{b} : {INT}, {INT} -> {INT}",
            f"torch.aten.mul.int %{a}, %{b} : {INT}, {INT} -> {INT}",
            f"torch.aten.floordiv.int %{a}, %{b} : {INT}, {INT} -> {INT}",
        ][self.number(0, 3)])  # fmt: skip

    def compare(self) -> None:
        self.op("bool", [
            f"torch.constant.bool {'true' if self.number(0, 1) else 'false'}",
            f"torch.aten.lt.int %{self.pick('int')}, %{self.pick('int')} : {INT}, {INT} -> {BOOL}",
            f"torch.aten.__not__ %{self.pick('bool')} : {BOOL} -> {BOOL}",
        ][self.number(0, 2)])  # fmt: skip

    def body(self, depth: int, statements: int) -> None:
        for _ in range(statements):
            self.statement(depth)

    def branch(self, depth: int) -> None:
        condition = self.pick("bool")
        kinds = [["tensor", "int", "list", "tensor"][self.number(0, 3)] for _ in range(self.number(0, 3))]
        name = self.name()
        types = ", ".join(TYPES[k] for k in kinds)
        outer = self.scope
        arms = []
        for _ in range(2):
            self.scope, before = {k: list(v) for k, v in outer.items()}, len(self.lines)
            self.body(depth + 1, self.number(0, 3))
            values = [self.pick(k) for k in kinds]
            arms.append(self.lines[before:])
            del self.lines[before:]
            arms[-1].append("torch.prim.If.yield" + (" " + ", ".join(f"%{v}" for v in values) + f" : {types}" if values else ""))
        self.scope = outer
        head = f"%{name}:{len(kinds)} = " if kinds else ""
        self.lines += [f"{head}torch.prim.If %{condition} -> ({types}) {{", *arms[0], "} else {", *arms[1], "}"]
        for i, kind in enumerate(kinds):
            self.scope[kind].append(f"{name}#{i}")

    def loop(self, depth: int) -> None:
        trip = self.op("int", f"torch.constant.int {self.number(-1, 3)}")
        start = self.pick("bool") if self.number(0, 3) == 0 else "true"
        kinds = [["tensor", "int", "list", "tensor"][self.number(0, 3)] for _ in range(self.number(0, 3))]
        inits = [self.pick(k) for k in kinds]
        name, counter = self.name(), self.name()
        arguments = [self.name() for _ in kinds]
        outer = self.scope
        self.scope, before = {k: list(v) for k, v in outer.items()}, len(self.lines)
        self.scope["int"].append(counter)
        for kind, argument in zip(kinds, arguments, strict=True):
            self.scope[kind].append(argument)
        self.body(depth + 1, self.number(0, 4))
        after = [self.pick(k) for k in kinds]
        again = self.pick("bool") if self.number(0, 3) == 0 else "true"
        inside = self.lines[before:]
        del self.lines[before:]
        self.scope = outer
        types = ", ".join(TYPES[k] for k in kinds)
        carried = "".join(f", %{a}: {TYPES[k]}" for a, k in zip(arguments, kinds, strict=True))
        yielded = ", ".join(f"%{v}" for v in after) + (f" : {types}" if kinds else "")
        head = f"%{name}:{len(kinds)} = " if kinds else ""
        self.lines += [
            f"{head}torch.prim.Loop %{trip}, %{start}, init({', '.join(f'%{v}' for v in inits)}) {{",
            f"^bb0(%{counter}: {INT}{carried}):",
            *inside,
            f"torch.prim.Loop.condition %{again}, iter({yielded})",
            f"}} : ({', '.join([INT, BOOL, *(TYPES[k] for k in kinds)])}) -> ({types})",
        ]
        for i, kind in enumerate(kinds):
            self.scope[kind].append(f"{name}#{i}")


@st.composite
def programs(draw: Callable[[Any], Any], max_statements: int = 10) -> str:
    """The text of a module with one function `f`, whose arguments ARGUMENTS names."""
    builder = _Builder(draw)
    for name, kind in ARGUMENTS.items():
        builder.scope[kind].append(name)
    builder.lines += ["%zero = torch.constant.int 0", "%one = torch.constant.int 1", "%true = torch.constant.bool true"]
    builder.lines += ["%none = torch.constant.none"]
    builder.body(0, builder.number(1, max_statements))
    kinds = [["tensor", "int", "list", "tensor"][builder.number(0, 3)] for _ in range(builder.number(1, 3))]
    results = [builder.pick(k) for k in kinds]
    types = ", ".join(TYPES[k] for k in kinds)
    arguments = ", ".join(f"%{name}: {TYPES[kind]}" for name, kind in ARGUMENTS.items())
    returned = f"return {', '.join(f'%{r}' for r in results)} : {types}"
    return "\n".join([f"func.func @f({arguments}) -> ({types}) {{", *builder.lines, returned, "}"])
