"""How a speculation becomes a version: of what its program came with, or from the disk's cache where an earlier process made it, else
through the compiler."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace

from tierup.dialect.passes.pipelines.reproducer import Reproducer
from tierup.dialect.speculation.reasons import Reason
from tierup.lowering.artifacts import cache
from tierup.lowering.base.abi import ArgumentSpec, Artifact
from tierup.lowering.entry.records import Form, VersionRecord
from tierup.lowering.externals import allocating, polling
from tierup.lowering.service import request_json
from tierup.runtime.account.times import LOADING, During
from tierup.runtime.arguments.signature import describe_specs
from tierup.runtime.base.options import Options
from tierup.runtime.code import dump, plans
from tierup.runtime.code.plans import CompilerOutput, LoadedCode, NotCompiled
from tierup.runtime.dispatching.version import Version
from tierup.runtime.programs.program import Program
from tierup.runtime.programs.speculations import Speculation, without_ints

Produce = Callable[[str, str, tuple[ArgumentSpec, ...], Options], CompilerOutput]  # graph, its entry, guards, options; raises NotCompiled
Make = Callable[[Program, Speculation, tuple[ArgumentSpec, ...], Options, int, Produce], Version]  # as `make_version`


def from_disk(program: Program, speculation: Speculation, valued: tuple[ArgumentSpec, ...], options: Options, call: int) -> Version | None:
    """A version of a speculation that an earlier process compiled; None when there is none. For the arguments see `make_version`. Raises
    NotCompiled for what the program came with and cannot be loaded, and where the graph was released."""
    for specs in _guards(speculation, valued, opens=False):
        compiled = _given(program, specs, options) or plans.on_disk(program.graph, program.entry, specs, options)
        if compiled is not None:
            with _dump(program, speculation, specs, options) as dumped:
                if dumped is not None:
                    plans.note(dumped, compiled.request)
                    plans.note_code(dumped, compiled.artifact, from_disk=True)
            return _version(program, speculation, specs, compiled, call)
    return None


def _given(program: Program, specs: tuple[ArgumentSpec, ...], options: Options) -> LoadedCode | None:
    """What the program came with for these guards, loaded. Raises NotCompiled."""
    given = program.given(options)
    version = None if given is None else given.of(specs)
    if given is None or version is None:
        return None
    start = time.perf_counter()
    try:
        code = plans.loaded(version.artifact, cache.kernel_name(program.entry, specs), options)
    except Exception as e:  # noqa: BLE001 - what the file's maker had, and this process has not, is no reason to fail a call
        reason = Reason.NO_RESOURCES if plans.is_passing(e) else Reason.NOT_LOADED
        raise NotCompiled(reason, f"{given.origin}: {type(e).__name__}: {e}") from e
    return LoadedCode(code, version.request, (time.perf_counter() - start) * 1e3, from_disk=True)


def make_version(
    program: Program, speculation: Speculation, valued: tuple[ArgumentSpec, ...], options: Options, call: int, produce: Produce
) -> Version:
    """A version of a speculation, made in call number `call` by `produce`. Raises NotCompiled.

    `valued`: the speculation's guards with the values of ints and bools as well. They are the version's when there is no code without: a
    size or a branch may hang on an int. Where what is assumed of ints has no code, there may be some with these left open.
    """
    *others, last = _guards(speculation, valued, opens=True)
    for specs in others:
        try:
            return _version(program, speculation, specs, _compiled(program, speculation, specs, options, produce), call)
        except NotCompiled as e:
            if e.reason is Reason.NO_RESOURCES:
                raise
    return _version(program, speculation, last, _compiled(program, speculation, last, options, produce), call)


def _guards(speculation: Speculation, valued: tuple[ArgumentSpec, ...], *, opens: bool) -> tuple[tuple[ArgumentSpec, ...], ...]:
    """The guards that a version may have, the best first. `opens`: also those that leave ints open where the speculation assumes some."""
    specs = speculation.specs
    assumes = speculation.assumes_ints and not speculation.for_values
    if not opens:  # what is on disk for these values may be of a process that assumed them
        return (specs,) if assumes else tuple(dict.fromkeys((specs, valued)))
    return tuple(dict.fromkeys((specs, *((without_ints(specs),) if assumes else ()), valued)))


def _compiled(
    program: Program, speculation: Speculation, specs: tuple[ArgumentSpec, ...], options: Options, produce: Produce
) -> LoadedCode:
    with _dump(program, speculation, specs, options), plans.failures_are_refusals("the compiler"):
        produced = produce(program.graph, program.entry, specs, options)
        start = time.perf_counter()
        try:
            with During(LOADING):
                code = plans.loaded(produced.artifact, cache.kernel_name(program.entry, specs), options)
        except Exception as e:
            request = json.dumps(request_json.to_dict(produced.request))
            dump.stage("reproducer", str(Reproducer(produced.request.ir, request=request, error=f"loading: {type(e).__name__}: {e}")))
            raise
        took = produced.milliseconds + (time.perf_counter() - start) * 1e3
        return LoadedCode(code, produced.request, took, from_disk=not produced.was_made)


@contextmanager
def _dump(program: Program, speculation: Speculation, specs: tuple[ArgumentSpec, ...], options: Options) -> Iterator[dump.Dump | None]:
    """Around a compile, for those who keep what it does."""
    with dump.compiling(program.name, describe_specs(specs, program.names)) as kept:
        if kept is not None:
            kept.note(place=program.place, speculation=speculation.kind, options=asdict(options))
            kept.stage("pristine", program.graph)
        yield kept


def _version(program: Program, speculation: Speculation, specs: tuple[ArgumentSpec, ...], compiled: LoadedCode, call: int) -> Version:
    artifact = compiled.artifact
    if speculation.kind == "dynamic" and not any(spec.symbols for spec in specs):  # there was code for values alone
        speculation = replace(speculation, kind="static")
    record = VersionRecord(
        specs, artifact.results, 0, keepalive=compiled.code, form=Form.TUPLE, scalars=False, exits=artifact.exits, on_device=True
    )
    if isinstance(artifact, Artifact):
        polls, allocates = polling.POLL in artifact.externals, allocating.may_fail(artifact.externals)
        address = compiled.code.address
        record = replace(record, address=address, work=artifact.work, polls=polls, allocates=allocates, on_device=False)
    return Version(speculation, record, compiled, call, describe_specs(specs, program.names), program.name)
