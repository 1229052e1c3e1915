"""A function as a plan: its graphs, what tier 0 runs of them, and its versions' code, in a bundle of the kind `cpu` (docs/bundles.md).

A plan is the function as it is now. What a graph relies on outside of it, and that is part of the graph, is looked at here for the last
time; what a call's arguments decide is looked at in each call, as ever. What is not part of a graph has no place in a plan.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Protocol

from tierup import __version__
from tierup.dialect import optable
from tierup.lowering.artifacts import bundle, encoding
from tierup.lowering.base.abi import Artifact
from tierup.lowering.entry import jit as entry
from tierup.lowering.entry.probe import unavailable
from tierup.lowering.externals import blas
from tierup.lowering.objects import processors
from tierup.runtime.arguments.hidden import Access
from tierup.runtime.base.options import Options
from tierup.runtime.code import plans
from tierup.runtime.code.plans import NotCompiled
from tierup.runtime.compiling.processes import in_process
from tierup.runtime.functions.portable.plain import KIND, NotDescribed, PlanWriter
from tierup.runtime.programs.given import GivenVersion

if TYPE_CHECKING:
    from os import PathLike

    from tierup.runtime.arguments.fitted import Fitted
    from tierup.runtime.arguments.hidden import Constant
    from tierup.runtime.arguments.trees import CallShape
    from tierup.runtime.dispatching.version import Version
    from tierup.runtime.functions.graphs.variant import Variant
    from tierup.runtime.programs.program import Program


class Saved(Protocol):
    """What is asked of a function here."""

    __name__: str
    fitted: Fitted | None

    @property
    def options(self) -> Options:
        """Those in force now."""

    @property
    def options_to_save(self) -> dict[str, Any]:
        """Those of them that are not as by default."""

    @property
    def shapes(self) -> list[tuple[CallShape, Variant]]:
        """Its graphs, and the structure of the calls of each."""

    @property
    def signature_now(self) -> inspect.Signature:
        """Its parameters, with the defaults of now."""

    @property
    def takes_whole_lists(self) -> bool:
        """Whether lists of numbers are arrays, where there is a graph for them."""

    @property
    def answered_elsewhere(self) -> list[str]:
        """What Python answers of its calls, or of parts of them, in words."""

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until what calls have asked to be compiled is compiled."""


class _Refusal(Exception):
    """Why a graph cannot be saved, and what to do."""


def save(
    function: Saved, path: str | PathLike[str], key: bytes | None, level: str, made: Mapping[Program, Sequence[GivenVersion]] | None = None
) -> None:
    """See `Function.save`. `made`: by their programs, the versions that the file is to have, where it is not to have the function's."""
    function.wait()
    target = processors.target_of(level) if level else ""
    try:
        saved, versions = _saved(function, target, made)
    except _Refusal as e:
        where = next((f" (at {v.built.program.place})" for _, v in function.shapes if v.built.program.place), "")
        raise ValueError(f"{function.__name__}{where} cannot be saved: {e}") from None
    features = sorted({name for version in versions for name in processors.features_of(version.request.target)})
    parts: list[bytes] = []
    described = {
        "kind": KIND,
        "made_by": f"tierup {__version__}",
        "tierup": __version__,
        "abi": entry.called_by(),
        "processor": processors.X86_64,
        "target": level or "the CPU that it was made on",
        "features": features,
        "libraries": ["scipy_openblas32"] if any(map(_multiplies, versions)) else [],
        "entry": encoding.described(None if unavailable() else (entry.made_for(), entry.object_image()), parts),
        "functions": encoding.described((saved,), parts),
    }
    bundle.write(path, described, parts, key)


def _multiplies(version: GivenVersion) -> bool:
    """Whether it calls BLAS or LAPACK."""
    return any(name.startswith(blas.PREFIX) for name in version.artifact.externals)


def _saved(
    function: Saved, target: str, made: Mapping[Program, Sequence[GivenVersion]] | None
) -> tuple[tuple[Any, ...], list[GivenVersion]]:
    """A function as plain data, and its versions. Raises _Refusal."""
    options, writer = function.options, PlanWriter()
    for name, value in (("executor", "profiling"), ("speculate", "versioned"), ("backend", "cpu")):
        if getattr(options, name) != value:
            raise _Refusal(f"its versions are made under {name}={getattr(options, name)!r}; make it with {name}={value!r}")
    if function.answered_elsewhere:
        raise _Refusal("parts of it stay Python: " + _briefly(function.answered_elsewhere))
    graphs, versions = [], list[GivenVersion]()
    for shape, variant in function.shapes:
        if not all(_holds(constant) for constant in variant.built.constants):
            continue  # a graph for what globals were before
        there = _versions(variant, options) if made is None else made.get(variant.built.program, ())
        found = [_for(target, version, options) for version in there]
        graphs.append(_graph(writer, shape, variant, found))
        versions += found
    if not versions:
        raise _Refusal("it has no version now; call it some times, or warm it with a profile, and see explain()")
    parameters = [(p.name, int(p.kind), p.default is not p.empty, _default(writer, p)) for p in function.signature_now.parameters.values()]
    most = max(map(len, (found for *_, found in graphs)))
    changed = function.options_to_save | ({"max_versions": most} if most > options.max_versions else {})
    about = function.__name__, tuple(parameters), writer.plain(function.fitted), changed, function.takes_whole_lists
    return (*about, tuple(graphs)), versions


def _holds(constant: Constant) -> bool:
    """Whether a constant that no argument decides is what it was. Raises _Refusal for one that is asked of an argument and of what is
    outside."""
    if isinstance(constant.value, Access) and (constant.access.function is None) is not (constant.value.function is None):
        raise _Refusal(f"it asks whether `{constant.access}` is `{constant.value}`, one of which is outside of it; pass both as arguments")
    return constant.access.function is None or constant.holds({})


def _default(writer: PlanWriter, parameter: inspect.Parameter) -> Any:
    try:
        return None if parameter.default is parameter.empty else writer.plain(parameter.default)
    except NotDescribed as e:
        raise _Refusal(f"the default of its parameter {parameter.name} is {e}; give it a number, an array or None") from None


def _versions(variant: Variant, options: Options) -> list[GivenVersion]:
    """Those that a plan can have. Raises _Refusal where the program is native in part."""
    executor = variant.executor
    found = [_given(version) for version in executor.versions_under(options) if not version.speculation.for_values]
    if not found and (executor.splits or executor.refusals):
        ops = "; ".join(f"{detail}" + (f" (at {line})" if line else "") for _, detail, line in executor.refusals)
        raise _Refusal(f"it is not native as a whole: {ops}; leave that to the caller, or write it otherwise")
    stats = executor.stats()
    if stats.hits and stats.raised == stats.hits:
        said = "; ".join(f"{what} (at {line or op})" for (op, line), (_, _, what) in executor.history.failed_checks.items())
        raise _Refusal(f"each call that native code took raised, or was left to Python: {said}; save it when calls get results")
    return found


def _given(version: Version) -> GivenVersion:
    artifact = version.compiled.artifact
    assert isinstance(artifact, Artifact)  # the options say so
    return GivenVersion(version.speculation, version.record.arguments, version.compiled.request, replace(artifact, stages={}))


def _for(target: str, version: GivenVersion, options: Options) -> GivenVersion:
    """A version, compiled again where it is for another CPU, or uses what nothing is known of. Raises _Refusal."""
    request, artifact = version.request, version.artifact
    now = request.target
    if not now:
        from tierup.lowering.base.llvm import host  # here: a plan that is saved as it is needs no LLVM

        now = host()
    request = replace(request, target=target or processors.portable(now))
    if request.target != now:
        try:
            with plans.failures_are_refusals("the compiler"):
                made = in_process.run(*_COMPILER, (request,), {"cached": plans.uses_disk(options)}, limit=options.compile_limit)
        except NotCompiled as e:
            raise _Refusal(f"it cannot be compiled for {request.target.split(':')[1]}: {e.detail}") from e
        artifact = made[0]
    return replace(version, request=request, artifact=artifact)


_MOST_REASONS = 3
_COMPILER = ("tierup.lowering.artifacts.cache", "obtain")  # by name: where nothing is compiled again it is not imported


def _briefly(reasons: Sequence[str]) -> str:
    """The first of them; explain() has all."""
    pythons = [reason for reason in reasons if reason.startswith("Python")] or list(reasons)
    rest = f", and {len(pythons) - _MOST_REASONS} more, which explain() lists" if len(pythons) > _MOST_REASONS else ""
    return "; ".join(pythons[:_MOST_REASONS]) + rest


def _graph(writer: PlanWriter, shape: CallShape, variant: Variant, versions: Sequence[GivenVersion]) -> tuple[Any, ...]:
    """Raises _Refusal."""
    built, program = variant.built, variant.built.program
    for hidden in built.hidden:
        what = "an array" if hidden.leaf.kind == "array" else "a number that changes"
        raise _Refusal(f"it reads {what} from outside, `{hidden.access}`; pass it as an argument")
    try:
        if optable.has_foreign(program.graph):
            raise _Refusal("it has ops that PyTorch computes")
        constants = [constant for constant in built.constants if constant.access.function is None]
        plain = writer.plain((shape, tuple(constants), program.tier0, built.output, built.written_out))
        about = program.name, program.entry, program.names, program.place, program.graph, program.made
    except NotDescribed as e:
        said = f"it takes, gives or holds {e}, which only its program knows; use arrays, numbers, tuples, lists and dicts"
        raise _Refusal(said) from None
    except NotCompiled as e:  # it was released
        raise _Refusal(e.detail) from None
    return about, plain, tuple(_packed(version) for version in versions)


def _packed(version: GivenVersion) -> tuple[Any, ...]:
    of, request = version.speculation, version.request
    return (of.kind, of.specs, of.generalised), version.specs, tuple(getattr(request, f.name) for f in fields(request)), version.artifact
