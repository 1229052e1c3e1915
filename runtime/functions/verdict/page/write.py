"""Writing the page, and the short form of it that notebooks show."""

from __future__ import annotations

import html
import json
from importlib import resources
from os import fspath
from typing import TYPE_CHECKING, Any

from tierup.dialect.base.spelling import short_time
from tierup.runtime.functions.verdict.page.data import page_data

if TYPE_CHECKING:
    from os import PathLike

    from tierup.runtime.functions.report import Report

_FILES = resources.files(__package__)


def write(path: str | PathLike[str], data: dict[str, Any], title: str) -> None:
    """The page with this data, as one file."""
    with open(fspath(path), "w", encoding="utf-8") as file:
        file.write(page(data, title))


def write_function(path: str | PathLike[str], function: Report) -> None:
    """The page of one function."""
    write(path, page_data(function), function.__name__)


def page(data: dict[str, Any], title: str) -> str:
    """The page's text. Nothing in the data can end the script that it stands in, or begin another."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e")
    parts = {"TITLE": html.escape(f"tierup: {title}"), "STYLE": _read("page.css"), "SCRIPT": _read("page.js"), "DATA": text}
    made = _read("page.html")
    for name, part in parts.items():
        made = made.replace(f"@{name}@", part, 1)
    return made


def _read(name: str) -> str:
    return _FILES.joinpath(name).read_text(encoding="utf-8")


_COLOURS = {
    "start-up": "#9aa0a6", "graphs": "#c58af9", "compiling": "#f28b82", "loading code": "#fcad70", "tier 0": "#fdd663",
    "native code": "#81c995", "Python": "#78d9ec", "call overhead": "#8ab4f8", "waiting": "#bdc1c6",
}  # fmt: skip


def short_form(function: Report) -> str:
    """HTML without scripts: where the time went, the verdict, and the versions; for notebooks."""
    seconds = {part: spent for part, spent in function.times_by_part.items() if spent > 0}
    total, stats = sum(seconds.values()), function.stats()
    bar = "".join(
        f'<span title="{html.escape(part)}: {short_time(spent)}" style="display:inline-block;height:1em;width:{100 * spent / total:.2f}%;'
        f'background:{_COLOURS[part]}"></span>'
        for part, spent in seconds.items()
    )
    named = ", ".join(f"{html.escape(part)} {short_time(spent)}" for part, spent in seconds.items() if spent > 0.01 * total)
    rows = "".join(
        f"<tr><td>{html.escape(str(version.guards))}</td><td>{version.milliseconds:.0f} ms</td></tr>" for version in function.versions[:5]
    )
    verdict = html.escape(" ".join(line.strip() for line in function.verdict()))
    return (
        f"<div><b>{html.escape(function.__name__)}</b>: {stats.calls} calls, {stats.by_answer['hits']} hits, "
        f"{len(function.versions)} versions"
        f'<div style="width:100%;white-space:nowrap;overflow:hidden">{bar}</div><div>{short_time(total)}: {named}</div>'
        f"<div>{verdict}</div><table><tr><th>version</th><th>compiled in</th></tr>{rows}</table></div>"
    )
