"""Paths of a process whose working folder may be gone: another process can remove it at any moment."""

from __future__ import annotations

import os


def absolute(path: str) -> str:
    """`os.path.abspath(path)`; the path itself where it is relative to a folder that is not there any more."""
    try:
        return os.path.abspath(path)
    except FileNotFoundError:
        return path
