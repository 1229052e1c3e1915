"""Code that an earlier process made: loaded without the compiler, and only where it is the same program on the same machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import tierup
from tierup.runtime.explaining import plans

PROGRAM = """
import sys
import numpy as np, tierup
{extra}
@tierup.jit
def f(x, n: int):
    return np.tanh(x[:n]) * {factor} @ x[:n]
for i in range(3):
    assert np.allclose(f(np.full(5, .5), 3), np.tanh(.5) * {factor} * 1.5)
(version,) = f.versions
print(version.compiled.from_disk, 'tierup.lowering.compile' in sys.modules, f.stats().hits, 'loaded from disk' in f.explain())
print('tanh' in f.plan('specialized') and 'llvm' in f.plan('llvm') and 'tierup.check' in f.plan('guarded'))
"""


def run(tmp_path: Path, extra: str = "", factor: int = 2, **environment: str) -> list[str]:
    file = tmp_path / "program.py"
    file.write_text(PROGRAM.format(extra=extra, factor=factor))
    environment = {**os.environ, "TIERUP_CACHE_DIR": str(tmp_path / "cache"), **environment}
    done = subprocess.run([sys.executable, str(file)], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert second == "True"
    return first.split()


COMPILED, FROM_DISK = ["False", "True", "2", "False"], ["True", "False", "2", "True"]


def test_the_second_process_loads_what_the_first_compiled_and_imports_no_compiler(tmp_path: Path) -> None:
    assert run(tmp_path) == COMPILED
    assert run(tmp_path) == FROM_DISK
    assert run(tmp_path, factor=3) == COMPILED  # another program in the same place


@pytest.mark.parametrize("what", ["damaged", "emptied", "off"])
def test_what_cannot_be_read_is_compiled_anew(what: str, tmp_path: Path) -> None:
    run(tmp_path)
    if what != "off":
        for file in (tmp_path / "cache").iterdir():
            file.write_bytes(b"" if what == "emptied" else file.read_bytes()[:-3] + b"xyz")
    assert run(tmp_path, **({"TIERUP_CACHE": "0"} if what == "off" else {})) == COMPILED
    assert run(tmp_path) == FROM_DISK


def test_passes_of_the_users_own_are_run_whatever_is_on_disk(tmp_path: Path) -> None:
    run(tmp_path)
    mine = (
        "from dataclasses import dataclass\n@tierup.register_pass('pre-fusion')\n@dataclass(frozen=True)\nclass Mine(tierup.Pass):\n"
        "    '''Nothing.'''\n    name = 'mine'\n    def run(self, module): ...\n"
    )
    for _ in range(2):
        assert run(tmp_path, mine)[0] == "False"


def test_a_compiler_that_another_thread_is_importing_stands_in_nobodys_way(monkeypatch: pytest.MonkeyPatch) -> None:
    f = tierup.jit(lambda x: x * 2, entry="python")
    f(np.ones(3)), f(np.ones(3))
    for name in ("tierup.dialect.pipelines.custom", "tierup.runtime.compiling.version"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))  # what such a module looks like
    assert not plans.has_custom_passes()
    assert f.release()
