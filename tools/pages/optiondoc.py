"""The page docs/options.md, from the table of options. `python -m tierup.tools.pages.passdoc` writes it."""

from __future__ import annotations

from dataclasses import Field, fields
from typing import Any

from tierup.runtime.base.options import Options

_HEAD = """\
# Options

Generated from `tierup/runtime/base/options.py` by `python -m tierup.tools.pages.passdoc`; a test checks that it is current.

```python
f = tierup.jit(fn, max_versions=4)              # for one function: wins over the block below
with tierup.options(optimize=False):            # for this thread, and tasks started in it, while the block runs
    f(x)
```

A wrong name or value is a TypeError or ValueError that says what is right. `tierup-run --option NAME=VALUE` sets them too.

**Every option takes effect on the next call**, also when versions exist. Those marked *code* are what compiled code depends on: calls
under other values of them have versions of their own, side by side, and going back finds the old ones. The others are read at every call
that no version fits; a version that fits is used as it is, except under `optimize=False`.
"""

_TAIL = """
## Together

* `fusion_strategy` says which versions are made, `bailout_depth` caps how many; when either leaves none (`bailout_depth=0`, `[]`,
  `[("static", 0)]`) the program is never profiled, and runs in tier 0 after the passes that need no record (the pipeline
  `profiling-insensitive`). Versions that were made before go on answering the calls that they fit.
* `strict=True` with `num_profiled_runs=0` is what `tierup.assert_optimized()` sets: a call that native code does not answer as a whole is
  `tierup.NotOptimized`, whichever option, op or argument it is due to, in every call alike. A call that a version answers passes.
* `executor="specializing"` has no profiles: `profile`, `num_profiled_runs`, `fusion_strategy`, `bailout_depth` and `speculate` do not
  matter to it, and `max_versions` bounds its plans. See [versions.md](versions.md).
* A task or thread that was started with a copy of the context inside `with tierup.options(...)` and goes on after the block has ended keeps
  the options, but for one thing: calls that a version answers without any Python no longer look at them.
"""

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


def options_page() -> str:
    """The page as it should be."""
    lines = ["| option | values | default | meaning | in TorchScript |", "|---|---|---|---|---|"]
    for option in fields(Options):
        code = " *(code)*" if option.name in Options.CODE else ""
        default, meaning = _spell(option.default), option.metadata["meaning"].replace("|", "\\|")
        lines.append(f"| `{option.name}`{code} | {_values(option)} | `{default}` | {meaning} | {ANCESTOR.get(option.name, '-')} |")
    return _HEAD + "\n" + "\n".join(lines) + "\n" + _TAIL


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
