"""Random NumPy-style functions whose values share what memory they can: made of one another, copied, viewed, written in loops and
branches, and returned in several ways. As source, since that is what the front end reads.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

_MADE = ("{0} * {0}", "{0} + 1", "{0} * {1}", "np.maximum({0}, {1})", "{0} * 1", "{0} - {1}", "np.abs({0})")
_COPIED = ("{0}.copy()", "np.array({0})", "{0} * 1", "np.zeros(len({0}))", "np.ones(len({0}))", "{0} + 0")
_WRITTEN = ("{0}[{2}] = -1.0", "{0}[{2}] = {1}[{2}]", "{0}[{2}] += {1}[{2}]", "{0}[:] = {1}", "{0} *= 2", "{0}[1:] = {1}[:-1]", "{0}[{2}] = x.sum()")
_RETURNED = (*["{0}"] * 8, "{0}[1:]", "{0}.sum()", "{0} + {1}", "{0}[::2]", "{0}.copy()")


class _Source:
    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.names: list[str] = []
        self.own: list[str] = []  # written without writing an argument

    def pick(self) -> str:
        return self.chance.choice([*self.names[-3:], *self.names])

    def one(self, forms: tuple[str, ...], target: str | None = None, at: str = "0") -> str:
        return self.chance.choice(forms).format(target or self.pick(), self.pick(), at)

    def new(self, own: bool) -> str:
        name = f"a{len(self.names)}"
        self.names.append(name)
        if own:
            self.own.append(name)
        return name

    def makes(self) -> str:
        """Mostly a copy of what there is: a value that is as good as the other until one of them is written."""
        how = self.chance.randrange(5)
        if how == 4:
            viewed = self.pick()
            return f"    {self.new(viewed in self.own)} = {viewed}"
        made = self.one(_COPIED if how else _MADE, self.chance.choice(self.own))
        return f"    {self.new(True)} = {made}"

    def writes(self, depth: int, at: str) -> Iterator[str]:
        pad, kind = "    " * depth, self.chance.randrange(6)
        if kind < 3 or depth == 3:
            yield pad + self.one(_WRITTEN, self.chance.choice(self.own), at)
        elif kind < 5:
            yield f"{pad}for i{depth} in range({self.chance.choice(('len(x)', 'n', '2'))}):"
            yield from self.body(depth + 1, f"i{depth}")
        else:
            yield f"{pad}if {self.pick()}.sum() > {self.chance.choice(('0', '3', '-9', '99'))}:"
            yield from self.body(depth + 1, at)
            if self.chance.random() < 0.5:
                yield f"{pad}else:"
                yield from self.body(depth + 1, at)

    def body(self, depth: int, at: str) -> Iterator[str]:
        for _ in range(self.chance.randint(1, 2)):
            yield from self.writes(depth, at)


def source(seed: int) -> str:
    """`def f(x, y, n)` over two arrays of one length, 3 or more, and a number of at most 3."""
    made = _Source(seed)
    made.names = ["x", "y"]
    first = made.one(_MADE)
    lines = [f"    {made.new(True)} = {first}"]
    for _ in range(made.chance.randint(1, 2)):
        lines += [made.makes() for _ in range(made.chance.randint(1, 2))]
        lines += made.writes(1, "0")
    results = [made.one(_RETURNED, name) for name in made.chance.sample(made.own, min(len(made.own), made.chance.randint(2, 4)))]
    return "\n".join(["def f(x, y, n):", *lines, f"    return {', '.join(results)},", ""])
