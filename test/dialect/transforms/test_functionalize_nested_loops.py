"""What tierup-functionalize finds out about loops in loops: right at every depth, and in as many walks as there are loops, a few times."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import drawn
from test_functionalize import check

from tierup.dialect.passes.functional import regions

DEPTH = 12
INNERMOST = {
    "carried": ["a = a * 2 + 1"],
    "written": ["a[0] += b[1]"],
    "exchanged": ["a, b, c = b, c + 1, a"],
    "written and exchanged": ["a[0] += 1", "b = b * 2"],
}


def function_of(source: str, folder: Path) -> Any:
    path = folder / "program.py"
    path.write_text(source)
    namespace: dict[str, Any] = {"np": np}
    exec(compile(source, str(path), "exec"), namespace)
    return namespace["program"]


def nested(lines: list[str], depth: int) -> str:
    loops = ["    " * (k + 1) + f"for i{k} in range(n):" for k in range(depth)]
    body = ["    " * (depth + 1) + line for line in lines]
    return "\n".join(["def program(x, n):", "    a, b, c = x * 1, x * 2, x * 3", *loops, *body, "    return a, b, c", ""])


@pytest.mark.parametrize("innermost", INNERMOST.values(), ids=INNERMOST)
def test_walks_grow_with_the_number_of_loops_not_of_paths_to_them(innermost: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    walks = 0
    walk = regions._walk

    def counting(*args: Any) -> Any:
        nonlocal walks
        walks += 1
        return walk(*args)

    monkeypatch.setattr(regions, "_walk", counting)
    check(function_of(nested(innermost, DEPTH), tmp_path), np.arange(3.0), 1)
    assert DEPTH <= walks <= 4 * DEPTH


def random_nest(seed: int) -> str:
    """Loops in loops that exchange, replace, view and write three arrays. What it writes is an array that nothing else may be."""
    rng = random.Random(seed)
    lines = ["def program(x, n):", "    a, b, c = x * 1, x * 2, x + 1"]

    def statements(depth: int) -> None:
        indent = "    " * (depth + 1)
        for _ in range(rng.randint(1, 2)):
            u, v, w = (rng.choice("abc") for _ in range(3))
            kind = rng.randrange(7)
            if depth < 4 and kind < 3:
                lines.append(f"{indent}for i{len(lines)} in range(n):")
                statements(depth + 1)
            elif kind == 3:
                lines.append(f"{indent}{u} = {v} * 0.5 + {w}[0]")
            elif kind == 4:
                lines.append(f"{indent}{u}, {v} = {v}, {u}")
            elif kind == 5:
                lines.extend([f"{indent}{u} = {u} + 1", f"{indent}{u}[0] -= {v}[1] * 2"])
            else:
                lines.extend([f"{indent}if {v}[0] > 1:", f"{indent}    {u} = {w} + {v}[1:].sum()"])

    lines.append("    for j in range(n):")
    statements(1)
    return "\n".join([*lines, "    return a, b * 1, c + 0", ""])


@pytest.mark.parametrize("seed", drawn("nested loops", range(60), 4))
def test_nested_loops_give_what_writes_give(seed: int, tmp_path: Path) -> None:
    program = function_of(random_nest(seed), tmp_path)
    for n in (0, 1, 3):
        check(program, np.linspace(-1, 2, 4), n)
