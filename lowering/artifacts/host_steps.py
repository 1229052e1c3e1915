"""The host's part of a program on the GPU: allocations, views and launches, as steps that a small interpreter runs.

    ("size", 2, 0, 0)                                    value 2 is the size of axis 0 of value 0
    ("constant", 3, 255)
    ("add", 4, 2, 3)
    ("launch", "f_0", (5, 6, 6), (7, 6, 6), -1, ((0, 1), (0, 3), (1, 1)))

Values have numbers, the program's arguments the first ones. No step hangs on MLIR: a program is plain tuples of ints and strings,
goes into a bundle as JSON, and runs on a machine without a compiler (`docs/cuda.md` lists the steps). Numbers are the host's; what lies
on the device only kernels touch, but for "read" and "write" of single elements, each of which waits for the device.

    ("for", 8, 3, 4, 5, (...))                           value 8 counts from value 3 up to value 4 by value 5, in the steps inside
    ("if", 8, (...), (...))                              the first steps where value 8 is true, else the second
    ("while", 8, (...), (...))                           the first steps; then, as long as value 8 is true, the second and again the first
    ("move", 9, 2)                                       value 9 is value 2 from now on: what loops carry and branches give
    ("cast", 9, 2, "f32")                                value 9 is value 2 rounded to that type; an int loses the bits that do not fit
    ("exit", 3, (2, 9))                                  an assumption fails: the program ends at exit 3 with values 2 and 9
    ("forced", 9, 3)                                     value 9 is whether a test wants assumption 3 to fail, each time that it is asked

    ("fits", 8, "ab,bc->ac", (0, 1), 134217728, 128)     value 8 is whether NVIDIA's library is to compute this product of buffers: it is
                                                         there and takes them as they lie, and there are so many multiplications or
                                                         more, and so many for each element; a third buffer is the result
    ("multiply", "product_0", "ab,bc->ac", (0, 1, 2), ("adds",))    by the library, where it fits; flags: `ADDS`, `TF32`

A launch's parameter is a pair: (value, -1) is the number itself; (buffer, field) a field of the buffer's descriptor: 1 its memory's
address, 2 its offset in elements, 3 ... its sizes, then its strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

from tierup.dialect.base.records import dataclass

Step = tuple[Any, ...]  # a name and what it says of: numbers, names and tuples of them, nested as JSON is
NOTHING = -1
NUMBER = -1  # the field of a parameter that is a number
ADDS, TF32 = "adds", "tf32"  # a product adds to what its result holds; may round what it multiplies to TF32
BODIES = {"for": 5, "if": 2, "while": 2}  # where the steps begin that a step has inside


@dataclass(frozen=True)
class Constant:
    """Data that the program brings: `dtype` as MLIR spells it, C order."""

    dtype: str
    sizes: tuple[int, ...]
    data: bytes


@dataclass(frozen=True)
class HostProgram:
    """`arguments`: how many values are given. `returns`: the values that come back: numbers, and buffers of its own, which are the caller's
    from then on. `kernels`: their names, in order of launch. By kernel: `types` of its parameters as MLIR spells them, "ptr" for an
    address; `origins`, the op it is made of and the user's line; `alone`, of those whose loops are all one thread's, why that is so.
    Products that NVIDIA's library may compute have origins too. `reads`: by the number that a read gives, for which op the host waits, and
    the user's line."""

    arguments: int
    steps: tuple[Step, ...]
    returns: tuple[int, ...]
    kernels: tuple[str, ...]
    constants: dict[str, Constant]
    types: dict[str, tuple[str, ...]] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    alone: dict[str, str] = field(default_factory=dict)
    reads: dict[int, str] = field(default_factory=dict)

    @property
    def products(self) -> tuple[str, ...]:
        """The names of the products that NVIDIA's library may compute."""
        return tuple(str(step[1]) for step in walk(self.steps) if step[0] == "multiply")

    @property
    def synchronises(self) -> bool:
        """Whether the host waits for the device in mid-program, to read a number."""
        return any(step[0] == "read" for step in walk(self.steps))


def walk(steps: Sequence[Step]) -> Sequence[Step]:
    """All steps, those of loops and branches too."""
    found: list[Step] = []
    for step in steps:
        found.append(step)
        for body in step[BODIES.get(step[0], len(step)) :]:
            found.extend(walk(body))
    return found


def reads_of_assumptions(program: HostProgram) -> dict[int, frozenset[int]]:
    """By the index of an exit, the reads that decide whether it is taken, by the numbers that they give; none for one that sizes and the
    host's own numbers decide."""
    uses: dict[int, set[int]] = {}
    asked: dict[int, set[int]] = {}

    def visit(steps: Sequence[Step], condition: int) -> None:
        for step in steps:
            name, *parts = step
            if name == "exit":
                asked.setdefault(parts[0], set()).add(condition)
            elif name == "cast":
                uses.setdefault(parts[0], set()).add(parts[1])
            elif name not in _NO_NUMBERS and name not in BODIES:
                uses.setdefault(parts[0], set()).update(parts[1:])
            for body in step[BODIES.get(name, len(step)) :]:
                visit(body, parts[0] if name == "if" else condition)

    visit(program.steps, NOTHING)
    found = {}
    for index, conditions in asked.items():
        seen, left = set(conditions), list(conditions)
        while left:
            for number in uses.get(left.pop(), ()):
                if number not in seen:
                    seen.add(number)
                    left.append(number)
        found[index] = frozenset(seen & set(program.reads))
    return found


_NO_NUMBERS = frozenset({
    "constant", "forced", "launch", "data", "free", "write", "allocate", "view", "base", "field", "size", "read",
    "fits", "multiply",
})  # fmt: skip
