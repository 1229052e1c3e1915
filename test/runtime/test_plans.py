"""Code that an earlier process made: loaded without the compiler, and only where it is the same program on the same machine."""

from __future__ import annotations

import ast
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tierup
from tierup.lowering.objects import entries, store
from tierup.runtime.base.options import Options
from tierup.runtime.code import plans
from tierup.runtime.compiling.processes import placement

PROGRAM = """
import sys
import numpy as np, tierup
{extra}
@tierup.jit
def f(x, n: int):
    return np.tanh(x[:n]) * {factor} @ x[:n]
for i in range(3):
    assert np.allclose(f(np.full(5, .5), 3), np.tanh(.5) * {factor} * 1.5)
(version,) = f.versions
print(version.compiled.from_disk, 'tierup.lowering.compiling.compile' in sys.modules, f.stats().hits, 'loaded from disk' in f.explain())
f.explain().encode()
print('tanh' in f.plan('specialized') and 'llvm' in f.plan('llvm') and 'tierup.check' in f.plan('guarded'))
"""


def run(tmp_path: Path, extra: str = "", factor: int = 2, **environment: str) -> list[str]:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(extra=extra, factor=factor))
    environment = {**os.environ, "TIERUP_CACHE_DIR": str(tmp_path / "cache"), **environment}
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert second == "True"
    return first.split()


COMPILED, FROM_DISK = ["False", "True", "2", "False"], ["True", "False", "2", "True"]


def test_the_second_process_loads_what_the_first_compiled_and_imports_no_compiler(tmp_path: Path) -> None:
    assert run(tmp_path) == COMPILED
    assert run(tmp_path) == FROM_DISK
    assert run(tmp_path, factor=3) == COMPILED  # another program in the same place


def test_what_cannot_be_read_is_compiled_anew(tmp_path: Path) -> None:
    run(tmp_path)
    for damage in (lambda data: data[:-3] + b"xyz", lambda data: b""):
        for file in (tmp_path / "cache").iterdir():
            file.write_bytes(damage(file.read_bytes()))
        assert run(tmp_path) == COMPILED
    assert run(tmp_path, TIERUP_CACHE="0") == COMPILED
    assert run(tmp_path) == FROM_DISK


def test_explain_names_the_part_of_the_key_in_which_what_was_there_differs(tmp_path: Path) -> None:
    show = "\nimport atexit; atexit.register(lambda: print(f.explain()))"
    environment = {**os.environ, "TIERUP_CACHE_DIR": str(tmp_path / "cache"), "TIERUP_CACHE": "1"}
    file = tmp_path / "program.py"

    def told(extra: str = show, factor: int = 2) -> list[str]:
        file.write_text(PROGRAM.format(extra=extra, factor=factor))
        done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=True)
        whole = re.sub(r"\n {8,}", " ", done.stdout)  # long lines go on in the next
        return [line.split(" differs in ")[1] for line in whole.splitlines() if "not on disk: an entry of " in line]

    assert told() == []  # nothing was there
    assert told() == []  # it was there
    assert told(factor=3) == ["graph"]
    (options,) = told("import contextlib; opened = contextlib.ExitStack(); opened.enter_context(tierup.options(level=1))" + show)
    assert re.fullmatch(r"options \(level=2, .* there, level=1, .* here\)", options)
    assert told(show + "\nnp.full = lambda n, x, full=np.full: full(n + 1, x, np.float32)") == ["facts (f64[5],int=3 there, f32[6],int=3 here)"]


def test_without_the_cache_by_an_option_nothing_is_kept_and_nothing_taken(tmp_path: Path) -> None:
    off = "import contextlib; opened = contextlib.ExitStack(); opened.enter_context(tierup.options(cache=False))"

    def kept() -> set[str]:
        return {e.described.kind for e in entries.entries()} & {"code", "specialised"}

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TIERUP_CACHE_DIR", str(tmp_path / "cache"))
        assert run(tmp_path, off) == COMPILED and kept() == set()
        assert run(tmp_path) == COMPILED and kept() == {"code", "specialised"}
        assert run(tmp_path, off) == COMPILED
        assert run(tmp_path) == FROM_DISK


PLACED = """
import sys, warnings
import numpy as np, tierup
{above}
@tierup.jit(speculate={speculate!r})
def f(x, n: int):
{body}
told = []
with tierup.events.subscribe(told.append):
    for i in range(3):
        f(np.full(5, .5), 3)
(version,) = f.versions
assert f.stats().hits == 2, f.stats()
sites = version.compiled.artifact.error_sites + version.compiled.artifact.exits
try:
    f(np.full(5, .5), 9)
except IndexError as e:
    message = " ".join([str(e), *e.__notes__])
print(version.compiled.from_disk, [site.location for site in sites], message, [e.action for e in told if e.kind.name == "CACHE_REFUSED"], sep="\\n")
specialized = f.plan("specialized")
print([line for line in specialized.splitlines() if '.py":' in line])
"""
BODY = """    y = np.tanh(x)
    z = y[n] * 2 + np.exp(x)
    return z"""


def placed(file: Path, above: str, cache: Path, speculate: str = "versioned", body: str = BODY) -> tuple[bool, list[str], str]:
    """(whether its code came from disk, the places of its checks, what an index out of range raises)."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(PLACED.format(above=above, speculate=speculate, body=body))
    environment = {**os.environ, "TIERUP_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    from_disk, sites, message, reports, specialized = done.stdout.splitlines()
    assert reports == "[]"
    lines = {int(n) for n in re.findall(rf'/{file.parent.name}/[^"]*":(\d+):', specialized)}
    text = file.read_text().splitlines()
    assert lines and all(text[line - 1].startswith(("def f", "    ")) for line in lines), (lines, specialized)
    return from_disk == "True", ast.literal_eval(sites), message


@pytest.mark.parametrize("speculate", ["versioned", "bailout"])
def test_the_same_function_elsewhere_is_found_and_errors_name_the_lines_where_it_stands(speculate: str, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    places = (tmp_path / "one" / "program.py", ""), (tmp_path / "two" / "café.py", "# a line\n" * 40 + "import os")
    for number, (file, above) in enumerate(places):
        before = set(cache.glob("*.artifact"))
        from_disk, sites, message = placed(file, above, cache, speculate)
        assert from_disk is (number > 0)
        assert not number or set(cache.glob("*.artifact")) == before, "something was compiled"
        line = next(i for i, text in enumerate(file.read_text().splitlines(), 1) if "y[n]" in text)
        assert sites and {place.rpartition(":")[0] for place in sites} == {f"{file}:{line}"}
        assert f"at {file.name}:{line}: z = y[n]" in message


IN_PARTS = """
import numpy as np, tierup
{above}
@tierup.jit(weigh=False)
def f(x):
    y = np.tanh(x)
    print(len({{1.0, float(y[0])}}))
    return (y * 2).sum()
for _ in range(4):
    f(np.ones(3))
"""


def test_the_regions_of_a_function_in_parts_are_found_where_it_stands_elsewhere(tmp_path: Path) -> None:
    environment = {**os.environ, "TIERUP_CACHE_DIR": str(tmp_path / "cache"), "TIERUP_CACHE": "1"}
    kept = []
    for name, above in (("one.py", ""), ("two.py", "# a line\n" * 20)):
        (tmp_path / name).write_text(IN_PARTS.format(above=above))
        subprocess.run([sys.executable, str(tmp_path / name)], env=environment, check=True, capture_output=True)
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("TIERUP_CACHE_DIR", str(tmp_path / "cache"))
            kept.append({e.name for e in entries.entries() if e.described.kind in ("code", "specialised")})
    assert kept[0] == kept[1] and len(kept[0]) == 4


GRADIENT = """
import numpy as np, tierup
{above}
def loss(p, x): return (np.tanh(x @ p["w"]) ** 2).sum()
gradient = tierup.value_and_grad(loss)
for _ in range(3):
    gradient({{"w": np.ones((4, 3))}}, np.ones((3, 4)))
assert gradient.stats().hits == 2, gradient.stats()
try:
    gradient({{"w": np.ones((4, 3), int)}}, np.ones((3, 4)))
except TypeError as e:
    print(e)
"""


def test_a_gradient_elsewhere_is_found_and_its_messages_name_where_it_stands(tmp_path: Path) -> None:
    """They stand in its graph, with the place of the function."""
    environment = {**os.environ, "TIERUP_CACHE_DIR": str(tmp_path / "cache"), "TIERUP_CACHE": "1"}
    kept = []
    for folder, above in (("one", ""), ("two", "# a line\n" * 20)):
        file = tmp_path / folder / "program.py"
        file.parent.mkdir()
        file.write_text(GRADIENT.format(above=above))
        done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        line = next(i for i, text in enumerate(file.read_text().splitlines(), 1) if text.startswith("def loss"))
        assert f"value_and_grad(loss) of {file}:{line}: argument p['w'] is " in done.stdout
        with pytest.MonkeyPatch.context() as patched:
            patched.setenv("TIERUP_CACHE_DIR", str(tmp_path / "cache"))
            kept.append({e.name for e in entries.entries() if e.described.kind in ("code", "specialised")})
    assert kept[0] == kept[1] and len(kept[0]) == 2


def test_entries_that_were_swapped_are_refused_and_made_anew(tmp_path: Path) -> None:
    """Each function's file with the content of another's: no one gets another's results, and an event says so."""
    run(tmp_path)
    run(tmp_path, factor=3)
    files = sorted((tmp_path / "cache").glob("*.artifact"))
    contents = [file.read_bytes() for file in files]
    for file, content in zip(files, [*contents[1:], contents[0]], strict=True):
        file.write_bytes(content)
    assert run(tmp_path, factor=3) == COMPILED
    assert run(tmp_path, factor=3) == FROM_DISK


REFUSED = """
import numpy as np, tierup
told = []
with tierup.events.subscribe(told.append):
    f = tierup.jit(compile={compile!r})(__import__("program").f)
    for i in range(3):
        assert np.allclose(f(np.full(5, .5)), np.tanh(.5))
        assert f.wait(200)
print(f.stats().hits >= 1, f.versions[0].compiled.from_disk, [str(e) for e in told if e.kind is tierup.events.EventKind.CACHE_REFUSED])
"""


def refused(folder: Path, environment: dict[str, str], compile: str = "blocking", limit: int = 0) -> list[str]:
    """Run a function with the cache of an environment; what events said of it. `limit`: the largest file that may be written."""
    (folder / "program.py").write_text("import numpy as np\ndef f(x):\n    return np.tanh(x)\n")
    (folder / "main.py").write_text(REFUSED.format(compile=compile))

    def restrict() -> None:
        if limit:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [sys.executable, "-B", str(folder / "main.py")], env=environment, capture_output=True, text=True, check=False, timeout=300, preexec_fn=restrict
    )
    assert done.returncode == 0, done.stderr
    ran, from_disk, reports = done.stdout.strip().split(" ", 2)
    assert (ran, from_disk) == ("True", "False")
    return ast.literal_eval(reports)


def test_a_folder_that_others_can_write_is_not_used_and_an_event_says_so(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    cache.chmod(0o777)
    (said,) = refused(tmp_path, {**os.environ, "TIERUP_CACHE_DIR": str(cache)})
    assert said.startswith("not used of the cache on disk") and "chmod go-w" in said and str(cache) in said
    assert list(cache.iterdir()) == []


@pytest.mark.parametrize("compile", ["blocking", "background"])
def test_a_disk_that_is_full_costs_an_event_and_a_compile(compile: str, tmp_path: Path) -> None:
    """Also where the compile is a worker's."""
    reports = refused(tmp_path, {**os.environ, "TIERUP_CACHE_DIR": str(tmp_path / "cache")}, compile, limit=1000)
    assert any("nothing can be kept" in said for said in reports)


def test_what_a_worker_has_to_say_of_the_cache_is_an_event_here(monkeypatch: pytest.MonkeyPatch) -> None:
    class Worker:
        has_answered = True

        def call(self, *request: object, limit: float) -> tuple[plans.CompilerOutput, tuple[()]]:
            return plans.CompilerOutput(None, None, 0.0, is_new=False, reports=("the disk is full, over there",)), ()

    monkeypatch.setattr(store, "_reported", {})
    told: list[tierup.events.Event] = []
    with tierup.events.subscribe(told.append):
        for _ in range(2):
            placement.elsewhere(Worker(), "", "main", (), Options())
    assert [str(event) for event in told] == ["not used of the cache on disk; -> the disk is full, over there"]


def test_a_user_without_a_home_and_one_whose_home_is_none_compile(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("HOME", "TIERUP_CACHE_DIR", "XDG_CACHE_HOME")}
    (said,) = refused(tmp_path, environment | {"HOME": "/dev/null"})
    assert "/dev/null" in said


@pytest.mark.skipif(sys.platform != "linux", reason="other systems' file names are text")
def test_a_source_file_of_any_name_is_compiled_and_found(tmp_path: Path) -> None:
    """Also one whose name is not UTF-8."""
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    assert run(folder) == COMPILED
    assert run(folder) == FROM_DISK


def test_passes_of_the_users_own_are_run_whatever_is_on_disk(tmp_path: Path) -> None:
    run(tmp_path)
    mine = (
        "from dataclasses import dataclass\n@tierup.register_pass('pre-fusion')\n@dataclass(frozen=True)\nclass Mine(tierup.Pass):\n"
        "    '''Nothing.'''\n    name = 'mine'\n    def run(self, module): ...\n"
    )
    for _ in range(2):
        assert run(tmp_path, mine)[0] == "False"


def test_a_compiler_that_another_thread_is_importing_stands_in_nobodys_way(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tierup.jit(lambda x: x * 2, entry="python")
    f(np.ones(3)), f(np.ones(3))
    for name in ("tierup.dialect.passes.pipelines.custom", "tierup.runtime.compiling.version"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))  # what such a module looks like
    assert not plans.has_custom_passes()
    assert f.release()
