"""Arguments of generated programs: what each is, and how one call differs from the next."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

DTYPES = ("float32", "float64", "int64", "int32", "bool", "uint8", "int8", "int16", "float16", "uint16", "uint32", "uint64")
WEIGHTS = (30, 20, 14, 8, 8, 4, 3, 3, 3, 2, 3, 3)
DIMS = ((), ("n",), ("n",), ("n", "m"), ("n", "m"), ("m",), ("n", "n"), (1, "m"), ("n", 1), ("m", "n"), ("k", "n", "m"), ("m", "k"))
LAYOUTS = ("plain", "fortran", "stepped", "reversed", "read-only", "offset")
PAIRS = ("same", "view", "shifted", "transposed")


@dataclass(frozen=True)
class Parameter:
    """`dtype`: of an array with these dims; or int, pyfloat, pybool, pycomplex for a number; ints, floats, bools, rows, tuples for a list."""

    name: str
    dtype: str
    dims: tuple[str | int, ...] | None = None


@dataclass(frozen=True)
class Call:
    """`sizes`: what dims stand for. `layouts`, `dtypes`: of parameters that have others than usual. `pair`: two parameters, and how the
    second lies in the memory of the first."""

    sizes: dict[str, int]
    seed: int
    layouts: dict[int, str] = field(default_factory=dict)
    dtypes: dict[int, str] = field(default_factory=dict)
    pair: tuple[int, int, str] | None = None
    special: bool = False
    times: int = 1


def parameters(
    chance: random.Random, dtypes: tuple[str, ...] = DTYPES, weights: tuple[int, ...] = WEIGHTS, *, complex_numbers: bool = False, lists: bool = False
) -> list[Parameter]:
    made: list[Parameter] = []
    for name in ("x", "y", "z")[: chance.choice((1, 2, 2, 3))]:
        arrays = [p for p in made if p.dims is not None]
        if arrays and chance.random() < 0.5:  # two of a kind: they may share memory
            made.append(replace(chance.choice(arrays), name=name))
        else:
            made.append(Parameter(name, chance.choices(dtypes, weights)[0], chance.choice(DIMS)))
    for name, dtype in (("i", "int"), ("s", "pyfloat"), ("p", "pybool")):
        if chance.random() < (0.35 if name == "i" else 0.2):
            made.append(Parameter(name, dtype))
    if complex_numbers and chance.random() < 0.15:
        made.append(Parameter("c", "pycomplex"))
    if lists:
        made = [*made[: chance.choice((0, 1, 1))], *(Parameter(name, chance.choice(LISTS)) for name in ("l", "h")[: chance.choice((1, 1, 2))])]
    return made


def calls(chance: random.Random, made: list[Parameter]) -> list[Call]:
    """The calls of one program: the same sizes several times, others, then odd ones."""

    def sizes(least: int = 2) -> dict[str, int]:
        return {d: chance.choice((2, 3, 4, 5, 6)) if least else chance.choice((0, 1, 1, 2, 3)) for d in ("n", "m", "k")}

    seed = chance.randrange(1 << 30)
    arrays = [i for i, p in enumerate(made) if p.dims is not None]
    first = Call(sizes(), seed, times=3)
    found = [first, replace(first, seed=seed + 1)]
    found += [Call(sizes(), seed + 2 + k, times=2) for k in range(chance.choice((1, 1, 2, 3)))]
    odd: list[Call] = [Call(sizes(0), seed + 20 + k) for k in range(2)]
    odd.append(replace(first, seed=seed + 30, special=True))
    for k in range(2):
        if arrays:
            odd.append(replace(first, seed=seed + 40 + k, layouts={i: chance.choice(LAYOUTS) for i in arrays if chance.random() < 0.7}, times=2))
    pairs = [(i, j) for i in arrays for j in arrays if i < j and made[i] == replace(made[j], name=made[i].name)]
    for i, j in pairs:
        for how in chance.sample(PAIRS, 2):
            odd.append(replace(first, seed=seed + 50, pair=(i, j, how), times=2))
    if arrays and chance.random() < 0.3:
        i = chance.choice(arrays)
        odd.append(replace(first, seed=seed + 60, dtypes={i: chance.choices(DTYPES, WEIGHTS)[0]}, times=2))
    lists = [i for i, p in enumerate(made) if p.dtype in LISTS]
    if lists:
        odd.append(replace(first, seed=seed + 80, layouts=dict.fromkeys(lists, "twice"), times=2))
    chance.shuffle(odd)
    return [*found, *odd, replace(first, seed=seed + 70)]


def arguments(made: list[Parameter], call: Call) -> list[Any]:
    """The arguments of a call, made afresh: equal ones every time."""
    rng = np.random.default_rng(call.seed)
    given: list[Any] = []
    for i, p in enumerate(made):
        if p.dims is None:
            given.append(_list(p, rng, call) if p.dtype in LISTS else _number(p, rng))
            if call.layouts.get(i) == "twice":
                given[i] = _twice(given[i], [v for v, other in zip(given, made[:i], strict=False) if other.dtype == p.dtype])
            continue
        shape = tuple(call.sizes[d] if isinstance(d, str) else d for d in p.dims)
        if call.pair is not None and call.pair[1] == i:
            given.append(_beside(given, call.pair, rng, shape, p.dtype))
        else:
            given.append(laid_out(elements(rng, shape, call.dtypes.get(i, p.dtype), call.special), call.layouts.get(i, "plain")))
    return given


LISTS = ("ints", "floats", "bools", "rows", "tuples")
_LENGTHS = (0, 1, 3, 16, 18, 40, 60)  # by a size: some of them too short to be an argument as one array


def _list(p: Parameter, rng: np.random.Generator, call: Call) -> list[Any]:
    """A list of numbers, or of lists or tuples of them; with `special` one of its numbers is of another kind."""
    made = {"ints": lambda: int(rng.integers(-3, 5)), "floats": lambda: float(rng.integers(-8, 9)) / 4, "bools": lambda: bool(rng.integers(2))}
    size = call.sizes["n"]
    if p.dtype in made:
        found: list[Any] = [made[p.dtype]() for _ in range(_LENGTHS[size])]
        if call.special and found:
            found[int(rng.integers(len(found)))] = [float("nan"), 1, 2.5, True, 1 << 70][int(rng.integers(5))]
        return found
    if p.dtype == "rows":
        number = made["ints" if call.seed % 3 else "floats"]
        return [[number() for _ in range(size + int(rng.integers(0, 3)) * (call.seed % 2))] for _ in range(size + 2)]
    kinds = [made["ints"], made["ints"], made["floats"]]
    pairs: list[Any] = [tuple(number() for number in kinds) for _ in range(_LENGTHS[size] // 2)]
    return pairs[:-1] + [(1, 2)] if call.special and pairs else pairs


def _twice(found: list[Any], others: list[Any]) -> list[Any]:
    """A list that stands in the call before, or of which one row is another."""
    if others:
        return others[0]  # type: ignore[no-any-return]  # a list
    return [*found[:1], *found[:-1]] if found and type(found[0]) is list else found


def _number(p: Parameter, rng: np.random.Generator) -> Any:
    if p.dtype == "int":
        return int(rng.integers(-1, 5))
    if p.dtype == "pycomplex":
        return complex(*map(float, rng.integers(-6, 7, 2) / 4))
    return bool(rng.integers(2)) if p.dtype == "pybool" else float(rng.integers(-6, 7)) / 2


def elements(rng: np.random.Generator, shape: tuple[int, ...], dtype: str, special: bool = False) -> np.ndarray[Any, Any]:
    """Numbers that add and multiply without rounding for a while."""
    if dtype == "bool":
        return np.asarray(rng.integers(0, 2, shape)).astype(bool)
    if not dtype.startswith("float"):
        return np.asarray(rng.integers(0 if dtype.startswith("u") else -3, 5, shape)).astype(dtype)
    x = np.asarray(rng.integers(-8, 9, shape) / 4.0)
    if special:
        x = np.where(rng.random(shape) < 0.2, rng.choice([np.nan, np.inf, -np.inf, -0.0], shape), x)
    with np.errstate(all="ignore"):
        return x.astype(dtype)


def laid_out(x: np.ndarray[Any, Any], how: str) -> np.ndarray[Any, Any]:
    """The same elements in another layout."""
    if how == "read-only":
        x.flags.writeable = False
        return x
    if not x.ndim or how == "plain":
        return x
    if how == "fortran":
        return np.array(x, order="F")
    if how == "reversed":
        return np.array(x[::-1])[::-1]
    wide = np.zeros((*x.shape[:-1], 2 * x.shape[-1] + 1), x.dtype)
    view = wide[..., 1::2] if how == "stepped" else wide[..., 1 : 1 + x.shape[-1]]
    view[...] = x
    return view


def _beside(given: list[Any], pair: tuple[int, int, str], rng: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Any:
    """The second of two arguments in one memory; the first may be laid out anew."""
    i, _, how = pair
    x = given[i]
    if how == "same":
        return x
    if how == "transposed" and len(set(shape)) == 1:
        return x.T
    if how == "shifted" and x.ndim:
        memory = elements(rng, (shape[0] + 1, *shape[1:]), dtype)
        given[i] = memory[:-1]
        return memory[1:]
    return x[...]
