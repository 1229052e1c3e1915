"""`import tierup` is light, and every public name is there when it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import tierup

INIT = Path(__file__).resolve().parents[2] / "tierup" / "__init__.py"


def _run(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout


def test_import_loads_no_mlir_no_llvm_no_numpy_and_no_module_of_its_own() -> None:
    loaded = _run("import sys; before = set(sys.modules); import tierup; print(sorted(set(sys.modules) - before))")
    modules = set(ast.literal_eval(loaded))
    assert {m for m in modules if m.split(".")[0] not in sys.stdlib_module_names} == {"tierup"}


@pytest.mark.parametrize("name", ["options", "events", "ops", "UnsupportedSyntax", "ProgramError"])
def test_names_beside_jit_and_load_need_no_mlir(name: str) -> None:
    loaded = _run(f"import sys, tierup; tierup.{name}; print([m for m in sys.modules if 'mlir' in m or m.startswith('llvmlite')])")
    assert loaded.strip() == "[]"


@pytest.mark.parametrize("name", tierup.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(tierup, name) is not None
    assert name in dir(tierup)


def test_an_unknown_name_is_an_attribute_error_that_names_it() -> None:
    with pytest.raises(AttributeError, match="'tierup' has no attribute 'jitt'"):
        tierup.jitt  # noqa: B018


def test_star_import_gives_the_public_names() -> None:
    assert _run("from tierup import *; print(jit.__name__, load.__name__, options.__name__)").split() == ["jit", "load", "options"]


def test_type_checkers_see_the_names_that_exist_at_run_time() -> None:
    """The TYPE_CHECKING block says of each lazy name the same module as the table."""
    tree = ast.parse(INIT.read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {}
    for node in block.body:
        assert isinstance(node, ast.ImportFrom)
        for alias in node.names:
            seen[alias.asname] = {f"{node.module}:{alias.name}", f"{node.module}.{alias.name}"}
    assert set(seen) == set(tierup._EXPORTS) == {*tierup.__all__, "torch", "dask", "ray"} - {"__version__"}
    for name, place in tierup._EXPORTS.items():
        assert place in seen[name]


@pytest.mark.parametrize("statement", ["import tierup; tierup.torch", "import tierup.torch", "from tierup import torch"])
def test_the_module_for_pytorch_loads_neither_pytorch_nor_mlir(statement: str) -> None:
    program = f"import sys; {statement}; assert 'tierup.torch' in sys.modules; print([m for m in sys.modules if m in ('torch', 'torch_mlir', 'numpy')])"
    assert _run(program).strip() == "[]"


def test_without_pytorch_a_name_for_it_says_what_is_missing() -> None:
    program = "import sys; sys.modules['torch'] = None; import tierup.torch\ntry: tierup.torch.from_export\nexcept ImportError as e: print(e.name)"
    assert _run(program).strip() == "torch"


def test_star_import_does_not_hide_pytorch() -> None:
    for name in ("torch", "dask", "ray"):
        assert name not in tierup.__all__ and name in dir(tierup)


@pytest.mark.parametrize("name", ["dask", "ray"])
def test_the_modules_for_clusters_import_theirs_when_it_is_called(name: str) -> None:
    program = f"import sys, tierup; tierup.{name}.train; print([m for m in sys.modules if m in ('dask', 'distributed', 'ray')])"
    assert _run(program).strip() == "[]"
