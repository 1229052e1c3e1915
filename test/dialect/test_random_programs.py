"""Every pass and every pipeline of the dialect keeps what random programs do, and the contract of the stage that it leaves.

Passes come from the registry: a new one is tried on the pristine graph and on its values from the day it lands, and must keep results to
the bit, exceptions, writes to arguments, what shares memory, and the contract, and change nothing when run twice. The tables below say
which passes want another stage, refuse programs, or promise less; a row there is part of the pass.
"""

from __future__ import annotations

import importlib
import itertools
import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pytest
from graph_oracle import Runner, difference, lost_assumption
from graph_stages import STAGES, Refused, Stage, build, calls
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_graph_strategy import Program, programs

from tierup.dialect import transforms
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes.pipelines.named import PIPELINE_MODULES
from tierup.dialect.passes.registry import PassFailure, find, named_pipelines, parse
from tierup.dialect.torchscript import transforms as of_torchscript


@dataclass(frozen=True)
class Promise:
    """What a pass is tried on and what it promises. `leaves`: the contract after it, where that is another one than before; ""
    for none. `refuses`: may fail with a message. `narrows`: holds for recorded calls only, afterwards. `assumptions`: may leave other calls by a
    guard. `rounds`: floats may differ as by another order of sums. `again`: a second run may change the program once more. `alike`: which
    results share memory may change. `flattens`: elements of tuples become results. `resumes`: whichever assumption is lost, the program goes on to the same end."""

    stages: tuple[str, ...] = ("graph", "values", "guarded")
    leaves: str | None = None
    refuses: bool = False
    narrows: bool = False
    assumptions: bool = False
    rounds: bool = False
    again: bool = False
    alike: bool = True
    flattens: bool = False
    resumes: bool = False


PROMISES: dict[str, Promise] = {
    "tierup-stack-lists": Promise(("graph", "values")),
    "tierup-add-gradients": Promise(("values",), refuses=True),  # the function that it differentiates is @main, which these have not
    "tierup-split-gradient": Promise(("values",), refuses=True),  # nor have they here
    "tierup-unpack-list-arguments": Promise(("values",), refuses=True),  # nor here
    "tierup-functionalize": Promise(("graph",), refuses=True, alike=False),
    "tierup-insert-profiling": Promise(("graph", "values"), leaves="profiled"),
    "tierup-clear-profiling": Promise(("graph", "values", "profiled", "uses")),
    "tierup-clear-undefinedness": Promise(("values", "profiled", "uses")),
    "tierup-remove-profiling": Promise(("profiled", "uses", "graph"), leaves="graph"),
    "tierup-remove-counter": Promise(("profiled", "uses", "graph"), leaves=""),
    "tierup-remove-redundant-profiles": Promise(("profiled", "uses")),
    "tierup-insert-guards": Promise(("uses", "profiled"), leaves="guarded", assumptions=True),
    "tierup-eliminate-guards": Promise(("guarded",)),
    "tierup-insert-bailouts": Promise(("guarded",)),
    "tierup-build-bailout-continuations": Promise(("bailouts",), resumes=True),
    "tierup-specialize-types": Promise(("profiled",), leaves="guarded", narrows=True),
    "tierup-infer-types": Promise(("values", "typed")),
    "tierup-fuse-groups": Promise(("typed",)),
    "tierup-insert-checks": Promise(("grouped",)),
    "tierup-clear-specializations": Promise(("checked", "values")),
    "tierup-outline-fallbacks": Promise(("cleared",)),
    "tierup-check-strict-fusion": Promise(("grouped", "outlined"), refuses=True),
    "tierup-dispatch-regions": Promise(("outlined",)),
    "tierup-explicit-promotion": Promise(("typed", "outlined"), rounds=True),
    "tierup-decompose-ops": Promise(("values", "typed"), rounds=True),
    "tierup-create-differentiable-subgraphs": Promise(("gradients",)),
    "tierup-differentiate": Promise(("differentiable",), refuses=True),  # ops without a rule
    "tierup-decide-gradient": Promise(("gradients", "uses", "guarded")),
    "tierup-pack-gradient": Promise(("differentiated",)),
    "tierup-guard-differentiable": Promise(("differentiable",), leaves="guarded"),
    "tierup-lower-all-tuples": Promise(("graph",), flattens=True),
    "tierup-inline-differentiable": Promise(("differentiable",)),
    "tierup-update-requires-grad": Promise(("gradients", "differentiable", "profiled")),
    "tierup-verify-graph": Promise(("graph", "values")),
    "tierup-verify-profiled": Promise(("profiled", "uses")),
    "tierup-verify-guarded": Promise(("guarded", "bailouts", "outlined"), refuses=True),
    "tierup-verify-specialized": Promise(("typed",), refuses=True),
}  # fmt: skip

# What each pipeline starts from, and what it leaves. Those of the ancestors are composed as they were, so that a second run may find more.
PIPELINES: dict[str, Promise] = {
    "to-values": Promise(("graph",), refuses=True, alike=False),
    "profile": Promise(("graph",), leaves="profiled", refuses=True, alike=False),
    "versioned": Promise(("profiled",), leaves="guarded", rounds=True, again=True),
    "profile-assumptions": Promise(("graph",), leaves="profiled", refuses=True, alike=False),
    "bailouts": Promise(("profiled",), leaves="guarded", assumptions=True),
    "cut-bailouts": Promise(("bailouts",), leaves="", again=True),  # a second run types what the first cleared
    "final": Promise(),
    "final-strict": Promise(("grouped", "outlined"), refuses=True),
    "profiling-insensitive": Promise(rounds=True, again=True),
    "instrument": Promise(("values",), leaves="profiled"),
    "pre-autodiff-1.7": Promise(("uses",), leaves="guarded", again=True, resumes=True),
    "pre-autodiff-2.x": Promise(("uses",), leaves="", again=True),
    "autodiff-1.7": Promise(("gradients",), leaves="", again=True),
    "autodiff-2.x": Promise(("gradients",), leaves="", again=True),
    "1.7-without-te": Promise(("uses",), leaves="guarded", again=True, resumes=True),
    "1.7-without-te-gradients": Promise(("uses",), leaves="", again=True, resumes=True),
    "diff-graph-bailouts": Promise(("bailouts",), leaves="guarded", again=True),
    "diff-graph": Promise(("uses",), leaves="guarded", again=True),
    "no-grad": Promise(("uses",), leaves="guarded", again=True),
    "no-grad-1.7": Promise(("uses",), leaves="guarded", again=True),
    "no-grad-1.7-bailouts": Promise(("bailouts",), leaves="guarded", again=True),
    "no-grad-dynamic": Promise(("uses",), leaves="guarded", again=True),
    "legacy-specialize": Promise(("profiled",), leaves="", narrows=True, again=True),
    "legacy-nondiff": Promise(("typed",), leaves="", rounds=True, again=True),
    **dict.fromkeys(("unoptimized", "noopt", "noopt-1.7", "legacy-required", "legacy-optimize"), Promise(again=True)),
}


def sample(share: int) -> settings:
    """One in `share` of the profile's examples: each is two programs built, verified, translated and called. `make exhaustive` has many."""
    return settings(max_examples=max(4, settings().max_examples // share), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def names() -> list[str]:
    """The passes whose files stand in dialect/transforms and dialect/torchscript/transforms."""
    files = [info.name for package in (transforms, of_torchscript) for info in pkgutil.iter_modules(package.__path__, package.__name__ + ".")]
    for file in files:
        importlib.import_module(file)
    found = [f"tierup-{file.rpartition('.')[2].replace('_', '-')}" for file in files]
    missing = [name for name in found if find(name) is None]
    assert not missing, f"no pass is named after its file: {missing}"
    return found


RAISES = "cannot run on operands of these types"  # a program that raises for all arguments of its types is refused by who types it


def run(passes: str, module: ir.Module, *, refuses: bool) -> None:
    """Run passes. Raises Refused where they may refuse the program."""
    try:
        parse(passes).run(module)
    except PassFailure as e:
        if refuses or RAISES in str(e):
            raise Refused(str(e)) from e
        raise


def resumed(program: Program, module: ir.Module, stage: Stage) -> None:
    """Lose assumptions, the first, the last and one between: what comes out is what the values' graph gives."""
    plain, made = Runner(parse_module(build(program, "values"))), Runner(module, fail=True)
    for arguments in calls(program, stage):
        want, seen = plain.call(arguments), 0

        def passed(site: str, evaluation: int) -> bool:
            nonlocal seen
            seen += 1
            return False

        found = difference(made.call(arguments, fail=passed), want)
        assert not found, f"called with {arguments}: {found}\n{module}"
        for lost in {0, program.seed % max(seen, 1), seen - 1} if seen else ():
            asked = itertools.count()
            found = difference(made.call(arguments, fail=lambda site, evaluation, at=asked, lost=lost: next(at) == lost), want)  # type: ignore[misc]
            assert not found, f"called with {arguments}, assumption {lost} lost: {found}\n{module}"


def verify(contract: str, module: ir.Module) -> bool:
    """Check a contract. Whether all that breaks it are sizes that no guard holds equal: those of ranks that the user states and of sizes that
    only a run finds, which no record has seen; then the op that needs them equal may raise. Sizes that are computed alike twice are equal, as
    they are seen to be once they are computed once; a pass that tells more of types may be the first to ask."""
    if not contract:
        return False
    for passes in (f"tierup-verify-{contract}", f"tierup-cse,tierup-verify-{contract}"):
        try:
            run(passes, module if passes.startswith("tierup-verify") else parse_module(str(module)), refuses=False)
            return False
        except PassFailure as e:
            if not all("no guard ensures it" in d.message for d in e.diagnostics):
                raise
    return True


def holds(contract: str, module: ir.Module) -> bool:
    try:
        verify(contract, module)
    except PassFailure:
        return False
    return True


@lru_cache(maxsize=200)
def proven(values: str) -> bool:
    """Whether the types that a program is drawn with follow, by its graph of values. A rule asked of exact sizes may find more than follows
    from ranks."""
    return holds("guarded", parse_module(values))


def check(program: Program, passes: str, stage: Stage, promise: Promise) -> None:
    """Run `passes` on the program at a stage; compare tier 0 of both, and run them again. Raises Refused."""
    before = build(program, stage.name)
    module = parse_module(before)
    promised = stage.contract if promise.leaves is None else promise.leaves
    wanted = [c if c != "guarded" or proven(build(program, "values")) else "" for c in (stage.contract, promised)]
    loose = verify(wanted[0], module)
    plain = Runner(parse_module(before))
    run(passes, module, refuses=promise.refuses)
    loose |= promise.resumes or stage.contract != promised  # a continuation takes any values
    assert not verify(wanted[1], module) or loose, f"{passes} dropped what held sizes equal\n{before}\n{module}"
    after = str(module)
    if promise.resumes:
        resumed(program, module, stage)
    made = Runner(module)
    recorded = program.calls()
    for i, arguments in enumerate(calls(program, stage if promise.alike else replace(stage, memory=False))):
        if promise.narrows and i >= len(recorded):
            continue
        want, got = plain.call(arguments), made.call(arguments)
        if promise.flattens:
            want.results = list(flattened(want.results))
        if lost_assumption(want) or (lost_assumption(got) and (want.error is not None or (promise.assumptions and i >= len(recorded)))):
            continue  # who loses an assumption where the program raises comes to raise on the slower way
        unread = getattr(program, "unread", lambda results: ())(want.results) if want.error is None and not promise.flattens else ()
        found = difference(got, want, rounding=promise.rounds, sharing=promise.alike, unread=unread)
        assert not found, f"called with {arguments}: {found}\nbefore:\n{before}\nafter {passes}:\n{after}"
    if not promise.again:
        parse(passes).run(module)
        assert str(module) == after, f"{passes} run twice\nonce:\n{after}\ntwice:\n{module}"


def flattened(results: Iterable[Any]) -> Iterator[Any]:
    for value in results:
        yield from flattened(value) if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("name", names())
def test_a_pass_keeps_what_programs_do(name: str) -> None:
    keeps(name, PROMISES.get(name, Promise()), 20)


def test_every_pipeline_of_the_dialect_is_tried() -> None:
    modules = [importlib.import_module(name) for name in PIPELINE_MODULES if name.startswith("tierup.dialect.")]
    assert {named.name for module in modules for named in module.PIPELINES} == set(PIPELINES)


@pytest.mark.parametrize("name", PIPELINES)
def test_a_pipeline_keeps_what_programs_do(name: str) -> None:
    keeps(named_pipelines()[name].text, PIPELINES[name], 20)


def keeps(passes: str, promise: Promise, share: int) -> None:
    ran = 0

    @sample(share)
    @given(program=programs(), stage=st.sampled_from(promise.stages))
    def on_programs(program: Program, stage: str) -> None:
        nonlocal ran
        try:
            check(program, passes, STAGES[stage], promise)
        except Refused:
            return
        ran += 1

    on_programs()
    assert ran or promise.refuses, f"{passes} refused every program"
