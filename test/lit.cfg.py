"""lit's configuration: `.mlir` files with RUN lines, run through tierup-opt and FileCheck.

    lit test              all of them
    lit -v test/tools     one folder, with output

Nothing needs to be installed but the packages: tools run as modules of the Python that runs lit.
"""

import os
import sys
from pathlib import Path

import lit.formats

_here = Path(__file__).resolve().parent

config.name = "tierup"  # noqa: F821 - lit puts `config` here
config.test_format = lit.formats.ShTest(False)  # False: lit's own shell, so that no bash is needed
config.suffixes = [".mlir"]
config.excludes = ["programs", "corpus", "inputs"]  # inputs of other tests, without RUN lines
config.test_source_root = str(_here)
config.test_exec_root = str(_here.parent / "build" / "lit")

for name in ("PYTHONPATH", "VIRTUAL_ENV", "HOME", "TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# tierup as it lies in this repository, installed or not
config.environment["PYTHONPATH"] = os.pathsep.join([str(_here.parent), config.environment.get("PYTHONPATH", "")]).rstrip(os.pathsep)

_python = f'"{sys.executable}"'
config.substitutions += [
    (r"\btierup-opt\b", f"{_python} -m tierup.tools.opt"),
    (r"\btierup-run\b", f"{_python} -m tierup.tools.run"),
    (r"\bFileCheck\b", f"{_python} -m filecheck"),
]
