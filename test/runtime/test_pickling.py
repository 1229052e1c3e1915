"""Functions that go to other processes: by name where they have one, by value where they have none, and what goes along."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.runtime.functions.portable import pickling

cloudpickle = pytest.importorskip("cloudpickle")

X = np.linspace(-1, 1, 8, dtype=np.float32)
SCALE = 2.0


@tierup.jit
def doubled(x: Any) -> Any:
    return x * 2


def slow(x: Any) -> Any:
    return np.tanh(x) + SCALE


fast = tierup.jit(slow)
PICKLERS = [pickle, cloudpickle]


def run(folder: Path, script: str, *arguments: str, **environment: str) -> list[str]:
    """The lines that a process prints which runs a script."""
    changed = {"TIERUP_CACHE_DIR": str(folder / "cache"), "TIERUP_CACHE": "1", "TIERUP_START": "1", **environment}
    done = subprocess.run([sys.executable, script, *arguments], env={**os.environ, **changed}, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return done.stdout.splitlines()


@pytest.mark.parametrize("by", PICKLERS)
def test_what_its_module_knows_is_pickled_by_name(by: Any) -> None:
    for function in (doubled, fast):
        assert by.loads(by.dumps(function)) is function
        assert len(by.dumps(function)) < 200


def test_copies_of_a_function_are_the_function() -> None:
    there = tierup.jit(lambda x: x + 1)
    assert copy.copy(there) is there and copy.deepcopy([there])[0] is there


@pytest.mark.parametrize("by", PICKLERS)
def test_closures_lambdas_and_gradients_are_pickled_by_value_with_their_options(by: Any) -> None:
    factor = 3.0

    def closure(x: Any) -> Any:
        return slow(x) * factor

    weights = np.arange(3.0)
    for python, options in ((closure, {"max_versions": 3}), (lambda x: x * factor, {}), (lambda x: np.sum(x * weights[0] * factor), {"level": 1})):
        function = tierup.jit(python, **options)
        came = by.loads(by.dumps(function))
        assert came is not function and came.own_options == options and came.__name__ == function.__name__
        for _ in range(2):
            np.testing.assert_allclose(came(X), python(X), rtol=1e-6)
        assert came.stats().hits > 0
    slope = by.loads(by.dumps(tierup.grad(lambda w: np.sum(w * w) * factor)))
    np.testing.assert_array_equal(slope(weights), 6 * weights)


def test_equal_pickles_are_one_function_where_nothing_that_it_holds_can_change() -> None:
    factor, counted = 3.0, [0]

    def fixed(x: Any) -> Any:
        return slow(x) * factor

    def counts(x: Any) -> Any:
        counted[0] += 1
        return x + counted[0]

    def rebinds(x: Any) -> Any:
        nonlocal factor
        factor += 1
        return x * factor

    for held in (tierup.jit(fixed), tierup.grad(lambda x: np.sum(x * factor))):
        assert pickle.loads(pickle.dumps(held)) is pickle.loads(pickle.dumps(held))
    for python in (counts, rebinds):
        pickled = cloudpickle.dumps(tierup.jit(python))
        oracle = cloudpickle.dumps(python)
        for _ in range(2):  # each begins anew, as those of cloudpickle do
            one, other = pickle.loads(pickled), cloudpickle.loads(oracle)
            for _ in range(3):
                np.testing.assert_array_equal(one(X), other(X))


def test_a_function_that_holds_itself_and_another_is_pickled() -> None:
    def power(x: Any, n: Any) -> Any:
        return x if n <= 1 else x * holds_itself(x, n - 1)

    holds_itself = tierup.jit(power)
    np.testing.assert_allclose(pickle.loads(pickle.dumps(holds_itself))(X, 3), X**3, rtol=1e-6)
    inner = tierup.jit(lambda x: x + SCALE)
    came = pickle.loads(pickle.dumps(tierup.jit(lambda x: inner(x) * 2)))
    np.testing.assert_allclose(came(X), (X + SCALE) * 2, rtol=1e-6)


def test_a_program_in_mlir_is_pickled_by_its_text(tmp_path: Path) -> None:
    (tmp_path / "twice.mlir").write_text("""func.func @twice(%x: !torch.vtensor) -> !torch.vtensor {
  %one = torch.constant.int 1
  %r = torch.aten.add.Tensor %x, %x, %one : !torch.vtensor, !torch.vtensor, !torch.int -> !torch.vtensor
  return %r : !torch.vtensor
}""")
    pickled = pickle.dumps(tierup.load(tmp_path / "twice.mlir", max_versions=3))
    (tmp_path / "twice.mlir").unlink()
    came = pickle.loads(pickled)
    np.testing.assert_array_equal(came(X), X + X)
    assert came.own_options == {"max_versions": 3}


def test_a_function_with_what_cannot_be_pickled_says_so_by_the_picklers_own_error() -> None:
    import threading

    lock = threading.Lock()
    with pytest.raises(TypeError, match="cannot pickle '_thread.lock'"):
        pickle.dumps(tierup.jit(lambda x: (lock, x)[1]))


def test_without_cloudpickle_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    pickling._pickler.cache_clear()
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(pickle.PicklingError, match="pip install cloudpickle"):
        pickle.dumps(tierup.jit(lambda x: x))
    assert pickle.loads(pickle.dumps(doubled)) is doubled


WRITES = """
import pickle, sys, numpy as np, tierup
X = np.linspace(-1, 1, 8, dtype=np.float32)
def helper(x):
    return np.tanh(x) * 2
def make(factor):
    def closure(x):
        return helper(x) + factor
    return tierup.jit(closure, pickle_code=sys.argv[2] == "code", threads=1)
if __name__ == "__main__":
    function = make(0.5)
    for n in (8, 8, 5, 5, 6, 7):
        function(X[:n])
    with open(sys.argv[1], "wb") as file:
        file.write(pickle.dumps(function))
"""
READS = """
import pickle, sys, numpy as np
X = np.linspace(-1, 1, 8, dtype=np.float32)
with open(sys.argv[1], "rb") as file:
    function = pickle.loads(file.read())
for n in (7, 8):
    np.testing.assert_allclose(function(X[:n]), np.tanh(X[:n]) * 2 + 0.5, rtol=1e-6)
try:
    function(np.zeros((2, 3)), 4)
except TypeError as e:
    print(e)
print(function.stats().hits, function.stats().profiled_runs)
print([version.compiled.from_disk for version in function.versions], function.variants[0].built.program.place)
"""


@pytest.fixture(scope="module")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a script has pickled a function, and is gone; another file has its name."""
    folder = tmp_path_factory.mktemp("machines")
    for with_code in ("", "code"):
        (folder / "program.py").write_text(WRITES)
        run(folder, "program.py", f"pickled{with_code}", with_code)
    (folder / "program.py").write_text("\n" * 30)
    (folder / "reads.py").write_text(READS)
    return folder


def test_where_its_file_is_another_a_function_is_native_from_its_first_call_on_by_its_profile_and_the_cache(machines: Path) -> None:
    said = run(machines, "reads.py", "pickled", TIERUP_START="0")
    assert said[0].startswith("make.<locals>.closure() takes 1 positional argument")
    assert said[1] == "2 0"  # sizes vary in its profile
    assert said[2].startswith(f"[True] <{machines}/program.py of another process, ") and said[2].endswith(":7")


def test_the_option_pickle_code_brings_the_code_to_another_cache(machines: Path) -> None:
    assert run(machines, "reads.py", "pickled", TIERUP_CACHE_DIR=str(machines / "one"))[2].startswith("[False]")
    said = run(machines, "reads.py", "pickledcode", TIERUP_CACHE_DIR=str(machines / "other"))
    assert said[1] == "2 0" and said[2].startswith("[True]")


SCRIPT = """
import multiprocessing, pickle, sys, numpy as np, tierup
X = np.linspace(-1, 1, 8)
COUNT = 1.0
def helper(x):
    return x * COUNT
@tierup.jit
def named(x):
    return helper(x) + 1
def plain(x):
    return helper(x) + 1
fast = tierup.jit(plain)
slope = tierup.grad(lambda x: np.sum(helper(x) * x))
class Scaled:
    def __init__(self, by):
        self.by = by
    @tierup.jit
    def method(self, x):
        return Scaled.twice(x) * self.by
    @staticmethod
    @tierup.jit
    def twice(x):
        return x * 2
def begin(count):
    global COUNT
    COUNT = count
def call(function, x):
    function(x)
    return np.asarray(function(x)).tolist()
def same(one, other):
    np.testing.assert_allclose(one, other, rtol=1e-9)
if __name__ == "__main__":
    how = sys.argv[1]
    COUNT = 5.0
    local = tierup.jit(lambda x: x * COUNT)
    others = [(local, (X * 5).tolist()), (slope, (10 * X).tolist()), (Scaled(3.0).method, (6 * X).tolist()), (Scaled.twice, (2 * X).tolist())]
    for protocol in range(2, 6):
        for function in (named, fast, Scaled.method):
            assert pickle.loads(pickle.dumps(function, protocol=protocol)) is function
    functions = [named, fast, plain]
    if how in ("spawn", "fork"):
        with multiprocessing.get_context(how).Pool(1, begin, (3.0,)) as pool:  # what a worker's beginning sets is what a name means there
            found = pool.starmap(call, [(f, X) for f in functions])
            for (f, expected), result in zip(others, pool.starmap(call, [(f, X) for f, _ in others])):
                same(result, expected)
    else:
        import joblib
        found = joblib.Parallel(n_jobs=2)(joblib.delayed(call)(f, X) for f in functions)
        for (f, expected), result in zip(others, joblib.Parallel(n_jobs=2)(joblib.delayed(call)(f, X) for f, _ in others)):
            same(result, expected)
    same(found[0], found[2]), same(found[1], found[2])
    same(found[2], X * (3.0 if how in ("spawn", "fork") else 5.0) + 1)
    print("done")
"""


@pytest.mark.parametrize("how", ["spawn", "fork", "joblib"])
def test_functions_of_a_script_are_in_other_processes_what_plain_ones_are_there(how: str, tmp_path: Path) -> None:
    if how == "joblib":
        pytest.importorskip("joblib")
    (tmp_path / "program.py").write_text(SCRIPT)
    assert run(tmp_path, "program.py", how) == ["done"]
