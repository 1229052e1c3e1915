"""docs/options.md has all that users set: each option, and each variable of the environment that the code reads, and no other."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import tierup
from tierup.runtime.base.options import Options, table
from tierup.tools import main
from tierup.tools.pages import optiondoc, passdoc

PAGE = (passdoc.DOCS / "options.md").read_text()


def test_the_table_is_current() -> None:
    assert optiondoc.options_table() in PAGE, "run python -m tierup.tools.pages.passdoc"


def test_every_option_has_a_row_with_its_default_and_meaning() -> None:
    rows = [line for line in optiondoc.options_table().splitlines() if line.startswith("| `")]
    assert len(rows) == len(table())
    for row, (name, _, meaning) in zip(rows, table(), strict=True):
        assert row.startswith(f"| `{name}`")
        assert meaning in row
        assert row.count("|") == 6
        assert ("*(code)*" in row) == (name in Options.CODE)


def test_what_is_compared_with_is_an_option() -> None:
    assert set(optiondoc.ANCESTOR) <= {name for name, _, _ in table()}


def test_every_variable_that_the_code_reads_is_on_the_page_and_no_other() -> None:
    (root,) = tierup.__path__
    names = re.compile(r"TIERUP_[A-Z_]*[A-Z]")
    asked = re.compile(r"""environ(?:\.get\(|\[)["']([A-Z_]+)["']""")
    read = set()
    for folder in ("dialect", "lowering", "runtime", "frontend", "tools"):
        for path in (Path(root) / folder).rglob("*.py"):
            text = path.read_text()
            read |= {*names.findall(text), *asked.findall(text)}
    told = re.findall(r"^\| `(\w+)` \|", PAGE.partition("## Environment variables")[2], re.MULTILINE)
    assert sorted(read | {"CUDA_HOME", "CUDA_PATH"}) == sorted(told)  # these two are asked by a loop


def test_the_page_says_what_the_command_does() -> None:
    help_ = main._parser().format_help()
    assert "tierup cache clear" in PAGE and "tierup cache stats" in PAGE
    for name, (module, _) in main._TOOLS.items():
        assert f"`{name}`" in PAGE or f"`tierup {name}`" in PAGE
        assert callable(import_module(module).main) and f"  tierup {name} " in help_
