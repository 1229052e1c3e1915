"""Every graph that the front end builds is verified by MLIR: a value that is used where it is not defined is seen, whatever the program does."""

from typing import Any

from tierup.frontend.python.build import ProgramBuilder

_build = ProgramBuilder.build


def _verified(self: ProgramBuilder, *args: Any) -> Any:
    made = _build(self, *args)
    made.module.operation.verify()
    return made


def verify_graphs() -> None:
    """From now on, in this process."""
    ProgramBuilder.build = _verified  # type: ignore[method-assign]
