"""docs/pipelines.md names every pipeline that there is, and none that is not."""

from __future__ import annotations

import re
from pathlib import Path

from tierup.dialect.passes import registry

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "pipelines.md").read_text()


def test_every_pipeline_on_programs_is_in_the_page() -> None:
    names = [name for name in registry.named_pipelines() if not name.startswith("lower-")]
    assert [name for name in names if f"`{name}`" not in PAGE] == []


def test_the_page_names_passes_that_there_are() -> None:
    assert [name for name in set(re.findall(r"`(tierup-[a-z-]+)`", PAGE)) - {"tierup-opt"} if registry.find(name) is None] == []


def test_the_default_is_listed_as_it_is() -> None:
    for name in ("profile", "versioned"):
        listed = re.split(r",\s+", re.search(rf"^{name}:\s+(.*?)(?=^\w|^```)", PAGE, re.MULTILINE | re.DOTALL).group(1).strip())
        assert listed == [step.partition("{")[0] for step in registry.named_pipelines()[name].steps]
