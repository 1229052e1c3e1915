"""The pipelines of the ancestors: composed as theirs were, idempotent, and the table of what became of their passes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest
from sampling import drawn

import tierup
from tierup.dialect.ir.walking import walk
from tierup.dialect.language.text import parse_module
from tierup.dialect.mlir import ir
from tierup.dialect.passes import registry
from tierup.dialect.torchscript import ancestors

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT / "test" / "dialect" / "traces"

CLEAN_UP = """
    specializeAutogradZero RemoveExpands CanonicalizeOps EliminateDeadCode PeepholeOptimize ConstantPropagation EliminateDeadCode
    EliminateCommonSubexpression PeepholeOptimize ConstantPropagation ConstantPooling UnrollLoops RemoveListMutation PeepholeOptimize
    ConstantPropagation EliminateCommonSubexpression CheckInplace
"""
DIFF_CLEAN_UP = """
    EliminateDeadCode EliminateCommonSubexpression PeepholeOptimize ConstantPropagation ConstantPooling UnrollLoops RemoveListMutation
    PeepholeOptimize ConstantPropagation EliminateCommonSubexpression CheckInplace
"""
FUSE = "LowerSimpleTuples RemoveProfileNodesAndSpecializeTypes BatchMM FuseTensorExprs insertTypeGuard"
# The ancestors' own lists, by their names: PyTorch's runtime/profiling_graph_executor_impl.cpp and runtime/graph_executor.cpp.
COMPOSED = {
    "unoptimized": "LowerGradOf RemoveExpands",
    "noopt": "Inline LowerGradOf RemoveExpands CanonicalizeOps EliminateDeadCode",
    "noopt-1.7": "LowerGradOf RemoveExpands CanonicalizeOps EliminateDeadCode",
    "profiling-insensitive": """
        Inline ClearProfilingInformation LowerGradOf ClearUndefinedness RemoveExpands CanonicalizeOps EliminateDeadCode DecomposeOps
        ConstantPropagation EliminateDeadCode EliminateCommonSubexpression ConstantPooling PeepholeOptimize EliminateDeadCode
        LowerSimpleTuples CheckInplace
    """,
    "instrument": "ClearProfilingInformation ProfilingRecord::instrumentGraph InsertProfileNodesForSpecializeAutogradZero",
    "pre-autodiff-1.7": "InsertGuards LowerGradOf EliminateRedundantGuards InsertBailOuts BuildBailOutGraphFrom" + CLEAN_UP,
    "pre-autodiff-2.x": "RemoveProfileCounter LowerGradOf" + CLEAN_UP,
    "autodiff-1.7": """
        needsGradientInProfilingMode CreateAutodiffSubgraphs differentiate InlineAutodiffSubgraphs EliminateDeadCode
        replaceFallbackGraphWithFallbackFunction RemoveProfilingNodes packGradient
    """,
    "autodiff-2.x": """
        needsGradientInProfilingMode CreateAutodiffSubgraphs guardDifferentiableGraph differentiate RemoveTensorTypeSpecializations
        UpdateDifferentiableGraphRequiresGrad InlineAutodiffSubgraphs EliminateDeadCode replaceFallbackGraphWithFallbackFunction
        RemoveProfilingNodes packGradient
    """,
    "diff-graph-bailouts": DIFF_CLEAN_UP + "RegisterPrePass LowerSimpleTuples BatchMM FuseGraph RegisterPostPass",
    "diff-graph": DIFF_CLEAN_UP + f"RegisterPrePass {FUSE} RemoveTensorTypeSpecializations RegisterPostPass",
    "no-grad-1.7": f"RegisterPrePass {FUSE} RemoveTensorTypeSpecializations RegisterPostPass",
    "no-grad-1.7-bailouts": "RegisterPrePass LowerSimpleTuples BatchMM FuseGraph RegisterPostPass",
    "no-grad": f"RegisterPrePass {FUSE} RegisterPostPass RemoveTensorTypeSpecializations",
    "no-grad-dynamic": f"RegisterPrePass {FUSE.replace('insertTypeGuard', 'GenerateGuard insertTypeGuard')} "
    "RegisterPostPass RemoveTensorTypeSpecializations",
    "final": "EliminateDeadCode AddIfThenElse",
    "final-strict": "EliminateDeadCode AddIfThenElse CheckStrictFusion",
    "legacy-required": "specializeAutogradZero LowerGradOf RemoveExpands CanonicalizeOps EliminateDeadCode",
    "legacy-optimize": """
        EliminateDeadCode EliminateCommonSubexpression ConstantPooling PeepholeOptimize ConstantPropagation UnrollLoops
        EliminateCommonSubexpression CheckInplace
    """,
    "legacy-nondiff": "RegisterPrePass DecomposeOps BatchMM FuseGraph RegisterPostPass",
}
COMPOSED["1.7-without-te"] = " ".join(COMPOSED[name] for name in ("pre-autodiff-1.7", "no-grad-1.7-bailouts", "final"))
COMPOSED["1.7-without-te-gradients"] = " ".join(COMPOSED[n] for n in ("pre-autodiff-1.7", "autodiff-1.7", "diff-graph-bailouts", "final"))

# The default compile, which a recorded program goes through once: what it decides is not decided again
COMPILE = {"specialise", "prepare-kernel", "prepare-gpu-kernel", "compile-cpu"}

RECORDED = """
func.func @f(%x: !torch.vtensor) -> !torch.vtensor {
  %0 = "tierup.profile"(%x) {slot = 0 : i64, profiled = #tierup.profiled<f32[4] defined>} : (!torch.vtensor) -> !torch.vtensor
  %1 = torch.aten.tanh %0 : !torch.vtensor -> !torch.vtensor
  %2 = torch.aten.exp %1 : !torch.vtensor -> !torch.vtensor
  return %2 : !torch.vtensor
}
"""


def composed(names: str) -> list[str]:
    known = {part: row for name, row in ancestors.rows().items() for part in name.split(", ")}
    return [name for ancestor in names.split() for name in known[ancestor].passes]


@pytest.mark.parametrize("name", COMPOSED)
def test_an_ancestors_pipeline_is_its_passes_in_its_order(name: str) -> None:
    steps = registry.named_pipelines()[name].steps
    assert [step.partition("{")[0] for step in steps] == composed(COMPOSED[name])


def test_every_ancestors_pipeline_of_ours_is_compared() -> None:
    ours = {"profile", "versioned", "profile-assumptions", "bailouts", "cut-bailouts", "legacy-specialize", "to-values", "refine"}  # legacy-specialize is the phases of a compile, of which legacy-required is one
    assert {name for name in registry.named_pipelines() if not name.startswith("lower-")} - COMPILE == set(COMPOSED) | ours


# docs/pipelines.md says why: what unrolling copies is cleaned up by the next run alone.
SETTLED_BY_TWO = {
    "pre-autodiff-1.7", "pre-autodiff-2.x", "diff-graph", "diff-graph-bailouts", "legacy-optimize", "1.7-without-te", "1.7-without-te-gradients",
}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "program"),
    drawn("a further run", list(product(
        [n for n in registry.named_pipelines() if not n.startswith("lower-") and n not in COMPILE],
        sorted(path.stem for path in TRACES.glob("*.mlir")),
    )), 3, lambda row: row[0]),
)  # fmt: skip
def test_a_further_run_of_a_pipeline_changes_nothing(program: str, name: str) -> None:
    module = parse_module((TRACES / f"{program}.mlir").read_text())
    steps = registry.pipeline(name)
    try:
        for _ in range(2 if name in SETTLED_BY_TWO else 1):
            steps.run(module)
    except registry.PassFailure:  # what nothing fused, and what has a body that is no value
        assert name == "final-strict" or (program == "grad_backward" and name.startswith(("profile", "to-values")))
        return
    settled = str(module)
    steps.run(module)
    assert str(module) == settled


@pytest.mark.parametrize("row", [row for _, group in ancestors.groups() for row in group], ids=lambda row: row.name)
def test_what_the_table_names_exists(row: ancestors.Ancestor) -> None:
    assert row.ours or row.instead
    for step in row.ours:
        registry.parse(step)
    assert [t for t in row.tests if not (ROOT / t).exists()] == []


def test_every_pass_on_programs_has_an_ancestor_or_is_known_to_have_none() -> None:
    expansions = {"tierup-expand-formulas", "tierup-expand-sum-to-size", "tierup-expand-to-torch", "tierup-expose-statistics"}
    spine = {"tierup-dispatch-regions", "tierup-explicit-promotion", "tierup-functionalize", "tierup-infer-types", "tierup-lower-bailouts",
             "tierup-add-gradients", "tierup-split-gradient", "tierup-stack-lists", "tierup-unpack-list-arguments",
             "tierup-unroll-exchanges"}  # fmt: skip
    new = spine | expansions
    named = {name for row in ancestors.rows().values() for name in row.passes}
    there = {n for n, cls in registry.passes().items() if cls.__module__.startswith("tierup.dialect.") and "-verify-" not in n}
    assert there - named == new


def run_with_hooks(name: str) -> list[str]:
    """A pipeline on a recorded program, with a user's pass at each hook, two before fusion; what they saw, in order."""
    saw: list[str] = []

    def hook(flag: str, when: str) -> type[registry.Pass]:
        @dataclass(frozen=True)
        class Hook(registry.Pass):
            """Say what stands there."""

            name = flag

            def run(self, module: ir.Module) -> None:
                func = module.body.operations[0].operation
                inside = {op.name for op in walk(func)}
                typed = any("vtensor<[4]" in str(a.type) for a in func.regions[0].blocks[0].arguments)
                saw.append(f"{flag}{' group' * ('tierup.fusion_group' in inside)}{' typed' * typed}")

        return tierup.register_pass(when)(Hook)

    module = parse_module(RECORDED)
    hooks = [hook("hook-b", "pre-fusion"), hook("hook-a", "pre-fusion"), hook("hook-c", "post-fusion")]
    try:
        registry.pipeline(name).run(module)
    finally:
        for cls in hooks:
            tierup.unregister_pass(cls)
    return saw


def test_users_passes_run_in_the_order_of_registration_where_their_generation_ran_them() -> None:
    # 1.7 forgets types before the passes after fusion, 2.x behind them; the older executor's types are what callers ensure, and stay
    assert run_with_hooks("no-grad") == ["hook-b", "hook-a", "hook-c group typed"]
    assert run_with_hooks("no-grad-1.7") == ["hook-b", "hook-a", "hook-c group"]
    assert run_with_hooks("diff-graph") == ["hook-b", "hook-a", "hook-c group"]
    assert run_with_hooks("legacy-specialize") == []
    assert run_with_hooks("final") == []
