"""NumPy's own tests, run against its functions decorated: `python test/oracle/numpy_own_tests.py [MODULE...]`, `make numpy-tests`.

A test module sees a `numpy` whose functions, and those of `numpy.linalg`, are each called by a function that tierup has translated, made anew
for every kind of arguments. Prints a table, the one of docs/testing.md: what passes so, of what passes as it is; how many calls there were,
and how many of them a graph answered (Python does the others: objects, strings, dates, complex numbers, subclasses of arrays).

As a plugin of pytest (`-p numpy_own_tests`) it decorates where WRAP names the module.
"""

from __future__ import annotations

import functools
import importlib
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tierup

MODULES = (
    "lib.tests.test_function_base", "lib.tests.test_nanfunctions", "lib.tests.test_arraysetops", "lib.tests.test_arraypad",
    "lib.tests.test_histograms", "lib.tests.test_index_tricks", "lib.tests.test_shape_base", "lib.tests.test_twodim_base",
    "lib.tests.test_stride_tricks", "lib.tests.test_type_check", "lib.tests.test_polynomial", "lib.tests.test_regression",
    "_core.tests.test_numeric", "_core.tests.test_umath", "_core.tests.test_ufunc", "_core.tests.test_multiarray", "_core.tests.test_einsum",
    "_core.tests.test_shape_base", "_core.tests.test_function_base", "_core.tests.test_item_selection", "_core.tests.test_indexing",
    "_core.tests.test_nep50_promotions", "_core.tests.test_regression", "linalg.tests.test_linalg",
)  # fmt: skip
WRAP = "TIERUP_TESTS_WRAP"
# settings, files, and what makes arrays of anything
LEFT = frozenset((
    "errstate seterr geterr seterrcall geterrcall set_printoptions get_printoptions printoptions vectorize save load savez savez_compressed "
    "savetxt loadtxt genfromtxt fromfile fromregex show_config show_runtime info getbufsize setbufsize test frompyfunc typename get_include "
    "array asarray asanyarray"
).split())  # fmt: skip
tally = {"calls": 0, "answered": 0}


def _is_function(value: object) -> bool:
    return isinstance(value, (types.FunctionType, types.BuiltinFunctionType)) or type(value).__name__ == "_ArrayFunctionDispatcher"


@functools.cache
def _decorated(original: Callable[..., Any]) -> Callable[..., Any]:
    made: dict[object, Any] = {}

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            return original(*args, **kwargs)

        kind = _kind((args, kwargs))
        if kind not in made:
            made[kind] = tierup.jit(call, optimize=False)
        jitted = made[kind]
        before = jitted.stats().calls
        tally["calls"] += 1
        try:
            return jitted(*args, **kwargs)
        finally:
            tally["answered"] += jitted.stats().calls > before

    return wrapped


def _kind(value: object) -> object:
    if isinstance(value, (tuple, list)):
        return type(value), tuple(map(_kind, value[:20]))
    if isinstance(value, dict):
        return tuple((k, _kind(v)) for k, v in value.items())
    return type(value), str(getattr(value, "dtype", "")), getattr(value, "ndim", None)


class _Decorated(types.ModuleType):
    """A module whose functions are decorated."""

    def __init__(self, module: types.ModuleType) -> None:
        super().__init__(module.__name__)
        self.__dict__["_module"] = module

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._module, name)
        if value is np.linalg:
            return _LINALG
        return _decorated(value) if _is_function(value) and name not in LEFT and not name.startswith("_") else value


_NUMPY, _LINALG = _Decorated(np), _Decorated(np.linalg)
tierup.jit(lambda: None)  # what tierup imports on the way sees NumPy itself


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, Any, Any]:
    """Imports a test module with the other numpy in place of this one."""
    if WRAP not in os.environ or not isinstance(collector, pytest.Module):
        return (yield)
    importlib.import_module(os.environ[WRAP])  # and what it imports
    del sys.modules[os.environ[WRAP]]
    sys.modules["numpy"] = _NUMPY
    try:
        return (yield)
    finally:
        sys.modules["numpy"] = np


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Tells the counts."""
    terminalreporter.write_line(f"calls {tally['calls']} answered {tally['answered']}")


def _run(module: str, environment: dict[str, str]) -> tuple[set[str], set[str], list[int]]:
    """The tests of a module that passed, those that failed, and the counts."""
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, "-m", "pytest", "-v", "--tb=short", "-p", "numpy_own_tests", "-p", "no:cacheprovider", "-o", "addopts=", "--pyargs", module]
    settings = {"TIERUP_CACHE": "0", "TIERUP_WORKER": "0", "NPY_AVAILABLE_MEM": "1GB", "PYTHONPATH": path}
    done = subprocess.run(command, capture_output=True, text=True, cwd="/", env={**os.environ, **settings, **environment})
    passed, failed = (set(re.findall(rf"::(\S.*) {word} +\[", done.stdout)) for word in ("PASSED", "FAILED"))
    counts = re.search(r"^calls (\d+) answered (\d+)$", done.stdout, re.M)
    if counts is None:
        raise RuntimeError(f"{module} did not end: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return passed, failed, [int(n) for n in counts.groups()]


def main() -> None:
    print("| module | tests | pass decorated | calls | answered by a graph |\n|---|---|---|---|---|")
    total = [0, 0, 0, 0]
    for name in sys.argv[1:] or MODULES:
        module = f"numpy.{name}"
        plain, _, _ = _run(module, {})
        passed, failed, (calls, answered) = _run(module, {WRAP: module})
        row = [len(plain), len(plain & passed), calls, answered]
        total = [a + b for a, b in zip(total, row, strict=True)]
        print(f"| `{name}` | {row[0]} | {row[1]} | {calls} | {answered} |", flush=True)
        for test in sorted(plain & failed):
            print(f"{module}::{test}", file=sys.stderr, flush=True)
    print(f"| all | {total[0]} | {total[1]} | {total[2]} | {total[3]} |")


if __name__ == "__main__":
    main()
