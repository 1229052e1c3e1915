"""Writes docs/numpy-coverage.md: of all in NumPy's index, whether native code or NumPy's own function answers it, as calls found out.

    python -m tierup.tools.pages.numpydoc            write it (half a minute)
    python -m tierup.tools.pages.numpydoc --check    exit code 1 when it is not current
"""

from __future__ import annotations

import ast
import contextlib
import copy
import io
import linecache
import re
import sys
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import tierup
from tierup.frontend.errors import UnsupportedSyntax
from tierup.tools.pages.numpy_examples import DATA, examples

PAGE = Path(__file__).resolve().parents[2] / "docs" / "numpy-coverage.md"


def index() -> dict[str, list[str]]:
    """The names of NumPy's index, by sections of the page."""
    public = {name: getattr(np, name) for name in np.__all__}
    functions = [n for n, v in public.items() if callable(v) and not isinstance(v, (type, np.ufunc)) and not n.startswith("_")]
    draws = [n for n in dir(np.random.Generator) if not n.startswith("_")]
    legacy = [n for n in np.random.__all__ if not isinstance(getattr(np.random, n), type)]
    asked = {name for name, _ in examples()}
    found = {
        "Functions": [f"np.{n}" for n in functions],
        "Ufuncs": [f"np.{n}" for n, v in public.items() if isinstance(v, np.ufunc)],
        "Methods of ufuncs": [n for n in asked if n.count(".") == 2 and isinstance(public.get(n.split(".")[1]), np.ufunc)],
        "Arrays": [f"ndarray.{n}" for n in dir(np.ndarray) if not n.startswith("_")],
        "numpy.linalg": [f"np.linalg.{n}" for n in np.linalg.__all__],
        "numpy.fft": [f"np.fft.{n}" for n in np.fft.__all__],
        "numpy.random.Generator": [f"np.random.Generator.{n}" for n in draws],
        "numpy.random, legacy": [f"np.random.{n}" for n in legacy],
    }
    known = {n for names in found.values() for n in names}
    found["Classes and objects"] = [n for n in asked if n not in known and n.startswith("np.")]
    return {section: sorted(names) for section, names in found.items()}


# --- what a call gives -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """A call as a function of the arrays and numbers that it names."""

    call: str
    function: Callable[..., Any]
    names: tuple[str, ...]

    @classmethod
    def of(cls, call: str) -> Example:
        """The function stands in no file, but has source."""
        names = tuple(dict.fromkeys(n.id for n in ast.walk(ast.parse(call)) if isinstance(n, ast.Name) and n.id in DATA))
        text, file = f"def f({', '.join(names)}):\n    return {call}\n", f"<{call}>"
        linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
        space: dict[str, Any] = {"np": np, "io": io}
        exec(compile(text, file, "exec", dont_inherit=True), space)
        return cls(call, space["f"], names)

    def arguments(self, change: Callable[[Any], Any] = lambda value: value) -> list[Any]:
        """Those of one call, changed."""
        return [change(copy.deepcopy(DATA[name])) for name in self.names]


def outcome(function: Callable[..., Any], arguments: list[Any]) -> tuple[object, list[Any]]:
    """What a call returns or raises, and what it leaves its arguments."""
    np.random.seed(7)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return function(*arguments), arguments
        except Exception as e:  # noqa: BLE001 - a result
            if isinstance(e, (UnsupportedSyntax, tierup.NotOptimized)):
                raise
            return e, arguments


def differs(ours: Any, numpys: Any, path: str = "result", *, values: bool = True) -> str | None:
    """How two results differ in kind, dtype, shape or value; None where they do not, up to some roundings."""
    if isinstance(numpys, Exception) and isinstance(ours, Exception):
        ours, numpys = (next(c for c in type(e).__mro__ if c.__module__ != "numpy._core._exceptions") for e in (ours, numpys))
        return None if ours is numpys else f"{path} raises {ours.__name__}, NumPy {numpys.__name__}"
    if type(ours) is not type(numpys):
        return f"{path} is a {type(ours).__name__}, NumPy's a {type(numpys).__name__}"
    if isinstance(numpys, (tuple, list)):
        if len(ours) != len(numpys):
            return f"{path} has {len(ours)} items, NumPy's {len(numpys)}"
        pairs = enumerate(zip(ours, numpys, strict=True))
        return next((d for i, (a, b) in pairs if (d := differs(a, b, f"{path}[{i}]", values=values))), None)
    if isinstance(numpys, (np.ndarray, np.generic)):
        if ours.dtype != numpys.dtype or ours.shape != numpys.shape:
            return f"{path} is {ours.dtype}{ours.shape}, NumPy's {numpys.dtype}{numpys.shape}"
        if values and numpys.dtype.kind in "fc":
            same = np.allclose(ours, numpys, rtol=16 * float(np.finfo(numpys.dtype).eps), atol=np.finfo(numpys.dtype).tiny, equal_nan=True)
        else:
            same = not values or np.array_equal(ours, numpys)
        return None if same else f"{path} is {ours}, NumPy's {numpys}"
    if isinstance(numpys, (int, str, bytes)) or numpys is None:
        return None if ours == numpys else f"{path} is {ours!r}, NumPy's {numpys!r}"
    if isinstance(numpys, float):
        return None if np.isclose(ours, numpys, rtol=1e-14, equal_nan=True) else f"{path} is {ours!r}, NumPy's {numpys!r}"
    return None


def disagreement(example: Example, function: Callable[..., Any], change: Callable[[Any], Any] = lambda value: value) -> str | None:
    """How a function differs from the undecorated one, in what it returns, raises, or writes."""
    numpys, ours = outcome(example.function, example.arguments(change)), outcome(function, example.arguments(change))
    return differs(ours, numpys, example.call, values="empty" not in example.call and "np.ndarray(" not in example.call)


# --- the page --------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """Who answers a call: native code, or NumPy's own function and why. `wrong`: how that differs from NumPy."""

    call: str
    is_native: bool
    why: str
    wrong: str | None


def verdict(call: str) -> Verdict:
    """Found out by calls: the first in native code as a whole or not at all, then as users call."""
    example = Example.of(call)
    function = tierup.jit(example.function)
    try:
        with tierup.assert_optimized():
            return Verdict(call, True, "", disagreement(example, function))
    except UnsupportedSyntax as e:
        why = e.construct
    except tierup.NotOptimized as e:
        why = f"tier 0 of {re.sub(r' [(]at .*[)]$', '', str(e).partition(': ')[2])}"
    function = tierup.jit(example.function)
    return Verdict(call, False, why, disagreement(example, function) or disagreement(example, function))


def calls_of() -> dict[str, list[str]]:
    """The examples of each name of the index."""
    found: dict[str, list[str]] = {name: [] for names in index().values() for name in names}
    for name, call in examples():
        if call not in found[name]:
            found[name].append(call)
    return found


def row(name: str, verdicts: Sequence[Verdict]) -> str:
    """A line of the page."""
    calls: defaultdict[str, list[str]] = defaultdict(list)
    for v in verdicts:
        calls[v.why].append(f"`{v.call}`")
    native, foreign = calls.pop("", []), "; ".join(f"{', '.join(found)}: {why}" for why, found in calls.items())
    return f"| `{name}` | {', '.join(native) or '-'} | {foreign or '-'} |".replace("\n", "\\n")


_HEAD = """\
# NumPy's index

Generated by `python -m tierup.tools.pages.numpydoc` (`make numpy-index`); tests check that no name is missing, and samples of it.

Everything in NumPy {version}'s index, each name with calls of it. **Native**: all of the call's result is computed by compiled code.
**Foreign**: NumPy's own function is called, in Python or by tier 0, between native code for what is around it (docs/python.md); so
nothing is refused. Each verdict was found out by running the call, and what came of it was compared with undecorated NumPy: values, dtypes,
types, what is written to arguments. Behind foreign calls stands what keeps them from being native.

"""


def page() -> tuple[str, list[str]]:
    """The page, and what was wrong."""
    calls = calls_of()
    verdicts = {name: [verdict(call) for call in calls[name]] for name in calls}
    lines = ["| section | names | native | native in part | foreign |", "|---|---|---|---|---|"]
    tables = []
    for section, names in index().items():
        kinds = Counter(frozenset(v.is_native for v in verdicts[name]) for name in names)
        counts = [kinds[frozenset(kind)] for kind in ((True,), (True, False), (False,))]
        lines.append(f"| {section} | {len(names)} | {' | '.join(map(str, counts))} |")
        tables += [f"\n## {section}\n", "| name | native | foreign |", "|---|---|---|", *(row(name, verdicts[name]) for name in names)]
    head = _HEAD.format(version=".".join(np.__version__.split(".")[:2]))
    return head + "\n".join([*lines, *tables]) + "\n", [v.wrong for found in verdicts.values() for v in found if v.wrong]


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or with --check compare. Returns the exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    text, wrong = page()
    for each in wrong:
        print(f"not NumPy's: {each}", file=sys.stderr)
    if "--check" not in arguments:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        print(f"{PAGE} is not current: run python -m tierup.tools.pages.numpydoc", file=sys.stderr)
        return 1
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
