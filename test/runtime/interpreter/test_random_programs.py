"""Random nests of branches and loops over tensors, against a direct evaluation: no name is deleted too early or mixed up."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from interpreter_programs import main

Env = dict[str, Any]
Step = Callable[[Env], None]


class Generator:
    """Makes MLIR and, with it, the steps that compute the same over a dictionary."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def block(self, tensors: list[str], flags: list[str], depth: int) -> tuple[str, list[Step], list[str], list[str]]:
        """Text, steps, and the tensors and flags in scope at the end."""
        tensors, flags = list(tensors), list(flags)
        lines: list[str] = []
        steps: list[Step] = []
        for _ in range(self.random.randint(1, 5)):
            kind = self.random.choice(["sum", "sum", "flag", "if", "loop"] if depth < 3 else ["sum"])
            text, step, made = getattr(self, kind)(tensors, flags, depth)
            lines.append(text)
            steps.append(step)
            (flags if kind == "flag" else tensors).extend(made)
        return "\n".join(lines), steps, tensors, flags

    def sum(self, tensors: list[str], flags: list[str], depth: int) -> tuple[str, Step, list[str]]:
        a, b, r = self.random.choice(tensors), self.random.choice(tensors), self.name()

        def step(env: Env) -> None:
            env[r] = env[a] - 2 * env[b]

        return f"{r} = torch.aten.sub.Tensor {a}, {b}, %c2 : !t, !t, !i -> !t", step, [r]

    def flag(self, tensors: list[str], flags: list[str], depth: int) -> tuple[str, Step, list[str]]:
        a, r = self.random.choice(tensors), self.name()

        def step(env: Env) -> None:
            env[r] = bool(env[a] > 0)

        return f"{r}t = torch.aten.gt.Scalar {a}, %c0 : !t, !i -> !t\n{r} = torch.aten.Bool.Tensor {r}t : !t -> !b", step, [r]

    def results(self, tensors: list[str], count: int) -> list[str]:
        return [self.random.choice(tensors) for _ in range(count)]

    def types(self, count: int) -> str:
        return "(" + ", ".join(["!t"] * count) + ")"

    def named(self, count: int) -> tuple[str, list[str]]:
        name = self.name()
        return (f"{name}:{count} = ", [f"{name}#{i}" for i in range(count)]) if count else ("", [])

    def _yield(self, values: list[str]) -> str:
        return f"{', '.join(values)} : {', '.join(['!t'] * len(values))}" if values else ""

    def if_(self, tensors: list[str], flags: list[str], depth: int) -> tuple[str, Step, list[str]]:
        condition, count = self.random.choice(flags), self.random.randint(0, 3)
        head, made = self.named(count)
        arms = []
        for _ in range(2):
            text, steps, scope, _ = self.block(tensors, flags, depth + 1)
            if self.random.random() < 0.2:
                text, steps, scope = "", [], tensors
            arms.append((text, steps, self.results(scope, count)))
        bodies = [f"{text}\ntorch.prim.If.yield {self._yield(values)}" for text, _, values in arms]

        def step(env: Env) -> None:
            _, steps, values = arms[0 if env[condition] else 1]
            inner = dict(env)
            for s in steps:
                s(inner)
            env.update(zip(made, [inner[v] for v in values], strict=True))

        return f"{head}torch.prim.If {condition} -> {self.types(count)} {{\n{bodies[0]}\n}} else {{\n{bodies[1]}\n}}", step, made

    def loop(self, tensors: list[str], flags: list[str], depth: int) -> tuple[str, Step, list[str]]:
        count, trips = self.random.randint(0, 3), self.random.choice(["%c0", "%c1", "%c2", "%c3", "%m1"])
        start = self.random.choice([*flags, "%true", "%true"])
        inits = self.results(tensors, count)
        head, made = self.named(count)
        carried = [self.name() for _ in range(count)]
        text, steps, scope, inner_flags = self.block([*tensors, *carried], flags, depth + 1)
        values, goes_on = self.results(scope[-4:], count), self.random.choice([*inner_flags, "%true", "%true"])
        arguments = ", ".join([f"{self.name()}: !i", *(f"{c}: !t" for c in carried)])
        types = ["!i", "!b", *["!t"] * count]

        def step(env: Env) -> None:
            current, go, trip = [env[v] for v in inits], env[start], 0
            while trip < env[trips] and go:
                inner = {**env, **dict(zip(carried, current, strict=True))}
                for s in steps:
                    s(inner)
                current, go, trip = [inner[v] for v in values], inner[goes_on], trip + 1
            env.update(zip(made, current, strict=True))

        return (
            (f"{head}torch.prim.Loop {trips}, {start}, init({', '.join(inits)}) {{\n^bb0({arguments}):\n{text}\n"
            f"torch.prim.Loop.condition {goes_on}, iter({self._yield(values)})\n}} : ({', '.join(types)}) -> {self.types(count)}"),
            step,
            made,
        )


setattr(Generator, "if", Generator.if_)


@pytest.mark.parametrize("seed", range(60))
def test_random_nest_agrees_with_direct_evaluation(seed: int) -> None:
    generator = Generator(seed)
    text, steps, scope, _ = generator.block(["%x", "%y"], ["%p", "%true", "%false"], 0)
    results = [generator.random.choice(scope) for _ in range(3)]
    f = main("(%x: !t, %y: !t, %p: !b) -> (!t, !t, !t)", f"{text}\nreturn {', '.join(results)} : !t, !t, !t")
    for p in (True, False):
        x, y = np.array(3), np.array(-5)
        env: Env = {"%x": x, "%y": y, "%p": p, "%true": True, "%false": False, "%m1": -1, "%c0": 0, "%c1": 1, "%c2": 2, "%c3": 3}
        with np.errstate(over="ignore"):
            for step in steps:
                step(env)
        got = f(x, y, p)
        assert [int(v) for v in got] == [int(env[r]) for r in results], f.source
