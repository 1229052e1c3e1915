"""What tier 0 computes with. An op's row names its function as "family:op.tier0" (optable/define.py), that of an op that is left to
PyTorch or TorchScript as "module.function" of this package."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import Any


def place(name: str) -> str:
    """Where the kernel of that name is, as "module:attribute"."""
    family, colon, function = name.partition(":")
    if colon:
        return f"tierup.dialect.ops.{family}:{function}"
    module, _, function = name.partition(".")
    return f"{__name__}.{module}:{function}"


@cache
def resolve(name: str) -> Callable[..., Any]:
    """The kernel of that name. Raises AttributeError or ImportError for a name that no module has."""
    module, _, attributes = place(name).partition(":")
    found: Callable[..., Any] = attrgetter(attributes)(import_module(module))
    return found
