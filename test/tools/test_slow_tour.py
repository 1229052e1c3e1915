"""The tour of slow functions: what it prints of each stop is the verdict on it, with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from test.sampling import drawn
from tierup.tools import slow_tour

BEGINS = {
    "dtypes": "Slow because dtypes drift", "containers": "Slow because the list `history`", "outside": "Slow because `SCALE`, read from outside",
    "decorated": "Slow because `inner` was decorated 20 times", "settings": "Slow because `mode` has 12 values",
    "layouts": "native code steps over memory", "ops": "Slow because `np.argpartition` in a loop of some 20 rounds",
    "loops": "a loop is written out, all 30 rounds", "leaves": "each call brings 61 arrays and numbers", "checks": "the check of an index failed in ",
}  # fmt: skip


def test_every_stop_has_its_verdict() -> None:
    assert [stop.name for stop in slow_tour.STOPS] == list(BEGINS) and len(BEGINS) == 10


@pytest.mark.parametrize("name", drawn("stops of the tour", [*BEGINS], 5))
def test_a_stop_shows_the_function_the_verdict_and_the_mended_one(name: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert slow_tour.main([name, "--page", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith(f"--- 1 of 1: {name} -") and BEGINS[name] in " ".join(printed.split())
    assert "slow_tour.py:" in printed and "  time: " in printed and printed.count("@tierup.jit") == 2
    assert printed.index("explain() says:") < printed.index("Mended:") < printed.index(" before, ")
    assert "<title>tierup: " in (tmp_path / f"{name}.html").read_text()


def test_the_list_says_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert slow_tour.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(BEGINS)


def test_a_stop_that_is_none_is_said_with_those_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        slow_tour.main(["dtype"])
    assert "there is no stop 'dtype'; did you mean 'dtypes'?" in capsys.readouterr().err


def test_help_teaches_how_to_read_it(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        slow_tour.main(["--help"])
    said = capsys.readouterr().out
    assert "Slow because" in said and "examples:" in said and "docs/explain.md" in said
