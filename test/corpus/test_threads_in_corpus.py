"""Programs of the corpus with every loop that threads can share cut into parts, however little there is to do: what sharing makes of a loop
compiles, and the parts together give what the loop gave."""

from __future__ import annotations

from typing import Any

import corpus_modes
import pytest
import test_corpus  # noqa: F401 - adds the programs
from corpus import PROGRAMS, Program
from sampling import drawn

from tierup.dialect.mlir import ir
from tierup.lowering.building import shares
from tierup.lowering.transforms import share_loops

MODE = corpus_modes.Mode("threads", corpus_modes.growing, lambda program: None, {"threads": 3})
SURELY = ("softmax", "layer_norm", "rnn_unrolled")


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> list[ir.Operation]:
    """The loops that were shared, all that can be."""
    monkeypatch.setenv("TIERUP_CACHE", "0")
    monkeypatch.setattr(shares, "LEAST", 0)
    monkeypatch.setattr(shares, "PART", 2000)
    monkeypatch.setattr(share_loops, "LEAST", 0)
    monkeypatch.setattr(share_loops, "_HEAVY", 0)
    monkeypatch.setattr(share_loops, "_PIECE", 2)
    monkeypatch.setattr(share_loops, "_GOES_THROUGH", ("none of them",))
    found: list[Any] = []
    share = share_loops._share

    def noted(loop: ir.Operation, *rest: Any) -> None:
        found.append(rest[-1])
        share(loop, *rest)

    monkeypatch.setattr(share_loops, "_share", noted)
    return found


@pytest.mark.parametrize("program", [
    pytest.param(p, id=p.name) for p in PROGRAMS if p in drawn("threads", PROGRAMS, 32) or p.name in SURELY
])  # fmt: skip
def test_program_in_parts_does_what_the_undecorated_function_does(program: Program, shared: list[str]) -> None:
    corpus_modes.run(program, MODE)
    assert shared or program.name not in SURELY
