"""The page: one file of HTML with all that is known of functions, and its short form."""

from __future__ import annotations

import json
import os
import weakref
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import combinations, permutations, product
from pathlib import Path
from time import sleep
from typing import Any

import numpy as np
import pytest

import tierup
from test.browser import HINT, Browser, found
from tierup.runtime.functions import direct_calls
from tierup.runtime.functions.verdict import process
from tierup.runtime.functions.verdict.page import layout, write

AS_PRINTED = True
PICTURES = Path(os.environ["TIERUP_TEST_PICTURES"]).resolve() if "TIERUP_TEST_PICTURES" in os.environ else None  # for those of docs/


class Structure(HTMLParser):
    """The tags of a page, and the text of its data."""

    VOID = ("meta", "link", "input", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.data = ""
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script" and ("type", "application/json") in self.tags[-1][1].items():
            self.data += data


PROGRAM = """import numpy as np
import tierup


@tierup.jit
def ranked(x, doubled):
    y = np.argpartition(np.tanh(x) + 1, 3)
    if doubled:
        y = y * 2 + 1
    return y  # </script><b>&


for _ in range(6):
    ranked(np.linspace(0, 1, 9), True)
ranked(np.ones((9, 9), np.float32), False)
"""


class Written:
    """The pages of a program, and its function."""

    def __init__(self, folder: Path) -> None:
        (folder / "model.py").write_text(PROGRAM)
        space: dict[str, Any] = {}
        exec(compile(PROGRAM, "model.py", "exec"), space)
        self.folder, self.ranked = folder, space["ranked"]
        self.ranked.report(folder / "ranked.html")
        tierup.report(folder / "all.html")

    def __truediv__(self, name: str) -> Path:
        return self.folder / name


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Written]:
    folder = tmp_path_factory.mktemp("page")
    alive = direct_calls.alive
    earlier = weakref.WeakSet(alive())  # those of other tests, whose code a page of the process would show too
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(direct_calls, "alive", lambda: [each for each in alive() if each not in earlier])
        yield Written(folder)


def data_of(path: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(Structure(path.read_text()).data)
    return made


def test_the_page_is_one_file_that_loads_nothing_and_can_be_used_by_keyboard(written: Written) -> None:
    page = Structure((written / "ranked.html").read_text())
    assert not [tag for tag, given in page.tags if given.get("src") or (given.get("href") or "#")[:1] not in "#d"]
    tags = [tag for tag, _ in page.tags]
    assert tags.count("main") == tags.count("h1") == 1 and ("html", {"lang": "en"}) in page.tags
    assert any(given.get("name") == "viewport" for _, given in page.tags)
    assert tags.count("input") + tags.count("select") == tags.count("label")


def test_its_data_are_what_explain_says(written: Written) -> None:
    [f] = data_of(written / "ranked.html")["functions"]
    assert f["place"] == "model.py:6" and f["stats"]["calls"] == 7 and f["verdict"].startswith("Slow because `np.argpartition`")
    assert {op["name"]: op["who"] for op in f["graphs"][0]["ops"]} == {
        "x": "argument", "doubled": "argument", "np.tanh": "native region", "np.add": "native region", "a list": "control",
        "np.argpartition": "tier 0", "an if": "control", "np.multiply": "native region", "func.return": "control",
    }  # fmt: skip
    assert [v["kind"] for v in f["versions"]] == ["split", *(v["kind"] for v in f["versions"][1:])] and f["versions"][0]["hits"] == 4
    assert {"profiled", "split", "compiled", "gave up"} <= {event["kind"] for event in f["events"]} and len(f["calls"]) == 7
    assert f["source"]["lines"][0] == "def ranked(x, doubled):" and ".section" in f["stages"]["asm"]
    assert "tierup.fusion_group" in f["stages"]["guarded"] and "terms: hit" in f["explain"]


def test_the_page_of_the_process_has_all_lines(written: Written) -> None:
    made = data_of(written / "all.html")
    assert [f["name"] for f in made["functions"]].count("ranked") == 1
    assert any(place["name"] == "ranked" and place["made"] == 1 for place in made["places"]) and made["parts"]["compiling"] > 0


def test_ops_are_drawn_below_what_makes_their_operands(written: Written) -> None:
    [f] = data_of(written / "ranked.html")["functions"]
    for graph in f["graphs"]:
        rows = [row for _, row in graph["positions"]]
        assert all(rows[source] < rows[i] for i, op in enumerate(graph["ops"]) for source in op["operands"])
        assert len(set(map(tuple, graph["positions"]))) == len(graph["ops"])


def crossings(operands: list[list[int]], columns: list[float], rows: list[int]) -> int:
    """Of lines between neighbouring rows."""
    lines = [(rows[i], columns[source], columns[i]) for i, sources in enumerate(operands) for source in sources]
    return sum(a[0] == b[0] and (a[1] - b[1]) * (a[2] - b[2]) < 0 for a, b in combinations(lines, 2))


def test_lines_of_a_drawing_cross_as_seldom_as_they_can() -> None:
    """Two rows, in all orders."""
    rng = np.random.default_rng(0)
    for _ in range(8):
        operands: list[list[int]] = [[], [], [], [], *([int(each) for each in rng.choice(4, 2, replace=False)] for _ in range(4))]
        operands[4] = sorted({*operands[4], *range(4)} - {each for sources in operands[5:] for each in sources} | {operands[4][0]})
        made = layout.Layout(operands)
        assert made.rows == [0] * 4 + [1] * 4
        orders = [[float(each) for each in order] for order in permutations(range(4))]
        least = min(crossings(operands, [*above, *below], made.rows) for above, below in product(orders, orders))
        assert least <= crossings(operands, made.columns, made.rows) <= least + 1


def test_a_value_that_is_used_far_below_passes_beside_what_is_between() -> None:
    made = layout.Layout([[], [0], [1], [2], [3, 0]])
    assert made.rows == [0, 1, 2, 3, 4] and list(made.ways) == [0] and len(made.ways[0]) == 3
    assert all(abs(way - made.columns[i]) > 0.5 for i, way in zip((1, 2, 3), made.ways[0], strict=True))
    assert layout.Layout([[], [0], [1], [], [2, 3]]).rows == [0, 1, 2, 2, 3]  # what takes nothing, near its user
    assert layout.Layout([]).columns == []


def test_no_text_of_a_program_ends_the_script_that_it_stands_in() -> None:
    page = write.page({"functions": [], "x": "</script><script>alert(1)</script><!--"}, "<b>&")
    assert Structure(page).data == page.partition('id="data">')[2].partition("</script>")[0] and "<title>tierup: &lt;b&gt;&amp;" in page
    assert json.loads(Structure(page).data)["x"] == "</script><script>alert(1)</script><!--"


def test_notebooks_show_a_short_form_without_scripts(written: Written) -> None:
    short = written.ranked._repr_html_()
    Structure(short)
    assert "7 calls" in short and "<script" not in short and "compiling" in short and "Slow because `np.argpartition`" in short


def test_a_function_that_was_not_called_has_a_page(tmp_path: Path) -> None:
    f = tierup.jit(lambda x: x + 1)
    f.report(tmp_path / "f.html")
    assert data_of(tmp_path / "f.html")["functions"][0]["graphs"] == [] and "0 calls" in f._repr_html_()


def test_the_report_at_exit_is_a_page_where_its_name_says_so(written: Written, tmp_path: Path) -> None:
    process._write(str(tmp_path / "all.html"), os.getpid())
    process._write(str(tmp_path / "all.txt"), os.getpid())
    assert data_of(tmp_path / "all.html")["places"] and (tmp_path / "all.txt").read_text().startswith("tierup: ")


TABS = "[...document.querySelectorAll('[role=tab]')]"


@pytest.mark.skipif(found() is None and "TIERUP_TEST_BROWSER" not in os.environ, reason=HINT)
def test_all_views_of_it_work_in_a_browser(written: Written, tmp_path: Path) -> None:
    with Browser(tmp_path / "profile") as browser:
        browser.prefer("light")
        for name in ("all", "ranked"):
            browser.open(written / f"{name}.html")
            assert not browser.run("document.documentElement.classList.contains('dark')")
            for i in range(browser.run(f"{TABS}.length")):
                browser.run(f"{TABS}[{i}].click()")
                assert browser.run(f"{TABS}[{i}].getAttribute('aria-selected')") == "true"
                assert any(browser.run("document.getElementById('main').textContent.length") > 20 or sleep(0.1) for _ in range(100))
                browser.run("document.querySelector('th button')?.click()")
        browser.run(f"{TABS}[0].click(); {TABS}[0].focus()")
        browser.press("ArrowRight"), browser.press("ArrowRight")
        assert browser.run("document.activeElement.textContent") == "Versions"
        browser.press("/", "/")
        assert browser.run("document.activeElement.id") == "search"
        browser.ask("Input.insertText", text="split")
        assert browser.run("document.querySelectorAll('tbody tr').length") == 1
        browser.run("search.value = ''; search.dispatchEvent(new Event('input'))")
        browser.run(f"{TABS}.find(tab => tab.textContent === 'Events').click()")
        rows = browser.run("document.querySelectorAll('tbody tr').length")
        browser.run("document.querySelector('[data-kind=profiled]').click()")
        assert 0 < browser.run("document.querySelectorAll('tbody tr').length") < rows
        browser.run(f"{TABS}.find(tab => tab.textContent === 'Program').click()")
        browser.run("document.querySelector('.text [data-line=\"7\"]').click()")
        assert browser.run("document.querySelectorAll('.here').length") > 2
        picture(browser, "program")
        browser.run(f"{TABS}.find(tab => tab.textContent === 'Timeline').click()")
        picture(browser, "timeline")
        browser.prefer("dark")
        browser.resize(390, 800, is_phone=True)
        browser.open(written / "ranked.html")
        assert browser.run("document.documentElement.classList.contains('dark')")
        assert browser.run("document.documentElement.scrollWidth") <= 390
        picture(browser, "phone")
        assert not browser.complaints


def picture(browser: Browser, name: str) -> None:
    """For docs/, where they are wanted."""
    if PICTURES:
        browser.picture(PICTURES / f"page-{name}.png")
