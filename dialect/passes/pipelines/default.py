"""The named pipelines of the dialect, each a readable list. Those of TorchScript's executors stand in dialect/torchscript/.

docs/pipelines.md says what the default does otherwise than they, and why.
"""

from __future__ import annotations

from tierup.dialect.passes.pipelines.named import NamedPipeline

# No canonicalize with the inlining: it drops unused ops, and with them the exceptions that only the run can tell. What torch's patterns
# rewrite loses its `tierup.promotion`, too (aten.sign becomes aten.sgn, for one).
TO_VALUES = NamedPipeline(
    "to-values",
    "calls inlined, and what the program writes made values: where every compile, record and gradient begins",
    (
        "inline{default-pipeline=}",
        "tierup-expand-to-torch",
        "func.func(tierup-unroll-exchanges)",
        "tierup-functionalize",
        "tierup-remove-list-mutation",
    ),
    leaves="values",
)

PROFILE = NamedPipeline(
    "profile", "the graph as values, instrumented: what the first runs execute", (*TO_VALUES.steps, "tierup-insert-profiling")
)

# Until the fallbacks are taken nothing may go that only the recorded types make dead or redundant: a fallback serves every
# argument, with its branches, promotions and errors. So branches stay, numbers stay arguments, promotion becomes explicit last,
# and in the groups alone, where types are known; cse and canonicalize are left to lowering.
VERSIONED = NamedPipeline(
    "versioned",
    "from recorded profiles to regions that are checked, compiled, and have a fallback beside them",
    (
        "tierup-specialize-types{numbers=false}",
        "tierup-infer-types{keep-branches=true}",
        "tierup-fuse-groups",
        "tierup-insert-checks",
        "tierup-clear-specializations",
        "tierup-outline-fallbacks",
        "tierup-explicit-promotion{groups-only=true}",
    ),
)

# As above, for the second way to speculate: what is recorded is what a guard in mid-program gains by. Between the steps of `bailouts` no
# pass may stand: guards are where values were watched, and a continuation is built from what tierup-insert-bailouts left.
PROFILE_ASSUMPTIONS = NamedPipeline(
    "profile-assumptions",
    "as `profile`, and the conditions and sizes that guards in mid-program can speculate on",
    (*TO_VALUES.steps, "tierup-insert-profiling{assumptions=true}"),
)

BAILOUTS = NamedPipeline(
    "bailouts",
    "from recorded profiles, on arguments of the types of a version, to bailouts",
    ("tierup-insert-guards{scalars=true}", "tierup-eliminate-guards", "tierup-insert-bailouts"),
)

CUT_BAILOUTS = NamedPipeline(
    "cut-bailouts",
    "from a program with bailouts to regions with native code, whose types the bailouts prove, and what tier 0 runs between them",
    ("tierup-infer-types", "tierup-fuse-groups", "tierup-clear-specializations", "tierup-dispatch-regions"),
)

PIPELINES: tuple[NamedPipeline, ...] = (TO_VALUES, PROFILE, VERSIONED, PROFILE_ASSUMPTIONS, BAILOUTS, CUT_BAILOUTS)
