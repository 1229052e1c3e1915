"""lit's format for RUN lines, with the commands of most tests in forks of lit's own processes, which have imported them already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lit.formats
import lit.Test
import run_lines

preload = run_lines.preload


class Forked(lit.formats.ShTest):
    """As ShTest; what a test asks for beyond `run_lines` is lit's own shell to run."""

    def __init__(self) -> None:
        super().__init__(False)  # False: lit's own shell, so that no bash is needed

    def execute(self, test: Any, litConfig: Any) -> Any:  # noqa: N803 - lit's word
        scratch = Path(test.getExecPath() + ".dir")
        scratch.mkdir(parents=True, exist_ok=True)
        try:
            outcome = run_lines.run(Path(test.getSourcePath()), scratch)
        except run_lines.Unknown:
            return super().execute(test, litConfig)
        return (lit.Test.PASS if outcome.passed else lit.Test.FAIL), outcome.output
