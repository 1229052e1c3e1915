"""The example of torch.export: eager's results and buffers, three versions for all batches, a refusal by name."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")]

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "torch_export.py"


def test_the_exported_program_agrees_with_eager_and_gets_native(capsys):
    ours, eager, program = runpy.run_path(str(EXAMPLE))["main"]()
    torch.testing.assert_close(dict(program.state_dict), dict(eager.state_dict()))
    assert (ours.stats().hits, [v.speculation.kind for v in ours.versions]) == (5, ["static", "static", "dynamic"])
    assert "refused: argument x is of the sizes (4, 7), the program was exported for (?, 8)" in capsys.readouterr().out
