"""lit's configuration: `.mlir` files with RUN lines, run through tierup-opt and FileCheck.

    lit test              all of them
    lit -v test/tools     one folder, with output

Nothing needs to be installed but the packages: tools run in forks of lit's processes (`lit_forked.py`), and where a test asks for more than
that knows, as modules of the Python that runs lit.
"""

import os
import sys
from pathlib import Path

_here = Path(__file__).resolve().parent
for variable in [name for name in os.environ if name.startswith("TIERUP_")]:
    del os.environ[variable]  # tests say what they want themselves
sys.path[:0] = [str(_here.parent), str(_here)]

import lit_forked  # noqa: E402 - found by the line above

lit_forked.preload()

config.name = "tierup"  # noqa: F821 - lit puts `config` here
config.test_format = lit_forked.Forked()
config.suffixes = [".mlir"]
config.excludes = ["programs", "corpus", "inputs"]  # inputs of other tests, without RUN lines
config.test_source_root = str(_here)
config.test_exec_root = str(_here.parent / "build" / "lit")

for name in ("PYTHONPATH", "VIRTUAL_ENV", "HOME", "TMPDIR"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# only what every machine has: a test that names a tool which is a script of somebody's environment fails at home too
config.environment["PATH"] = os.defpath
# tierup as it lies in this repository, installed or not
config.environment["PYTHONPATH"] = os.pathsep.join([str(_here.parent), config.environment.get("PYTHONPATH", "")]).rstrip(os.pathsep)

_python = f'"{sys.executable}"'
config.substitutions += [
    (r"\btierup-opt\b", f"{_python} -m tierup.tools.opt"),
    (r"\btierup-run\b", f"{_python} -m tierup.tools.run"),
    (r"\bFileCheck\b", f"{_python} -m filecheck"),
]
