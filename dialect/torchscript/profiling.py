"""The pipelines of TorchScript's profiling executors, composed as they were: 1.7 (guards and bailouts, or the first tensor-expression
fuser) and 2.x (fusion strategies). docs/pipelines.md says what differs between them, and from the default.

What one pass of the ancestor did in several steps is several passes here, side by side. The graph is in values: `tierup-functionalize`
comes before the first of them where a program writes tensors. Groups too small to be worth one are undone before the others are packed,
where the ancestors packed all and unpacked these; the dead code elimination behind it takes what only their gradients read.
"""

from __future__ import annotations

from tierup.dialect.passes.registry import NamedPipeline

_FUSE = "tierup-fuse-groups{policy=tensor-expressions}"

UNOPTIMIZED = NamedPipeline(
    "unoptimized",
    "the plan of a profiling executor with optimisation off",
    ("tierup-lower-grad-of", "tierup-remove-expands"),
)

NOOPT = NamedPipeline(
    "noopt",
    "what 2.x runs on a graph that is not to be optimised; `noopt-1.7` does not inline",
    ("tierup-inline", "tierup-lower-grad-of", "tierup-remove-expands", "tierup-canonicalize-ops", "tierup-dce"),
)

NOOPT_1_7 = NamedPipeline("noopt-1.7", "the same in 1.7", NOOPT.steps[1:])

INSENSITIVE = NamedPipeline(
    "profiling-insensitive",
    "what needs no record: before a graph is instrumented, and all that the simple executor does",
    (
        "tierup-inline",
        "tierup-clear-profiling",
        "tierup-lower-grad-of",
        "tierup-clear-undefinedness",
        "tierup-remove-expands",
        "tierup-canonicalize-ops",
        "tierup-dce",
        "tierup-decompose-ops",
        "tierup-constant-propagation",
        "tierup-dce",
        "tierup-cse",
        "tierup-constant-pooling",
        "tierup-peephole",
        "tierup-dce",
        "tierup-lower-simple-tuples",
        "tierup-check-inplace",
    ),
)

# The records of optional sizes are planted on definitions, where the other profiles leave them alone.
INSTRUMENT = NamedPipeline(
    "instrument",
    "watch every use of a tensor, and which gradients are there: what the profiled runs execute",
    ("tierup-clear-profiling", "tierup-insert-profiling{uses=true}", "tierup-profile-autograd-zero"),
)

_DIFF_CLEAN_UP = (
    "tierup-dce",
    "tierup-cse",
    "tierup-peephole",
    "tierup-constant-propagation",
    "tierup-constant-pooling",
    "tierup-unroll-loops{profiles=true}",
    "tierup-remove-list-mutation",
    "tierup-peephole",
    "tierup-constant-propagation",
    "tierup-cse",
    "tierup-check-inplace",
)

_AFTER_GUARDS = (
    "tierup-specialize-autograd-zero",
    "tierup-remove-expands",
    "tierup-canonicalize-ops",
    "tierup-dce",
    "tierup-peephole",
    "tierup-constant-propagation",
    *_DIFF_CLEAN_UP,
)

# The ancestor keeps a copy of the graph as it is right after its bailouts and builds a continuation from it when an assumption fails.
PRE_AUTODIFF_1_7 = NamedPipeline(
    "pre-autodiff-1.7",
    "1.7 without the tensor-expression fuser: records become guards, and what guards are left become bailouts",
    (
        "tierup-insert-guards{gradients=true}",
        "tierup-lower-grad-of",
        "tierup-eliminate-guards",
        "tierup-insert-bailouts",
        "tierup-build-bailout-continuations",
        *_AFTER_GUARDS,
    ),
)

PRE_AUTODIFF_2 = NamedPipeline(
    "pre-autodiff-2.x",
    "2.x, and 1.7 with the tensor-expression fuser: records stay for the fuser",
    ("tierup-remove-counter", "tierup-lower-grad-of", *_AFTER_GUARDS),
)

# What our gradients have no rule for is left to autograd, as what the ancestor could not differentiate.
_DIFFERENTIATE = "tierup-differentiate{undo=true}"

AUTODIFF_2 = NamedPipeline(
    "autodiff-2.x",
    "differentiable groups behind checks of requires_grad, where a record saw a gradient wanted",
    (
        "tierup-decide-gradient",
        "tierup-create-differentiable-subgraphs{threshold=2}",
        "tierup-guard-differentiable",
        _DIFFERENTIATE,
        "tierup-clear-specializations",
        "tierup-update-requires-grad{to=false}",
        "tierup-inline-differentiable{threshold=2}",
        "tierup-dce",
        "tierup-outline-fallbacks",
        "tierup-remove-profiling",
        "tierup-pack-gradient",
    ),
)

AUTODIFF_1_7 = NamedPipeline(
    "autodiff-1.7",
    "differentiable groups, which no check guards",
    (
        "tierup-decide-gradient",
        "tierup-create-differentiable-subgraphs{threshold=2}",
        _DIFFERENTIATE,
        "tierup-inline-differentiable{threshold=5}",
        "tierup-dce",
        "tierup-outline-fallbacks",
        "tierup-remove-profiling",
        "tierup-pack-gradient",
    ),
)

_GROUPS = (
    "tierup-lower-simple-tuples",
    "tierup-specialize-types{mid-program=true numbers=false}",
    "tierup-propagate-input-shapes",
    "tierup-batch-matmul",
    _FUSE,
)
_PRE = "tierup-custom-passes{when=pre-fusion}"
_POST = "tierup-custom-passes{when=post-fusion}"

NO_GRAD = NamedPipeline(
    "no-grad",
    "2.x: groups with a check and a fallback each; types are forgotten after the users' passes",
    (_PRE, *_GROUPS, "tierup-insert-checks", _POST, "tierup-clear-specializations"),
)

_DYNAMIC = ("tierup-insert-symbolic-checks", "tierup-insert-checks")

NO_GRAD_DYNAMIC = NamedPipeline(
    "no-grad-dynamic",
    "2.x, a dynamic step of the fusion strategy: checks that let sizes differ",
    (_PRE, *_GROUPS, *_DYNAMIC, _POST, "tierup-clear-specializations"),
)

NO_GRAD_1_7 = NamedPipeline(
    "no-grad-1.7",
    "1.7 with the tensor-expression fuser: types are forgotten before the users' passes after fusion",
    (_PRE, *_GROUPS, "tierup-insert-checks", "tierup-clear-specializations", _POST),
)

NO_GRAD_1_7_BAILOUTS = NamedPipeline(
    "no-grad-1.7-bailouts",
    "1.7 without the tensor-expression fuser: the older fuser's groups, on the types that bailouts ensure",
    (_PRE, "tierup-lower-simple-tuples", "tierup-batch-matmul", "tierup-fuse-groups{policy=legacy}", _POST),
)

DIFF_GRAPH = NamedPipeline("diff-graph", "1.7: the forward graph of a differentiable group", (*_DIFF_CLEAN_UP, *NO_GRAD_1_7.steps))

DIFF_GRAPH_BAILOUTS = NamedPipeline(
    "diff-graph-bailouts",
    "the same without the tensor-expression fuser: the older fuser's groups",
    (*_DIFF_CLEAN_UP, *NO_GRAD_1_7_BAILOUTS.steps),
)

# The ancestor's check looks only where a user's `strict_fusion` region says so; no program here has one, so it is a pipeline of its own.
FINAL = NamedPipeline("final", "the last steps of every plan", ("tierup-dce", "tierup-if-then-else"))

FINAL_STRICT = NamedPipeline(
    "final-strict",
    "the same, with an error that names what was left out of fusion",
    (*FINAL.steps, "tierup-check-strict-fusion{single=true}"),
)

WITHOUT_TE = NamedPipeline(
    "1.7-without-te",
    "1.7 without the tensor-expression fuser, from a recorded program to its plan",
    (*PRE_AUTODIFF_1_7.steps, *NO_GRAD_1_7_BAILOUTS.steps, *FINAL.steps),
)

WITHOUT_TE_GRADIENTS = NamedPipeline(
    "1.7-without-te-gradients",
    "the same where gradients were wanted, down to the forward and backward graphs of its groups",
    (*PRE_AUTODIFF_1_7.steps, *AUTODIFF_1_7.steps, *DIFF_GRAPH_BAILOUTS.steps, *FINAL.steps),
)

PIPELINES = (
    UNOPTIMIZED, NOOPT, NOOPT_1_7, INSENSITIVE, INSTRUMENT, PRE_AUTODIFF_1_7, PRE_AUTODIFF_2, AUTODIFF_1_7, AUTODIFF_2, DIFF_GRAPH,
    DIFF_GRAPH_BAILOUTS, NO_GRAD_1_7, NO_GRAD_1_7_BAILOUTS, NO_GRAD, NO_GRAD_DYNAMIC, FINAL, FINAL_STRICT, WITHOUT_TE, WITHOUT_TE_GRADIENTS,
)  # fmt: skip
