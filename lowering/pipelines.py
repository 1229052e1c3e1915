"""The stages of lowering as named pipelines: readable lists of passes, each usable as one flag of tierup-opt.

    refine         the arguments of the entry have the types of its guards
    specialise     a graph of values with every type that follows from the guards, canonical
    lower-torch    torch dialect -> linalg on tensors
    lower-tensors  linalg on tensors: fused, canonical
    lower-buffers  arguments and results are the caller's buffers; memory is explicit
    lower-loops    loops over scalars; math expanded
    lower-llvm     the LLVM dialect
    lower-cpu      all of them, in this order

`compile.py` runs the stages one by one, so that each can be shown and timed. What a stage needs to know about arguments and
results stands in function attributes (see materialize_boundary.py), so the stages run from tierup-opt as well.

More runs of canonicalize and cse than these change no program of the corpus: the LLVM IR is the same, letter by letter.
"""

from __future__ import annotations

from tierup.dialect.registry import NamedPipeline

REFINE = NamedPipeline(
    "refine",
    "the arguments of the entry get the types that its guards promise (`tierup.guard`)",
    ("func.func(tierup-refine-arguments,tierup-verify-strides)",),
)

# What an expansion or a list that became a tensor leaves without types is inferred again, in these functions alone. MLIR's canonicaliser
# knows torch's dtype rules only, drops errors that nobody reads, and folds as tier 0 does not: so promotion is explicit before it, and
# what it would change is hidden from it.
SPECIALISE = NamedPipeline(
    "specialise",
    "from a graph of values with guards (`tierup.guard`) to one in which every type is known, canonical",
    (
        *REFINE.steps,
        "func.func(tierup-infer-types)",
        "tierup-stack-lists",
        "func.func(tierup-infer-types{stale-only=true},tierup-explicit-promotion)",
        "tierup-expand-formulas",
        "tierup-expand-sum-to-size",
        "func.func(tierup-infer-types{stale-only=true},tierup-verify-promotion)",
        "tierup-custom-passes{when=pre-fusion}",
        "func.func(tierup-hide-from-folding)",
        "canonicalize",
        "cse",
        "func.func(tierup-restore-hidden)",
        "tierup-custom-passes{when=post-fusion}",
    ),
    leaves="specialized",
    fault="specialize",
)

TORCH = NamedPipeline(
    "lower-torch",
    "torch dialect to linalg on tensors",
    (
        "func.func(tierup-lower-pointwise,tierup-lower-reductions,tierup-lower-products,tierup-lower-windows,tierup-lower-movement,tierup-lower-indexing)",
        "func.func(tierup-lower-factories,tierup-lower-scalars,tierup-lower-exits,tierup-lower-control-flow)",
        "func.func(tierup-verify-lowered,convert-torch-to-arith)",  # what is left: literals and assertions
        "torch-func-backend-type-conversion",
        "canonicalize",
        "func.func(torch-finalizing-backend-type-conversion)",
        "cse",
    ),
)

TENSORS = NamedPipeline(
    "lower-tensors",
    "fuse and simplify linalg on tensors",
    (
        "func.func(tierup-materialize-boundary,tierup-fold-transposes)",
        "func.func(tierup-hold-products,tierup-fuse-pointwise)",
        "linalg-fuse-elementwise-ops",
        "func.func(linalg-fold-unit-extent-dims,tierup-release-products)",
        "canonicalize",
        "cse",
        "control-flow-sink",  # what was fused into the rest and lives on at an exit is made there, when it is taken
        "func.func(tierup-overwrite-products)",
    ),
)

BUFFERS = NamedPipeline(
    "lower-buffers",
    "bufferise: memory becomes explicit",
    (
        "tierup-outline-exits",
        "tierup-split-kernel",
        "duplicate-function-elimination",
        "func.func(tierup-reuse-products,tierup-separate-results)",
        "eliminate-empty-tensors",
        "one-shot-bufferize{allow-return-allocs-from-loops=1}",
        "canonicalize",
        "tierup-products-to-blas",
        "func.func(tierup-asserts-to-status)",
        "tierup-deallocate-buffers",
        "tierup-define-exits",
        "canonicalize",
        "cse",
        "func.func(tierup-relax-reductions,tierup-fuse-rows)",
        "tierup-spare-handed-over",
        "func.func(tierup-poll-loops)",
    ),
)

LOOPS = NamedPipeline(
    "lower-loops",
    "linalg to loops over scalars",
    (
        "func.func(tierup-expand-math,refback-munge-memref-copy)",
        "func.func(convert-linalg-to-loops)",
        "canonicalize",
    ),
)

LLVM = NamedPipeline(
    "lower-llvm",
    "the LLVM dialect",
    (
        "func.func(tierup-legalize-bf16)",
        "expand-strided-metadata",
        "lower-affine",
        "convert-scf-to-cf",
        "tierup-convert-math",
        "convert-to-llvm{filter-dialects=arith,cf,func,index,memref,ub}",  # one walk: half the time of a pass for each
        "reconcile-unrealized-casts",
        "canonicalize",
        "cse",
        "tierup-annotate-kernel",
    ),
)

STAGES = (TORCH, TENSORS, BUFFERS, LOOPS, LLVM)

CPU = NamedPipeline(
    "lower-cpu", "from the specialised torch dialect to the LLVM dialect", tuple(s for stage in STAGES for s in stage.steps)
)

PIPELINES = (REFINE, SPECIALISE, *STAGES, CPU)
