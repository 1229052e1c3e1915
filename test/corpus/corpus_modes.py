"""The modes that every program of the corpus is run in. A new mode is one line of `MODES`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Barrier
from typing import Any

import numpy as np
from corpus import HERE, Inputs, Keywords, Program
from corpus_compare import arrays, assert_same, assert_same_exception, sharing

from tierup.frontend.jit import jit, load
from tierup.runtime.account.stats import Stats
from tierup.runtime.base.options import options
from tierup.runtime.dispatching.version import Version
from tierup.runtime.executors.splits.split import Split
from tierup.runtime.functions.function import Function


@dataclass
class Step:
    """One call. `answer`: who must answer it: "native", "tier 0" or None for either. `spoil`: changes the arguments first."""

    inputs: Inputs
    n: int
    answer: str | None = None
    spoil: Callable[[list[Any]], None] | None = None
    raises: bool | None = False  # None: as the undecorated function does
    what: str = "call"


@dataclass(frozen=True)
class Mode:
    """`steps(program)`: the calls, in order. `versions(program)`: the kinds of the versions that exist at the end. `one_of`: `make test`
    draws one of so many programs, `make exhaustive` has all."""

    name: str
    steps: Callable[[Program], Iterator[Step]]
    versions: Callable[[Program], tuple[str, ...] | None]
    options: dict[str, Any] = field(default_factory=dict)
    one_of: int = 1
    waits: bool = False  # after each call, for what it asked to be compiled in the background
    reloaded: bool = False  # by a second function, which finds the code of the first on disk
    threads: int = 1  # which make each call at once


def interpreted(program: Program) -> Iterator[Step]:
    """Every shape, every other call, every bad call, and the first shape again; all in tier 0."""
    for n in program.sizes:
        yield Step(program.inputs, n, "tier 0")
    for step in _others(program):
        step.answer = "tier 0"
        yield step
    yield Step(program.inputs, program.sizes[0], "tier 0")


def growing(program: Program) -> Iterator[Step]:
    """The first shape thrice, then a second and a third: a static version, a miss, a dynamic version; then bad calls and good ones."""
    a, b, c = program.sizes
    static = "native" if "static" in program.native else "tier 0"
    dynamic = "native" if "dynamic" in program.native or (static == "native" and a == b == c) else "tier 0"
    yield Step(program.inputs, a, "tier 0")
    yield Step(program.inputs, a, static)
    yield Step(program.inputs, a, static)
    yield Step(program.inputs, b, static if a == b else "tier 0")
    yield Step(program.inputs, c, dynamic)
    yield Step(program.inputs, b, "native" if program.by_value else dynamic)
    yield Step(program.inputs, a, static)
    for step in _others(program):
        yield step
        yield Step(program.inputs, a, static, what=f"after {step.what}")


def behind(program: Program) -> Iterator[Step]:
    """As `growing`; but the call that asks for a version is answered by tier 0, and the next of its kind by the version."""
    a, b, c = program.sizes
    static = "native" if "static" in program.native else "tier 0"
    dynamic = "native" if "dynamic" in program.native or (static == "native" and a == b == c) else "tier 0"
    yield Step(program.inputs, a, "tier 0")
    yield Step(program.inputs, a, "tier 0")
    yield Step(program.inputs, a, static)
    yield Step(program.inputs, b, static if a == b else "tier 0")
    yield Step(program.inputs, c, static if a == b == c else "tier 0")
    yield Step(program.inputs, b, None if program.by_value else dynamic)
    yield Step(program.inputs, a, static)
    yield from _others(program)


def spoiled(program: Program) -> Iterator[Step]:
    """After one version was compiled, each array in turn with another size, dtype, layout, or read-only; the version must not run
    where its guards fail, and must run again after it."""
    n = program.sizes[0]
    native = "native" if "static" in program.native else "tier 0"
    yield Step(program.inputs, n, "tier 0")
    yield Step(program.inputs, n, native)
    for what, spoil, answer in _spoilers(program):
        yield Step(program.inputs, n, answer, spoil, None, what)
        yield Step(program.inputs, n, native, what=f"after {what}")


# there is code only where sizes are known to be equal, or to divide: a plan's are symbols, each its own
_SIZES_TIED = ("mlir_layer_norm_gelu", "mlir_lstm", "mlir_lstm_cell", "splits", "lstm", "gru", "gpt2_block", "unet")


def specialised(program: Program) -> Iterator[Step]:
    """One plan for all shapes, native from the first call on where code can be made for symbolic sizes; then bad calls and good ones."""
    native = "native" if "dynamic" in program.native and not program.by_value and program.name not in _SIZES_TIED else None
    for n in (*program.sizes, *program.sizes[:1]):
        yield Step(program.inputs, n, native)
    for step in _others(program):
        yield step
        yield Step(program.inputs, program.sizes[0], native, what=f"after {step.what}")


def cut(program: Program) -> Iterator[Step]:
    """Enough calls for a program that is not native as a whole to be recorded, cut, and called with other sizes and wrongly."""
    a, b, c = program.sizes
    for n in (a, a, a, a, b, b, c, a):
        yield Step(program.inputs, n)
    for step in _others(program):
        yield step
        yield Step(program.inputs, a, what=f"after {step.what}")


def _others(program: Program) -> Iterator[Step]:
    for i, inputs in enumerate(program.also):
        yield Step(inputs, program.sizes[0], what=f"other call {i}")
        yield Step(inputs, program.sizes[0], what=f"other call {i} again")
    for i, inputs in enumerate(program.bad):
        yield Step(inputs, program.sizes[0], raises=True, what=f"bad call {i}")


# --- arguments whose guards fail ----------------------------------------------------------------------------------------

_OTHER_DTYPE = {
    "f": {2: np.float32, 4: np.float64, 8: np.float32},
    "i": {1: np.int16, 2: np.int32, 4: np.int64, 8: np.int32},
    "u": {1: np.int16},
    "V": {2: np.float32},
}


def _spoilers(program: Program) -> Iterator[tuple[str, Callable[[list[Any]], None], str | None]]:
    """(what, change of the arguments, who must answer) for each array among the arguments and each way to change it."""
    for path, a in _places(list(program.inputs(np.random.default_rng(0), program.sizes[0]))):
        name = "argument " + ".".join(map(str, path))
        for axis in range(a.ndim if "size" in program.spoil else 0):
            yield f"{name} longer in dim {axis}", _change(path, partial(_longer, axis=axis)), "tier 0"
        other = _OTHER_DTYPE.get(a.dtype.kind, {}).get(a.itemsize)
        if other is not None and "dtype" in program.spoil:
            yield f"{name} as {np.dtype(other)}", _change(path, partial(_cast, dtype=other)), "tier 0"
        if a.flags.c_contiguous and not _spread(a).flags.c_contiguous and "layout" in program.spoil:
            yield f"{name} strided", _change(path, _spread), "tier 0"
        if "read-only" in program.spoil:
            yield f"{name} read-only", _change(path, _read_only), None


def _places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], np.ndarray[Any, Any]]]:
    items = enumerate(tree) if isinstance(tree, (list, tuple)) else tree.items() if isinstance(tree, dict) else ()
    for key, item in items:
        if isinstance(item, np.ndarray):
            yield (*path, key), item
        else:
            yield from _places(item, (*path, key))


def _change(path: tuple[Any, ...], new: Callable[[Any], Any]) -> Callable[[list[Any]], None]:
    def changed(tree: Any, path: tuple[Any, ...]) -> Any:
        if not path:
            return new(tree)
        key, *rest = path
        if isinstance(tree, tuple):
            return tuple(changed(t, tuple(rest)) if i == key else t for i, t in enumerate(tree))
        tree[key] = changed(tree[key], tuple(rest))
        return tree

    return lambda args: changed(args, path)


def _longer(a: np.ndarray[Any, Any], axis: int) -> np.ndarray[Any, Any]:
    """One more along an axis: the first again."""
    return np.pad(a, [(0, int(d == axis)) for d in range(a.ndim)], "wrap" if a.size else "constant")


def _cast(a: np.ndarray[Any, Any], dtype: Any) -> np.ndarray[Any, Any]:
    return a.astype(dtype)


def _spread(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The same values, every other element of a longer array along each axis. Rank 0 stays as it is."""
    if not a.ndim:
        return a
    memory = np.zeros([2 * s for s in a.shape], a.dtype)
    view = memory[(slice(None, None, 2),) * a.ndim]
    view[...] = a
    return view


def _read_only(a: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    a.flags.writeable = False
    return a


# --- running ------------------------------------------------------------------------------------------------------------


def run(program: Program, mode: Mode) -> None:
    """Raise AssertionError, naming the call, unless the program does in this mode what the undecorated function does."""
    if program.mlir and mode.options:  # around the calls: `load` has a parameter `entry` of its own
        with options(**mode.options):
            run(program, replace(mode, options={}))
        return
    if mode.reloaded:
        _run(program, mode, _made(program, mode))
    function = _made(program, mode)
    if mode.threads > 1:
        _run_at_once(program, mode, function)
        return
    _run(program, mode, function)
    if mode.reloaded:
        compiled = [v for v in function.versions if isinstance(v, Version) and not v.compiled.from_disk]
        assert not compiled, f"{program.name}: compiled again, and not loaded from disk\n{function.explain()}"


def _made(program: Program, mode: Mode) -> Function:
    if program.make is not None:
        return program.make(**mode.options)
    return load(HERE / program.mlir) if program.mlir else jit(program.function, **mode.options)


def _run_at_once(program: Program, mode: Mode, function: Function) -> None:
    """Every thread makes each call at the same moment, with arguments of its own; who answers hangs on who comes first."""
    if program.state():
        return  # which threads would write at once
    steps = list(mode.steps(program))
    together = Barrier(mode.threads, timeout=300)

    def calls(thread: int) -> None:
        try:
            for number, step in enumerate(steps, 1):
                together.wait()
                where = f"{program.name}, {mode.name}, thread {thread}, call {number} ({step.what}, n={step.n})"
                one_call(program, function, step, number + 1000 * thread, where)
        except BaseException:
            together.abort()
            raise

    with ThreadPoolExecutor(mode.threads) as pool:
        running = [pool.submit(calls, thread) for thread in range(mode.threads)]
    errors = [e for e in (r.exception() for r in running) if e is not None]
    for error in sorted(errors, key=lambda e: not isinstance(e, AssertionError)):  # not that of a thread which waited in vain
        raise error
    s = function.stats()
    fine = mode.threads * sum(step.raises is False for step in steps)
    assert s.calls == s.hits + s.misses + s.profiled_runs + s.interpreted >= fine, f"{program.name}: {s}"
    assert function.is_optimized or "static" not in program.native, function.explain()


def _run(program: Program, mode: Mode, function: Function) -> None:
    for number, step in enumerate(mode.steps(program), 1):
        where = f"{program.name}, {mode.name}, call {number} ({step.what}, n={step.n})"
        before, splits_before = function.stats(), split_hits(function)
        one_call(program, function, step, number, where)
        assert not mode.waits or function.wait(200), f"{where}: the compile does not end"
        _check_answer(function, before, splits_before, step, where)
    expected = mode.versions(program)
    if expected is not None:
        kinds = tuple(v.speculation.kind for v in function.versions if isinstance(v, Version))
        assert kinds[: len(expected)] == expected, f"{program.name}, {mode.name}: versions {kinds}, not {expected}\n{function.explain()}"
        if not expected:
            assert not kinds or program.also, f"{program.name}, {mode.name}: versions {kinds}\n{function.explain()}"
    if mode.name == "optimised":
        found = max((sum(bool(region.versions) for region in v.regions) for v in function.versions if isinstance(v, Split)), default=0)
        assert found == program.regions, f"{program.name}: {found} native regions, not {program.regions}\n{function.explain()}"
    if mode.name == "optimised" and program.reason is not None:
        assert program.reason.sentence in function.explain(), function.explain()


def one_call(program: Program, function: Function, step: Step, seed: int, where: str) -> None:
    want, want_error, want_inputs, want_state = _attempt(program, program.function, step, seed)
    got, got_error, got_inputs, got_state = _attempt(program, function, step, seed)
    if step.raises is not None:
        assert (want_error is not None) == step.raises, f"{where}: the undecorated function gave {want_error!r}"
    if want_error is not None:
        assert_same_exception(got_error, want_error, where)
    elif got_error is not None:
        raise AssertionError(f"{where}: raised {got_error!r}\n{function.explain()}") from got_error
    try:
        assert_same(got, want, program.tolerance, "result")
        assert_same(got_inputs, want_inputs, program.tolerance, "arguments after the call")
        assert_same(got_state, want_state, program.tolerance, "state after the call")
    except AssertionError as e:
        raise AssertionError(f"{where}: {e}") from None
    if program.views and want_error is None:
        shared, expected = sharing(got, got_inputs), sharing(want, want_inputs)
        assert shared == expected, f"{where}: results share memory with arguments {shared}, not {expected}"


def _attempt(program: Program, function: Callable[..., Any], step: Step, seed: int) -> tuple[Any, Exception | None, Any, Any]:
    """Result or exception of one call, its arguments' arrays after it, and copies of the program's state."""
    args = list(step.inputs(np.random.default_rng(seed), step.n))
    if step.spoil is not None:
        step.spoil(args)
    keywords = args.pop() if args and isinstance(args[-1], Keywords) else {}
    result, error = None, None
    with np.errstate(all="ignore"):
        try:
            result = function(*args, **keywords)
        except Exception as e:
            error = e
    return result, error, arrays([args, dict(keywords)]), [a.copy() for a in program.state()]


def split_hits(function: Function) -> int:
    """Calls that a program's native regions answered, with tier 0 between them."""
    return sum(v.hits for v in function.versions if isinstance(v, Split))


def _check_answer(function: Function, before: Stats, splits_before: int, step: Step, where: str) -> None:
    after = function.stats()
    assert after.calls == before.calls + 1 or step.raises is not False, f"{where}: counted {after.calls - before.calls} calls"
    if step.answer is None:
        return
    hit = (after.hits - before.hits) - (split_hits(function) - splits_before)
    assert hit == (step.answer == "native"), f"{where}: {'native' if hit else 'tier 0'} answered, not {step.answer}\n{function.explain()}"
    assert step.raises is not False or after.bailouts == before.bailouts, f"{where}: native code bailed out\n{function.explain()}"


def _any(program: Program) -> None:
    return None


def _none(program: Program) -> tuple[str, ...]:
    return ()


def _declared(program: Program) -> tuple[str, ...]:
    return program.native


def _first(program: Program) -> tuple[str, ...] | None:
    return program.native[:1]


MODES = (
    Mode("tier0", interpreted, _none, {"optimize": False}),
    Mode("simple", interpreted, _none, {"bailout_depth": 0}, one_of=4),
    Mode("profiled", interpreted, _none, {"num_profiled_runs": 1000}, one_of=5),
    Mode("optimised", growing, _declared),
    Mode("guards_fail", spoiled, _first, {"fusion_strategy": [("static", 1)]}, one_of=8),
    Mode("specializing", specialised, _any, {"executor": "specializing"}, one_of=12),
    Mode("required", interpreted, _none, {"executor": "specializing", "optimize": False}, one_of=6),
    Mode("python_entry", growing, _declared, {"entry": "python"}, one_of=12),
    Mode("bailout", cut, _any, {"speculate": "bailout"}, one_of=16),  # those that assume something in mid-program are all in test_forced_bailouts.py
    Mode("background", behind, _declared, {"compile": "background"}, waits=True, one_of=14),
    Mode("reloaded", growing, _declared, reloaded=True, one_of=12),
    Mode("two_threads", growing, _any, threads=2, one_of=12),
)
CUT = Mode("cut", cut, _any)  # for a test that has the whole refused
