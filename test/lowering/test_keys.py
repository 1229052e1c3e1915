"""What entries are found by: what files hold, and neither when they were written nor where they lie."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tierup.lowering.objects import keys, store
from tierup.lowering.objects.build_id import build_id
from tierup.lowering.objects.keys import Tree

ROOT = Path(__file__).resolve().parents[2]
AN_HOUR = 3600


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    (folder / "below").mkdir(parents=True)
    (folder / "a.py").write_text("a = 1\n")
    (folder / "below" / "b.py").write_text("b = 1\n")
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose content was read."""
    paths: list[str] = []

    def content(path: str, content=keys._content) -> str:
        paths.append(os.path.basename(path))
        return content(path)

    monkeypatch.setattr(keys, "_content", content)
    return paths


def of(folder: Path) -> str:
    return keys.contents(Tree("tree", str(folder)))


def settle(folder: Path, seconds: float = AN_HOUR) -> None:
    """Give the files times as if they had been written that long ago. Their status' time cannot be set: the clock is."""
    for path in folder.rglob("*.py"):
        os.utime(path, (time.time() - seconds,) * 2)


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 10**12)


def test_the_same_files_elsewhere_at_another_time_are_the_same(tree: Path, tmp_path: Path) -> None:
    before = of(tree)
    copy = tmp_path / "elsewhere" / "copy"
    shutil.copytree(tree, copy)
    settle(copy, 10 * AN_HOUR)
    assert of(copy) == before
    (tree / "__pycache__").mkdir()
    (tree / "__pycache__" / "a.pyc").write_text("")
    (tree / "notes.txt").write_text("")
    assert of(tree) == before


@pytest.mark.parametrize("change", [
    lambda tree: (tree / "a.py").write_text("a = 2\n"),
    lambda tree: (tree / "a.py").rename(tree / "c.py"),
    lambda tree: (tree / "a.py").rename(tree / "below" / "a.py"),
    lambda tree: (tree / "below" / "b.py").unlink(),
    lambda tree: (tree / "new.py").write_text(""),
    lambda tree: ((tree / "a.py").write_text("b = 1\n"), (tree / "below" / "b.py").write_text("a = 1\n")),
])  # fmt: skip
def test_another_content_or_name_is_another(change, tree: Path, later: None) -> None:
    settle(tree)  # or what follows may be written in the same tick of the clock
    before = of(tree)
    change(tree)
    assert of(tree) != before


def test_files_are_read_once(tree: Path, later: None, read: list[str]) -> None:
    first = of(tree)
    assert sorted(read) == ["a.py", "b.py"]
    assert of(tree) == first and len(read) == 2
    settle(tree)
    assert of(tree) == first and len(read) == 4  # another time: another look, and the same answer
    assert of(tree) == first and len(read) == 4


def test_a_file_of_the_same_size_and_time_as_before_is_read_again(tree: Path, later: None) -> None:
    settle(tree)
    about, before = (tree / "a.py").stat(), of(tree)
    while (tree / "a.py").stat().st_ctime_ns == about.st_ctime_ns:  # until its clock has ticked
        (tree / "a.py").write_text("a = 3\n")
        os.utime(tree / "a.py", ns=(about.st_atime_ns, about.st_mtime_ns))
    assert of(tree) != before


def test_of_files_that_were_just_written_nothing_is_kept(tree: Path, read: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """They may be written once more within one tick of the clock that gives them their time."""
    written = (tree / "a.py").stat().st_mtime_ns
    monkeypatch.setattr(time, "time_ns", lambda: written)
    of(tree), of(tree)
    assert len(read) == 4
    assert not list(Path(store.folder()).glob("*" + store.SUFFIX))


def test_what_is_kept_of_files_is_authenticated(tree: Path, later: None, read: list[str]) -> None:
    first = of(tree)
    (kept,) = Path(store.folder()).glob("*" + store.SUFFIX)
    kept.write_bytes(kept.read_bytes().replace(first.encode(), b"0" * 64))
    assert of(tree) == first and len(read) == 4


def test_the_compilers_our_sources_and_the_machine_are_part_of_every_name(monkeypatch: pytest.MonkeyPatch) -> None:
    trees: list[Tree] = []
    monkeypatch.setattr(keys, "contents", lambda *given: trees.extend(given) or "digest")
    monkeypatch.setattr(keys, "sources", keys.sources.__wrapped__)  # what it gave before is kept
    keys.environment.__wrapped__()
    found = {(tree.label, os.path.basename(path)) for tree in trees for path in keys._files([tree]).values()}
    assert {("dialect", "__init__.py"), ("lowering", "abi.py")} <= found
    assert {label for label, name in found if name.startswith(("libTorchMLIRAggregateCAPI", "libllvmlite"))} == {"torch_mlir", "llvmlite"}
    assert keys._folders("no_such_package") == []


SEEDED = """
import numpy as np, tierup
def helper(a, b=3): return {"a": a, "b": b, "c": a * b}
@tierup.jit
def soft(x, w):
    y = helper(np.exp(x - x.max(axis=1, keepdims=True)))
    return y["a"] / y["c"].sum(axis=1, keepdims=True) @ w
@tierup.jit(weigh=False)
def inside(x, n: int):
    y = np.tanh(x[:n])
    print(len({1.0, float(y[0])}))  # Python's
    return y.sum() * n, [x + i for i in range(3)]
def loss(p, x): return (np.tanh(x @ p["w"] + p["b"]) ** 2).sum()
x, gradient = np.ones((3, 4)), tierup.grad(loss)
for _ in range(3):
    soft(x, x.T), inside(x[0], 3), gradient({"w": x.T, "b": np.zeros(3)}, x)
"""


def test_keys_are_the_same_in_every_process_and_under_every_seed_of_hashes(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(SEEDED)
    found = []
    for seed in ("0", "1", "4321"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "TIERUP_CACHE_DIR": str(tmp_path / seed), "TIERUP_CACHE": "1"}
        subprocess.run([sys.executable, str(tmp_path / "program.py")], env=environment, check=True)
        found.append({path.name for path in (tmp_path / seed).glob("*" + store.SUFFIX)})
    assert found[0] == found[1] == found[2] and len(found[0]) > 12


def test_parts_of_a_name_do_not_run_together() -> None:
    names = [keys.name_of(*parts) for parts in (("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), ("a\0b", "c"), ("a", "b\0c"), ("caf\udce9",), ("café",))]
    assert len(set(names)) == len(names)


def test_a_library_is_known_by_what_its_linker_numbered_it(tmp_path: Path) -> None:
    (library,) = Path(keys._folders("llvmlite")[0]).glob("binding/libllvmlite*")
    with open(library, "rb") as file:
        number = build_id(file)
        assert file.tell() == 0
    shown = subprocess.run(["readelf", "--notes", str(library)], capture_output=True, text=True, check=False) if shutil.which("readelf") else None
    assert shown is None or f"Build ID: {number}\n" in shown.stdout
    for damaged in (b"", b"\x7fELF\x02\x01", b"\x7fELF\x02\x01" + b"\xff" * 58, b"text" * 100):
        (tmp_path / "damaged").write_bytes(damaged)
        with open(tmp_path / "damaged", "rb") as file:
            assert build_id(file) == ""


def test_a_second_installation_of_the_same_files_finds_what_the_first_kept(tmp_path: Path) -> None:
    """As another virtual environment does, or a layer of a container: other folders, other times, other inodes."""
    code = (
        "import sys; sys.path[:] = sys.argv[2:]\n"
        "import tierup; assert tierup.__file__.startswith(sys.argv[1]), tierup.__file__\n"
        "from tierup.lowering.objects import keys\n"
        "from tierup.lowering.entry import jit\n"
        "print(repr((keys.environment(), jit.depends_on(), keys.contents(keys.tree('runtime/compiling')))))\n"
    )
    found = []
    for name in ("one", "two"):
        place = tmp_path / name / "site-packages" / "tierup"
        shutil.copytree(ROOT / "tierup", place, ignore=shutil.ignore_patterns("__pycache__", "*.mlir"))
        settle(place, AN_HOUR * len(found))
        path = [str(place.parent), *(entry for entry in sys.path if entry != str(ROOT))]
        found.append(subprocess.run([sys.executable, "-c", code, str(place), *path], capture_output=True, text=True, check=True).stdout)
    assert found[0] == found[1]


def test_a_distribution_that_brings_passes_changes_names_and_any_other_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = tmp_path / "site-packages"
    packages.mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages)])
    before = keys.plugins("tierup.passes")
    for name, text in (("other", "[console_scripts]\nother = other:main\n"), ("mine", "[tierup.passes]\nmine = mine\n")):
        assert keys.plugins("tierup.passes") == before
        info = packages / f"{name}-1.0.dist-info"
        info.mkdir()
        (info / "entry_points.txt").write_text(text)
    assert keys.plugins("tierup.passes") != before
