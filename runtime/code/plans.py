"""What a speculation became: loaded code, or the reason why there is none; and the shortest way to code that an earlier process made.

Free of MLIR. Two entries of the cache on disk (`lowering/artifacts/cache.py`) lead from a speculation to code: the specialised graph of a
pristine graph and guards, and the artifact of that specialised graph. When both are there no pass runs and nothing of the compiler is
imported. While passes of the user's own are registered nothing is looked up or kept here: what they do is not in any key.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from functools import cache as once
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tierup import __version__
from tierup.dialect.base.records import dataclass
from tierup.dialect.base.shielded import shielded
from tierup.dialect.passes.entry_points import ENTRY_POINTS
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.artifacts import cache
from tierup.lowering.artifacts.load import NativeCode, load
from tierup.lowering.artifacts.places import Placed, placed
from tierup.lowering.base.abi import ArgumentSpec, Artifact, Request
from tierup.lowering.externals import sharing
from tierup.lowering.objects import keys, store
from tierup.lowering.objects.keys import Key, Part
from tierup.lowering.service import request_json
from tierup.runtime.base import events
from tierup.runtime.base.events import Event, EventKind
from tierup.runtime.base.options import Options
from tierup.runtime.code import dump

if TYPE_CHECKING:
    from tierup.lowering.artifacts.gpu import CudaArtifact
    from tierup.runtime.cuda.plan import CudaPlan


store.listener = lambda text: events.emit(Event(EventKind.CACHE_REFUSED, "", 0, action=text))
BEGAN = time.time()  # what was kept before is other processes'
on_release: list[Callable[[], object]] = []  # of what the compiler keeps of graphs, once it is there: called when one is let go


class NotCompiled(Exception):
    """A speculation that has no native code. `reason` is from the list; `detail` says more; `line` is the user's place; `op` names the op
    that has none (`aten.sort`), where it is one op."""

    def __init__(self, reason: Reason, detail: str, line: str = "", op: str = "") -> None:
        super().__init__(detail)
        self.reason = reason
        self.detail = detail
        self.line = line
        self.op = op

    def __reduce__(self) -> tuple[type[NotCompiled], tuple[Reason, str, str, str]]:
        return NotCompiled, (self.reason, self.detail, self.line, self.op)


_PASSING = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT}


def refusal(said: str, error: Exception) -> NotCompiled:
    """Why the compiler, which raised, gave no code: for good, or, when something ran out, for now."""
    kept = dump.current()
    if kept and kept.reproducer:
        said = f"{said}; reproducer: {kept.reproducer}"
    return NotCompiled(Reason.NO_RESOURCES if is_passing(error) else Reason.COMPILE_FAILED, said)


def is_passing(error: BaseException | None) -> bool:
    """Whether something ran out, of which there may be enough again later."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _PASSING):
            return True
        if isinstance(error, RuntimeError) and "start new thread" in str(error):
            return True
        if isinstance(error, ImportError) and any(os.strerror(number) in str(error) for number in _PASSING):  # of the dynamic loader
            return True
        error = error.__cause__
    return False


@contextmanager
def failures_are_refusals(what: str) -> Iterator[None]:
    """Whatever the compiler raises while it makes `what` leaves as NotCompiled: the program runs in a lower tier. Ctrl-C does not."""
    try:
        yield
    except NotCompiled:
        raise
    except Exception as e:  # noqa: BLE001 - the defect, or the lack of memory, is the compiler's and not the program's
        raise refusal(f"{what}: {type(e).__name__}: {e}", e) from e


@dataclass(frozen=True)
class CompilerOutput:
    """What the compiler made of a graph and guards: picklable, not loaded. `milliseconds`: what that took, where it was done."""

    request: Request
    artifact: Artifact | CudaArtifact
    milliseconds: float
    facts: dict[str, Any] = field(default_factory=dict)  # noted for the dump of a compile in another process
    reports: tuple[str, ...] = ()  # what that process had to say of the cache on disk
    is_new: bool = True  # False: the object was on disk, and no stage ran
    was_made: bool = True  # False: so was the specialised graph, since another process had it compiled meanwhile


@dataclass(frozen=True)
class LoadedCode:
    """A version's code and how it came about. `from_disk`: an earlier process compiled it."""

    code: NativeCode | CudaPlan
    request: Request
    milliseconds: float
    from_disk: bool = False

    @property
    def artifact(self) -> Artifact | CudaArtifact:
        """What the code was loaded from."""
        return self.code.artifact

    @property
    def target(self) -> str:
        """The device that it was compiled for, "" for the CPU."""
        return getattr(self.artifact, "target", "")


def request_for(specialised: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options) -> Request:
    """What the compiler is asked for, of a specialised program under the options."""
    threads = options.threads or sharing.usable()
    return Request(specialised, entry, arguments, level=options.level, threads=threads, tf32=options.device_tf32)


def on_disk(graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], options: Options) -> LoadedCode | None:
    """The code that an earlier process made of the same pristine graph and guards, loaded; None when there is none."""
    if not uses_disk(options):
        return None
    start = time.perf_counter()
    where = placed(graph)
    specialised = cache.kept(key_of(where, entry, arguments), where, str)
    if specialised is None:
        return None
    request = request_for(specialised, entry, arguments, options)
    artifact = _kept(request, options)
    if artifact is None:
        return None
    code = loaded(artifact, cache.kernel_name(entry, arguments), options)
    return LoadedCode(code, request, (time.perf_counter() - start) * 1e3, from_disk=True)


def _kept(request: Request, options: Options) -> Artifact | CudaArtifact | None:
    if options.backend == "cpu":
        return cache.get(request)
    from tierup.lowering.cuda import cached  # here: most programs run on the CPU

    return cached.get(request, options.target, libraries=options.libraries)


def loaded(artifact: Artifact | CudaArtifact, name: str, options: Options) -> NativeCode | CudaPlan:
    """Code that can be called. `name`: what profilers call it. Raises DriverError."""
    if isinstance(artifact, Artifact):
        return shielded(lambda: load(artifact, name))
    from tierup.runtime.cuda.device.devices import device  # here: most programs run on the CPU
    from tierup.runtime.cuda.plan import CudaPlan

    return CudaPlan(artifact, device(), libraries=options.libraries)


def note(kept: dump.Dump, request: Request) -> None:
    """Keep what a compile starts from, and for which machine."""
    kept.stage("specialized", request.ir)
    from tierup.lowering.base.llvm import host  # here: loads LLVM, which code from disk needs no more than MLIR

    kept.note(request=request_json.to_dict(request), target=request.target or host())


def note_code(kept: dump.Dump, artifact: Artifact | CudaArtifact, from_disk: bool) -> None:
    """Keep what came of a compile, and what it cost; of code from disk what it cost the process that made it."""
    code = artifact.object if isinstance(artifact, Artifact) else artifact.ptx.encode()
    kept.write("kernel.o" if isinstance(artifact, Artifact) else "kernels.ptx", code)
    kept.note(
        outcome="from disk: no stage ran" if from_disk else "compiled",
        timings_ms={stage: round(spent, 3) for stage, spent in artifact.timings_ms.items()},
        object_bytes=len(code),
        results=[repr(result) for result in artifact.results],
        error_sites=[f"{site.op} at {site.location}" for site in artifact.error_sites],
        externals=artifact.externals if isinstance(artifact, Artifact) else (),
    )


def keep(graph: str, entry: str, arguments: tuple[ArgumentSpec, ...], specialised: str, options: Options) -> None:
    """Keep a specialised graph for the next process, where it is not kept already."""
    if uses_disk(options):
        where = placed(graph)
        key = key_of(where, entry, arguments)
        if cache.kept(key, where, str) != specialised:
            cache.keep(key, where, specialised)


def uses_disk(options: Options) -> bool:
    """Whether code may come from disk, and is kept there: what it depends on is the compiler, so not where there is none."""
    return options.cache and has_compiler() and not has_custom_passes() and store.usable()


@once
def has_compiler() -> bool:
    """Whether MLIR and LLVM are installed."""
    return all(find_spec(name) is not None for name in ("torch_mlir", "llvmlite"))


def key_of(where: Placed, entry: str, arguments: tuple[ArgumentSpec, ...]) -> Key:
    """By the program, the guards, and what specialising depends on: the compiler, our own code for it, and who brings passes."""
    ours = Part("tierup's runtime", keys.contents(keys.tree("runtime/compiling")), __version__)
    brought = Part("passes of others", repr(keys.plugins(ENTRY_POINTS)))
    parts = (Part("graph", f"{entry}\n{where.text}"), cache.facts(arguments), ours, brought)
    return Key("specialised", cache.kernel_name(entry, arguments), (*parts, *keys.environment()))


def has_custom_passes() -> bool:
    """Whether passes of the user's own are registered in this process."""
    custom = sys.modules.get("tierup.dialect.passes.pipelines.custom")
    registered = getattr(custom, "registered", None)  # not imported, or by another thread at this moment: nothing is registered
    return custom is not None and registered is not None and any(registered(when) for when in custom.WHEN)
