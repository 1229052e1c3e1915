"""Real programs of PyTorch in the modes of the corpus, against eager PyTorch, and trained a few steps."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

torch = pytest.importorskip("torch")

import corpus_modes  # noqa: E402
import numpy as np  # noqa: E402
from sampling import IS_EXHAUSTIVE, drawn  # noqa: E402
from torch_rows import ROWS, SEED, Row, scripted  # noqa: E402

from tierup.dialect import optable  # noqa: E402
from tierup.dialect.optable.kernels.torch_tensors import to_tensors  # noqa: E402
from tierup.torch import from_torchscript  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

ALWAYS = ("optimised",)  # the other modes: one program in so many, in turn


def brought(row: Row) -> None:
    if row.needs:
        pytest.importorskip(row.needs)


@pytest.mark.parametrize(
    ("mode", "row"),
    [
        pytest.param(mode, row, id=f"{mode.name}-{row.name}")
        for m, mode in enumerate(corpus_modes.MODES)
        for r, row in enumerate(ROWS)
        if not (row.draws and mode.threads > 1) and (IS_EXHAUSTIVE or mode.name in ALWAYS or (m + r) % 24 == 0)
    ],
)
def test_program_does_what_eager_pytorch_does(row: Row, mode: corpus_modes.Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    brought(row)
    if mode.waits:
        monkeypatch.setenv("TIERUP_CACHE", "0")  # code that another mode left on disk is not waited for
    corpus_modes.run(row.program(), mode)


def calls(row: Row, function: Any, sizes: tuple[int, ...]) -> None:
    for n in sizes:
        torch.manual_seed(SEED)
        with torch.no_grad():
            function(*to_tensors(row.inputs(np.random.default_rng(n), n)))


@pytest.mark.parametrize("row", drawn("all sizes", [row for row in ROWS if not dict(row.corpus).get("reason")], 3), ids=lambda row: row.name)
def test_one_version_serves_every_size_after_the_first(row: Row) -> None:
    brought(row)
    ours = row.brought_in(row.network())
    calls(row, ours, (4, 4, 6, 9))
    before = ours.stats()
    calls(row, ours, (5, 11, 7, 13, 4, 6))
    after = ours.stats()
    assert (after.compiles, after.hits - before.hits) == (2, 6), ours.explain()
    assert [v.speculation.kind for v in ours.versions] == ["static", "dynamic"]


@pytest.mark.parametrize("row", [row for row in ROWS if row.by_torch or dict(row.corpus).get("reason")], ids=lambda row: row.name)
def test_explain_names_what_runs_in_tier_0_and_what_goes_through_pytorch(row: Row) -> None:
    ours = row.brought_in(row.network())
    calls(row, ours, (4, 4, 4, 6, 9))
    left = set(re.findall(r"in tier 0: (aten\.\w+(?:\.\w+)?) (?:\([^)]*\) )?at \S+:\d+", ours.explain()))
    through = {name for name in left if (found := optable.lookup(name)) is not None and found.kernel.startswith("by_torch.")}
    assert left and through == set(row.by_torch), ours.explain()


def loss_of(results: Any) -> Any:
    """A number that all results of floats take part in."""
    if isinstance(results, (tuple, list)):
        return sum(loss_of(r) for r in results)
    return (results * torch.linspace(-1, 3, results.numel()).view(results.shape)).sum() if results.is_floating_point() else 0.0


def step(program: Any, parameters: list[Any], inputs: Any) -> tuple[Any, list[Any]]:
    torch.manual_seed(SEED)
    loss = loss_of(program(*inputs))
    loss.backward()
    gradients = [p.grad.clone() for p in parameters]
    with torch.no_grad():
        for p in parameters:
            p -= 0.01 * p.grad
            p.grad = None
    return loss.detach(), gradients


@pytest.mark.parametrize("row", drawn("trained", [row for row in ROWS if row.trains], 3), ids=lambda row: row.name)
def test_training_steps_are_those_of_eager_pytorch(row: Row) -> None:
    eager = row.network().train()
    network = copy.deepcopy(eager)
    held = scripted(row, network)
    ours = from_torchscript(held)
    for number, n in enumerate((4, 4, 6, 4)):
        inputs = to_tensors(row.inputs(np.random.default_rng(number), n))
        want, wanted = step(eager, list(eager.parameters()), inputs)
        got, found = step(ours, list(held.parameters()), inputs)
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
        for (name, _), g, w in zip(eager.named_parameters(), found, wanted, strict=True):
            torch.testing.assert_close(g, w, rtol=1e-4, atol=1e-4 * float(w.abs().max()) + 1e-6, msg=lambda text: f"step {number}: {name}: {text}")
    if not row.by_torch:
        assert "4 pullbacks" in ours.explain(), ours.explain()  # both ways by programs of ours
    for buffer, wanted_buffer in zip(held.buffers(), eager.buffers(), strict=True):
        torch.testing.assert_close(buffer, wanted_buffer, rtol=1e-4, atol=1e-5)
