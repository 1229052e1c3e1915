"""`numpy_program(seed)`: a random program in NumPy's Python, with calls. Plain NumPy is its oracle."""

from __future__ import annotations

import random
from dataclasses import dataclass

import family_complex  # noqa: F401 - adds its statements
import family_containers  # noqa: F401
import family_control  # noqa: F401
import family_elementwise  # noqa: F401
import family_functions  # noqa: F401
import family_indexing  # noqa: F401
import family_islands  # noqa: F401
import family_keywords  # noqa: F401
import family_lists  # noqa: F401
import family_movement  # noqa: F401
import family_products  # noqa: F401
import family_reductions  # noqa: F401
import family_writes  # noqa: F401
from arguments import Call, Parameter, arguments, calls, parameters
from draft import Draft, indented, is_array
from families import grow

# what a program is mostly about: weights of families; others have 1
THEMES: tuple[dict[str, float], ...] = (
    {}, {}, {"writes": 4}, {"writes": 3, "control": 3}, {"control": 4}, {"indexing": 4, "writes": 2}, {"reductions": 4}, {"elementwise": 3, "scalars": 3}, {"containers": 5, "control": 2},
    {"movement": 4, "writes": 2}, {"products": 8, "reductions": 2}, {"functions": 6}, {"functions": 3, "control": 3},
)  # fmt: skip


@dataclass(frozen=True)
class NumpyProgram:
    """`source` defines f."""

    source: str
    parameters: list[Parameter]
    calls: list[Call]
    seed: object


def numpy_program(seed: object, most: int = 10, *, islands: bool = False, keywords: bool = False, lists: bool = False) -> NumpyProgram:
    """`islands`: with statements that are not translated, and a list in which they note what happens; `keywords`: of functions and arguments
    that few programs have; `lists`: of lists that are arguments."""
    chance = random.Random(f"numpy {seed}" + " islands" * islands + " keywords" * keywords + " lists" * lists)
    made = parameters(chance, complex_numbers=True, lists=lists)
    planned = calls(chance, made)
    values = dict(zip((p.name for p in made), arguments(made, planned[0]), strict=True))
    draft = Draft(chance, values, raises=chance.choice((0.0, 0.0, 0.05)), islands=islands, keywords=keywords, lists=lists)
    if islands:
        draft.keep(["log = []"])
    grow(draft, chance.randint(1, most), {**chance.choice(THEMES), **({"islands": 3.0} if islands else {}), **({"keywords": 20.0} if keywords else {}), **({"lists": 40.0} if lists else {})})
    last = f"return ({results(draft)}), log" if islands else f"return {results(draft)}"
    source = "\n".join([f"def f({', '.join(p.name for p in made)}):", *indented([*draft.lines, last])]) + "\n"
    source = source.replace("break  # return ", "return ")  # drawn in no function
    return NumpyProgram(source, made, planned, seed)


def results(draft: Draft) -> str:
    """Some of the values, alone or together."""
    chance = draft.chance
    names = draft.names(lambda v: is_array(v) or isinstance(v, (bool, int, float, complex)) or type(v) is list)
    local = [n for n in names if n.startswith("v")]
    chosen = [chance.choice(local if local and chance.random() < 0.8 else names) for _ in range(chance.choice((1, 2, 2, 3, 4)))]
    if local and local[-1] not in chosen:
        chosen[0] = local[-1]
    if len(chosen) == 1:
        return chosen[0]
    chosen = list(dict.fromkeys(chosen)) if chance.random() < 0.8 else chosen
    return chance.choice((", ".join, ", ".join, lambda n: f"[{', '.join(n)}]", lambda n: "{" + ", ".join(f"'{k}{i}': {k}" for i, k in enumerate(n)) + "}"))(chosen)
