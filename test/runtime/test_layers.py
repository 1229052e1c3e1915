"""Who knows whom in runtime/: each package, and each file that stands alone, imports what stands before it here, and there is no circle of
files. Imports for type checkers and in functions count; only protocols.py, which is types alone, may name what comes later."""

import ast
from pathlib import Path

import pytest

import tierup.runtime

ROOT = Path(tierup.runtime.__path__[0])
LAYERS = (
    ("errors", "options", "fault_kinds", "fault_memory", "protocols"),
    ("events", "faults", "once"),
    ("interpreter",),  # tier 0
    ("arguments",),
    ("cuda",),  # plans on a device, without what calls them
    ("code",),
    ("account",),
    ("program", "publication", "strategy"),
    ("context",),
    ("dispatching",),
    ("compiling",),
    ("bailouts", "gradients"),
    ("splits",),
    ("cuda.calls",),
    ("executors",),
    ("explaining", "direct_calls", "shortcuts"),
    ("variant",),
    ("changing",),
    ("function",),
)
LAYER = {unit: i for i, units in enumerate(LAYERS) for unit in units}
PREFIX = "tierup.runtime."


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for path in sorted(ROOT.rglob("*.py"))}


def imported(path: Path) -> set[str]:
    """The files of runtime/ that one names in any import, wherever it stands."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module and f"{node.module}.".startswith(PREFIX):
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name[len(PREFIX) :] in FILES else str(node.module) for name in names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names if alias.name.startswith(PREFIX)]
        found |= {name[len(PREFIX) :] for name in names}
    return (found & FILES.keys()) - {name_of(path)}


def unit_of(file: str) -> str:
    """The package of a file that the table names, else the file."""
    parts = file.split(".")
    return next((unit for n in range(len(parts), 0, -1) if (unit := ".".join(parts[:n])) in LAYER), file)


def circle_in(graph: dict[str, set[str]]) -> list[str]:
    """Some files that know one another in a circle; empty where there is none."""
    done: set[str] = set()

    def walk(file: str, way: list[str]) -> list[str]:
        if file in way:
            return way[way.index(file) :]
        if file in done:
            return []
        for other in sorted(graph[file]):
            if circle := walk(other, [*way, file]):
                return circle
        done.add(file)
        return []

    return next((circle for file in graph if (circle := walk(file, []))), [])


GRAPH = {file: set() if file == "protocols" else imported(path) for file, path in FILES.items()}


@pytest.mark.parametrize("file", [file for file in FILES if file])
def test_a_file_imports_what_stands_before_it(file: str) -> None:
    unit = unit_of(file)
    assert unit in LAYER, f"runtime/{file.replace('.', '/')}.py has no layer"
    for other in GRAPH[file]:
        known = unit_of(other)
        assert known == unit or LAYER[known] < LAYER[unit], f"{file} imports {other}: {unit} stands before {known}, or beside it"


def test_no_files_know_one_another_in_a_circle() -> None:
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
    assert not circle_in(GRAPH)
