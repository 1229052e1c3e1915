"""A speculation on its way to a version. It is noted as being compiled in one place, and in one place that ends, whatever happens on the
way.

    with Attempt(owner) as attempt:
        with lock:
            attempt.begin(speculation)
        ...                         # a version, or a refusal; or an exception, Ctrl-C
        attempt.leave_to(job)       # or the thread of background compiles goes on with it, and ends it

What would stay noted though nobody compiles it would be waited for by all later calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tierup.runtime.compiling.scheduling.background import Job, queue

if TYPE_CHECKING:
    from tierup.runtime.base.protocols import Maker
    from tierup.runtime.programs.speculations import Speculation


class Attempt:
    """See above."""

    def __init__(self, owner: Maker) -> None:
        self._owner = owner
        self._speculation: Speculation | None = None

    def __enter__(self) -> Attempt:
        return self

    def __exit__(self, *_: object) -> None:
        if self._speculation is not None:
            self._owner.ends(self._speculation)

    def begin(self, speculation: Speculation) -> None:
        """Note that a speculation is being compiled, until the `with` block or a job ends. The caller holds the owner's lock."""
        self._speculation = speculation
        self._owner.begins(speculation)

    def leave_to(self, job: Job) -> bool:
        """Let a job, which ends what it is about, go on. False when there can be no thread now that runs it: it waits for one."""
        has_thread = queue.submit(job)
        self._speculation = None
        return has_thread
