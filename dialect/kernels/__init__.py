"""Tier-0 kernels: one function per op over NumPy arrays. The op table names them as "module.function"."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any


@cache
def resolve(name: str) -> Callable[..., Any]:
    """The kernel called "module.function". Raises AttributeError or ImportError for a name that no module has."""
    module, function = name.split(".")
    return getattr(import_module(f"{__name__}.{module}"), function)
