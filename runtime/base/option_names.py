"""The options as type checkers and editors know them: names and types of `options.Options`, for functions that take some as keywords.

A test compares the two. Nothing imports this when a program runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypedDict


class LoadOptions(TypedDict, total=False):
    """Options by name, those that are to be other than they are; for `tierup.load`, whose `entry` is a function's name."""

    optimize: bool
    profile: bool
    num_profiled_runs: int
    fusion_strategy: Iterable[tuple[str, int]]
    bailout_depth: int
    max_versions: int
    max_graphs: int
    speculate: Literal["versioned", "bailout"]
    compile: Literal["blocking", "background"]
    worker: bool
    cache: bool
    pickle_code: bool
    compile_limit: float
    compile_budget: float
    weigh: bool
    executor: Literal["profiling", "specializing"]
    backend: Literal["cpu", "cuda", "cuda-or-cpu"]
    target: Literal["", "sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90", "sm_100", "sm_120"]
    libraries: bool
    tf32: bool
    threads: int
    level: int
    strict: bool
    testing: bool
    release_graphs: bool
    release_delay: float


class OptionChanges(LoadOptions, total=False):
    """All options by name."""

    entry: Literal["native", "python"]
