"""The examples in docs/migration.md do what the page says, and no knob of TorchScript's that PyTorch has is forgotten."""

import re
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import tierup

pytestmark = pytest.mark.torch
PAGE = (Path(__file__).parents[2] / "docs" / "migration.md").read_text()


def test_the_examples_hold(tmp_path, capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(blocks) == 5
    file = tmp_path / "example.py"
    file.write_text("\n".join(blocks))  # one module: later blocks use the names of earlier ones
    exec(compile(file.read_text(), str(file), "exec"), {"__name__": "example"})
    assert "version" in capsys.readouterr().out


def test_every_option_that_the_page_names_is_one():
    named = {name for options in re.findall(r"options\(([^)`]*)\)", PAGE) for name in re.findall(r"(\w+)=", options)}
    assert named and named <= set(tierup.runtime.base.options.Options.__dataclass_fields__)


def test_everything_of_a_function_that_the_page_names_is_there():
    ours = tierup.torch.from_torchscript(torch.jit.script(plus_one))
    named = {name for row in re.findall(r"^\|[^|]*\|([^|]*)", PAGE, re.M) for name in re.findall(r"\bf\.(\w+)", row)}
    assert {"graph", "source", "plan", "debug_state", "reset", "explain"} <= named
    assert [name for name in named if not hasattr(ours, name)] == []


@pytest.mark.parametrize("name", [n for n in dir(torch._C) if re.match(r"_jit_set_(profiling|num_profiled|bailout|fusion_strategy|inline)", n)])
def test_every_knob_of_the_profiling_executor_is_on_the_page(name):
    assert name in PAGE or name.replace("_jit_set", "torch.jit.set") in PAGE


def plus_one(x: torch.Tensor) -> torch.Tensor:
    return x + 1
