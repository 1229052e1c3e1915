"""The stages of lowering as named pipelines: readable lists of passes, each usable as one flag of tierup-opt.

    to-values        a graph without writes (dialect/passes/pipelines/default.py)
    specialise       all types follow from the guards; its first step is refine
    prepare-kernel   what the kernel takes, returns and checks
    lower-torch      torch dialect -> linalg on tensors
    lower-tensors    linalg on tensors: fused, canonical
    lower-buffers    arguments and results are the caller's buffers; memory is explicit
    lower-loops      loops over scalars; math expanded
    lower-llvm       the LLVM dialect
    lower-cpu        the last five, in this order
    compile-cpu      all of them

`driver.py` runs the stages one by one, so that each can be shown and timed. What a stage needs to know, of guards, results or the target,
stands in attributes (`stated.py`), so the stages run from tierup-opt as well and give the same, byte for byte.

More runs of canonicalize and cse than these change no program of the corpus: the LLVM IR is the same, letter by letter.
"""

from __future__ import annotations

from tierup.dialect.passes.pipelines.default import TO_VALUES
from tierup.dialect.passes.registry import NamedPipeline

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
        "func.func(tierup-infer-types{stale-only=true},tierup-verify-promotion,tierup-order-results)",
        "tierup-custom-passes{when=pre-fusion}",
        "func.func(tierup-hide-from-folding)",
        "canonicalize",
        "cse",
        "func.func(tierup-restore-hidden,tierup-cse)",  # which merges what may raise, too: x[a[i] : a[i + 1]] and y[a[i] : a[i + 1]]
        "tierup-custom-passes{when=post-fusion}",
    ),
    leaves="specialized",
    fault="specialize",
)

ORDER = "func.func(tierup-order-results)"  # on the CPU: a GPU's results are row-major

# Inference is asked once, for all that is decided on the torch dialect: sizes, kinds of results, exits, errors that would get lost.
PREPARE = NamedPipeline(
    "prepare-kernel",
    "what the kernel takes and returns is decided, and what it checks",
    (
        "tierup-isolate-entry",
        "inline{default-pipeline=}",
        "symbol-dce",
        "func.func(tierup-expand-to-torch,tierup-tag-origins,tierup-drop-messages,tierup-verify-native)",
        "func.func(tierup-bake-arguments,tierup-infer-types{stale-only=true})",
        "tierup-expand-sum-to-size",  # of sizes that were arguments
        "func.func(tierup-infer-types{stale-only=true})",
        "func.func(tierup-narrow-slices,tierup-infer-types{stale-only=true},tierup-lower-bailouts)",
        "func.func(tierup-match-sizes,tierup-mark-sizes,tierup-fold-numbers,tierup-decide-results)",
        ORDER,
        "func.func(tierup-decide-exits,tierup-verify-errors)",
        "func.func(tierup-unpack-lists,tierup-insert-bounds-checks,tierup-insert-size-checks)",
        "func.func(tierup-settle-results)",
    ),
    leaves="torch",
    fault="torch",
)

TORCH = NamedPipeline(
    "lower-torch",
    "torch dialect to linalg on tensors",
    (
        "func.func(tierup-lower-ops,tierup-lower-exits,tierup-lower-control-flow)",
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
        "func.func(tierup-order-loops,tierup-overwrite-products)",
    ),
    leaves="linalg",
    fault="linalg",
)

BUFFERS = NamedPipeline(
    "lower-buffers",
    "bufferise: memory becomes explicit",
    (
        "tierup-outline-exits",
        "tierup-split-kernel",
        "duplicate-function-elimination",
        "func.func(tierup-reuse-products,tierup-merge-stores,tierup-rebase-stores,tierup-scalarize-elements,tierup-align-loops)",
        "func.func(tierup-separate-results)",
        "eliminate-empty-tensors",
        "one-shot-bufferize{allow-return-allocs-from-loops=1}",
        "canonicalize",
        "tierup-products-to-blas",
        "func.func(tierup-forward-results,tierup-asserts-to-status)",
        "tierup-deallocate-buffers",
        "tierup-define-exits",
        "cse",
        "canonicalize",  # a copy of memory to itself goes, once it is seen to be that
        "func.func(tierup-relax-reductions,tierup-fuse-rows)",
        "tierup-spare-handed-over",
        "func.func(tierup-merge-kinds,tierup-choose-terms,tierup-poll-loops,tierup-hoist-checks,tierup-write-arguments)",
    ),
    leaves="buffers",
    fault="bufferise",
)

LOOPS = NamedPipeline(
    "lower-loops",
    "linalg to loops over scalars",
    (
        "func.func(tierup-mark-reads-across,tierup-expand-math,tierup-collapse-loops,refback-munge-memref-copy,tierup-split-reductions,tierup-strip-mine)",
        "tierup-share-loops",
        "func.func(convert-linalg-to-loops,tierup-split-shared)",
        "canonicalize",
        "func.func(tierup-interleave-reductions)",
        "tierup-mark-allocations",
    ),
    leaves="loops",
    fault="loops",
)

LLVM = NamedPipeline(
    "lower-llvm",
    "the LLVM dialect",
    (
        "func.func(tierup-legalize-bf16)",
        "tierup-write-products",
        "expand-strided-metadata",
        "lower-affine",
        "convert-scf-to-cf",
        "func.func(tierup-leave-loops)",
        "func.func(tierup-use-overflow-flags)",
        "tierup-convert-math",
        "convert-to-llvm{filter-dialects=arith,cf,complex,func,index,memref,ub}",  # one walk: half the time of a pass for each
        "reconcile-unrealized-casts",
        "canonicalize",
        "cse",
        "tierup-store-bools-as-bytes",
        "tierup-annotate-kernel",
        "tierup-hand-to-threads",
    ),
    fault="llvm",
)

LOWERING = (TORCH, TENSORS, BUFFERS, LOOPS, LLVM)
STAGES = (PREPARE, *LOWERING)

CPU = NamedPipeline("lower-cpu", "from a prepared kernel to the LLVM dialect", tuple(s for stage in LOWERING for s in stage.steps))

COMPILE = NamedPipeline(
    "compile-cpu",
    "from a recorded graph with guards to the module that is translated to LLVM IR: all that the default compile does",
    ("tierup-verify-entry", *TO_VALUES.steps, *SPECIALISE.steps, *(s for stage in STAGES for s in stage.steps)),
)

PIPELINES = (REFINE, SPECIALISE, *STAGES, CPU, COMPILE)
