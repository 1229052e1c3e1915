"""The README's example with PyTorch gives the gradients that PyTorch gives."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import tierup

pytestmark = pytest.mark.torch
README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


def test_the_readme_example_with_pytorch_gives_its_gradients():
    (example,) = [block for block in re.findall(r"```python\n(.*?)```", README, re.DOTALL) if "tierup.torch" in block]
    model, x = torch.nn.Linear(4, 2), torch.randn(3, 4)
    model(x).sum().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    for _ in range(3):
        model.zero_grad()
        exec(example, {"tierup": tierup, "model": model, "x": x})
        torch.testing.assert_close([p.grad for p in model.parameters()], wanted)
