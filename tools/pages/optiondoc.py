"""The table of docs/options.md: the options that users set. `python -m tierup.tools.pages.passdoc` writes it."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

from tierup.runtime.base.options import Options

# what sets the same in TorchScript; named here for those who come from there
ANCESTOR = {
    "optimize": "`torch.jit.optimized_execution`, `_set_graph_executor_optimize`",
    "profile": "`_jit_set_profiling_mode`",
    "num_profiled_runs": "`_jit_set_num_profiled_runs`",
    "fusion_strategy": "`torch.jit.set_fusion_strategy`",
    "bailout_depth": "`_jit_set_bailout_depth`",
    "executor": "`_jit_set_profiling_executor`",
    "strict": "`torch.jit.strict_fusion`",
    "release_graphs": "`torch_jit_release_profiling_graph_after_optimization`",
    "release_delay": "`torch_jit_release_profiling_graph_delay_in_seconds`",
}


def options_table() -> str:
    """A row for each option."""
    lines = ["| option | values | default | meaning | in TorchScript |", "|---|---|---|---|---|"]
    for option in fields(Options):
        code = " *(code)*" if option.name in Options.CODE else ""
        default, meaning = _spell(option.default), option.metadata["meaning"].replace("|", "\\|")
        lines.append(f"| `{option.name}`{code} | {_values(option)} | `{default}` | {meaning} | {ANCESTOR.get(option.name, '-')} |")
    return "\n".join(lines) + "\n"


def _values(option: Field[Any]) -> str:
    if "choices" in option.metadata:
        return ", ".join(f'`"{choice}"`' for choice in option.metadata["choices"])
    if isinstance(option.default, bool):
        return "True, False"
    what = "a whole number" if isinstance(option.default, int) else "seconds"
    if option.metadata.get("most") is not None:
        return f"{what}, {option.metadata['least']} to {option.metadata['most']:.12g}"
    if "least" in option.metadata:
        return f"{what}, at least {option.metadata['least']}"
    return "a list of pairs"


def _spell(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(f'("{kind}", {count})' for kind, count in value) + "]"
    return f'"{value}"' if isinstance(value, str) else str(value)
