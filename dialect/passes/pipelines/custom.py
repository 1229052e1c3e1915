"""Passes that users add to every compile, before or after fusion.

    @tierup.register_pass(when="pre-fusion")
    class CountOps(tierup.Pass):
        \"\"\"Say how many ops a version has.\"\"\"

        name = "count-ops"

        def run(self, module): ...

They run in the order of their registration. Another distribution brings its own by naming the module that defines them under the
entry point group `tierup.passes`; it is imported before the first compile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import TypeVar, dataclass_transform

from tierup.dialect.base import forking
from tierup.dialect.language import ops
from tierup.dialect.mlir import ir
from tierup.dialect.passes import core as passes
from tierup.dialect.passes.core import Pass
from tierup.dialect.passes.entry_points import ENTRY_POINTS

WHEN = ("pre-fusion", "post-fusion")

P = TypeVar("P", bound=type[Pass])

_lock = forking.lock()
_hooks: dict[str, tuple[type[Pass], ...]] = dict.fromkeys(WHEN, ())


class CustomPassError(Exception):
    """A user's pass that raised. `__cause__` is what it raised; the message names the pass."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def register_pass(when: str) -> Callable[[P], P]:
    """Class decorator: run this pass in every compile from now on, `pre-fusion` (on the typed graph, NumPy's promotion made
    explicit) or `post-fusion` (on what goes to lowering). The class becomes a frozen dataclass, where it is none yet, and the pass gets its
    name in `tierup-opt` too.

    A class of the same name takes the place of the old one, so that a notebook cell can be run again. Versions that exist stay.
    Raises ValueError for another `when`, and for what `Pass` asks of a class.
    """
    if when not in WHEN:
        raise ValueError(f"when={when!r}: passes run {' or '.join(WHEN)}")

    def add(cls: P) -> P:
        passes.register(cls)
        with _lock:
            for hook, known in _hooks.items():
                names = [c.name for c in known]
                if hook == when and cls.name in names:
                    _hooks[hook] = tuple(cls if c.name == cls.name else c for c in known)
                    continue
                _hooks[hook] = tuple(c for c in known if c.name != cls.name) + ((cls,) if hook == when else ())
        return cls

    return add


def unregister_pass(cls: type[Pass]) -> None:
    """Run this pass no longer. It keeps its name in `tierup-opt`."""
    with _lock:
        for hook, known in _hooks.items():
            _hooks[hook] = tuple(c for c in known if c is not cls)


@contextmanager
def custom_pass(cls: P, when: str) -> Iterator[P]:
    """`register_pass` while a `with` block runs, in all threads."""
    register_pass(when)(cls)
    try:
        yield cls
    finally:
        unregister_pass(cls)


def registered(when: str) -> tuple[type[Pass], ...]:
    """The passes of a hook, in order."""
    return _hooks[when]


def run(when: str, module: ir.Module) -> None:
    """Run the passes of a hook on a module and verify it after each. Raises CustomPassError."""
    try:
        passes.load_entry_points()
    except Exception as e:  # importing a package of the user's runs its code, which may raise anything
        raise CustomPassError(f"an entry point of {ENTRY_POINTS} raised {type(e).__name__}: {e}") from e
    for cls in _hooks[when]:
        try:
            with module.context, ir.Location.unknown():
                cls().run(module)
        except Exception as e:  # so may a pass of the user's: one error says which it was
            raise CustomPassError(f"{cls.name} ({when}) raised {type(e).__name__}: {e}") from e
        try:
            module.operation.verify()
            broken = ops.verify(module.operation)
        except ir.MLIRError as e:
            raise CustomPassError(f"{cls.name} ({when}) left a module that does not verify: {e}") from e
        if broken:
            raise CustomPassError(f"{cls.name} ({when}) left a module that does not verify: {broken[0]}")

