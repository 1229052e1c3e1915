"""The generated pages of the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tierup.dialect import optable
from tierup.dialect.language.ops import DEFINITIONS
from tierup.dialect.passes import registry
from tierup.tools.pages import gradientdoc, passdoc


def test_docs_are_current() -> None:
    assert passdoc.main(["--check"]) == 0, "run python -m tierup.tools.pages.passdoc"


def test_every_pass_pipeline_and_op_is_documented() -> None:
    passes, dialect = passdoc.passes_page(), passdoc.ops_table()
    assert all(f"### --{name}\n" in passes for name in passdoc.own_passes())
    assert all(f"### {name}\n" in passes for name in registry.named_pipelines())
    assert all(f"`{name}`" in dialect for name in DEFINITIONS)


def test_every_op_stands_once_in_the_tables_of_gradients() -> None:
    tables = gradientdoc.gradient_tables()
    for name, row in optable.table().items():
        assert tables.count(f"`{name}`") == (0 if row.writes else 1), name


def test_a_stale_page_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for page in ("dialect.md", "gradients.md", "options.md"):
        (tmp_path / page).write_text((passdoc.DOCS / page).read_text())
    monkeypatch.setattr(passdoc, "DOCS", tmp_path)
    assert passdoc.main(["--check"]) == 1
    assert passdoc.main([]) == 0
    assert passdoc.main(["--check"]) == 0
    (tmp_path / "passes.md").write_text("old")
    assert passdoc.main(["--check"]) == 1
