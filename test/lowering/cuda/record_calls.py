"""Record what the emulated tests and the corpus' programs run, for a machine with a GPU: `make gpu-calls` (docs/gpu.md).

The kernels of each call, its arguments, and what the emulated device made of them, or native code on the CPU: tools/gpu/replay.py runs them again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
sys.path[:0] = sorted({str(path.parent) for path in HERE.parents[1].rglob("*.py")})

import corpus_requests
import emulated_programs
import host_runner
from kernel_harness import Failed, call

from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.base.abi import ResultKind
from tierup.lowering.cuda.assembling import ptxas
from tierup.runtime.cuda.bundle_file import PackedProgram, PackedVersion
from tierup.tools.gpu.replay import Call, write

_COMPARED = (ResultKind.BUFFER, ResultKind.ARGUMENT, ResultKind.SCALAR, ResultKind.ALLOCATED)
_EMULATED = 64.0  # epsilons: sums come in another order, and functions within 4 ulp of one another


class Recorder:
    """Programs and calls so far. Code for `target` is assembled where ptxas is there, as in a bundle."""

    def __init__(self, target: str) -> None:
        self.target, self.programs, self.calls = target, list[PackedProgram](), list[Call]()
        self._known: dict[int, tuple[str, CudaArtifact]] = {}

    def add(self, name: str, artifact: CudaArtifact, values: tuple[Any, ...], results: Any, tolerance: float) -> None:
        if artifact.exits:
            return  # a bundle has nothing that would go on
        if id(artifact) not in self._known:
            self._known[id(artifact)] = f"{name}.{len(self.programs)}", artifact
            cubins = {self.target: ptxas.assemble(artifact.ptx, self.target).cubin} if ptxas.find() is not None else {}
            names = tuple(f"a{i}" for i in range(len(artifact.arguments)))
            self.programs.append(PackedProgram(self._known[id(artifact)][0], names, (PackedVersion(artifact, cubins),)))
        if results is not None:
            results = tuple(r if s.kind in _COMPARED else None for s, r in zip(artifact.results, results, strict=True))
        self.calls.append(Call(self._known[id(artifact)][0], values, results, tolerance))


class Recording:
    """A plugin of pytest: what the tests run is recorded under their names."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, self._test = recorder, ""
        self._run = host_runner.run

    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        self._test = item.name.removeprefix("test_")

    def run(self, artifact: CudaArtifact, values: Any, *rest: Any, **options: Any) -> host_runner.Outcome:
        held = tuple(v.copy(order="K") if isinstance(v, np.ndarray) else v for v in values)
        outcome = self._run(artifact, values, *rest, **options)
        if outcome.exit < 0 and not rest and not options:
            self._recorder.add(self._test, artifact, held, None if outcome.status else outcome.results, _EMULATED)
        return outcome


def of_tests(recorder: Recorder) -> int:
    """Pytest's exit code."""
    recording = Recording(recorder)
    host_runner.run = emulated_programs.run = recording.run
    tests = [str(path) for path in sorted(HERE.glob("test_emulated_*.py"))]
    return pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests], plugins=[recording])


def of_corpus(recorder: Recorder) -> None:
    """Each program's static and dynamic versions, as native code on the CPU answers them."""
    with pytest.MonkeyPatch.context() as patch:
        for program in corpus_requests.PROGRAMS:
            if not program.native:
                continue
            print(f"  {program.name}", file=sys.stderr, flush=True)
            for asked in corpus_requests.requests(program, patch):
                artifact = corpus_requests.kernels(program, asked)
                if artifact is None or artifact.exits:
                    continue
                held = tuple(v.copy(order="K") if isinstance(v, np.ndarray) else v for v in asked.flat)
                try:
                    results = call(asked.artifact, asked.flat)
                except Failed:
                    results = None
                recorder.add(program.name, artifact, held, results, program.tolerance)


def main() -> int:
    parser = argparse.ArgumentParser(prog="record_calls", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", metavar="FILE", default="gpu-calls.tierup", help="the bundle to write (default %(default)s)")
    parser.add_argument("--target", default="sm_90", help="the device that code is assembled for (default %(default)s)")
    options = parser.parse_args()
    recorder = Recorder(options.target)
    failed = of_tests(recorder)
    of_corpus(recorder)
    write(Path(options.output), recorder.programs, recorder.calls)
    print(f"wrote {options.output}: {len(recorder.calls)} calls of {len(recorder.programs)} programs")
    return failed


if __name__ == "__main__":
    sys.exit(main())
