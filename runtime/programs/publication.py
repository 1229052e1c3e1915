"""How what a graph of values gives becomes what the user gets, and what the program writes is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from tierup.dialect.base.records import dataclass
from tierup.runtime.arguments.guards import overlaps_itself
from tierup.runtime.arguments.nearby import Array, Nearby, lie_apart


@dataclass(frozen=True)
class Publication:
    """How the results of a graph of values become the user's: `writebacks`, `aliases` and so on as `tierup-functionalize` says."""

    n_results: int
    writebacks: tuple[int, ...] = ()
    aliases: tuple[str, ...] = ()
    read_only: tuple[int, ...] = ()
    perhaps_read_only: tuple[int, ...] = ()

    def refusal(self) -> str:
        """Why the results cannot be published from values; "" when they can."""
        for alias in self.aliases:
            kind, _, arguments = alias.rpartition(";")[2].partition(":")  # behind what it is to other results
            if kind in ("view", "may_view", "may_be", "unclear_view") and any(int(i) in self.writebacks for i in arguments.split(",")):
                return "a result is a view of an argument that the program writes"
        return ""

    def fits(self, flat: tuple[Any, ...]) -> bool:
        """Whether the written arguments can be written after the run: writable, and apart from all others, and in themselves, in memory."""
        for i in self.writebacks:
            if not flat[i].flags.writeable or overlaps_itself(flat[i]):
                return False
            if any(j != i and isinstance(other, np.ndarray) and np.may_share_memory(flat[i], other) for j, other in enumerate(flat)):
                return False
        return True

    def results(self, flat: tuple[Any, ...], given: Any) -> tuple[Any, ...]:
        """Write the arguments that the program writes; the user's results. Those that the program makes afresh share no memory with an
        argument or with each other."""
        values = given if isinstance(given, tuple) else () if given is None else (given,)
        if not self.writebacks:
            return self._locked(self._apart(flat, values))
        written = [flat[i] for i in self.writebacks]

        def apart(value: Any) -> Any:
            return value.copy() if isinstance(value, np.ndarray) and any(np.may_share_memory(value, w) for w in written) else value

        user = [self._user(alias, value, flat, apart) for alias, value in zip(self.aliases, values, strict=False)]
        new = [apart(value) for value in values[self.n_results :]]
        for array, contents in zip(written, new, strict=True):
            np.copyto(array, contents)
        return self._locked(self._apart(flat, tuple(user)))

    def _locked(self, user: tuple[Any, ...]) -> tuple[Any, ...]:
        """Results, those of them read-only that NumPy gives so."""
        for i in self.read_only:
            if isinstance(user[i], np.ndarray):
                user[i].flags.writeable = False
        return user

    def _apart(self, flat: tuple[Any, ...], user: tuple[Any, ...]) -> tuple[Any, ...]:
        """Results, those of them copied that should be apart: where values are what they are, a copy of a value may be the value."""
        kept = (*self.read_only, *self.perhaps_read_only)
        fresh = [i for i, alias in enumerate(self.aliases[: len(user)]) if alias == "fresh" and isinstance(user[i], np.ndarray)]
        given = [value for value in flat if isinstance(value, np.ndarray)]
        copied = {i for i in fresh if not user[i].flags.writeable and i not in kept}
        if not lie_apart([user[i] for i in fresh if i not in copied], given):
            others = Nearby[Array]()
            for value in given:
                others.add(value, value)
            for i in fresh:
                if i in copied or others.of(user[i]):
                    copied.add(i)
                else:
                    others.add(user[i], user[i])
        return tuple([value.copy() if i in copied else value for i, value in enumerate(user)]) if copied else user

    def _user(self, alias: str, value: Any, flat: tuple[Any, ...], apart: Any) -> Any:
        kind, _, argument = alias.partition(":")
        if kind == "argument":
            return flat[int(argument)]
        return apart(value) if kind == "fresh" else value
