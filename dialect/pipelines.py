"""The named pipelines of the dialect, each a readable list."""

from __future__ import annotations

from tierup.dialect.registry import NamedPipeline

PIPELINES: tuple[NamedPipeline, ...] = ()
