"""What became of each pass of TorchScript's executors: the table in docs/passes.md.

Names are PyTorch's own (torch/csrc/jit/passes and runtime). Where one of its passes does what several of ours do, or ours is no pass,
the row says so.
"""

from __future__ import annotations

from dataclasses import dataclass

TRANSFORMS = "test/dialect/transforms"


@dataclass(frozen=True)
class Ancestor:
    """A row. `ours`: passes of ours, with options where they matter. `instead`: why there is no pass, or what is different.

    `tests`: files beside `TRANSFORMS/<stem>.mlir`, which every pass has.
    """

    name: str
    ours: tuple[str, ...]
    instead: str = ""
    tests: tuple[str, ...] = ()

    @property
    def passes(self) -> tuple[str, ...]:
        """The names of our passes, without options."""
        return tuple(step.partition("{")[0] for step in self.ours)


def _row(name: str, *ours: str, instead: str = "", tests: tuple[str, ...] = ()) -> Ancestor:
    return Ancestor(name, ours, instead, tuple(f"{TRANSFORMS}/{t}" if "/" not in t else t for t in tests))


_PREPARATION = ("test_preparation.py",)
_CLEAN_UP = ("test_clean_up.py",)
_PEEPHOLE = ("test_peephole.py",)
_LOOPS = ("test_loop_passes.py",)
_SPINE = ("test_spine.py",)
_BAILOUTS = ("test_bailouts.py",)
_GRADIENTS = ("test_differentiable.py",)
_FIRST = "test/dialect/traces/test_first_generation_torch.py"
_ZERO = ("test_autograd_zero.py",)

GROUPS: tuple[tuple[str, tuple[Ancestor, ...]], ...] = (
    (
        "Preparation",
        (
            _row("Inline", "tierup-inline", instead="MLIR's `inline` does the work", tests=_PREPARATION),
            _row("ClearProfilingInformation", "tierup-clear-profiling", tests=_PREPARATION),
            _row("LowerGradOf", "tierup-lower-grad-of", tests=_PREPARATION),
            _row("ClearUndefinedness", "tierup-clear-undefinedness", tests=_PREPARATION),
            _row("RemoveExpands", "tierup-remove-expands", tests=_PREPARATION),
            _row("CanonicalizeOps", "tierup-canonicalize-ops", tests=_PREPARATION),
            _row("DecomposeOps", "tierup-decompose-ops", tests=_PREPARATION),
            _row("LowerSimpleTuples", "tierup-lower-simple-tuples", tests=_PREPARATION),
            _row("LowerAllTuples", "tierup-lower-all-tuples", tests=_PREPARATION),
            _row("CheckInplace", "tierup-check-inplace", tests=_PREPARATION),
        ),
    ),
    (
        "Clean-up",
        (
            _row("EliminateDeadCode", "tierup-dce", tests=_CLEAN_UP),
            _row("EliminateCommonSubexpression", "tierup-cse", tests=_CLEAN_UP),
            _row("ConstantPropagation", "tierup-constant-propagation", tests=_CLEAN_UP),
            _row("ConstantPooling", "tierup-constant-pooling", tests=_CLEAN_UP),
            _row("PeepholeOptimize", "tierup-peephole", tests=_PEEPHOLE),
            _row("PeepholeOptimizeImpl (core)", "tierup-peephole-core", tests=_PEEPHOLE),
            _row("PeepholeOptimizeListIdioms", "tierup-peephole-list-idioms", tests=_PEEPHOLE),
            _row("PeepholeOptimizeDictIdioms", "tierup-peephole-dict-idioms", tests=_PEEPHOLE),
            _row("PeepholeOptimizeAliasSensitive", "tierup-peephole-alias-sensitive", tests=_PEEPHOLE),
            _row("PeepholeOptimizeNonTensor", "tierup-peephole-non-tensor", tests=_PEEPHOLE),
            _row("CombineConcats", "tierup-peephole-concat", tests=_PEEPHOLE),
            _row("RefineIntegerValues", "tierup-refine-integer-values", tests=_PEEPHOLE),
            _row("UnrollLoops", "tierup-unroll-loops{profiles=true}", tests=("unroll_loops_profiles.mlir", *_LOOPS)),
            _row("UnrollConstantLoops", "tierup-unroll-constant-loops", tests=_LOOPS),
            _row("PeelLoop", "tierup-peel-loops", tests=_LOOPS),
            _row("RemoveListMutation", "tierup-remove-list-mutation"),
            _row("RemoveTensorMutation", "tierup-remove-tensor-mutation"),
            _row("AddIfThenElse", "tierup-if-then-else"),
            _row("Canonicalize", instead="nothing to do: MLIR's printer numbers values in the order of the text"),
            _row("CanonicalizeOutputs", "tierup-canonicalize-outputs", tests=_CLEAN_UP),
        ),
    ),
    (
        "Profiling and speculation",
        (
            _row("ProfilingRecord::instrumentGraph", "tierup-insert-profiling{uses=true}", tests=("insert_profiling_uses.mlir",)),
            _row("InsertProfileNodesForSpecializeAutogradZero", "tierup-profile-autograd-zero", tests=_ZERO),
            _row("RemoveRedundantProfiles", "tierup-remove-redundant-profiles"),
            _row("RemoveProfilingNodes", "tierup-remove-profiling", tests=_SPINE),
            _row("RemoveProfileCounter", "tierup-remove-counter"),
            _row("InsertGuards", "tierup-insert-guards", tests=_BAILOUTS),
            _row(
                "EliminateRedundantGuards", "tierup-eliminate-guards",
                tests=("eliminate_guards_broadcast.mlir", "test_eliminate_guards.py"),
            ),
            _row("InsertBailOuts", "tierup-insert-bailouts", tests=_BAILOUTS),
            _row("BuildBailOutGraphFrom", "tierup-build-bailout-continuations", tests=_BAILOUTS),
            _row(
                "RemoveProfileNodesAndSpecializeTypes", "tierup-specialize-types{mid-program=true numbers=false}",
                "tierup-propagate-input-shapes", instead="records become types, and inference carries them on", tests=_SPINE,
            ),
            _row("insertTypeGuard", "tierup-insert-checks", tests=_SPINE),
            _row("GenerateGuard", "tierup-insert-symbolic-checks", tests=("test_symbolic_checks.py",)),
            _row("RemoveTensorTypeSpecializations", "tierup-clear-specializations", tests=_SPINE),
            _row("replaceFallbackGraphWithFallbackFunction", "tierup-outline-fallbacks", tests=_SPINE),
        ),
    ),
    (
        "Gradients",
        (
            _row("needsGradientInProfilingMode", "tierup-decide-gradient", tests=(_FIRST,)),
            _row("CreateAutodiffSubgraphs", "tierup-create-differentiable-subgraphs", tests=_GRADIENTS),
            _row(
                "differentiate", "tierup-differentiate", instead="sizes of captured tensors are recomputed, views and comparisons too",
                tests=("test_differentiate.py",),
            ),
            _row(
                "packGradient", "tierup-pack-gradient", instead="the two graphs become functions, which a group calls",
                tests=(_FIRST,),
            ),
            _row("guardDifferentiableGraph", "tierup-guard-differentiable", tests=_GRADIENTS),
            _row("InlineAutodiffSubgraphs", "tierup-inline-differentiable", tests=_GRADIENTS),
            _row("UpdateDifferentiableGraphRequiresGrad", "tierup-update-requires-grad", tests=_GRADIENTS),
            _row("specializeAutogradZero", "tierup-specialize-autograd-zero", tests=("specialize_autograd_zero_unchecked.mlir", *_ZERO)),
        ),
    ),
    (
        "Fusion",
        (
            _row("BatchMM", "tierup-batch-matmul", tests=("batch_matmul_options.mlir", "test_batch_matmul.py")),
            _row(
                "FuseTensorExprs", "tierup-fuse-groups{policy=tensor-expressions}",
                instead="by default ours fuses whole functions: loops, branches, sums and products too",
                tests=("fuse_groups_expressions.mlir", "fuse_groups_size.mlir", "fuse_groups_merge.mlir", *_SPINE),
            ),
            _row("removeOutputsUsedOnlyInSize", "tierup-fuse-groups", tests=("fuse_groups_sizes.mlir",)),
            _row("FuseGraph", "tierup-fuse-groups{policy=legacy}", tests=("fuse_groups_policy.mlir",)),
            _row(
                "CheckStrictFusion", "tierup-check-strict-fusion{single=true}",
                instead="of a whole module: programs have no regions that ask for it", tests=("check_strict_fusion_single.mlir",),
            ),
        ),
    ),
    (
        "Analyses",
        (
            _row("PropagateInputShapes", "tierup-propagate-input-shapes"),
            _row(
                "PropagateRequiresGrad", "tierup-print-requires-grad",
                instead="an analysis that passes ask; the pass prints it", tests=("test/dialect/test_requires_grad_torch.py",),
            ),
            _row("PropagateShapesAndBuildLargeShapeComputeGraph", "tierup-propagate-symbolic-shapes"),
            _row("symbolic_shape_cache", instead="left out: a shape rule costs less than the key of a cache (docs/architecture.md)"),
            _row(
                "AliasDb", "tierup-print-alias",
                instead="an analysis that passes ask; the pass prints it", tests=("test/dialect/test_alias.py",),
            ),
        ),
    ),
    (
        "Passes of users",
        (
            _row("RegisterPass, RegisterPrePass", "tierup-custom-passes{when=pre-fusion}", tests=("test/docs/test_custom_passes.py",)),
            _row("RegisterPostPass", "tierup-custom-passes{when=post-fusion}", tests=("test/docs/test_custom_passes.py",)),
        ),
    ),
)  # fmt: skip


def rows() -> dict[str, Ancestor]:
    """All rows by the ancestor's name."""
    return {row.name: row for _, group in GROUPS for row in group}
