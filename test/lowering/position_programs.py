"""Random programs that read and write single elements at computed positions, in loops and behind conditions; and the same programs as Python
that notes every position it comes to."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

_ACCESS = re.compile(r"^(\s*)(?:s \+= ([ab])\[(.*)\]|([ab])\[(.*)\] = s \* 0\.5)$")


def program(seed: int) -> str:
    """The source of f(a, b, n, k): two vectors, and two ints of which nothing is known."""
    return _Writer(random.Random(seed)).program()


def instrumented(source: str) -> str:
    """The same, with `note(line, position, size)` called before each element is read or written. Lines keep their numbers."""
    lines = source.splitlines()
    for number, line in enumerate(lines):
        found = _ACCESS.match(line)
        if found:
            array, position = (found[2], found[3]) if found[2] else (found[4], found[5])
            access = f"s += {array}[p_]" if found[2] else f"{array}[p_] = s * 0.5"
            lines[number] = f"{found[1]}p_ = {position}; note({number + 1}, p_, len({array})); {access}"
    return "\n".join(lines) + "\n"


class _Writer:
    def __init__(self, chance: random.Random) -> None:
        self._chance, self._lines, self._ints, self._count = chance, list[str](), ["n", "k"], 0
        self._counts: dict[int, str] = {}  # by indent: what counts the rounds of the last loop there

    def program(self) -> str:
        self._add(0, "def f(a, b, n, k):")
        self._add(1, "s = 1.0")
        for _ in range(self._chance.randint(2, 5)):
            self._statement(1, 0)
        self._add(1, "return s")
        return "\n".join(self._lines) + "\n"

    def _add(self, indent: int, line: str) -> None:
        self._lines.append("    " * indent + line)

    def _new(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _atom(self) -> str:
        chance = self._chance
        if chance.random() < 0.8:
            return chance.choice([*self._ints[-3:], *self._ints, "len(a)", "len(b)"])
        return str(chance.choice([0, 1, 2, 3, -1, 5]))

    def _int(self, depth: int = 0) -> str:
        chance = self._chance
        if depth > 2 or chance.random() < 0.45:
            return self._atom()
        forms: list[tuple[int, Callable[[], str]]] = [
            (8, lambda: f"{self._int(depth + 1)} {chance.choice('+-')} {chance.choice([1, 1, 1, 2, 3])}"),
            (2, lambda: f"({self._atom()} - {self._atom()})"),
            (1, lambda: f"({self._int(depth + 1)}) // {chance.choice([2, 3])}"),
            (1, lambda: f"({self._int(depth + 1)}) % {chance.choice(['len(a)', 'len(b)', '3', '2'])}"),
            (1, lambda: f"{chance.choice(['min', 'max'])}({self._int(depth + 1)}, {self._int(depth + 1)})"),
            (1, lambda: f"({self._int(depth + 1)}) {chance.choice('+-')} ({self._int(depth + 1)})"),
            (1, lambda: f"{chance.choice([2, 3, -1])} * ({self._int(depth + 1)})"),
            (1, lambda: f"-({self._int(depth + 1)})"),
            (1, lambda: f"({self._int(depth + 1)} {chance.choice('&&|^')} {self._int(depth + 1)})"),
            (1, lambda: f"({self._int(depth + 1)} >> {chance.choice([0, 1, 2])})"),
        ]
        return chance.choices([f for _, f in forms], [w for w, _ in forms])[0]()

    def _condition(self, depth: int = 0) -> str:
        chance, x = self._chance, self._chance.random()
        if depth < 2 and x < 0.25:
            return f"({self._condition(depth + 1)} {chance.choice(['and', 'or'])} {self._condition(depth + 1)})"
        if depth < 2 and x < 0.32:
            return f"not {self._condition(depth + 1)}"
        if x < 0.36:
            return chance.choice([self._ints[-1], f"{self._ints[-1]} != {chance.choice([0, 1, -1])}"])
        if x < 0.45:
            return f"0 <= {self._int(1)} < {chance.choice(['len(a)', 'len(b)'])}"
        return f"{self._int(1)} {chance.choice(['<', '<=', '>', '>=', '==', '!='])} {self._int(1)}"

    def _access(self, indent: int) -> None:
        array, position = self._chance.choice("ab"), self._int()
        self._add(indent, self._chance.choice([f"s += {array}[{position}]", f"{array}[{position}] = s * 0.5"]))

    def _block(self, indent: int, depth: int, most: int) -> None:
        for _ in range(self._chance.randint(1, most)):
            self._statement(indent, depth)

    def _statement(self, indent: int, depth: int) -> None:
        chance, x, outside = self._chance, self._chance.random(), list(self._ints)
        if depth >= 3 or x < 0.45:
            self._access(indent)
            return
        if x < 0.65:
            name = self._new()
            self._add(indent, f"for {name} in range({self._range()}):")
            self._ints.append(name)
            self._block(indent + 1, depth + 1, 3)
        elif x < 0.82:
            self._add(indent, f"if {self._condition()}:")
            self._block(indent + 1, depth + 1, 2)
            if chance.random() < 0.4:
                self._add(indent, "else:")
                self._block(indent + 1, depth + 1, 1)
        elif x < 0.93:
            self._while(indent, depth)
        else:
            name = self._new()
            self._add(indent, f"{name} = {self._int()}")
            self._ints.append(name)
            return
        self._ints = outside

    def _range(self) -> str:
        low, high = self._int(1), self._int(1)
        return self._chance.choice([
            low, f"{low}, {high}", f"{low}, {high}, 2", f"{low}, {high}, -1", "len(a)", "1, len(b)", "len(a) - 1, -1, -1", f"{low}, len(a)",
        ])  # fmt: skip

    def _while(self, indent: int, depth: int) -> None:
        """A loop whose condition is asked before each round, or behind it: as a flag, or by a break."""
        chance, name, rounds = self._chance, self._new(), self._new()
        self._add(indent, f"{name} = {self._int(1)}")
        self._add(indent, f"{rounds} = 0")
        self._ints.append(name)
        step = chance.choice(["1", "-1", "1", "-1", "2"])
        up = step != "-1"
        condition = chance.choice([f"{chance.choice(self._ints)} < {chance.choice(['len(a)', 'len(b)'])}", f"{name} {'<' if up else '>'} {self._int(1)}", self._condition(),
                                   f"{name} {'<' if up else '>='} {chance.choice(['len(a)', '0', '1', 'len(b) - 1'])}"])  # fmt: skip
        how, flag = chance.random(), self._new()
        if how < 0.3:
            self._add(indent, f"{flag} = True")
        self._add(indent, f"while {flag if how < 0.3 else 'True' if how < 0.45 else f'{condition} and {rounds} < 6'}:")
        self._block(indent + 1, depth + 1, 2)
        inside = self._counts.pop(indent + 1, step)  # the rounds of a loop inside decide how far this one goes
        self._add(indent + 1, f"{name} {chance.choice([f'+= {step}', f'+= {inside}', '>>= 1', '//= 2', f'&= {name} - 1'])}")
        self._add(indent + 1, f"{rounds} += 1")
        if how < 0.3:
            self._add(indent + 1, f"{flag} = {condition} and {rounds} < 4")
        elif how < 0.45:
            self._add(indent + 1, f"if not ({condition}) or {rounds} > 3:")
            self._add(indent + 2, "break")
        if chance.random() < 0.4:
            self._access(indent + 1)
        self._counts[indent] = rounds
