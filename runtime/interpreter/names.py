"""Python names for values: the user's own where they are known, unique in their scope, never a keyword or a builtin."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable

_OURS = frozenset({"fail", "record", "poll", "ndarray", "dtypes", "all_dtypes", "inf", "nan"})
_RESERVED = frozenset(keyword.kwlist) | frozenset(keyword.softkwlist) | frozenset(dir(builtins)) | _OURS
_NOT_WORD = re.compile(r"\W")


def identifier(hint: str) -> str:
    """The nearest Python identifier that is not reserved."""
    name = _NOT_WORD.sub("_", hint) or "_"
    if name[0].isdigit():
        name = f"_{name}"
    return f"{name}_" if name in _RESERVED else name


class Names:
    """A scope: hands out names that are neither in it nor in `outer`."""

    def __init__(self, outer: Iterable[str] = ()) -> None:
        self.taken = set(outer)
        self._next: dict[str, int] = {}

    def pick(self, hint: str) -> str:
        """A fresh name like `hint`: itself when free, else with a number."""
        base = identifier(hint)
        if base not in self.taken:
            self.taken.add(base)
            return base
        return self.number(f"{base}_", 1)

    def number(self, prefix: str, first: int = 0) -> str:
        """A fresh name of `prefix` and a number, counted upwards."""
        number = self._next.get(prefix, first)
        while f"{prefix}{number}" in self.taken:
            number += 1
        self._next[prefix] = number + 1
        self.taken.add(f"{prefix}{number}")
        return f"{prefix}{number}"
