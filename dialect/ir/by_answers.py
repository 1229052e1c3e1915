"""Questions about values whose answers hang on those about other values, however long the chain of these is.

A function that asks itself of the operands, of their operands, and so on, calls itself as often as a program is long, and as often as there
are ways through its branches. Here each question is asked once, and Python's stack holds one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

Question = TypeVar("Question")
Answer = TypeVar("Answer")


def answer(question: Question, known: dict[Question, Answer], steps: Callable[[Question], Generator[Question, Answer, Answer]]) -> Answer:
    """The answer to a question: `steps(question)` is a generator that yields the questions it needs and returns the answer. What was
    found on the way goes into `known`."""
    open_: list[tuple[Question, Generator[Question, Answer, Answer]]] = []
    wanted: Question | None = question
    while True:
        if wanted is not None and wanted not in known:
            open_.append((wanted, steps(wanted)))
            given = None
        elif not open_:
            return known[question]
        else:
            given = known[wanted] if wanted is not None else None
        asking, found = open_[-1]
        try:
            wanted = found.send(given)  # type: ignore[arg-type]  # None starts it
        except StopIteration as done:
            known[asking] = done.value
            open_.pop()
            wanted = asking
