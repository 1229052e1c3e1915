"""What the corpus' programs ask the compiler for: requests that have native code on the CPU, each with the arguments of the call."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import corpus_modes
import numpy as np
import pytest
from corpus import HERE, PROGRAMS, Program
from sampling import IS_EXHAUSTIVE, SEED
from test_corpus import MODULES

from tierup.frontend.jit import jit, load
from tierup.lowering.artifacts import cache
from tierup.lowering.artifacts.gpu import CudaArtifact
from tierup.lowering.base.abi import Artifact, Request
from tierup.lowering.base.errors import Unsupported
from tierup.lowering.cuda.compile import compile
from tierup.runtime.base.options import options
from tierup.runtime.executors.making import VersionMaker

assert MODULES  # importing them filled PROGRAMS


@dataclass(frozen=True)
class Asked:
    """`flat`: copies of what the call that asked was given, as the kernel takes it."""

    request: Request
    artifact: Artifact
    flat: tuple[Any, ...]


def requests(program: Program, monkeypatch: pytest.MonkeyPatch) -> list[Asked]:
    """The first shape twice, then a second and a third: a static version and, where there is one, a dynamic one; regions too."""
    found: list[Asked] = []
    calls: list[tuple[Any, ...]] = []
    compiled, obtained = VersionMaker._compile, cache.obtain

    def compiling(self: Any, attempt: Any, speculation: Any, signature: Any, flat: tuple[Any, ...], *rest: Any) -> Any:
        calls.append(tuple(v.copy(order="K") if isinstance(v, np.ndarray) else v for v in flat))
        try:
            return compiled(self, attempt, speculation, signature, flat, *rest)
        finally:
            calls.pop()

    def obtaining(request: Request, *rest: Any, **how: Any) -> Any:
        answer = obtained(request, *rest, **how)
        if calls and len(calls[-1]) == len(request.arguments):
            found.append(Asked(request, answer[0], calls[-1]))
        return answer

    with monkeypatch.context() as patched, options(level=0):
        patched.setattr(VersionMaker, "_compile", compiling)
        patched.setattr(cache, "obtain", obtaining)
        function: Callable[..., Any] = load(HERE / program.mlir) if program.mlir else jit(program.function)
        for seed, n in enumerate((program.sizes[0], program.sizes[0], program.sizes[1], program.sizes[2])):
            corpus_modes._attempt(program, function, corpus_modes.Step(program.inputs, n), seed)
    return found


SAMPLED = 8  # programs that `make test` takes; TIERUP_SEED chooses others


def sample(salt: str) -> list[Program]:
    """The corpus' programs that have native code: all of them in `make test-ptx` and `make exhaustive`, else a few."""
    native = [p for p in PROGRAMS if p.native]
    return native if IS_EXHAUSTIVE else random.Random(f"{salt} {SEED}").sample(native, SAMPLED)


# programs of which a request has no kernels, and why: the one list of them
NO_KERNELS: dict[str, str] = {}


def kernels(program: Program, asked: Asked, stages: tuple[str, ...] = ()) -> CudaArtifact | None:
    """A request compiled for the GPU; None for one that has no kernels, for the reason that is listed."""
    try:
        return compile(asked.request, "sm_80", stages)
    except Unsupported as e:
        if NO_KERNELS.get(program.name, "nothing is listed") in e.reason:
            return None
        raise
