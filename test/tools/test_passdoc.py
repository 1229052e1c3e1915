"""The generated pages of the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from tierup.dialect import registry
from tierup.dialect.ops import DEFINITIONS
from tierup.tools import passdoc


def test_docs_are_current() -> None:
    assert passdoc.main(["--check"]) == 0, "run python -m tierup.tools.passdoc"


def test_every_pass_pipeline_and_op_is_documented() -> None:
    passes, dialect = passdoc.passes_page(), passdoc.ops_table()
    assert all(f"### --{name}\n" in passes for name in passdoc.own_passes())
    assert all(f"### {name}\n" in passes for name in registry.named_pipelines())
    assert all(f"`{name}`" in dialect for name in DEFINITIONS)


def test_a_stale_page_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "dialect.md").write_text((passdoc.DOCS / "dialect.md").read_text())
    monkeypatch.setattr(passdoc, "DOCS", tmp_path)
    assert passdoc.main(["--check"]) == 1
    assert passdoc.main([]) == 0
    assert passdoc.main(["--check"]) == 0
    (tmp_path / "passes.md").write_text("old")
    assert passdoc.main(["--check"]) == 1
