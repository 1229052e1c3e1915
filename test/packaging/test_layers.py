"""Who knows whom in a folder: each package in it, and each file that stands alone, imports what stands before it in its table, and there is
no circle of files. Imports for type checkers and in functions count; only runtime/base/protocols.py, which is types alone, names what comes
later. No folder has more entries than one can hold in the head, but where all are of one kind.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tierup

ROOT = Path(tierup.__path__[0])
TYPES_ALONE = "runtime.base.protocols"
MANY, DEEP = 13, 4  # entries of a folder, its __init__ left out; levels below dialect/ and its like
OF_ONE_KIND = {  # folders that may have more
    "dialect/transforms": "passes, one a file",
    "dialect/torchscript/transforms": "passes, one a file",
    "lowering/transforms": "passes, one a file",
    "lowering/cuda/transforms": "passes, one a file",
    "frontend/python/functions": "functions that programs may call, a family of one library a file",
}
LAYERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "dialect": (
        ("base",),
        ("facts",),  # MLIR-free
        ("mlir",),
        ("passes",),  # what one is
        ("ir",),
        ("language.definitions", "optable"),
        ("language", "optable.formulas", "optable.kernels"),
        ("facts.inference",),
        ("rewriting",),
        ("analysis", "ops.gradients"),
        ("ops",),
        ("passes.functional", "passes.fusion", "passes.pipelines"),
        ("passes.autodiff", "passes.registry", "speculation"),
        ("transforms",),  # the passes
        ("torchscript",),
    ),
    "lowering": (
        ("base",),
        ("building", "externals"),
        ("analysis", "objects", "ops", "service"),
        ("math", "entry.kept", "entry.last", "entry.layout", "entry.records"),
        ("entry.generated",),
        ("entry",),
        ("transforms",),
        ("compiling",),
        ("artifacts",),
        ("cuda",),
    ),
    "runtime": (
        ("base",),
        ("faults",),
        ("interpreter",),  # tier 0
        ("arguments",),
        ("cuda",),  # plans on a device, without what calls them
        ("code",),
        ("account",),
        ("programs",),
        ("dispatching",),
        ("compiling.processes",),
        ("compiling",),
        ("compiling.scheduling",),
        ("bailouts", "executors.gradients"),
        ("executors.splits",),
        ("cuda.calls",),
        ("executors",),
        ("functions",),
    ),
    "frontend": (
        ("errors",),
        ("graph", "stopping", "op_calls"),
        ("window_ops",),
        ("ops", "mlir"),
        ("python", "python.flow"),
        ("python.building",),
        ("python.kept",),
        ("python.heaps", "python.lists_rewritten"),
        ("python.operations",),
        ("python.functions",),
        ("python.syntax",),
        ("python.returned",),
        ("python.build",),
        ("python.gradients",),
        ("torch.errors", "torch.by_torch", "torch.memory_formats"),
        ("torch.script",),
        ("torch.script.nodes",),
        ("torch.script.signature",),
        ("torch.script.graph",),
        ("torch.calls",),
        ("torch.function", "tensor_arguments"),
        ("torch.overloads", "torch.fx"),
        ("torch.torchscript",),
        ("torch.installed",),
        ("torch",),
        ("python.islands",),
        ("jit",),
        ("gradients", "vjp"),
    ),
    "tools": (
        ("interrupts",),
        ("cache", "slow_tour", "workers"),
        ("argument_specs", "opt", "gpu.programs"),
        ("opt.__main__", "run", "pages"),
        ("compile", "reduce"),
        ("gpu",),
        ("main",),
    ),
}
LAYER = {f"{folder}.{unit}": i for folder, layers in LAYERS.items() for i, units in enumerate(layers) for unit in units}


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {name_of(path): path for folder in LAYERS for path in sorted((ROOT / folder).rglob("*.py"))}


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All below a node: a tenth of what there is in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.stmt, ast.ExceptHandler, ast.match_case)):
            yield child
            yield from statements(child)


@cache
def imported(file: str) -> frozenset[str]:
    """The files of these folders that one names in any import, wherever it stands."""
    found = set()
    for node in statements(ast.parse(FILES[file].read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("tierup."):
            module = node.module.removeprefix("tierup.")
            found |= {name if (name := f"{module}.{alias.name}") in FILES else module for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("tierup.") for alias in node.names}
    return frozenset(found & FILES.keys()) - {file}


def unit_of(file: str) -> str:
    """The package of a file that the table names, else the file."""
    parts = file.split(".")
    return next((unit for n in range(len(parts), 0, -1) if (unit := ".".join(parts[:n])) in LAYER), file)


def circle_in(graph: dict[str, frozenset[str]]) -> list[str]:
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


@pytest.mark.parametrize("folder", LAYERS)
def test_a_file_imports_what_stands_before_it(folder: str) -> None:
    wrong = []
    for file in FILES:
        unit = unit_of(file)
        if not file.startswith(f"{folder}.") or file == TYPES_ALONE:
            continue
        if unit not in LAYER:
            wrong.append(f"{file} has no layer")
            continue
        for known in {unit_of(other) for other in imported(file) if other.startswith(f"{folder}.")} - {unit}:
            if LAYER[known] >= LAYER[unit]:
                wrong.append(f"{file} imports {known}, which stands behind {unit} or beside it")
    assert wrong == []


def test_no_files_know_one_another_in_a_circle() -> None:
    assert circle_in({"a": frozenset("b"), "b": frozenset("c"), "c": frozenset("b")}) == ["b", "c"]
    assert not circle_in({file: frozenset() if file == TYPES_ALONE else imported(file) for file in FILES})


def test_no_folder_has_more_siblings_of_different_kinds_than_one_can_hold_in_the_head() -> None:
    entries = [path.parent if path.name == "__init__.py" else path for path in FILES.values()]
    inside = [path.relative_to(ROOT) for path in entries if path.parent != ROOT]
    crowded = {str(folder) for folder, entries in Counter(path.parent for path in inside).items() if entries > MANY}
    assert crowded == OF_ONE_KIND.keys()
    assert [str(path) for path in inside if len(path.parts) > 1 + DEEP] == []
