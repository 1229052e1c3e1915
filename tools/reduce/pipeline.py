"""tierup-reduce's work on the pipeline of a reproducer: passes that the fault does not need are left out."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tierup.dialect.passes.pipelines.pipeline import Nest, Step
from tierup.dialect.passes.registry import Pipeline
from tierup.tools.reduce.judge import Said, run


def shorten(text: str, steps: Pipeline, wanted: Said, seconds: float) -> Pipeline:
    """The pipeline without whatever can be left out, in chunks and then one by one, so that a program's error stays the same."""
    n = _count(steps)
    size = n
    while size:
        end = _count(steps)
        while end > 0:
            start = max(0, end - size)
            shorter = Pipeline(_without(steps.steps, range(start, end), iter(range(n))))
            if shorter.steps and run(text, shorter, seconds) == wanted:
                steps = shorter
            end = start
        size //= 2
    return steps


def _count(steps: Pipeline) -> int:
    def passes(row: tuple[Step, ...]) -> int:
        return sum(passes(step.steps) if isinstance(step, Nest) else 1 for step in row)

    return passes(steps.steps)


def _without(row: tuple[Step, ...], dropped: Collection[int], numbers: Iterator[int]) -> tuple[Step, ...]:
    """A row without the passes of these numbers; nests that are empty then go too."""
    kept: list[Step] = []
    for step in row:
        if isinstance(step, Nest):
            inside = _without(step.steps, dropped, numbers)
            kept += [Nest(step.anchor, inside)] if inside else []
        elif next(numbers) not in dropped:
            kept.append(step)
    return tuple(kept)
