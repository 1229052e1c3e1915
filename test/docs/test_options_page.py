"""docs/options.md is the table of options, and each knob it compares with has an option of ours."""

from __future__ import annotations

from tierup.runtime.base.options import Options, table
from tierup.tools.pages import optiondoc, passdoc


def test_the_page_is_current() -> None:
    assert (passdoc.DOCS / "options.md").read_text() == optiondoc.options_page(), "run python -m tierup.tools.pages.passdoc"


def test_every_option_has_a_row_with_its_default_and_meaning() -> None:
    rows = [line for line in optiondoc.options_page().splitlines() if line.startswith("| `")]
    assert len(rows) == len(table())
    for row, (name, _, meaning) in zip(rows, table(), strict=True):
        assert row.startswith(f"| `{name}`")
        assert meaning in row
        assert row.count("|") == 6
        assert ("*(code)*" in row) == (name in Options.CODE)


def test_what_is_compared_with_is_an_option() -> None:
    assert set(optiondoc.ANCESTOR) <= {name for name, _, _ in table()}
