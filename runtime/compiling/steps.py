"""The compiler's steps by name, for the runtime: `regions.instrument(graph, entry)` is that function of `runtime/compiling/regions.py`.

A step takes texts and gives texts. It is done by the worker (`processes/placement.py`): that is what a compiler which
crashes takes along. Else it is done here, by a module that loads MLIR when the first is wanted (`processes/in_process.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from tierup.dialect.base.forking import fork_allowed, no_fork
from tierup.lowering.base.errors import WorkerUnavailable
from tierup.runtime.account.times import COMPILING, During
from tierup.runtime.base import options
from tierup.runtime.compiling.processes import in_process, placement

__all__ = ["Steps", "bailouts", "gradients", "regions", "specialized", "version"]
_HERE = ("recorder_of", "main_tier0", "tier0_with_bailouts")  # they are given objects of this process, and run no passes


class Steps:
    """The functions of a module of this package, each called in a worker where there can be one."""

    def __init__(self, module: str) -> None:
        self._module = f"{__package__}.{module}"

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def step(*arguments: Any, **keywords: Any) -> Any:
            now = options.current()
            wanted = (self._module, name, arguments, keywords)
            worker = None if name in _HERE else placement.for_steps(now)
            if worker is not None:
                try:
                    with During(COMPILING), fork_allowed() if no_fork._is_owned() else nullcontext():  # type: ignore[attr-defined]  # threading.Condition asks it, too
                        return placement.done_by(worker, *wanted, now.compile_limit)
                except WorkerUnavailable:
                    pass  # this thread waits for it already, or there can be none any more
            return in_process.run(*wanted, limit=now.compile_limit)

        return step


if TYPE_CHECKING:
    from tierup.runtime.compiling import bailouts, gradients, regions, specialized, version
else:
    bailouts, gradients, regions = Steps("bailouts"), Steps("gradients"), Steps("regions")
    specialized, version = Steps("specialized"), Steps("version")
