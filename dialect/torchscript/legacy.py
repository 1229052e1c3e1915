"""The pipelines of TorchScript's older executor, which keeps a plan for each argument spec, composed as they were.

A record on an argument is what its spec says: callers ensure it, so types and definedness follow without a guard.
"""

from __future__ import annotations

from tierup.dialect.passes.registry import NamedPipeline

REQUIRED = NamedPipeline(
    "legacy-required",
    "what a plan needs even with optimisation off",
    (
        "tierup-specialize-autograd-zero{checks=false}",
        "tierup-lower-grad-of",
        "tierup-remove-expands",
        "tierup-canonicalize-ops",
        "tierup-dce",
    ),
)

# Which gradients are there stands in the records, so the first of the required passes comes before the pass that takes those away.
SPECIALIZE = NamedPipeline(
    "legacy-specialize",
    "a plan for one spec: its types, what is required, and what follows",
    (
        REQUIRED.steps[0],
        "tierup-specialize-types{numbers=false}",
        *REQUIRED.steps[1:],
        "tierup-constant-propagation",
        "tierup-propagate-input-shapes",
    ),
)

OPTIMIZE = NamedPipeline(
    "legacy-optimize",
    "clean-up",
    (
        "tierup-dce",
        "tierup-cse",
        "tierup-constant-pooling",
        "tierup-peephole",
        "tierup-constant-propagation",
        "tierup-unroll-loops",
        "tierup-cse",
        "tierup-check-inplace",
    ),
)

NONDIFF = NamedPipeline(
    "legacy-nondiff",
    "fusion, for graphs of which no gradient is wanted, and for the forward graphs of differentiable groups",
    (
        "tierup-custom-passes{when=pre-fusion}",
        "tierup-decompose-ops",
        "tierup-batch-matmul",
        "tierup-fuse-groups{policy=legacy}",
        "tierup-custom-passes{when=post-fusion}",
    ),
)

PIPELINES = (REQUIRED, OPTIMIZE, NONDIFF, SPECIALIZE)
