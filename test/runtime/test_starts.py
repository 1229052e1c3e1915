"""The first call of a process, of a program that an earlier process had code for."""

import errno
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tierup
from tierup.frontend import jit
from tierup.frontend.python.kept.graphs import Graphs
from tierup.lowering.objects import entries, store
from tierup.runtime.base.events import EventKind
from tierup.runtime.code import plans
from tierup.runtime.programs import starts

X = np.linspace(-1, 1, 8, dtype=np.float32)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TIERUP_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("TIERUP_CACHE", "1")
    monkeypatch.setenv("TIERUP_START", "1")
    return tmp_path / "cache"


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From its call on, what was kept is an earlier process's."""
    return lambda: monkeypatch.setattr(plans, "BEGAN", time.time())


def rise(x: Any) -> Any:
    return np.tanh(x) * 2 + 1


def fill(x: Any, n: Any) -> Any:
    t = np.zeros((n, n))
    for i in range(n):
        t[i, :] = x[i] * np.arange(n)
    return t


def grow(x: Any, y: Any) -> None:
    x += y * 3


def counts(function: Any) -> tuple[int, int, int]:
    stats = function.stats()
    return stats.hits, stats.profiled_runs, stats.compiles


def warm(function: Any, *calls: tuple[Any, ...], **options: Any) -> None:
    made = tierup.jit(function, **options)
    for call in calls:
        made(*call)


def test_a_first_call_like_those_of_an_earlier_process_is_answered_natively(later: Callable[[], None]) -> None:
    warm(rise, (X,), (X,))
    later()
    fresh = tierup.jit(rise)
    np.testing.assert_allclose(fresh(X), np.tanh(X) * 2 + 1, rtol=1e-6)
    assert counts(fresh) == (1, 0, 1)
    assert "loaded from disk a static version for x: f32[8] that an earlier process had" in fresh.explain()
    fresh.reset()
    fresh(X)
    assert counts(fresh) == (1, 0, 1)  # it is an earlier process's still


def test_a_first_call_of_other_arguments_is_profiled_and_says_what_there_was(later: Callable[[], None]) -> None:
    warm(rise, (X,), (X,))
    later()
    fresh = tierup.jit(rise)
    fresh(X[:5])
    assert counts(fresh) == (0, 1, 0)
    assert "earlier processes had versions for f32[8]" in fresh.explain()
    fresh(X)
    assert counts(fresh) == (1, 1, 1)


def test_the_version_whose_guards_a_call_keeps_answers_it_the_most_special_first(later: Callable[[], None]) -> None:
    warm(rise, *((np.ones(n, np.float32),) for n in (4, 4, 6, 6, 9)))
    later()
    fresh = tierup.jit(rise)
    for n, kinds in ((6, ["static"]), (33, ["static", "dynamic"]), (4, ["static", "dynamic"])):
        np.testing.assert_allclose(fresh(np.ones(n, np.float32)), np.tanh(np.ones(n)) * 2 + 1, rtol=1e-6)
        assert [v.speculation.kind for v in fresh.versions] == kinds
    assert counts(fresh) == (3, 0, 2)


def test_versions_for_values_of_ints_come_back_for_these_values_alone(later: Callable[[], None]) -> None:
    x = np.linspace(0, 1, 16)
    warm(fill, (x, 8), (x, 8))
    later()
    fresh = tierup.jit(fill)
    fresh(x, 5)
    assert counts(fresh) == (0, 1, 0)
    np.testing.assert_array_equal(fresh(x, 8), x[:8, None] * np.arange(8))
    assert counts(fresh) == (1, 1, 1)


def test_arguments_are_written_once(later: Callable[[], None]) -> None:
    x, y = np.ones(4), np.arange(4.0)
    warm(grow, (x.copy(), y), (x.copy(), y))
    later()
    fresh = tierup.jit(grow)
    fresh(x, y)
    np.testing.assert_array_equal(x, 1 + 3 * y)
    assert counts(fresh) == (1, 0, 1)


def test_without_the_code_calls_are_profiled_as_in_a_first_process(later: Callable[[], None]) -> None:
    warm(rise, (X,), (X,))
    for entry in entries.entries():
        if entry.described.kind == "code":
            store.remove(entry.path)
    later()
    fresh = tierup.jit(rise)
    fresh(X)
    assert counts(fresh) == (0, 1, 0)
    fresh(X)
    assert counts(fresh) == (1, 1, 1)


def test_a_program_in_mlir_starts_so_too(tmp_path: Path, later: Callable[[], None]) -> None:
    program = tmp_path / "p.mlir"
    program.write_text(
        "func.func @main(%x: !torch.vtensor) -> !torch.vtensor {\n"
        "  %y = torch.aten.tanh %x : !torch.vtensor -> !torch.vtensor\n  return %y : !torch.vtensor\n}\n"
    )
    first = tierup.load(program)
    first(X), first(X)
    later()
    fresh = tierup.load(program)
    fresh(X)
    assert counts(fresh) == (1, 0, 1)


@pytest.mark.parametrize("how", ["cache=False", "TIERUP_START=0", "speculate", "this process"])
def test_calls_are_profiled(how: str, later: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    warm(rise, (X,), (X,))
    if how != "this process":
        later()
    if how == "TIERUP_START=0":
        monkeypatch.setenv("TIERUP_START", "0")
    fresh = tierup.jit(rise, **{"cache=False": {"cache": False}, "speculate": {"speculate": "bailout"}}.get(how, {}))  # type: ignore[arg-type]
    fresh(X)
    assert counts(fresh) == (0, 1, 0)


def test_explain_names_the_part_in_which_what_was_kept_differs(later: Callable[[], None]) -> None:
    warm(rise, (X,), (X,), level=1)
    later()
    fresh = tierup.jit(rise)
    fresh(X)
    assert counts(fresh) == (0, 1, 0)
    assert "no start on disk: an entry of " in fresh.explain()
    assert "differs in options" in fresh.explain()


def test_what_an_earlier_process_left_is_read_once_by_all_that_explain(later: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    warm(rise, (X,), (X,), level=1)
    later()
    read, description = [], store.description
    monkeypatch.setattr(store, "description", lambda path: read.append(path) or description(path))
    for _ in range(3):
        fresh = tierup.jit(rise)
        fresh(X)
        assert "differs in options" in fresh.explain()
    assert read and len(read) == len(set(read))


def test_no_more_versions_come_back_than_the_strategy_has(later: Callable[[], None]) -> None:
    strategy: Any = [("static", 2)]
    warm(rise, *((np.ones(n, np.float32),) for n in (4, 4, 6, 6)), fusion_strategy=strategy)
    later()
    warm(rise, *((np.ones(n, np.float32),) for n in (7, 7)), fusion_strategy=strategy)
    later()
    fresh = tierup.jit(rise, fusion_strategy=strategy)
    with pytest.warns(tierup.RecompileLimitWarning):
        for n in (4, 6, 7):
            fresh(np.ones(n, np.float32))
    assert counts(fresh) == (2, 0, 2)
    assert fresh.stats().misses == 1


def test_a_damaged_entry_is_an_event_and_the_call_is_profiled(later: Callable[[], None]) -> None:
    warm(rise, (X,), (X,))
    for entry in entries.entries():
        if entry.described.kind == "start":
            data = bytearray(Path(entry.path).read_bytes())
            data[-1] ^= 1
            Path(entry.path).write_bytes(data)
    later()
    heard: list[Any] = []
    fresh = tierup.jit(rise)
    with tierup.events.subscribe(heard.append):
        fresh(X)
    assert counts(fresh) == (0, 1, 0)
    assert EventKind.CACHE_REFUSED in [event.kind for event in heard]


def _no_file(*given: object, **more: object) -> Any:
    raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))


def test_where_no_file_can_be_opened_calls_go_on_as_in_a_first_process(later: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    warm(rise, (X,), (X,))
    later()
    monkeypatch.setattr(Graphs, "_key", _no_file)
    monkeypatch.setattr(starts, "key", _no_file)
    fresh = tierup.jit(rise)
    fresh(X), fresh(X)
    assert counts(fresh) == (1, 1, 1)


def test_python_answers_a_call_while_the_front_end_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []
    fresh = tierup.jit(rise)
    with monkeypatch.context() as short, tierup.events.subscribe(heard.append):
        short.setattr(jit, "_builder", _no_file)
        np.testing.assert_array_equal(fresh(X), rise(X))
        with pytest.raises(OSError, match="open files"):
            tierup.jit(rise, strict=True)(X)
    assert [event.kind for event in heard] == [EventKind.POSTPONED]
    fresh(X), fresh(X)
    assert counts(fresh) == (1, 1, 1)


def test_another_process_answers_its_first_call_natively(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nimport numpy as np\nimport tierup\n\n@tierup.jit\ndef f(x):\n    return np.tanh(x) * 2\n\n"
        "for _ in range(2):\n    f(np.ones(4))\n    s = f.stats()\n    print(s.hits, s.profiled_runs, 'numpy.ma' in sys.modules, 'torch_mlir' in sys.modules)\n"
    )
    ran = [subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert ran == ["0 1 False True\n1 1 False True\n", "1 0 False False\n2 0 False False\n"]
