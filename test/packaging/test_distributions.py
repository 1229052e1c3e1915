"""sdist, wheel and editable install hold the whole package, links followed, and work from any working folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("setuptools", minversion="77")

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("dialect", "frontend", "lowering", "runtime", "tools")
KINDS = (".py", ".css", ".html", ".js", ".json", ".txt")
FILES = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md")
USE = """
import pathlib, sys
import numpy as np
import tierup, tierup.tools.opt.__main__, tierup.lowering.compiling.compile, tierup.runtime.executors.executor
from tierup import jit
from tierup.dialect.language.context import new_context
print(pathlib.Path(tierup.__file__).parent)
print(tierup.ops.relu(np.array([-1.0, 2.0])).tolist())
"""


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as git has it: links are links."""
    tree = tmp_path_factory.mktemp("project") / "tierup-project"
    tree.mkdir()
    for name in FILES:
        shutil.copy(ROOT / name, tree)
    for name in (*FOLDERS, "tierup", "test"):
        shutil.copytree(ROOT / name, tree / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__", "*.mlir"))
    return tree


def build(hook: str, tree: Path, out: Path) -> Path:
    """Run one hook of PEP 517 or 660 as pip does, in the project's folder; the file that it made."""
    out.mkdir(exist_ok=True)
    program = f"from setuptools import build_meta; print(build_meta.{hook}({str(out)!r}))"
    run = subprocess.run([sys.executable, "-c", program], cwd=tree, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return out / run.stdout.splitlines()[-1]


def modules(tree: Path) -> set[str]:
    """Every file of the package, by its path in a wheel."""
    files = (path for folder in FOLDERS for path in (tree / folder).rglob("*.*") if path.suffix in KINDS)
    found = {f"tierup/{path.relative_to(tree)}" for path in files}
    return {*found, *(f"tierup/{path.name}" for path in (tree / "tierup").glob("*.py")), "tierup/py.typed"}


def packed(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if ".dist-info/" not in name}


def use(site: Path, cwd: Path) -> list[str]:
    """Import and use tierup with `site` as a site-packages folder (its .pth files count), from another folder."""
    program = f"import site; site.addsitedir({str(site)!r})\n" + USE
    # sys.path without the tierup that runs the tests: -S leaves the installed packages out, PYTHONPATH brings the others back
    others = [p for p in sys.path if p.endswith("site-packages")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(site), *others])}
    run = subprocess.run([sys.executable, "-S", "-c", program], cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()


def unpack(wheel: Path, site: Path) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    return site


def test_a_wheel_holds_every_module_and_works(tree: Path, tmp_path: Path) -> None:
    wheel = build("build_wheel", tree, tmp_path / "dist")
    assert packed(wheel) == modules(tree)
    site = unpack(wheel, tmp_path / "site")
    assert use(site, tmp_path) == [str(site / "tierup"), "[0.0, 2.0]"]
    entry_points = next(site.glob("*.dist-info/entry_points.txt")).read_text()
    assert "tierup-opt = tierup.tools.opt.__main__:main" in entry_points and "tierup-run = tierup.tools.run.__main__:main" in entry_points


def test_a_source_distribution_makes_the_same_wheel(tree: Path, tmp_path: Path) -> None:
    sdist = build("build_sdist", tree, tmp_path / "dist")
    with tarfile.open(sdist) as archive:
        assert not [member.name for member in archive if member.issym() or "/test/" in member.name]
        archive.extractall(tmp_path / "source", filter="data")
    (source,) = (tmp_path / "source").iterdir()
    assert {"LICENSE", "README.md", "CHANGELOG.md"} <= {path.name for path in source.iterdir()}
    assert packed(build("build_wheel", source, tmp_path / "wheel")) == modules(tree)


def test_an_editable_install_shows_the_folders_of_the_root(tree: Path, tmp_path: Path) -> None:
    site = unpack(build("build_editable", tree, tmp_path / "dist"), tmp_path / "site")
    assert use(site, tmp_path) == [str(tree / "tierup"), "[0.0, 2.0]"]
    added = tree / "dialect" / "added_later.py"
    added.write_text("HERE = True\n")
    try:
        found = f"import site; site.addsitedir({str(site)!r}); import tierup.dialect.added_later as m; print(m.HERE)"
        # -E: a PYTHONPATH would show another tierup
        assert subprocess.run([sys.executable, "-E", "-S", "-c", found], cwd=tmp_path, capture_output=True, text=True).stdout == "True\n"
    finally:
        added.unlink()
