"""Plans for the CPU: functions saved to a file, and what is made of that file in a process without source, MLIR and LLVM."""

import copy
import inspect
import json
import pickle
import random
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sampling import IS_EXHAUSTIVE

import tierup
from tierup import BundleError, NotOptimized
from tierup.lowering.artifacts import bundle
from tierup.lowering.objects import processors
from tierup.runtime.base.events import EventKind
from tierup.runtime.code import plans
from tierup.runtime.compiling.processes import early
from tierup.runtime.functions.portable import saving

X = np.linspace(-1, 1, 8, dtype=np.float32)
SCALE, TABLE = 3, np.arange(4.0)


def rise(x: Any, k: Any = 2) -> Any:
    return np.tanh(x) * k + SCALE


def pick(x: Any, at: Any) -> Any:
    return x[at] * 2, {"sum": x.sum()}


def saved(function: Any, path: Path, *calls: tuple[Any, ...], again: int = 2, **options: Any) -> Any:
    made = tierup.jit(function, **options)
    for call in calls * again:
        made(*call)
    made.save(path)
    return made


def counts(function: Any) -> tuple[int, int, int, int]:
    stats = function.stats()
    return stats.hits, stats.misses, stats.profiled_runs, stats.interpreted


@pytest.fixture
def path(tmp_path: Path) -> Path:
    saved(rise, tmp_path / "rise.tierup", (X,))
    return tmp_path / "rise.tierup"


@pytest.fixture
def no_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "has_compiler", lambda: False)


_ALONE = """
import os, sys
for name in ("torch_mlir", "mlir", "llvmlite", "torch", "ml_dtypes", "scipy_openblas32"):
    sys.modules[name] = None  # not installed
os.environ["TIERUP_CACHE"] = "0"
import numpy as np, tierup
plan = tierup.load_plan({path!r}, key=b"secret")
x = np.linspace(-1, 1, 8)
print(plan(x, 3)[0] == x[3] * 2, plan(x, 4)[1]["sum"] == x.sum(), tuple(vars(plan.stats()).items())[:4])
print(plan(x[:5], 3)[0] == x[3] * 2, tuple(vars(plan.stats()).items())[:4])
try:
    plan(x, 8)
except IndexError as e:
    print(e, *e.__notes__)
print([m for m in sys.modules if m.startswith(("tierup.frontend", "tierup.tools", "tierup.runtime.compiling.version"))])
from tierup.lowering.entry.probe import unavailable
print(unavailable())
"""


def test_a_plan_answers_its_first_call_natively_without_source_and_compiler(tmp_path: Path) -> None:
    made = tierup.jit(pick)
    for _ in range(2):
        made(np.ones(8), 3)
    made.save(tmp_path / "pick", key=b"secret")
    run = subprocess.run([sys.executable, "-c", _ALONE.format(path=str(tmp_path / "pick"))], capture_output=True, text=True)
    line = pick.__code__.co_firstlineno + 1
    assert run.stdout.splitlines() == [
        "True True (('hits', 2), ('misses', 0), ('profiled_runs', 0), ('interpreted', 0))",
        "True (('hits', 2), ('misses', 1), ('profiled_runs', 0), ('interpreted', 0))",
        f'index 8 is out of bounds for axis 0 with size 8 at test_plan_files.py:{line}: return x[at] * 2, {{"sum": x.sum()}}',
        "[]",
        "None",
    ], run.stderr


def test_with_a_compiler_a_plan_goes_on_learning(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "expect", lambda options: pytest.fail("a process that compiles is started, which nobody asked for"))
    plan, wide = tierup.load_plan(path), X.astype(np.float64)
    np.testing.assert_allclose(plan(X, k=2), np.tanh(X) * 2 + 3, rtol=1e-6)
    assert "Slow in its first calls alone: they load what was compiled before: they " in plan.explain()
    for _ in range(3):
        np.testing.assert_allclose(plan(wide), np.tanh(wide) * 2 + 3)
    assert counts(plan) == (3, 1, 0, 0) and [v.compiled.from_disk for v in plan.versions] == [True, False]
    assert f"loaded from disk a static version for x: f32[8], k: int that {path} had" in plan.explain()
    plan.reset()
    plan(X)
    assert counts(plan) == (1, 0, 0, 0)


def test_a_miss_is_an_error_by_wish_and_compiles_nothing(path: Path) -> None:
    plan = tierup.load_plan(path, on_miss="error")
    plan(X)
    for _ in range(3):
        with pytest.raises(NotOptimized, match="the plan has no version for such arguments, and none is made in this process"):
            plan(X.astype(np.float64))
    plan(X)
    assert counts(plan)[0] == 2 and len(plan.versions) == 1
    with pytest.raises(ValueError, match="on_miss: expected one of tier0, error, got 'raise'"):
        tierup.load_plan(path, on_miss="raise")


def test_a_plan_is_saved_again_with_what_it_has_learnt(path: Path, tmp_path: Path) -> None:
    plan, wide = tierup.load_plan(path), X.astype(np.float64)
    plan(X), plan(wide), plan(wide)
    plan.save(tmp_path / "wider")
    wider = tierup.load_plan(tmp_path / "wider", on_miss="error")
    wider(X), wider(wide)
    assert counts(wider) == (2, 0, 0, 0)
    wider.save(tmp_path / "again")
    assert tierup.load_plan(tmp_path / "again")(X[:3]).shape == (3,)  # a miss is no error here


def test_a_version_that_another_thread_loads_is_waited_for(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, load = threading.Event(), plans.load

    def slowly(*given: Any) -> Any:
        begun.set()
        time.sleep(0.05)
        return load(*given)

    monkeypatch.setattr(plans, "load", slowly)
    plan = tierup.load_plan(path, on_miss="error")
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(plan, X)
        begun.wait()
        assert plan(X).tolist() == first.result().tolist() and counts(plan) == (2, 0, 0, 0)


def test_a_plan_may_have_more_versions_than_a_function_would_make(tmp_path: Path, no_compiler: None) -> None:
    made = saved(rise, tmp_path / "f", (X,))
    [variant], one = made.variants, saving._given(made.versions[0])
    specs = [(one.specs[0], replace(one.specs[1], value=n)) for n in range(18)]
    versions = [replace(one, specs=each, speculation=replace(one.speculation, specs=each)) for each in specs]
    saving.save(made, tmp_path / "f", None, "", {variant.built.program: versions})
    plan = tierup.load_plan(tmp_path / "f")
    for n in (*range(18), *range(18)):
        np.testing.assert_allclose(plan(X, n), np.tanh(X) * n + 3, rtol=1e-5, atol=1e-5)
    assert counts(plan) == (36, 0, 0, 0) and plan.stats().compiles == 18


def test_a_call_of_a_structure_that_the_plan_has_no_graph_of_says_which_it_has(path: Path) -> None:
    with pytest.raises(TypeError, match=r"has no graph for \(x: array of rank 2, k: int\), only for \(x: array of rank 1, k: int\): call"):
        tierup.load_plan(path)(np.ones((2, 2)))


def test_a_plan_is_the_function_as_it_was_when_it_was_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_compiler: None
) -> None:
    function = saved(rise, tmp_path / "three", (X,))
    monkeypatch.setitem(globals(), "SCALE", 5)
    function(X), function(X)
    function.save(tmp_path / "five")  # without the graph for 3
    monkeypatch.setitem(globals(), "SCALE", 7)
    for name, scale in (("three", 3), ("five", 5)):
        plan = tierup.load_plan(tmp_path / name)
        np.testing.assert_allclose(plan(X), np.tanh(X) * 2 + scale, rtol=1e-6)
        assert counts(plan) == (1, 0, 0, 0)


def test_gradients_trees_lists_and_writes_are_saved(tmp_path: Path, no_compiler: None) -> None:
    def loss(w: Any, x: Any) -> Any:
        return ((x @ w["a"] - 1) ** 2).sum()

    def mean(xs: Any, *, of: str = "all") -> Any:
        return sum(xs) / len(xs) if of == "all" else xs[0]

    def stacked(xs: Any) -> Any:
        return np.stack([np.ones(2) * x for x in xs]).sum(0)

    def grow(x: Any) -> None:
        x += 1.0

    w, x, xs, z = {"a": np.ones(3)}, np.arange(6.0).reshape(2, 3), [0.5] * 70, np.zeros(4)
    made: list[tuple[Any, tuple[Any, ...]]] = [
        (tierup.value_and_grad(loss), (w, x)),
        (tierup.jit(mean, weigh=False), (xs,)),
        (tierup.jit(stacked, weigh=False), (xs[:20],)),  # the list's items are arguments
        (tierup.jit(grow), (z,)),
    ]
    for number, (function, arguments) in enumerate(made):
        wanted = [function(*arguments) for _ in range(3)]
        function.save(tmp_path / str(number))
        plan = tierup.load_plan(tmp_path / str(number))
        got = plan(*arguments)
        assert counts(plan) == (1, 0, 0, 0), plan.explain()
        if number < 3:
            assert str(got) == str(wanted[-1])
    assert z.tolist() == [4.0] * 4


def test_a_program_of_mlir_takes_from_a_plan_what_it_takes_from_its_file(tmp_path: Path, no_compiler: None) -> None:
    text = "func.func @f(%x: !torch.vtensor, %k: !torch.float) -> !torch.vtensor {\n"
    text += "  %y = torch.aten.mul.Scalar %x, %k : !torch.vtensor, !torch.float -> !torch.vtensor\n  return %y : !torch.vtensor\n}"
    (tmp_path / "f.mlir").write_text(text)
    function = tierup.load(tmp_path / "f.mlir")
    function(X, 2.0), function(X, 2.0)
    function.save(tmp_path / "f")
    plan = tierup.load_plan(tmp_path / "f")
    assert plan(X, np.float32(2)).tolist() == (X * 2).tolist() and counts(plan) == (1, 0, 0, 0)  # a float of NumPy's is one
    assert str(inspect.signature(plan)) == "(arg0, arg1)"
    for call in ((X, "2"), ([1.0], 2.0)):
        with pytest.raises(TypeError, match="expected a (float|tensor), got"):
            plan(*call)


def test_a_plan_is_pickled_as_its_file_and_copied_as_itself(path: Path, tmp_path: Path) -> None:
    plan = tierup.load_plan(path, on_miss="error")
    again = pickle.loads(pickle.dumps(plan))
    assert again(X).tolist() == plan(X).tolist() and counts(again) == (1, 0, 0, 0) and copy.deepcopy(plan) is plan
    with pytest.raises(NotOptimized):
        again(X[:3])
    saved(rise, tmp_path / "signed", (X,)).save(tmp_path / "signed", key=b"one")
    with pytest.raises(TypeError, match="was loaded with a key"):
        pickle.dumps(tierup.load_plan(tmp_path / "signed", key=b"one"))
    with pytest.raises(TypeError, match="tierup.jit takes a Python function, not Plan"):
        tierup.jit(plan)


def test_a_plan_goes_on_where_its_graph_was_released(tmp_path: Path, no_compiler: None) -> None:
    wide = X.astype(np.float64)
    saved(rise, tmp_path / "f", (X,), (wide,), release_graphs=True)
    plan = tierup.load_plan(tmp_path / "f")
    plan(X)
    assert plan.release()
    plan(wide)  # another version of the file
    assert counts(plan) == (2, 0, 0, 0)
    plan.reset()
    plan(wide)
    assert counts(plan) == (1, 0, 0, 0)
    with tierup.options(executor="specializing"):  # for which there is no compiler
        plan(X)
    assert counts(plan) == (2, 0, 0, 0) and plan.stats().plan_cache_misses == 0


def test_what_only_the_python_function_answers_is_an_error_that_says_so(tmp_path: Path, no_compiler: None) -> None:
    class Own(Exception):
        pass

    def double(xs: Any) -> Any:
        found = []
        for x in xs:
            if x < -1:
                raise Own(f"{x} is too small")
            if x > 0:
                found.append(x * 2)
        if x > 9:
            raise ValueError("no such number")
        return found

    saved(double, tmp_path / "f", (X,), weigh=False)
    plan = tierup.load_plan(tmp_path / "f")
    assert plan(X) == double(X) and counts(plan) == (1, 0, 0, 0)
    for x, said in ((X - 1, "raise Own"), (np.ones(1025, np.float32), "a list of more than 1024 items: .* after it was called with as many")):
        with pytest.raises(tierup.PlanError, match=rf"double\(\) of .*f: {said}"):
            plan(x)
    with pytest.raises(ValueError, match="^no such number\n"):
        plan(X + 9)
    always = tierup.jit(double, weigh=False)
    for _ in range(3):
        with pytest.raises(Own):
            always(X - 1)
    with pytest.raises(ValueError, match=r"each call that native code took raised, or was left to Python: .*raise Own.*test_plan_files.py:\d+"):
        always.save(tmp_path / "always")


# --- what cannot be saved -----------------------------------------------------------------------------------------------


def reads(x: Any) -> Any:
    return x + TABLE


def in_part(x: Any) -> Any:
    y = np.tanh(x)
    print(end="")
    return y * 2


def sorts(x: Any) -> Any:
    return np.argpartition(np.tanh(x @ x), 2, axis=-1) + 1


class Point:
    x = 1.0


REFUSED: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]] = {
    "an array from outside": (reads, (np.ones(4),), {}, "it reads an array from outside, `TABLE`; pass it as an argument"),
    "statements of Python": (in_part, (X,), {}, "parts of it stay Python: .*LINE"),
    "an op": (sorts, (np.eye(8),), {"weigh": False}, "not native as a whole: .*argpartition.*LINE"),
    "an object": (lambda p, x: p.x + x, (Point(), X), {}, "it takes, gives or holds a type, which only its program knows"),
    "assumptions": (rise, (X,), {"speculate": "bailout"}, "speculate='bailout'; make it with speculate='versioned'"),
    "plans of specs": (rise, (X,), {"executor": "specializing"}, "executor='specializing'; make it with executor='profiling'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_saved_is_refused_with_line_and_remedy(what: str, tmp_path: Path) -> None:
    function, call, options, said = REFUSED[what]
    made = tierup.jit(function, **options)
    for _ in range(4):
        made(*call)
    said = said.replace("LINE", rf"{Path(__file__).name}:{function.__code__.co_firstlineno + 1 + (what == 'statements of Python')}")
    with pytest.raises(ValueError, match=f"cannot be saved: .*{said}"):
        made.save(tmp_path / "f")
    assert not list(tmp_path.iterdir())


def test_a_function_without_a_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="rise cannot be saved: it has no version now; call it some times, or warm it with a profile"):
        tierup.jit(rise).save(tmp_path / "f")


# --- files, keys and processors -----------------------------------------------------------------------------------------


def test_a_file_is_read_with_the_key_that_signed_it_alone(tmp_path: Path, path: Path) -> None:
    function = saved(rise, tmp_path / "open", (X,))
    function.save(tmp_path / "signed", key=b"one")
    for name, key in (("open", None), ("signed", None), ("signed", b"one")):
        assert tierup.load_plan(tmp_path / name, key=key)(X) is not None
    for name, key, said in (("open", b"one", "is not signed"), ("signed", b"two", "is signed with another key")):
        with pytest.raises(BundleError, match=said):
            tierup.load_plan(tmp_path / name, key=key)
    changed = bytearray((tmp_path / "signed").read_bytes())
    changed[-1] ^= 1  # of the signature
    (tmp_path / "signed").write_bytes(changed)
    with pytest.raises(BundleError, match="another key"):
        tierup.load_plan(tmp_path / "signed", key=b"one")
    for key, error in (("text", TypeError), (b"", ValueError)):
        with pytest.raises(error, match="key"):
            function.save(tmp_path / "f", key=key)


def resealed(path: Path, to: Path, **changes: Any) -> Path:
    """The same bundle with other fields in its description."""
    found = bundle.read(path)
    bundle.write(to, {**found.description, **changes}, [bytes(found.data)])
    return to


def test_a_plan_of_another_tierup_or_of_a_kind_of_another_day_is_refused(path: Path, tmp_path: Path) -> None:
    for changes, said in (
        ({"tierup": "9.9", "made_by": "tierup 9.9"}, "was made by tierup 9.9, and this is tierup .*: save it again"),
        ({"abi": "0"}, "with other sources: save it again"),
        ({"kind": "vax"}, "holds code of the kind 'vax'"),
        ({"functions": [1]}, "is no bundle that tierup wrote"),
        ({"features": None}, "is no bundle that tierup wrote"),
    ):
        with pytest.raises(BundleError, match=said):
            tierup.load_plan(resealed(path, tmp_path / "other", **changes))


def test_reading_a_file_imports_nothing_that_it_names(path: Path, tmp_path: Path) -> None:
    text = json.dumps(bundle.read(path).description["functions"])
    named = json.loads(text.replace('["record", "Leaf", "int", null, null]', '["record", "Leaf", "int", null, ["path", "antigravity:fly"]]'))
    with pytest.raises(BundleError, match="is no bundle that tierup wrote: NotDescribed: antigravity:fly"):
        tierup.load_plan(resealed(path, tmp_path / "other", functions=named))
    assert "antigravity" not in sys.modules


def test_a_mutated_file_is_an_error_that_names_it(path: Path, tmp_path: Path) -> None:
    """Bytes changed anywhere, and cut anywhere; and, with a checksum that is right, parts of the description taken out or put for others."""
    data, chance, other = path.read_bytes(), random.Random(1), tmp_path / "other"
    for _ in range(2000 if IS_EXHAUSTIVE else 40):
        changed = bytearray(data)
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        other.write_bytes(changed if chance.random() < 0.7 else data[: chance.randrange(len(data))])
        with pytest.raises(BundleError, match=str(other)):
            tierup.load_plan(other)
    text = json.dumps(bundle.read(path).description["functions"])
    for _ in range(2000 if IS_EXHAUSTIVE else 40):
        at, length = chance.randrange(len(text)), chance.choice((1, 3, 30))
        try:
            functions = json.loads(text[:at] + chance.choice(("", "9", "null", '"a"', "[]", "-1")) + text[at + length :])
        except ValueError:
            continue
        try:
            repr(tierup.load_plan(resealed(path, other, functions=functions)))
        except BundleError as e:
            assert str(other) in str(e)


def test_code_for_another_processor_is_left_out_and_told(
    path: Path, monkeypatch: pytest.MonkeyPatch, no_compiler: None
) -> None:
    monkeypatch.setattr(processors, "flags", lambda: frozenset({"pni"}))
    said = r"rise.tierup has code for the CPU that it was made on \(x86_64\), and this machine has no .*avx2"
    heard: list[Any] = []
    with tierup.events.subscribe(heard.append), pytest.warns(RuntimeWarning, match=said):
        plan = tierup.load_plan(path)
    assert [e.kind for e in heard] == [EventKind.CACHE_REFUSED]
    np.testing.assert_allclose(plan(X), np.tanh(X) * 2 + 3, rtol=1e-6)
    assert counts(plan) == (0, 0, 0, 1)
    with pytest.raises(BundleError, match=said):
        tierup.load_plan(path, on_miss="error")
    monkeypatch.undo()
    with pytest.raises(BundleError, match="and this machine has no such_library; save it"):
        tierup.load_plan(resealed(path, path.with_name("other"), libraries=["such_library"]), on_miss="error")
    monkeypatch.setattr(processors, "here", lambda: "riscv64 Linux")
    with pytest.raises(BundleError, match="and this machine is riscv64 Linux"):
        tierup.load_plan(path, on_miss="error")


def test_code_is_for_the_level_that_is_asked_for(tmp_path: Path, no_compiler: None) -> None:
    function = saved(rise, tmp_path / "here", (X,))
    function.save(tmp_path / "level", target="x86-64-v2")
    description = bundle.read(tmp_path / "level").description
    assert description["target"] == "x86-64-v2" and tuple(description["features"]) == processors.LEVELS["x86-64-v2"]
    plan = tierup.load_plan(tmp_path / "level")
    np.testing.assert_allclose(plan(X), np.tanh(X) * 2 + 3, rtol=1e-6)
    assert counts(plan) == (1, 0, 0, 0) and plan.versions[0].compiled.request.target.split(":")[1] == "x86-64-v2"
    with pytest.raises(ValueError, match="no target 'x86-64-v9': choose from x86-64-v2, x86-64-v3, x86-64-v4, or leave it out"):
        function.save(tmp_path / "f", target="x86-64-v9")


def test_features_of_which_nothing_is_known_are_not_used() -> None:
    known = "x86_64-unknown-linux-gnu:znver4:+64bit,+avx2,+clwb,-amx-tile"
    assert processors.portable(known) == known and processors.features_of(known) == ("avx2",)
    assert processors.portable(f"{known},+teleport") == "x86_64-unknown-linux-gnu:x86-64:+avx2"


def test_code_that_cannot_be_loaded_is_told_and_tier_0_answers(path: Path, monkeypatch: pytest.MonkeyPatch, no_compiler: None) -> None:
    def fails(*_: Any) -> Any:
        raise RuntimeError("there is no symbol 'f' in this process")

    monkeypatch.setattr(plans, "load", fails)
    plan = tierup.load_plan(path)
    with warnings.catch_warnings():
        np.testing.assert_allclose(plan(X), np.tanh(X) * 2 + 3, rtol=1e-6)
    assert counts(plan) == (0, 0, 0, 1) and "the plan's code cannot be loaded in this process [" in plan.explain()
