"""Helper modules of the tests (oracles, samples) are imported by name from the folder that has them; how much is sampled."""

from __future__ import annotations

import atexit
import gc
import math
import os
import random
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

HERE = Path(__file__).parent
_MANY = 30  # tests of a file

# compiled code is kept on disk for one run of the tests, which ask for the same code again and again: never that of an earlier run
os.environ["TIERUP_CACHE_DIR"] = tempfile.mkdtemp(prefix="tierup-tests-")
atexit.register(shutil.rmtree, os.environ["TIERUP_CACHE_DIR"], ignore_errors=True)

# each process profiles its own calls, whatever those before it kept of theirs; what is different else is tested in test_starts.py
os.environ["TIERUP_START"] = "0"

# compiles that a call waits for happen in the process that tests, and those of programs that tests start in theirs: a worker each would take
# the time that all their compiles do. What is different with workers is tested where it says so: test_workers.py, test_background.py; and
# TIERUP_WORKER=1 has workers in all tests
os.environ.setdefault("TIERUP_WORKER", "0")

# --hypothesis-profile: `make test` repeats the same examples in every run, `make exhaustive` looks for new ones
# (how long examples take to draw hangs on what else the machine does: that is no fault)
_SLOW = [HealthCheck.too_slow]
settings.register_profile("sample", derandomize=True, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("exhaustive", max_examples=2000, deadline=None, print_blob=True, suppress_health_check=_SLOW)
settings.load_profile("sample")


def _helpers() -> dict[str, Path]:
    """Each helper module's name and folder. Raises RuntimeError for two of one name: the second would never be found."""
    found: dict[str, Path] = {}
    for path in sorted(HERE.rglob("*.py")):
        if path.name.startswith("test_") or path.stem in ("conftest", "lit.cfg"):
            continue
        if path.stem in found:
            raise RuntimeError(f"two test helpers are called {path.name}: in {found[path.stem]} and {path.parent}")
        found[path.stem] = path.parent
    return found


sys.path[:0] = dict.fromkeys(str(folder) for folder in _helpers().values())


@pytest.fixture(autouse=True)
def _whole_lines(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of what explain() says, whatever the length of the paths in it, but for files that say AS_PRINTED: they look at how lines go on."""
    from tierup.runtime.functions.verdict import words

    if not getattr(request.module, "AS_PRINTED", False):
        monkeypatch.setattr(words, "WIDTH", 1_000_000)


@pytest.fixture(autouse=True)
def _no_guesses(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """No event says that a compile will be long, which hangs on how busy the machine is; tests of that have `TELLS_GUESSES = True`."""
    progress = sys.modules.get("tierup.runtime.compiling.scheduling.progress")
    if progress is not None and not getattr(request.module, "TELLS_GUESSES", False):
        monkeypatch.setattr(progress, "LONG", math.inf)


@pytest.fixture(autouse=True)
def _defects_show(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the front end fails at is raised, where users have Python run the statement; tests of that have `LEAVES_DEFECTS = True`."""
    statements = sys.modules.get("tierup.frontend.python.syntax.statements")
    if statements is not None and not getattr(request.module, "LEAVES_DEFECTS", False):
        monkeypatch.setattr(statements, "DEFECTS", ())


@pytest.fixture(autouse=True)
def _recursion_limit_stays() -> Generator[None]:
    """What a test leaves behind (mypy sets a limit of 16384, for good) would have an endless recursion in a later one end the process."""
    limit = sys.getrecursionlimit()
    yield
    sys.setrecursionlimit(limit)


@pytest.fixture(autouse=True)
def _seeded(request: pytest.FixtureRequest) -> None:
    """What a test draws hangs on its name and on TIERUP_SEED, not on the tests before it: from its file's generators, too."""
    seed = _seed(request.node.nodeid)
    for generator in vars(request.module).values():
        if isinstance(generator, np.random.Generator):
            generator.bit_generator.state = np.random.PCG64(seed).state


def pytest_collectstart(collector: pytest.Collector) -> None:
    """So does what a file draws for its tests while it is imported."""
    if isinstance(collector, pytest.Module):
        if collector.path.name.endswith("_torch.py"):
            with suppress(ImportError):
                import torch  # noqa: F401 - it has numbers of its own, and may have come with an earlier file
        _seed(collector.nodeid)


def _seed(name: str) -> int:
    seed = zlib.crc32(f"{os.environ.get('TIERUP_SEED', '0')} {name}".encode())
    random.seed(seed)
    np.random.seed(seed)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.manual_seed(seed)
    return seed


def pytest_report_header() -> str:
    """What the samples hang on."""
    return f"tierup: seed of samples {os.environ.get('TIERUP_SEED', '0')} (TIERUP_SEED)"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Whether no test of the file is asked for: then it is not imported, PyTorch neither. Tests marked torch stand in files of their own."""
    wanted, name = config.getoption("markexpr"), collection_path.name
    if wanted not in ("torch", "not torch") or not (name.startswith("test_") and name.endswith(".py")):
        return None
    return name.endswith("_torch.py") == (wanted == "not torch") or None


@pytest.fixture(autouse=os.environ.get("TIERUP_GRAVEYARD") == "1")
def no_erased_op_is_read() -> Generator[None]:
    """With TIERUP_GRAVEYARD=1 for every test: no op is read once it was erased (graveyard.py). It takes memory, and some tests of errors fail."""
    from graveyard import graveyard

    with graveyard() as dead:
        yield
    assert not dead.found, "\n".join(dead.found)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One process more than there are cores: some tests wait for processes of their own."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are collected, and are no garbage: a collector that looks at them again and again costs more than the imports."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """What a file's tests leave behind for good, caches above all, is no garbage either: hundreds of tests collect, and would look at it."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect()
        gc.freeze()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--part", action="store_true", help="of each test with more than three cases every second: the others with another TIERUP_SEED")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where files are handed to several processes: those of few tests first, which are the long ones (all lit tests, wheels, caches), or one
    process would be left alone with them in the end; then those of many. Raises UsageError for a test marked torch in a file that
    `make test-torch` does not look at, and for one without the mark where it does."""
    if config.getoption("part"):
        _leave_out(config, items)
    for item in items:
        if (item.get_closest_marker("torch") is not None) != item.path.name.endswith("_torch.py"):
            raise pytest.UsageError(f"{item.nodeid}: tests marked torch stand in files test_*_torch.py, and no others do")
    if hasattr(config, "workerinput"):
        tests = Counter(item.path for item in items)
        items.sort(key=lambda item: (tests[item.path] >= _MANY, -tests[item.path]))


def _leave_out(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The cases that are not in this seed's part."""
    from sampling import part_of  # which is found by now

    by_test: dict[str, list[pytest.Item]] = {}
    for item in items:
        by_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    kept = {cases[i] for name, cases in by_test.items() for i in part_of(name, len(cases))}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
