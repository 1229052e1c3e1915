"""The project's pages say what is so: links lead somewhere, the README's example does what its table says."""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest

from tierup.lowering.entry.layout import RELEASES

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").rglob("*.md")])
README = (ROOT / "README.md").read_text()
FOLDERS = ("dialect", "lowering", "runtime", "frontend", "tools", "tierup", "test", "docs", "benchmarks", "examples")
NAMED = re.compile(
    r"(?<![\w/.:~{<-])((?:[a-z_]\w*/)+[a-z_]\w*\.(?:py|md|mlir)|(?:dialect|lowering|runtime|frontend)/[\w/]*\w)(?![\w/*<{.-])"
)
ELSEWHERE = {"numpy/_core/code_generators/numpy_api.py"}


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_within_the_project_lead_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", page.read_text())
    local = [target for target in targets if not re.match(r"[a-z]+:", target)]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_files_that_pages_and_code_name_are_there() -> None:
    """By their whole path or its end: `optable/core.py`, `dialect/optable`. A file that is named without a folder may be a user's."""
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".md", ".mlir")]
    parts = [path.relative_to(ROOT).parts for path in found]
    there = {"/".join(path[i:j]) for path in parts for i in range(len(path)) for j in range(i + 1, len(path) + 1)} | ELSEWHERE
    assert NAMED.findall("x/y, a.py, numpy/core, (dialect" + "/gone, optable" + "/gone.py)") == ["dialect" + "/gone", "optable" + "/gone.py"]
    named = {(path, name) for path in {*PAGES, *found} - {ROOT / "CHANGELOG.md"} for name in NAMED.findall(path.read_text())}
    assert [f"{path.relative_to(ROOT)}: {name}" for path, name in sorted(named) if name.removeprefix("tierup/") not in there] == []


def test_the_readme_example_does_what_its_table_says() -> None:
    example, *_ = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    rows = re.findall(r"^\| *\d+ \| *(\d+) \| ([^|]+?) \|", README, re.MULTILINE)
    assert len(rows) == 8
    (call,) = [line for line in example.splitlines() if line.startswith("    layer(")]
    assert f"({', '.join(sizes for sizes, _ in rows)})" in example
    # the file, not -c: tierup.jit reads the source
    watched = example.replace(call, call + "\n    s = layer.stats(); print(s.hits, s.compiles)")
    assert watched != example
    lines = _run_file(watched).splitlines()
    assert "layer: 8 calls" in "\n".join(lines)

    hits, compiles = 0, 0
    for (size, tier), line in zip(rows, lines, strict=False):
        now = [int(n) for n in line.split()]
        ran = "interpreter" if now[0] == hits else "native, compiled in this call" if now[1] > compiles else "native"
        assert ran == tier, f"{size} rows: {line}"
        hits, compiles = now[0], now[1]


def test_the_readme_example_of_gradients_trains() -> None:
    example, training, *_ = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    data = "x, y = np.eye(8), np.ones((8, 1))\np, values = [np.zeros((8, 1)), np.zeros(1)], []\n"
    steps = "for _ in range(9):\n    value, p = step(p, x, y, 0.1)\n    values.append(value)\n"
    told = "print(values[-1] < values[0], step.stats().hits, 'in tier 0: aten' in step.explain())"
    imports = "import numpy as np\nimport tierup\n"
    assert example.startswith(imports)
    assert _run_file(imports + training + data + steps + told).split() == ["True", "8", "False"]


def _run_file(program: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "example.py"
        path.write_text(program)
        run = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_page_on_dependencies_names_each_of_them() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(r for extra in project["optional-dependencies"].values() for r in extra)]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in wanted}  # type: ignore[index]  # every requirement starts with a name
    cells = [line.split("|")[1] for line in (ROOT / "docs/dependencies.md").read_text().splitlines() if line.startswith("| `")]
    assert {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)} == names


def test_the_releases_of_python_are_those_that_the_native_entry_knows() -> None:
    known = [".".join(map(str, release)) for release in sorted(RELEASES)]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [c.removeprefix("Programming Language :: Python :: ") for c in project["classifiers"] if ":: Python ::" in c]
    assert named == known and project["requires-python"] == f">={known[0]}"
    for page in ("README.md", "docs/dependencies.md"):
        assert f"Python {known[0]} to {known[-1]}" in (ROOT / page).read_text(), page


def test_make_alone_lists_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text()
    (phony,) = re.findall(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert set(re.findall(r"^([a-z-]+):.*## ", makefile, re.MULTILINE)) == set(phony.split())
