"""A step of the compiler in the process that calls it, be it the user's or a worker.

No exception of a signal's handler breaks it off (`dialect/base/shielded.py`), and the option `compile_limit` bounds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from typing import Any

from tierup.dialect import optable
from tierup.dialect.base.shielded import shielded
from tierup.dialect.optable.core import Op
from tierup.dialect.passes.pipelines import deadline
from tierup.runtime.account.times import COMPILING, START_UP, During


def run(module: str, name: str, arguments: Sequence[object], keywords: Mapping[str, object], limit: float | None = None) -> Any:
    """What the module's function returns or raises. `limit`: seconds, None where the caller counts them. Raises TookTooLong."""
    with nullcontext() if limit is None else deadline.within(limit):
        return shielded(lambda: _run(module, name, arguments, keywords))


def knowing(
    rows: Sequence[Op], module: str, name: str, arguments: Sequence[object], keywords: Mapping[str, object]
) -> tuple[Any, tuple[Op, ...]]:
    """What `run` gives in a worker, which first learns of ops that another library computes; and the rows of those that it made itself (the
    gradient of such an op is one), for who asked."""
    for row in rows:
        optable.add_foreign(row)
    known = optable.foreign()
    return run(module, name, arguments, keywords), optable.foreign(but=known)


def _run(module: str, name: str, arguments: Sequence[object], keywords: Mapping[str, object]) -> Any:
    with During(START_UP):
        step = getattr(import_module(module), name)
    with During(COMPILING):
        return step(*arguments, **keywords)
